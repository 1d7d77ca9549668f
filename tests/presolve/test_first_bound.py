"""The first bound: in one pass over the data, below every clustering, and worth something where data are many."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from certmix import Label, MinimumSize, Problem
from certmix.presolve.first_bound import first_bound
from certmix.presolve.instance import reduce


def test_it_is_worth_something_in_many_dimensions() -> None:
    """It is not negative, and with tens of features it is a large part of the objective."""
    rng = np.random.default_rng(0)
    for d, share in ((1, 0.0), (10, 0.2), (40, 0.5)):
        labels = rng.integers(0, 3, 600)
        data = 4.0 * rng.normal(size=(3, d))[labels] + rng.normal(size=(600, d))
        problem = Problem(data, 3, variance=1.0, constraints=[MinimumSize(5)])
        value = problem.objective.best(labels).value
        assert share * value < first_bound(reduce(problem)) <= value


def test_two_pairs_by_hand() -> None:
    """Three samples at 0, 2 and 10 in two components: one pair shares a mean, at a quarter of 2 squared or more."""
    problem = Problem([[0.0], [2.0], [10.0]], 2, variance=1.0, weights=[0.5, 0.5])
    assert first_bound(reduce(problem)) == pytest.approx(0.25 * 4.0 + 3 * np.log(2.0))
    assert problem.objective.best(np.array([0, 0, 1])).value == pytest.approx(0.25 * 4.0 + 3 * np.log(2.0))


def test_one_covariance_per_component() -> None:
    """Samples that are far apart for a narrow component are near each other for a wide one."""
    data = np.array([[0.0], [1.0], [3.0], [4.0], [6.0], [9.0]])
    problem = Problem(data, 2, covariance=np.array([[[0.01]], [[100.0]]]))
    every = (np.array(z) for z in itertools.product(range(2), repeat=6) if 0 < sum(z) < 6)
    assert first_bound(reduce(problem)) <= min(problem.objective.best(z).value for z in every)


def test_a_box_far_from_the_data() -> None:
    """A sample costs half its squared distance to the nearest box of a component that it may be in."""
    bounds = (np.array([[10.0], [20.0]]), np.array([[11.0], [21.0]]))
    problem = Problem(
        [[0.0], [1.0], [2.0]],
        2,
        variance=1.0,
        weights=[0.5, 0.5],
        mean_bounds=bounds,
        constraints=[Label(0, 1)],
    )
    away = 0.5 * (20.0**2 + 9.0**2 + 8.0**2)
    assert first_bound(reduce(problem)) == pytest.approx(away + 3 * np.log(2.0))
