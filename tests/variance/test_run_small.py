"""An unknown variance on small random problems, against enumeration with the best variance of every clustering."""

from __future__ import annotations

import math

import numpy as np
import pytest

import certmix
from certmix.errors import InputError
from certmix.status import Status
from random_instances import random_problem
from unknown_variance import truth_with_variance, with_unknown_variance

ROUNDING = 1e-8


def assert_agrees(seed: int) -> str:
    """One random problem: its bound is not above the optimum, and a closed run has found it."""
    rng = np.random.default_rng([seed, 77])
    problem = with_unknown_variance(random_problem(rng, max_samples=6, max_components=3, wide=0.1), rng)
    truth = truth_with_variance(problem)
    gap = float(rng.choice([1e-6, 1e-4, 1e-2]))
    try:
        result = certmix.solve(problem, gap=gap, verify=False, time_limit=20)
    except InputError as error:
        return f"{error}" if truth.optimum > -math.inf else "unbounded"
    if truth.infeasible:
        assert result.status is Status.INFEASIBLE, f"seed {seed}"
        return "infeasible"
    slack = ROUNDING * max(1.0, abs(truth.optimum))
    assert result.lower_bound <= truth.optimum + slack, f"seed {seed}"
    assert result.objective >= truth.optimum - slack, f"seed {seed}"
    if result.status is Status.OPTIMAL:
        assert result.objective <= truth.optimum + gap * max(1.0, abs(truth.optimum)) + slack, f"seed {seed}"
    return str(result.status)


@pytest.mark.parametrize("block", range(3))
def test_bounds_agree_with_enumeration(block: int) -> None:
    """Constraints, priors, boxes, shapes and ranges of all kinds: no bound above the optimum, closed runs equal."""
    found = [assert_agrees(seed) for seed in range(20 * block, 20 * block + 10)]
    assert found.count("optimal") >= 6
    assert set(found) <= {"optimal", "feasible", "infeasible", "unbounded"}


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_bounds_agree_with_enumeration_on_many_problems(block: int) -> None:
    """The same on two thousand problems."""
    for seed in range(10_000 + 100 * block, 10_100 + 100 * block):
        assert assert_agrees(seed) in ("optimal", "feasible", "infeasible", "unbounded"), f"seed {seed}"
