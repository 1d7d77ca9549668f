"""Random pricing problems and the cheapest set of each, by trying every set."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from certmix.kernels.cells import Cells, build_tree, cells_of
from certmix.kernels.mass import for_kernels
from certmix.kernels.price_parts import Goal, Place, room_for, sums
from certmix.kernels.pricing import price
from certmix.search.bounds.trios import NO_TRIOS, TrioPrices
from certmix.stopping import current


@dataclass
class Pricing:
    """One pricing problem in plain arrays."""

    points: np.ndarray
    weight: np.ndarray
    cost: np.ndarray
    gamma: np.ndarray
    prior_mean: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    entropy: np.ndarray
    concave: bool
    status: np.ndarray
    a: float
    b: float
    partner: np.ndarray
    given_mass: np.ndarray | None = None
    trios: TrioPrices = NO_TRIOS

    @property
    def mass(self) -> np.ndarray:
        """(N, 1) or (N, d): how much every coordinate counts, by default as often as there are samples."""
        return self.weight[:, None] if self.given_mass is None else self.given_mass

    def value(self, members: np.ndarray) -> float:
        """The reduced cost by its definition: the best mean in the box, coordinate by coordinate."""
        w, m, x = self.weight[members], self.mass[members], self.points[members]
        full = m.sum(axis=0) + self.gamma
        best = ((m * x).sum(axis=0) + self.gamma * self.prior_mean) / np.where(full > 0, full, 1.0)
        mean = np.clip(best, self.lo, self.hi)
        quadratic = 0.5 * (m * (x - mean) ** 2).sum()
        prior = 0.5 * self.gamma @ (mean - self.prior_mean) ** 2
        paid = float(self.trios.held(members[None])[0] @ self.trios.prices)
        return float(quadratic + prior + self.cost[members].sum() + self.entropy[int(w.sum())]) + paid

    def admissible(self, members: np.ndarray) -> bool:
        """The sets that the pricing problem is about."""
        size = self.weight[members].sum()
        if not members.any() or not self.a <= size <= self.b:
            return False
        if np.any(members & (self.status == -1)) or np.any(~members & (self.status == 1)):
            return False
        paired = members & (self.partner >= 0)
        return not np.any(members[self.partner[paired]])

    def minimum(self) -> float:
        """The smallest reduced cost, by trying every set."""
        N = len(self.weight)
        sets = (np.arange(1, 1 << N)[:, None] >> np.arange(N)) & 1 == 1
        size = sets @ self.weight
        good = (size >= self.a) & (size <= self.b)
        good &= ~(sets & (self.status == -1)).any(axis=1) & ~(~sets & (self.status == 1)).any(axis=1)
        for g in np.flatnonzero(self.partner >= 0):
            good &= ~(sets[:, g] & sets[:, self.partner[g]])
        sets, size = sets[good], size[good]
        full = sets @ self.mass + self.gamma
        total = sets @ (self.mass * self.points) + self.gamma * self.prior_mean
        mean = np.clip(total / np.where(full > 0, full, 1.0), self.lo, self.hi)
        value = sets @ self.cost + self.entropy[size.astype(int)] + self.trios.held(sets) @ self.trios.prices
        value += 0.5 * (mean - self.prior_mean) ** 2 @ self.gamma
        away = (self.mass * (self.points[None] - mean[:, None]) ** 2).sum(axis=2)
        value += 0.5 * (sets * away).sum(axis=1)
        return float(value.min(initial=np.inf))

    def place(self) -> Place:
        """For the kernels."""
        groups = (self.points, self.weight, for_kernels(self.mass), self.cost)
        numbers = (*groups, self.gamma, self.prior_mean, self.lo, self.hi)
        return Place(*numbers, self.entropy, self.concave, float(self.a), float(self.b))

    def price(
        self, threshold: float = np.inf, tolerance: float = 1e-9, nodes: int = 100_000, start: float = np.inf
    ) -> tuple[float, float, int, bool]:
        cells = cells_of(self.points, self.weight, for_kernels(self.mass), self.status == 0, self.partner)
        return self._price(cells, threshold, tolerance, nodes, start)

    def price_by_cells(
        self, threshold: float = np.inf, tolerance: float = 1e-9, nodes: int = 100_000, start: float = np.inf
    ) -> tuple[float, float, int, bool]:
        """The same over the cells of a kd-tree; knows nothing of partners."""
        free = self.status == 0
        return self._price(
            build_tree(self.points[free], self.weight[free], for_kernels(self.mass[free])),
            threshold,
            tolerance,
            nodes,
            start,
        )

    def _price(
        self, cells: Cells, threshold: float, tolerance: float, nodes: int, start: float
    ) -> tuple[float, float, int, bool]:
        place, d = self.place(), self.points.shape[1]
        goal = Goal(threshold, tolerance, nodes, start, current().flag, False)
        forced = sums(place, self.status == 1)
        trios = self.trios.paid_with(self.status).among(self.status == 0)
        room = room_for(8, d, trios.tied)
        return price(cells, self.cost[self.status == 0], place, forced, goal, room, trios)[:4]


def random_pricing(rng: np.random.Generator, groups: int = 9) -> Pricing:
    """Random multipliers, sizes, forced and forbidden groups, pairs, priors, boxes and entropies."""
    N, d = int(rng.integers(1, groups + 1)), int(rng.integers(1, 4))
    scale = rng.choice([0.3, 1.0, 4.0])
    points = rng.normal(scale=scale, size=(N, d))
    if rng.random() < 0.3:
        points = np.round(points)  # duplicates and ties
    weight = rng.choice([1, 1, 1, 2, 4], size=N).astype(float) if rng.random() < 0.4 else np.ones(N)
    n = int(weight.sum()) + int(rng.integers(0, 3))
    sizes = np.arange(n + 1)
    kind = rng.integers(4)
    concave = True
    if kind == 0:
        entropy = -sizes * np.log(rng.uniform(0.1, 0.9))  # fixed weights
    elif kind == 1:
        power = sizes + rng.uniform(0.0, 3.0)
        entropy = -power * np.log(power / (n + 6.0))
    elif kind == 2:
        entropy, concave = rng.normal(size=n + 1), False
    else:
        entropy = np.where(sizes > 0, -sizes * np.log(np.maximum(sizes, 1) / n), 0.0)
    with_prior = rng.random() < 0.3
    gamma = rng.exponential(size=d) * (rng.random(d) < 0.7) if with_prior else np.zeros(d)
    prior_mean = np.where(gamma > 0, rng.normal(size=d), 0.0)
    low = np.minimum(points.min(axis=0), prior_mean)
    high = np.maximum(points.max(axis=0), prior_mean)
    if rng.random() < 0.4:  # a part of the hull, as in a node, or a box beside it
        ends = np.sort(rng.uniform(low - 0.5, high + 0.5, size=(2, d)), axis=0)
        low, high = ends[0], ends[1]
    status = np.zeros(N, dtype=np.int64)
    if rng.random() < 0.5:
        status = rng.choice([-1, 0, 0, 0, 1], size=N).astype(np.int64)
    partner = np.full(N, -1, dtype=np.int64)
    if rng.random() < 0.5:
        free = rng.permutation(np.flatnonzero(status == 0))
        for i in range(0, 2 * int(rng.integers(0, len(free) // 2 + 1)), 2):
            partner[free[i]], partner[free[i + 1]] = free[i + 1], free[i]
    a, b = 1.0, float(n)
    if rng.random() < 0.5:
        a = float(rng.integers(1, n + 1))
    if rng.random() < 0.5:
        b = float(rng.integers(a, n + 1))
    cost = -rng.uniform(0, 2.5) * scale**2 * weight * rng.uniform(0.2, 1.5, size=N) + rng.normal(
        scale=0.3, size=N
    )
    return Pricing(
        points, weight, cost, gamma, prior_mean, low, high, entropy, concave, status, a, b, partner
    )


def with_masses(problem: Pricing, rng: np.random.Generator) -> Pricing:
    """The same with values that are missing, at zero, or weights of samples."""
    shape = problem.points.shape if rng.random() < 0.7 else (len(problem.weight), 1)
    mass = problem.weight[:, None] * 10.0 ** rng.uniform(-1, 1, size=shape)
    mass *= rng.random(shape) < (rng.choice([0.5, 0.8]) if shape[1] > 1 else 1.0)
    points = np.where(mass > 0, problem.points, 0.0)
    low, high = np.minimum(problem.lo, 0.0), np.maximum(problem.hi, 0.0)  # the mean of nothing is there
    return replace(problem, points=points, lo=low, hi=high, given_mass=mass)


def random_trios(groups: np.ndarray, rng: np.random.Generator, count: int) -> np.ndarray:
    """Rows of three or five of these groups in any order, the former filled up by -1."""
    rows = np.full((count, 5), -1)
    for row in rows:
        size = 5 if len(groups) >= 5 and rng.random() < 0.5 else 3
        row[:size] = rng.choice(groups, size=size, replace=False)
    return rows


def with_trios(problem: Pricing, rng: np.random.Generator) -> Pricing:
    """The same with prices for trios of groups that need not be in, some of them free."""
    groups = np.flatnonzero(problem.status != 1)
    if len(groups) < 3:
        return problem
    trios = random_trios(groups, rng, int(rng.integers(1, 7)))
    prices = np.abs(problem.cost).mean() * rng.choice([0.0, 0.1, 1.0, 5.0], size=len(trios))
    return replace(problem, trios=TrioPrices(trios, prices * rng.uniform(0.5, 1.5, size=len(trios))))
