"""The program that says which plane to split by."""

from __future__ import annotations

import math

import numpy as np
import pytest

from certmix.highs import Ending
from certmix.local.hard_em import hard_em
from certmix.presolve.instance import reduce
from certmix.problem import Problem
from certmix.search.bounds import dual, planes
from certmix.search.bounds.central import CentralAscent
from certmix.search.bounds.dual import DualBound
from certmix.search.bounds.envelope import kinds
from certmix.search.bounds.planes import _program, best_plane
from tuned import tuned


def ascent_of(seed: int, clusters: int = 5, iterations: int = 400) -> CentralAscent:
    """That of sixty points in a square, to its end or cut short."""
    problem = Problem(np.random.default_rng(seed).uniform(size=(60, 2)), clusters, weights="none")
    instance = reduce(problem)
    found = hard_em(instance)
    assert found is not None

    with tuned(dual, root_iterations=iterations):
        bound = DualBound(instance, instance.expand(found.labels), allowed=1e-6 * found.value)
        bound.advance_root(found.value * (1.0 - 1e-6), np.inf)
    ascent = bound.root_ascent
    assert isinstance(ascent, CentralAscent)
    return ascent


@pytest.mark.parametrize("seed", range(4))
def test_groups_in_the_same_sets_are_one_row(seed: int) -> None:
    """The sets cost together what the multipliers of all groups are worth: one program is the dual of the other."""
    ascent = ascent_of(seed)
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


@pytest.mark.parametrize("seed", range(4))
def test_a_plane_without_trials_has_a_fraction_of_a_component_on_its_left(seed: int) -> None:
    """Where trials would take long: at the shares of the ascent's last program there are m - 1 to m on the left."""
    ascent = ascent_of(seed, clusters=12, iterations=3)
    with tuned(planes, most_entries=0):
        plane = best_plane(ascent, math.inf)
    assert plane is not None
    shares, means = ascent.shares(), np.array(ascent.means)
    assert shares is not None
    left = shares[(np.array(ascent.cells) >= 0) & (means[:, plane.axis] <= plane.at)].sum()
    assert plane.least - 1 < left < plane.least
    ascent.solved = None
    with tuned(planes, most_entries=0):
        assert best_plane(ascent, math.inf) is None
