"""An unknown variance: problems at known ones, and what their bounds say (docs/certificates.md, Chords)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from certmix.verify import incumbent
from certmix.verify.evidence import Document, Evidence, Rejected
from certmix.verify.root import entropy
from certmix.verify.rounding import UNIT, Array, below, gamma, least_eigenvalue
from certmix.verify.statement import UNKNOWN, Statement, read

BISECTIONS = 40


def scales(variances: tuple[float, float]) -> tuple[float, float]:
    """The range of t = 1 / variance, rounded outwards."""
    low, high = variances
    least = 0.0 if math.isinf(high) else math.nextafter(1.0 / high, 0.0)
    return least, math.inf if low == 0.0 else math.nextafter(1.0 / low, math.inf)


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


def of_feature(squares: Document, s: Statement, scale: float) -> dict[str, Any]:
    """From the statement of the sum of squares that in one feature alone, with the precision ``scale``."""
    free = [[None]] * s.K
    alone = {"n_features": 1, "precision": [[scale]], "prior_mean": [[0.0]] * s.K}
    return {**squares, **alone, "mean_lower": free, "mean_upper": free}


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
        return 4 * UNIT if (precision != 1.0).any() else 0.0
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
