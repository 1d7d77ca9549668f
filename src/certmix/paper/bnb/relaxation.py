"""Branch and bound over assignments (Algorithm 1 of Flaherty et al. 2020) as the loop sees it.

A node decides some of the z_gk: group g is in k, or is not. Its bound is that of the convex relaxation, by way of its
multipliers; constraints are propagated first, the means' boxes (the paper's big-M constants) are contracted to what
the node's groups can still have, and what would lift the bound to the cutoff is removed.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from certmix.kernels.candidates import packed, unpacked
from certmix.kernels.contraction import contract_means
from certmix.kernels.propagation import propagate
from certmix.kernels.settled import rest_of, sorted_rest
from certmix.paper.bnb.branching import Fractional, Rule
from certmix.paper.bnb.relaxation_dual import Decomposition, Domain
from certmix.paper.bnb.relaxation_model import ConicModel, Relaxed
from certmix.presolve.arrays import instance_arrays
from certmix.presolve.instance import Instance
from certmix.search.bounds.base import Explored
from certmix.search.bounds.interval import IntervalBound
from certmix.search.bounds.leaves import exact_value
from certmix.search.nodes import Nodes

ROUNDS = 4  # of relaxing and tightening at one node
DOMAIN = ("lo", "hi", "a", "b", "candidates")  # fields of nodes


@dataclass(frozen=True)
class Visit:
    """What one look at a node gave: a bound on the instance's cost, the last relaxed solution, or a clustering."""

    bound: float
    relaxed: Relaxed | None = None
    labels: np.ndarray | None = None


class RelaxationBound:
    """The bound of the convex relaxation; a rule chooses the assignment to branch on."""

    reaches = True

    def __init__(self, instance: Instance, rule: Rule) -> None:
        self.instance = instance
        self.rule = rule
        self.arrays = instance_arrays(instance)
        self.parts = Decomposition(instance)
        self.model = ConicModel(self.parts)
        self.numbering = Numbering(instance)

    @property
    def relaxations(self) -> int:
        """Relaxations solved so far."""
        return self.model.solved

    def root(self) -> Nodes:
        """One root, or one for each choice of empty components where those are allowed."""
        start = IntervalBound(self.instance).root()
        count = len(start)
        fields = {name: start[name] for name in ("bound", "lo", "hi", "a", "b")}
        fields["candidates"] = unpacked(start["mask"].astype(np.int64), self.instance.n_components)
        for name in ("group", "component"):
            fields[name] = np.full(count, -1, dtype=np.int64)
        fields["up"] = np.zeros(count, dtype=bool)
        fields["distance"] = np.zeros(count)
        return Nodes(fields)

    def explore(self, nodes: Nodes, cutoff: float) -> Explored:
        f = {name: array.copy() for name, array in nodes.fields.items()}
        opened = np.zeros(len(nodes), dtype=bool)
        found = []
        for i in range(len(nodes)):
            domain = Domain(*(f[name][i] for name in DOMAIN))
            visit = self.visit(domain, cutoff)
            bound = max(float(nodes.bound[i]), visit.bound)
            self._learn(nodes, i, bound, cutoff)
            f["bound"][i] = bound
            for name in DOMAIN:
                f[name][i] = getattr(domain, name)
            if visit.labels is not None:
                found.append(visit.labels)
            elif visit.relaxed is not None:
                found.append(self._rounded(visit.relaxed.z, domain))
                if bound < cutoff:
                    opened[i] = True
                    g, k = self._choose(visit.relaxed, domain, bound, cutoff)
                    f["group"][i], f["component"][i], f["distance"][i] = g, k, visit.relaxed.z[g, k]
        return Explored(Nodes(f), opened, found)

    def branch(self, explored: Explored) -> Nodes:
        """Two children for every node: a group is in a component, or it is not."""
        nodes = explored.nodes
        down = {name: array.copy() for name, array in nodes.fields.items()}
        up = {name: array.copy() for name, array in nodes.fields.items()}
        for child, taken in ((down, False), (up, True)):
            child["depth"] += 1
            child["up"][:] = taken
            for i in range(len(nodes)):
                _decide(child["candidates"][i], int(nodes["group"][i]), int(nodes["component"][i]), taken)
        up["distance"] = 1.0 - nodes["distance"]
        return Nodes.join([Nodes(down), Nodes(up)])

    def visit(self, domain: Domain, cutoff: float, rounds: int = ROUNDS) -> Visit:
        """Contract a node in place and bound its clusterings' objective; infinite when it holds none.

        The bound is never above the objective of a clustering in the node that beats the cutoff and whose components
        are numbered as :class:`Numbering` says.
        """
        error = self.instance.error  # the instance's cost may exceed the objective by so much
        bound, relaxed = -math.inf, None
        for left in range(rounds, -1, -1):
            if not self._propagated(domain):
                return Visit(math.inf)
            candidates = domain.candidates
            if np.all(candidates.sum(axis=1) == 1):
                labels = self.instance.expand(np.argmax(candidates, axis=1))
                return Visit(max(bound, exact_value(self.instance.problem, labels)), labels=labels)
            if left == 0:
                break
            relaxed = self.model.solve(domain)
            dual = self.parts.evaluate(domain, relaxed.multipliers)
            bound = max(bound, dual.value - error)
            if bound >= cutoff or not self.parts.tighten(domain, dual, cutoff + error):
                break
        return Visit(bound, relaxed)

    def _propagated(self, domain: Domain) -> bool:
        """Propagate constraints and numbering, and contract the boxes; False when nothing is left."""
        while True:
            if not domain.candidates.any(axis=1).all() or np.any(domain.lo > domain.hi):
                return False
            mask = packed(domain.candidates)
            if not propagate(mask, domain.a, domain.b, self.instance.n_samples, self.arrays):
                return False
            domain.candidates = unpacked(mask, self.instance.n_components)
            if not self.numbering.narrow(domain.candidates, domain.b):
                break
        if not self._sizes_possible(domain):
            return False
        arrays = self.arrays
        rest = rest_of(mask, arrays)
        ordered = sorted_rest(mask, arrays, rest)
        return bool(contract_means(domain.lo, domain.hi, domain.a, domain.b, mask, arrays, rest, ordered))

    def _sizes_possible(self, domain: Domain) -> bool:
        table = self.instance.entropy
        return all(
            np.isfinite(table[k, int(domain.a[k]) : int(domain.b[k]) + 1]).any() for k in range(len(table))
        )

    def _choose(self, relaxed: Relaxed, domain: Domain, bound: float, cutoff: float) -> tuple[int, int]:
        candidates = domain.candidates
        undecided = candidates & (candidates.sum(axis=1) > 1)[:, None]

        def children(g: int, k: int) -> tuple[float, float]:
            bounds = []
            for taken in (False, True):
                child = domain.copy()
                _decide(child.candidates, g, k, taken)
                bounds.append(max(bound, self.visit(child, cutoff, rounds=1).bound))
            return bounds[0], bounds[1]

        return self.rule.choose(Fractional(relaxed.z, undecided, bound, cutoff, children))

    def _learn(self, nodes: Nodes, i: int, bound: float, cutoff: float) -> None:
        if nodes["group"][i] < 0 or not math.isfinite(nodes.bound[i]):
            return
        gain = min(bound, cutoff) - float(nodes.bound[i])
        self.rule.learn(
            int(nodes["group"][i]),
            int(nodes["component"][i]),
            bool(nodes["up"][i]),
            float(nodes["distance"][i]),
            max(gain, 0.0),
        )

    def _rounded(self, z: np.ndarray, domain: Domain) -> np.ndarray:
        """Every group in the component that the relaxation likes best."""
        return self.instance.expand(np.argmax(np.where(domain.candidates, z, -1.0), axis=1))


