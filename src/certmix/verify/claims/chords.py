"""An unknown variance: bounds at some variances, and what follows for all of them (docs/certificates.md, Chords).

Let t = 1 / sigma^2 and g(t) the least of ``t W/2 + E`` over all clusterings, W their sum of squares in the metric of
the shape, E all else: the least of functions whose graphs are lines, so g is concave. The objective is g(t) - N log t,
N = n d / 2. Between two points g lies above the chord of lower bounds there; to the right of the last one it rises by
at least the least W/2, which is at least (g(t) - E) / t with the largest E. For every s > 0,
``-log t >= -(log s + t/s - 1)``, so that a chord less N log t is at least a line, and a line is least at an end.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from certmix.verify import incumbent
from certmix.verify.evidence import Document, Evidence, Rejected, number
from certmix.verify.proof import Proof
from certmix.verify.root import entropy
from certmix.verify.rounding import UNIT, Array, below, gamma, least_eigenvalue
from certmix.verify.statement import UNKNOWN, Statement, read

BISECTIONS = 40


def proved(whole: Proof, bound: float) -> str:
    """Bounds at known variances, proved one after the other; what follows for all has to reach the bound."""
    s, share = whole.stated, 1.0 + slack(whole.stated.precision)
    points, slope = {0.0: least_weight_cost(s)}, 0.0
    for t, proof in enumerate(whole.parts):
        scale, squares = number(proof.get("scale"), "scale"), proof.get("squares")
        if not scale > 0.0 or not isinstance(squares, bool):
            raise Rejected(f"part {t} does not say which problem it is about")
        entry = at_scale(sum_of_squares(whole.entry, s) if squares else whole.entry, s, scale)
        found, own, scale = whole.part(t, entry), np.array(entry["half_log_det"]), scale * share
        if squares:
            slope = max(slope, least_squares(found, s.n, s.K, own, scale))
        else:
            points[scale] = max(lifted(found, s.n, own, s.half_log_det), points.get(scale, -math.inf))
    slope = max(slope, rise(points, most_weight_cost(s)))
    envelope = Envelope(sorted(points.items()), slope, 0.5 * s.n * s.d, *scales(s.variances))
    if not envelope.bound >= bound:
        raise Rejected(f"for some variance its parts prove {envelope.bound!r} only, not its bound {bound!r}")
    return f" at any variance (by bounds at {len(points) - 1} of them)"


class Piece(NamedTuple):
    """What the objective is at least for all t in [left, right], and about where it may be so little."""

    bound: float
    at: float
    left: float
    right: float


class Envelope(NamedTuple):
    """Points (t, L) with g(t) >= L, ascending; g rises by ``slope`` at least; ``half`` is N; t is in [low, high]."""

    points: Sequence[tuple[float, float]]
    slope: float
    half: float
    low: float = 0.0
    high: float = math.inf

    def under(self, t: float) -> float:
        """A lower bound of g(t), from the chord around t or the slope to its right."""
        for (a, x), (b, y) in itertools.pairwise(self.points):
            if a <= t <= b:
                share = (t - a) / (b - a)
                return below(x + share * (y - x), gamma(8) * (abs(x) + abs(y)))
        a, x = self.points[-1]
        if t < a or self.slope < 0.0:
            return -math.inf
        return below(x + self.slope * (t - a), gamma(8) * (abs(x) + self.slope * t))

    def pieces(self) -> list[Piece]:
        """The range of t, from point to point."""
        ends = [(self.low, self.under(self.low)), *(p for p in self.points if self.low < p[0] < self.high)]
        last = self._beyond(*ends[-1])
        if math.isfinite(self.high):
            last = self._between(ends[-1], (self.high, self.under(self.high)))
        return [*(self._between(*pair) for pair in itertools.pairwise(ends)), last]

    @property
    def bound(self) -> float:
        """What the objective is at least."""
        return min(piece.bound for piece in self.pieces())

    def _between(self, left: tuple[float, float], right: tuple[float, float]) -> Piece:
        (a, x), (b, y) = left, right
        rise = (y - x) / (b - a)
        s = min(max(self.half / rise, a), b) if rise > 0.0 else b
        return Piece(min(self._line(a, x, s), self._line(b, y, s)), s, a, b)

    def _beyond(self, a: float, x: float) -> Piece:
        if not self.slope > 0.0:
            return Piece(-math.inf, math.inf, a, math.inf)
        # N / s is not above the slope, so the line does not fall.
        s = max(a, self.half / self.slope * (1.0 + 4 * UNIT))
        return Piece(self._line(a, x, s), s, a, math.inf)

    def _line(self, t: float, bound: float, s: float) -> float:
        """Not above ``bound - N (log s + t/s - 1)``."""
        if not (math.isfinite(bound) and 0.0 < s < math.inf):
            return -math.inf
        log, ratio = math.log(s), t / s
        size = abs(bound) + self.half * (abs(log) + ratio + 1.0)
        return below(bound - self.half * (log + ratio - 1.0), gamma(16) * size)


def scales(variances: tuple[float, float]) -> tuple[float, float]:
    """The range of t = 1 / variance, rounded outwards."""
    low, high = variances
    return (
        0.0 if math.isinf(high) else math.nextafter(1.0 / high, 0.0),
        math.inf if low == 0.0 else math.nextafter(1.0 / low, math.inf),
    )


def at_scale(whole: Document, s: Statement, scale: float | Array) -> dict[str, Any]:
    """The statement at a known variance: the precision of the shape times ``scale``, one for all features or each."""
    half = np.zeros(s.K)
    if len(s.precision) > 1:
        half = s.half_log_det - 0.5 * s.d * math.log(float(scale))
    known = {name: value for name, value in whole.items() if name != UNKNOWN}
    return {**known, "precision": (scale * s.precision).tolist(), "half_log_det": half.tolist()}


def sum_of_squares(whole: Document, s: Statement) -> dict[str, Any]:
    """The statement with uniform weights and no prior: nothing but the squares is left to minimise.

    Limits of sizes that weights tied to n_k / n entail stay, as limits.
    """
    sizes, low, high = {tuple(row) for row in s.sizes.tolist()}, *s.size_limits()
    for k in range(s.K if "weights" in s.estimators else 0):
        sizes |= {(k, int(low[k]), s.n)} if low[k] > 0 else set()
        sizes |= {(k, 0, int(high[k]))} if high[k] < s.n else set()
    return {
        **whole,
        "fixed_weights": [1.0 / s.K] * s.K,
        "weight_lower": [0.0] * s.K,
        "weight_upper": [1.0] * s.K,
        "alpha": [1.0] * s.K,
        "prior_mean": np.zeros((s.K, s.d)).tolist(),
        "prior_precision": None,
        "estimators": sorted(s.estimators - {"weights"}),
        "sizes": sorted(map(list, sizes)),
    }


def value(whole: Document, s: Statement, data: Array, evidence: Evidence) -> tuple[float, float]:
    """``(v, e)`` as of :func:`certmix.verify.incumbent.value`, at the variance of the certificate.

    There the precision is rounded twice, entry by entry, which the rounding of a quadratic form has room for.
    """
    variance = evidence.floats("incumbent/variance", s.d if s.per_feature else 1)
    if not ((variance > 0.0) & (s.variances[0] <= variance) & (variance <= s.variances[1])).all():
        raise Rejected(f"its variance {variance.tolist()!r} is not in the range that is stated")
    scale = 1.0 / variance
    known = read(at_scale(whole, s, scale if s.per_feature else float(scale[0])))
    found, error = incumbent.value(known, data, evidence)
    sizes = np.bincount(evidence.integers("incumbent/labels", s.n), minlength=s.K)
    terms = [found, *(0.5 * s.n * s.d / len(variance) * np.log(variance)).tolist()]
    terms += (sizes * s.half_log_det).tolist() + (-sizes * known.half_log_det).tolist()
    return math.fsum(terms), error + 16 * UNIT * math.fsum(map(abs, terms))


def lifted(bound: float, n: int, own: Array, shape: Array) -> float:
    """A bound of g from one at a known variance, whose statement has other logarithms of determinants."""
    off = float(np.max(own - shape))
    return below(
        bound - n * off, gamma(8) * (abs(bound) + n * float(np.abs(own).max() + np.abs(shape).max()))
    )


def slack(precision: Array) -> float:
    """By which share of t the shape must be multiplied more to be at least t P, rounded entry by entry.

    Each entry is off by a unit at most. A diagonal says all; of a full matrix, the least eigenvalue takes the largest
    sum of a row.
    """
    if precision[0].ndim == 1:
        return 4 * UNIT
    share = 0.0
    for matrix in precision:
        least = least_eigenvalue(matrix, np.abs(matrix))
        if not least > 0.0:
            raise Rejected("a shape is not positive definite, as far as can be proved")
        share = max(share, 4 * UNIT * float(np.abs(matrix).sum(axis=1).max()) / least)
    return share


def least_weight_cost(s: Statement) -> float:
    """A lower bound of g(0): what sizes that add up to n cost at least."""
    return _least_total(s, *entropy(s))


def most_weight_cost(s: Statement) -> float:
    """An upper bound of E, what does not depend on t: of what sizes that add up to n cost at most.

    Infinite where E depends on more than sizes, or tables of sizes are no more than lower bounds.
    """
    bounded = s.fixed_weights is None and bool(np.any(s.weight_lower > 0.0) or np.any(s.weight_upper < 1.0))
    if bounded or any(matrix.any() for matrix in s.prior_precision):
        return math.inf
    tables, slip = entropy(s)
    return -_least_total(s, np.where(np.isfinite(tables), -tables, math.inf), slip)


def rise(points: Mapping[float, float], most: float) -> float:
    """A lower bound of the least W/2 from points (t, L): g(t) is at most ``t W/2 + most`` of every clustering."""
    best = 0.0
    for t, bound in points.items():
        rest = below(bound - most, gamma(4) * (abs(bound) + abs(most)))
        if t > 0.0 and rest > 0.0:
            best = max(best, below(rest / t, 4 * UNIT * rest / t))
    return best


def _least_total(s: Statement, tables: Array, slip: float) -> float:
    """A lower bound of the tables' least total over sizes that add up to n, by a multiplier on their sum."""
    low, high = s.size_limits()
    sizes = np.arange(s.n + 1.0)
    kept = [slice(low[k], high[k] + 1) for k in range(s.K)]
    finite = [tables[k, kept[k]][np.isfinite(tables[k, kept[k]])] for k in range(s.K)]
    size = sum(float(np.abs(table).max(initial=0.0)) for table in finite) + s.n
    steepest = max(float(np.abs(np.diff(table)).max(initial=0.0)) for table in finite) + 1.0
    best, least, most = -math.inf, -steepest, steepest
    for _ in range(BISECTIONS):
        price = 0.5 * (least + most)
        reduced = [tables[k, kept[k]] - price * sizes[kept[k]] for k in range(s.K)]
        if any(not len(table) for table in reduced):
            return -math.inf
        total = sum(int(low[k]) + int(np.argmin(table)) for k, table in enumerate(reduced))
        value = math.fsum((price * s.n, *(float(table.min()) for table in reduced)))
        best = max(best, below(value, slip + gamma(16) * (size + 2 * abs(price) * s.n * (s.K + 1))))
        least, most = (price, most) if total < s.n else (least, price)
        if total == s.n:
            break
    return best


def least_squares(bound: float, n: int, K: int, half_log_det: Array, scale: float) -> float:
    """A lower bound of the least W/2, from one of the problem with uniform weights.

    Its precision is at most ``scale`` times the shape's.
    """
    constant = n * (-math.log(1.0 / K) + float(half_log_det.max()))
    size = abs(bound) + n * (math.log(K) + 1.0 + float(np.abs(half_log_det).max()))
    rest = below(bound - constant, gamma(16) * size)
    return max(0.0, below(rest / scale, 4 * UNIT * abs(rest / scale)))
