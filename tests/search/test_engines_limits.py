"""Runs that are limited or interrupted say no more than they proved; the same run gives the same answer."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import certmix.search.bounds.interval as interval_module
from certmix import solve
from certmix.problem import CannotLink, MinimumSize, Problem
from certmix.result import Result
from certmix.status import Status, Termination, Tolerances

CERTIFIED = ("interval", "dual")


def overlapping(n: int = 40, d: int = 2, K: int = 3, seed: int = 0, spread: float = 1.5) -> Problem:
    """Clusters that overlap, so that a proof takes work."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=spread, size=(K, d))
    return Problem(centres[rng.integers(K, size=n)] + rng.normal(size=(n, d)), K, variance=1.0)


def assert_no_more_than_proved(result: Result, optimum: float) -> None:
    assert result.lower_bound <= optimum + 1e-9 * abs(optimum)
    assert result.objective >= optimum - 1e-9 * abs(optimum)
    closed = Tolerances(result.tolerances.relative).closed(result.objective, result.lower_bound)
    assert (result.status is Status.OPTIMAL) == closed
    bounds = [point.bound for point in result.trace]
    assert bounds == sorted(bounds)


@pytest.fixture(scope="module")
def hard() -> tuple[Problem, float]:
    """A problem that takes some hundred nodes, and its optimum."""
    problem = overlapping()
    result = solve(problem, "interval", gap=1e-7, threads=1)
    assert result.status is Status.OPTIMAL
    return problem, result.objective


@pytest.mark.parametrize("engine", CERTIFIED)
@pytest.mark.parametrize("limit", [0, 1, 7, 60])
def test_node_limit(hard: tuple[Problem, float], engine: str, limit: int) -> None:
    """At the node limit the run stops with a bound below the optimum and is not called optimal."""
    problem, optimum = hard
    result = solve(problem, engine, gap=1e-7, node_limit=limit, threads=1)
    assert_no_more_than_proved(result, optimum)
    if result.status is not Status.OPTIMAL:
        assert result.termination is Termination.NODES
        assert result.nodes <= limit


@pytest.mark.parametrize("engine", CERTIFIED)
def test_no_time_at_all(hard: tuple[Problem, float], engine: str) -> None:
    """With no time the answer is a clustering or nothing, never a proof."""
    problem, optimum = hard
    result = solve(problem, engine, time_limit=0.0, threads=1)
    assert result.termination is Termination.TIME
    assert result.status in (Status.FEASIBLE, Status.UNKNOWN)
    assert_no_more_than_proved(result, optimum)


@pytest.mark.parametrize("engine", CERTIFIED)
@pytest.mark.parametrize("call", [0, 1, 5])
def test_interruption(
    hard: tuple[Problem, float], engine: str, call: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted inside a bound, the run returns its incumbent and the bound it had."""
    problem, optimum = hard
    explore, calls = interval_module.IntervalBound.explore, itertools.count()

    def interrupted(self: Any, nodes: Any, cutoff: float) -> Any:
        if next(calls) == call:
            raise KeyboardInterrupt
        return explore(self, nodes, cutoff)

    monkeypatch.setattr(interval_module.IntervalBound, "explore", interrupted)
    result = solve(problem, engine, gap=1e-7, threads=1)
    assert result.termination is Termination.INTERRUPTED
    assert result.status is Status.FEASIBLE
    assert result.labels is not None
    assert_no_more_than_proved(result, optimum)
    assert call == 0 or result.lower_bound > -math.inf


@pytest.mark.parametrize("constrained", [False, True])
def test_same_seed_and_node_limit_same_answer(constrained: bool) -> None:
    """Labels, objective, bound and node count repeat, with one thread and with two."""
    constraints = [CannotLink(0, 1), CannotLink(2, 3), MinimumSize(5)] if constrained else []
    problem = overlapping(seed=3).replace(constraints=constraints)
    options: dict[str, Any] = {"gap": 1e-9, "node_limit": 150, "seed": 4}
    first, *others = (solve(problem, "interval", threads=threads, **options) for threads in (1, 1, 2, 2))
    for other in others:
        assert np.array_equal(other.labels, first.labels)
        assert (other.objective, other.lower_bound) == (first.objective, first.lower_bound)
        assert other.nodes == first.nodes


def test_multipliers_repeat() -> None:
    """The dual engine, beyond its interval turns, repeats exactly; two threads share the pricing and agree."""
    problem = overlapping(n=60, d=2, K=4, seed=2)
    options: dict[str, Any] = {"gap": 1e-9, "node_limit": 1500, "seed": 4}
    first, second, shared = (solve(problem, "dual", threads=threads, **options) for threads in (1, 1, 2))
    assert first.status is Status.OPTIMAL
    assert (first.objective, first.lower_bound, first.nodes) == (
        second.objective,
        second.lower_bound,
        second.nodes,
    )
    assert np.array_equal(first.labels, second.labels)
    assert np.array_equal(first.labels, shared.labels)
    assert first.nodes == shared.nodes
    assert shared.lower_bound == pytest.approx(first.lower_bound, rel=1e-9)


def test_wide_gap_stops_early(hard: tuple[Problem, float]) -> None:
    """A gap of 5 % is reached with fewer nodes than one of 1e-7, and the bound is within it."""
    problem, optimum = hard
    loose = solve(problem, "interval", gap=0.05, threads=1)
    tight = solve(problem, "interval", gap=1e-7, threads=1)
    assert loose.status is Status.OPTIMAL
    assert loose.nodes < tight.nodes
    assert optimum - 0.05 * abs(loose.objective) <= loose.lower_bound <= optimum
    assert tight.lower_bound == pytest.approx(optimum, rel=1e-6)


def test_absolute_gap(hard: tuple[Problem, float]) -> None:
    """An absolute gap in nats is enough, too."""
    problem, optimum = hard
    result = solve(problem, "interval", gap=0.0, absolute_gap=0.5, threads=1)
    assert result.status is Status.OPTIMAL
    assert optimum - 0.5 <= result.lower_bound <= optimum


@pytest.mark.parametrize("engine", CERTIFIED)
def test_a_given_start_never_hurts(hard: tuple[Problem, float], engine: str) -> None:
    """From a bad start the same optimum is found and proved."""
    problem, optimum = hard
    start = np.arange(problem.n_samples) % problem.n_components
    result = solve(problem, engine, gap=1e-7, start=start, threads=1)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(optimum, rel=1e-6)
