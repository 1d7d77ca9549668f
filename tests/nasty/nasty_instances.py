"""Small problems that are hard on the arithmetic: far from the origin, badly scaled, tied, nearly singular."""

from __future__ import annotations

from typing import Any

import numpy as np

from certmix.problem import CannotLink, DirichletPrior, GaussianPrior, MinimumSize, MustLink, Problem
from certmix.problem.constraints import Constraint

FAMILIES = (
    "scales", "columns", "offset", "ties", "tiny gaps", "duplicates", "nearly singular", "own precisions",
    "heavy groups", "extreme weights", "extreme priors", "boxes", "side constraints",
)  # fmt: skip


def nasty_problem(family: str, rng: np.random.Generator) -> Problem:
    """A random problem of a family."""
    n, d = int(rng.integers(4, 8)), int(rng.integers(1, 4))
    K = int(rng.integers(2, 4 if n < 7 else 3))
    y = rng.normal(size=(n, d)) + rng.choice([0.0, 3.0]) * rng.integers(0, 2, size=(n, 1))
    given: dict[str, Any] = {"variance": 10.0 ** rng.uniform(-2, 0.5)}
    scale = 1.0
    if family == "scales":
        scale = 10.0 ** rng.integers(-8, 9)
        y *= scale
        if rng.random() < 0.7:  # else the variance is off by sixteen orders of magnitude
            given["variance"] *= scale**2
    elif family == "columns":
        sizes = 10.0 ** rng.integers(-3, 4, size=d)  # beyond, the precision counts as singular
        y *= sizes
        given = {"precision": np.diag(rng.uniform(0.3, 3.0, d) / sizes**2)}
    elif family == "offset":
        scale = 10.0 ** rng.integers(-6, 1)
        y = y * scale + rng.choice([1e6, -1e6, 1e9], size=d) * rng.uniform(0.5, 1.5, size=d)
        given["variance"] *= scale**2
    elif family == "ties":
        y = rng.integers(-2, 3, size=(n, d)).astype(float) * rng.choice([1.0, 0.1, 1e6])
        y[0] += np.where(np.ptp(y, axis=0) == 0, 1.0, 0.0)
        given["variance"] = float(rng.choice([0.5, 1.0, 4.0]))
    elif family == "tiny gaps":
        y = np.linspace(-1.0, 1.0, n)[:, None] * rng.choice([-1.0, 1.0], size=d)
        y += 10.0 ** rng.integers(-16, -8) * rng.normal(size=(n, d))
    elif family == "duplicates":
        few = rng.normal(size=(3, d)) * rng.choice([1e-4, 1.0, 1e4])
        y = few[np.concatenate([np.arange(3), rng.integers(0, 3, size=n - 3)])]
    elif family == "nearly singular":
        d = max(d, 2)
        y = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-2, 3)
        y += rng.choice([0.0, 0.0, 1e3, 1e6])
        given = {str(rng.choice(["precision", "covariance"])): _ill(rng, d)}
    elif family == "own precisions":
        d = max(d, 2)
        y = rng.normal(size=(n, d)) + rng.choice([0.0, 1e4])
        given = {"covariance": np.stack([_ill(rng, d) for _ in range(K)])}
    given |= _model(family, rng, y, K)
    return Problem(given.pop("data", y), K, **given)


def _ill(rng: np.random.Generator, d: int) -> np.ndarray:
    """A rotated positive definite matrix whose condition is up to 1e12."""
    rotation = np.linalg.qr(rng.normal(size=(d, d)))[0]
    values = 10.0 ** rng.uniform(-rng.choice([4, 8, 11.5]), 0.0, size=d)
    values[0] = 1.0
    matrix = (rotation * values) @ rotation.T
    return np.asarray(0.5 * (matrix + matrix.T))


def _model(family: str, rng: np.random.Generator, y: np.ndarray, K: int) -> dict[str, Any]:
    n, d = y.shape
    spread = float(np.ptp(y, axis=0).max())
    if family == "heavy groups":
        heavy = int(rng.integers(5, 40))
        first = np.repeat(y[:1], heavy, axis=0) + rng.normal(size=(heavy, d)) * rng.choice([0.0, 1e-8, 1.0])
        data = np.concatenate([first, y[1:]])
        return {"data": data, "constraints": [MustLink(*range(heavy))]}
    if family == "extreme weights":
        small = 10.0 ** -rng.integers(3, 15)
        weights = np.full(K, small)
        weights[-1] = 1.0 - small * (K - 1)
        return {"weights": weights}
    if family == "extreme priors":
        parts = [
            DirichletPrior(10.0 ** rng.uniform(0, 8, K)) if rng.random() < 0.5 else DirichletPrior(1e-3),
            GaussianPrior(y[0] * rng.choice([1.0, 1e3]), spread**2 * 10.0 ** rng.integers(-10, 11)),
        ]
        return {"prior": [parts[i] for i in range(2) if rng.random() < 0.7]}
    if family == "boxes":
        middle = y.mean(axis=0)
        return {
            "mean_bounds": (
                middle - 10.0 ** rng.integers(-9, 1),
                middle + rng.choice([0.0, 1e-9, 1.0, np.inf]),
            )
        }
    if family == "side constraints":
        found: list[Constraint] = [CannotLink(0, 1), MinimumSize(2 if n >= 2 * K else 1)]
        return {"constraints": found}
    return {"weights": "uniform"} if rng.random() < 0.3 else {}
