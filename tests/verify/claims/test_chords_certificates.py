"""Certificates for an unknown variance: they are made and accepted, whatever the problem asks for, and are true."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import certmix
from certmix.problem import CannotLink, DirichletPrior, GaussianPrior, MustLink, Problem
from random_instances import random_problem
from unknown_variance import truth_with_variance, with_unknown_variance


def data(n: int = 14, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)) + 4.0 * (np.arange(n) % 2)[:, None]


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
