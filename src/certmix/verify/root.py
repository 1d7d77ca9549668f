r"""The problem as the checker sees it, rebuilt from the statement and the data alone.

For component k, a set S of groups and m samples in it, the cost in the coordinates ``x = A (y - centre)`` is

    c_k(S) = min over mu in the box of  sum_{g in S} [ scatter_g + w_g/2 |x_g - mu|^2 ]
                                        + sum_j gamma_kj/2 (mu_j - m_kj)^2 + entropy[k, m]

and the exact objective of every clustering is at least the sum of its components' costs less ``Root.error``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from certmix.verify.evidence import Rejected
from certmix.verify.rounding import UNIT, gamma, proved_semidefinite, residual
from certmix.verify.statement import Statement

LARGEST = 1e200  # quadratic terms beyond could overflow


@dataclass(frozen=True)
class Root:
    """n samples in N groups, d dimensions, K components, C = 1 or K systems of coordinates.

    ``counts`` are (groups, coefficient, component, low, high); ``implications`` (group, then, component).
    """

    statement: Statement
    samples: np.ndarray
    group: np.ndarray
    weight: np.ndarray
    points: np.ndarray
    scatter: np.ndarray
    system: np.ndarray
    entropy: np.ndarray
    prior_mean: np.ndarray
    prior_weight: np.ndarray
    mean_lower: np.ndarray
    mean_upper: np.ndarray
    classes: np.ndarray
    allowed: np.ndarray
    conflicts: np.ndarray
    implications: np.ndarray
    counts: tuple[tuple[np.ndarray, np.ndarray, int, int, int], ...]
    size_lower: np.ndarray
    size_upper: np.ndarray
    error: float

    @property
    def n(self) -> int:
        return self.statement.n

    @property
    def d(self) -> int:
        return self.statement.d

    @property
    def K(self) -> int:
        return self.statement.K

    @property
    def N(self) -> int:
        return len(self.weight)


def build(statement: Statement, data: np.ndarray) -> Root:
    """Whiten, merge, tabulate; and bound what rounding does to it all."""
    s = statement
    if data.shape != (s.n, s.d) or not np.isfinite(data).all():
        raise Rejected(f"the data are not {s.n} x {s.d} finite numbers")
    group = _groups(s)
    weight = np.bincount(group)
    shared = len(s.precision) == 1 and bool((s.prior_precision == s.prior_precision[0]).all())
    system = np.zeros(s.K, dtype=np.int64) if shared else np.arange(s.K)
    centre = data.mean(axis=0)
    bases, gammas, ratio = [], [], 0.0
    for c in range(1 if shared else s.K):
        a, g, r = _coordinates(s.precision[c if len(s.precision) > 1 else 0], s.prior_precision[c])
        bases.append(a)
        gammas.append(g)
        ratio = max(ratio, r)
    whitened = np.stack([(data - centre) @ a.T for a in bases])
    points, scatter = _merge(whitened, group, weight)
    prior_weight = np.stack([gammas[c] for c in system])
    prior_mean = np.stack([bases[c] @ (s.prior_mean[k] - centre) for k, c in enumerate(system)])
    prior_mean[prior_weight == 0] = 0.0
    box = [_box(bases[c], s.mean_lower[k] - centre, s.mean_upper[k] - centre) for k, c in enumerate(system)]
    mean_lower, mean_upper = (np.stack(side) for side in zip(*box, strict=True))
    entropy, slip = _entropy(s)
    allowed, conflicts, implications = _rules(s, group, len(weight))
    low, high = s.size_limits()

    # Quadratic cost of any clustering, at most: put every mean at one point of its box.
    distance, moved = np.zeros(s.n), np.zeros(s.n)  # the worst over the systems, sample by sample
    merged, inside = np.zeros(len(weight)), np.zeros(len(weight))
    prior_cost, prior_moved = 0.0, 0.0
    for k, c in enumerate(system.tolist()):
        at = np.clip(np.where(prior_weight[k] > 0, prior_mean[k], 0.0), mean_lower[k], mean_upper[k])
        distance = np.maximum(distance, ((whitened[c] - at) ** 2).sum(axis=1))
        prior_cost += 0.5 * float(prior_weight[k] @ (at - prior_mean[k]) ** 2)
        rounding = gamma(2 * s.d + 6) * np.abs(bases[c]) @ np.abs(s.prior_mean[k] - centre)
        prior_moved += float(prior_weight[k] @ rounding**2)
    for c, a in enumerate(bases):
        rounding = gamma(2 * s.d + 6) * np.abs(data - centre) @ np.abs(a).T
        moved = np.maximum(moved, (rounding**2).sum(axis=1))
        many = np.where(weight > 1, weight, 0)[:, None]
        size = np.zeros(points[c].shape)
        np.add.at(size, group, np.abs(whitened[c]))
        shift = 2 * (many + 2) * UNIT * size / np.maximum(many, 1) * (many > 0)
        merged = np.maximum(merged, (many * shift**2).sum(axis=1))
        inside = np.maximum(inside, 2 * (weight + s.d + 4) * UNIT * scatter[c])
    quadratic = 0.5 * float(distance.sum()) + prior_cost
    pull = float((prior_weight * prior_mean**2).max())
    if not (quadratic < LARGEST and pull < LARGEST):
        raise Rejected("the data or the prior are too large for double precision")
    step = math.sqrt(float(moved.sum()) + prior_moved) + math.sqrt(float(merged.sum()))
    error = (
        ratio * quadratic
        + math.sqrt(2 * quadratic) * step
        + 0.5 * step**2
        + float(inside.sum())
        + 0.5 * float(merged.sum())
        + slip
    )
    for array in (points, scatter, entropy, allowed):
        array.setflags(write=False)
    return Root(
        statement=s,
        samples=data,
        group=group,
        weight=weight.astype(np.int64),
        points=points,
        scatter=scatter,
        system=system,
        entropy=entropy,
        prior_mean=prior_mean,
        prior_weight=prior_weight,
        mean_lower=mean_lower,
        mean_upper=mean_upper,
        classes=_classes(s, low, high),
        allowed=allowed,
        conflicts=conflicts,
        implications=implications,
        counts=_counts(s, group),
        size_lower=low,
        size_upper=high,
        error=1.01 * error,
    )


def _groups(s: Statement) -> np.ndarray:
    """Group of every sample, numbered by first sample. "i in k implies j in k for all k" is a must-link."""
    parent = list(range(s.n))

    def top(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    tied = s.implications[s.implications[:, 2] < 0, :2]
    for i, j in np.concatenate([s.together, tied]).tolist():
        a, b = sorted((top(i), top(j)))
        parent[b] = a
    tops = [top(i) for i in range(s.n)]  # the first sample of each group
    number = {first: g for g, first in enumerate(sorted(set(tops)))}
    return np.array([number[t] for t in tops], dtype=np.int64)


def _coordinates(precision: np.ndarray, prior: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    r"""``(A, gamma, r)``: P >= (1 - r) A'A and prior >= A' diag(gamma) A in the order of quadratic forms."""
    d = len(precision)
    if not proved_semidefinite(prior):
        raise Rejected("the precision of a prior is not positive semidefinite, as far as can be proved")
    both = np.abs(precision) + np.abs(prior)
    if not np.any(both - np.diag(np.diag(both))):
        if not (np.diag(precision) > 0).all():
            raise Rejected("a precision matrix is not positive definite")
        a, g = np.diag(np.sqrt(np.diag(precision))), np.diag(prior) / np.diag(precision)
    else:
        try:
            a, g = np.linalg.cholesky(precision).T, np.zeros(d)
            if prior.any():
                inverse = np.linalg.inv(a)
                g, rotation = np.linalg.eigh(inverse.T @ prior @ inverse)
                a = rotation.T @ a
        except np.linalg.LinAlgError:
            raise Rejected("a precision matrix is not positive definite") from None
    if g.any():
        g = (g - _disagreement(a, prior, g)) * (1 - 4 * UNIT)
        if not (g > 0).all():
            g = np.zeros(d)  # a prior too weak to be told from nothing is left out, which only lowers bounds
    r = _disagreement(a, precision, np.ones(d))
    if not r < 1.0:
        raise Rejected("a precision matrix is not positive definite, as far as can be proved")
    return a, g, r


def _disagreement(a: np.ndarray, matrix: np.ndarray, g: np.ndarray) -> float:
    """A bound on the norm of ``A^-T matrix A^-1 - diag(g)``.

    With the exact residual E = matrix - A' diag(g) A and a computed inverse B, A B = I + G, it is at most
    ``|B'EB| / (1 - |G|)^2``.
    """
    d = len(a)
    try:
        b = np.linalg.inv(a)
    except np.linalg.LinAlgError:
        raise Rejected("a precision matrix is numerically singular") from None
    e = residual(matrix, a, g)
    slip = float(np.linalg.norm(a @ b - np.eye(d)) + gamma(2 * d) * np.linalg.norm(np.abs(a) @ np.abs(b)))
    if not slip < 0.5:
        raise Rejected("a precision matrix is numerically singular")
    rounding = gamma(4 * d + 8) * np.abs(b).T @ np.abs(e) @ np.abs(b)
    return float((np.linalg.norm(b.T @ e @ b) + np.linalg.norm(rounding)) / (1 - slip) ** 2 * 1.01)


def _merge(whitened: np.ndarray, group: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and half the sum of squares of every group, in every system."""
    C, n, d = whitened.shape
    if len(weight) == n:
        return whitened.copy(), np.zeros((C, n))
    points, scatter = np.zeros((C, len(weight), d)), np.zeros((C, len(weight)))
    for c in range(C):
        np.add.at(points[c], group, whitened[c])
        points[c] /= weight[:, None]
        away = whitened[c] - points[c][group]
        np.add.at(scatter[c], group, 0.5 * (away**2).sum(axis=1))
    return points, scatter


