"""Values that do not count once: some are missing, samples have any positive weight."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from certmix import solve
from certmix.engines import engine, why_not
from certmix.errors import InfeasibleError, InputError, UnsupportedError
from certmix.presolve.instance import reduce
from certmix.problem import (
    DirichletPrior,
    GaussianPrior,
    MaximumSize,
    MinimumSize,
    MustLink,
    Problem,
    is_feasible,
)
from certmix.problem.features import MASSES
from certmix.problem.masses import Masses, RealWeights
from certmix.problem.restriction import Restriction
from certmix.search.bounds.leaves import rounding
from certmix.status import Status
from claims import find_truth
from masses import with_masses
from random_instances import random_problem

NAN = math.nan
DATA = np.array([[0.0, 0.1], [0.2, NAN], [NAN, 0.3], [5.0, 5.1], [5.2, NAN], [NAN, 4.9]])
LABELS = np.array([0, 0, 0, 1, 1, 1])
WEIGHT = np.array([0.5, 2.0, 1.5, 1.0, 3.25, 0.75])


def by_hand(problem: Problem, z: np.ndarray, weight: np.ndarray) -> float:
    """The objective, feature by feature, without a prior on the means."""
    total = 0.0
    K = problem.n_components
    real = not np.array_equal(weight, np.ones(len(weight)))
    sizes = np.bincount(z, minlength=K)
    pi = problem.fixed_weights if problem.fixed_weights is not None else sizes / sizes.sum()
    variance = 1.0 / np.broadcast_to(problem.covariance.precision.entries, (K, problem.n_features))
    for k in range(K):
        for j in range(problem.n_features):
            there = (z == k) & ~np.isnan(problem.data[:, j])
            y, w = problem.data[there, j], weight[there]
            if not len(y):
                continue
            mean = (w @ y) / w.sum()
            total += 0.5 * w @ (y - mean) ** 2 / variance[k, j]
            if problem.covariance.constants_count:
                total += 0.5 * w.sum() * math.log(variance[k, j])
        if sizes[k]:
            total -= (weight[z == k].sum() if real else sizes[k]) * math.log(pi[k])
    return float(total)


@pytest.mark.parametrize(
    "given",
    [
        {"variance": 1.0},
        {"covariance": np.array([0.5, 2.0])},
        {"variance": [0.5, 2.0]},
        {"variance": 1.0, "weights": [0.3, 0.7]},
        {"covariance": np.array([np.diag([0.5, 2.0]), np.diag([2.0, 0.5])]), "weights": "uniform"},
    ],
    ids=["shared", "diagonal", "per component", "fixed weights", "determinants of one"],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_objective_is_over_what_is_there(given: dict[str, Any], weighted: bool) -> None:
    """Squares, means and normalising constants, feature by feature; weights count in all of them."""
    if weighted and "weights" not in given:
        given = given | {"weights": "uniform"}
    problem = Problem(DATA, 2, missing="keep", sample_weight=WEIGHT if weighted else None, **given)
    weight = WEIGHT if weighted else np.ones(6)
    for z in itertools.product(range(2), repeat=6):
        labels = np.array(z)
        if 0 < labels.sum() < 6:
            found = problem.objective.best(labels)
            assert found.value == pytest.approx(by_hand(problem, labels, weight), rel=1e-12, abs=1e-12)
            costs = problem.objective.component_costs(found.means, found.weights)
            assert costs[np.arange(6), labels].sum() == pytest.approx(found.value, rel=1e-12)


@pytest.mark.parametrize(
    "given",
    [{"variance": [0.5]}, {"covariance": np.array([np.diag([2.0, 0.5])])}],
    ids=["a variance", "a determinant of one"],
)
def test_one_component_with_a_variance_of_its_own_has_constants_of_what_is_there(
    given: dict[str, Any],
) -> None:
    """As K components with a variance each have: the objective has the normalising constants, and so has its proof."""
    problem = Problem(DATA, 1, missing="keep", **given)
    assert problem.covariance.constants_count
    labels = np.zeros(6, dtype=int)
    value = by_hand(problem, labels, np.ones(6))
    assert problem.objective.best(labels).value == pytest.approx(value, rel=1e-12)
    result = solve(problem, "enumerate", certificate=True)
    assert result.certificate_level == "verified"
    assert result.lower_bound == pytest.approx(value, rel=1e-6)


def test_a_mean_of_nothing_is_that_of_all_samples() -> None:
    """It costs nothing, so it may be anything: a number that fits, within the bounds and near the prior."""
    data = np.array([[1.0, NAN], [2.0, NAN], [8.0, 4.0], [9.0, 6.0]])
    labels = np.array([0, 0, 1, 1])
    means = Problem(data, 2, variance=1.0, missing="keep").objective.best(labels).means
    np.testing.assert_allclose(means, [[1.5, 5.0], [8.5, 5.0]])
    boxed = Problem(data, 2, variance=1.0, missing="keep", mean_bounds=(None, 4.5))
    np.testing.assert_allclose(boxed.objective.best(labels).means[:, 1], 4.5)
    prior = GaussianPrior([0.0, -3.0], 10.0)
    pulled = Problem(data, 2, variance=1.0, missing="keep", prior=prior).objective.best(labels)
    assert pulled.means[0, 1] == pytest.approx(-3.0)


def test_every_clustering_costs_what_the_instance_says() -> None:
    """Must-links merge feature by feature; the one evaluator, the instance and enumeration agree."""
    checked = 0
    for seed in range(120):
        rng = np.random.default_rng([seed, 91])
        try:
            problem = with_masses(random_problem(rng, max_samples=6), rng)
        except InfeasibleError:
            continue
        instance, truth = reduce(problem), find_truth(problem)
        if truth.labels is None:
            continue
        point = problem.objective.best(truth.labels)
        slack = 1e-9 * max(1.0, abs(point.value))
        assert abs(point.value - truth.optimum) <= slack, seed
        assert rounding(problem, point) <= 1e-6 * max(1.0, abs(point.value)) + 1.0, seed
        for _ in range(20):
            labels = instance.expand(rng.integers(problem.n_components, size=instance.n_groups))
            if not is_feasible(problem, labels):
                continue
            found = problem.objective.best(labels)
            least = _instance_cost(instance, instance.contract(labels))
            if np.isfinite(least):
                assert least <= found.value + 1e-9 * max(1.0, abs(found.value)), seed
                if instance.exact:
                    assert least == pytest.approx(found.value, rel=1e-9, abs=1e-9), seed
                checked += 1
    assert checked > 200


def _instance_cost(instance: Any, labels: np.ndarray) -> float:
    total = 0.0
    mass = np.broadcast_to(instance.mass, (instance.n_groups, instance.n_features))
    for k in range(instance.n_components):
        mine, c = labels == k, 0 if instance.shared else k
        x, m, gamma = instance.points[c][mine], mass[mine], instance.prior_weight[k]
        full = m.sum(axis=0) + gamma
        mean = ((m * x).sum(axis=0) + gamma * instance.prior_mean[k]) / np.where(full > 0, full, 1.0)
        mean = np.clip(mean, instance.mean_lower[k], instance.mean_upper[k])
        total += 0.5 * (m * (x - mean) ** 2).sum() + instance.scatter[c][mine].sum()
        total += 0.5 * gamma @ (mean - instance.prior_mean[k]) ** 2
        total += instance.entropy[k, int(instance.weight[mine].sum())]
    return float(total)


@pytest.mark.parametrize("name", ["interval", "dual", "hard-em", "parts", "enumerate"])
def test_weights_in_other_units_are_copies(name: str) -> None:
    """K-means with weights of one and a half times whole numbers costs one and a half times that with copies."""
    rng = np.random.default_rng(5)
    data, copies = rng.normal(size=(9, 2)), rng.integers(1, 4, size=9)
    data[:4] += 3.0
    given: dict[str, Any] = {"restarts": 4} if name == "hard-em" else {"gap": 1e-9}
    real = solve(Problem(data, 2, weights="none", sample_weight=1.5 * copies), name, **given)
    whole = solve(Problem(data, 2, weights="none", sample_weight=copies), "enumerate", gap=1e-9)
    assert real.sse == pytest.approx(1.5 * whole.sse, rel=1e-9)
    if name != "hard-em":
        assert real.status is Status.OPTIMAL


@pytest.mark.parametrize("name", ["interval", "dual", "hard-em", "parts"])
def test_values_that_all_count_once_are_ordinary(name: str) -> None:
    """The way of masses comes to the same as the ordinary one where every mass is one."""
    data = np.random.default_rng(6).normal(size=(14, 2))
    problem = Problem(data, 3, variance=0.1, constraints=[MustLink(0, 1), MinimumSize(3)])
    forced = problem.replace()
    forced.masses = Masses(np.ones((14, 2)), None)
    given: dict[str, Any] = {"restarts": 4} if name == "hard-em" else {"gap": 1e-9}
    assert solve(forced, name, **given).objective == pytest.approx(solve(problem, name, **given).objective)


def test_a_part_has_the_weights_of_its_samples() -> None:
    """Also where those are whole numbers: the bounds of parts add up."""
    problem = Problem(DATA, 2, weights="none", missing="keep", sample_weight=WEIGHT)
    one, other = (
        Restriction(problem).part(np.array([1, 3])),
        Restriction(problem).part(np.array([0, 2, 4, 5])),
    )
    assert one.masses is not None
    np.testing.assert_array_equal(one.masses.weight, [2.0, 1.0])
    assert one.n_samples == 2
    assert find_truth(one).optimum + find_truth(other).optimum <= find_truth(problem).optimum


def test_size_limits_count_samples() -> None:
    """A weight that is not a whole number is none of copies."""
    limits = [MinimumSize(3), MaximumSize(3)]
    problem = Problem(np.nan_to_num(DATA), 2, weights="none", sample_weight=WEIGHT, constraints=limits)
    result = solve(problem)
    assert result.labels is not None
    assert np.bincount(result.labels).tolist() == [3, 3]


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"missing": "keep"}, "variance must be known"),
        ({"missing": "keep", "precision": [[1.0, 0.5], [0.5, 1.0]]}, "must be diagonal"),
        ({"missing": "keep", "variance": 1.0, "sample_weight": WEIGHT}, "fixed"),
        ({"missing": "keep", "variance": 1.0, "estimators": "means"}, "estimator"),
        ({"missing": "keep", "variance": 1.0, "noise": 0.1}, "noise"),
        ({"missing": "drop", "variance": 1.0}, "'error' or 'keep'"),
        ({"variance": 1.0}, "missing='keep'"),
    ],
)
def test_what_masses_are_no_use_for_is_refused(given: dict[str, Any], match: str) -> None:
    """In words, before any work."""
    with pytest.raises(InputError, match=match):
        Problem(DATA, 2, **given)


def test_a_sample_without_a_value_is_named() -> None:
    """Nothing says where it belongs."""
    data = np.vstack([DATA, [NAN, NAN]])
    with pytest.raises(InputError, match="sample 6 has no value at all"):
        Problem(data, 2, variance=1.0, missing="keep")


def test_a_feature_without_a_value_is_named_unless_it_has_some_elsewhere() -> None:
    """A mean of it would be made up; but a part of the samples may have none, and so may what is made of a part."""
    given: dict[str, Any] = {"variance": 1.0, "missing": "keep"}
    with pytest.raises(InputError, match="column 1 has no value at all; leave it out"):
        Problem(np.nan_to_num(DATA) * [1.0, NAN], 2, **given)
    whole = Problem(DATA, 2, **given)
    part = Restriction(whole).part(np.array([1, 4]))
    assert np.isnan(part.data[:, 1]).all()
    assert part.replace(constraints=[MustLink(0, 1)]).given_missing == part.given_missing


@pytest.mark.parametrize("name", ["sdp", "bnb", "minlp", "dynamic", "kmeans", "em", "variational"])
def test_other_engines_refuse(name: str) -> None:
    """They would count what is not there."""
    problem = Problem(DATA, 2, variance=1.0, missing="keep")
    assert why_not(engine(name), problem) is not None
    with pytest.raises(UnsupportedError, match="missing values"):
        solve(problem, name)
    assert not MASSES & engine(name).honours


def test_a_problem_that_is_made_of_another_has_its_masses() -> None:
    """Values stay missing, weights stay weights."""
    problem = Problem(DATA, 2, weights="uniform", variance=1.0, missing="keep", sample_weight=WEIGHT)
    other = problem.replace(constraints=[MustLink(0, 1)])
    assert other.masses is not None
    assert problem.masses is not None
    np.testing.assert_array_equal(other.masses.of, problem.masses.of)
    with pytest.raises(InputError, match="between 1e-09 and 1e\\+09"):
        problem.replace(sample_weight=RealWeights(1e-12 * WEIGHT))
    prior = Problem(DATA, 2, weights="uniform", variance=1.0, missing="keep", prior=DirichletPrior(2.0))
    assert prior.objective.best(LABELS).value == pytest.approx(
        by_hand(prior, LABELS, np.ones(6)) + 2.0 * math.log(2.0)
    )
