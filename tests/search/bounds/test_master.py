"""The master program: which of its sets make a clustering."""

from __future__ import annotations

import numpy as np

from certmix.search.bounds.master import Master

SETS = {  # of six groups, with their costs
    (0, 1): 2.0,
    (2, 3): 1.9,
    (4, 5): 2.0,
    (0, 1, 2): 2.5,
    (3, 4, 5): 2.5,
    (1, 2, 3, 4): 1.0,
    (0, 5): 1.0,
    (0,): 3.0,
}


def master(count: int) -> Master:
    found = Master(np.ones((6, 1)), np.array([float(count)]))
    for groups, cost in SETS.items():
        members = np.zeros(6, dtype=bool)
        members[list(groups)] = True
        found.add(members, 0, cost)
    return found


def chosen(count: int, raw: np.ndarray, gap: float) -> list[tuple[int, ...]]:
    return sorted(tuple(np.flatnonzero(s)) for s, _ in master(count).cover(raw, np.zeros(1), gap))


def test_the_cheapest_sets_that_cover_every_group() -> None:
    """Two sets: the two of cost one. Three of them: a group may be covered twice."""
    assert chosen(2, np.zeros(6), np.inf) == [(0, 5), (1, 2, 3, 4)]
    assert chosen(3, np.zeros(6), np.inf) == [(0, 5), (1, 2, 3, 4), (2, 3)]
    assert chosen(1, np.zeros(6), np.inf) == []


def test_a_set_that_the_solver_refuses_is_none() -> None:
    """Numbers beyond the solver's are left out, and what comes after them is in its place."""
    found = Master(np.full((3, 1), 1e30), np.ones(1))
    found.add(np.array([True, True, False]), 0, 1.0)
    assert found.sets() == []
    assert found.cover(np.zeros(3), np.zeros(1), np.inf) == []
    found.confine(np.zeros(4), 1.0, 1.0)
    solved = found.solve()
    assert solved is not None
    assert len(solved[1]) == 4


def test_sets_that_cost_more_than_the_gap_are_left_out() -> None:
    """Reduced costs are costs at zero; multipliers of 0.6 leave two of them below 0.7."""
    assert chosen(2, np.zeros(6), 1.5) == [(0, 5), (1, 2, 3, 4)]
    assert chosen(2, np.zeros(6), 0.5) == []
    assert chosen(2, np.array([0.6, 0.6, 0.6, 0.6, 0.6, 0.2]), 0.3) == [(0, 5), (1, 2, 3, 4)]
    assert chosen(3, np.full(6, 0.6), 0.69) == []  # two are left
