"""The evaluator against a naive one, against other points and general minimisers, and under symmetries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import LinearConstraint, minimize

from certmix.errors import InfeasibleError, InputError
from certmix.problem import DirichletPrior, GaussianPrior, Point, Problem
from random_instances import random_problem

PROBLEMS = 400


def drawn(seed: int) -> Problem:
    """A random problem of the given number; those that are infeasible from the start are drawn again."""
    rng = np.random.default_rng([7, seed])
    while True:
        try:
            return random_problem(rng, max_samples=12, max_components=4)
        except InfeasibleError:
            continue


def some_labels(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """Random labels that use every component, or now and then leave some empty where that is allowed."""
    labels = rng.integers(0, problem.n_components, problem.n_samples)
    if not problem.allow_empty:
        labels[rng.permutation(problem.n_samples)[: problem.n_components]] = np.arange(problem.n_components)
    return labels


def best(problem: Problem, labels: np.ndarray) -> Point | None:
    """The best point, or None when an estimator constraint rules the labels out."""
    try:
        point = problem.objective.best(labels)
    except InfeasibleError:
        return None
    return point if np.isfinite(point.value) else None


def naive(problem: Problem, labels: np.ndarray, means: np.ndarray, weights: np.ndarray) -> float:
    """The objective as the docstring has it, sample by sample and number by number."""
    total = 0.0
    for i, k in enumerate(labels):
        P = problem.covariance.of(int(k))
        gap = [problem.data[i, j] - means[k, j] for j in range(problem.n_features)]
        for a in range(problem.n_features):
            for b in range(problem.n_features):
                total += 0.5 * gap[a] * P[a, b] * gap[b]
        if np.any(problem.covariance.half_log_det):  # one covariance per component
            total -= 0.5 * np.log(np.linalg.det(P))
        total -= np.log(weights[k])
    for k in range(problem.n_components):
        gap = means[k] - problem.prior.mean[k]
        total += 0.5 * gap @ problem.prior.precision[k] @ gap
        if problem.prior.alpha[k] != 1:
            total -= (problem.prior.alpha[k] - 1) * np.log(weights[k])
    return float(total)


def random_weights(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """A random point of the weights' box and simplex."""
    lower, upper = problem.weight_lower, problem.weight_upper
    pi = lower.copy()
    for _ in range(50):
        missing = 1.0 - pi.sum()
        if missing <= 1e-15:
            break
        share = rng.dirichlet(np.ones(len(pi))) * missing
        pi = np.minimum(pi + share, upper)
    room = upper - pi
    return pi if room.sum() <= 0 else pi + room * min(1.0, (1.0 - pi.sum()) / room.sum())


