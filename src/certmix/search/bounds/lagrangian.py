"""The dual bound of one node: multipliers by a restricted master program, proved by exact pricing (design 3.1).

For any multipliers T,  optimum >= sum_g T_g + sum_k v_k(T),  where v_k is the smallest reduced cost of a set
that component k may hold. The sum runs over the groups whose component is open; groups known to be in k are
forced into k's sets.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from certmix.rounding import EPS
from certmix.search.bounds.master import Master
from certmix.search.bounds.pricer import Priced, Pricer, PricingClass
from certmix.search.bounds.scale import Scale
from certmix.search.threads import Threads

# Coefficients of features and deviations of groups are counted in units of the scale, and so are these.
LARGEST_RADIUS = 500.0
SURE_GROUPS = 1000  # with more, coefficients are nearly known: the region begins smaller, in proportion
LARGEST_SLACK = 10.0
MOST_DEVIATIONS = 5000  # with more groups than this they have no deviations of their own
# With so many components, and so few groups for each, every group has a deviation of its own from the start.
MANY_COMPONENTS, SMALL_CLUSTERS = 10, 100
KEPT_PARTITIONS = 3
SMALL_PRICING = 1000  # nodes; a larger pricing search is shared between threads
NEW_STARTS = 32
STARTS = 100  # local pricing begins at the latest so many sets,
STARTS_WORK = 400_000  # fewer where there are many groups


class Lagrangian:
    """Maximises the dual bound of one node.

    ``phi`` are features of the multipliers, per sample, in units of the ``scale``. ``resolution`` is how exactly (in
    nats) a price has to be known; pricing costs more the finer it is.
    """

    def __init__(
        self,
        pricer: Pricer,
        classes: list[PricingClass],
        phi: np.ndarray,
        scale: Scale,
        *,
        seed: int,
        resolution: float,
        threads: Threads,
        should_stop: Callable[[], bool],
        report: Callable[[float], None] = lambda bound: None,
        coarseness: float = 1e-3,
    ) -> None:
        self.pricer = pricer
        self.classes = classes
        self.free = np.all(np.stack([c.status for c in classes]) != 1, axis=0)
        weight = pricer.arrays.weight
        self.unit = scale.cost
        self.offset = scale.offset(pricer.arrays.scatter[0], weight)
        self.phi = phi * weight[:, None] * self.free[:, None]
        self.rng = np.random.default_rng(seed)
        self.should_stop = should_stop
        self.report = report
        self.resolution = resolution
        self.coarseness = coarseness  # of prices, as a share of what is lacking to the cutoff
        self.threads = threads
        self.large = False
        self.nodes = 0
        self.iterations = 0
        self.radius, self.slack = min(1.0, SURE_GROUPS / len(phi)), 0.0
        self.count = sum(c.count for c in classes)
        few = len(phi) <= min(MOST_DEVIATIONS, SMALL_CLUSTERS * self.count)
        if few and self.count >= MANY_COMPONENTS:
            self.slack = LARGEST_SLACK  # few sets hold a group, so features of all of them say little of it
        self.best = -math.inf
        self.best_t = np.zeros(len(phi))
        self.partitions: list[list[tuple[np.ndarray, int]]] = []  # nearly disjoint (set, component) pairs
        self.seen: set[tuple[int, bytes]] = set()
        self.starts: dict[int, tuple[list[np.ndarray], list[float]]] = {
            i: ([], []) for i in range(len(classes))
        }

    def multipliers(self, raw: np.ndarray) -> np.ndarray:
        """From the master's multipliers, in units, to those of the problem."""
        return np.where(self.free, self.unit * raw + self.offset, 0.0)

    # -- pricing ---------------------------------------------------------------------------------------------------
    def prove(self, t: np.ndarray, cutoff: float, node_limit: int) -> float:
        """The bound that these multipliers prove, by exact pricing."""
        total = float(t[self.free].sum())
        rounding = 4.0 * len(t) * EPS * float(np.abs(t).sum())
        counts = [c.count for c in self.classes]
        expected = [self.local_value(i, t) for i in range(len(self.classes))]
        # What the prices would have to be, on top of what local search expects, to reach the cutoff.
        lacking = (cutoff - total + 2.0 * rounding - float(np.dot(expected, counts))) / sum(counts)
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
                answers[task] = self.pricer.exact(piece, t, threshold, tolerance, node_limit, expected[i])

        self.threads.over(len(tasks), work)
        bounds = np.full(len(self.classes), math.inf)
        nodes = 0
        for i in range(len(self.classes)):
            mine = [a for (j, _), a in zip(tasks, answers, strict=True) if j == i and a is not None]
            bounds[i] = min(self.classes[i].empty, *(a.bound for a in mine))
            nodes += sum(a.nodes for a in mine)
            best = np.argsort(np.concatenate([a.values for a in mine]), kind="stable")[:NEW_STARTS]
            self.starts[i][0].extend(np.concatenate([a.means for a in mine])[best])
            self.starts[i][1].extend(np.concatenate([a.slopes for a in mine])[best].tolist())
        self.nodes += nodes
        self.large = nodes > SMALL_PRICING
        bound = total + float(np.dot(bounds, counts)) - rounding
        if bound > self.best:
            self.best, self.best_t = bound, t
            self.report(bound)
        return bound

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

    def local_value(self, i: int, t: np.ndarray) -> float:
        """The cheapest set of a class, as far as local search knows: what its price is expected to be."""
        means, slopes = self._starting_points(i)
        _, values = self.pricer.local(self.classes[i], t, means, slopes)
        return float(values.min(initial=self.classes[i].empty))

    def _starting_points(self, i: int, fresh: int = 8) -> tuple[np.ndarray, np.ndarray]:
        which = self.classes[i]
        means, slopes = self.starts[i]
        most = int(min(STARTS, max(8, STARTS_WORK / len(self.free))))
        fresh = min(fresh, most)
        means, slopes = means[-most:], slopes[-most:]
        c = self.pricer.arrays.system[which.component]
        points = self.pricer.arrays.points[c]
        pick = self.rng.integers(len(points), size=fresh)
        sizes = self.pricer.instance.n_samples * self.rng.uniform(0.02, 0.6, size=fresh)
        extra = [self._slope(which.component, max(1, int(m))) for m in sizes]
        all_means = np.concatenate([np.array(means).reshape(-1, points.shape[1]), points[pick]])
        return np.clip(all_means, which.lo, which.hi), np.concatenate([slopes, extra])

    def columns(self, t: np.ndarray, sigma: np.ndarray, most: int = 40) -> int:
        """Add violated sets found by local search; returns how many."""
        added = 0
        for i, which in enumerate(self.classes):
            means, slopes = self._starting_points(i)
            sets, values = self.pricer.local(which, t, means, slopes)
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
        cost = self.pricer.full_cost(which, members) - float(self.offset[free].sum())
        self.master.add(free, i, cost / self.unit)
        mean = self.pricer.means_of(which, members)
        self.starts[i][0].append(mean)
        self.starts[i][1].append(float(slope))
        return True

    # -- the ascent ------------------------------------------------------------------------------------------------
    def begin(self, partition: list[np.ndarray] | None, cutoff: float, node_limit: int) -> None:
        """Set up the master with the sets of a clustering, and prove what the first feature is worth by itself."""
        self.master = Master(self.phi, np.array([c.count for c in self.classes], dtype=float))
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
        """Ascend until the bound reaches the cutoff, the master shows that it cannot, or the iterations run out.

        A trust-region method: the master proposes multipliers near the best ones so far, exact pricing says what they
        prove and which sets the master had overlooked; the region grows where the master's promise was kept.

        Returns False when the budget of pricing nodes ran out first; the ascent can then be continued.
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
            # What prices are short of, and how exactly they are known, is promised as well, and never kept.
            blur = max(self.coarseness * (cutoff - self.best), self.resolution * self.count, 1e-9 * self.unit)
            if promised <= 1.5 * blur:
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
                    self.radius = min(2.0 * self.radius, LARGEST_RADIUS)
            else:
                middle = 0.5 * (t + self.best_t)
                self.columns(middle, self._values(middle))
                self.radius *= 0.7 if added else 0.35
        return True

    def cover(self, cutoff: float) -> None:
        """The best clustering that the generated sets nearly make, among the partitions."""
        raw = np.where(self.free, (self.best_t - self.offset) / self.unit, 0.0)
        sigma = np.array([self.local_value(i, self.best_t) for i in range(len(self.classes))]) / self.unit
        left = [list(c.members) for c in self.classes]
        chosen = self.master.cover(raw, sigma, (cutoff - self.best) / self.unit)
        if chosen:
            self.partitions.append([(members, left[i].pop(0)) for members, i in chosen])
            del self.partitions[:-KEPT_PARTITIONS]

    def _enlarge(self) -> bool:
        """Look further: a larger region, then deviations for every group. False when there is nothing left to try."""
        if self.radius < LARGEST_RADIUS:
            self.radius *= 8.0
        elif self.slack < LARGEST_SLACK and len(self.free) <= MOST_DEVIATIONS:
            self.slack = 10.0 * self.slack if self.slack else 0.1
            self.radius = max(self.slack, 1.0)
        else:
            return False
        return True

    def _values(self, t: np.ndarray) -> np.ndarray:
        """Slightly more than the smallest reduced cost that local search finds: sets below that are worth a row."""
        found = np.array([self.local_value(i, t) for i in range(len(self.classes))])
        return found + 1e-3 * (self.unit + np.abs(found))

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
        left = [list(c.members) for c in self.classes]
        total = sum(c.count for c in self.classes)
        chosen: list[tuple[np.ndarray, int]] = []
        for row in np.argsort(-duals)[: 4 * total]:
            members, i = sets[row]
            if duals[row] < 0.3 or not left[i] or np.any(members & covered):
                continue
            covered |= members
            chosen.append((members, left[i].pop(0)))
        if len(chosen) == total and not any(_same(chosen, other) for other in self.partitions):
            self.partitions.append(chosen)
            del self.partitions[:-KEPT_PARTITIONS]


def _same(one: list[tuple[np.ndarray, int]], other: list[tuple[np.ndarray, int]]) -> bool:
    return all(k == m and np.array_equal(a, b) for (a, k), (b, m) in zip(one, other, strict=True))
