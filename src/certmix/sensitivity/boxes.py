"""Many questions at once, by boxes of means: which samples are together in every clustering below a target.

A clustering that costs at most so much more than the best one saves no more than that by moving a group: exchange
arguments hold with an allowance, the target less a bound of the problem. The search of
:mod:`certmix.search.bounds.interval` with that allowance loses nothing below the target, and a node of it is done when
all that is asked is settled in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from certmix.engines import engine, why_not
from certmix.kernels.candidates import unpacked
from certmix.presolve.instance import reduce
from certmix.problem import Problem
from certmix.search.bounds.base import Explored
from certmix.search.bounds.interval import IntervalBound
from certmix.search.nodes import Nodes
from certmix.search.record import Splits
from certmix.stopping import Stop, attempt

BATCH = 64  # nodes that are explored in one go
ROUNDING = 1e-9  # relatively, more than the roundings of an objective


@dataclass(frozen=True)
class Boxed:
    """What a search has settled.

    Attributes
    ----------
    together : (m,), which pairs are together in every clustering below the target
    bound : IntervalBound or None
        With the splits of the search; None where there was none.
    """

    together: np.ndarray
    bound: IntervalBound | None = None


def together_in_boxes(
    problem: Problem,
    pairs: np.ndarray,
    target: float,
    lower: float,
    told: Callable[[np.ndarray], float],
    most_nodes: int,
    stop: Stop,
    splits: Splits,
) -> Boxed:
    """Which pairs are together in every clustering whose objective is below the target.

    Parameters
    ----------
    pairs : (m, 2), positions of samples
    lower : a lower bound of the problem
    told : is given every clustering that is come across, and says what it costs
    most_nodes : that are explored; then what is settled in all that is left counts
    """
    nothing = Boxed(np.zeros(len(pairs), dtype=bool))
    if problem.covariance.unknown or why_not(engine("interval"), problem) is not None:
        return nothing
    search = _Search(problem, pairs, target, lower, told, splits)
    return attempt(lambda: search.run(most_nodes, stop), stop, stop.left) or nothing


class _Search:
    """Nodes in depth, and the pairs that were together in all of them so far."""

    def __init__(
        self,
        problem: Problem,
        pairs: np.ndarray,
        target: float,
        lower: float,
        told: Callable[[np.ndarray], float],
        splits: Splits,
    ) -> None:
        self.pairs, self.target, self.told, self.splits = pairs, target, told, splits
        self.problem, self.lower = problem, lower
        self.together = np.ones(len(pairs), dtype=bool)

    def run(self, most_nodes: int, stop: Stop) -> Boxed:
        instance = reduce(self.problem)
        extra = self.target - self.lower + ROUNDING * max(1.0, abs(self.target)) + 4.0 * instance.error
        self.bound = IntervalBound(instance, splits=self.splits, allowance=max(0.0, extra))
        self.groups = instance.groups.of[self.pairs]
        stack, explored = [self.bound.root()], 0
        while stack and explored < most_nodes and self.together.any() and not stop.raised:
            nodes = stack.pop()
            if len(nodes) > BATCH:
                stack.append(nodes.take(np.arange(BATCH, len(nodes))))
                nodes = nodes.take(np.arange(BATCH))
            explored += len(nodes)
            children = self._explored(nodes)
            if len(children):
                stack.append(children)
        for nodes in stack:
            self.together &= self._same(nodes).all(axis=0)
        return Boxed(self.together, self.bound)

    def _explored(self, nodes: Nodes) -> Nodes:
        """The children of the nodes in which something that is asked is not settled."""
        found = self.bound.explore(nodes, self.target)
        for labels in found.clusterings:
            if self.told(labels) < self.target:
                self.together &= labels[self.pairs[:, 0]] == labels[self.pairs[:, 1]]
        settled = self._same(found.nodes)[:, self.together].all(axis=1)
        left = np.flatnonzero(found.open & (found.nodes.bound < self.target) & ~settled)
        rest = Explored(found.nodes.take(left), found.open[left])
        return self.bound.branch(rest) if len(left) else rest.nodes

    def _same(self, nodes: Nodes) -> np.ndarray:
        """(nodes, m): whether both samples of a pair have one candidate left, the same one, or are in one group."""
        allowed = unpacked(nodes["mask"].astype(np.int64), self.problem.n_components)  # (nodes, N, K)
        a, b = self.groups.T
        one = allowed.sum(axis=2) == 1
        return np.asarray((one[:, a] & (allowed[:, a] == allowed[:, b]).all(axis=2)) | (a == b))
