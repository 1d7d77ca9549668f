"""Exact and local pricing against trying every set."""

from __future__ import annotations

import numpy as np
import pytest

from certmix.kernels.price_parts import set_cost
from certmix.kernels.sets import local_sets
from random_pricing import Pricing, random_pricing, with_trios


def assert_sound(problem: Pricing, seed: int, rng: np.random.Generator) -> None:
    truth = problem.minimum()
    slack = 1e-10 * (1.0 + abs(truth)) if np.isfinite(truth) else 0.0
    tolerance = float(rng.choice([1e-9, 1e-3]))
    bound, best, _, complete = problem.price(tolerance=tolerance)
    assert bound <= truth, f"seed {seed}: bound {bound!r} above the minimum {truth!r}"
    assert best >= truth - slack, f"seed {seed}"
    if complete and np.isfinite(truth):
        assert bound >= truth - tolerance - slack, f"seed {seed}: complete, but {bound!r} for {truth!r}"
    for threshold, nodes in (
        (truth - 0.1, 100_000),
        (truth + 0.1, 100_000),
        (np.inf, int(rng.integers(0, 8))),
    ):
        bound, *_ = problem.price(threshold, tolerance, nodes, truth + rng.exponential())
        assert bound <= truth, (
            f"seed {seed}: bound {bound!r} above the minimum {truth!r} at {threshold}, {nodes}"
        )
        if np.isfinite(threshold) and nodes > 1000:  # settled: at least the threshold, or the minimum
            assert bound >= min(threshold, truth) - tolerance - slack, f"seed {seed}"


@pytest.mark.parametrize("block", range(4))
def test_bound_is_never_above_the_cheapest_set(block: int) -> None:
    """Exact pricing is at most the minimum over all admissible sets, and reaches it when it completes."""
    for seed in range(150 * block, 150 * (block + 1)):
        rng = np.random.default_rng(seed)
        assert_sound(random_pricing(rng), seed, rng)


@pytest.mark.parametrize("block", range(4))
def test_trios_are_paid_for_by_whoever_holds_two_of_their_groups(block: int) -> None:
    """With prices for trios the bound is still at most the minimum, and reaches it, over groups and over cells."""
    for seed in range(1000 + 150 * block, 1000 + 150 * (block + 1)):
        rng = np.random.default_rng(seed)
        problem = with_trios(random_pricing(rng), rng)
        assert_sound(problem, seed, rng)
        if np.all(problem.partner < 0):
            truth = problem.minimum()
            bound, _, _, complete = problem.price_by_cells()
            assert bound <= truth, f"seed {seed}"
            if complete and np.isfinite(truth):
                assert bound >= truth - 1e-8 * (1.0 + abs(truth)), f"seed {seed}"


@pytest.mark.slow
@pytest.mark.parametrize("block", range(4))
def test_bound_is_never_above_the_cheapest_set_of_more_groups(block: int) -> None:
    """The same on more and larger problems."""
    for seed in range(10_000 + 1500 * block, 10_000 + 1500 * (block + 1)):
        rng = np.random.default_rng(seed)
        assert_sound(random_pricing(rng, groups=11), seed, rng)


def test_sizes_near_the_limits_switch_the_exchange_off() -> None:
    """A group that would gladly join stays out where the size limit forbids it, and one that costs stays in."""
    points = np.array([[0.0], [0.1], [0.2], [5.0]])
    plain = Pricing(
        points,
        np.ones(4),
        np.array([-1.0, -1.0, -1.0, 3.0]),
        np.zeros(1),
        np.zeros(1),
        points.min(axis=0),
        points.max(axis=0),
        np.zeros(5),
        True,
        np.zeros(4, dtype=np.int64),
        1.0,
        2.0,
        np.full(4, -1, dtype=np.int64),
    )
    assert plain.minimum() == pytest.approx(-2.0 + 0.0025)  # two neighbours at distance 0.1
    assert plain.price()[0] == pytest.approx(plain.minimum(), abs=1e-8)
    plain.a = plain.b = 4.0
    everything = plain.value(np.ones(4, dtype=bool))
    assert plain.price()[0] == pytest.approx(everything, abs=1e-8)


def test_no_admissible_set_costs_infinity() -> None:
    """When the certain members alone exceed the largest size there is nothing to price."""
    rng = np.random.default_rng(1)
    problem = random_pricing(rng)
    problem.status = np.ones(len(problem.weight), dtype=np.int64)
    problem.partner[:] = -1
    problem.a, problem.b = 1.0, problem.weight.sum() - 1.0
    assert problem.minimum() == np.inf
    assert problem.price()[0] == np.inf


def test_cost_of_a_set_is_its_definition() -> None:
    """The reduced cost of a set equals the formula."""
    for seed in range(200):
        problem = random_pricing(np.random.default_rng(seed))
        members = np.random.default_rng(seed).random(len(problem.weight)) < 0.6
        if not members.any():
            continue
        value = set_cost(members, problem.place())
        assert value == pytest.approx(problem.value(members), rel=1e-12, abs=1e-12)


def test_local_pricing_finds_admissible_sets_at_their_cost() -> None:
    """Every set that local pricing reports is admissible and costs what it says; none beats the minimum."""
    reached = total = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        problem = random_pricing(rng)
        if seed % 2:
            problem = with_trios(problem, rng)
        N = len(problem.weight)
        trios = problem.trios.among(np.ones(N, dtype=bool))
        pairs = [(g, int(problem.partner[g])) for g in range(N) if problem.partner[g] >= 0]
        start = np.concatenate([[0], np.cumsum(problem.partner >= 0)]).astype(np.int64)
        starts = problem.points[rng.integers(N, size=10)]
        sets, values = np.zeros((10, N), dtype=bool), np.empty(10)
        local_sets(
            starts,
            rng.normal(size=10),
            problem.place(),
            problem.status,
            start,
            np.array([h for _, h in pairs], dtype=np.int64),
            100,
            sets,
            values,
            trios,
            np.zeros((0, trios.tied), dtype=bool),
        )
        truth = problem.minimum()
        for members, value in zip(sets, values, strict=True):
            if np.isfinite(value):
                assert problem.admissible(members), seed
                assert value == pytest.approx(problem.value(members), rel=1e-9, abs=1e-9), seed
        assert values.min() >= truth - 1e-9 * (1.0 + abs(truth)) if np.isfinite(truth) else True, seed
        total += np.isfinite(truth)
        reached += values.min() <= truth + 1e-9 * (1.0 + abs(truth)) if np.isfinite(truth) else 0
    assert reached > 0.5 * total, "local search is good for something"
