"""The local methods as engines, the paper's too: what they honour, and that they never claim too much."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from certmix import solve
from certmix.datasets import load
from certmix.exact.enumeration import Enumeration
from certmix.ledger import Ledger
from certmix.local.em import em
from certmix.local.kmeans import kmeans
from certmix.local.solution import LocalSolution
from certmix.options import Options
from certmix.paper.local.annealing import annealing
from certmix.paper.local.slsqp import slsqp
from certmix.paper.local.variational import variational_em
from certmix.problem import (
    CannotLink,
    Covering,
    MaximumSize,
    MinimumSize,
    Problem,
    is_feasible,
)
from certmix.status import Status, Termination
from random_instances import random_problem
from two_groups import TWO_GROUPS

METHODS: dict[str, Callable[..., LocalSolution]] = {
    "kmeans": kmeans,
    "em": em,
    "variational": variational_em,
    "slsqp": slsqp,
    "annealing": lambda problem, **options: annealing(problem, **{"hops": 15, **options}),
}
every_method = pytest.mark.parametrize("name", METHODS)


@every_method
def test_never_beats_and_usually_meets_enumeration(name: str) -> None:
    """On random problems: feasible labels, never below the optimum, and at it more often than not."""
    solved = met = 0
    for seed in range(30):
        problem = random_problem(np.random.default_rng([3, seed]))
        ledger = Ledger(problem, Options().tolerances)
        if Enumeration().run(problem, ledger, Options()).infeasible:
            continue
        found = METHODS[name](problem)
        assert found.value == pytest.approx(
            problem.objective.value(found.own_labels, found.means, found.weights), nan_ok=True
        )
        if not found.feasible:
            continue  # a tied mean outside its box: labels alone cannot tell
        solved += 1
        assert is_feasible(problem, found.labels)
        assert found.rescored == pytest.approx(problem.objective.best(found.labels).value)
        assert found.rescored >= ledger.bound
        met += found.rescored <= ledger.upper + 1e-9 * max(1.0, abs(ledger.upper))
    assert solved >= 20
    assert met >= 0.5 * solved


@every_method
def test_hard_constraints_hold_after_rounding(name: str) -> None:
    """Constraints that go against the data hold in the labels, and the labels given as start are used."""
    constraints = [CannotLink(0, 1, 2), MaximumSize(6, 0), MaximumSize(7, 1), Covering([10, 11, 12], 0, 2)]
    problem = Problem(TWO_GROUPS, 3, variance=1.0, constraints=constraints)
    found = METHODS[name](problem)
    assert is_feasible(problem, found.labels)
    started = METHODS[name](problem, start=found.labels)
    assert is_feasible(problem, started.labels)
    assert math.isfinite(started.rescored)


@every_method
@pytest.mark.parametrize("K", [1, 4])
def test_extreme_shapes(name: str, K: int) -> None:
    """One component, and as many components as samples, are no special cases."""
    problem = Problem(np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 2.0], [7.0, 0.0]]), K, variance=1.0)
    found = METHODS[name](problem)
    assert sorted(np.bincount(found.labels)) == ([4] if K == 1 else [1, 1, 1, 1])


@every_method
def test_results_cannot_be_changed(name: str) -> None:
    """A solution is immutable."""
    found = METHODS[name](Problem(TWO_GROUPS, 2, variance=1.0))
    with pytest.raises(ValueError, match="read-only"):
        found.labels[0] = 1


@pytest.mark.parametrize("name", ["kmeans", "em", "variational", "slsqp", "annealing", "hard-em"])
def test_engines_find_and_prove_nothing(name: str) -> None:
    """A local engine ends with a feasible clustering, no bound and no certificate."""
    problem = Problem(TWO_GROUPS, 2, variance=1.0, constraints=[MinimumSize(5), CannotLink(0, 1)])
    result = solve(problem, name, restarts=2)
    assert result.status is Status.FEASIBLE
    assert result.termination is Termination.CONVERGED
    assert result.certificate_level == "none"
    assert result.lower_bound == -math.inf
    assert is_feasible(problem, np.array(result.labels))


@pytest.mark.parametrize("name", ["em", "variational", "slsqp", "annealing"])
def test_a_time_limit_ends_the_run_with_what_it_had(name: str) -> None:
    """Without time a method still rounds its first iterate, and says that time ended it."""
    result = solve(load("iris1d").problem(), name, time_limit=0)
    assert result.termination is Termination.TIME
    assert result.labels is not None
