"""A target ends a run and makes nothing optimal."""

from __future__ import annotations

import math

import numpy as np
import pytest

import certmix
from certmix.errors import InputError
from certmix.problem import Problem
from certmix.status import Status, Termination, Tolerances, decide

RNG = np.random.default_rng(3)
DATA = np.concatenate([RNG.normal(size=(9, 2)), RNG.normal(3.0, size=(9, 2))])


def test_a_target_widens_the_gap_that_is_good_enough() -> None:
    """With a target of 7 a clustering of 10 is good enough at a bound of 7, and not optimal there."""
    aimed = Tolerances(1e-6, 0.0, target=7.0)
    assert aimed.closed(10.0, 7.0)
    assert not aimed.closed(10.0, 6.9)
    assert 7.0 <= aimed.cutoff(10.0) < 7.1
    assert decide(10.0, 7.0, aimed) is Status.FEASIBLE
    assert aimed.allowed(6.0) == Tolerances().allowed(6.0)  # beyond the clustering it asks for nothing
    with pytest.raises(InputError, match="target"):
        Tolerances(target=math.nan)


@pytest.mark.parametrize("engine", ["dual", "interval", "sdp", "enumerate"])
def test_a_run_stops_at_its_target_with_a_true_and_verified_bound(engine: str) -> None:
    """The bound reaches the target, lies below the optimum, and the checker confirms it."""
    problem = Problem(DATA[::2] if engine == "enumerate" else DATA, 2, variance=1.0)
    best = certmix.solve(problem, gap=0.0, absolute_gap=1e-9, engine="dual").objective
    found = certmix.solve(problem, engine=engine, target=best - 3.0, verify=True)
    assert best - 3.0 <= found.lower_bound <= best + 1e-9
    assert found.certificate_level == "verified"
    if found.status is not Status.OPTIMAL:
        assert found.termination is Termination.TARGET


def test_a_target_out_of_reach_changes_nothing() -> None:
    problem = Problem(DATA, 2, variance=1.0)
    found = certmix.solve(problem, target=1e6)
    assert found.status is Status.OPTIMAL
    assert found.termination is Termination.GAP
