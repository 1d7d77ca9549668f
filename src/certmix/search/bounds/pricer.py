"""Pricing problems: which sets each component may hold in a node, and the compiled searches over them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from threading import Lock

import numpy as np

from certmix.kernels.arrays import Arrays
from certmix.kernels.cells import CELLS_FROM, Cells, cells_of
from certmix.kernels.mass import weighed
from certmix.kernels.price_parts import Goal, Place, room_for, set_cost, sums
from certmix.kernels.pricing import price
from certmix.kernels.sets import local_sets

KEPT_CELLS = 8
LOCAL_SWEEPS = 100
FEW_SWEEPS = 3  # with many groups exact pricing is as quick as a thorough local search


@dataclass(frozen=True)
class PricingClass:
    """Components of a node that may hold the same sets at the same cost.

    ``status`` is 1 for groups that must be in, 0 for free ones, -1 for groups that may not; ``empty`` is what it costs
    to hold none, infinite where that is not allowed.
    """

    component: int
    count: int
    members: tuple[int, ...]
    status: np.ndarray
    a: float
    b: float
    lo: np.ndarray
    hi: np.ndarray
    empty: float = math.inf


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
    """Exact and local pricing over the groups of some arrays."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays
        self.n_groups, self.n_samples = len(arrays.weight), arrays.entropy.shape[1] - 1
        self.partner = _matching(arrays)
        self._cells: dict[tuple[int, bytes], Cells] = {}
        self._building = Lock()

    def cost(self, which: PricingClass, multipliers: np.ndarray) -> np.ndarray:
        """Constant part of every group's reduced cost."""
        c = self.arrays.system[which.component]
        return np.where(which.status == 1, self.arrays.scatter[c], self.arrays.scatter[c] - multipliers)

    def _place(self, which: PricingClass, cost: np.ndarray) -> Place:
        """The pricing problem of a class, at the constant costs of the groups."""
        k, a = which.component, self.arrays
        groups = (a.points[a.system[k]], a.weight, a.mass, cost)
        region = (a.gamma[k], a.prior_mean[k], which.lo, which.hi)
        return Place(*groups, *region, a.entropy[k], bool(a.concave[k]), which.a, which.b)

    def full_cost(self, which: PricingClass, members: np.ndarray) -> float:
        """The cost c(S) of a set, without multipliers; the mean stays in the class's box."""
        place = self._place(which, self.arrays.scatter[self.arrays.system[which.component]])
        return set_cost(members, place)

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
        place = self._place(which, self.cost(which, multipliers))
        goal = Goal(threshold, tolerance, node_limit, start_value, self.arrays.stop, False)
        cheap = room_for(keep, len(which.lo))
        forced, cost = sums(place, which.status == 1), place.cost[which.status == 0]
        bound, best, nodes, complete, _ = price(self._over(which), cost, place, forced, goal, cheap)
        good = np.isfinite(cheap.value)
        return Priced(bound, best, nodes, complete, cheap.value[good], cheap.mean[good], cheap.slope[good])

    def _over(self, which: PricingClass) -> Cells:
        """The cells over a class's free groups; kept between calls."""
        system = int(self.arrays.system[which.component])
        free = which.status == 0
        key = (system, np.packbits(free).tobytes())
        with self._building:
            if key not in self._cells:
                if len(self._cells) >= KEPT_CELLS:
                    self._cells.clear()
                groups = self.arrays.points[system], self.arrays.weight, self.arrays.mass
                self._cells[key] = cells_of(*groups, free, self.partner)
            return self._cells[key]

    def local(
        self, which: PricingClass, multipliers: np.ndarray, means: np.ndarray, slopes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Cheap sets near the given starts: ``(sets, reduced costs)``."""
        place = self._place(which, self.cost(which, multipliers))
        sets = np.zeros((len(means), len(place.weight)), dtype=bool)
        values = np.empty(len(means))
        conflicts = self.arrays.conflict_start, self.arrays.conflict_with
        sweeps = FEW_SWEEPS if self.n_groups >= CELLS_FROM else LOCAL_SWEEPS
        local_sets(np.ascontiguousarray(means), slopes, place, which.status, *conflicts, sweeps, sets, values)
        return sets, values

    def means_of(self, which: PricingClass, members: np.ndarray) -> np.ndarray:
        k, a = which.component, self.arrays
        mass, gamma = a.mass[members], a.gamma[k]
        total = weighed(mass, a.points[a.system[k]][members]) + gamma * a.prior_mean[k]
        full = mass.sum(axis=0) + gamma
        return np.asarray(np.clip(total / np.where(full > 0, full, 1.0), which.lo, which.hi))


def _matching(arrays: Arrays) -> np.ndarray:
    """A maximal matching of the conflict pairs: partner of every group or -1."""
    partner = np.full(len(arrays.weight), -1, dtype=np.int64)
    first = np.repeat(np.arange(len(partner)), np.diff(arrays.conflict_start))
    for g, h in zip(first, arrays.conflict_with, strict=True):
        if g < h and partner[g] < 0 and partner[h] < 0:
            partner[g], partner[h] = h, g
    return partner
