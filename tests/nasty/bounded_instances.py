"""Small problems whose bounds are on the edge: boxes, ties, weights in bounds, at any offset and scale."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from certmix.errors import InfeasibleError, InputError
from certmix.problem import DirichletPrior, GaussianPrior, MustLink, Problem
from certmix.problem.masses import RealWeights

FAMILIES = ("box", "tied box", "tied prior", "weight bounds", "tied weights", "everything", "masses")


def bounded_problem(family: str, rng: np.random.Generator) -> Problem:
    """A random problem of a family; feasible by a hair, infeasible by a hair, or neither."""
    while True:
        try:
            return _drawn(family, rng)
        except (InputError, InfeasibleError):
            continue  # bounds that exclude everything at first sight


def _drawn(family: str, rng: np.random.Generator) -> Problem:
    n, K, d = int(rng.integers(4, 7)), 2, 2 if family == "masses" else int(rng.integers(1, 3))
    scale = float(10.0 ** rng.integers(-10, 11))
    offset = float(rng.choice([0.0, 0.0, 1.7e9, -3e5])) * float(rng.choice([1.0, scale]))
    y = offset + scale * (rng.normal(size=(n, d)) + 4.0 * rng.integers(0, 2, size=(n, 1)))
    if np.any(np.ptp(y, axis=0) == 0):
        raise InputError("an offset swallowed the data")
    given: dict[str, Any] = {"variance": scale**2 * float(10.0 ** rng.uniform(-1, 1))}
    if family == "masses":
        given |= _masses(rng, y, scale)
    every = family == "everything"
    if (
        family in ("box", "tied box")
        or (every and rng.random() < 0.7)
        or (family == "masses" and rng.random() < 0.3)
    ):
        given["mean_bounds"] = _box(rng, np.where(np.isnan(y), offset, y), K, scale)
    if family == "tied prior" or (every and rng.random() < 0.5):
        centre = y[0] + scale * rng.normal(size=d) * float(10.0 ** rng.integers(0, 4))
        given["prior"] = [GaussianPrior(centre, given["variance"] * float(10.0 ** rng.integers(-3, 3)))]
    if family in ("weight bounds", "tied weights") or (every and rng.random() < 0.7):
        given["weight_bounds"] = _weight_bounds(rng, n)
    if rng.random() < 0.2:
        given["prior"] = [*given.get("prior", []), DirichletPrior(rng.uniform(1.0, 3.0, size=K))]
    ties = [e for e in ("means", "weights") if every and rng.random() < 0.5]
    ties += ["means"] * (family in ("tied box", "tied prior")) + ["weights"] * (family == "tied weights")
    return Problem(y, K, estimators=ties, allow_empty=bool(rng.random() < 0.2), **given)


def _masses(rng: np.random.Generator, y: np.ndarray, scale: float) -> dict[str, Any]:
    """Values that are missing, or weights that are a million times others, or both; must-links add them up."""
    given: dict[str, Any] = {"constraints": [MustLink(0, 1)] if rng.random() < 0.5 else []}
    if missing := rng.random() < 0.7:
        y[np.arange(len(y)), rng.integers(2, size=len(y))] = np.where(
            rng.random(len(y)) < 0.6, np.nan, y[:, 0]
        )
        given["missing"] = "keep"
    if not missing or rng.random() < 0.5:
        weight = 10.0 ** rng.uniform(-6, 6, size=len(y))
        given |= {"sample_weight": RealWeights(weight), "weights": rng.choice(["uniform", "none"])}
    if rng.random() < 0.5 and given.get("weights") != "none":
        given["covariance"] = np.stack(
            [np.diag(row) for row in scale**2 * 10.0 ** rng.uniform(-2, 2, size=(2, 2))]
        )
        given["variance"] = None
    elif given.get("weights") == "none":
        given["variance"] = None
    return given


def _box(rng: np.random.Generator, y: np.ndarray, K: int, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Edges at averages of some samples, at doubles next to those, or a little further."""
    n, d = y.shape
    ends = np.empty((2, K, d))
    for k in range(K):
        for j in range(d):
            for side in range(2):
                some = rng.random(n) < rng.choice([0.3, 0.6])
                some[rng.integers(n)] = True
                exact = sum(map(Fraction, y[some, j].tolist()), Fraction(0)) / int(some.sum())
                ends[side, k, j] = float(exact)
    ends = np.sort(ends, axis=0)
    for _ in range(int(rng.integers(0, 3))):
        ends = np.nextafter(ends, rng.choice([-np.inf, np.inf], size=ends.shape))
    ends += scale * rng.choice([0.0, 0.0, 1e-10, -1e-10, 1e-3], size=ends.shape)
    ends = np.sort(ends, axis=0)
    lower = np.where(rng.random((K, d)) < 0.3, -np.inf, ends[0])
    return lower, np.where(rng.random((K, d)) < 0.3, np.inf, ends[1])


def _weight_bounds(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Tiny ones, shares and doubles next to shares, hardly any room."""
    small = float(10.0 ** -rng.integers(1, 16))
    share = float(rng.integers(1, n) / n)
    share = float(np.nextafter(share, rng.choice([0.0, share, 1.0])))
    choices = [
        ([0.0, 0.0], [1.0, small]),
        ([1.0 - small, 0.0], [1.0, 1.0]),
        ([0.0, share], [1.0, 1.0]),
        ([0.0, 0.0], [1.0, share]),
        ([0.0, share], [1.0, share]),
        ([share, 1.0 - share], [1.0, 1.0]),
        ([0.0, 0.0], [share, 1.0 - share]),
        ([share, 0.0], [share + small, 1.0]),
    ]
    low, high = choices[rng.integers(len(choices))]
    turn = int(rng.integers(2))
    return np.roll(np.minimum(low, 1.0), turn), np.roll(np.minimum(high, 1.0), turn)
