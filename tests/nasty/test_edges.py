"""Engines on problems that are feasible or infeasible by a hair, far from the origin and at any scale."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from bounded_instances import FAMILIES, bounded_problem
from exact_optimum import exact_optimum, exact_value

from certmix.engines import engine, why_not
from certmix.errors import InfeasibleError
from certmix.options import Options
from certmix.problem import Problem
from ways.drawing import by_engine

ENGINES = ("enumerate", "interval", "dual", "bnb", "dynamic", "sdp")


def wrong(problem: Problem, names: tuple[str, ...]) -> list[str]:
    """Everything that engines say about a problem and that is not so."""
    exact, found = exact_optimum(problem), []
    for name in names:
        if why_not(engine(name), problem) is not None:
            continue
        claim = by_engine(problem, name, Options(time_limit=20.0, threads=1))
        if (claim.status == "infeasible") != (exact.labels is None):
            found.append(f"{name}: {claim.status}, the optimum is {exact.value:.10g}")
        if exact.labels is not None and Decimal(claim.lower) > exact.value:
            found.append(f"{name}: bound {claim.lower!r} above {exact.value:.20g}")
        if claim.labels is None:
            continue
        if not exact_value(problem, claim.labels).is_finite():
            found.append(f"{name}: {claim.status} with labels that break a bound")
        best = problem.objective.best(claim.labels)
        if np.any(best.means < problem.mean_lower) or np.any(best.means > problem.mean_upper):
            found.append(f"{name}: a mean outside its box")
        if np.any(best.weights < problem.weight_lower) or np.any(best.weights > problem.weight_upper):
            found.append(f"{name}: a weight outside its bounds")
    return found


def run(family: str, seeds: range, names: tuple[str, ...]) -> None:
    found = []
    for seed in seeds:
        problem = bounded_problem(family, np.random.default_rng([seed, FAMILIES.index(family), 82]))
        found += [f"{family} {seed}, {text}" for text in wrong(problem, names)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_engine_breaks_a_bound(family: str) -> None:
    """Infeasible exactly when nothing is feasible; labels, means and weights within their bounds."""
    run(family, range(6), ENGINES[:3])


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_no_engine_breaks_a_bound_of_many(family: str) -> None:
    """The same with all certified engines on many more."""
    run(family, range(100, 180), ENGINES)


@pytest.mark.parametrize("name", ["auto", "enumerate", "interval", "dual", "bnb"])
@pytest.mark.parametrize("offset", [0.0, 1.7e9])
def test_a_box_that_no_average_reaches(name: str, offset: float) -> None:
    """Infeasible at any offset, by much and by a hair; feasible as soon as one sample is on the edge."""
    y = offset + np.array([[0.0], [1.0], [2.0], [5.0], [6.0], [7.0]])
    top = float(y[-1, 0])

    def status(edge: float) -> str:
        bounds = ([[offset], [edge]], [[offset + 3.5], [offset + 9]])
        problem = Problem(y, 2, variance=1.0, mean_bounds=bounds, estimators=["means"])
        try:
            return str(by_engine(problem, name, Options()).status)
        except InfeasibleError:
            return "infeasible"

    assert status(offset + 7.5) == "infeasible"
    assert status(float(np.nextafter(top, np.inf))) == "infeasible"
    assert status(top) == "optimal"
