"""What sizes cost: tables that add up to the cost of the best weights, or to less."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from certmix import Problem
from certmix.presolve.tables import entropy_tables


@pytest.mark.parametrize("bounds", [None, (0.1, 0.6), (0.3, 0.36), (0.0, 0.4)])
def test_tables_add_up_to_no_more_than_the_best_weights_cost(bounds: tuple[float, float] | None) -> None:
    """For every way to divide the samples, whatever the multiplier; exactly, where nothing bounds the weights."""
    n, K = 9, 3
    problem = Problem(np.arange(float(n))[:, None], K, variance=1.0, weight_bounds=bounds)
    objective = problem.objective
    for multiplier in (None, 4.0, 15.0):
        tables, exact = entropy_tables(problem, multiplier)
        assert exact == (bounds is None)
        for sizes in itertools.product(range(1, n), repeat=K):
            if sum(sizes) != n:
                continue
            held = np.array(sizes)
            cost = objective.weight_cost(held, objective.best_weights(held))
            found = tables[np.arange(K), held].sum()
            assert found <= cost + 1e-9
            if exact:
                assert found == pytest.approx(cost, abs=1e-9)