class Numbering:
    """Interchangeable components, numbered by the first group they hold.

    Put the groups in a fixed order. Any clustering can be relabelled, within classes of interchangeable components, so
    that empty components come first and the others by the position of their first group; that changes neither
    feasibility nor cost. So it is enough to look at clusterings numbered in this way, in which no group before or at
    the first group of a component can be in the next one of its class.
    """

    def __init__(self, instance: Instance) -> None:
        self.order = farthest_first(instance.points[0])
        self.chains = [np.flatnonzero(instance.classes == c) for c in np.unique(instance.classes)]

    def narrow(self, candidates: np.ndarray, b: np.ndarray) -> bool:
        """Rule out, in place, what the numbering rules out; True when something was."""
        changed = False
        for chain in self.chains:
            used = [int(k) for k in chain if b[k] > 0]
            for k, following in itertools.pairwise(used):
                holds = candidates[self.order, k]
                first = int(np.argmax(holds)) if holds.any() else len(holds) - 1
                early = self.order[: first + 1]
                if candidates[early, following].any():
                    candidates[early, following] = False
                    changed = True
        return changed


def farthest_first(points: np.ndarray, most: int = 200) -> np.ndarray:
    """Groups ordered so that each is as far as can be from those before it: the first few are the hardest to join.

    After ``most`` of them the others follow as they come.
    """
    away = ((points - points.mean(axis=0)) ** 2).sum(axis=1)
    order = [int(np.argmax(away))]
    away = np.full(len(points), np.inf)
    while len(order) < min(most, len(points)):
        away = np.minimum(away, ((points - points[order[-1]]) ** 2).sum(axis=1))
        away[order[-1]] = -1.0
        order.append(int(np.argmax(away)))
    return np.array(order + np.setdiff1d(np.arange(len(points)), order).tolist())


def _decide(candidates: np.ndarray, g: int, k: int, taken: bool) -> None:
    if taken:
        candidates[g] = False
    candidates[g, k] = taken
