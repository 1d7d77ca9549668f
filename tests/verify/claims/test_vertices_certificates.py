"""Certificates for a variance of every feature: made and accepted, true, and not to be forged."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import certmix
from certmix.io.certificates import Certificate
from certmix.problem import CannotLink, DirichletPrior, MustLink, Problem
from certmix.verify.check import check
from certmix.verify.statement import digest
from random_instances import random_problem
from unknown_variance import takes_diagonal, truth_with_variance, with_unknown_diagonal

Forge = Callable[[dict[str, Any], dict[str, Any]], None]


def data(n: int = 10, d: int = 2) -> np.ndarray:
    rng = np.random.default_rng(1)
    spread = np.array([0.4, 2.0, 5.0])[:d]
    return spread * (rng.normal(size=(n, d)) + 3.0 * (np.arange(n) % 2)[:, None])


@pytest.mark.parametrize(
    ("d", "options"),
    [
        (2, {}),
        (3, {}),
        (2, {"variance_range": (0.5, 1.5)}),
        (2, {"variance_range": (2.5, None)}),
        (2, {"weights": "uniform"}),
        (2, {"weight_bounds": (0.1, 0.9)}),
        (2, {"prior": DirichletPrior(2.0)}),
        (2, {"estimators": ["weights"], "weight_bounds": (0.3, 0.7)}),
        (2, {"constraints": [MustLink(0, 2), CannotLink(1, 3)]}),
        (2, {"constraints": [CannotLink(0, 2, penalty=1.5)]}),
        (2, {"sample_weight": [1, 2, 1, 1, 1, 1, 3, 1, 1, 1]}),
        (2, {"allow_empty": True}),
    ],
)
def test_options_are_certified(d: int, options: dict[str, Any]) -> None:
    """Whatever the problem asks for, the proof is accepted."""
    problem = Problem(data(d=d), 2, variance="diagonal", **options)
    result = certmix.solve(problem, certificate=True, verify=True, gap=1e-5)
    assert result.certificate_level == "verified", result.verification
    assert certmix.verify(result.certificate, problem).verified


def test_verified_bounds_agree_with_enumeration() -> None:
    """What the checker accepts is true."""
    accepted = 0
    for seed in range(400, 425):
        rng = np.random.default_rng([seed, 79])
        while not takes_diagonal(drawn := random_problem(rng, max_samples=5, max_components=3)):
            pass
        problem = with_unknown_diagonal(drawn, rng)
        truth = truth_with_variance(problem)
        if truth.infeasible or not np.isfinite(truth.optimum):
            continue
        result = certmix.solve(problem, certificate=True, verify=True, gap=1e-4, time_limit=30)
        if result.certificate is not None:
            verdict = certmix.verify(result.certificate, problem)
            accepted += verdict.verified
            assert verdict.bound <= truth.optimum + 1e-8 * max(1.0, abs(truth.optimum)), f"seed {seed}"
    assert accepted >= 6


def test_numbers_of_components_are_compared() -> None:
    """A variance for every feature is so many parameters, for the checker too."""
    found = certmix.path(data(12), "1:3", variance="diagonal", variance_range=(0.01, None), verify=True)
    assert found.level == "verified", found.notes


@pytest.fixture(scope="module")
def proved() -> tuple[Problem, Certificate]:
    problem = Problem(data(7), 2, variance="diagonal", weight_bounds=(0.01, 1.0))
    found = certmix.solve(problem, certificate=True, verify=True, gap=1e-5).certificate
    return problem, found or Certificate({})  # a test says so if there is none


def at_variances(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [part for part in document["parts"] if "feature" not in part]


def drop(which: str) -> Forge:
    def forge(document: dict[str, Any], arrays: dict[str, Any]) -> None:
        parts = document["parts"]
        where = next(t for t, part in enumerate(parts) if ("feature" in part) == (which == "feature"))
        del parts[where]
        for new, old in enumerate(t for t in range(len(parts) + 1) if t != where):
            for name in [n for n in arrays if n.startswith(f"parts/{old}/")]:
                arrays[f"parts/{new}/" + name.removeprefix(f"parts/{old}/")] = arrays[name]

    return forge


def scaled(factor: float) -> Forge:
    def forge(document: dict[str, Any], arrays: dict[str, Any]) -> None:
        at_variances(document)[0]["scale"][1] *= factor

    return forge


def raised(document: dict[str, Any], arrays: dict[str, Any]) -> None:
    at_variances(document)[-1]["bound"] += 0.5


def feature_raised(document: dict[str, Any], arrays: dict[str, Any]) -> None:
    next(part for part in document["parts"] if "feature" in part)["bound"] += 0.5


def features_exchanged(document: dict[str, Any], arrays: dict[str, Any]) -> None:
    for part in document["parts"]:
        if "feature" in part:
            part["feature"] = 1 - part["feature"]


def no_such_feature(document: dict[str, Any], arrays: dict[str, Any]) -> None:
    next(part for part in document["parts"] if "feature" in part)["feature"] = -1


def one_scale(document: dict[str, Any], arrays: dict[str, Any]) -> None:
    part = at_variances(document)[0]
    part["scale"] = part["scale"][0]


def higher(document: dict[str, Any], arrays: dict[str, Any]) -> None:
    document["bound"] = document["objective"] + 1e-9


def another_variance(document: dict[str, Any], arrays: dict[str, Any]) -> None:
    arrays["incumbent/variance"] = arrays["incumbent/variance"] * [1.1, 1.0]


def one_variance(document: dict[str, Any], arrays: dict[str, Any]) -> None:
    arrays["incumbent/variance"] = arrays["incumbent/variance"][:1]


def stated_otherwise(**changes: Any) -> Forge:
    def forge(document: dict[str, Any], arrays: dict[str, Any]) -> None:
        document["statement"] = {**document["statement"], **changes}
        document["digests"]["statement"] = digest(document["statement"])

    return forge


FORGED = [drop("feature"), drop("variances"), scaled(0.9), scaled(1.1), scaled(-1.0), raised, feature_raised]
FORGED += [features_exchanged, no_such_feature, one_scale, higher, another_variance, one_variance]
FORGED += [stated_otherwise(variance=[0.0, None]), stated_otherwise(variance=[0.0, None, "each"])]
FORGED += [stated_otherwise(precision=[[2.0, 1.0]]), stated_otherwise(variance=[0.0, 1e-3, "each feature"])]


@pytest.mark.parametrize("forge", FORGED)
def test_a_forged_one_is_rejected(proved: tuple[Problem, Certificate], forge: Forge) -> None:
    """A tampered scale or statement, a part that is gone or about another feature, raised bounds: nothing passes."""
    problem, certificate = proved
    document, arrays = copy.deepcopy(dict(certificate.document)), dict(certificate.arrays.items())
    assert check(document, arrays, problem.data).verified
    forge(document, arrays)
    assert not check(document, arrays, problem.data).verified


def test_a_scale_is_positive(proved: tuple[Problem, Certificate]) -> None:
    """It is refused as one, before anything is made of it."""
    problem, certificate = proved
    document, arrays = copy.deepcopy(dict(certificate.document)), dict(certificate.arrays.items())
    scaled(-1.0)(document, arrays)
    assert "does not say which problem it is about" in check(document, arrays, problem.data).sentence
