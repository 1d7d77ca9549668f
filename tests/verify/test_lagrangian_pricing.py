"""Pricing trees against every set of small problems: whatever a tree claims, it proves nothing that is false."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from certmix.certificate.recording import walk
from certmix.verify import boxes as module
from certmix.verify.boxes import LEAF
from certmix.verify.evidence import Rejected
from certmix.verify.lagrangian import Pricing, price
from certmix.verify.trios import Trios
from random_pricing import Pricing as Problem
from random_pricing import random_pricing, with_masses, with_trios


def as_checked(problem: Problem) -> Pricing:
    """The same problem for the checker."""
    groups = np.flatnonzero(problem.status >= 0)
    position = np.full(len(problem.weight) + 1, -1)
    position[groups] = np.arange(len(groups))
    partner, cost = position[problem.partner[groups]], problem.cost[groups]
    first = np.flatnonzero(np.arange(len(groups)) < partner)
    names = ("prior_weight", "prior_mean", "mean_lower", "mean_upper", "entropy")
    own = (problem.gamma, problem.prior_mean, problem.lo, problem.hi, problem.entropy)
    root: Any = SimpleNamespace(
        K=1,
        N=len(groups),
        d=problem.points.shape[1],
        n=len(problem.entropy) - 1,
        system=np.zeros(1, dtype=np.int64),
        points=problem.points[groups][None],
        scatter=np.zeros((1, len(groups))),
        weight=problem.weight[groups].astype(np.int64),
        mass=problem.mass[groups],
        counted=problem.given_mass is None,
        conflicts=np.column_stack([first, partner[first]]),
        implications=np.zeros((0, 3), dtype=np.int64),
        counts=(),
        size_lower=np.array([int(problem.a)]),
        size_upper=np.array([int(problem.b)]),
        **{name: array[None] for name, array in zip(names, own, strict=True)},
    )
    trios = Trios(problem.trios.groups, problem.trios.prices).among(position)
    return Pricing(root, groups, problem.status[groups] == 1, -cost, trios)


def rounding(problem: Problem) -> float:
    """What the sums of the trials themselves may be off by."""
    squares = float(problem.weight @ (problem.points**2).sum(axis=1))
    return 1e-13 * (1.0 + np.abs(problem.cost).sum() + squares + np.abs(problem.entropy).max())


def random_tree(rng: np.random.Generator, pricing: Pricing, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """Cuts of every kind at random places, level by level."""
    root, d, free = pricing.root, pricing.root.d, pricing.groups[~pricing.forced]
    lo, hi = root.mean_lower[0], root.mean_upper[0]
    axis: list[int] = []
    cut: list[float] = []
    wide = 1
    for level in range(depth + 1):
        here, wide = wide, 0
        for _ in range(here):
            if level == depth or rng.random() < 0.1:
                axis.append(LEAF)
                continue
            wide += 2
            kind = rng.integers(3)
            if kind == 0:
                axis.append(int(rng.integers(d)))
                cut.append(float(rng.uniform(lo[axis[-1]], hi[axis[-1]])))
            elif kind == 1 or not len(free):
                axis.append(d)
                cut.append(float(rng.integers(root.size_lower[0], root.size_upper[0] + 1)))
            else:
                axis.append(d + 1 + int(rng.choice(free)))
    return np.array(axis), np.array(cut)


ABOVE = (-0.5, -1e-3, 1e-6, 0.03, 0.3, 2.0, 20.0)


def assert_nothing_false(problem: Problem, rng: np.random.Generator, seed: int) -> None:
    truth, pricing = problem.minimum(), as_checked(problem)
    for above in ABOVE:
        psi = truth + above if math.isfinite(truth) else above
        trees = [random_tree(rng, pricing, int(rng.integers(7)))]
        trees.append((np.array([LEAF]), np.zeros(0)))
        found = walk(pricing, psi, 2000)
        trees.append((found.axis.astype(np.int64), found.cut.astype(np.float64)))
        for axis, cut in trees:
            proved = price(pricing, axis, cut, psi)
            assert proved <= truth + rounding(problem), f"seed {seed}, {above} above, {axis.tolist()}"


@pytest.mark.parametrize("block", range(4))
def test_no_tree_proves_more_than_the_cheapest_set(block: int) -> None:
    """Recorded, random and empty trees; sizes, pairs, priors, boxes, forced groups; claims below and above."""
    for seed in range(60 * block, 60 * (block + 1)):
        rng = np.random.default_rng([seed, 3])
        assert_nothing_false(random_pricing(rng, groups=8), rng, seed)


def test_no_tree_proves_more_where_values_do_not_count_once() -> None:
    """Masses by coordinate, none among them, beside sizes that count samples."""
    for seed in range(80):
        rng = np.random.default_rng([seed, 4])
        assert_nothing_false(with_masses(random_pricing(rng, groups=8), rng), rng, seed)


@pytest.mark.parametrize("block", range(2))
def test_no_tree_proves_more_where_trios_have_prices(block: int) -> None:
    """Nor do prices of trios prove too much, and the walk of a search that knows them can be followed."""
    for seed in range(60 * block, 60 * (block + 1)):
        rng = np.random.default_rng([seed, 5])
        problem = with_trios(random_pricing(rng, groups=8), rng)
        assert_nothing_false(problem, rng, seed)
        truth, pricing = problem.minimum(), as_checked(problem)
        for below in (0.5, 1e-3) if math.isfinite(truth) else ():
            found = walk(pricing, truth - 0.9 * below, 100_000)
            assert found.complete
            proved = price(pricing, found.axis.astype(np.int64), found.cut.astype(float), truth - below)
            assert proved == truth - below, seed


@pytest.mark.slow
@pytest.mark.parametrize("block", range(4))
def test_no_tree_of_many_proves_more_than_the_cheapest_set(block: int) -> None:
    """The same on many more."""
    for seed in range(10_000 + 1000 * block, 11_000 + 1000 * block):
        rng = np.random.default_rng([seed, 3])
        assert_nothing_false(random_pricing(rng, groups=10), rng, seed)


@pytest.mark.parametrize("block", range(2))
def test_the_walk_of_the_search_can_be_followed(block: int) -> None:
    """A recorded search that reached a little more than the claim proves the claim, whatever the problem."""
    for seed in range(100 * block, 100 * (block + 1)):
        problem = random_pricing(np.random.default_rng([seed, 3]), groups=8)
        truth, pricing = problem.minimum(), as_checked(problem)
        for below in (0.5, 1e-3) if math.isfinite(truth) else ():
            found = walk(pricing, truth - 0.9 * below, 100_000)
            assert found.complete
            assert found.bound >= truth - 0.9 * below - 1e-9 * (1 + abs(truth))
            proved = price(pricing, found.axis.astype(np.int64), found.cut.astype(float), truth - below)
            assert proved == truth - below, seed


def few_sizes(seed: int) -> Problem:
    """A heavy group that is in, light ones around it, and little room for the mean and the size."""
    rng = np.random.default_rng([seed, 6])
    N, d, n = 12, 2, 200
    points, weight, status = rng.normal(size=(N, d)), np.ones(N), np.zeros(N, dtype=np.int64)
    points[0], weight[0], status[0] = 0.0, 36.0, 1
    entropy = -np.arange(n + 1) * np.log(np.maximum(np.arange(n + 1), 1) / n)
    cost, half = -rng.uniform(0.5, 2.0, size=N), np.full(d, rng.uniform(0.1, 0.4))
    sizes = 36.0 + int(rng.integers(6, 10)), 47.0
    nothing = np.zeros(d), np.zeros(d)
    return Problem(points, weight, cost, *nothing, -half, half, entropy, True, status, *sizes, np.full(N, -1))


def test_a_leaf_with_few_sizes_is_settled_at_the_slope_of_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches that keep more sizes have settled it; and nothing false is proved at any slope."""
    leaf, own, more = (np.array([LEAF]), np.zeros(0)), 0, 0
    for seed in (0, 1, 3, 6, 11):
        problem = few_sizes(seed)
        truth, pricing = problem.minimum(), as_checked(problem)
        assert price(pricing, *leaf, truth + 1e-3) <= truth + rounding(problem)
        more += price(pricing, *leaf, truth - 0.1) == truth - 0.1
        with monkeypatch.context() as only:
            only.setattr(module, "WIDER", ())
            own += price(pricing, *leaf, truth - 0.1) == truth - 0.1
    assert more >= own + 4


