"""The owner of the incumbent: a clustering has one value, however its components are numbered."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

from certmix.concluding import build_result
from certmix.ledger import Ledger
from certmix.options import Options
from certmix.problem import DirichletPrior, GaussianPrior, Problem
from certmix.status import Termination

PROBLEMS: dict[str, dict[str, Any]] = {
    "free weights": {"variance": 0.3},
    "sums of squares": {"weights": "uniform"},
    "an unknown variance": {"variance": "unknown"},
    "a prior": {"variance": 0.3, "prior": [GaussianPrior(0.1, 0.7), DirichletPrior(1.3)]},
}


def new_ledger(problem: Problem) -> Ledger:
    return Ledger(problem, Options().tolerances_of(problem.quantity))


@pytest.mark.parametrize("options", PROBLEMS.values(), ids=PROBLEMS.keys())
def test_a_clustering_has_one_value(options: dict[str, Any]) -> None:
    """Whoever offers it, with whatever numbers for interchangeable components: to the last digit."""
    rng = np.random.default_rng(5)
    for _ in range(10):
        problem = Problem(rng.normal(size=(17, 2)) / 3.0, 4, **options)
        labels = np.concatenate([np.arange(4), rng.integers(4, size=13)])
        values = set()
        for numbers in permutations(range(4)):
            ledger = new_ledger(problem)
            assert ledger.offer(np.array(numbers)[labels], "test")
            values.add(ledger.upper)
        assert len(values) == 1


def test_a_result_has_the_value_of_its_labels() -> None:
    """Its components are in order, and scoring it anew, as a run that goes on does, changes nothing."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        problem = Problem(
            rng.normal(size=(17, 2)), 4, variance=0.3, prior=DirichletPrior([1.0, 1.0, 1.0, 2.0])
        )
        ledger = new_ledger(problem)
        ledger.offer(np.concatenate([np.arange(4), rng.integers(4, size=13)]), "test")
        result = build_result(problem, ledger, engine="test", termination=Termination.NODES)
        assert result.labels is not None
        assert result.objective == problem.objective.best(result.labels).value
        later = new_ledger(problem)
        later.offer(result.labels, "resumed")
        assert later.upper == ledger.upper
