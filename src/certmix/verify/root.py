"""The problem as the checker sees it, rebuilt from the statement and the data alone (docs/certificates.md).

The exact objective of every clustering is at least the sum of its components' costs there less ``Root.error``.
"""

from __future__ import annotations

import math

import numpy as np

from certmix.verify.coordinates import System, system
from certmix.verify.evidence import Rejected, room
from certmix.verify.rounding import TINY, UNIT, Array, gamma
from certmix.verify.statement import Statement, counted, times

LARGEST = 1e200  # quadratic terms beyond could overflow


class Root:
    """n samples in N groups, d coordinates, K components, which may have systems of coordinates of their own.

    Attributes
    ----------
    group, weight : (n,), (N,), the group of every sample, the samples of every group
    mass : (N, d), how much every coordinate of a group counts, or (N, 1) where all count the same
    counted : whether that is its samples, and a group costs nothing in a component beside its distance and the sizes
    points : (K, N, d), where the masses of every group balance; zero where it has none
    scatter : (K, N), half the sum of squares of every group, and ``beside``: what it costs whatever the sizes are
    prior_mean, prior_weight : (K, d), m and gamma
    mean_lower, mean_upper : (K, d), the box of the mean
    entropy : (K, n + 1), the cost of every size; infinite for sizes that no clustering can have
    slip, beside_slip : how far ``entropy``, and ``beside``, can err for a clustering
    classes : (K,), the same number for components of which the statement says the same
    allowed, conflicts, implications : (N, K) bool; pairs of groups; rows (group, then, component)
    counts : tuples (groups, coefficients, component, low, high)
    size_lower, size_upper : (K,)
    error : what rounding can do, see :meth:`_error`
    """

    def __init__(self, statement: Statement, data: Array) -> None:
        s = statement
        self.data, self.each = counted(s, data)
        self.statement, self.n, self.K = s, s.n, s.K
        there = self.each > 0
        self.counted = not (s.weighted or s.half_log_det.ndim > 1) and bool(there.all())
        matrix = max(s.precision[0].size, s.prior_precision[0].size)
        room(s.K, 2 * (matrix + s.d * s.n * (len(s.precision) > 1)))
        self.entropy, self.slip = entropy(s)
        self.group = groups_of(s)
        self.weight = np.bincount(self.group).astype(np.int64)
        self.N = len(self.weight)
        shared = len(s.precision) == 1 and all((p == s.prior_precision[0]).all() for p in s.prior_precision)
        first = self.data[there.argmax(axis=0), np.arange(s.d)]
        average = self.data.sum(axis=0) / np.maximum(there.sum(axis=0), 1)
        centre = np.where(((self.data == first) | ~there).all(axis=0), first, average)
        offset = np.where(there, self.data - centre, 0.0)
        boxed = bool(np.isfinite(s.mean_lower).any() or np.isfinite(s.mean_upper).any())
        free, one = not (boxed or s.prior_precision.any()), len(s.precision) == 1 and self.counted
        kinds = [(s.precision_of(c), s.prior_precision[c]) for c in range(1 if shared else s.K)]
        systems = [system(offset, *matrices, free, one) for matrices in kinds]
        each = self.each if self.each.shape[1] == 1 else self.each[:, systems[0].columns]
        points, inside, self.mass = self._merge(np.stack([found.points for found in systems]), each)
        self.d = points.shape[2]
        self.points = np.broadcast_to(points, (s.K, self.N, self.d))
        self.beside, self.beside_slip = self._beside(s)
        self.scatter = inside + self.beside
        own = systems * s.K if shared else systems  # of every component
        self.prior_weight = np.stack([found.weight for found in own])
        self.prior_mean = np.zeros((s.K, self.d))
        self.mean_lower, self.mean_upper = (np.full((s.K, self.d), end) for end in (-np.inf, np.inf))
        for k, found in enumerate(own if not free else ()):
            self.prior_mean[k] = found.of(s.prior_mean[k] - centre)
            ends = s.mean_lower[k] - centre, s.mean_upper[k] - centre
            self.mean_lower[k], self.mean_upper[k] = _box(found, *ends)
        self.prior_mean[self.prior_weight == 0] = 0.0
        self.size_lower, self.size_upper = s.size_limits()
        self.classes = _classes(s)
        self._rules(s)
        self.error = self._error(systems, s.prior_mean - centre, each, inside)
        for array in (self.scatter, self.entropy, self.allowed):
            array.setflags(write=False)

    def _merge(self, whitened: Array, each: Array) -> tuple[Array, Array, Array]:
        """Mean and half the sum of squares of every group, in every system; its masses."""
        C, _, d = whitened.shape
        points, scatter = np.zeros((C, self.N, d)), np.zeros((C, self.N))
        mass = np.zeros((self.N, each.shape[1]))
        np.add.at(mass, self.group, each)
        alone = (self.weight == 1)[self.group]
        for c in range(C):
            np.add.at(points[c], self.group, each * whitened[c])
            points[c] /= np.where(mass > 0, mass, 1.0)
            points[c][self.group[alone]] = whitened[c][alone]
            away = whitened[c] - points[c][self.group]
            np.add.at(scatter[c], self.group, 0.5 * (each * away**2).sum(axis=1))
        return points, scatter, mass

    def _beside(self, s: Statement) -> tuple[Array, float]:
        """(K, N): what groups cost in components whatever the sizes are, and what rounding does for a clustering.

        That is their determinants where a feature may be missing, and these and -log pi where samples have weights.
        """
        cost, size = np.zeros((2, s.K, self.N))
        if self.counted:
            return cost, 0.0
        half = s.half_log_det if s.half_log_det.ndim == 2 else s.half_log_det[:, None] * s.weighted
        log = np.log(s.fixed_weights) if s.fixed_weights is not None and s.weighted else np.zeros(s.K)
        own = np.broadcast_to(self.each, (s.n, s.d)) if s.half_log_det.ndim == 2 else s.weight[:, None]
        for k in range(s.K):
            np.add.at(cost[k], self.group, own @ half[k] - s.weight * log[k])
            np.add.at(size[k], self.group, own @ np.abs(half[k]) + s.weight * np.abs(log[k]))
        return cost, gamma(s.d + int(self.weight.max()) + 16) * float(size.max(axis=0).sum())

    def _rules(self, s: Statement) -> None:
        """Candidate components of every group; conflicts, implications and counts between groups."""
        self.allowed = np.ones((self.N, s.K), dtype=bool)
        for i, k in s.labels.tolist():
            self.allowed[self.group[i], np.arange(s.K) != k] = False
        pairs = np.unique(np.sort(self.group[s.apart], axis=1), axis=0).reshape(-1, 2)
        torn = pairs[:, 0] == pairs[:, 1]
        self.allowed[pairs[torn, 0]] = False  # apart from itself: nothing is feasible
        self.conflicts = pairs[~torn]
        rows = s.implications[s.implications[:, 2] >= 0].copy()
        rows[:, :2] = self.group[rows[:, :2]]
        self.implications = np.unique(rows[rows[:, 0] != rows[:, 1]], axis=0).reshape(-1, 3)
        held = [np.unique(self.group[samples], return_counts=True) for *_, samples in s.counts]
        self.counts = [(*each, k, low, high) for each, (k, low, high, _) in zip(held, s.counts, strict=True)]

    def _error(self, systems: list[System], prior_mean: Array, each: Array, scatter: Array) -> float:
        """How far the exact objective of any clustering can lie below the sum of its components' costs.

        Let Q be a clustering's quadratic cost in these coordinates: sqrt(2 Q) is a distance between the points (and
        prior means) and the means. In exact coordinates ``x + e`` it changes by |e| at most, and a precision P >=
        (1 - r) A'A takes off another share r: r Q + sqrt(2 Q) |e| + |e|^2 / 2, plus the rounding of scatter and of the
        tables (``slip``) and what points from inner products lose. Squares count as often as their values do, ``each``;
        masses of groups are rounded sums of these. Q is at most what it is with every mean at one point of its box.
        """
        ratio = max(found.ratio for found in systems)
        ratio += 0.0 if self.counted else gamma(int(self.weight.max()) + 2)
        distance, moved = np.zeros((2, self.n))  # the worst over the systems, sample by sample
        merged, inside = np.zeros((2, self.N))
        prior_cost = prior_moved = 0.0
        for k in range(self.K):
            own, g, m = systems[k % len(systems)], self.prior_weight[k], self.prior_mean[k]
            at = np.clip(np.where(g > 0, m, 0.0), self.mean_lower[k], self.mean_upper[k])
            distance = np.maximum(distance, (each * (own.points - at) ** 2).sum(axis=1))
            prior_cost += 0.5 * float(g @ (at - m) ** 2)
            if g.any():
                prior_moved += float(g @ own.rounding(prior_mean[k]) ** 2)
        many = np.where(self.weight > 1, self.weight, 0)[:, None]  # groups of one sample are not averaged
        for c, found in enumerate(systems):
            moved = np.maximum(moved, (each * found.rounding(found.offset) ** 2).sum(axis=1))
            size = np.zeros((self.N, self.d))
            np.add.at(size, self.group, each * np.abs(found.points))
            shift = 2 * (many + 2) * UNIT * size / np.where(self.mass > 0, self.mass, 1.0) * (many > 0)
            merged = np.maximum(merged, (self.mass * shift**2).sum(axis=1))
            inside = np.maximum(inside, 2 * (self.weight + self.d + 4) * UNIT * scatter[c])
        quadratic = 0.5 * float(distance.sum()) + prior_cost
        pull = float((self.prior_weight * self.prior_mean**2).max())
        step = math.sqrt(float(moved.sum()) + prior_moved) + math.sqrt(float(merged.sum()))
        error = ratio * quadratic + math.sqrt(2 * quadratic) * step + 0.5 * step**2
        error += float(inside.sum()) + 0.5 * float(merged.sum()) + max(found.loss for found in systems)
        slip = self.slip + self.beside_slip
        if not (quadratic < LARGEST and pull < LARGEST and error + slip < LARGEST):
            raise Rejected("the data or the prior are too large for double precision")
        return 1.01 * error + slip + TINY


