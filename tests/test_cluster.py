"""Tasks on Dask workers: none is lost with its worker, none is waited for once the run is over."""

from __future__ import annotations

import os
import signal
import threading
import time
from functools import partial

import pytest

pytest.importorskip("distributed")

from certmix.cluster import Cluster, SchedulerLost, opened
from certmix.errors import InputError
from certmix.options import Options


@pytest.fixture(scope="module")
def cluster():
    with opened(Options(workers=2)) as found:
        assert found is not None
        yield found


def slowly_squared(x: int) -> int:
    time.sleep(0.05)
    return x * x


def failing() -> None:
    raise ValueError("a part that cannot be read")


def fatal() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def never() -> bool:
    return False


def squares(count: int):
    return (partial(slowly_squared, x) for x in range(count))


def test_every_task_is_answered_once(cluster: Cluster) -> None:
    assert sorted(cluster.side_by_side(squares(12), never)) == [(x, x * x) for x in range(12)]


def test_tasks_of_a_killed_worker_are_done_again(cluster: Cluster) -> None:
    workers = list(cluster._client.run(os.getpid).values())
    threading.Timer(0.3, os.kill, (workers[0], signal.SIGKILL)).start()
    assert sorted(cluster.side_by_side(squares(40), never)) == [(x, x * x) for x in range(40)]


def test_few_tasks_are_made_before_they_are_wanted(cluster: Cluster) -> None:
    made = []

    def tasks():
        for x in range(200):
            made.append(x)
            yield partial(slowly_squared, x)

    answers = cluster.side_by_side(tasks(), never)
    next(answers)
    assert len(made) <= 10
    answers.close()


def test_nobody_waits_once_the_run_is_over(cluster: Cluster) -> None:
    seen = []
    for number, _ in cluster.side_by_side(squares(1000), lambda: len(seen) >= 3):
        seen.append(number)
    assert len(seen) == 3


def test_an_error_of_a_task_is_the_drivers_error(cluster: Cluster) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        list(cluster.side_by_side([failing], never))


@pytest.mark.slow
def test_a_task_that_kills_its_workers_is_given_up() -> None:
    with opened(Options(workers=2)) as found:
        assert found is not None
        tasks = [fatal, *squares(6)]
        assert sorted(found.side_by_side(tasks, never)) == [(1 + x, x * x) for x in range(6)]


def test_a_lost_scheduler_is_noticed() -> None:
    with opened(Options(workers=1)) as found:
        assert found is not None
        client = found._client
        answers = found.side_by_side(squares(1000), never)
        next(answers)
        client.sync(client.cluster.scheduler.close)
        with pytest.raises(SchedulerLost):
            list(answers)


def test_no_cluster_unless_asked_for() -> None:
    with opened(Options()) as found:
        assert found is None


def test_workers_and_a_scheduler_exclude_each_other() -> None:
    with (
        pytest.raises(InputError, match="give one of them"),
        opened(Options(workers=2, scheduler="tcp://127.0.0.1:1")),
    ):
        pass


def test_a_scheduler_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("certmix.cluster.CONNECTING", 0.5)
    with (
        pytest.raises(InputError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"),
        opened(Options(scheduler="tcp://127.0.0.1:9")),
    ):
        pass
