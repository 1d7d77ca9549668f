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
from certmix.search.bounds.trios import NO_TRIOS, TrioPrices

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
    """What exact pricing proved and found; sets are rebuilt from the rest by :meth:`Pricer.local`."""

    bound: float
    best: float
    nodes: int
    complete: bool
    values: np.ndarray
    means: np.ndarray
    slopes: np.ndarray
    held: np.ndarray


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
        trios: TrioPrices = NO_TRIOS,
    ) -> Priced:
        """Lower bound on the smallest reduced cost of a class, see :func:`certmix.kernels.pricing.price`."""
        place = self._place(which, self.cost(which, multipliers))
        goal = Goal(threshold, tolerance, node_limit, start_value, self.arrays.stop, False)
        forced, cost = sums(place, which.status == 1), place.cost[which.status == 0]
        paid = trios.paid_with(which.status)
        seen = paid.among(which.status == 0)
        cheap = room_for(keep, len(which.lo), seen.tied)
        bound, best, nodes, complete, _ = price(self._over(which), cost, place, forced, goal, cheap, seen)
        good = np.isfinite(cheap.value)
        tied = np.unique(paid.groups[paid.groups >= 0])  # in all of them, as local search counts them
        held = np.zeros((int(good.sum()), len(tied)), dtype=bool)
        held[:, which.status[tied] == 0] = cheap.held[good]
        found = cheap.value[good], cheap.mean[good], cheap.slope[good], held
        return Priced(bound, best, nodes, complete, *found)

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
        self,
        which: PricingClass,
        multipliers: np.ndarray,
        means: np.ndarray,
        slopes: np.ndarray,
        trios: TrioPrices = NO_TRIOS,
        held: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Cheap sets near the given starts: ``(sets, reduced costs)``; ``held``: which groups of trios they have."""
        place = self._place(which, self.cost(which, multipliers))
        sets = np.zeros((len(means), len(place.weight)), dtype=bool)
        values = np.empty(len(means))
        conflicts = self.arrays.conflict_start, self.arrays.conflict_with
        sweeps = FEW_SWEEPS if self.n_groups >= CELLS_FROM else LOCAL_SWEEPS
        paid = trios.paid_with(which.status).among(np.ones(len(which.status), dtype=bool))
        known = np.zeros((0, paid.tied), dtype=bool) if held is None else held
        begin = np.ascontiguousarray(means), slopes
        local_sets(*begin, place, which.status, *conflicts, sweeps, sets, values, paid, known)
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
