"""Simplices of scales: never above the truth, however they are cut, and exact where g is linear."""

from __future__ import annotations

import math

import numpy as np
import pytest

from certmix.variance.simplices import Simplices, least

HALF = 30.0


def lines(rng: np.random.Generator, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Half sums of squares in every feature, and rests, of some clusterings; their least cost is g."""
    m = int(rng.integers(1, 8))
    return 10.0 ** rng.uniform(-1, 1.5, (m, d)), rng.uniform(-20, 60, m)


def g(found: tuple[np.ndarray, np.ndarray], t: np.ndarray) -> float:
    return float((found[0] @ t + found[1]).min())


def optimum(found: tuple[np.ndarray, np.ndarray], low: np.ndarray, high: np.ndarray) -> float:
    """The least objective in a box: every clustering has its own best scales in closed form."""
    at = np.clip(HALF / found[0], low, high)
    return float(((found[0] * at).sum(axis=1) + found[1] - HALF * np.log(at).sum(axis=1)).min())


@pytest.mark.parametrize("seed", range(60))
def test_a_simplex_is_never_above(seed: int) -> None:
    """At thousands of points of random simplices with exact corners."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 4))
    found = lines(rng, d)
    corners = 10.0 ** rng.uniform(-2, 2, (d + 1, d))
    bounds = np.array([g(found, t) for t in corners])
    bound, shares = least(corners, bounds, HALF)
    assert shares.sum() == pytest.approx(1.0)
    points = rng.dirichlet(np.full(d + 1, 0.4), 2000) @ corners
    values = [g(found, t) - HALF * np.log(t).sum() for t in (*points, *corners)]
    assert bound <= min(values)


@pytest.mark.parametrize("d", [2, 3])
def test_a_simplex_is_exact_where_g_is_linear(d: int) -> None:
    """The minimum inside, on a face or at a corner is found to a few digits less than rounding."""
    rng = np.random.default_rng(d)
    for _ in range(40):
        squares, rest = 10.0 ** rng.uniform(-1, 1, d), float(rng.normal())
        centre = HALF / squares * 10.0 ** rng.uniform(-0.2, 0.2, d)
        corners = centre * 10.0 ** rng.uniform(-0.5, 0.5, (d + 1, d))
        bounds = corners @ squares + rest
        bound, shares = least(corners, bounds, HALF)
        at = shares @ corners
        value = float(at @ squares + rest - HALF * np.log(at).sum())
        assert bound == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_cutting_keeps_the_whole_box(seed: int) -> None:
    """Cuts at random places and edges, corners learnt one by one: the bound stays below and only rises."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 4))
    found = lines(rng, d)
    low = 10.0 ** rng.uniform(-1, 0, d)
    high = low * 10.0 ** rng.uniform(0.5, 2, d)
    floor = float(found[1].min())
    simplices = Simplices(low, high, HALF, lambda _: floor)
    best, before = optimum(found, low, high), -math.inf
    for _ in range(15):
        piece = simplices.lowest()
        if rng.random() < 0.4:
            new = simplices.split(piece, rng.dirichlet(np.ones(d + 1)))
        elif rng.random() < 0.5:
            new = simplices.split(piece, simplices.longest_edge(piece)[1])
        else:
            new = int(rng.choice(piece.corners))
        simplices.learn(new, g(found, simplices.corners[new].at), 0.0)
        assert before - 1e-9 <= simplices.bound <= best + 1e-9 * max(1.0, abs(best))
        before = simplices.bound
    inside = low + rng.random((300, d)) * (high - low)
    for t in inside:
        assert any(holds(simplices, piece.corners, t) for piece in simplices.pieces)


def holds(simplices: Simplices, corners: tuple[int, ...], t: np.ndarray) -> bool:
    matrix = np.stack([simplices.corners[c].at for c in corners])
    system = np.vstack([matrix.T / t[:, None], np.ones(len(corners))])
    shares = np.linalg.lstsq(system, np.append(np.ones(len(t)), 1.0), rcond=None)[0]
    return bool(np.all(shares >= -1e-9) and np.allclose(system @ shares, 1.0))