def groups_of(s: Statement) -> Array:
    """Group of every sample, numbered by first sample. "i in k implies j in k for all k" is a must-link."""
    i, j = np.concatenate([s.together, s.implications[s.implications[:, 2] < 0, :2]]).T
    first = np.arange(s.n)  # the first sample that is known to be in the group
    while (first[i] != first[j]).any():
        least = np.minimum(first[i], first[j])
        for end in (i, j, first[i], first[j]):
            np.minimum.at(first, end, least)
        first = first[first]
    return np.unique(first, return_inverse=True)[1].astype(np.int64)


def _box(own: System, low: Array, high: Array) -> tuple[Array, Array]:
    """The smallest box around the user's box for a mean, in whitened coordinates, widened by its rounding."""
    a = own.basis
    assert a is not None  # bounds on means keep the coordinates
    reach = np.where(np.isfinite(low), np.abs(low), 0.0) + np.where(np.isfinite(high), np.abs(high), 0.0)
    slack = gamma(4 * len(a) + 8) * times(reach, np.abs(a).T)
    with np.errstate(invalid="ignore"):
        ends = np.where(a == 0, 0.0, np.stack([a * low, a * high]))
    lower, upper = ends.min(axis=0), ends.max(axis=0)
    if a.ndim == 2:
        lower, upper = lower.sum(axis=1), upper.sum(axis=1)
    return lower - slack, upper + slack


