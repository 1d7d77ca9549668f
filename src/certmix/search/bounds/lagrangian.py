"""The dual bound of one node: multipliers by a restricted master program, proved by exact pricing (design 3.1).

For any multipliers T,  optimum >= sum_g T_g + sum_k v_k(T),  where v_k is the smallest reduced cost of a set that component
k may hold. The sum runs over the groups whose component is open; groups known to be in k are forced into k's sets.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from certmix.search.bounds.master import Master
from certmix.search.bounds.pricer import Pricer, PricingClass

EPS = 2.220446049250313e-16
LARGEST_RADIUS = 500.0
LARGEST_SLACK = 10.0
KEPT_PARTITIONS = 3
STARTS = 100  # local pricing begins at the latest so many sets


@dataclass(frozen=True)
class DualResult:
    """The best bound, the multipliers behind it, and nearly disjoint (set, component) pairs that the master chose."""

    bound: float
    multipliers: np.ndarray
    partitions: list[list[tuple[np.ndarray, int]]]
    nodes: int
    stalled: bool


class Lagrangian:
    """Maximises the dual bound of one node.

    ``resolution`` is how exactly (in nats) a price has to be known; pricing costs more the finer it is.
    """

    def __init__(
        self,
        pricer: Pricer,
        classes: list[PricingClass],
        phi: np.ndarray,
        start: np.ndarray,
        *,
        seed: int,
        resolution: float,
        should_stop: Callable[[], bool],
        report: Callable[[float], None],
    ) -> None:
        self.pricer = pricer
        self.classes = classes
        self.free = np.all(np.stack([c.status for c in classes]) != 1, axis=0)
        weight = pricer.arrays.weight
        self.offset = pricer.arrays.scatter[0] * 1.0
        self.phi = phi * weight[:, None] * self.free[:, None]
        self.start = start
        self.rng = np.random.default_rng(seed)
        self.should_stop = should_stop
        self.report = report
        self.resolution = resolution
        self.nodes = 0
        self.best = -math.inf
        self.best_t: np.ndarray | None = None
        self.seen: set[tuple[int, bytes]] = set()
        self.starts: dict[int, tuple[list[np.ndarray], list[float]]] = {i: ([], []) for i in range(len(classes))}

    def multipliers(self, raw: np.ndarray) -> np.ndarray:
        """From the master's multipliers to those of the problem: the scatter inside groups is always paid."""
        return np.where(self.free, raw + self.offset, 0.0)

    # -- pricing ---------------------------------------------------------------------------------------------------
    def prove(self, t: np.ndarray, cutoff: float, node_limit: int) -> tuple[float, bool]:
        """The bound that these multipliers prove, by exact pricing; True when a cheaper set than expected came up."""
        total = float(t[self.free].sum())
        rounding = 4.0 * len(t) * EPS * float(np.abs(t).sum())
        counts = [c.count for c in self.classes]
        expected = [self._local_value(i, t) for i in range(len(self.classes))]
        # What the prices would have to be, on top of what local search expects, to reach the cutoff.
        lacking = (cutoff - total + 2.0 * rounding - float(np.dot(expected, counts))) / sum(counts)
        tolerance = max(self.resolution, 1e-3 * abs(lacking)) if math.isfinite(lacking) else self.resolution
        bounds, found = [], False
        for i, which in enumerate(self.classes):
            threshold = expected[i] + lacking if math.isfinite(lacking) else math.inf
            value, best, nodes, _, means, slopes = self.pricer.exact(
                which, t, threshold, tolerance, node_limit, expected[i]
            )
            self.nodes += nodes
            bounds.append(value)
            if best < expected[i] - 1e-9 * (1 + abs(expected[i])):
                found = True
            for mean, slope in zip(means, slopes, strict=True):
                self.starts[i][0].append(mean)
                self.starts[i][1].append(float(slope))
        bound = total + float(np.dot(bounds, counts)) - rounding
        if bound > self.best:
            self.best, self.best_t = bound, t
            self.report(bound)
        return bound, found

    def _local_value(self, i: int, t: np.ndarray) -> float:
        means, slopes = self._starting_points(i)
        _, values = self.pricer.local(self.classes[i], t, means, slopes)
        return float(values.min(initial=math.inf))

    def _starting_points(self, i: int, fresh: int = 8) -> tuple[np.ndarray, np.ndarray]:
        which = self.classes[i]
        means, slopes = self.starts[i]
        means, slopes = means[-STARTS:], slopes[-STARTS:]
        c = self.pricer.arrays.system[which.component]
        points = self.pricer.arrays.points[c]
        pick = self.rng.integers(len(points), size=fresh)
        n = self.pricer.instance.n_samples
        extra = np.log(n / np.maximum(1.0, n * self.rng.uniform(0.02, 0.6, size=fresh))) - 1.0
        all_means = np.concatenate([np.array(means).reshape(-1, points.shape[1]), points[pick]])
        return np.clip(all_means, which.lo, which.hi), np.concatenate([slopes, extra])

    def columns(self, master: Master, t: np.ndarray, sigma: np.ndarray, most: int = 40) -> int:
        """Add violated sets found by local search; returns how many."""
        added = 0
        for i, which in enumerate(self.classes):
            means, slopes = self._starting_points(i)
            sets, values = self.pricer.local(which, t, means, slopes)
            slack = 1e-7 * (1 + abs(sigma[i])) if math.isfinite(sigma[i]) else 0.0
            good = np.flatnonzero(values < sigma[i] - slack)
            for row in good[np.argsort(values[good])][:most]:
                added += self.add_set(master, i, sets[row], slopes[row])
        return added

    def add_set(self, master: Master, i: int, members: np.ndarray, slope: float) -> bool:
        key = (i, np.packbits(members).tobytes())
        if key in self.seen:
            return False
        self.seen.add(key)
        which = self.classes[i]
        free = members & self.free
        cost = self.pricer.full_cost(which, members) - float(self.offset[free].sum())
        master.add(free, i, cost)
        mean = self.pricer.means_of(which, members)
        self.starts[i][0].append(mean)
        self.starts[i][1].append(float(slope))
        return True

    # -- the ascent ------------------------------------------------------------------------------------------------
    def maximise(
        self, partition: list[np.ndarray] | None, cutoff: float, iterations: int, node_limit: int
    ) -> DualResult:
        """Ascend until the bound reaches the cutoff, the master shows that it cannot, or the iterations run out.

        A trust-region method: the master proposes multipliers near the best ones so far, exact pricing says what they
        prove and which sets the master had overlooked; the region grows where the master's promise was kept.
        """
        counts = np.array([c.count for c in self.classes], dtype=float)
        master = Master(self.phi, self.start, counts)
        if partition is not None:
            for i, which in enumerate(self.classes):
                for k in which.members:
                    if partition[k].any():
                        self.add_set(master, i, partition[k], self._slope(which.component, partition[k]))
        partitions: list[list[tuple[np.ndarray, int]]] = []
        centre = np.concatenate([self.start, np.zeros(len(self.free))])
        base = float(self.offset[self.free].sum())
        t = self.multipliers(master.multipliers(centre))
        self.prove(t, cutoff, node_limit)
        self.columns(master, t, np.full(len(self.classes), math.inf))
        radius, slack, stalled = 1.0, 0.0, False
        for _ in range(iterations):
            if self.best >= cutoff or self.should_stop():
                break
            master.confine(centre, radius, slack)
            solved = master.solve()
            if solved is None:
                break
            value, x, sigma, duals = solved
            value += base
            self._collect(master, duals, partitions)
            promised = value - self.best
            if promised <= 1e-3 * max(cutoff - self.best, 1e-9):  # nothing more to gain in this region
                if radius < LARGEST_RADIUS:
                    radius *= 8.0
                elif slack < LARGEST_SLACK:
                    slack = 10.0 * slack if slack else 0.1
                    radius = max(slack, 1.0)
                else:
                    stalled = True
                    break
                continue
            before = self.best
            t = self.multipliers(master.multipliers(x))
            self.prove(t, cutoff, node_limit)
            added = self.columns(master, t, sigma)
            gained = self.best - before
            if gained > 0:
                centre = x
                if gained > 0.5 * promised:
                    radius = min(2.0 * radius, LARGEST_RADIUS)
            else:
                self.columns(master, 0.5 * (t + self.best_t), self._values(0.5 * (t + self.best_t)))
                radius *= 0.7
                if not added:
                    radius *= 0.5
        return DualResult(
            self.best,
            t if self.best_t is None else self.best_t,
            partitions,
            self.nodes,
            stalled,
        )

    def _values(self, t: np.ndarray) -> np.ndarray:
        """Slightly more than the smallest reduced cost that local search finds: sets below that are worth a row."""
        found = np.array([self._local_value(i, t) for i in range(len(self.classes))])
        return found + 1e-3 * (1.0 + np.abs(found))

    def _slope(self, k: int, members: np.ndarray) -> float:
        table = self.pricer.arrays.entropy[k]
        m = int(self.pricer.arrays.weight[members].sum())
        low, high = max(m - 1, 0), min(m + 1, len(table) - 1)
        slope = (table[high] - table[low]) / max(high - low, 1)
        return float(slope) if np.isfinite(slope) else 0.0

    def _collect(
        self, master: Master, duals: np.ndarray, partitions: list[list[tuple[np.ndarray, int]]]
    ) -> None:
        """An integral solution of the master is a clustering; its heaviest disjoint sets nearly are one."""
        if len(duals) != master.rows:
            return
        covered = np.zeros(len(self.free), dtype=bool)
        left = [list(c.members) for c in self.classes]
        total = sum(c.count for c in self.classes)
        chosen: list[tuple[np.ndarray, int]] = []
        sets = master.sets()
        for row in np.argsort(-duals)[: 4 * total]:
            members, i = sets[row]
            if duals[row] < 0.3 or not left[i] or np.any(members & covered):
                continue
            covered |= members
            chosen.append((members, left[i].pop(0)))
        if len(chosen) == total and not any(_same(chosen, other) for other in partitions):
            partitions.append(chosen)
            del partitions[:-KEPT_PARTITIONS]


def _same(one: list[tuple[np.ndarray, int]], other: list[tuple[np.ndarray, int]]) -> bool:
    return all(k == m and np.array_equal(a, b) for (a, k), (b, m) in zip(one, other, strict=True))
