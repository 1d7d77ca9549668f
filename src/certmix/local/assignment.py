"""The assignment step of hard EM, exact under every side constraint.

Minimise ``sum_g costs[g, label_g]`` over the labels that an instance allows. The work is done by the
weakest tool that is enough: the cheapest component of every group; an integer program for each connected
set of groups whose constraints that violates; a minimum-cost flow when only size limits bind and all groups
weigh the same; one integer program for the rest, made small by reduced costs. Each layer solves a
relaxation of the next, so the first feasible answer is optimal.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from certmix.highs import minimise
from certmix.presolve.instance import Instance
from certmix.presolve.rows import once, side_rows, sizes
from certmix.problem.rules import ALL
from certmix.stopping import current

# Below this many groups the integer program is small enough as it is.
_SMALL = 3000


def satisfies(instance: Instance, labels: np.ndarray) -> bool:
    """Whether labels of the groups satisfy every constraint of the instance."""
    if instance.groups.contradiction or not _sizes_hold(instance, labels):
        return False
    return bool(instance.allowed[np.arange(len(labels)), labels].all()) and not len(
        _violated(instance, labels)
    )


class Assigner:
    """Cheapest labels of the groups of one instance under all of its constraints; None when there are none.

    ``costs`` are those of every group in every component, (N, K), with the group's weight in them. What does not depend
    on them is worked out once.
    """

    def __init__(self, instance: Instance, *, time_limit: float | None = None) -> None:
        self.instance = instance
        self.time_limit = time_limit  # seconds for an integer program; the best labels that it had count
        self.stop = current()
        self.sets = _connected_sets(instance)
        self.programs: dict[int, Program] = {}
        self.special = special_groups(instance)
        weight = instance.weight
        self.unit = int(weight[0]) if np.all(weight == weight[0]) else 0
        self.possible = not instance.groups.contradiction and bool(instance.allowed.any(axis=1).all())

    def __call__(self, costs: np.ndarray) -> np.ndarray | None:
        instance = self.instance
        if not self.possible:
            return None
        costs = np.where(instance.allowed, costs, np.inf)
        labels = self._without_sizes(costs)
        if labels is not None and not _sizes_hold(instance, labels):
            labels = self._flow(costs) if self.unit and not instance.coupled else self._mixed(costs)
        return labels if labels is not None and satisfies(instance, labels) else None

    def _without_sizes(self, costs: np.ndarray) -> np.ndarray | None:
        """The cheapest labels, size limits aside; each violated connected set by its own program."""
        labels = np.asarray(np.argmin(costs, axis=1), dtype=np.int64)
        if not self.instance.coupled:
            return labels
        for s in np.unique(self.sets[_violated(self.instance, labels)]):
            if int(s) not in self.programs:
                self.programs[int(s)] = Program(self.instance, np.flatnonzero(self.sets == s))
            program = self.programs[int(s)]
            found = program.solve(costs[program.members], self.time_limit)
            if found is None:
                return None
            labels[program.members] = found
        return labels

    def _flow(self, costs: np.ndarray) -> np.ndarray | None:
        from certmix.kernels.flow import balanced_assignment

        lower, upper = -(-self.instance.size_lower // self.unit), self.instance.size_upper // self.unit
        labels, met, _ = balanced_assignment(np.ascontiguousarray(costs), lower, upper, self.stop.flag)
        return np.asarray(labels) if met else None

    def _mixed(self, costs: np.ndarray) -> np.ndarray | None:
        """Size limits together with coupling constraints or unequal weights.

        For any prices v, ``sum_g min_k (costs - w v)_gk + sum_k (v_k^+ lower_k - v_k^- upper_k)`` is a
        lower bound, with the coupling constraints kept in the minimum. Prices come from the flow of the
        ordinary groups given the special ones, which also gives an upper bound; a component whose reduced
        cost exceeds the gap is closed to a group.
        """
        instance = self.instance
        members = np.arange(instance.n_groups)
        ordinary = np.flatnonzero(~self.special)
        limits = instance.size_lower, instance.size_upper
        if len(ordinary) < _SMALL:
            return Program(instance, members, size_limits=limits).solve(costs, self.time_limit)
        best, upper, lower, reduced = self._bracket(costs, ordinary)
        value = abs(upper) if np.isfinite(upper) else 1.0
        if upper - lower <= 1e-12 * (1 + value):
            return best
        allowed = instance.allowed.copy()
        slack = reduced - reduced.min(axis=1, keepdims=True)
        allowed[ordinary] &= slack[ordinary] <= upper - lower + 1e-9 * (1 + value)
        settled = ~self.special & (allowed.sum(axis=1) == 1)
        labels = np.argmax(allowed, axis=1)
        used = np.bincount(labels[settled], instance.weight[settled], minlength=instance.n_components)
        rest = np.flatnonzero(~settled)
        program = Program(
            instance, rest, allowed=allowed[rest], size_limits=(limits[0] - used, limits[1] - used)
        )
        found = program.solve(costs[rest], self.time_limit)
        if found is None:
            return best
        labels[rest] = found
        return labels

    def _bracket(
        self, costs: np.ndarray, ordinary: np.ndarray
    ) -> tuple[np.ndarray | None, float, float, np.ndarray]:
        """Feasible labels and their cost, a lower bound, and the reduced costs that prove it."""
        from certmix.kernels.flow import balanced_assignment

        instance, K = self.instance, self.instance.n_components
        special = np.flatnonzero(self.special)
        every = np.arange(instance.n_groups)
        best, upper, lower, proof = None, np.inf, -np.inf, costs
        price = np.zeros(K)
        for _ in range(6):
            reduced = costs - instance.weight[:, None] * price
            labels = self._without_sizes(reduced)
            if labels is None:
                break
            bound = reduced[every, labels].sum()
            bound += float(
                np.where(price > 0, price * instance.size_lower, price * instance.size_upper).sum()
            )
            if bound > lower:
                lower, proof = float(bound), reduced
            used = np.bincount(labels[special], instance.weight[special], minlength=K).astype(np.int64)
            if np.any(used > instance.size_upper):
                break
            least = np.maximum(instance.size_lower - used, 0)
            part, met, price = balanced_assignment(
                np.ascontiguousarray(costs[ordinary]), least, instance.size_upper - used, self.stop.flag
            )
            if not met:
                break
            labels[ordinary] = part
            value = float(costs[every, labels].sum())
            if not value < upper:
                break
            best, upper = labels, value
        return best, upper, lower, proof


def _sizes_hold(instance: Instance, labels: np.ndarray) -> bool:
    sizes = np.bincount(labels, instance.weight, minlength=instance.n_components)
    return bool(np.all(sizes >= instance.size_lower) and np.all(sizes <= instance.size_upper))


def _violated(instance: Instance, labels: np.ndarray) -> np.ndarray:
    """One group of every violated conflict, implication and count."""
    a, b = instance.conflicts.T
    found = [a[labels[a] == labels[b]]]
    group, then, k = instance.implications.T
    found.append(group[((k == ALL) | (labels[group] == k)) & (labels[group] != labels[then])])
    for row in instance.counts:
        count = int(row.coefficient[labels[row.groups] == row.component].sum())
        if not row.low <= count <= row.high:
            found.append(row.groups[:1])
    return np.concatenate(found)


def _connected_sets(instance: Instance) -> np.ndarray:
    """For every group, the number of the connected set that conflicts, implications and counts put it in."""
    edges = [instance.conflicts, instance.implications[:, :2]]
    edges += [np.column_stack([np.full(len(r.groups), r.groups[0]), r.groups]) for r in instance.counts]
    pairs = np.concatenate(edges)
    N = instance.n_groups
    graph = coo_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(N, N))
    return np.asarray(connected_components(graph, directed=False)[1])


class Program:
    """The step as an integer program: cheapest labels of some groups; constraints that reach beyond them are left out.

    ``allowed`` are the components open to each member, (members, K), instead of those of the instance; ``size_limits``
    the least and the most weight that the members bring to every component.
    """

    def __init__(
        self,
        instance: Instance,
        members: np.ndarray,
        *,
        allowed: np.ndarray | None = None,
        size_limits: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        self.members = members
        self.allowed = instance.allowed[members] if allowed is None else allowed
        self.tied = special_groups(instance)[members]
        rows = once(np.ones(len(members)), instance.n_components) + side_rows(instance, members)
        if size_limits is not None:
            rows += sizes(instance.weight[members], *size_limits)
        self.rows = rows.over(np.flatnonzero(self.allowed))

    def solve(self, costs: np.ndarray, time_limit: float | None = None) -> np.ndarray | None:
        """Labels of the members that minimise the sum of ``costs[member, label]``; None when there are none.

        First without any integrality, which is often enough. Then a group of weight one in no constraint
        but the size limits need not be declared integer: once the others are fixed, the rest is a
        transportation problem with whole-number limits, whose vertices are integral. At last with all of
        it.
        """
        if not self.allowed.any(axis=1).all():
            return None
        K = self.allowed.shape[1]
        inner = np.where(self.allowed, costs, np.inf)
        cost = (inner - inner.min(axis=1, keepdims=True))[self.allowed]
        for tied in (np.zeros(len(self.tied), dtype=bool), self.tied, np.ones(len(self.tied), dtype=bool)):
            answer = minimise(
                cost,
                self.rows.matrix,
                self.rows.low,
                self.rows.high,
                upper=1.0,
                integer=np.repeat(tied, K)[self.allowed.ravel()],
                time_limit=math.inf if time_limit is None else time_limit,
                mip_rel_gap=0.0,
                mip_abs_gap=1e-9,
            )[1]
            if answer is None:
                return None
            shares = np.zeros(self.allowed.shape)
            shares[self.allowed] = answer
            if np.all(np.abs(shares - np.rint(shares)) < 1e-4):
                return np.asarray(np.argmax(shares, axis=1), dtype=np.int64)
        return None


def special_groups(instance: Instance) -> np.ndarray:
    """Groups in a conflict, an implication or a count, or of more than one sample."""
    special = np.asarray(instance.weight != 1)
    special[instance.conflicts.ravel()] = True
    special[instance.implications[:, :2].ravel()] = True
    for count in instance.counts:
        special[count.groups] = True
    return special
