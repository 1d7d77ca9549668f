"""K-means as a problem: the objective is the sum of squares but for a power of two, whatever the units are."""

from __future__ import annotations

import numpy as np
import pytest

from certmix import InputError, Problem, solve
from certmix.options import Options
from certmix.problem.quantity import NATS, TOTAL
from certmix.problem.restriction import Restriction

DATA = np.random.default_rng(0).normal(size=(9, 2))


def squares(data: np.ndarray, labels: np.ndarray) -> float:
    """The sum of squares around the means of the clusters."""
    return sum(((data[labels == k] - data[labels == k].mean(axis=0)) ** 2).sum() for k in np.unique(labels))


@pytest.mark.parametrize("factor", [1e-30, 1e-6, 1.0, 3.0, 1e20])
@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_the_objective_is_the_sum_of_squares(factor: float, offset: float) -> None:
    """Times a power of two; with the same number of nats in any units."""
    data = factor * (DATA + offset)
    labels = np.arange(9) % 3
    problem = Problem(data, 3, weights="none")
    value = problem.objective.best(labels).value
    assert problem.quantity.shown(value) == pytest.approx(squares(data, labels), rel=1e-9)
    assert np.frexp(problem.quantity.factor)[0] == 0.5
    assert problem.quantity.objective(problem.quantity.shown(value)) == value
    one = Problem(data, 1, weights="none").objective.best(np.zeros(9, dtype=int)).value
    assert TOTAL * (1 - 1e-9) <= one <= 4 * TOTAL * (1 + 1e-9)


def test_samples_that_are_all_alike_cost_nothing() -> None:
    """There is no total to choose units by."""
    result = solve(Problem(np.ones((4, 2)), 2, weights="none"))
    assert result.sse == result.sse_lower_bound == 0.0
    assert (result.status, result.certificate_level) == ("optimal", "verified")


def test_as_many_clusters_as_different_samples() -> None:
    """The least sum of squares is zero, which is proved although the evaluator rounds."""
    rng = np.random.default_rng(1)
    data = (rng.normal(size=(4, 3)) + 7.1)[rng.integers(0, 4, 40)]
    result = solve(Problem(data, 4, weights="none"), "dual")
    assert (result.status, result.certificate_level) == ("optimal", "verified")
    assert result.sse is not None
    assert 0.0 == result.sse_lower_bound <= result.sse < 1e-20


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"variance": 1.0}, "variance"),
        ({"covariance": np.eye(2)}, "covariance"),
        ({"precision": np.eye(2)}, "precision"),
        ({"prior": "jeffreys"}, "prior"),
        ({"weight_bounds": (0.1, 0.9)}, "weight_bounds"),
        ({"estimators": ["weights"]}, "estimators"),
    ],
)
def test_what_has_no_place_is_refused(given: dict, named: str) -> None:
    """A mixture's options beside k-means are an error that names them."""
    with pytest.raises(InputError, match=f"k-means.*{named}"):
        Problem(DATA, 2, weights="none", **given)


def test_a_mixture_becomes_k_means_and_the_other_way_round() -> None:
    """``replace`` chooses the variance of k-means by its data, and forgets it with the weights."""
    mixture = Problem(DATA, 2, variance=0.3)
    kmeans = mixture.replace(weights="none")
    assert kmeans.quantity == Problem(DATA, 2, weights="none").quantity != NATS
    assert kmeans.replace(data=8 * DATA).quantity.factor == 64 * kmeans.quantity.factor
    again = kmeans.replace(weights="free", variance=0.3)
    assert again.quantity == NATS
    labels = np.arange(9) % 2
    assert again.objective.best(labels).value == mixture.objective.best(labels).value


def test_an_absolute_gap_is_one_of_sums_of_squares() -> None:
    """What is given as seen is compared as it is counted."""
    problem = Problem(1e3 * DATA, 3, weights="none")
    found = Options(gap=0.0, absolute_gap=2.0, target=5.0).tolerances_of(problem.quantity)
    assert problem.quantity.shown(found.absolute) == 2.0
    assert problem.quantity.shown(found.target) == 5.0
    result = solve(problem, "dual", gap=0.0, absolute_gap=1e5)
    assert result.sse is not None
    assert result.sse_lower_bound is not None
    assert result.status == "optimal"
    assert 0.0 < result.sse - result.sse_lower_bound <= 1e5


@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e5])
def test_probabilities_are_those_of_the_variance_that_fits(factor: float) -> None:
    """Equal weights and the variance SSE / (n d), so that units do not matter."""
    data = factor * DATA
    result = solve(Problem(data, 2, weights="none"))
    assert result.means is not None
    away = ((data[:, None] - result.means) ** 2).sum(axis=2) / (2 * squares(data, result.labels) / data.size)
    odds = np.exp(-away)
    np.testing.assert_allclose(result.posterior, (odds / odds.sum(axis=1, keepdims=True)).max(axis=1))
    np.testing.assert_allclose(result.predict_proba(data).max(axis=1), result.posterior)


def test_parts_count_as_the_whole_does() -> None:
    """The bounds of parts are added up, so a part has the units of the whole, whatever its samples are."""
    problem = Problem(DATA, 3, weights="none")
    part = Restriction(problem).part(np.array([2, 3]))
    assert part.quantity == problem.quantity != Problem(DATA[2:4], 2, weights="none").quantity
    labels = np.array([0, 0])
    assert part.quantity.shown(part.objective.best(labels).value) == pytest.approx(squares(DATA[2:4], labels))