def test_bounds_without_exchanges_hold_for_every_set_of_a_node() -> None:
    """With exchanges switched off and nothing to cut boxes against, a bound is below every set, not only S."""
    for seed in range(150):
        rng = np.random.default_rng([seed, 5])
        problem = random_pricing(rng, groups=7)
        pricing = as_checked(problem)
        boxes, node = pricing.boxes(), pricing.node()
        boxes.rise[:] = math.inf
        ends = np.sort(rng.uniform(problem.lo, problem.hi, size=(2, len(problem.lo))), axis=0)
        node.lo[0, 0], node.hi[0, 0] = ends
        node.a[0, 0], node.b[0, 0] = np.sort(rng.integers(int(problem.a), int(problem.b) + 1, size=2))
        problem.lo, problem.hi = ends[0].copy(), ends[1].copy()
        problem.a, problem.b = float(node.a[0, 0]), float(node.b[0, 0])
        truth = problem.minimum()  # over the means of the box
        with np.errstate(all="ignore"):
            found = boxes.narrow(node, 1, 1.0)
        if len(found.bound):
            assert found.bound[0] <= truth + rounding(problem), seed
        else:
            assert truth == math.inf


def test_sizes_that_no_exchange_may_leave() -> None:
    """A group that would gladly join stays out at the largest size, and one that costs stays in at the smallest."""
    points = np.array([[0.0], [0.1], [0.2], [5.0]])
    ends = points.min(axis=0), points.max(axis=0)
    free, alone = np.zeros(4, dtype=np.int64), np.full(4, -1)
    cost, none = np.array([-1.0, -1.0, -1.0, 3.0]), np.zeros(1)
    for a, b in ((1, 2), (4, 4), (2, 3)):
        problem = Problem(points, np.ones(4), cost, none, none, *ends, np.zeros(5), True, free, a, b, alone)
        pricing, truth = as_checked(problem), problem.minimum()
        assert price(pricing, np.array([LEAF]), np.zeros(0), truth + 5.0) <= truth + 1e-12
        found = walk(pricing, truth - 1e-6, 1000)
        assert (
            price(pricing, found.axis.astype(np.int64), found.cut.astype(float), truth - 1e-5) == truth - 1e-5
        )


