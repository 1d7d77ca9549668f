"""Tasks side by side."""

from __future__ import annotations

import threading

import pytest

from certmix.parts.workers import side_by_side
from certmix.stopping import Stop


def test_every_answer_comes_once_with_its_number() -> None:
    """Whatever the number of threads."""
    for count in (1, 2, 5):
        tasks = [lambda stop, i=i: i * i for i in range(7)]
        assert dict(side_by_side(tasks, count, lambda: False)) == {i: i * i for i in range(7)}


def test_no_more_tasks_than_asked_for_run_at_once() -> None:
    """The next one begins when one is done."""
    running, most, lock = 0, 0, threading.Lock()

    def task(stop: Stop) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        stop.flag[0] or threading.Event().wait(0.02)
        with lock:
            running -= 1

    list(side_by_side([task] * 8, 3, lambda: False))
    assert most <= 3


def test_when_it_is_over_all_flags_are_raised() -> None:
    """Nobody waits for a task that does not end by itself."""
    flags: list[Stop] = []
    begun = threading.Event()

    def task(stop: Stop) -> None:
        flags.append(stop)
        begun.set()
        threading.Event().wait(20.0)

    assert list(side_by_side([task], 1, begun.is_set)) == []
    assert flags[0].raised


def test_an_error_of_a_task_is_raised_here() -> None:
    """As if there were no threads."""
    with pytest.raises(ZeroDivisionError):
        list(side_by_side([lambda stop: 1 // 0], 2, lambda: False))
