"""Many groups: an ascent that begins with some of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from unittest import mock

import numpy as np
import pytest

from certmix import CannotLink, Label, MinimumSize, MustLink, Problem
from certmix.datasets import load
from certmix.local.hard_em import hard_em
from certmix.presolve.arrays import instance_arrays
from certmix.presolve.instance import reduce
from certmix.search.bounds import dual, samples
from certmix.search.bounds.dual import DualBound
from certmix.search.bounds.lagrangian import Lagrangian
from claims import find_truth
from random_instances import random_problem
from tuned import tuned

FEW = mock.patch.multiple(samples, FEWEST=100, TIMES=4)


@pytest.fixture(autouse=True)
def _features() -> Iterator[None]:
    """Multipliers of features, as with very many groups."""
    with tuned(dual, most_groups=0):
        yield


def overlapping(n: int, **given: object) -> Problem:
    return Problem(load("mixture", n=n, d=2, k=3, separation=2.0, seed=1).data, 3, variance=1.0, **given)


def begun(problem: Problem, gap: float) -> tuple[DualBound, float]:
    """The root before its first step, and the value of a good clustering."""
    instance = reduce(problem)
    found = hard_em(instance)
    assert found is not None
    bound = DualBound(instance, instance.expand(found.labels), allowed=gap * found.value)
    bound.advance_root((1.0 - gap) * found.value, 0.0)
    return bound, found.value


def test_a_sample_has_a_group_of_every_neighbourhood() -> None:
    """No group is far from all groups of the sample."""
    arrays = instance_arrays(reduce(overlapping(2000)))
    with FEW:
        sample = next(samples.samples(arrays))
    points = arrays.points[0]
    away = np.linalg.norm(points[:, None] - points[sample.groups], axis=2).min(axis=1)
    assert np.median(away) < 0.1 * np.linalg.norm(points.std(axis=0))


def test_a_sample_stands_for_everything() -> None:
    """Larger and larger ones, each with all samples and all of their mass, though groups differ in weight."""
    problem = overlapping(2000, constraints=[MustLink(i, i + 1) for i in range(0, 60, 2)])
    arrays = instance_arrays(reduce(problem))
    with FEW:
        found = list(samples.samples(arrays))
    assert [len(sample.groups) for sample in found] == sorted(len(sample.groups) for sample in found)
    assert len(found) == 2
    for sample in found:
        assert sample.weight.sum() == 2000
        assert sample.arrays(arrays).mass.sum() == pytest.approx(2000)
        assert len(np.unique(sample.groups)) == len(sample.groups)


def test_few_groups_need_no_sample() -> None:
    arrays = instance_arrays(reduce(overlapping(2000)))
    assert not list(samples.samples(arrays))


@pytest.mark.parametrize(
    "constraints",
    [
        [],
        [CannotLink(0, 1), Label(5, 1), MinimumSize(500)],
        [MustLink(i, i + 1) for i in range(0, 60, 2)],
    ],
)
def test_an_ascent_over_all_groups_begins_where_one_over_some_has_ended(constraints: list[object]) -> None:
    """Its first bound leaves less than half of the gap that the first feature leaves."""
    problem = overlapping(2000, constraints=constraints)
    alone, value = begun(problem, 1e-3)
    with FEW:
        bound, _ = begun(problem, 1e-3)
    assert bound.root_ascent is not None
    assert bound.root_ascent.iterations == 0
    assert bound.root_bound <= value
    assert value - bound.root_bound < 0.5 * (value - alone.root_bound)


def test_what_is_worse_than_the_first_feature_is_not_gone_on_from() -> None:
    bound, value = begun(overlapping(2000), 1e-3)
    ascent = bound.root_ascent
    assert isinstance(ascent, Lagrangian)
    centre, best = ascent.centre.copy(), ascent.best
    known = samples.Known(np.zeros(ascent.phi.shape[1]), 1e-3, [(np.zeros((1, 2)), np.zeros(1))])
    ascent.take_up(known, value, 1000)
    assert ascent.best == best
    assert np.array_equal(ascent.centre, centre)


def test_no_bound_is_above_the_optimum() -> None:
    """With every option: what is claimed was priced over all groups."""
    rng, met = np.random.default_rng(72), 0
    with mock.patch.multiple(samples, FEWEST=1, TIMES=2):
        while met < 40:
            problem = random_problem(rng, max_samples=7)
            truth = find_truth(problem)
            if truth.infeasible:
                continue
            told = [-math.inf]
            bound = DualBound(reduce(problem), truth.labels, allowed=1e-6, on_root_bound=told.append)
            bound.advance_root(math.inf, math.inf)
            assert max(bound.root_bound, *told) <= truth.optimum + truth.slack
            met += 1
