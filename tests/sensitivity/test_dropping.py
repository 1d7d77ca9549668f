"""What constraints cost, against enumeration."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import certmix
from certmix import CannotLink, Label, MinimumSize, MustLink, Problem
from certmix.engines import engine
from certmix.errors import InfeasibleError, InputError
from certmix.result import Result
from certmix.sensitivity.dropping import constraint_costs
from nearly_optimal import assert_costs
from random_instances import random_problem


def costs_hold(problem: Problem) -> int:
    """How many constraints of a problem were compared with enumeration without them."""
    result = certmix.solve(problem, engine="enumerate", verify=False)
    if result.labels is None:
        return 0
    # A clustering that is not the best, and a bound that is not tight: the interval must still hold the truth.
    loose = replace(result, objective=result.objective + 0.2, lower_bound=result.lower_bound - 0.3)
    found = constraint_costs(loose, engine="enumerate")
    rest = [[c for j, c in enumerate(problem.constraints) if j != i] for i in range(len(found.constraints))]
    without = [certmix.solve(problem.replace(constraints=r), engine="enumerate", verify=False) for r in rest]
    assert_costs(result.objective, [other.objective for other in without], found)
    assert all(line.cost is not None for line in found.constraints)
    return len(found.constraints)


def test_costs_hold_the_truth():
    """On random small problems the cost of every constraint is in its interval."""
    compared = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        try:
            problem = random_problem(rng, max_samples=6, features=engine("enumerate").honours)
        except (InputError, InfeasibleError):
            continue
        compared += costs_hold(problem)
    assert compared > 40


def test_costs_by_hand():
    """A link that holds by itself costs nothing; one across a gap costs what it costs."""
    data = [[0.0], [0.2], [4.0], [4.2]]
    rules = [MustLink(0, 1), MustLink(1, 2), CannotLink(0, 3)]
    result = certmix.solve(Problem(data, 2, variance=1.0, constraints=rules), engine="enumerate")
    costs = [line.cost for line in constraint_costs(result, engine="enumerate").constraints]
    free = certmix.solve(Problem(data, 2, variance=1.0, constraints=[rules[0], rules[2]]), engine="enumerate")
    assert costs[1][0] == pytest.approx(result.objective - free.objective, rel=1e-6)
    assert costs[1][0] > 1.0
    assert costs[1][0] <= costs[1][1]


def test_costs_are_saved_and_shown(tmp_path):
    """A saved result has them, and so has the report."""
    data = [[0.0], [0.2], [4.0], [4.2], [2.0]]
    problem = Problem(data, 2, variance=1.0, constraints=[Label(4, 0), MinimumSize(2)])
    result = constraint_costs(certmix.solve(problem, engine="enumerate"), engine="enumerate")
    loaded = Result.load(result.save(tmp_path / "run"))
    assert [line.cost for line in loaded.constraints] == [line.cost for line in result.constraints]
    text = certmix.report(loaded, tmp_path / "page.html").read_text()
    assert "what it costs" in text
    with pytest.raises(InputError, match="problem="):
        constraint_costs(loaded)


def test_no_time_no_costs():
    """Constraints that there was no time for have none."""
    problem = Problem([[0.0], [1.0], [5.0]], 2, variance=1.0, constraints=[MustLink(0, 1)])
    result = certmix.solve(problem, engine="enumerate")
    assert constraint_costs(result, time_limit=0.0).constraints[0].cost is None


def test_a_bound_that_is_missing_leaves_the_upper_end_open():
    """Where nothing is proved the cost is between nothing and anything, or what was found."""
    problem = Problem([[0.0], [1.0], [5.0]], 2, variance=1.0, constraints=[MustLink(0, 2)])
    result = certmix.solve(problem, engine="enumerate")
    cost = constraint_costs(result, engine="hard-em").constraints[0].cost
    assert cost[0] > 0.0
    assert cost[1] == math.inf
