"""EM: published values, a value that never rises, and where it ends."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from certmix.datasets import load
from certmix.local.em import em
from certmix.local.solution import LocalSolution
from certmix.paper.local.variational import variational_em
from certmix.problem import (
    CannotLink,
    DirichletPrior,
    GaussianPrior,
    Label,
    MinimumSize,
    MustLink,
    Problem,
)
from certmix.problem.features import EVERY_FEATURE, Feature
from random_instances import random_problem
from two_groups import TWO_GROUPS


@pytest.mark.parametrize(("name", "value"), [("wine", 1367.0033), ("brca", 1566.4923), ("iris1d", 280.607)])
def test_em_reproduces_the_papers_column(name: str, value: float) -> None:
    """Soft EM from a k-means start, scored at its own parameters with argmax labels."""
    found = em(load(name).problem())
    assert found.converged
    assert found.value == pytest.approx(value, abs=1.1e-4 if name != "iris1d" else 1.1e-3)
    assert found.rescored <= found.value


def test_em_never_rises() -> None:
    """Without estimator constraints the value that EM minimises never rises, under priors and boxes."""
    for seed in range(40):
        features = EVERY_FEATURE - {Feature.ESTIMATORS}
        history = em(random_problem(np.random.default_rng([4, seed]), features=features)).history
        assert all(b <= a + 1e-9 * max(1.0, abs(a)) for a, b in pairwise(history)), seed


def test_em_ends_at_a_stationary_point() -> None:
    """With priors on means and weights the gradient of the marginal posterior vanishes where EM stops."""
    prior = [GaussianPrior([0.5, 0.0], [[2.0, 0.3], [0.3, 1.0]]), DirichletPrior(2.0)]
    problem = Problem(TWO_GROUPS, 2, covariance=[[1.5, 0.4], [0.4, 1.0]], prior=prior)
    found = em(problem, tolerance=0.0, max_iterations=3000)

    def marginal(v: np.ndarray) -> float:
        means, weights = v[:4].reshape(2, 2), np.array([v[4], 1 - v[4]])
        costs = problem.objective.component_costs(means, weights)
        evidence = -np.log(np.exp(-costs).sum(axis=1)).sum() - np.log(weights).sum()
        return float(evidence + problem.objective.mean_prior_cost(means))

    at = np.append(found.means.ravel(), found.weights[0])
    assert marginal(at) == pytest.approx(found.history[-1], rel=1e-12)
    assert approx_fprime(at, marginal, 1e-6) == pytest.approx(np.zeros(5), abs=1e-3)


@pytest.mark.parametrize("method", [em, variational_em])
def test_labels_and_must_links_hold_in_the_responsibilities(method: Callable[..., LocalSolution]) -> None:
    """A labelled sample belongs wholly to its component; must-linked samples share their responsibilities."""
    constraints = [Label(0, 1), MustLink(3, 12, 15), CannotLink(5, 6), MinimumSize(8)]
    found = method(Problem(TWO_GROUPS, 2, variance=1.0, constraints=constraints))
    assert found.responsibilities.sum(axis=1) == pytest.approx(np.ones(20))
    assert found.responsibilities[0].tolist() == [0.0, 1.0]
    assert np.array_equal(found.responsibilities[3], found.responsibilities[12])
    assert np.array_equal(found.responsibilities[3], found.responsibilities[15])
    early, late = found.notes
    assert "must-link" in early
    assert "known labels" in early
    assert "cannot-link" in late
    assert "size limits" in late
