"""What SCIP tells while it runs, before any allowance is taken off."""

from __future__ import annotations

import gc
import math

import numpy as np
import pytest

from certmix.paper.formulation.approximation import first_approximation
from certmix.paper.formulation.minlp import minlp
from certmix.paper.formulation.miqp import miqp
from certmix.paper.formulation.model import Formulation
from certmix.paper.formulation.scip import Scip
from certmix.paper.formulation.solvers import Ending, Limits, Watch
from certmix.presolve.instance import reduce
from certmix.problem import Problem
from random_instances import random_problem
from soundness import find_truth

COLD = Limits(seconds=5.0, nodes=None, threads=1, seed=0, start=False)


def model(name: str, problem: Problem) -> Formulation:
    if name == "minlp":
        return minlp(reduce(problem))
    approximation = first_approximation(problem, "tangent", 6, True)
    return miqp(reduce(problem), None if approximation is None else approximation.logarithms)


@pytest.mark.parametrize("name", ["minlp", "miqp"])
def test_no_bound_is_told_that_exceeds_the_optimum(name: str) -> None:
    """Neither while SCIP runs without a first incumbent, nor when its model is taken down afterwards."""
    told: list[float] = []

    def bound(value: float, nodes: int, open_nodes: int) -> bool:
        told.append(value)
        return False

    for number in range(6):
        problem = random_problem(np.random.default_rng([number, 35]), max_samples=5)
        truth = find_truth(problem)
        if truth.infeasible:
            continue
        told.clear()
        Scip().solve(model(name, problem), Watch(lambda values: None, bound), COLD)
        gc.collect()
        finite = [value for value in told if math.isfinite(value)]
        assert finite
        assert max(finite) <= truth.optimum + 1e-7 * max(1.0, abs(truth.optimum))


def test_a_run_that_is_stopped_tells_nothing_more() -> None:
    """After the watch has asked to stop nothing comes, though SCIP takes its tree down with a meaningless bound."""
    told: list[float] = []

    def bound(value: float, nodes: int, open_nodes: int) -> bool:
        told.append(value)
        return math.isfinite(value)

    problem = Problem(np.random.default_rng(0).normal(size=(12, 2)), 3, variance=1.0)
    ending = Scip().solve(minlp(reduce(problem)), Watch(lambda values: None, bound), COLD)
    gc.collect()
    assert ending is Ending.ASKED
    assert sum(map(math.isfinite, told)) <= 2  # the one that stopped it, and the same at the end
    assert len({value for value in told if math.isfinite(value)}) == 1
