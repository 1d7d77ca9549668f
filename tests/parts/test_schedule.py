"""What is asked of a part is a number, whatever is known of it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from certmix.parts.account import Account, Part
from certmix.parts.schedule import TUNING, Turns, next_jobs
from certmix.status import Tolerances


@pytest.mark.parametrize("share", [math.inf, 0.0, -7.0])
@pytest.mark.parametrize("bound", [-math.inf, -8.0])
@pytest.mark.parametrize("upper", [math.inf, 5.0, -20.0])
@pytest.mark.parametrize("tries", [0, 2])
def test_gaps_are_numbers(share: float, bound: float, upper: float, tries: int) -> None:
    """No clustering is known of some parts, or no bound: the gap that is asked of them is one that a run can have."""
    rows = np.arange(3)
    parts = [Part(rows, rows, share, bound, share, tries), Part(rows, rows, 3.0, 1.0, 3.0, tries)]
    for job in next_jobs(Account(parts), upper, Tolerances(1e-3, 0.0), 200, 10):
        assert math.isfinite(job.gap)
        assert job.gap >= 0.0


def test_nodes_are_shared_only_where_they_are_limited() -> None:
    """Parts that are new explore some nodes; a limit on all of them is divided."""
    rows = np.arange(3)
    parts = [Part(rows, rows, 3.0, 1.0, 3.0) for _ in range(4)]
    free = next_jobs(Account(parts), 12.0, Tolerances(1e-3, 0.0), 200, math.inf)
    few = next_jobs(Account(parts), 12.0, Tolerances(1e-3, 0.0), 200, 40)
    assert {job.nodes for job in free} == {200}
    assert {job.nodes for job in few} == {10}


def test_what_is_done_stays_and_what_is_open_may_keep_the_rest() -> None:
    """Two parts have little left inside: the third may keep all that they leave of the gap."""
    rows = np.arange(3)
    parts = [Part(rows, rows, 100.0, 100.0 - inner, 100.0, 1) for inner in (0.1, 0.2, 7.0)]
    jobs = next_jobs(Account(parts), 300.0, Tolerances(0.01, 0.0), 200, math.inf)
    assert [job.part for job in jobs] == [parts[2]]
    assert jobs[0].gap == pytest.approx(0.95 * 3.0 - 0.3)
    closed = [Part(rows, rows, 100.0, 99.5, 100.0, 1) for _ in range(3)]
    assert next_jobs(Account(closed), 300.0, Tolerances(0.01, 0.0), 200, math.inf) == []


def test_parts_get_on_where_there_is_no_time_for_larger_ones() -> None:
    """The partition loses most of the gap: larger parts are next if there is time, else the worst of these parts."""
    rows = np.arange(3)
    parts = [Part(rows, rows, 100.0, 98.0 - inner, 98.0, 1) for inner in (0.1, 0.2, 3.0)]
    known = Account(parts), 300.0, Tolerances(0.001, 0.0), 200, math.inf
    assert next_jobs(*known) == []
    assert [job.part for job in next_jobs(*known, larger=False)] == [parts[2]]


def test_every_part_has_its_turn_and_what_nobody_needs() -> None:
    """Equal shares at first; when parts are seen to take half of them, the next has a quarter of what is left over."""
    turns, left = Turns(100, 2), 100.0
    for _ in range(TUNING.enough):
        assert turns.next(left) == pytest.approx(left / -(-turns.waiting // 2), rel=0.03)
        turns.took(1.0)
    share = left / (turns.waiting // 2)
    spare = left - turns.waiting // 2
    assert turns.next(left) == pytest.approx(share + TUNING.spare * spare)


def test_parts_that_need_all_the_time_have_equal_shares() -> None:
    turns = Turns(100, 1)
    for taken in range(99):
        assert turns.next(100.0 - taken) == pytest.approx(1.0)
        turns.took(1.0)
    assert Turns(3, 1).next(math.inf) == math.inf
    assert Turns(3, 1).next(-1.0) == 0.0
