"""The ascent of the multipliers: where it begins, and when it looks further."""

from __future__ import annotations

import math

import numpy as np
import pytest

from certmix.local.hard_em import hard_em
from certmix.presolve.instance import reduce
from certmix.problem import Problem
from certmix.search.bounds import dual
from certmix.search.bounds.ascent import Ascent
from certmix.search.bounds.central import CentralAscent
from certmix.search.bounds.dual import DualBound
from certmix.search.bounds.lagrangian import Lagrangian
from tuned import tuned


def begun(n: int, K: int, allowed: float) -> tuple[DualBound, Ascent, float]:
    """The root of points in a square, before its first step, and the value of a good clustering."""
    problem = Problem(np.random.default_rng([n, K]).uniform(size=(n, 2)), K, variance=1.0, weights="uniform")
    instance = reduce(problem)
    found = hard_em(instance)
    assert found is not None
    bound = DualBound(instance, instance.expand(found.labels), allowed=allowed)
    bound.advance_root(found.value, 0.0)
    assert bound.root_ascent is not None
    return bound, bound.root_ascent, found.value


@pytest.mark.parametrize(
    ("n", "K", "kind"), [(60, 15, CentralAscent), (200, 2, CentralAscent), (201, 2, Lagrangian)]
)
def test_every_group_has_a_multiplier_of_its_own(n: int, K: int, kind: type[Ascent]) -> None:
    """From the start; where there are very many, what they have in common comes first."""
    with tuned(dual, most_groups=200):
        assert isinstance(begun(n, K, 1e-3)[1], kind)


def test_a_promise_below_what_prices_resolve_is_none() -> None:
    """With coarse prices an ascent ends, though the master promises what cannot be seen."""
    bound, ascent, value = begun(60, 15, 0.05)
    bound.advance_root(value + 0.01, math.inf)
    assert ascent.best < value + 0.01
    assert ascent.iterations < 100


def test_the_sets_of_the_master_make_a_clustering() -> None:
    """Begun with a bad clustering, the root's sets cover every group: the clustering of the cover is a better one."""
    n, K = 60, 12
    problem = Problem(np.random.default_rng(4).uniform(size=(n, 2)), K, variance=1.0, weights="uniform")
    instance = reduce(problem)
    labels = np.arange(n) % K
    bad = problem.objective.best(labels).value
    bound = DualBound(instance, labels, allowed=1e-4)
    bound.advance_root(bad, math.inf)
    assert bound.root_ascent is not None
    bound.root_ascent.partitions.clear()
    bound.cover(bad)
    (found,) = bound.clusterings()
    assert problem.objective.best(found).value < bad - 1.0
