"""Bounds at some scales and what follows for all: never above the truth, and as good as it can be."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from certmix.problem.envelope import Envelope, rise

HALF = 40.0


def lines(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Half sums of squares and rests of some clusterings; their least is g."""
    m = int(rng.integers(1, 8))
    return 10.0 ** rng.uniform(-2, 2, m), rng.uniform(-50, 200, m)


def g(found: tuple[np.ndarray, np.ndarray], t: float) -> float:
    q, e = found
    return float((t * q + e).min())


def least(found: tuple[np.ndarray, np.ndarray], low: float, high: float) -> float:
    """The least of g - N log t over a range: every line has its own minimum in closed form."""
    values = []
    for q, e in zip(*found, strict=True):
        t = min(max(HALF / q, low), high)
        values.append(t * q + e - HALF * math.log(t))
    return min(values)


@pytest.mark.parametrize("seed", range(200))
def test_an_envelope_is_never_above(seed: int) -> None:
    """Exact points, in any places, with and without ranges: the bound is not above the least value."""
    rng = np.random.default_rng(seed)
    found = lines(rng)
    at = np.sort(10.0 ** rng.uniform(-3, 4, int(rng.integers(1, 6))))
    points = [(0.0, float(found[1].min())), *((float(t), g(found, t)) for t in at)]
    low, high = 0.0, math.inf
    if rng.random() < 0.5:
        low, high = np.sort(10.0 ** rng.uniform(-3, 4, 2))
    envelope = Envelope(points, float(found[0].min()), HALF, low, high)
    true = least(found, max(low, 1e-300), high)
    assert envelope.bound <= true + 1e-12 * abs(true)
    for t in np.geomspace(max(low, 1e-4), min(high, 1e5), 50):
        assert envelope.under(t) <= g(found, t)
        piece = next(p for p in envelope.pieces() if p.left <= t <= p.right)
        assert piece.bound <= g(found, t) - HALF * math.log(t) + 1e-11 * abs(g(found, t))


def test_an_envelope_is_exact_where_points_are_dense() -> None:
    """With points on both sides of the minimum on one line, nothing is lost but rounding."""
    found = np.array([2.0]), np.array([5.0])
    best = HALF / 2.0
    points = [(0.0, 5.0), (0.5 * best, g(found, 0.5 * best)), (2.0 * best, g(found, 2.0 * best))]
    envelope = Envelope(points, 2.0, HALF)
    assert envelope.bound == pytest.approx(least(found, 0.0, math.inf), rel=1e-13)
    assert min(envelope.pieces()).at == pytest.approx(best, rel=1e-12)


def test_without_a_slope_an_open_range_has_no_bound() -> None:
    """Nothing is known to the right of the last point: a variance could be as small as one likes."""
    points = [(0.0, 5.0), (30.0, 80.0)]
    assert Envelope(points, 0.0, HALF).bound == -math.inf
    assert math.isfinite(Envelope(points, 0.0, HALF, high=30.0).bound)
    assert math.isfinite(Envelope(points, 0.1, HALF).bound)


@pytest.mark.parametrize("seed", range(40))
def test_a_line_is_rounded_downwards(seed: int) -> None:
    """Against exact numbers, the logarithm to two units of the last place."""
    rng = np.random.default_rng(seed)
    t, bound, s = (
        float(10.0 ** rng.uniform(-8, 8)),
        float(rng.normal() * 1e6),
        float(10.0 ** rng.uniform(-8, 8)),
    )
    half = float(rng.integers(1, 10**6)) / 2
    log = Fraction(math.log(s)) * (1 + Fraction(2, 2**53) * (1 if math.log(s) > 0 else -1))
    exact = Fraction(bound) - Fraction(half) * (log + Fraction(t) / Fraction(s) - 1)
    assert Fraction(Envelope([(0.0, 0.0)], 0.0, half)._line(t, bound, s)) <= exact


@pytest.mark.parametrize("seed", range(100))
def test_points_say_how_fast_g_rises_at_least(seed: int) -> None:
    """Never faster than the least half sum of squares; nearly as fast where that outweighs the rest."""
    rng = np.random.default_rng(seed)
    found = lines(rng)
    at = 10.0 ** rng.uniform(-3, 4, int(rng.integers(1, 6)))
    points = {0.0: float(found[1].min()), **{float(t): g(found, t) for t in at}}
    least_slope = float(found[0].min())
    assert 0.0 <= rise(points, float(found[1].max())) <= least_slope
    points[1e9] = g(found, 1e9)
    assert rise(points, float(found[1].max())) == pytest.approx(least_slope, rel=1e-4)
    assert rise(points, math.inf) == 0.0
