"""Prices of trios in the step ``lagrangian``: what a bound may make of three groups and one set that holds two."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from claiming import rooted
from test_lagrangian_sides import NO_PAIRS, clusterings

from certmix import solve
from certmix.certificate.recording import walk
from certmix.options import Options
from certmix.problem import Problem
from certmix.verify import boxes
from certmix.verify.check import check
from certmix.verify.domain import Domain
from certmix.verify.evidence import Evidence, Rejected
from certmix.verify.lagrangian import Pricing, lagrangian, price
from certmix.verify.narrowing import Boxes, Nodes
from certmix.verify.root import Root
from certmix.verify.trios import Trios
from random_pricing import random_trios


def evidence(root: Root, t: np.ndarray, trios: Trios) -> Evidence:
    """Multipliers and prices with the pricing tree, as far as it goes."""
    found = walk(Pricing.of(root, Domain.of(root), 0, t, NO_PAIRS, trios), math.inf, 5000)
    arrays = {
        "multipliers": t,
        "psi": np.array([found.bound - 1e-9]),
        "axis/0": found.axis,
        "cut/0": found.cut,
    }
    return Evidence({}, {**arrays, "trios": trios.groups, "trio_prices": trios.prices})


@pytest.mark.parametrize("seed", range(12))
def test_no_prices_prove_more_than_the_best_clustering(seed: int) -> None:
    """With any multipliers and any prices the bound is below every clustering."""
    rng = np.random.default_rng(seed)
    root = rooted(Problem(rng.normal(size=(7, 2)), 3, weights="none"))
    best = min(cost for cost, _ in clusterings(root))
    for scale in (0.03, 0.3, 3.0):
        rows = random_trios(np.arange(7), rng, int(rng.integers(1, 6)))
        t = rng.normal(scale=0.3, size=7) + 0.3
        trios = Trios(rows, scale * rng.random(len(rows)))
        assert lagrangian(root, Domain.of(root), evidence(root, t, trios), 0.0) <= best


def test_what_sets_pay_is_taken_off() -> None:
    """Where all clusters have to pay for a trio the bound is their cost all the same: no more, and no less."""
    one = np.random.default_rng(5).normal(size=(4, 2))
    root = rooted(Problem(np.vstack([one, one + 1000.0]), 2, weights="none"))
    cost = min(cost for cost, _ in clusterings(root))
    trios = Trios(np.array([[0, 1, 2], [4, 5, 7]]), np.full(2, 0.5 * cost))
    bound = lagrangian(root, Domain.of(root), evidence(root, np.full(8, 10.0 * cost), trios), 0.0)
    assert bound <= cost
    assert bound == pytest.approx(cost, rel=1e-6)


def test_of_five_groups_two_sets_may_hold_two() -> None:
    """Three pairs far apart, rows of all but one: each cluster pays for two rows, and twice each price is taken off."""
    pair = np.array([[0.0, 0.0], [0.0, 1.0]])
    root = rooted(Problem(np.vstack([pair, pair + 1e3, pair + 2e3]), 3, weights="none"))
    cost = min(cost for cost, _ in clusterings(root))
    fives = Trios(np.array([[0, 1, 2, 3, 4], [0, 1, 2, 4, 5], [0, 2, 3, 4, 5]]), np.full(3, 0.1 * cost))
    bound = lagrangian(root, Domain.of(root), evidence(root, np.full(6, 10.0 * cost), fives), 0.0)
    assert bound <= cost
    assert bound == pytest.approx(cost, rel=1e-5)


def test_prices_of_nothing_and_less_than_nothing_are_rejected() -> None:
    """A trio has three groups, and nobody is paid for holding two of them."""
    root = rooted(Problem(np.random.default_rng(0).normal(size=(6, 2)), 2, weights="none"))
    fine = evidence(root, np.zeros(6), Trios(np.array([[0, 1, 2]]), np.array([0.5])))
    for name, wrong, word in (
        ("trios", np.array([[0, 1, 1]]), "twice"),
        ("trios", np.array([[2, 1, 2]]), "twice"),
        ("trio_prices", np.array([-0.5]), "below zero"),
        ("trio_prices", np.array([0.5, 0.5]), "trio_prices"),
    ):
        with pytest.raises(Rejected, match=word):
            lagrangian(root, Domain.of(root), replace(fine, arrays={**fine.arrays, name: wrong}), 0.0)


@pytest.mark.parametrize("damage", ["cheaper", "other groups", "none"])
def test_damaged_trios_are_rejected(damage: str) -> None:
    """A root that multipliers alone do not close: its certificate has trios, and needs them as they are."""
    problem = Problem(np.random.default_rng(3).uniform(size=(300, 2)), 20, weights="none")
    result = solve(problem, "dual", options=Options(gap=1e-4, certificate=True, time_limit=120), verify=True)
    assert result.certificate is not None
    arrays, document = dict(result.certificate.arrays), result.certificate.document
    assert check(document, arrays, problem.data).verified
    groups, prices = (
        next(name for name in arrays if name.endswith(end)) for end in ("/trios", "/trio_prices")
    )
    if damage == "cheaper":  # what is taken off the bound, and no longer paid
        arrays[prices] = 0.5 * arrays[prices]
    elif damage == "other groups":
        arrays[groups] = (arrays[groups] + 1) % 300
    else:
        del arrays[groups], arrays[prices]
    assert not check(document, arrays, problem.data).verified


def test_many_trios_are_looked_at_in_few_nodes_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of nodes and trios do not grow with both: a file may have millions of either."""
    root, count = rooted(Problem(np.linspace(-1.0, 1.0, 32)[:, None], 3, weights="none")), 4000
    pricing = Pricing.of(
        root,
        Domain.of(root),
        0,
        np.ones(32),
        NO_PAIRS,
        Trios(np.tile([0, 1, 2], (count, 1)), np.zeros(count)),
    )
    at_a_time = []

    def unchanged(self: Boxes, nodes: Nodes, *more: float) -> Nodes:
        at_a_time.append(len(nodes.entry))
        return nodes

    monkeypatch.setattr(Boxes, "narrow", unchanged)
    monkeypatch.setattr(boxes, "WORK", count)
    cuts = [(2 * np.arange(2**k) + 1) / 2**k - 1 for k in range(5)]
    price(pricing, np.repeat([0, -1], [31, 32]), np.concatenate(cuts), 1.0)
    assert sum(at_a_time) >= 63
    assert max(at_a_time) * count <= 4 * boxes.WORK


def test_a_price_that_is_no_number_proves_nothing() -> None:
    """Of sets of one sample too, which are priced apart: numbers that overflow are no reason to leave one out."""
    root = rooted(Problem(np.arange(6.0)[:, None], 2, weights="none"))
    pricing = Pricing.of(root, Domain.of(root), 0, np.zeros(6), NO_PAIRS)
    pricing.root.entropy = np.full_like(pricing.root.entropy, math.inf)
    with np.errstate(invalid="ignore"):
        assert pricing.single_samples().min() == -math.inf
