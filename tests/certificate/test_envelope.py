"""Bounds at known variances as the program puts them together, against every clustering of a few samples."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from certmix.certificate.envelope import Bounds
from certmix.problem import Problem
from certmix.problem.scale import sum_of_squares

SHAPES = [
    {},
    {"covariance": np.array([[2.0, 0.3], [0.3, 1.0]])},
    {"precision": np.stack([np.eye(2), 3 * np.eye(2)])},
]


def few(**shape: Any) -> Problem:
    return Problem(np.random.default_rng(2).normal(size=(6, 2)), 2, variance="unknown", **shape)


def optimum(problem: Problem) -> float:
    """The least objective of all clusterings into two clusters."""
    labels = (np.array(z) for z in itertools.product(range(2), repeat=problem.n_samples) if 0 < sum(z) < 6)
    return min(float(problem.objective.best(z).value) for z in labels)


@pytest.mark.parametrize("shape", SHAPES)
def test_exact_bounds_make_an_envelope_below_the_optimum(shape: dict[str, np.ndarray]) -> None:
    """Optima at some known variances, and the least sum of squares at another scale, bound the optimum over all."""
    problem = few(**shape)
    truth = optimum(problem)
    for scales in ((0.5, 1.0, 2.0, 4.0), (3.0,), (0.01, 300.0)):
        bounds = Bounds(problem)
        for scale in scales:
            bounds.points.update(bounds.point(scale, optimum(problem.at_scale(scale))))
        for scale in (0.2, 40.0):
            squares = sum_of_squares(problem).at_scale(scale)
            bounds.slope = max(bounds.slope, bounds.slope_from(squares, scale, optimum(squares)))
        assert bounds.slope > 0.0
        assert bounds.envelope().bound <= truth + 1e-9
    assert math.isfinite(bounds.envelope().bound)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_bound_that_is_needed_is_the_least_that_settles_both_sides(shape: dict[str, np.ndarray]) -> None:
    """With it both sides reach the target, with a little less they do not; None when nothing helps."""
    problem = few(**shape)
    squares = sum_of_squares(problem).at_scale(40.0)
    bounds = Bounds(problem)
    bounds.slope = bounds.slope_from(squares, 40.0, optimum(squares))
    most = optimum(problem.at_scale(1.0))
    target = bounds.envelope(bounds.point(1.0, most - 1.0)).bound
    needed = bounds.needed(1.0, most, target)
    assert needed is not None
    assert needed <= most - 1.0 + 1e-6
    assert bounds.envelope(bounds.point(1.0, needed)).bound >= target - 1e-9
    assert bounds.needed(1.0, most, target + 1e6) is None


@pytest.mark.parametrize("shape", SHAPES)
def test_at_the_end_of_the_range_no_less_is_needed(shape: dict[str, np.ndarray]) -> None:
    """There the scale is rounded to beyond the range: one side is left, and it has to reach the target."""
    problem = few(variance_range=(1.0, None), **shape)
    bounds = Bounds(problem)
    most = optimum(problem.at_scale(bounds.high))
    target = bounds.envelope(bounds.point(bounds.high, most - 1.0)).bound
    assert bounds.needed(bounds.high, most, target) == pytest.approx(most - 1.0, abs=1e-6)