def test_partners_are_not_exchanged() -> None:
    """Two groups that are apart would both gladly join: one of them does, and the price is that of one."""
    points, cost = np.array([[0.0], [0.0], [0.0]]), np.array([-1.0, -1.0, -5.0])
    none, free = np.zeros(1), np.zeros(3, dtype=np.int64)
    partner = np.array([1, 0, -1])
    problem = Problem(
        points, np.ones(3), cost, none, none, none, none, np.zeros(4), True, free, 1.0, 3.0, partner
    )
    pricing = as_checked(problem)
    assert problem.minimum() == -6.0
    assert price(pricing, np.array([LEAF]), np.zeros(0), 0.0) == pytest.approx(-6.0)
    assert price(pricing, np.array([LEAF]), np.zeros(0), 0.0) <= -6.0


def test_what_a_partner_costs_is_not_forgotten() -> None:
    """A heavy group keeps the mean where the dearer of two partners is, so that this one is the better choice."""
    points, cost = np.array([[0.0], [10.0], [10.0]]), np.array([-5.0, -4.0, 0.0])
    none, status, partner = np.zeros(1), np.array([0, 0, 1]), np.array([1, 0, -1])
    weight, table, ends = np.array([1.0, 1.0, 10.0]), np.zeros(13), (none, none + 10.0)
    problem = Problem(points, weight, cost, none, none, *ends, table, True, status, 1.0, 12.0, partner)
    assert problem.minimum() == -4.0
    assert price(as_checked(problem), np.array([LEAF]), np.zeros(0), -1.0) <= -4.0


