"""Rounding under control: what may be assumed of floating point, and arithmetic that is exact.

Assumed are IEEE double precision, rounded to nearest, and logarithms and square roots that are right to two units in
the last place. A sum of n products, in whatever order, errs by at most ``gamma(n)`` times the sum of their absolute
values (Higham, Accuracy and Stability of Numerical Algorithms, section 3). What underflow does is below ``TINY``, by
which every bound is lowered: no matrix of a statement is so small that it would be lost when it is multiplied.
"""

from __future__ import annotations

import math

import numpy as np

Array = np.ndarray
UNIT = 2.0**-53  # largest relative error of one operation
TINY = 1e-290  # more than what underflow can do to any sum here


def gamma(operations: float) -> float:
    """``n u / (1 - n u)``, with a hair more for the computation of the bound itself."""
    share = 1.01 * operations * UNIT
    return share / (1.0 - share) if share < 0.5 else math.inf


def below(value: float, error: float) -> float:
    """A double that is not above ``value - error``."""
    return math.nextafter(value - error, -math.inf)


def total_below(values: Array) -> float:
    """A double that is not above the exact sum (math.fsum rounds the exact sum once)."""
    return below(math.fsum(values.tolist()), 0.0)


def exact_sum(values: Array, *more: float) -> float:
    """The exact sum rounded once, and so with the right sign; ``more`` are numbers to be added."""
    return math.fsum((*values.tolist(), *more))


def whole_numbers(array: Array) -> tuple[Array, int]:
    """``(m, e)`` with array = m 2^e exactly, m an object array of Python's unbounded integers."""
    mantissa, exponent = np.frexp(np.asarray(array, dtype=np.float64))
    scaled, exponent = (mantissa * 2.0**53).astype(np.int64), exponent.astype(np.int64) - 53
    least = int(exponent[scaled != 0].min(initial=1024))
    flat = [int(m) << (int(x) - least) if m else 0 for m, x in zip(scaled.flat, exponent.flat, strict=True)]
    return np.array(flat, dtype=object).reshape(scaled.shape), least


def to_double(value: int, exponent: int) -> float:
    """``value 2^exponent`` rounded once."""
    return float(value << exponent) if exponent >= 0 else value / (1 << -exponent)


def running_sums(values: Array) -> Array:
    """``0, v_0, v_0 + v_1, ...``, each rounded once from the exact sum."""
    numbers, exponent = whole_numbers(values)
    return np.array([0.0, *(to_double(total, exponent) for total in numbers.cumsum())])


def residual(matrix: Array, a: Array, diagonal: Array) -> Array:
    """``matrix - a' diag(diagonal) a``, each entry rounded once from its exact value."""
    (m, em), (f, ef), (g, eg) = whole_numbers(matrix), whole_numbers(a), whole_numbers(diagonal)
    low = min(em, 2 * ef + eg)
    exact = m * (1 << (em - low)) - ((f.T * g) @ f) * (1 << (2 * ef + eg - low))
    return np.array([to_double(int(x), low) for x in exact.flat]).reshape(matrix.shape)


def cholesky_loss(order: int, trace: float) -> float:
    """How far below zero an eigenvalue can lie when Cholesky's factorisation runs to its end.

    ``c / (1 - c) trace`` with c = gamma(order + 1) (S. M. Rump, Verification of positive definiteness, BIT 46, 2006);
    twice the number of operations is taken, for libraries that multiply by reciprocals.
    """
    share = gamma(2 * (order + 2))
    return share / (1.0 - share) * trace + TINY


def cholesky_ends(matrix: Array) -> bool:
    """Whether Cholesky's factorisation runs to its end."""
    try:
        return bool(np.isfinite(np.linalg.cholesky(matrix)).all())
    except np.linalg.LinAlgError:
        return False


def proved_semidefinite(matrix: Array) -> bool:
    """Whether a symmetric matrix is positive semidefinite for sure; a diagonal one is decided exactly."""
    diagonal = np.diag(matrix).copy()
    if not (matrix - np.diag(diagonal)).any():
        return bool((diagonal >= 0).all())
    if not (diagonal > 0).all():
        return False
    scale = np.exp2(-np.round(0.5 * np.log2(diagonal)))  # powers of two: scaling is exact
    scaled = matrix * scale[:, None] * scale
    lost = 2.0 * cholesky_loss(len(scaled), float(np.trace(scaled)))  # twice: the shift itself is rounded
    return cholesky_ends(scaled - lost * np.eye(len(scaled)))


def least_eigenvalue(matrix: Array, size: Array) -> float:
    """A positive number below every eigenvalue, or zero; the entries may err by 16 u of those of ``size``."""
    least, unsure = 0.5 * float(np.linalg.eigvalsh(matrix)[0]), 16 * UNIT * float(np.linalg.norm(size))
    return least if proved_semidefinite(matrix - (least + unsure) * np.eye(len(matrix))) else 0.0


def least_quadratic(a: Array, b: Array, c: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """``min over x in [low, high] of a/2 x^2 - b x + c`` and the size ``a/2 x^2 + s |x| + c`` of its terms there.

    a, c >= 0 and s = sqrt(2 a c), which is at least what a sum ``b = sum w x`` can be in absolute terms when
    ``a >= sum w`` and ``c >= sum w x^2 / 2`` (Cauchy-Schwarz). If a, b, c come from sums of at most N terms, the value
    is right to ``gamma(N + 16)`` times that size: b is off by at most gamma(N) s, so the minimiser by gamma(N) s / a,
    which enters squared.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        x = np.clip(np.where(a > 0, b / a, 0.0), low, high)
    half = 0.5 * a * x * x
    return half - b * x + c, half + np.sqrt(2.0 * a * c) * np.abs(x) + c
