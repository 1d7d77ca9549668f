"""Bounds against the exact optimum: no slack for rounding, neither the bound's nor the evaluator's."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from exact_optimum import Exact, covers, exact_optimum, exact_value
from nasty_instances import FAMILIES, nasty_problem

from certmix.engines import why_not
from certmix.exact.enumeration import Enumeration
from certmix.options import Options
from certmix.problem import Problem
from claims import Truth, find_truth
from random_instances import random_problem
from ways import drawn_ways
from ways.drawing import by_engine

WAYS = frozenset(
    {
        "interval loop",
        "line loop",
        "dynamic",
        "interval",
        "dual",
        "dual loop",
        "sdp loop",
        "bnb loop",
        "enumerate",
    }
)
QUICK = frozenset({"interval loop", "line loop", "dynamic"})


def findings(seed: int, problem: Problem, exact: Exact, ways: frozenset[str]) -> list[str]:
    """Every bound that lies above the exact optimum, however little, and every wrong word about feasibility."""
    truth = Truth(float(exact.value), exact.labels)
    found = []
    runs = list(drawn_ways(seed, problem, truth, 2.0, ways))
    if why_not(Enumeration(), problem) is None:
        runs.append(("enumerate", lambda: by_engine(problem, "enumerate", Options(gap=0.0))))
    for way, run in runs:
        claim = run()
        bounds = [claim.lower, *(point.bound for point in claim.trace)]
        worst = max((b for b in bounds if not np.isinf(b)), default=None)
        if np.any(np.isnan(bounds)) or (np.inf in bounds and exact.labels is not None):
            found.append(f"{way}: a bound is {max(bounds)}")
        elif worst is not None and Decimal(worst) > exact.value:
            above = Decimal(worst) - exact.value
            found.append(
                f"{way}: bound {worst!r} above the optimum by {above:.2e} ({above / max(1, abs(exact.value)):.1e})"
            )
        if (claim.labels is None and claim.status == "infeasible") != (exact.labels is None):
            found.append(f"{way}: {claim.status}, but the optimum is {exact.value:.10g}")
    return found


def assault(family: str, count: int, ways: frozenset[str]) -> None:
    found = []
    for seed in range(count):
        problem = nasty_problem(family, np.random.default_rng([seed, FAMILIES.index(family), 61]))
        assert covers(problem)
        found += [
            f"{family} {seed}, {text}" for text in findings(seed, problem, exact_optimum(problem), ways)
        ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_bound_above_the_exact_optimum(family: str) -> None:
    """The quick engines on a few problems of every nasty family."""
    assault(family, 5, QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_no_bound_of_any_engine_above_the_exact_optimum(family: str) -> None:
    """All certified engines on many more."""
    assault(family, 60, WAYS)


@pytest.mark.slow
def test_ordinary_problems_too() -> None:
    """The soundness program's problems, as far as their optimum can be computed exactly."""
    found = []
    for seed in range(400):
        problem = random_problem(np.random.default_rng([seed, 62]), max_samples=7)
        if covers(problem):
            found += [f"{seed}, {text}" for text in findings(seed, problem, exact_optimum(problem), WAYS)]
    assert not found, "\n".join(found)


def test_evaluator_agrees() -> None:
    """The package's evaluator and enumeration agree with the exact ones up to rounding on well-scaled problems."""
    compared = 0
    for seed in range(30):
        problem = random_problem(np.random.default_rng([seed, 63]), max_samples=6)
        if not covers(problem):
            continue
        exact, truth = exact_optimum(problem), find_truth(problem)
        assert truth.infeasible == (exact.labels is None)
        if exact.labels is not None:
            close = 1e-6 * max(1.0, abs(truth.optimum))
            assert abs(float(exact.value) - truth.optimum) < close
            assert abs(float(exact_value(problem, truth.labels)) - truth.optimum) < close
            compared += 1
    assert compared > 10
