"""Sets that tear pairs, against every set of small pricing problems: none is cheaper than what is said of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from test_lagrangian_pricing import as_checked, random_tree, rounding

from certmix.certificate.recording import walk
from certmix.verify.boxes import LEAF
from certmix.verify.claims.prices import Torn
from certmix.verify.evidence import Rejected
from random_pricing import Pricing as Problem
from random_pricing import random_pricing


def every_set(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """(sets, groups) that may be in the component, and what they cost."""
    N = len(problem.weight)
    sets = (np.arange(1, 1 << N)[:, None] >> np.arange(N)) & 1 == 1
    sets = sets[[problem.admissible(members) for members in sets]]
    return sets, np.array([problem.value(members) for members in sets])


def assert_nothing_false(problem: Problem, rng: np.random.Generator) -> int:
    """How many pairs were said to be torn by dear sets only."""
    sets, value = every_set(problem)
    N, truth, pricing, settled = (
        len(problem.weight),
        float(value.min(initial=math.inf)),
        as_checked(problem),
        0,
    )
    if N < 2 or not len(sets) or len(pricing.groups) == 0:
        return 0
    pairs = np.array([rng.choice(N, 2, replace=False) for _ in range(6)])
    for row, g in enumerate(np.flatnonzero((problem.partner >= 0) & (problem.status == 0))[:3]):
        pairs[row] = g, rng.choice(np.flatnonzero(np.arange(N) != g))
    torn = sets[:, pairs[:, 0]] != sets[:, pairs[:, 1]]
    for above in (-0.5, -1e-6, 0.2):
        psi, excess = truth + above, float(rng.choice([1e-6, 0.3, 2.0]))
        said = Torn(pricing, pairs, psi, excess)
        found = walk(pricing, said.target, 2000, -excess)
        trees = [random_tree(rng, pricing, int(rng.integers(7))), (np.array([LEAF]), np.zeros(0))]
        for axis, cut in [*trees, (found.axis.astype(np.int64), found.cut.astype(np.float64))]:
            try:
                cheap = said.torn(axis, cut)
            except Rejected:
                continue
            assert truth >= psi - rounding(problem)
            for pair, dear in enumerate(~cheap):
                least = float(value[torn[:, pair]].min(initial=math.inf))
                assert not dear or least >= psi + excess - rounding(problem)
                settled += int(dear)
    return settled


@pytest.mark.parametrize(
    "first", [0, 150, *(pytest.param(s, marks=pytest.mark.slow) for s in range(200, 3000, 50))]
)
def test_sets_that_tear_a_pair_are_as_dear_as_is_said(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few leaves are looked at in one go."""
    monkeypatch.setattr("certmix.verify.claims.prices.WORK", 40)
    settled = 0
    for seed in range(first, first + 50):
        rng = np.random.default_rng([seed, 11])
        settled += assert_nothing_false(random_pricing(rng), rng)
    assert settled > 50
