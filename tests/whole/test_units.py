"""The units of the data: the same clusters in other units take the same work and have the same answer.

Sums of squares are costs per sample times a number, beside what uniform weights cost, which is a constant. So the gap
is asked for as a share of the sum of squares.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from certmix import solve
from certmix.presolve.instance import reduce
from certmix.problem import MaximumSize, MinimumSize, Problem
from certmix.result import Result
from certmix.search.bounds.scale import Scale
from certmix.status import Status

DOUBLINGS = (-5, 3, 10)  # of the data; costs are doubled twice as often
FACTORS = (
    1e-6,
    0.3,
    7e5,
)  # of the data, which are rounded then: trees may differ where two numbers are nearly equal


def points(n: int, d: int, K: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng([seed, n])
    return rng.normal(scale=2.0, size=(K, d))[rng.integers(K, size=n)] + rng.normal(size=(n, d))


def solved(data: np.ndarray, K: int, engine: str, share: float, **problem: Any) -> Result:
    """A proved clustering, with a gap of a share of the sum of squares around the overall mean."""
    spread = 0.5 * float(((data - data.mean(axis=0)) ** 2).sum())
    asked = Problem(data, K, variance=1.0, weights="uniform", **problem)
    result = solve(asked, engine, gap=0.0, absolute_gap=share * spread, verify=False, threads=1)
    assert result.status is Status.OPTIMAL
    return result


@pytest.mark.parametrize(
    ("engine", "n", "d", "K", "share"),
    [
        ("interval", 40, 2, 3, 1e-6),
        ("dual", 60, 2, 5, 1e-5),
        ("sdp", 60, 6, 3, 1e-5),
        ("race", 60, 4, 3, 1e-5),
        ("parts", 80, 5, 2, 1e-3),
        ("bnb", 12, 2, 2, 1e-6),
    ],
)
def test_k_means_in_other_units(engine: str, n: int, d: int, K: int, share: float) -> None:
    """Data in other units: the same nodes, the same clusters."""
    data = points(n, d, K, 7)
    plain = solved(data, K, engine, share)
    for doublings in DOUBLINGS:
        scaled = solved(2.0**doublings * data, K, engine, share)
        assert np.array_equal(scaled.labels, plain.labels)
        assert scaled.nodes == plain.nodes


SMALL = [
    ("dynamic", 60, 1, 3, 1e-6),
    ("enumerate", 8, 2, 2, 1e-6),
    ("interval", 30, 2, 2, 1e-5),
    ("dual", 40, 2, 4, 1e-4),
    ("dual", 60, 2, 12, 1e-5),
    ("sdp", 40, 6, 3, 1e-4),
    ("race", 40, 4, 3, 1e-4),
    ("parts", 60, 5, 2, 1e-3),
    ("bnb", 10, 2, 2, 1e-4),
]


def about_as_many(nodes: list[int]) -> bool:
    """What rounding may do to a tree."""
    return max(nodes) <= 2 * min(nodes) + 2


@pytest.mark.parametrize(("engine", "n", "d", "K", "gap"), SMALL)
def test_sums_of_squares_in_any_unit(engine: str, n: int, d: int, K: int, gap: float) -> None:
    """K-means data times any number: the same clusters, and as many nodes but for rounding."""
    data = points(n, d, K, 7)
    results = [
        solve(Problem(factor * data, K, weights="none"), engine, gap=gap, verify=False, threads=1)
        for factor in (1.0, *FACTORS)
    ]
    for result in results:
        assert result.status is Status.OPTIMAL
        assert np.array_equal(result.labels, results[0].labels)
    assert about_as_many([result.nodes for result in results])


@pytest.mark.parametrize(("engine", "n", "d", "K", "gap"), [case for case in SMALL if case[3] < 10])
def test_data_and_variance_in_any_unit(engine: str, n: int, d: int, K: int, gap: float) -> None:
    """Data times any number and the variance times its square, free weights: the same problem but for rounding."""
    data = points(n, d, K, 8)
    results = [
        solve(Problem(factor * data, K, variance=1.3 * factor**2), engine, gap=gap, verify=False, threads=1)
        for factor in (1.0, *FACTORS)
    ]
    for result in results:
        assert result.status is Status.OPTIMAL
        assert np.array_equal(result.labels, results[0].labels)
        assert result.objective == pytest.approx(results[0].objective, rel=1e-9)
    assert about_as_many([result.nodes for result in results])


@pytest.mark.parametrize("sizes", [(20, 20, 20), (12, 18, 30)])
def test_fixed_sizes_in_other_units(sizes: tuple[int, ...]) -> None:
    """Fixed sizes, equal or not: the engine that is taken without asking, and its proof, whatever the units."""
    data = points(60, 4, 3, 9)
    limits = [limit(m, k) for k, m in enumerate(sizes) for limit in (MinimumSize, MaximumSize)]
    nodes = []
    for doublings in (-5, 0, 10):
        problem = Problem(2.0**doublings * data, 3, variance=1.0, weights="uniform", constraints=limits)
        share = 1e-4 * 4.0**doublings * float((data**2).sum())
        result = solve(problem, gap=0.0, absolute_gap=share, threads=1)
        assert (result.engine, result.status) == ("sdp", Status.OPTIMAL)
        assert result.certificate_level == "verified"
        assert result.labels is not None
        assert tuple(np.bincount(result.labels)) == sizes
        nodes.append(result.nodes)
    assert about_as_many(nodes)  # the method is long enough for rounding to be felt


@pytest.mark.parametrize("engine", ["interval", "dual", "sdp", "race"])
def test_variance_in_other_units(engine: str) -> None:
    """Data and variance in other units are the same problem, free weights or not."""
    data = points(40, 2, 3, 8)
    results = [
        solve(Problem(2.0**a * data, 3, variance=4.0**a * 1.3), engine, verify=False, threads=1)
        for a in (-20, 0, 20)
    ]
    for result in results:
        assert np.array_equal(result.labels, results[0].labels)
        assert result.nodes == results[0].nodes


def test_the_scale_is_that_of_the_data() -> None:
    """One nat at the variance that fits; the square with the data; coordinates without spread do not count."""
    rng = np.random.default_rng(5)
    labels = np.repeat([0, 1, 2], 200)
    data = rng.normal(size=(600, 3)) + 9.0 * labels[:, None]
    found = Scale.of(reduce(Problem(data, 3, variance=1.0, weights="uniform")), labels)
    assert 0.9 < found.cost < 1.1
    assert found.level == pytest.approx(math.log(3))
    flat = np.column_stack([data, np.zeros((600, 4))])
    for other, factor in ((flat, 1.0), (1e-4 * data, 1e-8), (1e4 * data, 1e8)):
        scaled = Scale.of(reduce(Problem(other, 3, variance=1.0, weights="uniform")), labels)
        assert scaled.cost == pytest.approx(factor * found.cost, rel=1e-9)
    # Free weights: the nat is a unit of its own, but only where data cost less.
    assert Scale.of(reduce(Problem(1e-4 * data, 3, variance=1.0)), labels).cost == 1.0
    assert Scale.of(reduce(Problem(1e4 * data, 3, variance=1.0)), labels).cost > 1e7