def test_a_table_that_is_not_concave_is_not_taken_for_one() -> None:
    """Steps of h that grow with the size: neither the first step nor the line through the ends bounds the rest."""
    n = 6
    points, none = np.zeros((n, 1)), np.zeros(1)
    free, alone = np.zeros(n, dtype=np.int64), np.full(n, -1)
    table = 0.5 * np.arange(n + 1.0) ** 2
    problem = Problem(
        points, np.ones(n), np.full(n, -2.2), none, none, none, none, table, False, free, 1.0, float(n), alone
    )
    pricing, truth = as_checked(problem), problem.minimum()
    assert not pricing.boxes().straight.any()
    assert price(pricing, np.array([LEAF]), np.zeros(0), 100.0) <= truth
    assert price(pricing, np.array([LEAF]), np.zeros(0), truth + 0.1) <= truth


def test_the_bound_of_one_set_is_not_above_its_exact_cost() -> None:
    """All groups are in: what is left is rounding, and it never goes to the wrong side, far from the origin either."""
    for seed in range(200):
        rng = np.random.default_rng([seed, 8])
        n, d = int(rng.integers(2, 9)), int(rng.integers(1, 4))
        points = rng.normal(size=(n, d)) + 10.0 ** rng.uniform(0, 5)
        weight = rng.choice([1.0, 3.0], size=n)
        size, cost, none = int(weight.sum()), rng.normal(size=n), np.zeros(d)
        table, ends = rng.normal(size=size + 1), (points.min(axis=0), points.max(axis=0))
        inside, alone = np.ones(n, dtype=np.int64), np.full(n, -1)
        problem = Problem(points, weight, cost, none, none, *ends, table, False, inside, size, size, alone)
        x = [[Fraction(v) for v in row] for row in points.tolist()]
        w = [Fraction(v) for v in weight.tolist()]
        mean = [sum(a * row[j] for a, row in zip(w, x, strict=True)) / sum(w) for j in range(d)]
        apart = [sum((v - m) ** 2 for v, m in zip(row, mean, strict=True)) for row in x]
        exact = sum(a * b for a, b in zip(w, apart, strict=True)) / 2
        exact += sum(Fraction(c) for c in cost.tolist()) + Fraction(float(table[size]))
        found = price(as_checked(problem), np.array([LEAF]), np.zeros(0), math.inf)
        assert Fraction(found) <= exact, seed


@pytest.mark.parametrize(
    ("axis", "cut"),
    [
        ([0, -1], [0.0]),
        ([0, -1, -1, -1], [0.0]),
        ([-1, -1, 0], [0.0]),
        ([-1, 0, 0, -1, -1], [0.0, 0.0]),
        ([0, -1, -1], []),
        ([0, -1, -1], [0.0, 1.0]),
        ([-1], [0.0]),
        ([9, -1, -1], []),
        ([], []),
    ],
)
def test_what_is_no_tree_is_rejected(axis: list[int], cut: list[float]) -> None:
    """Children that are missing or too many, numbers without a cut, groups that are no candidates."""
    points, none = np.array([[0.0], [1.0]]), np.zeros(1)
    free, alone = np.zeros(2, dtype=np.int64), np.full(2, -1)
    problem = Problem(
        points,
        np.ones(2),
        np.zeros(2),
        none,
        none,
        none,
        none + 1.0,
        np.zeros(3),
        True,
        free,
        1.0,
        2.0,
        alone,
    )
    with pytest.raises(Rejected):
        price(as_checked(problem), np.array(axis, dtype=np.int64), np.array(cut), 0.0)


def test_large_trees_are_followed_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few pairs are looked at in one go, the same is proved."""
    problem = random_pricing(np.random.default_rng([7, 3]), groups=9)
    pricing, psi = as_checked(problem), problem.minimum() + 0.1
    axis, cut = random_tree(np.random.default_rng(1), pricing, 6)
    whole = price(pricing, axis, cut, psi)
    monkeypatch.setattr(module, "WORK", 40)
    assert price(pricing, axis, cut, psi) == whole
