"""Bounds at some scales and what follows for all: never above the truth, and as good as it can be."""

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
    Envelope,
    at_scale,
    least_squares,
    least_weight_cost,
    lifted,
    most_weight_cost,
    rise,
    scales,
    slack,
)
from certmix.verify.claims.chords import sum_of_squares as stated_squares
from certmix.verify.evidence import Rejected
from certmix.verify.statement import read

HALF = 40.0


def lines(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Half sums of squares and rests of some clusterings; their least is g."""
    m = int(rng.integers(1, 8))
    return 10.0 ** rng.uniform(-2, 2, m), rng.uniform(-50, 200, m)


def g(found: tuple[np.ndarray, np.ndarray], t: float) -> float:
    q, e = found
    return float((t * q + e).min())


def least(found: tuple[np.ndarray, np.ndarray], low: float, high: float) -> float:
    """The least of g - N log t over a range: every line has its own minimum in closed form."""
    values = []
    for q, e in zip(*found, strict=True):
        t = min(max(HALF / q, low), high)
        values.append(t * q + e - HALF * math.log(t))
    return min(values)


@pytest.mark.parametrize("seed", range(200))
def test_an_envelope_is_never_above(seed: int) -> None:
    """Exact points, in any places, with and without ranges: the bound is not above the least value."""
    rng = np.random.default_rng(seed)
    found = lines(rng)
    at = np.sort(10.0 ** rng.uniform(-3, 4, int(rng.integers(1, 6))))
    points = [(0.0, float(found[1].min())), *((float(t), g(found, t)) for t in at)]
    low, high = 0.0, math.inf
    if rng.random() < 0.5:
        low, high = np.sort(10.0 ** rng.uniform(-3, 4, 2))
    envelope = Envelope(points, float(found[0].min()), HALF, low, high)
    true = least(found, max(low, 1e-300), high)
    assert envelope.bound <= true + 1e-12 * abs(true)
    for t in np.geomspace(max(low, 1e-4), min(high, 1e5), 50):
        assert envelope.under(t) <= g(found, t)
        piece = next(p for p in envelope.pieces() if p.left <= t <= p.right)
        assert piece.bound <= g(found, t) - HALF * math.log(t) + 1e-11 * abs(g(found, t))


def test_an_envelope_is_exact_where_points_are_dense() -> None:
    """With points on both sides of the minimum on one line, nothing is lost but rounding."""
    found = np.array([2.0]), np.array([5.0])
    best = HALF / 2.0
    points = [(0.0, 5.0), (0.5 * best, g(found, 0.5 * best)), (2.0 * best, g(found, 2.0 * best))]
    envelope = Envelope(points, 2.0, HALF)
    assert envelope.bound == pytest.approx(least(found, 0.0, math.inf), rel=1e-13)
    assert min(envelope.pieces()).at == pytest.approx(best, rel=1e-12)


def test_without_a_slope_an_open_range_has_no_bound() -> None:
    """Nothing is known to the right of the last point: a variance could be as small as one likes."""
    points = [(0.0, 5.0), (30.0, 80.0)]
    assert Envelope(points, 0.0, HALF).bound == -math.inf
    assert math.isfinite(Envelope(points, 0.0, HALF, high=30.0).bound)
    assert math.isfinite(Envelope(points, 0.1, HALF).bound)


@pytest.mark.parametrize("seed", range(40))
def test_a_line_is_rounded_downwards(seed: int) -> None:
    """Against exact numbers, the logarithm to two units of the last place."""
    rng = np.random.default_rng(seed)
    t, bound, s = (
        float(10.0 ** rng.uniform(-8, 8)),
        float(rng.normal() * 1e6),
        float(10.0 ** rng.uniform(-8, 8)),
    )
    half = float(rng.integers(1, 10**6)) / 2
    log = Fraction(math.log(s)) * (1 + Fraction(2, 2**53) * (1 if math.log(s) > 0 else -1))
    exact = Fraction(bound) - Fraction(half) * (log + Fraction(t) / Fraction(s) - 1)
    assert Fraction(Envelope([(0.0, 0.0)], 0.0, half)._line(t, bound, s)) <= exact


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


@pytest.mark.parametrize("seed", range(100))
def test_points_say_how_fast_g_rises_at_least(seed: int) -> None:
    """Never faster than the least half sum of squares; nearly as fast where that outweighs the rest."""
    rng = np.random.default_rng(seed)
    found = lines(rng)
    at = 10.0 ** rng.uniform(-3, 4, int(rng.integers(1, 6)))
    points = {0.0: float(found[1].min()), **{float(t): g(found, t) for t in at}}
    least_slope = float(found[0].min())
    assert 0.0 <= rise(points, float(found[1].max())) <= least_slope
    points[1e9] = g(found, 1e9)
    assert rise(points, float(found[1].max())) == pytest.approx(least_slope, rel=1e-4)
    assert rise(points, math.inf) == 0.0


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
