"""The soft local methods: published values, what they honour, and that they never claim too much."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from certmix import solve
from certmix.datasets import load
from certmix.errors import UnsupportedError
from certmix.exact.enumeration import Enumeration
from certmix.ledger import Ledger
from certmix.local.em import em
from certmix.local.kmeans import kmeans
from certmix.local.parameters import best_parameters, one_hot
from certmix.local.solution import LocalSolution
from certmix.options import Options
from certmix.paper.local.annealing import annealing
from certmix.paper.local.slsqp import MOST_VARIABLES, _Relaxed, _start, slsqp
from certmix.paper.local.variational import variational_em
from certmix.presolve.instance import reduce
from certmix.problem import (
    CannotLink,
    Covering,
    DirichletPrior,
    GaussianPrior,
    Label,
    MaximumSize,
    MinimumSize,
    MustLink,
    Problem,
    is_feasible,
)
from certmix.problem.features import EVERY_FEATURE, Feature
from certmix.status import Status, Termination
from random_instances import random_problem

METHODS: dict[str, Callable[..., LocalSolution]] = {
    "kmeans": kmeans,
    "em": em,
    "variational": variational_em,
    "slsqp": slsqp,
    "annealing": lambda problem, **options: annealing(problem, **{"hops": 15, **options}),
}
every_method = pytest.mark.parametrize("name", METHODS)


@pytest.fixture
def two_groups() -> np.ndarray:
    """Twenty samples in two overlapping groups."""
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(-1.5, 1.0, (10, 2)), rng.normal(1.5, 1.0, (10, 2))])


# -- values --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "value"), [("wine", 1367.0033), ("brca", 1566.4923), ("iris1d", 280.607)])
def test_em_reproduces_the_papers_column(name: str, value: float) -> None:
    """Soft EM from a k-means start, scored at its own parameters with argmax labels."""
    found = em(load(name).problem())
    assert found.converged
    assert found.value == pytest.approx(value, abs=1.1e-4 if name != "iris1d" else 1.1e-3)
    assert found.rescored <= found.value


@every_method
def test_never_beats_and_usually_meets_enumeration(name: str) -> None:
    """On random problems: feasible labels, never below the optimum, and at it more often than not."""
    solved = met = 0
    for seed in range(30):
        problem = random_problem(np.random.default_rng([3, seed]))
        ledger = Ledger(problem, Options().tolerances)
        if Enumeration().run(problem, ledger, Options()).infeasible:
            continue
        found = METHODS[name](problem)
        assert found.value == pytest.approx(
            problem.objective.value(found.own_labels, found.means, found.weights), nan_ok=True
        )
        if not found.feasible:
            continue  # a tied mean outside its box: labels alone cannot tell
        solved += 1
        assert is_feasible(problem, found.labels)
        assert found.rescored == pytest.approx(problem.objective.best(found.labels).value)
        assert found.rescored >= ledger.bound
        met += found.rescored <= ledger.upper + 1e-9 * max(1.0, abs(ledger.upper))
    assert solved >= 20
    assert met >= 0.5 * solved


def test_annealing_leaves_the_basin_that_em_stays_in() -> None:
    """On iris1d EM stops above the optimum; basin hopping reaches it, and the seed repeats the run."""
    problem = load("iris1d").problem()
    found = annealing(problem, hops=20)
    assert em(problem).rescored > 280.4
    assert found.rescored == pytest.approx(280.0197, abs=5e-5)
    assert found.history == annealing(problem, hops=20).history
    assert list(found.history) == sorted(found.history, reverse=True)


# -- EM and variational EM -----------------------------------------------------------------------------------
def test_em_never_rises() -> None:
    """Without estimator constraints the value that EM minimises never rises, under priors and boxes."""
    for seed in range(40):
        features = EVERY_FEATURE - {Feature.ESTIMATORS}
        history = em(random_problem(np.random.default_rng([4, seed]), features=features)).history
        assert all(b <= a + 1e-9 * max(1.0, abs(a)) for a, b in pairwise(history)), seed


def test_em_ends_at_a_stationary_point(two_groups: np.ndarray) -> None:
    """With priors on means and weights the gradient of the marginal posterior vanishes where EM stops."""
    prior = [GaussianPrior([0.5, 0.0], [[2.0, 0.3], [0.3, 1.0]]), DirichletPrior(2.0)]
    problem = Problem(two_groups, 2, covariance=[[1.5, 0.4], [0.4, 1.0]], prior=prior)
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
def test_labels_and_must_links_hold_in_the_responsibilities(
    method: Callable[..., LocalSolution], two_groups: np.ndarray
) -> None:
    """A labelled sample belongs wholly to its component; must-linked samples share their responsibilities."""
    constraints = [Label(0, 1), MustLink(3, 12, 15), CannotLink(5, 6), MinimumSize(8)]
    found = method(Problem(two_groups, 2, constraints=constraints))
    assert found.responsibilities.sum(axis=1) == pytest.approx(np.ones(20))
    assert found.responsibilities[0].tolist() == [0.0, 1.0]
    assert np.array_equal(found.responsibilities[3], found.responsibilities[12])
    assert np.array_equal(found.responsibilities[3], found.responsibilities[15])
    early, late = found.notes
    assert "must-link" in early
    assert "known labels" in early
    assert "cannot-link" in late
    assert "size limits" in late


def test_m_step_is_the_evaluators_for_whole_samples() -> None:
    """For shares that are labels the parameters are those of the evaluator, under every prior and box."""
    for seed in range(80):
        features = EVERY_FEATURE - {Feature.ESTIMATORS, Feature.ALLOW_EMPTY}
        problem = random_problem(np.random.default_rng([5, seed]), features=features)
        labels = np.arange(problem.n_samples) % problem.n_components
        point = problem.objective.best(labels)
        means, weights = best_parameters(problem, one_hot(labels, problem.n_components))
        assert means == pytest.approx(point.means, rel=1e-9, abs=1e-9)
        assert weights == pytest.approx(point.weights, rel=1e-6, abs=1e-9)


def test_variational_bound_improves_and_posterior_is_conjugate(two_groups: np.ndarray) -> None:
    """The negative evidence bound falls; the weights are (alpha + N) / (sum alpha + n) at the end."""
    problem = Problem(two_groups, 2, prior=[DirichletPrior([3.0, 1.5]), GaussianPrior(0.0, 4.0)])
    found = variational_em(problem)
    assert all(b <= a + 1e-9 for a, b in pairwise(found.history))
    sizes = found.responsibilities.sum(axis=0)
    assert found.weights == pytest.approx((sizes + np.array([3.0, 1.5])) / 24.5, abs=1e-5)
    average = found.responsibilities.T @ two_groups / sizes[:, None]
    assert found.means == pytest.approx(average * (sizes / (sizes + 0.25))[:, None], abs=1e-5)


# -- k-means -------------------------------------------------------------------------------------------------
def test_kmeans_gives_clusters_to_the_components_that_suit_them() -> None:
    """Priors on the means, and known labels, decide which cluster is which component."""
    y = np.array([0.0, 0.2, 0.4, 10.0, 10.2, 20.0, 20.1])
    prior = GaussianPrior(np.array([[20.0], [0.0], [10.0]]), 1.0)
    assert kmeans(Problem(y, 3, prior=prior)).labels.tolist() == [1, 1, 1, 2, 2, 0, 0]
    labelled = Problem(y, 3, constraints=[Label(0, 2), Label(6, 1)])
    assert kmeans(labelled).labels.tolist() == [2, 2, 2, 0, 0, 1, 1]


def test_kmeans_agrees_with_uniform_weights() -> None:
    """With equal weights and identity precision k-means minimises the objective: SSE/2 + n log K on iris."""
    problem = load("iris").problem(precision=np.eye(4), weights="uniform")
    assert kmeans(problem).value == pytest.approx(78.8514414261460 / 2 + 150 * math.log(3), abs=2e-3)


def test_kmeans_says_that_it_averages_the_precisions(two_groups: np.ndarray) -> None:
    """One covariance per component is more than k-means can use, and it says so."""
    found = kmeans(Problem(two_groups, 2, variance=[1.0, 2.0]))
    assert "mean precision" in found.notes[-1]


# -- SLSQP ---------------------------------------------------------------------------------------------------
def test_slsqp_gradient_is_right() -> None:
    """The gradient of the relaxed objective agrees with differences, on random problems at random points."""
    rng = np.random.default_rng(6)
    for seed in range(25):
        problem = random_problem(np.random.default_rng([6, seed]), max_samples=6)
        instance = reduce(problem)
        relaxed = _Relaxed(instance)
        labels = instance.expand(rng.integers(0, problem.n_components, instance.n_groups))
        v = relaxed.pack(*_start(instance, labels))
        v = v + rng.uniform(0.05, 0.1, len(v))
        numeric = approx_fprime(v, lambda u, r=relaxed: r.value(u)[0], 1e-7)
        scale = 1.0 + np.abs(numeric).max() + abs(relaxed.value(v)[0])
        assert relaxed.value(v)[1] / scale == pytest.approx(numeric / scale, abs=1e-5)


def test_slsqp_keeps_linear_constraints(two_groups: np.ndarray) -> None:
    """Shares lie in [0, 1] and add up to one, and sizes, conflicts, labels and counts hold for them."""
    constraints = [
        MaximumSize(8, 0),
        CannotLink(0, 1),
        Label(2, 1),
        MustLink(3, 4),
        Covering([15, 16, 17], 0, 2),
    ]
    found = slsqp(Problem(two_groups, 2, constraints=constraints))
    shares = found.responsibilities
    assert found.converged
    assert shares.sum(axis=1) == pytest.approx(np.ones(20), abs=1e-6)
    assert shares[:, 0].sum() <= 8 + 1e-6
    assert np.all(shares[0] + shares[1] <= 1 + 1e-6)
    assert shares[2] == pytest.approx([0.0, 1.0], abs=1e-6)
    assert np.array_equal(shares[3], shares[4])
    assert shares[15:18, 0].sum() >= 2 - 1e-6
    assert len(found.notes) == 1
    assert "while iterating" in found.notes[0]


def test_slsqp_refuses_what_is_too_large() -> None:
    """Above the documented number of variables it declines, as a method and as an engine."""
    problem = Problem(np.arange(float(MOST_VARIABLES)), 3)
    with pytest.raises(UnsupportedError, match="variables"):
        slsqp(problem)
    with pytest.raises(UnsupportedError, match="'slsqp' cannot solve this problem: it takes up to"):
        solve(problem, "slsqp")


# -- common promises -----------------------------------------------------------------------------------------
@every_method
def test_hard_constraints_hold_after_rounding(name: str, two_groups: np.ndarray) -> None:
    """Constraints that go against the data hold in the labels, and the labels given as start are used."""
    constraints = [CannotLink(0, 1, 2), MaximumSize(6, 0), MaximumSize(7, 1), Covering([10, 11, 12], 0, 2)]
    problem = Problem(two_groups, 3, constraints=constraints)
    found = METHODS[name](problem)
    assert is_feasible(problem, found.labels)
    started = METHODS[name](problem, start=found.labels)
    assert is_feasible(problem, started.labels)
    assert math.isfinite(started.rescored)


@every_method
@pytest.mark.parametrize("K", [1, 4])
def test_extreme_shapes(name: str, K: int) -> None:
    """One component, and as many components as samples, are no special cases."""
    problem = Problem(np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 2.0], [7.0, 0.0]]), K)
    found = METHODS[name](problem)
    assert sorted(np.bincount(found.labels)) == ([4] if K == 1 else [1, 1, 1, 1])


@every_method
def test_results_cannot_be_changed(name: str, two_groups: np.ndarray) -> None:
    """A solution is immutable."""
    found = METHODS[name](Problem(two_groups, 2))
    with pytest.raises(ValueError, match="read-only"):
        found.labels[0] = 1


@pytest.mark.parametrize("name", ["kmeans", "em", "variational", "slsqp", "annealing", "hard-em"])
def test_engines_find_and_prove_nothing(name: str, two_groups: np.ndarray) -> None:
    """A local engine ends with a feasible clustering, no bound and no certificate."""
    problem = Problem(two_groups, 2, constraints=[MinimumSize(5), CannotLink(0, 1)])
    result = solve(problem, name, restarts=2)
    assert result.status is Status.FEASIBLE
    assert result.termination is Termination.CONVERGED
    assert result.certificate_level == "none"
    assert result.lower_bound == -math.inf
    assert is_feasible(problem, np.array(result.labels))


@pytest.mark.parametrize("name", ["em", "variational", "slsqp", "annealing"])
def test_a_time_limit_ends_the_run_with_what_it_had(name: str) -> None:
    """Without time a method still rounds its first iterate, and says that time ended it."""
    result = solve(load("iris1d").problem(), name, time_limit=0)
    assert result.termination is Termination.TIME
    assert result.labels is not None