def entropy(s: Statement) -> tuple[Array, float]:
    r"""Cost of a size, (K, n + 1), and how far the tables of all components together can err.

    With c = m + alpha_k - 1 and C = n + sum(alpha - 1): free weights cost -c log(c/C), fixed ones -c log pi_k, weights
    tied to n_k/n cost -c log(m/n). Free weights with bounds L <= pi <= U cost at least ``min over [L, U] of
    -c log pi + C (pi - c/C)``, for the second terms add up to zero; the minimiser is c/C clipped to the bounds.
    Where samples have weights, what they cost is no matter of sizes: m counts as zero.
    """
    room(s.K, 4 * (s.n + 1))
    sizes = np.arange(s.n + 1.0) * (not s.weighted)
    total = s.n + float((s.alpha - 1.0).sum())
    tables, slip = np.zeros((s.K, s.n + 1)), 0.0
    for k in range(s.K):
        c, extra = sizes + (s.alpha[k] - 1.0), np.zeros(s.n + 1)
        if s.fixed_weights is not None:
            weight = np.full(s.n + 1, s.fixed_weights[k])
        elif "weights" in s.estimators:
            weight = sizes / s.n
        elif total <= 0:
            weight = np.ones(s.n + 1)  # one sample, Jeffreys' prior: nothing is left to weigh
        else:
            share = np.maximum(c, 0.0) / total
            weight = np.clip(share, s.weight_lower[k], s.weight_upper[k])
            extra = np.where(weight != share, total * weight - c, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            cost = np.where(c == 0, 0.0, -c * np.log(weight)) + extra
        if s.fixed_weights is None:
            cost = np.where(c < 0, np.inf, cost)  # sizes that no clustering can have
        known = sizes * (s.half_log_det[k] if s.half_log_det.ndim == 1 else 0.0)
        tables[k] = cost + known
        terms = np.abs(cost) + 4 * np.abs(extra) + np.abs(c) + s.n + np.abs(known)
        largest = float(np.max(terms[np.isfinite(cost)], initial=0.0))
        slip += (16 + 4 * s.K) * UNIT * (largest + 4 * s.K * (1 + float(np.abs(s.alpha).max())))
    return tables, 1.01 * slip


def _classes(s: Statement) -> Array:
    """Interchangeable components: those of which the statement says the same."""
    pulled = np.array([[matrix.any()] for matrix in s.prior_precision])
    numbers = [*s.size_limits(), s.half_log_det, s.mean_lower, s.mean_upper, s.weight_lower, s.weight_upper]
    numbers += [s.alpha, s.prior_precision, np.where(pulled, s.prior_mean, 0.0)]
    numbers += [] if s.fixed_weights is None else [s.fixed_weights]
    found: dict[tuple[object, ...], int] = {}
    out = []
    for k in range(s.K):
        labels = frozenset(i for i, c in s.labels.tolist() if c == k)
        implications = frozenset((i, j) for i, j, c in s.implications.tolist() if c == k)
        counts = sorted((a, b, tuple(sorted(x.tolist()))) for c, a, b, x in s.counts if c == k)
        rules = labels, implications, tuple(counts)
        said = s.precision_of(k).tobytes(), *((array[k] + 0.0).tobytes() for array in numbers), *rules
        out.append(found.setdefault(said, len(found)))
    return np.array(out)
