"""Certificates for an unknown variance: the checker accepts them, and no forged ones."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import certmix
from certmix.certificate.statement import state
from certmix.io.certificates import Certificate
from certmix.problem import Problem
from certmix.verify.check import VERSION, check
from certmix.verify.statement import data_digest, digest


def data(n: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    return rng.normal(size=(n, 2)) + 4.0 * (np.arange(n) % 2)[:, None]


@pytest.fixture(scope="module")
def proved() -> tuple[Problem, Certificate]:
    problem = Problem(
        data(7), 2, variance="unknown", weight_bounds=(0.01, 1.0)
    )  # a bound of the squares is needed
    found = certmix.solve(problem, certificate=True, gap=1e-5).certificate
    return problem, found or Certificate({})  # a test says so if there is none


def test_bounds_at_known_variances_may_be_enough() -> None:
    """They say how fast the objective rises, too: no bound of the sum of squares is needed, and it is not claimed."""
    problem = Problem(data(7), 2, variance="unknown")
    found = certmix.solve(problem, certificate=True, gap=1e-5)
    assert found.status == "optimal"
    assert found.certificate is not None
    document, arrays = dict(found.certificate.document), found.certificate.arrays
    assert not any(part["squares"] for part in document["parts"])
    assert check(document, arrays, problem.data).verified
    assert not check({**document, "bound": document["objective"]}, arrays, problem.data).verified


def test_it_is_verified_from_its_files(proved: tuple[Problem, Certificate], tmp_path: Any) -> None:
    """Written and read again, it is checked without what the program knew; another problem is told apart."""
    problem, certificate = proved
    assert certificate.document["claim"] == "chord"
    certificate.save(tmp_path / "certificate")
    verdict = certmix.verify(tmp_path, problem)
    assert verdict.verified, verdict.sentence
    assert "any variance" in verdict.sentence
    known = problem.replace(variance=1.0)
    assert "covariance" in certmix.verify(tmp_path, known).sentence
    ranged = problem.replace(variance="unknown", variance_range=(0.1, None))
    assert "covariance" in certmix.verify(tmp_path, ranged).sentence


def drop(where: int) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    def forge(document: dict[str, Any], arrays: dict[str, Any]) -> None:
        del document["parts"][where]
        count = len(document["parts"])
        kept = [t for t in range(count + 1) if t != where]
        for new, old in enumerate(kept):
            for name in [n for n in arrays if n.startswith(f"parts/{old}/")]:
                arrays[f"parts/{new}/" + name.removeprefix(f"parts/{old}/")] = arrays[name]

    return forge


def scaled(factor: float) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    def forge(document: dict[str, Any], arrays: dict[str, Any]) -> None:
        part = next(p for p in document["parts"] if not p["squares"])
        part["scale"] *= factor

    return forge


def swapped(document: dict[str, Any], arrays: dict[str, Any]) -> None:
    one, other = (p for p in document["parts"] if not p["squares"])
    one["bound"], other["bound"] = other["bound"], one["bound"]


def raised(document: dict[str, Any], arrays: dict[str, Any]) -> None:
    document["parts"][1]["bound"] += 0.5


def all_squares(document: dict[str, Any], arrays: dict[str, Any]) -> None:
    for part in document["parts"]:
        part["squares"] = True


def no_squares(document: dict[str, Any], arrays: dict[str, Any]) -> None:
    document["parts"][0]["squares"] = False


def higher(document: dict[str, Any], arrays: dict[str, Any]) -> None:
    document["bound"] += 1e-3


def another_variance(document: dict[str, Any], arrays: dict[str, Any]) -> None:
    arrays["incumbent/variance"] = 1.1 * arrays["incumbent/variance"]


def negative_variance(document: dict[str, Any], arrays: dict[str, Any]) -> None:
    arrays["incumbent/variance"] = -arrays["incumbent/variance"]


def called_known(document: dict[str, Any], arrays: dict[str, Any]) -> None:
    document["claim"] = "bound"
    document["steps"] = document["parts"][1]["steps"]


FORGED = [drop(0), drop(1), drop(2), scaled(0.9), scaled(1.1), scaled(-1.0), swapped, raised, all_squares]
FORGED += [no_squares, higher, another_variance, negative_variance, called_known]


@pytest.mark.parametrize("forge", FORGED)
def test_a_forged_one_is_rejected(
    proved: tuple[Problem, Certificate], forge: Callable[[dict[str, Any], dict[str, Any]], None]
) -> None:
    """A tampered scale, a part that is gone, swapped or raised bounds, another variance: nothing passes."""
    problem, certificate = proved
    document, arrays = copy.deepcopy(dict(certificate.document)), dict(certificate.arrays.items())
    assert check(document, arrays, problem.data).verified
    forge(document, arrays)
    assert not check(document, arrays, problem.data).verified


def test_a_statement_of_an_unknown_variance_needs_chords(proved: tuple[Problem, Certificate]) -> None:
    """A certificate at a known variance says nothing about an unknown one, and the other way round."""
    problem, certificate = proved
    known = certmix.solve(problem.at_scale(1.0), certificate=True).certificate
    assert known is not None
    document = {**known.document, "claim": "chord", "parts": []}
    assert "those of 'sum'" in check(document, known.arrays, problem.data).sentence
    document = {**certificate.document, "claim": "sum"}
    assert "those of 'chord'" in check(document, certificate.arrays, problem.data).sentence
    document = {name: entry for name, entry in document.items() if name != "parts"} | {"claim": "bound"}
    assert "those of 'chord'" in check(document, certificate.arrays, problem.data).sentence


def test_a_variance_outside_of_its_range_is_rejected() -> None:
    """However good the clustering would be there."""
    free = Problem(data(7), 2, variance="unknown")
    bound = Problem(data(7), 2, variance="unknown", variance_range=(2.5, None))
    result = certmix.solve(bound, certificate=True)
    assert result.certificate is not None
    document, arrays = (
        copy.deepcopy(dict(result.certificate.document)),
        dict(result.certificate.arrays.items()),
    )
    assert check(document, arrays, bound.data).verified
    best = free.objective.best(result.labels)
    arrays["incumbent/variance"], document["objective"] = np.array([best.variance]), best.value
    document["bound"] = best.value - 100.0
    assert "range" in check(document, arrays, bound.data).sentence


def test_a_shape_does_not_underflow() -> None:
    """Times a scale, a shape of 1e-320 is rounded by a third of itself: bounds there are not those of the scale."""
    unit, samples = 5e-324, np.array([[-1.0], [1.0], [2.0], [-2.0]])
    shape = 2000 * unit
    entry = json.loads(json.dumps(state(Problem(samples, 1, variance=1.0))))
    samples *= math.sqrt(4 * 2000 / 2.5) / math.sqrt(shape) / math.sqrt(10.0)
    squares = float(((samples * math.sqrt(shape)) ** 2).sum())
    truth = 2.0 * (1.0 + math.log(squares / 4.0))
    entry |= {"precision": [[shape]], "variance": [0.0, None]}
    scales = [(half + 0.5) / 2000 for half in (1, 3, 5, 7, 9, 11)]
    bounds = [0.5 * squares * (t * shape / shape) * (1 - 1e-9) for t in scales]
    steps = [{"node": 0, "kind": "enumerate"}]
    parts = [
        {"scale": t, "squares": False, "bound": b, "steps": steps}
        for t, b in zip(scales, bounds, strict=True)
    ]
    tree = {"parent": [-1], "kind": [0], "args": [[0, 0, 0]]}
    arrays = {f"parts/{t}/tree/{name}": np.array(a) for t in range(len(parts)) for name, a in tree.items()}
    arrays |= {"incumbent/labels": np.zeros(4, dtype=int), "incumbent/means": np.zeros((1, 1))}
    arrays |= {"incumbent/weights": np.ones(1), "incumbent/variance": np.array([2000 / 3.5])}
    document = {
        "format": "certmix-certificate",
        "version": VERSION,
        "claim": "chord",
        "statement": entry,
        "digests": {"statement": digest(entry), "data": data_digest(samples)},
        "objective": 15.896278982093428,
        "bound": truth + 0.3,
        "parts": parts,
    }
    assert "underflow" in check(document, arrays, samples).sentence
