"""The ascent with few features: a trust-region method over coefficients, for large clusters (design 3.1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from certmix.search.bounds.ascent import Ascent
from certmix.search.bounds.master import Master
from certmix.search.bounds.pricer import Pricer, PricingClass
from certmix.search.bounds.samples import Known
from certmix.search.bounds.scale import Scale


@dataclass(frozen=True)
class Tuning:
    """How far the ascent looks; coefficients of features and deviations of groups are in units of the scale."""

    largest_radius: float = 500.0  # of the region of coefficients
    sure_groups: int = (
        1000  # with more, coefficients are nearly known: the region begins smaller, in proportion
    )
    largest_slack: float = 10.0  # that a group may deviate
    deviating_groups: int = 5000  # with more, none deviates
    wider: float = 4.0  # times the region that an ascent over fewer groups has ended with
    most_told: int = 200  # sets that an ascent over more groups begins with


TUNING = Tuning()


class Lagrangian(Ascent):
    """Maximises the dual bound of one node; ``phi`` are features of the multipliers, per sample, in units.

    It looks ``further`` than the region in which the master's promises are kept, or not.
    """

    master: Master

    def __init__(
        self,
        pricer: Pricer,
        classes: list[PricingClass],
        phi: np.ndarray,
        scale: Scale,
        *,
        further: bool = True,
        **settings: Any,
    ) -> None:
        super().__init__(pricer, classes, scale, **settings)
        self.phi = phi * pricer.arrays.weight[:, None] * self.free[:, None]
        self.radius, self.slack = min(1.0, TUNING.sure_groups / len(phi)), 0.0
        self.further = further

    def begin(self, partition: list[np.ndarray] | None, cutoff: float, node_limit: int) -> None:
        """Set up the master with the sets of a clustering, and prove what the first feature is worth by itself."""
        self.master = Master(self.phi, self.counts)
        for i, which in enumerate(self.classes):
            if math.isfinite(which.empty):
                self.master.add(np.zeros(len(self.free), dtype=bool), i, which.empty / self.unit)
        if partition is not None:
            for i, which in enumerate(self.classes):
                for k in which.members:
                    if partition[k].any():
                        self.add_set(i, partition[k], self._slope(which.component, self._size(partition[k])))
        self.centre = np.zeros(self.phi.shape[1] + len(self.free))
        self.centre[0] = 1.0
        t = self.multipliers(self.master.multipliers(self.centre))
        self.prove(t, cutoff, node_limit)
        self.columns(t, np.full(len(self.classes), math.inf))

    def advance(self, cutoff: float, iterations: int, node_limit: int, budget: float = math.inf) -> bool:
        """A trust-region method.

        The master proposes multipliers near the best ones so far, exact pricing says what they prove and which sets the
        master had overlooked; the region grows where the master's promise was kept.
        """
        until = self.nodes + budget
        base = float(self.offset[self.free].sum())
        while self.iterations < iterations and self.best < cutoff and not self.should_stop():
            if self.nodes >= until:
                return False
            self.iterations += 1
            self.master.confine(self.centre, self.radius, self.slack)
            solved = self.master.solve()
            if solved is None:
                break
            value, x, sigma, duals = solved
            self._collect(duals)
            promised = self.unit * value + base - self.best
            if promised <= 1.5 * self.blur(cutoff):
                if not self._enlarge():
                    break
                continue
            before = self.best
            t = self.multipliers(self.master.multipliers(x))
            self.prove(t, cutoff, node_limit)
            added = self.columns(t, self.unit * sigma)
            gained = self.best - before
            if gained > 0:
                self.centre = x
                if gained > 0.5 * promised:
                    self.radius = min(2.0 * self.radius, TUNING.largest_radius)
            else:
                middle = 0.5 * (t + self.best_t)
                self.columns(middle, self._values(middle))
                self.radius *= 0.7 if added else 0.35
        return True

    def take_up(self, known: Known, cutoff: float, node_limit: int) -> None:
        """Go on from what an ascent over fewer groups has found out, if that is better than what there is."""
        before = self.best
        centre = np.concatenate([known.coefficients, np.zeros(len(self.free))])
        t = self.multipliers(self.master.multipliers(centre))
        for i, (which, (means, slopes)) in enumerate(zip(self.classes, known.starts, strict=True)):
            sets, values = self.pricer.local(which, t, means, slopes)
            for row in np.argsort(-values, kind="stable"):  # local pricing begins at the last ones
                if math.isfinite(values[row]):
                    self.add_set(i, sets[row], slopes[row])
        self.prove(t, cutoff, node_limit)
        if self.best > before:
            self.centre, self.radius = centre, min(self.radius, TUNING.wider * known.radius)

    def found(self) -> Known:
        """What an ascent over more groups can begin with."""
        raw, sigma = (self.best_t - self.offset) / self.unit, self.expected(self.best_t) / self.unit
        sets, costs = self.master.sets(), self.master.costs()
        reduced = [cost - raw @ members - sigma[i] for (members, i), cost in zip(sets, costs, strict=True)]
        starts = []
        for i, which in enumerate(self.classes):
            own = [row for row in np.argsort(reduced) if sets[row][1] == i and sets[row][0].any()]
            mine = own[: TUNING.most_told]
            means = [self.pricer.means_of(which, sets[row][0]) for row in mine]
            slopes = [self._slope(which.component, self._size(sets[row][0])) for row in mine]
            starts.append((np.array(means).reshape(len(mine), len(which.lo)), np.array(slopes)))
        return Known(self.centre[: self.phi.shape[1]], self.radius, starts)

    def shares(self) -> np.ndarray | None:
        solved = self.master.solve()
        return None if solved is None or len(solved[3]) != len(self.master.sets()) else solved[3]

    def _enlarge(self) -> bool:
        """Look further: a larger region, then deviations for every group. False when there is nothing left to try."""
        if not self.further:
            return False
        if self.radius < TUNING.largest_radius:
            self.radius *= 8.0
        elif self.slack < TUNING.largest_slack and len(self.free) <= TUNING.deviating_groups:
            self.slack = 10.0 * self.slack if self.slack else 0.1
            self.radius = max(self.slack, 1.0)
        else:
            return False
        return True

    def _values(self, t: np.ndarray) -> np.ndarray:
        """Slightly more than the smallest reduced cost that local search finds: sets below that are worth a row."""
        found = self.expected(t)
        return found + 1e-3 * (self.unit + np.abs(found))
