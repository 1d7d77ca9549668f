"""The steps that recompute everything, ``enumerate`` and ``dynamic``, against the program's own engines."""

from __future__ import annotations

import math

import numpy as np
import pytest
from claiming import rooted

import certmix
from certmix.errors import InfeasibleError, UnsupportedError
from certmix.problem import CannotLink, Label, MinimumSize, MustLink, Problem
from certmix.problem.features import EVERY_FEATURE, Feature
from certmix.verify import dynamic
from certmix.verify.domain import Domain
from certmix.verify.enumeration import MOST, count, enumerate_all
from certmix.verify.evidence import Evidence, Rejected
from random_instances import random_problem

NOTHING = Evidence({}, {})
# What the checker only relaxes: its bound may then be weaker than the optimum.
RELAXED = {Feature.WEIGHT_BOX, Feature.MEAN_BOX, Feature.ESTIMATORS}


@pytest.mark.parametrize("seed", range(60))
def test_enumeration_agrees_with_the_engine(seed: int) -> None:
    """The checker's enumeration never exceeds the optimum, and reaches whatever lies a hair below it."""
    rng = np.random.default_rng(seed)
    relaxed = seed % 3 == 0
    problem = random_problem(rng, features=EVERY_FEATURE if relaxed else EVERY_FEATURE - RELAXED)
    root = rooted(problem)
    domain = Domain.of(root)
    alive = domain.propagate(root)
    try:
        result = certmix.solve(problem, "enumerate")
    except (InfeasibleError, UnsupportedError):
        return
    if result.labels is None:
        assert not alive or enumerate_all(root, domain, NOTHING, 1e300) == math.inf
        return
    optimum, hair = result.objective, 1e-9 * max(1.0, abs(result.objective))
    for target in (0.0, optimum - hair, optimum + hair):
        found = enumerate_all(root, domain, NOTHING, target)
        assert found <= optimum
        assert target > optimum - hair or found >= target or target == 0.0
    if not relaxed:
        assert found == pytest.approx(optimum, rel=1e-9, abs=1e-9 + 3 * root.error)


@pytest.mark.parametrize("seed", range(60))
def test_dynamic_programming_agrees_with_the_engine(seed: int) -> None:
    """The checker's shortest path equals the optimum in one dimension, and never exceeds it."""
    rng = np.random.default_rng(100 + seed)
    use = frozenset(
        {Feature.SIZE, Feature.FIXED_WEIGHTS, Feature.DIRICHLET, Feature.GAUSSIAN, Feature.ALLOW_EMPTY}
    )
    problem = random_problem(rng, max_samples=12, dimension=1, features=use | {Feature.MEAN_BOX})
    root = rooted(problem)
    domain = Domain.of(root)
    if not domain.propagate(root):
        return
    result = certmix.solve(problem, "dynamic")
    found = dynamic.dynamic(root, domain, NOTHING, 0.0)
    if result.labels is None:
        assert found == math.inf
        return
    assert found <= result.objective
    assert found == pytest.approx(result.objective, rel=1e-9, abs=1e-9 + 3 * root.error)


def test_a_thousand_samples_in_one_dimension() -> None:
    """The bound is within a millionth of a millionth or so of the optimum, rounding included."""
    rng = np.random.default_rng(0)
    problem = Problem(rng.normal(size=1000) + 4 * rng.integers(3, size=1000), 3, variance=1.0)
    root = rooted(problem)
    domain = Domain.of(root)
    domain.propagate(root)
    optimum = certmix.solve(problem, "dynamic").objective
    found = dynamic.dynamic(root, domain, NOTHING, 0.0)
    assert optimum - 1e-8 <= found <= optimum


@pytest.mark.parametrize(
    "constraint", [CannotLink(0, 1), MustLink(0, 1), Label(0, 0)], ids=["cannot-link", "must-link", "label"]
)
def test_intervals_are_not_used_where_they_do_not_hold(constraint: object) -> None:
    """With a constraint that ties samples together or to a component, the shortest path is refused."""
    root = rooted(Problem(np.arange(6.0), 2, variance=1.0, constraints=[constraint]))
    domain = Domain.of(root)
    domain.propagate(root)
    with pytest.raises(Rejected, match="does not apply"):
        dynamic.dynamic(root, domain, NOTHING, 0.0)


def test_size_limits_are_no_obstacle_to_intervals() -> None:
    """Sizes survive the exchange of samples, so limits on them are honoured."""
    y = np.array([0.0, 0.1, 0.2, 5.0, 5.1, 9.0])
    problem = Problem(y, 2, variance=1.0, constraints=[MinimumSize(3)])
    root = rooted(problem)
    domain = Domain.of(root)
    domain.propagate(root)
    found = dynamic.dynamic(root, domain, NOTHING, 0.0)
    assert found == pytest.approx(certmix.solve(problem, "enumerate").objective, abs=1e-9)


def test_too_many_clusterings_are_not_enumerated() -> None:
    """A step may not ask the checker for hours of work."""
    root = rooted(Problem(np.arange(30.0), 2, variance=1.0))
    domain = Domain.of(root)
    assert count(domain) > MOST
    with pytest.raises(Rejected, match="at most"):
        enumerate_all(root, domain, NOTHING, 0.0)
