"""The ascent with a multiplier for every group, from the centre of what the sets so far leave open.

Where a clustering is optimal for the master program, complementary slackness says where its multipliers can be: a group
is worth at least what its cluster saves without it, and at most what any other cluster would have to pay for it. The
ascent begins in that box, which is small for groups between clusters, and widens it where the program pushes against
it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from certmix.search.bounds.ascent import Ascent
from certmix.search.bounds.between import between
from certmix.search.bounds.columns import Columns
from certmix.search.bounds.interior import LinearProgram, Point, Solved, central
from certmix.search.bounds.pricer import Pricer, PricingClass
from certmix.search.bounds.scale import Scale
from certmix.search.bounds.trios import NO_TRIOS, TrioPrices, held, limits, violated_trios


@dataclass(frozen=True)
class Tuning:
    """How the ascent goes: shares are of what is lacking, of a side or of a component, sides and prices in units."""

    precision: float = 0.1  # share of what the last prices were short of, to which a program is solved; ...
    far_off: float = 0.5  # ... that is no more than the best ones were, or than this share of what is lacking
    halfway: float = 0.5  # from the best multipliers to new ones: there sets are looked for as well
    least_side: float = 0.05  # sides of the box are at least this share of an ordinary one ...
    shortest_side: float = 1e-3  # ... and this long, in units
    firmer: float = 2.0  # times as firmly multipliers are held to the best ones when those stay the best ...
    softest: float = 0.05  # ... between these
    firmest: float = 50.0
    pushing: float = 1e-3  # a multiplier of an end of the box that counts
    near_sets: int = 4  # sets for every component that local search begins at
    dearest: float = 4.0  # how many components a component more on a side may be worth
    hopeless: float = (
        0.25  # an ascent that falls short ends when the bound is so near to what can be reached: a share of what
        # is lacking then, and of what it can add to what was known
    )
    new_trios: int = 6  # at a time for each component
    most_trios: int = 10_000  # of a node
    first_price: float = 0.1  # of a trio, as a share of an ordinary side of the box, ...
    first_most: float = 0.2  # ... and the most that it may be, until that is in the way
    separating: float = (
        1e-3  # share of what is lacking to which a program is solved to see which trios are broken
    )
    fruitful: float = 0.9  # share of what was lacking that trios may leave: then more of them come


TUNING = Tuning()


@dataclass(frozen=True, eq=False)
class FoundSet:
    """A set of a class of components, and what a sample more costs it through its size.

    Mean and cost are those in the cell in which it was found. In another one it may cost less or more: its mean stays
    in the cell.
    """

    members: np.ndarray
    owner: int
    slope: float
    mean: np.ndarray
    cost: float


class CentralMaster(Columns):
    """The rows as the interior-point method takes them, in the order in which sets came."""

    def __init__(self, counts: np.ndarray, owner: np.ndarray, inside: np.ndarray, free: np.ndarray) -> None:
        super().__init__(counts)
        self.owner, self.inside = owner, inside
        self.place = np.cumsum(free) - 1  # of a group among the variables
        self.n_groups = int(free.sum())
        self.trios = NO_TRIOS.groups
        self._index: list[np.ndarray] = []

    def add(self, members: np.ndarray, pricing_class: int, cost: float) -> None:
        super().add(members, pricing_class, cost)
        self._index.append(self._row(members, pricing_class))

    def _row(self, members: np.ndarray, pricing_class: int) -> np.ndarray:
        """The groups, the trios it holds two of, the price of the class, those of the sides that the set is on."""
        classes = self.n_groups + len(self.trios)
        both = self.n_groups + np.flatnonzero(held(members[None], self.trios)[0])
        sides = np.flatnonzero(self.inside[pricing_class] * members.any())
        own = [classes + self.owner[pricing_class]]
        return np.concatenate([self.place[members], both, own, classes + len(self.counts) + sides])

    @property
    def n_entries(self) -> int:
        """Of the rows, together."""
        return sum(len(index) for index in self._index)

    def price_trios(self, trios: np.ndarray) -> None:
        """Variables for these trios, instead of those that there were."""
        self.trios = trios
        self._index = [self._row(*known) for known in self.sets()]

    def rows(self) -> tuple[csr_matrix, np.ndarray]:
        ends = np.cumsum([0, *(len(index) for index in self._index)])
        index = np.concatenate(self._index)
        width = self.n_groups + len(self.trios) + len(self.counts) + self.inside.shape[1]
        matrix = csr_matrix((np.ones(len(index)), index, ends), shape=(len(self._index), width))
        return matrix, np.array(self._costs)

    def cover(
        self, raw: np.ndarray, sigma: np.ndarray, gap: float, trios: TrioPrices = NO_TRIOS
    ) -> list[tuple[np.ndarray, int]]:
        """Of the classes that the cells belong to."""
        classes, self._classes = self._classes, self.owner[self._classes].tolist()
        try:
            return super().cover(raw, sigma, gap, trios)
        finally:
            self._classes = classes


class CentralAscent(Ascent):
    """Maximises the dual bound of one node.

    ``first`` are multipliers to begin at, with ``prices`` of sides; ``sets`` are those of other ascents, and ``known``
    is a bound that the node has from elsewhere.
    """

    master: CentralMaster

    def __init__(
        self,
        pricer: Pricer,
        classes: list[PricingClass],
        scale: Scale,
        *,
        first: np.ndarray | None = None,
        prices: np.ndarray | None = None,
        sets: Iterable[FoundSet] = (),
        trios: TrioPrices = NO_TRIOS,
        known: float = -math.inf,
        **settings: Any,
    ) -> None:
        super().__init__(pricer, classes, scale, **settings)
        self.whole = classes
        self.first, self.others, self.known = first, sets, known
        self.best_prices = np.zeros(len(self.sides)) if prices is None else prices
        self.best_trios = trios
        self.means: list[np.ndarray] = []  # of the sets, in the order of the master
        self.slopes: list[float] = []
        self.cells: list[int] = []
        self.solved: Solved | None = None
        self.lacked = math.inf  # when the last trios came

    # -- where it begins -------------------------------------------------------------------------------------
    def begin(self, partition: list[np.ndarray] | None, cutoff: float, node_limit: int) -> None:
        assert partition is not None
        self.master = CentralMaster(self.counts, self.owner, self.inside, self.free)
        for c, which in enumerate(self.whole):
            if math.isfinite(which.empty):
                i = int(np.searchsorted(self.owner, c))
                self.master.add(np.zeros(len(self.free), dtype=bool), i, which.empty / self.unit)
                self._note(np.full(len(which.lo), math.nan), 0.0, -1)
            for k in which.members:
                if partition[k].any():
                    self.take(c, partition[k])
        low, high, first = between(self.pricer, partition, self.whole)
        prices = self.best_prices
        if self.first is not None:
            first = self.first
        for found in self.others:
            self._place(found)
        low, high, raw = ((t - self.offset)[self.free] / self.unit for t in (low, high, first))
        self.side = np.maximum(
            high - low, max(TUNING.least_side * float(np.median(high - low)), TUNING.shortest_side)
        )
        self.low = np.minimum(0.5 * (low + high - self.side), raw - 0.1 * self.side)
        self.high = np.maximum(0.5 * (low + high + self.side), raw + 0.1 * self.side)
        t, trios = self._full(raw), self.best_trios
        self.master.price_trios(trios.groups)
        self.prove(t, cutoff, node_limit, prices, trios)
        local = np.array([self.local_value(i, t, trios) for i in range(len(self.classes))])
        sigma = self._least(local - self.inside @ prices)
        sigma = np.where(np.isfinite(sigma), sigma, 0.0)
        tilt = prices / self.unit + 0.1 * self.sides.signs * float(np.median(self.side))
        paid = np.maximum(trios.prices / self.unit, TUNING.first_price * float(np.median(self.side)))
        y = np.concatenate([raw, -paid, sigma / self.unit, tilt])
        self.dearest = TUNING.dearest * float(np.abs(np.append(y[len(raw) + len(paid) :], 1.0)).max())
        self.most_paid = np.maximum(2.0 * paid, TUNING.first_most * float(np.median(self.side)))
        self.towards, self.firmness = y, 1.0
        self.point = Point(y, np.full(len(self.means), 0.5), np.full(len(y), 0.1), np.full(len(y), 0.1))
        self.columns(t, (sigma + 0.2 * np.abs(sigma))[self.owner], most=10 * self.count, trios=trios)

    def take(self, c: int, members: np.ndarray) -> None:
        """A set of a class of components."""
        which = self.whole[c]
        slope = self._slope(which.component, self._size(members))
        mean = self.pricer.means_of(which, members)
        self._place(FoundSet(members, c, slope, mean, self.pricer.full_cost(which, members)))

    def _place(self, found: FoundSet) -> None:
        """Its cell is the one that has its mean."""
        for i in np.flatnonzero(self.owner == found.owner):
            which = self.classes[i]
            if np.all(which.lo <= found.mean) and np.all(found.mean <= which.hi):
                self.add_set(int(i), found.members, found.slope)
                return

    def sets(self) -> list[FoundSet]:
        """All sets."""
        found = []
        rows = zip(self.master.sets(), self.master.costs(), self.slopes, self.means, strict=True)
        for (members, i), cost, slope, mean in rows:
            if members.any():
                full = self.unit * cost + float(self.offset[members].sum())
                every = members | (self.classes[i].status == 1)
                found.append(FoundSet(every, int(self.owner[i]), slope, mean, full))
        return found

    def _note(self, mean: np.ndarray, slope: float, cell: int) -> None:
        self.cells.append(cell)
        self.means.append(mean)
        self.slopes.append(slope)

    def _full(self, raw: np.ndarray) -> np.ndarray:
        """Multipliers of all groups."""
        every = np.zeros(len(self.free))
        every[self.free] = raw
        return self.multipliers(every)

    # -- the ascent ------------------------------------------------------------------------------------------
    def advance(self, cutoff: float, iterations: int, node_limit: int, budget: float = math.inf) -> bool:
        """Column generation from central points.

        Every round solves the program of the sets so far to a share of what the last prices were short of. When it is
        solved as far as prices can tell, the box is widened where it is in the way; when it is nowhere, that is all.
        """
        until = self.nodes + budget
        base = float(self.offset[self.free].sum())
        short = max(cutoff - self.best, self.unit)
        while self.iterations < iterations and self.best < cutoff and not self.should_stop():
            if self.nodes >= until:
                return False
            self.iterations += 1
            solved = self._solve(TUNING.precision * short / self.unit, self._pull(short))
            if solved is None:
                break
            y, n = solved.point.y, self.master.n_groups
            away = self._pull(short) * np.abs(y - self.towards)
            reach = self.unit * (solved.value + solved.gap + float(away[:n] @ self.side)) + base
            t, _, prices, trios = self._named(y)
            self._collect(solved.point.rows)
            before = self.best
            proved = self.prove(t, cutoff, node_limit, self.sides.signs * np.abs(prices), trios)
            halfway = self.towards + TUNING.halfway * (y - self.towards)
            added = self._sets_at(y) + self._sets_at(halfway)
            if self.best > before:
                self.towards, self.firmness = y, max(self.firmness / TUNING.firmer, TUNING.softest)
            else:
                self.firmness = min(self.firmness * TUNING.firmer, TUNING.firmest)
            blur = self.blur(cutoff)
            most = max(reach - self.best, TUNING.far_off * (cutoff - self.best))
            short = max(min(reach - proved, most), blur)
            sides = np.maximum(self.side, float(np.median(self.side)))  # a short one may have to grow by far
            push = self.unit * float(self._pushing().max(axis=0) @ np.append(sides, self.most_paid))
            aim = min(cutoff - reach, reach - self.known)
            near = aim > 0 and reach - max(self.best, self.known) < TUNING.hopeless * aim
            hopeless = near and reach + push < cutoff
            done = reach - self.best <= 1.5 * blur or (not added and self.unit * solved.gap <= blur)
            ended = hopeless or ((near or done) and not self._widen())
            if ended and not self._more_trios(cutoff):
                break
        return True

    def _named(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, TrioPrices]:
        """Multipliers of groups, prices of classes, of sides and of trios, from the variables of the program."""
        master = self.master
        ends = np.cumsum([master.n_groups, len(master.trios), len(self.counts)])
        raw, paid, worth, tilt = np.split(y, ends)
        trios = TrioPrices(master.trios, self.unit * np.maximum(-paid, 0.0))
        return self._full(raw), self.unit * worth, self.unit * tilt, trios

    def _sets_at(self, y: np.ndarray) -> int:
        """Add sets that cost less than they should at these variables; how many were new."""
        t, sigma, prices, trios = self._named(y)
        most = 10 * self.count
        return self.columns(t, sigma[self.owner] + self.inside @ prices, most=most, trios=trios)

    def _more_trios(self, cutoff: float) -> bool:
        """Prices for trios that the program breaks; False when there are none, or the last ones have brought little."""
        before, solved = self.point, self.solved
        exact = self._solve(TUNING.separating * (cutoff - self.best) / self.unit, 0.0 * before.y)
        self.point, self.solved = before, solved
        if exact is None:
            return False
        lacking = cutoff - self.unit * exact.value - float(self.offset[self.free].sum())
        if lacking > TUNING.fruitful * self.lacked:
            return False
        shares, members = exact.point.rows, np.array([members for members, _ in self.master.sets()])
        old, n = self.master.trios, self.master.n_groups
        most = min(TUNING.new_trios * self.count, TUNING.most_trios - len(old))
        new = violated_trios(members & self.free, shares, old, most) if most > 0 else old[:0]
        if not len(new):
            return False
        self.lacked = lacking
        m, first = len(old), TUNING.first_price * float(np.median(self.side))

        def wider(values: np.ndarray, fill: float) -> np.ndarray:
            return np.insert(values, n + m, np.full(len(new), fill))

        point = self.point
        self.point = Point(
            wider(point.y, -first), point.rows, wider(point.lower, 0.1), wider(point.upper, 0.1)
        )
        self.towards = wider(self.towards, 0.0)
        self.most_paid = np.append(
            self.most_paid, np.full(len(new), TUNING.first_most / TUNING.first_price * first)
        )
        self.master.price_trios(np.concatenate([old, new]))
        return True

    def _solve(self, wanted: float, pull: np.ndarray) -> Solved | None:
        matrix, cost = self.master.rows()
        signs, trios = self.sides.signs, limits(self.master.trios)
        free = np.full(len(self.counts), math.inf)
        low = np.concatenate([self.low, -self.most_paid, -free, np.where(signs > 0, 0.0, -self.dearest)])
        high = np.concatenate([self.high, 0.0 * trios, free, np.where(signs > 0, self.dearest, 0.0)])
        gain = np.concatenate([np.ones(len(self.low)), trios, self.counts, self.sides.numbers])
        program = LinearProgram(matrix, cost, gain, low, high, len(self.counts) + len(signs))
        self.solved = central(program, self.point, wanted, pull, self.towards, self.threads)
        if self.solved is not None:
            self.point = self.solved.point
            self._slack = program.slack(self.point.y)
        return self.solved

    def _pull(self, short: float) -> np.ndarray:
        """What holds multipliers to the best ones: across the whole box it costs about what prices were short of."""
        firm = self.firmness * short / self.unit / len(self.side)
        trios = np.full(len(self.master.trios), firm / float(np.median(self.side)) ** 2)
        return np.concatenate([firm / self.side**2, trios, np.zeros(len(self.counts) + len(self.sides))])

    def _pushing(self) -> np.ndarray:
        """How hard the program pushes against the lower and the upper ends of the box of groups and trios."""
        n = self.master.n_groups + len(self.most_paid)
        ends = np.stack([self.point.lower[:n], self.point.upper[:n]])
        ends[1, self.master.n_groups :] = 0.0  # a trio whose price is zero costs nothing
        return np.where(ends > TUNING.pushing, ends, 0.0)

    def _widen(self) -> bool:
        """Let go where the box is in the way; False when it is nowhere."""
        n = self.master.n_groups
        down, up = self._pushing() > 0
        self.low -= np.where(down[:n], self.side, 0.0)
        self.high += np.where(up[:n], self.side, 0.0)
        self.side = np.where((down | up)[:n], 2.0 * self.side, self.side)
        self.most_paid = np.where(down[n:], 2.0 * self.most_paid, self.most_paid)
        return bool(np.any(down | up))

    def shares(self) -> np.ndarray | None:
        if self.solved is None:
            return None
        return np.concatenate(
            [self.solved.point.rows, np.zeros(len(self.means) - len(self.solved.point.rows))]
        )

    def slack(self) -> np.ndarray:
        """How far every set is from its price, in units; zero for those that came after the last program."""
        known = np.zeros(0) if self.solved is None else self._slack
        return np.concatenate([known, np.zeros(len(self.means) - len(known))])

    # -- local pricing ---------------------------------------------------------------------------------------
    def add_set(self, i: int, members: np.ndarray, slope: float) -> bool:
        added = super().add_set(i, members, slope)
        if added:
            self._note(self.pricer.means_of(self.classes[i], members), slope, i)
        return added

    def _starting_points(self, i: int, fresh: int = 8) -> tuple[np.ndarray, np.ndarray]:
        """The sets that the program cares for, what exact pricing has just found, and some groups."""
        recent = super()._starting_points(i, self.count)
        slack = self.slack()
        rows = np.flatnonzero(np.array(self.cells) == i)
        rows = rows[np.argsort(slack[rows], kind="stable")][: TUNING.near_sets * self.count]
        means = [self.means[j] for j in rows]
        slopes = [self.slopes[j] for j in rows]
        d = recent[0].shape[1]
        return (
            np.concatenate([np.array(means).reshape(-1, d), recent[0]]),
            np.concatenate([np.array(slopes), recent[1]]),
        )
