"""The best variance of a clustering, and for which variances it is optimal."""

from __future__ import annotations

import math

import numpy as np
import pytest

from certmix.problem import GaussianPrior, Problem
from certmix.problem.envelope import Envelope
from certmix.problem.scale import optimal_variances
from unknown_variance import best_value

DATA = np.array([[0.0, 0.0], [2.0, 0.0], [9.0, 9.0], [9.0, 11.0]])
LABELS = np.array([0, 0, 1, 1])


def test_the_best_variance_is_the_mean_square() -> None:
    """W / (n d): two clusters with a sum of squares of 2 each, four samples, two features."""
    point = Problem(DATA, 2, variance="unknown").objective.best(LABELS)
    assert point.variance == pytest.approx(0.5)
    assert point.value == pytest.approx(4.0 + 4.0 * math.log(0.5) + 4.0 * math.log(2.0))


@pytest.mark.parametrize(("limits", "variance"), [((1.0, None), 1.0), ((None, 0.1), 0.1), ((0.2, 3.0), 0.5)])
def test_it_stays_in_its_range(limits: tuple[float | None, float | None], variance: float) -> None:
    """Outside of the range the nearer end is the best."""
    problem = Problem(DATA, 2, variance="unknown", variance_range=limits)
    point = problem.objective.best(LABELS)
    assert point.variance == pytest.approx(variance)
    assert point.value == pytest.approx(2.0 / variance + 4.0 * math.log(variance) + 4.0 * math.log(2.0))


@pytest.mark.parametrize("strength", [0.01, 0.3, 3.0, 100.0])
@pytest.mark.parametrize("limits", [None, (0.6, 2.0), (5.0, 9.0)])
def test_a_prior_on_the_means_is_minimised_jointly(
    strength: float, limits: tuple[float, float] | None
) -> None:
    """Means and variance together, against a fine grid of variances."""
    prior = GaussianPrior(mean=5.0, covariance=strength)
    problem = Problem(DATA, 2, variance="unknown", variance_range=limits, prior=prior)
    assert problem.objective.best(LABELS).value == pytest.approx(best_value(problem, LABELS), abs=1e-8)


def test_an_unknown_variance_is_kept_by_replace() -> None:
    """With the rest of the problem changed, the shape and the range stay."""
    problem = Problem(DATA, 2, variance="unknown", covariance=[4.0, 1.0], variance_range=(0.1, 7.0))
    other = problem.replace(weights="uniform")
    assert other.covariance.variances == (0.1, 7.0)
    assert np.allclose(other.covariance.half_log_det, math.log(2.0))
    assert not problem.at_scale(2.0).covariance.unknown
    assert np.allclose(problem.at_scale(2.0).covariance.precision.entries, [[0.5, 2.0]])


def test_the_interval_of_variances_ends_where_the_envelope_is_too_low() -> None:
    """A clustering of cost t + 1 under an envelope that is exact at t = 1 and 2, and lower by 1 at t = 3."""
    envelope = Envelope([(0.0, 0.0), (1.0, 2.0), (2.0, 3.0), (3.0, 3.0)], 0.0, 10.0)
    found = optimal_variances(envelope, (1.0, 1.0), 1.5, 0.5)
    assert found is not None
    assert found[0] == pytest.approx(1 / 2.5)
    assert found[1] == pytest.approx(1 / 0.5)
    assert optimal_variances(envelope, (1.0, 3.0), 1.5, 0.5) is None