def other_point(problem: Problem, point: Point, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Another feasible (mu, pi), near the best one or far from it."""
    means, weights = point.means, point.weights
    step = 10.0 ** rng.uniform(-5, 0.5) * (np.ptp(problem.data, axis=0) + 1e-3)
    moved = means + rng.normal(size=means.shape) * step * (rng.random(means.shape) < 0.7)
    moved = np.clip(moved, problem.mean_lower, problem.mean_upper)
    if "means" in problem.estimators:
        used = np.bincount(point.labels, minlength=problem.n_components) > 0
        moved[used] = means[used]
    if problem.fixed_weights is None and "weights" not in problem.estimators:
        weights = weights + rng.choice([1e-4, 0.05, 1.0]) * (random_weights(problem, rng) - weights)
    return moved, weights


@pytest.mark.parametrize("part", range(8))
def test_value_agrees_with_the_naive_evaluator_and_best_is_best(part: int) -> None:
    """On hundreds of random problems the value is the naive one, and no feasible point is below the best."""
    compared = 0
    for seed in range(part, PROBLEMS, 8):
        problem = drawn(seed)
        rng = np.random.default_rng(seed)
        for _ in range(3):
            labels = some_labels(problem, rng)
            point = best(problem, labels)
            if point is None:
                continue
            scale = 1e-9 * (1 + abs(point.value)) + 1e-12 * quadratic_size(problem)
            assert point.value == pytest.approx(naive(problem, labels, point.means, point.weights), abs=scale)
            check_feasible_point(problem, point)
            for _ in range(10):
                means, weights = other_point(problem, point, rng)
                value = problem.objective.value(labels, means, weights)
                if np.all(weights > 0):
                    assert value == pytest.approx(naive(problem, labels, means, weights), rel=1e-9, abs=scale)
                assert value >= point.value - scale, (seed, value, point.value)
                compared += 1
    assert compared > 500


def quadratic_size(problem: Problem) -> float:
    """Size of the numbers that rounding acts on."""
    return float(np.abs(problem.covariance.precision).max() * (problem.data**2).sum())


def check_feasible_point(problem: Problem, point: Point) -> None:
    """The best means and weights lie in their boxes; the weights add up to one."""
    assert np.all(point.means >= problem.mean_lower - 1e-8 * (1 + np.abs(point.means)))
    assert np.all(point.means <= problem.mean_upper + 1e-8 * (1 + np.abs(point.means)))
    assert np.all(point.weights >= problem.weight_lower - 1e-9)
    assert np.all(point.weights <= problem.weight_upper + 1e-9)
    assert point.weights.sum() == pytest.approx(1.0, abs=1e-12)


def test_best_agrees_with_general_minimisers() -> None:
    """A general minimiser started from the middle of the boxes ends at the same value, never below."""
    compared = 0
    for seed in range(60):
        problem = drawn(1000 + seed)
        if np.abs(problem.data).max() > 1e3 or problem.estimators:
            continue
        labels = some_labels(problem, np.random.default_rng(seed))
        point = best(problem, labels)
        assert point is not None
        means = minimised_means(problem, labels)
        weights = minimised_weights(problem, labels)
        value = problem.objective.value(labels, means, weights)
        assert value >= point.value - 1e-9 * (1 + abs(point.value))
        assert value <= point.value + 1e-4 * (1 + abs(point.value))
        compared += 1
    assert compared >= 20


def minimised_means(problem: Problem, labels: np.ndarray) -> np.ndarray:
    """Means by L-BFGS-B on the full objective."""
    weights = np.full(problem.n_components, 1.0 / problem.n_components)
    shape = (problem.n_components, problem.n_features)
    start = np.clip(np.broadcast_to(problem.data.mean(axis=0), shape), problem.mean_lower, problem.mean_upper)

    def value(x: np.ndarray) -> float:
        return float(problem.objective.value(labels, x.reshape(shape), weights))

    bounds = list(zip(problem.mean_lower.ravel(), problem.mean_upper.ravel(), strict=True))
    x = start.ravel()
    for _ in range(5):  # restarts undo a stop that came too early
        x = minimize(value, x, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-15, "gtol": 1e-10}).x
    return np.asarray(x.reshape(shape))


def minimised_weights(problem: Problem, labels: np.ndarray) -> np.ndarray:
    """Weights by a trust-region method on their part of the objective."""
    if problem.fixed_weights is not None:
        return problem.fixed_weights
    power = np.bincount(labels, minlength=problem.n_components) + problem.prior.alpha - 1
    bounds = list(zip(np.maximum(problem.weight_lower, 1e-9), problem.weight_upper, strict=True))
    start = random_weights(problem, np.random.default_rng(0))
    found = minimize(
        lambda pi: float(-power @ np.log(np.maximum(pi, 1e-12))),
        start,
        jac=lambda pi: -power / np.maximum(pi, 1e-12),
        method="SLSQP",
        bounds=bounds,
        constraints=[LinearConstraint(np.ones(len(power)), 1, 1)],
        options={"ftol": 1e-14, "maxiter": 500},
    )
    pi = np.clip(found.x, problem.weight_lower, problem.weight_upper)
    return np.asarray(pi / pi.sum() if abs(pi.sum() - 1) > 1e-13 else pi)


def test_value_is_the_log_density_of_the_model() -> None:
    """Up to constants the objective is minus the log density of scipy's distributions."""
    rng = np.random.default_rng(3)
    y = rng.normal(size=(9, 2))
    covariances = np.array([[[1.0, 0.3], [0.3, 0.5]], [[2.0, -0.4], [-0.4, 1.5]]])
    prior_covariance = np.array([[0.8, 0.1], [0.1, 0.4]])
    alpha = np.array([2.0, 3.5])
    problem = Problem(
        y,
        2,
        covariance=covariances,
        prior=[GaussianPrior([1.0, -1.0], prior_covariance), DirichletPrior(alpha)],
    )
    labels = np.array([0, 1, 0, 1, 1, 0, 0, 1, 0])
    gaussian = stats.multivariate_normal([1.0, -1.0], prior_covariance)
    values = []
    for means, weights in ((rng.normal(size=(2, 2)), [0.3, 0.7]), (rng.normal(size=(2, 2)), [0.9, 0.1])):
        log = sum(
            stats.multivariate_normal(means[k], covariances[k]).logpdf(y[i]) + np.log(weights[k])
            for i, k in enumerate(labels)
        )
        log += sum(gaussian.logpdf(m) for m in means) + stats.dirichlet(alpha).logpdf(weights)
        values.append(problem.objective.value(labels, means, np.array(weights)) + log)
    assert values[0] == pytest.approx(values[1], rel=1e-12)  # the same constant at both points


def test_flat_case_by_hand() -> None:
    """Two clusters {0, 2} and {10}: SSE/2 = 1 and the entropy -2 log(2/3) - log(1/3)."""
    point = Problem([0.0, 2.0, 10.0], 2, variance=1.0).objective.best(np.array([0, 0, 1]))
    np.testing.assert_allclose(point.means, [[1.0], [10.0]])
    np.testing.assert_allclose(point.weights, [2 / 3, 1 / 3])
    assert point.value == pytest.approx(1.0 - 2 * np.log(2 / 3) - np.log(1 / 3))


def test_uniform_weights_are_k_means() -> None:
    """With unit variance and uniform weights the objective is SSE/2 + n log K."""
    y = np.array([[0.0, 0.0], [0.0, 2.0], [5.0, 5.0], [7.0, 5.0]])
    value = Problem(y, 2, weights="uniform").objective.best(np.array([0, 0, 1, 1])).value
    assert value == pytest.approx(4.0 / 2 + 4 * np.log(2))


def test_large_offset_keeps_its_digits() -> None:
    """Data around 1e8 lose no more than the rounding of the data themselves."""
    rng = np.random.default_rng(0)
    y = np.round(rng.normal(size=(30, 2)), 6)
    labels = rng.integers(0, 3, 30)
    near = Problem(y, 3, precision=[[2, 0.5], [0.5, 1]]).objective.best(labels).value
    far = Problem(y + 2.0**26, 3, precision=[[2, 0.5], [0.5, 1]]).objective.best(labels).value
    assert far == pytest.approx(near, rel=1e-6)


# -- symmetries --------------------------------------------------------------------------------------------
def without_constraints(problem: Problem) -> Problem:
    return problem.replace(constraints=())


def prior_parts(problem: Problem, mean: np.ndarray, order: np.ndarray) -> list[Any]:
    parts: list[Any] = [DirichletPrior(problem.prior.alpha[order])]
    if problem.prior.on_means:
        parts.append(GaussianPrior(mean[order], np.linalg.inv(problem.prior.precision)[order]))
    return parts


def same(one: Point | None, two: Point | None, tolerance: float) -> bool:
    if one is None or two is None:
        return one is two
    return abs(one.value - two.value) <= tolerance * (1 + abs(one.value))


def test_translation() -> None:
    """Moving data, boxes and prior means together changes nothing."""
    for seed in range(120):
        problem = without_constraints(drawn(2000 + seed))
        if np.abs(problem.data).max() > 1e3 or "means" in problem.estimators:
            continue
        rng = np.random.default_rng(seed)
        shift = rng.normal(size=problem.n_features) * np.ptp(problem.data, axis=0).max()
        moved = problem.replace(
            data=problem.data + shift,
            mean_bounds=(problem.mean_lower + shift, problem.mean_upper + shift),
            prior=prior_parts(problem, problem.prior.mean + shift, np.arange(problem.n_components)),
        )
        labels = some_labels(problem, rng)
        assert same(best(problem, labels), best(moved, labels), 1e-7)


def test_order_of_the_samples() -> None:
    """Permuting the samples and their labels changes nothing."""
    for seed in range(120):
        problem = without_constraints(drawn(3000 + seed))
        rng = np.random.default_rng(seed)
        order = rng.permutation(problem.n_samples)
        labels = some_labels(problem, rng)
        turned = problem.replace(data=problem.data[order], names=None)
        tolerance = 1e-9 + 1e-12 * quadratic_size(problem)
        assert same(best(problem, labels), best(turned, labels[order]), tolerance)


def test_relabelling() -> None:
    """Permuting the components and all that is said about them changes nothing."""
    for seed in range(120):
        problem = without_constraints(drawn(4000 + seed))
        rng = np.random.default_rng(seed)
        order = rng.permutation(problem.n_components)
        new_of = np.argsort(order)
        labels = some_labels(problem, rng)
        changes: dict[str, Any] = {
            "mean_bounds": (problem.mean_lower[order], problem.mean_upper[order]),
            "prior": prior_parts(problem, problem.prior.mean, order),
        }
        if problem.fixed_weights is not None:
            changes["weights"] = problem.fixed_weights[order]
        else:
            changes["weight_bounds"] = (problem.weight_lower[order], problem.weight_upper[order])
        if not problem.covariance.shared:
            changes["precision"] = problem.covariance.precision[order]
        renamed = problem.replace(**changes)
        tolerance = 1e-9 + 1e-12 * quadratic_size(problem)
        assert same(best(problem, labels), best(renamed, new_of[labels]), tolerance)


# -- replace, labels ---------------------------------------------------------------------------------------
def test_replace_keeps_everything_else() -> None:
    """A replaced problem has the same objective, rules, names and limits."""
    for seed in range(150):
        problem = drawn(5000 + seed)
        again = problem.replace()
        labels = some_labels(problem, np.random.default_rng(seed))
        one, two = best(problem, labels), best(again, labels)
        assert same(one, two, 1e-9 + 1e-12 * quadratic_size(problem))
        assert again.constraints == problem.constraints
        assert again.rules.together == problem.rules.together
        assert again.names == problem.names
        np.testing.assert_array_equal(again.size_lower, problem.size_lower)
        np.testing.assert_array_equal(again.size_upper, problem.size_upper)


def test_replace_keeps_whole_number_names_and_columns() -> None:
    """References by whole-number names still mean the same samples after replace."""
    import pandas as pd

    from certmix.problem import MustLink

    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0]}, index=[2, 1, 0])
    problem = Problem(frame, 2, variance=1.0, constraints=[MustLink(2, 1)])
    again = problem.replace(variance=2.0)
    assert again.rules.together == problem.rules.together
    assert again.samples.columns == ("x",)
    assert problem.replace(n_components=3, constraints=()).n_components == 3


