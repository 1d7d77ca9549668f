"""What one clustering costs, without the relaxations of :mod:`.root`; proofs in docs/certificates.md (enumerate)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from certmix.verify.root import Root
from certmix.verify.rounding import UNIT, Array, below, exact_sum, gamma, least_eigenvalue
from certmix.verify.statement import Statement

MOST_WORK = 1e6  # operations with fractions
SWEEPS = 100  # of a descent, coordinate by coordinate

fractions = np.vectorize(Fraction, otypes=[object])


class Exact:
    """Lower bounds on the exact objective of clusterings; what clusters and sizes cost is kept."""

    def __init__(self, root: Root) -> None:
        self.root, self.statement, self.data, self.each = root, root.statement, root.data, root.each
        self.clusters: dict[tuple[int, bytes], float] = {}
        self.weights: dict[tuple[int, ...], float] = {}
        self.products: dict[int, tuple[Array, ...]] = {}
        self.work = 0.0

    def cost(self, labels: Array) -> float:
        """A lower bound for labels of groups; infinite when an average lies outside the bounds that it has to keep."""
        sizes = tuple(np.bincount(labels[self.root.group], minlength=self.root.K).tolist())
        if sizes not in self.weights:
            s, tables = self.statement, [float(self.root.entropy[k, m]) for k, m in enumerate(sizes)]
            plain = math.fsum(tables) - self.root.slip
            free = s.fixed_weights is None and "weights" not in s.estimators and math.isfinite(plain)
            self.weights[sizes] = max(plain, weights_cost(s, sizes)) if free else plain
        beside = self.root.beside[labels, np.arange(self.root.N)].tolist()
        parts = [self.weights[sizes], *self.quadratic(labels), *beside]
        if math.inf in parts:
            return math.inf
        return below(math.fsum(parts), self.root.beside_slip + 4 * UNIT * sum(map(abs, parts)))

    def quadratic(self, labels: Array) -> list[float]:
        """That of every component, without weights; an infinite one has no admissible mean."""
        labels = labels[self.root.group]
        keys = [(k, np.packbits(labels == k).tobytes()) for k in range(self.root.K)]
        for k, key in enumerate(keys):
            if key not in self.clusters:
                self.clusters[key] = self._cluster(k, labels == k)
        return [self.clusters[key] for key in keys]

    def _cluster(self, k: int, members: Array) -> float:
        """The quadratic cost of a cluster at its best mean, rounded down; infinite when that is not admissible."""
        s, rows, each = self.statement, self.data[members], self.each[members] + np.zeros(self.statement.d)
        own, low, high = k if len(s.precision) > 1 else 0, s.mean_lower[k], s.mean_upper[k]
        self.work += (2 + (0 if own in self.products else s.n)) * s.d**2 + rows.size
        if self.work > MOST_WORK:
            return 0.0
        p, prior = (np.diag(m) if m.ndim == 1 else m for m in (s.precision_of(k), s.prior_precision[k]))
        if own not in self.products:  # P, P y and y'P y of every sample, as often as its values count
            y, matrix = fractions(self.data), fractions(p)
            products = (y @ matrix) * fractions(self.each)
            self.products[own] = matrix, products, (products * y).sum(axis=1)
        matrix, products, squares = self.products[own]
        tied = "means" in s.estimators and len(rows) > 0
        if tied:
            mean = fractions(rows).sum(axis=0) / len(rows)
            if any(x < a or x > b for x, a, b in zip(mean, low, high, strict=True)):
                return math.inf
        else:
            mean = _near_best(rows, each, p, prior, s.prior_mean[k], low, high)
        gap, towards = mean - fractions(s.prior_mean[k]), products[members].sum(axis=0)
        mass = fractions(self.each[members]).sum(axis=0)
        away, pull = mass * (mean @ matrix), gap @ fractions(prior)
        value = squares[members].sum() + (mean * (away - 2 * towards)).sum() + (pull * gap).sum()
        found = below(float(value / 2), 0.0)
        rest = [
            float(g)
            for g, x, a, b in zip(away - towards + pull, mean, low, high, strict=True)
            if not ((x == a and g >= 0) or (x == b and g <= 0))
        ]
        if tied or not any(rest):
            return found
        total = mass.astype(np.float64)[:, None]  # where features count differently, P is diagonal
        h, used = total * p + prior, np.diag(total * p + prior) > 0  # what has no mass costs nothing anywhere
        size = total * np.abs(p) + np.abs(prior)
        delta = least_eigenvalue(h[used][:, used], size[used][:, used])
        lost = 0.51 * math.fsum(r * r for r in rest) / delta if delta > 0 else math.inf
        return max(0.0, below(found, lost))


def weights_cost(s: Statement, sizes: tuple[int, ...]) -> float:
    """The best weights within their bounds for these sizes, with half_log_det, less rounding.

    The sum of the weights less one is rounded once; that the weights are rounded minimisers enters squared.
    """
    m = np.array(sizes, dtype=np.float64)
    c, low, high = m + (s.alpha - 1.0), s.weight_lower, s.weight_upper
    least, most = 1e-30, 1e30
    for _ in range(100):
        t = math.sqrt(least * most)
        least, most = (t, most) if np.clip(c / t, low, high).sum() > 1.0 else (least, t)
    best = -math.inf
    for t in (0.0, least, most):
        weight = np.clip(c / t, low, high) if t > 0 else high
        log = np.log(np.where(c > 0, weight, 1.0))
        known = m * s.half_log_det if s.half_log_det.ndim == 1 else np.zeros(s.K)
        terms = [*(-c * log).tolist(), *known.tolist(), t * exact_sum(weight, -1.0)]
        size = (c + m + 1.0 + s.alpha) @ (1.0 + np.abs(log)) + math.fsum(map(abs, terms))
        best = max(best, below(math.fsum(terms), gamma(32) * float(size)))
    return best


def _near_best(
    rows: Array, each: Array, p: Array, prior: Array, towards: Array, low: Array, high: Array
) -> Array:
    """About the best mean, in fractions, inside its box."""
    mass = each.sum(axis=0)
    average = (each * rows).sum(axis=0) / np.where(mass > 0, mass, 1.0)
    shift = np.where(mass > 0, average, np.clip(towards, low, high))
    least, most = low - shift, high - shift
    b, h = (towards - shift) @ prior + (each * (rows - shift)).sum(axis=0) @ p, mass[:, None] * p + prior
    x = np.zeros(len(b))
    for _ in range(SWEEPS):
        before = x.copy()
        for j in np.flatnonzero(np.diag(h) > 0):
            x[j] = np.clip(x[j] + (b[j] - h[j] @ x) / h[j, j], least[j], most[j])
        free = (x > least) & (x < most)
        inner = np.linalg.lstsq(h[free][:, free], (b - h[:, ~free] @ x[~free])[free], rcond=None)[0]
        if ((inner > least[free]) & (inner < most[free])).all():
            x[free] = inner
        if (x == before).all():
            break
    found = [
        a if z <= a - at else o if z >= o - at else min(max(Fraction(at) + Fraction(z), a), o)
        for z, at, a, o in zip(x, shift, low, high, strict=True)
    ]
    return np.asarray(fractions(found))
