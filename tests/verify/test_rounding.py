"""Exact arithmetic and error bounds against rational numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from certmix.verify import coordinates
from certmix.verify.rounding import (
    gamma,
    least_quadratic,
    residual,
    running_sums,
    total_below,
    whole_numbers,
)


@pytest.mark.parametrize("seed", range(10))
def test_whole_numbers_are_the_array(seed: int) -> None:
    """m 2^e is exactly the array, over wide ranges of exponents."""
    rng = np.random.default_rng(seed)
    array = rng.normal(size=20) * 10.0 ** rng.integers(-30, 30, size=20) * rng.integers(0, 2, size=20)
    m, e = whole_numbers(array)
    assert all(Fraction(int(x)) * Fraction(2) ** e == Fraction(v) for x, v in zip(m, array, strict=True))


@pytest.mark.parametrize("seed", range(5))
def test_running_sums_are_rounded_once(seed: int) -> None:
    """Every running sum is the double nearest to the exact one."""
    values = np.random.default_rng(seed).normal(size=50) * 10.0 ** np.arange(-25, 25)
    exact = Fraction(0)
    for value, found in zip(values, running_sums(values)[1:], strict=True):
        exact += Fraction(float(value))
        assert found == float(exact)


@pytest.mark.parametrize("seed", range(5))
def test_the_residual_is_exact(seed: int) -> None:
    """matrix - a' diag(g) a agrees with rational arithmetic, even where everything cancels."""
    rng = np.random.default_rng(seed)
    a, g = rng.normal(size=(4, 4)), rng.random(4)
    matrix = (a.T * g) @ a
    found = residual(matrix, a, g)
    for i in range(4):
        for j in range(4):
            terms = (Fraction(a[r, i]) * Fraction(g[r]) * Fraction(a[r, j]) for r in range(4))
            assert found[i, j] == float(Fraction(matrix[i, j]) - sum(terms))


@pytest.mark.parametrize("seed", range(20))
def test_the_residual_of_a_large_matrix_is_within_its_error(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In double precision a factor disagrees with its matrix at least as much as in whole numbers."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 6))
    root = rng.normal(size=(d, d)) * 10.0 ** rng.uniform(-3, 3)
    matrix = root @ root.T + 1e-3 * np.eye(d)
    a, ones = np.linalg.cholesky(matrix).T, np.ones(d)
    exact = coordinates._disagreement(a, matrix, ones)
    monkeypatch.setattr(coordinates, "MOST_EXACT", 0)
    assert 0.999 * exact <= coordinates._disagreement(a, matrix, ones) < 1e-3


@pytest.mark.parametrize("seed", range(20))
def test_the_least_value_of_a_quadratic_is_within_its_error(seed: int) -> None:
    """From sums of rounded terms, the least value of the quadratic is right to the stated error."""
    rng = np.random.default_rng(seed)
    N = 30
    w, x = rng.random(N), rng.normal(size=N) * 10.0 ** rng.integers(-3, 4) + rng.choice([0.0, 1e4])
    low, high = np.sort(rng.normal(size=2) * 2 + x.mean())
    a, b, c = w.sum(), w @ x, 0.5 * (w @ x**2)
    value, size = least_quadratic(*(np.array([v]) for v in (a, b, c, low, high)))
    fw, fx = [Fraction(v) for v in w], [Fraction(v) for v in x]
    fa = sum(fw)
    fb = sum(p * q for p, q in zip(fw, fx, strict=True))
    fc = sum(p * q * q for p, q in zip(fw, fx, strict=True)) / 2
    at = min(max(fb / fa, Fraction(low)), Fraction(high))
    exact = fa * at * at / 2 - fb * at + fc
    assert abs(Fraction(value[0]) - exact) <= Fraction(gamma(N + 16) * size[0])


def test_a_sum_from_below_is_below() -> None:
    """The sum is not above the exact one and within two units of it."""
    values = np.array([1e16, 1.0, -1e16, 1e-3])
    found = total_below(values)
    assert Fraction(found) <= sum(Fraction(v) for v in values)
    assert found == pytest.approx(1.001, rel=1e-12)