def test_a_single_component_keeps_its_log_determinant() -> None:
    """With K = 1 a covariance per component still adds its log-determinant, also after replace."""
    problem = Problem([0.0, 1.0, 5.0], 1, variance=[3.0])
    labels = np.zeros(3, dtype=int)
    value = problem.objective.best(labels).value
    assert value == pytest.approx(
        Problem([0.0, 1.0, 5.0], 1, variance=3.0).objective.best(labels).value + 1.5 * np.log(3)
    )
    assert problem.replace().objective.best(labels).value == pytest.approx(value)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([0, 1], "3 numbers"),
        ([[0, 1, 0]], "3 numbers"),
        ([0.0, 1.0, 0.0], "whole numbers"),
        ([0, 1, 2], "q: label 2"),
        ([0, -1, 1], "p: label -1"),
        (["0", "1", "0"], "whole numbers"),
    ],
)
def test_labels_that_are_none(labels: list[Any], words: str) -> None:
    """Labels of the wrong shape, type or range are refused with the sample's name."""
    problem = Problem([1.0, 2.0, 3.0], 2, variance=1.0, names=["o", "p", "q"])
    with pytest.raises(InputError, match=words):
        problem.objective.best(np.array(labels))


def test_estimator_constraints_that_labels_break() -> None:
    """Tied means outside their box, or sizes unlike the fixed weights, are infeasible for these labels."""
    y = [0.0, 1.0, 10.0, 11.0]
    tied = Problem(y, 2, variance=1.0, estimators="means", mean_bounds=([0, 5], [5, 12]))
    assert tied.objective.best(np.array([0, 0, 1, 1])).means.ravel().tolist() == [0.5, 10.5]
    with pytest.raises(InfeasibleError, match="component 0"):
        tied.objective.best(np.array([1, 1, 0, 0]))
    sized = Problem(y, 2, variance=1.0, estimators="weights", weights=[0.25, 0.75])
    assert np.isfinite(sized.objective.best(np.array([0, 1, 1, 1])).value)
    with pytest.raises(InfeasibleError, match="fixed weights"):
        sized.objective.best(np.array([0, 0, 1, 1]))
