"""Trios: which ones fractions of sets break, and that their prices never prove too much."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from certmix import solve
from certmix.local.hard_em import hard_em
from certmix.options import Options
from certmix.presolve.instance import reduce
from certmix.problem import CannotLink, MinimumSize, MustLink, Problem
from certmix.search.bounds.central import CentralAscent
from certmix.search.bounds.dual import DualBound
from certmix.search.bounds.trios import TrioPrices, violated_trios
from random_pricing import random_trios


@pytest.mark.parametrize("seed", range(30))
def test_broken_trios_are_found(seed: int) -> None:
    """All that are found are broken, the worst is as bad as the worst three, and none is found where none is broken."""
    rng = np.random.default_rng(seed)
    members, shares = rng.random((12, 8)) < 0.3, rng.dirichlet(np.full(12, 0.5))
    members[:, 7] = members[:, 6]  # always together
    shares /= (shares @ members).max()  # no group more than once
    known = np.zeros((0, 5), dtype=np.int64)
    found = violated_trios(members, shares, known, 100)
    used = shares > 1e-3

    def broken(row: tuple[int, ...]) -> float:
        """By how much."""
        return float(shares[used] @ (members[used][:, list(row)].sum(axis=1) >= 2)) - len(row) // 2

    three, five = ({row: broken(row) for row in itertools.combinations(range(8), size)} for size in (3, 5))
    rows = [tuple(sorted(g for g in row if g >= 0)) for row in found.tolist()]
    assert all({**three, **five}[row] > 0.02 for row in rows)
    if max(three.values()) > 0.02:
        assert broken(rows[0]) >= max(three.values()) - 1e-9
        assert found[0].tolist() not in violated_trios(members, shares, found[:1], 100).tolist()
    if max([*three.values(), *five.values()]) <= 0.02:
        assert not rows


def test_five_groups_in_a_ring_are_found() -> None:
    """Half of each of five sets, with two neighbours of a ring of five: no three of these are broken, the five are."""
    members = (np.eye(5) + np.roll(np.eye(5), 1, axis=1)).astype(bool)
    found = violated_trios(members, np.full(5, 0.5), np.zeros((0, 5), dtype=np.int64), 10)
    assert found.tolist() == [[0, 1, 2, 3, 4]]


@pytest.mark.parametrize("seed", range(12))
def test_any_prices_are_sound(seed: int) -> None:
    """Multipliers and prices drawn at random prove no more than the best clustering costs, whatever is asked of it."""
    rng = np.random.default_rng(seed)
    constraints = [[], [MustLink(0, 1)], [CannotLink(0, 1), CannotLink(2, 3)], [MinimumSize(2)]][seed % 4]
    weights = ("none", "free", "uniform")[seed % 3]
    problem = Problem(
        rng.normal(size=(9, 2)),
        3,
        weights=weights,
        constraints=constraints,
        **({} if weights == "none" else {"variance": 0.3}),
    )
    instance, truth = reduce(problem), solve(problem, "enumerate", verify=False)
    bound = DualBound(instance, truth.labels, allowed=1e-9)
    bound.advance_root(truth.objective, math.inf)
    ascent = bound.root_ascent
    assert isinstance(ascent, CentralAscent)
    N = instance.n_groups
    for _ in range(60):
        trios = random_trios(np.arange(N), rng, int(rng.integers(1, 8)))
        size = ascent.unit * rng.choice([0.01, 0.3, 3.0])
        prices = TrioPrices(trios, size * rng.random(len(trios)))
        t = ascent.best_t + size * rng.normal(size=N) * rng.choice([0.0, 0.3])
        proved = ascent.prove(t, math.inf, 10_000, trios=prices)
        assert proved + bound.shift <= truth.objective


def test_of_five_groups_two_sets_may_hold_two() -> None:
    """Three pairs far apart, rows of all but one: each cluster pays for two rows, and twice each price is taken off."""
    pair = np.array([[0.0, 0.0], [0.0, 1.0]])
    problem = Problem(np.vstack([pair, pair + 1e3, pair + 2e3]), 3, weights="none")
    truth = solve(problem, "enumerate", verify=False)
    bound = DualBound(reduce(problem), truth.labels, allowed=1e-9)
    bound.advance_root(truth.objective, math.inf)
    ascent = bound.root_ascent
    assert isinstance(ascent, CentralAscent)
    rows = np.array([[0, 1, 2, 3, 4], [0, 1, 2, 4, 5], [0, 2, 3, 4, 5]])
    fives = TrioPrices(rows, np.full(3, 0.1 * truth.objective))
    proved = ascent.prove(np.full(6, 10.0 * truth.objective), math.inf, 10_000, trios=fives) + bound.shift
    assert proved <= truth.objective
    assert proved == pytest.approx(truth.objective, rel=1e-3)


def test_trios_close_what_multipliers_leave() -> None:
    """A root that would leave a gap is proved to 1e-4 by the prices of trios; so is it by the checker."""
    problem = Problem(np.random.default_rng(3).uniform(size=(300, 2)), 20, weights="none")
    instance = reduce(problem)
    found = hard_em(instance)
    assert found is not None
    bound = DualBound(instance, instance.expand(found.labels), allowed=1e-4 * found.value)
    bound.advance_root(found.value * (1.0 - 1e-4), math.inf)
    assert bound.root_bound >= found.value * (1.0 - 1e-4)
    assert bound.root_ascent is not None
    assert len(bound.root_ascent.best_trios.paid())
    result = solve(problem, "dual", options=Options(gap=1e-4, time_limit=120), verify=True)
    assert result.certificate_level == "verified"
