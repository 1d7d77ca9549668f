"""The program that says which plane to split by."""

from __future__ import annotations

import math

import numpy as np
import pytest

from certmix.highs import Ending
from certmix.local.hard_em import hard_em
from certmix.presolve.instance import reduce
from certmix.problem import Problem
from certmix.search.bounds import dual
from certmix.search.bounds.central import CentralAscent
from certmix.search.bounds.dual import DualBound
from certmix.search.bounds.envelope import kinds
from certmix.search.bounds.planes import _program
from tuned import tuned


@pytest.mark.parametrize("seed", range(4))
def test_groups_in_the_same_sets_are_one_row(seed: int) -> None:
    """The sets cost together what the multipliers of all groups are worth: one program is the dual of the other."""
    problem = Problem(np.random.default_rng(seed).uniform(size=(60, 2)), 5, weights="none")
    instance = reduce(problem)
    found = hard_em(instance)
    assert found is not None

    with tuned(dual, many_components=1):
        bound = DualBound(instance, instance.expand(found.labels), allowed=1e-6 * found.value)
        bound.advance_root(found.value * (1.0 - 1e-6), np.inf)
    ascent = bound.root_ascent
    assert isinstance(ascent, CentralAscent)
    rows, _ = ascent.master.rows()
    assert len(kinds(rows[:, : len(ascent.low)])[0]) < len(ascent.low)
    program, kept = _program(ascent, math.inf)
    assert len(kept) == rows.shape[0]
    ending, x = program.solve()
    exact = ascent._solve(1e-7, 0.0 * ascent.point.y)
    assert ending is Ending.OPTIMAL
    assert x is not None
    assert exact is not None
    assert program.value == pytest.approx(exact.value, abs=1e-5)
