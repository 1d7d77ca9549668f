"""What every ascent of multipliers has: exact pricing of what they prove, and the sets that it brings up.

For any multipliers T,  optimum >= sum_g T_g + sum_k v_k(T),  where v_k is the smallest reduced cost of a set
that component k may hold. The sum runs over the groups whose component is open; groups known to be in k are
forced into k's sets. In a node that knows how many means lie on the :class:`.Sides` of planes, every side has a price
as well: the sets of a cell between the planes cost less by the prices of the planes that it is on the left of, and the
bound more by the prices times the numbers. Trios have prices (:mod:`.trios`): sets that hold two of their groups cost
more by them, and the bound less.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from certmix.rounding import EPS
from certmix.search.bounds.columns import Columns
from certmix.search.bounds.pricer import Priced, Pricer, PricingClass
from certmix.search.bounds.scale import Scale
from certmix.search.bounds.sides import Sides
from certmix.search.bounds.trios import NO_TRIOS, TrioPrices
from certmix.threads import Threads


@dataclass(frozen=True)
class Tuning:
    """Where pricing begins, and when threads share it."""

    kept_partitions: int = 3
    small_pricing: int = 1000  # nodes; a larger pricing search is shared between threads
    new_starts: int = 32  # of local pricing, in a round
    starts: int = 100  # local pricing begins at the latest so many sets, ...
    starts_work: int = 4_000_000  # ... fewer with many groups: starts times groups, at most


TUNING = Tuning()


class Ascent:
    """Multipliers of one node, the best of which count.

    ``resolution`` is how exactly (in nats) a price has to be known; pricing costs more the finer it is. ``classes`` are
    cut into the cells between the planes of ``sides``.
    """

    master: Columns

    def __init__(
        self,
        pricer: Pricer,
        classes: list[PricingClass],
        scale: Scale,
        *,
        seed: int,
        resolution: float,
        threads: Threads,
        should_stop: Callable[[], bool],
        report: Callable[[float], None] = lambda bound: None,
        coarseness: float = 1e-3,
        sides: Sides | None = None,
    ) -> None:
        self.pricer = pricer
        self.sides = sides or Sides()
        cut = [(i, c, cell) for i, c in enumerate(classes) for cell in self.sides.cells(c.lo, c.hi)]
        self.classes = [replace(c, lo=cell.lo, hi=cell.hi) for _, c, cell in cut]
        self.owner = np.array([i for i, _, _ in cut])  # which class of components a cell is of
        self.inside = np.array([cell.inside for _, _, cell in cut]).reshape(len(cut), len(self.sides))
        self.members = [c.members for c in classes]
        self.counts = np.array([c.count for c in classes], dtype=float)
        self.count = int(self.counts.sum())
        self.free = np.all(np.stack([c.status for c in classes]) != 1, axis=0)
        self.unit = scale.cost
        self.offset = scale.offset(pricer.arrays.scatter[0], pricer.arrays.weight)
        self.rng = np.random.default_rng(seed)
        self.should_stop = should_stop
        self.report = report
        self.resolution = resolution
        self.coarseness = coarseness  # of prices, as a share of what is lacking to the cutoff
        self.threads = threads
        self.large = False
        self.nodes = 0
        self.iterations = 0
        self.best = -math.inf
        self.best_t = np.zeros(len(self.free))
        self.best_prices = np.zeros(len(self.sides))
        self.best_trios = NO_TRIOS
        self.partitions: list[list[tuple[np.ndarray, int]]] = []  # nearly disjoint (set, component) pairs
        self.seen: set[tuple[int, bytes]] = set()
        # Sets that the last pricing found, where prices of trios decide: with their reduced costs and slopes.
        self.exact: dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
        self.starts: dict[int, tuple[list[np.ndarray], list[float]]] = {
            i: ([], []) for i in range(len(self.classes))
        }

    def begin(self, partition: list[np.ndarray] | None, cutoff: float, node_limit: int) -> None:
        """Set up the master with the sets of a clustering, and prove what the first multipliers are worth."""
        raise NotImplementedError

    def advance(self, cutoff: float, iterations: int, node_limit: int, budget: float = math.inf) -> bool:
        """Ascend until the bound reaches the cutoff, the master shows that it cannot, or the iterations run out.

        Returns False when the budget of pricing nodes ran out first; the ascent can then be continued.
        """
        raise NotImplementedError

    def shares(self) -> np.ndarray | None:
        """How much of every set the master takes; None when it has no solution."""
        raise NotImplementedError

    def multipliers(self, raw: np.ndarray) -> np.ndarray:
        """From the master's multipliers, in units, to those of the problem."""
        return np.where(self.free, self.unit * raw + self.offset, 0.0)

    def blur(self, cutoff: float) -> float:
        """What prices are short of, and how exactly they are known: masters promise it as well, and never keep it."""
        return max(self.coarseness * (cutoff - self.best), self.resolution * self.count, 1e-9 * self.unit)

    # -- pricing ---------------------------------------------------------------------------------------------------
    def prove(
        self,
        t: np.ndarray,
        cutoff: float,
        node_limit: int,
        prices: np.ndarray | None = None,
        trios: TrioPrices = NO_TRIOS,
    ) -> float:
        """The bound that these multipliers, and prices of sides and trios, prove by exact pricing."""
        prices = np.zeros(len(self.sides)) if prices is None else prices
        off = self.inside @ prices
        paid = float(trios.prices @ trios.limits)
        total = float(t[self.free].sum() + prices @ self.sides.numbers - paid)
        magnitude = float(np.abs(t).sum() + (2 * self.count + 2) * np.abs(prices).sum() + paid)
        rounding = 4.0 * (len(t) + len(prices) + len(trios)) * EPS * magnitude
        local = np.array([self.local_value(i, t, trios) for i in range(len(self.classes))])
        expected = off + self._least(local - off)[self.owner]
        # What the prices would have to be, on top of what local search expects, to reach the cutoff.
        lacking = (
            cutoff - total + 2.0 * rounding - float(self.counts @ self._least(local - off))
        ) / self.count
        tolerance = (
            max(self.resolution, self.coarseness * abs(lacking))
            if math.isfinite(lacking)
            else self.resolution
        )
        tasks = [(i, piece) for i, which in enumerate(self.classes) for piece in self._pieces(which)]
        answers: list[Priced | None] = [None] * len(tasks)

        def work(first: int, last: int) -> None:
            for task in range(first, last):
                i, piece = tasks[task]
                threshold = expected[i] + lacking if math.isfinite(lacking) else math.inf
                answers[task] = self.pricer.exact(
                    piece, t, threshold, tolerance, node_limit, expected[i], trios=trios
                )

        self.threads.over(len(tasks), work)
        bounds = np.full(len(self.classes), math.inf)
        nodes = 0
        for i in range(len(self.classes)):
            mine = [a for (j, _), a in zip(tasks, answers, strict=True) if j == i and a is not None]
            bounds[i] = min(a.bound for a in mine)
            nodes += sum(a.nodes for a in mine)
            best = np.argsort(np.concatenate([a.values for a in mine]), kind="stable")[: TUNING.new_starts]
            means, slopes, held = (
                np.concatenate([getattr(a, name) for a in mine])[best] for name in ("means", "slopes", "held")
            )
            self.starts[i][0].extend(means)
            self.starts[i][1].extend(slopes.tolist())
            if len(trios):  # local search would not find them from their means
                self.exact[i] = (
                    *self.pricer.local(self.classes[i], t, means, slopes, trios, held),
                    slopes,
                )
        self.nodes += nodes
        self.large = nodes > TUNING.small_pricing
        bound = total + float(self.counts @ self._least(bounds - off)) - rounding
        if bound > self.best:
            self.best, self.best_t, self.best_prices, self.best_trios = bound, t, prices, trios
            self.report(bound)
        return bound

    def _least(self, values: np.ndarray) -> np.ndarray:
        """The least of every class of components, over its cells or the empty set."""
        found = np.array(
            [self.classes[i].empty for i in np.searchsorted(self.owner, range(len(self.counts)))]
        )
        np.minimum.at(found, self.owner, values)
        return found

    def expected(
        self, t: np.ndarray, prices: np.ndarray | None = None, trios: TrioPrices = NO_TRIOS
    ) -> np.ndarray:
        """The prices of all classes of components, as far as local search knows."""
        off = 0.0 if prices is None else self.inside @ prices
        return self._least(np.array([self.local_value(i, t, trios) for i in range(len(self.classes))]) - off)

    def _pieces(self, which: PricingClass) -> list[PricingClass]:
        """The pricing problem cut along its widest coordinates, for threads to share; whole when it is small."""
        pieces = [which]
        if not self.large or self.threads.count == 1:
            return pieces
        for j in np.argsort(which.lo - which.hi)[:3]:
            middle = 0.5 * (which.lo[j] + which.hi[j])
            if not which.lo[j] < middle < which.hi[j]:
                continue
            halves = []
            for piece in pieces:
                low, high = piece.hi.copy(), piece.lo.copy()
                low[j] = high[j] = middle
                halves += [replace(piece, hi=low), replace(piece, lo=high)]
            pieces = halves
        return pieces

    def local_value(self, i: int, t: np.ndarray, trios: TrioPrices = NO_TRIOS) -> float:
        """The cheapest set of a class, as far as local search knows: what its price is expected to be."""
        means, slopes = self._starting_points(i)
        _, values = self.pricer.local(self.classes[i], t, means, slopes, trios)
        return float(values.min(initial=math.inf))

    def _starting_points(self, i: int, fresh: int = 8) -> tuple[np.ndarray, np.ndarray]:
        which = self.classes[i]
        means, slopes = self.starts[i]
        most = int(min(TUNING.starts, max(8, TUNING.starts_work / len(self.free))))
        fresh = min(fresh, most)
        means, slopes = means[-most:], slopes[-most:]
        c = self.pricer.arrays.system[which.component]
        points = self.pricer.arrays.points[c]
        pick = self.rng.integers(len(points), size=fresh)
        sizes = self.pricer.n_samples * self.rng.uniform(0.02, 0.6, size=fresh)
        extra = [self._slope(which.component, max(1, int(m))) for m in sizes]
        all_means = np.concatenate([np.array(means).reshape(-1, points.shape[1]), points[pick]])
        return np.clip(all_means, which.lo, which.hi), np.concatenate([slopes, extra])

    def columns(self, t: np.ndarray, sigma: np.ndarray, most: int = 40, trios: TrioPrices = NO_TRIOS) -> int:
        """Add sets that cost less than the price of their cell, found by local search; returns how many."""
        added = 0
        for i, which in enumerate(self.classes):
            means, slopes = self._starting_points(i)
            sets, values = self.pricer.local(which, t, means, slopes, trios)
            if i in self.exact:
                more = self.exact.pop(i)
                sets, values, slopes = (
                    np.concatenate(both) for both in zip((sets, values, slopes), more, strict=True)
                )
            slack = 1e-7 * (self.unit + abs(sigma[i])) if math.isfinite(sigma[i]) else 0.0
            good = np.flatnonzero(values < sigma[i] - slack)
            for row in good[np.argsort(values[good])][:most]:
                added += self.add_set(i, sets[row], slopes[row])
        return added

    def add_set(self, i: int, members: np.ndarray, slope: float) -> bool:
        key = (i, np.packbits(members).tobytes())
        if key in self.seen:
            return False
        self.seen.add(key)
        which = self.classes[i]
        free = members & self.free
        full = self.pricer.full_cost(which, members)
        self.master.add(free, i, (full - float(self.offset[free].sum())) / self.unit)
        mean = self.pricer.means_of(which, members)
        self.starts[i][0].append(mean)
        self.starts[i][1].append(float(slope))
        return True

    def cover(self, cutoff: float) -> None:
        """The best clustering that the generated sets nearly make, among the partitions."""
        raw = np.where(self.free, (self.best_t - self.offset) / self.unit, 0.0)
        left = [list(members) for members in self.members]
        trios = self.best_trios.paid()
        sigma = self.expected(self.best_t, trios=trios) / self.unit
        in_units = TrioPrices(trios.groups, trios.prices / self.unit)
        chosen = self.master.cover(raw, sigma, (cutoff - self.best) / self.unit, in_units)
        if chosen:
            self.partitions.append([(members, left[i].pop(0)) for members, i in chosen])
            del self.partitions[: -TUNING.kept_partitions]

    def _size(self, members: np.ndarray) -> int:
        return int(self.pricer.arrays.weight[members].sum())

    def _slope(self, k: int, m: int) -> float:
        """What one sample more or less changes in the cost of m samples."""
        table = self.pricer.arrays.entropy[k]
        low, high = max(m - 1, 0), min(m + 1, len(table) - 1)
        slope = (table[high] - table[low]) / max(high - low, 1)
        return float(slope) if np.isfinite(slope) else 0.0

    def _collect(self, duals: np.ndarray) -> None:
        """An integral solution of the master is a clustering; its heaviest disjoint sets nearly are one."""
        sets = self.master.sets()
        if len(duals) != len(sets):
            return
        covered = np.zeros(len(self.free), dtype=bool)
        left = [list(members) for members in self.members]
        total = self.count
        chosen: list[tuple[np.ndarray, int]] = []
        for row in np.argsort(-duals)[: 4 * total]:
            members, i = sets[row][0], int(self.owner[sets[row][1]])
            if duals[row] < 0.3 or not left[i] or np.any(members & covered):
                continue
            covered |= members
            chosen.append((members, left[i].pop(0)))
        if len(chosen) == total and not any(_same(chosen, other) for other in self.partitions):
            self.partitions.append(chosen)
            del self.partitions[: -TUNING.kept_partitions]


def _same(one: list[tuple[np.ndarray, int]], other: list[tuple[np.ndarray, int]]) -> bool:
    return all(k == m and np.array_equal(a, b) for (a, k), (b, m) in zip(one, other, strict=True))
