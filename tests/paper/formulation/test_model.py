"""The Pyomo models state the problem exactly: their cost at a clustering is the evaluator's value."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pyomo.environ as pyo
import pytest

from certmix.errors import InfeasibleError
from certmix.paper.formulation.approximation import first_approximation
from certmix.paper.formulation.minlp import minlp
from certmix.paper.formulation.miqp import miqp
from certmix.paper.formulation.model import Formulation, in_order
from certmix.paper.formulation.ranges import mean_ranges, weight_ranges
from certmix.presolve.instance import Instance, reduce
from certmix.problem import Problem, is_feasible
from random_instances import random_problem


def problems_with_labels(count: int, seed: int) -> Iterator[tuple[Instance, np.ndarray, float]]:
    """Random problems under every option, each with a few feasible labellings of its groups and their values."""
    for number in range(count):
        rng = np.random.default_rng([number, seed])
        problem = random_problem(rng)
        instance = reduce(problem)
        if instance.groups.contradiction:
            continue
        found = 0
        for _ in range(60):
            labels = np.array([rng.choice(np.flatnonzero(row)) for row in instance.allowed])
            value = value_of(problem, instance.expand(labels))
            if math.isfinite(value):
                yield instance, labels, value
                found += 1
            if found == 2:
                break


def value_of(problem: Problem, labels: np.ndarray) -> float:
    """The evaluator's value; infinite for what is not allowed."""
    if not is_feasible(problem, labels):
        return math.inf
    try:
        return float(problem.objective.best(labels).value)
    except InfeasibleError:
        return math.inf


def violation(formulation: Formulation) -> float:
    """The largest violation of a row or bound at the variables' values, relative to the row's size."""
    worst = 0.0
    for row in formulation.model.component_data_objects(pyo.Constraint, active=True):
        body, size = pyo.value(row.body), 1.0
        for side, sign in ((row.lower, 1.0), (row.upper, -1.0)):
            if side is not None:
                size = max(1.0, abs(pyo.value(side)), abs(body))
                worst = max(worst, sign * (pyo.value(side) - body) / size)
    for v in formulation.model.component_data_objects(pyo.Var):
        worst = max(worst, (v.lb or -math.inf) - v.value, v.value - (math.inf if v.ub is None else v.ub))
    return worst


def test_the_minlp_costs_what_the_evaluator_says() -> None:
    """At every feasible clustering with its best parameters the rows hold and the cost is the objective."""
    seen = 0
    for instance, labels, value in problems_with_labels(100, 1):
        formulation = minlp(instance)
        formulation.set_start(labels)
        scale = max(1.0, abs(value))
        assert violation(formulation) < 1e-6
        assert abs(pyo.value(formulation.model.cost) - value) < 1e-7 * scale
        seen += 1
    assert seen > 80


@pytest.mark.parametrize(("variant", "sign"), [("tangent", 1.0), ("chord", -1.0)])
def test_the_miqp_is_below_with_tangents_and_above_with_chords(variant: str, sign: float) -> None:
    """The model's cost of a clustering lies on the right side of its value and within the error that is reported."""
    for instance, labels, value in problems_with_labels(80, 2):
        approximation = first_approximation(instance.problem, variant, 4, True)  # type: ignore[arg-type]
        formulation = miqp(instance, None if approximation is None else approximation.logarithms)
        formulation.set_start(labels)
        assert violation(formulation) < 1e-6
        slack = 1e-7 * max(1.0, abs(value))
        away = sign * (value - pyo.value(formulation.model.cost))
        assert -slack <= away <= slack + (0.0 if approximation is None else approximation.error)


def test_tangents_at_the_best_weights_make_a_clustering_exact() -> None:
    """After refinement around a clustering's weights the tangent model costs it exactly."""
    for instance, labels, value in problems_with_labels(60, 3):
        approximation = first_approximation(instance.problem, "tangent", 3, True)
        if approximation is None:
            continue
        labels = in_order(instance, labels)
        weights = instance.problem.objective.best(instance.expand(labels)).weights
        formulation = miqp(instance, approximation.refined(weights).logarithms)
        formulation.set_start(labels)
        assert abs(pyo.value(formulation.model.cost) - value) < 1e-6 * max(1.0, abs(value))


def test_best_parameters_lie_in_the_ranges() -> None:
    """No best mean or weight of a feasible clustering is cut off by the bounds of the variables."""
    for instance, labels, _ in problems_with_labels(300, 4):
        problem = instance.problem
        point = problem.objective.best(instance.expand(labels))
        means, weights = mean_ranges(instance), weight_ranges(problem)
        sizes = np.bincount(instance.expand(labels), minlength=problem.n_components)
        for k in range(problem.n_components):
            mean = instance.whitened(k, point.means[k])
            slack = 1e-6 * (1.0 + np.abs(mean))
            assert np.all(mean >= means.lower[k] - slack)
            assert np.all(mean <= means.upper[k] + slack)
            if weights.fixed is None and not (weights.optional[k] and sizes[k] == 0):
                assert weights.lower[k] <= point.weights[k] + 1e-12
                assert point.weights[k] <= weights.upper[k] + 1e-12
            assert weights.size_lower[k] <= sizes[k] <= weights.size_upper[k]


def test_a_clustering_is_forbidden_in_one_order_of_its_labels() -> None:
    """The row that forbids a labelling is violated by it and by no other."""
    instance = reduce(Problem(np.array([0.0, 1.0, 5.0]), 2, variance=1.0))
    formulation = minlp(instance)
    formulation.forbid(np.array([1, 1, 0]))
    row = formulation.model.forbidden[1]
    formulation.set_start(np.array([1, 1, 0]))
    assert pyo.value(row.body) > pyo.value(row.upper)
    formulation.set_start(np.array([0, 1, 1]))
    assert pyo.value(row.body) <= pyo.value(row.upper)


def test_the_model_is_small() -> None:
    """One dimension, 3 samples, 2 components: 6 assignments, 6 products, 4 rows for each of them."""
    approximation = first_approximation(
        Problem(np.array([0.0, 1.0, 5.0]), 2, variance=1.0), "tangent", 2, True
    )
    assert approximation is not None
    model = miqp(reduce(approximation.problem), approximation.logarithms).model
    assert len(model.assign) == 6
    assert len(model.product) == 6
    assert len(model.product_rows) == 24
    assert len(model.lines) == 4
