"""Problems at known variances: the statements of parts, and what bounds of them say."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest

from certmix.certificate.statement import state
from certmix.problem import DirichletPrior, GaussianPrior, MaximumSize, MinimumSize, Problem
from certmix.problem.scale import sum_of_squares
from certmix.verify.claims.chords import (
    at_scale,
    least_squares,
    least_weight_cost,
    lifted,
    most_weight_cost,
    scales,
    slack,
)
from certmix.verify.claims.chords import sum_of_squares as stated_squares
from certmix.verify.evidence import Rejected
from certmix.verify.statement import read


def test_the_range_of_scales_is_rounded_outwards() -> None:
    """Every variance of the range has its scale inside."""
    for low, high in [(0.1, 0.3), (1 / 3, 7.0), (0.0, math.inf)]:
        least_scale, most_scale = scales((low, high))
        assert math.isinf(high) or Fraction(least_scale) * Fraction(high) <= 1
        assert low == 0.0 or Fraction(most_scale) * Fraction(low) >= 1


@pytest.mark.parametrize("seed", range(30))
def test_the_slack_covers_the_rounding_of_a_scaled_shape(seed: int) -> None:
    """With so much more, the shape is at least the rounded matrix: smallest eigenvalues, with room for their error."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(3, 3)) * 10.0 ** rng.uniform(-3, 3, 3)
    shape = root @ root.T
    shape = 0.5 * (shape + shape.T)
    scale = float(10.0 ** rng.uniform(-6, 6))
    try:
        more = slack(shape[None])
    except Rejected:
        assert np.linalg.cond(shape) > 1e13
        return
    rounded = scale * shape
    off = [
        [Fraction(scale) * Fraction(x) - Fraction(y) for x, y in zip(*rows, strict=True)]
        for rows in zip(shape, rounded, strict=True)
    ]
    rest = np.array(
        [
            [float(x + Fraction(scale * more) * Fraction(y)) for x, y in zip(*rows, strict=True)]
            for rows in zip(off, shape, strict=True)
        ]
    )
    unit = np.sqrt(np.diag(rest))
    assert np.linalg.eigvalsh(rest / np.outer(unit, unit))[0] >= -1e-14


def stated(problem: Problem) -> dict:
    return dict(json.loads(json.dumps(state(problem))))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weights": "uniform"},
        {"weights": [0.2, 0.3, 0.5]},
        {"prior": DirichletPrior(3.0)},
        {"constraints": [MinimumSize(2), MaximumSize(4)]},
        {"allow_empty": True},
        {"precision": np.stack([np.eye(2), 2 * np.eye(2), 3 * np.eye(2)])},
    ],
)
def test_costs_of_weights_are_between_least_and_most(options: dict) -> None:
    """Every admissible choice of sizes costs as much; with uniform weights both bounds are exact."""
    data = np.random.default_rng(0).normal(size=(9, 2))
    problem = Problem(data, 3, variance="unknown", **options)
    bound, most = least_weight_cost(read(stated(problem))), most_weight_cost(read(stated(problem)))
    costs = []
    for sizes in itertools.product(range(10), repeat=3):
        sizes = np.array(sizes)
        if sizes.sum() == 9 and np.all((sizes >= problem.size_lower) & (sizes <= problem.size_upper)):
            weights = problem.objective.best_weights(sizes)
            costs.append(
                problem.objective.weight_cost(sizes, weights) + sizes @ problem.covariance.half_log_det
            )
    assert bound <= min(costs) + 1e-12
    assert bound >= min(costs) - 12.0
    assert max(costs) - 1e-12 <= most <= max(costs) + 12.0
    if options.get("weights") == "uniform":
        assert bound == pytest.approx(min(costs), abs=1e-9)
        assert most == pytest.approx(max(costs), abs=1e-9)


@pytest.mark.parametrize("options", [{"prior": GaussianPrior(0.0, 1.0)}, {"weight_bounds": (0.2, 1.0)}])
def test_what_depends_on_more_than_sizes_has_no_largest_cost(options: dict) -> None:
    """A prior on means costs what it likes, and tables of weights within bounds are lower bounds only."""
    problem = Problem(np.random.default_rng(0).normal(size=(9, 2)), 3, variance="unknown", **options)
    assert most_weight_cost(read(stated(problem))) == math.inf


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"covariance": np.array([[2.0, 0.3], [0.3, 1.0]])},
        {"precision": np.stack([np.eye(2), 2 * np.eye(2)])},
        {"estimators": ["weights"], "weight_bounds": (0.3, 0.7)},
        {"estimators": ["weights"], "weights": [0.5, 0.5], "constraints": [MinimumSize(2)]},
        {"prior": DirichletPrior(2.0), "mean_bounds": (-1.0, 1.0)},
    ],
)
def test_the_checker_makes_the_same_statements_as_the_program(options: dict) -> None:
    """At every scale, and of the sum of squares: the problems that are solved are those that are checked."""
    problem = Problem(np.random.default_rng(1).normal(size=(8, 2)), 2, variance="unknown", **options)
    whole = stated(problem)
    for scale in (0.37, 1.0, 12.3):
        assert at_scale(whole, read(whole), scale) == stated(problem.at_scale(scale))
        squares = at_scale(stated_squares(whole, read(whole)), read(whole), scale)
        assert squares == stated(sum_of_squares(problem).at_scale(scale))


def test_bounds_at_known_variances_are_translated() -> None:
    """Determinants that a known covariance leaves out, and constants of uniform weights, in numbers."""
    assert lifted(10.0, 5, np.zeros(2), np.array([0.3, 0.3])) == pytest.approx(11.5, rel=1e-14)
    assert lifted(10.0, 5, np.array([1.0, 2.0]), np.array([0.5, 0.5])) == pytest.approx(2.5, rel=1e-14)
    assert least_squares(20.0, 5, 2, np.zeros(2), 4.0) == pytest.approx(
        (20.0 - 5 * math.log(2)) / 4, rel=1e-14
    )
    assert least_squares(20.0, 5, 2, np.array([0.5, 1.0]), 4.0) < (15.0 - 5 * math.log(2)) / 4
    assert least_squares(1.0, 5, 2, np.zeros(2), 4.0) == 0.0
