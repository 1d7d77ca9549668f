"""An unknown variance on small random problems, against enumeration with the best variance of every clustering."""

from __future__ import annotations

import numpy as np
import pytest

from random_instances import random_problem
from unknown_variance import agreement, with_unknown_variance


def assert_agrees(seed: int, wide: float = 0.0) -> str:
    """One random problem, of many features now and then: no bound above the optimum, closed runs have found it."""
    rng = np.random.default_rng([seed, 77])
    problem = with_unknown_variance(random_problem(rng, max_samples=6, max_components=3, wide=wide), rng)
    return agreement(problem, rng, f"seed {seed}")


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
        assert assert_agrees(seed, wide=0.1) in ("optimal", "feasible", "infeasible", "unbounded"), (
            f"seed {seed}"
        )
