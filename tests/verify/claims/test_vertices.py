"""Vertices of a polyhedron of clusterings: exact, none lost, and never above the best clustering."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

from certmix.certificate.statement import state
from certmix.problem import GaussianPrior, Problem
from certmix.problem.envelope import Envelope, rise
from certmix.verify.claims.chords import least_weight_cost, most_weight_cost, scales
from certmix.verify.claims.vertices import Bounds, Polyhedron
from certmix.verify.statement import read


def by_enumeration(rows: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The vertices of ``rows x >= right``: all that d + 1 of them determine and the others allow."""
    found = []
    for some in map(list, itertools.combinations(range(len(rows)), rows.shape[1])):
        if abs(np.linalg.det(rows[some])) > 1e-9:
            x = np.linalg.solve(rows[some], right[some])
            if (rows @ x >= right - 1e-7).all():
                found.append(x)
    return np.unique(np.round(found, 6), axis=0)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_vertices_are_those_of_enumeration(d: int, seed: int) -> None:
    """All of them and no others, also where many half-spaces meet in one point."""
    rng = np.random.default_rng([seed, d])
    cuts = rng.integers(1, 6, (6, d)).astype(float)
    bounds = rng.integers(10, 30, 6).astype(float)
    polyhedron = Polyhedron([1.0] * d, 2.0)
    polyhedron.cut([0.0] * d, -12.0, -1.0)
    for at, bound in zip(cuts, bounds, strict=True):
        polyhedron.cut(at.tolist(), float(bound))
    rows = np.vstack([np.eye(d + 1), np.append(np.zeros(d), -1.0), np.column_stack([cuts, np.ones(6)])])
    right = np.concatenate([np.ones(d), [2.0, -12.0], bounds])
    found = np.unique(np.round(np.array(list(polyhedron.vertices()), dtype=float), 6), axis=0)
    assert np.array_equal(found, by_enumeration(rows, right))


@pytest.mark.parametrize("ranged", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_bounds_are_never_above_the_best_clustering(seed: int, ranged: bool) -> None:
    """Half-spaces at lowest vertices: always below the truth, which is reached after a few, in a range as well."""
    rng, d, n = np.random.default_rng([seed, 5]), 2 + seed % 2, 30
    limits = (0.05, 0.6) if ranged else None
    problem = Problem(rng.normal(size=(n, d)), 3, variance="diagonal", variance_range=limits)
    stated = read(json.loads(json.dumps(state(problem))))
    squares = rng.uniform(1.0, 30.0, (40, d))
    rest = rng.uniform(10.0, n * math.log(3.0), 40)
    low, high = (1.0 / 0.6, 1.0 / 0.05) if ranged else (0.0, math.inf)
    at = np.clip(0.5 * n / squares, low, high)
    truth = float(((at * squares) - 0.5 * n * np.log(at)).sum(axis=1).__add__(rest).min())
    least = zip(np.eye(d).tolist(), squares.min(axis=0).tolist(), strict=True)
    bounds = Bounds(stated, [(axis, one, 0.0) for axis, one in least])
    for _ in range(40):
        found, where = bounds.lowest()
        assert found <= truth
        if found >= truth - 1e-6:
            return
        bounds.polyhedron.cut(where, float((squares @ where + rest).min()))
    pytest.fail("the truth was not reached")


def test_nothing_keeps_a_variance_from_zero() -> None:
    """Without a bound of the squares and a smallest variance there is none; one at known variances is not enough."""
    problem = Problem(np.random.default_rng(0).normal(size=(8, 2)), 2, variance="diagonal")
    stated = read(json.loads(json.dumps(state(problem))))
    cuts = [([0.0, 1.0], 1.0, 0.0), ([1.0, 1.0], 20.0, 1.0)]
    assert Bounds(stated, cuts).lowest()[0] == -math.inf


@pytest.mark.parametrize("close", [False, True])
@pytest.mark.parametrize("seed", range(150))
def test_vertices_are_never_below_the_envelope_of_a_run(seed: int, close: bool) -> None:
    """Whatever a run proves by chords the checker finds too, to the last bit: else certificates would fail."""
    rng = np.random.default_rng([seed, 11])
    n, d, limits = int(rng.integers(3, 60)), int(rng.integers(1, 4)), None
    if rng.random() < 0.5:
        low, high = np.sort(10.0 ** rng.uniform(-3, 3, 2))
        limits = (float(low) if rng.random() < 0.7 else 0.0, float(high) if rng.random() < 0.7 else None)
    options = {} if rng.random() < 0.7 else {"prior": GaussianPrior(0.0, 1.0)}
    problem = Problem(
        rng.normal(size=(n, d)), min(n, 3), variance="unknown", variance_range=limits, **options
    )
    s = read(json.loads(json.dumps(state(problem))))
    squares, rest = 10.0 ** rng.uniform(-2, 3, 9), rng.uniform(0.0, n * math.log(3.0), 9)
    at = 10.0 ** rng.uniform(-3, 4, int(rng.integers(1, 9)))
    at = at[0] * (1.0 + 1e-9 * np.arange(len(at))) if close else at
    points = {float(t): float((t * squares + rest).min()) for t in at}
    slope = float(squares.min()) * (rng.random() < 0.5)
    found = Bounds(s, [*(([t], bound, 1.0) for t, bound in points.items()), ([1.0], slope, 0.0)]).lowest()[0]
    points[0.0] = least_weight_cost(s)
    risen = max(slope, rise(points, most_weight_cost(s)))
    ends = scales(s.variances)
    assert found >= Envelope(sorted(points.items()), risen, 0.5 * n * d, *ends).bound
