"""Rounding under control: what may be assumed of floating point, and arithmetic that is exact.

Assumed are IEEE double precision, rounded to nearest, and logarithms and square roots that are right to two units in
the last place. A sum of n products, in whatever order, errs by at most ``gamma(n)`` times the sum of their absolute
values (Higham, Accuracy and Stability of Numerical Algorithms, section 3).
"""

from __future__ import annotations

import math

import numpy as np

UNIT = 2.0**-53  # largest relative error of one operation
TINY = 1e-290  # more than what underflow can do to any sum here


def gamma(operations: float) -> float:
    """``n u / (1 - n u)``, with a hair more for the computation of the bound itself."""
    share = 1.01 * operations * UNIT
    return share / (1.0 - share) if share < 0.5 else math.inf


def below(value: float, error: float) -> float:
    """A double that is not above ``value - error``."""
    return math.nextafter(value - error, -math.inf)


def total_below(values: np.ndarray) -> float:
    """A double that is not above the exact sum (math.fsum rounds the exact sum once)."""
    return math.nextafter(math.fsum(values.tolist()), -math.inf)


def whole_numbers(array: np.ndarray) -> tuple[np.ndarray, int]:
    """``(m, e)`` with array = m 2^e exactly, m an object array of Python's unbounded integers."""
    mantissa, exponent = np.frexp(np.asarray(array, dtype=np.float64))
    scaled = (mantissa * 2.0**53).astype(np.int64)
    exponent = exponent.astype(np.int64) - 53
    used = scaled != 0
    least = int(exponent[used].min()) if used.any() else 0
    flat = [int(m) << (int(x) - least) if m else 0 for m, x in zip(scaled.flat, exponent.flat, strict=True)]
    return np.array(flat, dtype=object).reshape(scaled.shape), least


def to_double(value: int, exponent: int) -> float:
    """``value 2^exponent`` rounded once."""
    return float(value << exponent) if exponent >= 0 else value / (1 << -exponent)


def running_sums(values: np.ndarray) -> np.ndarray:
    """``0, v_0, v_0 + v_1, ...``, each rounded once from the exact sum."""
    numbers, exponent = whole_numbers(values)
    total, out = 0, np.zeros(len(values) + 1)
    for i, number in enumerate(numbers):
        total += number
        out[i + 1] = to_double(total, exponent)
    return out


def residual(matrix: np.ndarray, a: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    """``matrix - a' diag(diagonal) a``, each entry rounded once from its exact value."""
    (m, em), (f, ef), (g, eg) = whole_numbers(matrix), whole_numbers(a), whole_numbers(diagonal)
    product, ep = (f.T * g) @ f, 2 * ef + eg
    low = min(em, ep)
    out = np.empty(matrix.shape)
    for place in np.ndindex(matrix.shape):
        exact = (int(m[place]) << (em - low)) - (int(product[place]) << (ep - low))
        out[place] = to_double(exact, low)
    return out


def cholesky_loss(order: int, trace: float) -> float:
    """How far below zero an eigenvalue can lie when Cholesky's factorisation runs to its end.

    ``c / (1 - c) trace`` with c = gamma(order + 1) (S. M. Rump, Verification of positive definiteness, BIT 46, 2006);
    twice the number of operations is taken, for libraries that multiply by reciprocals.
    """
    share = gamma(2 * (order + 2))
    return share / (1.0 - share) * trace + TINY


def proved_semidefinite(matrix: np.ndarray) -> bool:
    """Whether a symmetric matrix is positive semidefinite for sure; a diagonal one is decided exactly."""
    diagonal = np.diag(matrix).copy()
    if not (matrix - np.diag(diagonal)).any():
        return bool((diagonal >= 0).all())
    if not (diagonal > 0).all():
        return False
    scale = np.exp2(-np.round(0.5 * np.log2(diagonal)))  # powers of two: scaling is exact
    scaled = matrix * scale[:, None] * scale
    lost = 2.0 * cholesky_loss(len(scaled), float(np.trace(scaled)))  # twice: the shift itself is rounded
    try:
        return bool(np.isfinite(np.linalg.cholesky(scaled - lost * np.eye(len(scaled)))).all())
    except np.linalg.LinAlgError:
        return False


def least_quadratic(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """``min over x in [low, high] of a/2 x^2 - b x + c`` and the size ``a/2 x^2 + s |x| + c`` of its terms there.

    a, c >= 0 and s = sqrt(2 a c), which is at least what a sum ``b = sum w x`` can be in absolute terms when
    ``a >= sum w`` and ``c >= sum w x^2 / 2`` (Cauchy-Schwarz). If a, b, c come from sums of at most N terms, the value
    is right to ``gamma(N + 16)`` times that size: the minimiser is off by a relative error only, which enters squared.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        x = np.where(a > 0, b / a, 0.0)
    x = np.clip(x, low, high)
    half = 0.5 * a * x * x
    return half - b * x + c, half + np.sqrt(2.0 * a * c) * np.abs(x) + c
