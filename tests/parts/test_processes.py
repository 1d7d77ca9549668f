"""Tasks in processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import certmix
from certmix.datasets import load
from certmix.ledger import Progress
from certmix.observers.base import Silent
from certmix.parts import engine
from certmix.parts.processes import Processes, started
from certmix.stopping import Stop
from tasks_elsewhere import Dies, Fails, Number, Unsendable


class Heard(Silent):
    def __init__(self) -> None:
        self.bounds: list[float] = []

    def progressed(self, progress: Progress) -> None:
        self.bounds.append(progress.bound)


def test_tasks_are_done_elsewhere_and_observers_hear_of_it() -> None:
    """What a task prints does not get in the way of its answer."""
    heard = Heard()
    with started(2) as pool:
        assert pool is not None
        assert pool.do(Number(), Stop(), [heard]) != os.getpid()
        assert pool.do(Number(), Stop()) != os.getpid()
    assert heard.bounds == [1.5]


def test_an_error_comes_back_and_the_process_goes_on() -> None:
    """As if the task had been done here."""
    with started(2) as pool:
        assert pool is not None
        for _ in range(3):
            with pytest.raises(ZeroDivisionError, match="by design"):
                pool.do(Fails(), Stop())
            with pytest.raises(TypeError, match="generator"):
                pool.do(Unsendable(), Stop())
        assert pool.do(Number(), Stop()) != os.getpid()


def test_what_a_lost_process_was_at_is_done_here() -> None:
    """Processes may be killed, all of them."""
    with started(2) as pool:
        assert pool is not None
        assert [pool.do(Dies(os.getpid()), Stop()) for _ in range(4)] == ["done here"] * 4
        assert pool.do(Number(), Stop()) == os.getpid()


def test_one_process_is_this_one() -> None:
    """Nothing is started for a single thread."""
    with started(1) as pool:
        assert pool is None


def test_no_process_is_left_behind() -> None:
    """Neither at the end of a run nor when the program that started them was killed."""
    pool = Processes(2)
    mine = {pool.do(Number(), Stop()) for _ in range(2)}
    pool.close()
    assert not any(map(_alive, mine))
    program = (
        "import time; from certmix.parts.processes import Processes; pool = Processes(2); "
        "print(*[process._process.pid for process in pool._all], flush=True); time.sleep(60)"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert child.stdout is not None
    theirs = set(map(int, child.stdout.readline().split()))
    assert len(theirs) == 2
    child.send_signal(signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
    child.wait()
    end = time.monotonic() + 60.0
    while any(map(_alive, theirs)) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(map(_alive, theirs))


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    try:
        with open(f"/proc/{process}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return os.path.exists("/proc/self") is False


def test_a_run_in_processes_has_the_answer_of_one_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts are pure tasks: bound, clustering and nodes are the same wherever they are done."""
    problem = load("mixture", n=240, d=6, k=3, separation=5.0, seed=3).problem()
    given = {"part_size": 60, "gap": 1e-2, "threads": 2, "node_limit": 400}
    plain = certmix.solve(problem, "parts", **given)
    monkeypatch.setattr(engine, "WORTH_PROCESSES", 100)
    apart = certmix.solve(problem, "parts", **given)
    assert apart.lower_bound == plain.lower_bound
    assert apart.nodes == plain.nodes
    assert np.array_equal(apart.labels, plain.labels)
    assert apart.certificate_level == plain.certificate_level == "verified"
