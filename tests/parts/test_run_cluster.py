"""Parts on Dask workers: the same answer as in threads, whatever happens to the workers."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest

pytest.importorskip("distributed")

from certmix import Problem, solve
from certmix.cluster import opened
from certmix.observers.base import Silent
from certmix.options import Options
from certmix.status import Termination


def separated(n: int, d: int) -> Problem:
    rng = np.random.default_rng(4)
    centres = rng.normal(scale=4.0, size=(3, d))
    return Problem(centres[rng.integers(3, size=n)] + rng.normal(size=(n, d)), 3, variance=1.0)


def test_workers_prove_what_threads_prove() -> None:
    problem = separated(120, 5)
    asked = Options("parts", gap=1e-3, part_size=30, verify=False)
    alone = solve(problem, options=asked)
    shared = solve(problem, options=asked, workers=2)
    assert shared.objective == alone.objective
    assert shared.lower_bound == pytest.approx(alone.lower_bound)
    assert shared.status == "optimal"


def pids(client) -> list[int]:
    return list(client.run(os.getpid).values())


@pytest.mark.slow
def test_workers_may_be_killed_while_they_work() -> None:
    """A worker is killed every second; its tasks are done again, and the answer is that of threads."""
    problem = separated(900, 6)
    asked = Options("parts", gap=1e-3, part_size=60, verify=False)
    alone = solve(problem, options=asked)
    with opened(Options(workers=2)) as cluster:
        assert cluster is not None
        client = cluster._client
        over = threading.Event()
        killed = []

        def kill() -> None:
            while not over.wait(2.0) and len(killed) < 4:
                killed.append(pids(client)[0])
                os.kill(killed[-1], signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        shared = solve(problem, options=asked, client=client)
        over.set()
        killer.join()
    assert killed
    assert shared.objective == alone.objective
    assert shared.status == "optimal"


class ClosesScheduler(Silent):
    """Takes the scheduler away after a while."""

    def __init__(self, client) -> None:
        self.client, self.closed = client, False

    def progressed(self, progress) -> None:
        if progress.nodes > 0 and not self.closed:
            self.closed = True
            self.client.sync(self.client.cluster.scheduler.close)


def test_a_run_without_its_scheduler_ends_with_what_it_has() -> None:
    with opened(Options(workers=1)) as cluster:
        assert cluster is not None
        client = cluster._client
        result = solve(
            separated(600, 6),
            "parts",
            gap=1e-7,
            part_size=60,
            verify=False,
            client=client,
            observers=[ClosesScheduler(client)],
        )
    assert result.termination is Termination.INTERRUPTED
    assert result.labels is not None
    assert result.lower_bound <= result.objective
    assert np.isfinite(result.lower_bound)