def _box(a: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The smallest box around the user's box for a mean, in whitened coordinates, widened by its rounding."""
    d = len(a)
    with np.errstate(invalid="ignore"):
        ends = np.stack([a * low, a * high])
    ends[:, a == 0] = 0.0
    reach = np.where(np.isfinite(low), np.abs(low), 0.0) + np.where(np.isfinite(high), np.abs(high), 0.0)
    slack = gamma(4 * d + 8) * (np.abs(a) @ reach)
    return ends.min(axis=0).sum(axis=1) - slack, ends.max(axis=0).sum(axis=1) + slack


def _entropy(s: Statement) -> tuple[np.ndarray, float]:
    r"""Cost of a size, (K, n + 1), and how far the tables of all components together can err.

    With c = m + alpha_k - 1 and C = n + sum(alpha - 1): free weights cost -c log(c/C), fixed ones -c log pi_k, weights
    tied to n_k/n cost -c log(m/n). Free weights with bounds L <= pi <= U cost at least ``min over [L, U] of
    -c log pi + C (pi - c/C)``, for the second terms add up to zero; the minimiser is c/C clipped to the bounds.
    """
    sizes = np.arange(s.n + 1.0)
    total = s.n + float((s.alpha - 1.0).sum())
    tables, slip = np.zeros((s.K, s.n + 1)), 0.0
    for k in range(s.K):
        c = sizes + (s.alpha[k] - 1.0)
        extra = np.zeros(s.n + 1)
        if s.fixed_weights is not None:
            weight = np.full(s.n + 1, s.fixed_weights[k])
        elif "weights" in s.estimators:
            weight = sizes / s.n
        elif total <= 0:
            weight = np.ones(s.n + 1)  # one sample, Jeffreys' prior: nothing is left to weigh
        else:
            weight = np.clip(np.maximum(c, 0.0) / total, s.weight_lower[k], s.weight_upper[k])
            extra = np.where(weight != np.maximum(c, 0.0) / total, total * weight - c, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            cost = np.where(c == 0, 0.0, -c * np.log(weight)) + extra
        if s.fixed_weights is None:
            cost = np.where(c < 0, np.inf, cost)  # sizes that no clustering can have
        tables[k] = cost + sizes * s.half_log_det[k]
        fine = np.isfinite(cost)
        terms = np.abs(cost) + 4 * np.abs(extra) + np.abs(c) + s.n + np.abs(sizes * s.half_log_det[k])
        slip += (
            (16 + 4 * s.K)
            * UNIT
            * float(np.max(terms[fine], initial=0.0) + 4 * s.K * (1 + np.abs(s.alpha).max()))
        )
    return tables, slip


def _rules(s: Statement, group: np.ndarray, N: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Candidate components of every group, conflicts and implications between groups."""
    allowed = np.ones((N, s.K), dtype=bool)
    for i, k in s.labels.tolist():
        allowed[group[i], np.arange(s.K) != k] = False
    pairs = np.unique(np.sort(group[s.apart], axis=1), axis=0).reshape(-1, 2)
    torn = pairs[:, 0] == pairs[:, 1]
    allowed[pairs[torn, 0]] = False  # apart from itself: nothing is feasible
    implications = s.implications[s.implications[:, 2] >= 0].copy()
    implications[:, :2] = group[implications[:, :2]]
    implications = np.unique(implications[implications[:, 0] != implications[:, 1]], axis=0).reshape(-1, 3)
    return allowed, pairs[~torn], implications


def _counts(s: Statement, group: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray, int, int, int], ...]:
    rows = []
    for k, low, high, samples in s.counts:
        groups, coefficient = np.unique(group[samples], return_counts=True)
        rows.append((groups, coefficient.astype(np.int64), k, low, high))
    return tuple(rows)


def _classes(s: Statement, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Interchangeable components: those of which the statement says the same."""
    numbers: dict[tuple[object, ...], int] = {}
    out = np.zeros(s.K, dtype=np.int64)
    for k in range(s.K):
        said = (
            s.precision[k if len(s.precision) > 1 else 0].tobytes(),
            float(s.half_log_det[k]),
            s.prior_precision[k].tobytes(),
            s.prior_mean[k].tobytes() if s.prior_precision[k].any() else b"",
            float(s.alpha[k]),
            s.mean_lower[k].tobytes(),
            s.mean_upper[k].tobytes(),
            float(s.weight_lower[k]),
            float(s.weight_upper[k]),
            None if s.fixed_weights is None else float(s.fixed_weights[k]),
            int(low[k]),
            int(high[k]),
            tuple(sorted({i for i, c in s.labels.tolist() if c == k})),
            tuple(sorted({(i, j) for i, j, c in s.implications.tolist() if c == k})),
            tuple(sorted((a, b, tuple(sorted(x.tolist()))) for c, a, b, x in s.counts if c == k)),
        )
        out[k] = numbers.setdefault(said, len(numbers))
    return out
