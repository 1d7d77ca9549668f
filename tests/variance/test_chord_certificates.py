"""Certificates for an unknown variance: the checker accepts them, and no forged ones."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import certmix
from certmix.io.certificates import Certificate
from certmix.problem import CannotLink, DirichletPrior, GaussianPrior, MustLink, Problem
from certmix.verify.check import check
from random_instances import random_problem
from unknown_variance import truth_with_variance, with_unknown_variance


def data(n: int = 14, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)) + 4.0 * (np.arange(n) % 2)[:, None]


@pytest.fixture(scope="module")
def proved() -> tuple[Problem, Certificate]:
    problem = Problem(data(), 2, variance="unknown")
    result = certmix.solve(problem, certificate=True, gap=1e-5)
    assert result.certificate_level == "verified", result.verification
    assert result.certificate is not None
    return problem, result.certificate


def test_it_is_verified_from_its_files(proved: tuple[Problem, Certificate], tmp_path: Any) -> None:
    """Written and read again, it is checked without what the program knew; another problem is told apart."""
    problem, certificate = proved
    assert certificate.document["claim"] == "chord"
    certificate.save(tmp_path / "certificate")
    verdict = certmix.verify(tmp_path, problem)
    assert verdict.verified, verdict.sentence
    assert "any variance" in verdict.sentence
    known = Problem(problem.data, 2, variance=1.0)
    assert "covariance" in certmix.verify(tmp_path, known).sentence
    ranged = Problem(problem.data, 2, variance="unknown", variance_range=(0.1, None))
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
    assert "known" in check(document, known.arrays, problem.data).sentence
    document = {**certificate.document, "claim": "sum"}
    assert "unknown" in check(document, certificate.arrays, problem.data).sentence


@pytest.mark.parametrize(
    "options",
    [
        {"covariance": np.array([[2.0, 0.5], [0.5, 1.0]])},
        {"covariance": np.stack([np.eye(2), np.diag([2.0, 0.5])])},
        {"variance_range": (0.5, 1.5)},
        {"variance_range": (2.5, None)},
        {"weights": "uniform"},
        {"weights": [0.3, 0.7]},
        {"prior": [GaussianPrior(0.0, 25.0), DirichletPrior(2.0)]},
        {"mean_bounds": (0.5, 3.5)},
        {"estimators": ["weights"], "weight_bounds": (0.3, 0.7)},
        {"constraints": [MustLink(0, 2), CannotLink(1, 3)]},
        {"allow_empty": True},
    ],
)
def test_options_are_certified(options: dict[str, Any]) -> None:
    """Whatever the problem asks for, the proof is accepted."""
    problem = Problem(data(10), 2, variance="unknown", **options)
    result = certmix.solve(problem, certificate=True, gap=1e-5)
    assert result.certificate_level == "verified", result.verification
    assert certmix.verify(result.certificate, problem).verified


def test_parts_inside_are_sums_inside() -> None:
    """With the engine parts every proof at a known variance is a sum, and the checker goes down to its parts."""
    problem = Problem(data(40), 2, variance="unknown")
    result = certmix.solve(problem, "parts", part_size=20, certificate=True, gap=1e-2)
    assert result.certificate_level == "verified", result.verification
    assert result.certificate is not None
    assert any("parts" in part for part in result.certificate.document["parts"])
    assert certmix.verify(result.certificate, problem).verified


def test_verified_bounds_agree_with_enumeration() -> None:
    """What the checker accepts is true."""
    accepted = 0
    for seed in range(300, 325):
        rng = np.random.default_rng([seed, 77])
        problem = with_unknown_variance(random_problem(rng, max_samples=5, max_components=3), rng)
        truth = truth_with_variance(problem)
        if truth.infeasible or not np.isfinite(truth.optimum):
            continue
        result = certmix.solve(problem, certificate=True, gap=1e-4, time_limit=30)
        if result.certificate is not None:
            verdict = certmix.verify(result.certificate, problem)
            accepted += verdict.verified
            assert verdict.bound <= truth.optimum + 1e-8 * max(1.0, abs(truth.optimum)), f"seed {seed}"
    assert accepted >= 15
