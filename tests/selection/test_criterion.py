"""ICL as an interval that is rounded outwards."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from certmix.problem import Problem
from certmix.selection.criterion import Affine, icl, n_parameters, sum_of_squares, total_squares

DATA = np.arange(12.0).reshape(6, 2)


def test_parameters_are_counted() -> None:
    """Three means in two dimensions, and two free weights."""
    assert n_parameters(Problem(DATA, 3, variance=1.0)) == 8
    assert n_parameters(Problem(DATA, 3, variance=1.0, weights="uniform")) == 6


def test_a_value_by_hand() -> None:
    """With one component and variance 2: 2 F + n d log(2 pi 2) + d log n."""
    made = icl(Problem(DATA, 1, variance=2.0))
    value = 2 * 10.0 + 12 * math.log(4 * math.pi) + 2 * math.log(6)
    assert made.below(10.0) <= value <= made.above(10.0)
    assert made.above(10.0) - made.below(10.0) < 1e-11


def test_a_full_covariance_has_its_determinant() -> None:
    """Features of very different units: the interval is narrow, and holds n log det Sigma."""
    covariance = np.array([[1e12, 3e5], [3e5, 1.0]])
    made = icl(Problem(DATA, 1, covariance=covariance))
    exact = math.log(Fraction(1e12) - Fraction(3e5) ** 2)
    value = 12 * math.log(2 * math.pi) + 6 * exact + 2 * math.log(6)
    assert made.low <= value <= made.high
    assert made.high - made.low < 1e-9


def test_values_that_are_there_are_counted() -> None:
    """Missing ones have no density, weights multiply it: by hand, with a variance for every feature."""
    gaps, variance = DATA.copy(), np.array([2.0, 5.0])
    gaps[[0, 3, 4], [0, 0, 1]] = np.nan
    made = icl(Problem(gaps, 1, covariance=variance, missing="keep"))
    value = 9 * math.log(2 * math.pi) + 4 * math.log(2) + 5 * math.log(5) + 2 * math.log(6)
    assert made.low <= value <= made.high < made.low + 1e-11
    weight = np.array([0.5, 1.25, 3.0, 0.75, 1.0, 2.0])
    made = icl(Problem(DATA, 1, variance=2.0, weights="uniform", sample_weight=weight))
    value = 8.5 * 2 * math.log(4 * math.pi) + 2 * math.log(6)
    assert made.low <= value <= made.high < made.low + 1e-11
    squares = sum_of_squares(Problem(DATA, 2, variance=2.0, weights="uniform", sample_weight=weight))
    assert squares is not None
    assert squares.below(8.5 * math.log(2) + 1.0) <= 4.0 <= squares.above(8.5 * math.log(2) + 1.0)


def test_all_squares_around_one_mean() -> None:
    """The sum of squares of one component, whatever is missing and however samples count."""
    gaps = DATA.copy()
    gaps[[0, 3, 4], [0, 0, 1]] = np.nan
    for given in ({"missing": "keep"}, {"missing": "keep", "sample_weight": [0.5, 1, 2, 1.5, 1, 3]}):
        problem = Problem(gaps, 1, variance=3.0, weights="uniform", **given)
        assert total_squares(problem) == pytest.approx(
            6.0 * problem.objective.best(np.zeros(6, dtype=int)).value
        )


@pytest.mark.parametrize("seed", range(50))
def test_rounding_is_outwards_and_targets_are_just_beyond(seed: int) -> None:
    """In exact arithmetic; what reaches a value is above it, and hardly more."""
    rng = np.random.default_rng(seed)
    constant, objective = (float(x) for x in rng.normal(scale=10.0 ** rng.integers(-3, 9), size=2))
    made = Affine(2.0, constant, constant)
    exact = 2 * Fraction(objective) + Fraction(constant)
    assert Fraction(made.below(objective)) <= exact <= Fraction(made.above(objective))
    value = float(rng.normal(scale=1e6))
    reached = made.reaching(value)
    assert made.below(reached) > value
    assert reached <= (value - constant) / 2 + 1e-12 * max(abs(value), abs(constant), 1.0)
    assert made.below(math.inf) == math.inf
    assert made.reaching(math.inf) == math.inf


def test_sums_of_squares_are_in_the_units_of_the_data() -> None:
    """With uniform weights F = SSE / (2 variance) + n log K; with a prior it is not."""
    made = sum_of_squares(Problem(DATA, 2, variance=3.0, weights="uniform"))
    assert made is not None
    assert made.below(7.0 + 6 * math.log(2)) <= 42.0 <= made.above(7.0 + 6 * math.log(2))
    assert sum_of_squares(Problem(DATA, 2, variance=3.0)) is None
    assert sum_of_squares(Problem(DATA, 2, variance=3.0, weights="uniform", prior="jeffreys")) is None
