"""Which assignment to branch on: the four rules of the paper's appendix.

A rule sees the relaxed solution of a node and names a group g and a component k; the children are "g is in k" (up) and
"g is not in k" (down). Rules are deterministic; ties go to the group and component that come first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

WHOLE = 1e-5  # nearer than this to 0 or 1 is whole, given how exactly relaxations are solved
LEAST_GAIN = 1e-6
TRIED = 8  # candidates whose children strong branching bounds
RELIABLE = 1  # observations on each side that make a pseudo-cost count
TRIED_ONCE = (
    4  # candidates whose unreliable pseudo-costs are filled in by bounding their children, at one node
)


@dataclass(frozen=True)
class Fractional:
    """A node as a rule sees it.

    Attributes
    ----------
    z : (N, K), the relaxed assignment
    undecided : (N, K) bool, assignments that are neither decided nor ruled out
    bound, cutoff : the node's bound, and the value at which a child is closed
    children : bounds the two children of (g, k), as ``(down, up)``
    """

    z: np.ndarray
    undecided: np.ndarray
    bound: float
    cutoff: float
    children: Callable[[int, int], tuple[float, float]]

    @cached_property
    def variables(self) -> np.ndarray:
        """(V, 2), the assignments one can branch on; of two that exclude each other only the first."""
        undecided = self.undecided.copy()
        double = undecided.sum(axis=1) == 2
        last = undecided.shape[1] - 1 - np.argmax(undecided[:, ::-1], axis=1)
        undecided[double, last[double]] = False
        return np.argwhere(undecided)

    @cached_property
    def fractional(self) -> np.ndarray:
        """Those of the variables that the relaxation leaves between 0 and 1; all of them when it leaves none."""
        z = self.of(self.variables)
        between = (z > WHOLE) & (z < 1.0 - WHOLE)
        return self.variables[between] if between.any() else self.variables

    def of(self, variables: np.ndarray) -> np.ndarray:
        """The relaxed values of some variables."""
        return np.asarray(self.z[variables[:, 0], variables[:, 1]])

    def gains(self, g: int, k: int) -> tuple[float, float]:
        """How much each child lifts the bound; what goes beyond the cutoff does not count."""
        most = self.cutoff - self.bound if np.isfinite(self.cutoff) else 1e3 * (1.0 + abs(self.bound))
        down, up = self.children(g, k)
        return min(max(down - self.bound, 0.0), most), min(max(up - self.bound, 0.0), most)


class Rule(Protocol):
    """A branching rule."""

    name: str

    def choose(self, node: Fractional) -> tuple[int, int]:
        """The group and the component to branch on."""
        ...

    def learn(self, g: int, k: int, up: bool, distance: float, gain: float) -> None:
        """A child, whose variable had to move by ``distance``, lifted the bound by ``gain``."""
        ...


class MostInfeasible:
    """The variable whose relaxed value is closest to one half."""

    name = "most-infeasible"

    def choose(self, node: Fractional) -> tuple[int, int]:
        return _first_best(node.fractional, -_away_from_half(node.of(node.fractional)))

    def learn(self, g: int, k: int, up: bool, distance: float, gain: float) -> None:
        pass


class MostIntegral:
    """The variable whose relaxed value is closest to one: ruling it out should close that child (the paper's rule)."""

    name = "most-integral"

    def choose(self, node: Fractional) -> tuple[int, int]:
        variables = np.argwhere(node.undecided)
        return _first_best(variables, node.of(variables))

    def learn(self, g: int, k: int, up: bool, distance: float, gain: float) -> None:
        pass


class Strong:
    """The variable whose children, both bounded, lift the bound most; tried on those closest to one half."""

    name = "strong"

    def choose(self, node: Fractional) -> tuple[int, int]:
        nearest = np.argsort(_away_from_half(node.of(node.fractional)).round(9), kind="stable")[:TRIED]
        tried = node.fractional[nearest]
        scores = [_product(*node.gains(int(g), int(k))) for g, k in tried]
        return _first_best(tried, np.array(scores))

    def learn(self, g: int, k: int, up: bool, distance: float, gain: float) -> None:
        pass


class PseudoCost:
    """The variable with the largest product of expected gains, from what branching on it gained before.

    The gain of a side is the average, over earlier branchings on the variable, of the bound's rise for each unit that
    the variable was moved, times the distance it has to move now. Where fewer than ``RELIABLE`` observations exist, the
    average over all variables stands in, and some of these variables have their children bounded first (Achterberg,
    Koch and Martin 2005: reliability branching): those closest to one, which the paper's own rule would choose from.
    """

    name = "pseudo-cost"

    def __init__(self) -> None:
        self.sum: dict[tuple[int, int, bool], float] = {}
        self.count: dict[tuple[int, int, bool], int] = {}
        self.total = {False: 0.0, True: 0.0}
        self.seen = {False: 0, True: 0}

    def choose(self, node: Fractional) -> tuple[int, int]:
        variables = node.fractional
        scores = np.array([self._score(node, int(g), int(k)) for g, k in variables])
        integral = np.argsort(-node.of(variables).round(9), kind="stable")
        unsure = [v for v in integral if not self._reliable(*map(int, variables[v]))]
        for v in unsure[:TRIED_ONCE]:
            g, k = map(int, variables[v])
            down, up = node.gains(g, k)
            z = float(node.z[g, k])
            self.learn(g, k, False, z, down)
            self.learn(g, k, True, 1.0 - z, up)
            scores[v] = _product(down, up)
        return _first_best(variables, scores)

    def learn(self, g: int, k: int, up: bool, distance: float, gain: float) -> None:
        if not np.isfinite(gain):
            return
        each = gain / max(distance, WHOLE)
        key = (g, k, up)
        self.sum[key] = self.sum.get(key, 0.0) + each
        self.count[key] = self.count.get(key, 0) + 1
        self.total[up] += each
        self.seen[up] += 1

    def _reliable(self, g: int, k: int) -> bool:
        return min(self.count.get((g, k, False), 0), self.count.get((g, k, True), 0)) >= RELIABLE

    def _score(self, node: Fractional, g: int, k: int) -> float:
        z = float(node.z[g, k])
        return _product(z * self._each(g, k, False), (1.0 - z) * self._each(g, k, True))

    def _each(self, g: int, k: int, up: bool) -> float:
        """Expected gain for each unit of movement."""
        count = self.count.get((g, k, up), 0)
        if count:
            return self.sum[g, k, up] / count
        return self.total[up] / self.seen[up] if self.seen[up] else 1.0


_RULES: dict[str, type[Rule]] = {
    rule.name: rule for rule in (PseudoCost, Strong, MostInfeasible, MostIntegral)
}


def branching_rule(name: str) -> Rule:
    """The rule of that name, one of :data:`certmix.options.BRANCHING`, with nothing learned yet."""
    return _RULES[name]()


def _away_from_half(z: np.ndarray) -> np.ndarray:
    return np.asarray(np.abs(z - 0.5))


def _product(down: float, up: float) -> float:
    return max(down, LEAST_GAIN) * max(up, LEAST_GAIN)


def _first_best(variables: np.ndarray, score: np.ndarray) -> tuple[int, int]:
    """The variable of the largest score; scores that differ by rounding alone are a tie, which the first wins."""
    g, k = variables[int(np.argmax(score >= score.max() - 1e-9 * abs(score.max())))]
    return int(g), int(k)
