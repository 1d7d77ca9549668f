"""What the checker's other steps relax is exact where clusterings are looked at one by one."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from claiming import claim

import certmix
from certmix.io.certificates import Certificate
from certmix.problem import GaussianPrior, Problem
from certmix.status import Status
from certmix.verify.check import check

RNG = np.random.default_rng(3)
DATA = np.concatenate([RNG.normal(size=(4, 2)), RNG.normal([2.5, 2.0], size=(4, 2))])
SKEW = np.array([[2.0, 1.4], [1.4, 1.5]])
BOX = (np.array([[-0.2, 0.4], [0.9, -np.inf]]), np.array([[0.1, np.inf], [np.inf, 1.2]]))
CASES: dict[str, dict[str, Any]] = {
    "weights": {"variance": 1.0, "weight_bounds": ([0.7, 0.0], [1.0, 0.2])},
    "box of correlated features": {"precision": SKEW, "mean_bounds": BOX},
    "the same with a prior": {
        "precision": SKEW,
        "mean_bounds": BOX,
        "prior": [GaussianPrior(0.5, 0.3 * SKEW)],
    },
    "averages under a prior": {"variance": 1.0, "estimators": ["means"], "prior": [GaussianPrior(-1.0, 0.2)]},
    "averages in a box": {
        "variance": 1.0,
        "estimators": ["means"],
        "mean_bounds": ([[-0.3, -9.0], [-9.0, -9.0]], 9.0),
    },
}


def certified(name: str) -> tuple[Problem, Certificate]:
    problem = Problem(DATA, 2, **CASES[name])
    result = certmix.solve(problem, "enumerate", gap=1e-9, certificate=True)
    assert result.certificate is not None
    assert result.certificate_level == "verified"
    return problem, result.certificate


@pytest.mark.parametrize("name", CASES)
def test_the_bound_is_as_tight_as_rounding_allows(name: str) -> None:
    """A run that enumerates is verified, whatever binds."""
    problem, certificate = certified(name)
    verdict = check(certificate.document, certificate.arrays, problem.data)
    assert verdict.verified, verdict.sentence
    assert verdict.gap < 1e-7


@pytest.mark.parametrize("name", CASES)
def test_no_other_clustering_is_called_as_good(name: str) -> None:
    """With a worse clustering and its value for a bound, the certificate is rejected."""
    problem, certificate = certified(name)
    optimum, tried = certificate.objective, 0
    for labels in (np.array([(code >> i) & 1 for i in range(8)]) for code in range(1, 255)):
        try:
            found = problem.objective.best(labels)
        except certmix.InfeasibleError:
            continue
        if not optimum + 1e-7 < found.value < optimum + 30.0:
            continue
        tried += 1
        document = copy.deepcopy(dict(certificate.document))
        document["objective"], document["bound"] = found.value, optimum + 1e-7
        incumbent = {"labels": labels, "means": found.means, "weights": found.weights}
        arrays = certificate.arrays | {f"incumbent/{what}": array for what, array in incumbent.items()}
        verdict = check(document, arrays, problem.data)
        assert not verdict.verified
        assert "does not reach the target" in verdict.sentence
    assert tried


def test_averages_that_must_lie_in_a_box_and_cannot() -> None:
    """The average, a third, exceeds the double below it, in exact arithmetic; one unit further it is feasible."""
    data = np.array([[0.0], [0.0], [1.0]])
    third = 1.0 / 3.0  # a double just below a third
    out = Problem(data, 1, variance=1.0, estimators=["means"], mean_bounds=(-1.0, third))
    result = certmix.solve(out, "enumerate", certificate=True)
    assert result.status is Status.INFEASIBLE
    assert result.certificate_level == "verified"
    assert result.certificate is not None
    inside = out.replace(mean_bounds=(-1.0, np.nextafter(third, 1.0)))
    assert check(*claim(out, [], [(0, "enumerate")]), data).verified
    assert not check(*claim(inside, [], [(0, "enumerate")]), data).verified
