"""Pricing problems: which sets each component may hold in a node, and the compiled searches over them."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock

import numpy as np

from certmix.kernels.arrays import Arrays
from certmix.kernels.cells import Tree, build_tree, price_cells
from certmix.kernels.pricing import price
from certmix.kernels.sets import local_sets, set_cost
from certmix.presolve.instance import Instance

CELLS_FROM = 3000  # from so many groups on, pricing works on the cells of a kd-tree
KEPT_TREES = 8
LOCAL_SWEEPS = 100
FEW_SWEEPS = 3  # with many groups exact pricing is as quick as a thorough local search


@dataclass(frozen=True)
class PricingClass:
    """Components of a node that may hold the same sets at the same cost.

    ``status`` is 1 for groups that must be in, 0 for free ones, -1 for groups that may not.
    """

    component: int
    count: int
    members: tuple[int, ...]
    status: np.ndarray
    a: float
    b: float
    lo: np.ndarray
    hi: np.ndarray


@dataclass(frozen=True)
class Priced:
    """What exact pricing proved and found; sets are rebuilt from means and slopes by :meth:`Pricer.local`."""

    bound: float
    best: float
    nodes: int
    complete: bool
    values: np.ndarray
    means: np.ndarray
    slopes: np.ndarray


class Pricer:
    """Exact and local pricing over one instance."""

    def __init__(self, instance: Instance, arrays: Arrays) -> None:
        self.instance = instance
        self.arrays = arrays
        self.partner = _matching(instance)
        self._trees: dict[tuple[int, bytes], tuple[Tree, np.ndarray, np.ndarray]] = {}
        self._building = Lock()

    def cost(self, which: PricingClass, multipliers: np.ndarray) -> np.ndarray:
        """Constant part of every group's reduced cost."""
        c = self.arrays.system[which.component]
        return np.where(which.status == 1, self.arrays.scatter[c], self.arrays.scatter[c] - multipliers)

    def _place(self, which: PricingClass) -> tuple[np.ndarray, ...]:
        k, a = which.component, self.arrays
        return a.points[a.system[k]], a.weight, a.gamma[k], a.prior_mean[k], a.entropy[k]

    def full_cost(self, which: PricingClass, members: np.ndarray) -> float:
        """The cost c(S) of a set, without multipliers; the mean stays in the class's box."""
        points, weight, gamma, prior_mean, entropy = self._place(which)
        cost = self.arrays.scatter[self.arrays.system[which.component]]
        return float(
            set_cost(members, points, weight, cost, gamma, prior_mean, which.lo, which.hi, entropy)[0]
        )

    def exact(
        self,
        which: PricingClass,
        multipliers: np.ndarray,
        threshold: float,
        tolerance: float,
        node_limit: int,
        start_value: float = np.inf,
        keep: int = 32,
    ) -> Priced:
        """Lower bound on the smallest reduced cost of a class, see :func:`certmix.kernels.pricing.price`."""
        if self.instance.n_groups >= CELLS_FROM:
            return self._exact_by_cells(
                which, multipliers, threshold, tolerance, node_limit, start_value, keep
            )
        points, weight, gamma, prior_mean, entropy = self._place(which)
        values, means, slopes = np.empty(keep), np.empty((keep, points.shape[1])), np.empty(keep)
        bound, best, nodes, complete, _ = price(
            points,
            weight,
            self.cost(which, multipliers),
            gamma,
            prior_mean,
            which.lo,
            which.hi,
            entropy,
            bool(self.arrays.concave[which.component]),
            which.status,
            which.a,
            which.b,
            which.a,
            which.b,
            self.partner
            < 0,  # all that the pricing problem knows of coupling constraints are the matched pairs
            self.partner,
            threshold,
            tolerance,
            node_limit,
            start_value,
            values,
            means,
            slopes,
            self.arrays.stop,
            False,
        )
        good = np.isfinite(values)
        return Priced(bound, best, nodes, complete, values[good], means[good], slopes[good])

    def _exact_by_cells(
        self,
        which: PricingClass,
        multipliers: np.ndarray,
        threshold: float,
        tolerance: float,
        node_limit: int,
        start_value: float,
        keep: int,
    ) -> Priced:
        """The same for many groups, over the cells of a kd-tree."""
        points, weight, gamma, prior_mean, entropy = self._place(which)
        cost = self.cost(which, multipliers)
        free, forced = which.status == 0, which.status == 1
        d = points.shape[1]
        values, means, slopes = np.empty(keep), np.empty((keep, d)), np.empty(keep)
        if not free.any():
            best = self._forced_value(which, cost)
            return Priced(best, best, 0, True, values[:0], means[:0], slopes[:0])
        tree, mine, own_weight = self._tree(which)
        bound, best, nodes, complete, _ = price_cells(
            tree,
            mine,
            own_weight,
            np.ascontiguousarray(cost[free]),
            gamma,
            prior_mean,
            which.lo,
            which.hi,
            entropy,
            bool(self.arrays.concave[which.component]),
            float(weight[forced].sum()),
            (weight[forced, None] * points[forced]).sum(axis=0),
            float((0.5 * weight[forced, None] * points[forced] ** 2).sum() + cost[forced].sum()),
            which.a,
            which.b,
            which.a,
            which.b,
            threshold,
            start_value,
            tolerance,
            node_limit,
            values,
            means,
            slopes,
            self.arrays.stop,
            False,
        )
        good = np.isfinite(values)
        return Priced(bound, best, nodes, complete, values[good], means[good], slopes[good])

    def _forced_value(self, which: PricingClass, cost: np.ndarray) -> float:
        """The one set that is left, its cost lowered by its rounding."""
        points, weight, gamma, prior_mean, entropy = self._place(which)
        forced = which.status == 1
        value = set_cost(forced, points, weight, cost, gamma, prior_mean, which.lo, which.hi, entropy)[0]
        magnitude = float(np.abs(cost[forced]).sum() + (weight[forced, None] * points[forced] ** 2).sum())
        return float(value - (2 * len(cost) + 64) * 2.3e-16 * (magnitude + abs(value)))

    def _tree(self, which: PricingClass) -> tuple[Tree, np.ndarray, np.ndarray]:
        """The kd-tree over a class's free groups, their points and weights; kept between calls."""
        system = int(self.arrays.system[which.component])
        free = which.status == 0
        key = (system, np.packbits(free).tobytes())
        with self._building:
            if key not in self._trees:
                if len(self._trees) >= KEPT_TREES:
                    self._trees.clear()
                points = np.ascontiguousarray(self.arrays.points[system][free])
                weight = np.ascontiguousarray(self.arrays.weight[free])
                self._trees[key] = (build_tree(points, weight), points, weight)
            return self._trees[key]

    def local(
        self, which: PricingClass, multipliers: np.ndarray, means: np.ndarray, slopes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Cheap sets near the given starts: ``(sets, reduced costs)``."""
        points, weight, gamma, prior_mean, entropy = self._place(which)
        sets = np.zeros((len(means), len(weight)), dtype=bool)
        values = np.empty(len(means))
        local_sets(
            np.ascontiguousarray(means),
            slopes,
            points,
            weight,
            self.cost(which, multipliers),
            gamma,
            prior_mean,
            which.lo,
            which.hi,
            entropy,
            which.status,
            which.a,
            which.b,
            self.arrays.conflict_start,
            self.arrays.conflict_with,
            FEW_SWEEPS if self.instance.n_groups >= CELLS_FROM else LOCAL_SWEEPS,
            sets,
            values,
        )
        return sets, values

    def means_of(self, which: PricingClass, members: np.ndarray) -> np.ndarray:
        points, weight, gamma, prior_mean, _ = self._place(which)
        total = (weight[members, None] * points[members]).sum(axis=0) + gamma * prior_mean
        return np.asarray(np.clip(total / (weight[members].sum() + gamma), which.lo, which.hi))


def _matching(instance: Instance) -> np.ndarray:
    """A maximal matching of the conflict pairs, heaviest coupling first: partner of every group or -1."""
    partner = np.full(instance.n_groups, -1, dtype=np.int64)
    for g, h in instance.conflicts:
        if partner[g] < 0 and partner[h] < 0:
            partner[g], partner[h] = h, g
    return partner
