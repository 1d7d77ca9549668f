"""Tasks on other processes and machines, by Dask: `pip install 'certmix[distributed]'`.

A task is a pure function of arrays that can be pickled on its way (nothing pickled is ever stored). Tasks are taken as
they complete, never one in particular. The task of a worker that was lost is done again; one that takes workers with it
again and again is given up, and so is the run when the scheduler is gone: what was proved until then counts.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from certmix.errors import InputError

if TYPE_CHECKING:
    from distributed import Client, Future

    from certmix.options import Options

A = TypeVar("A")

LOOK = 0.1  # seconds between two questions whether to go on
AHEAD = 2  # tasks for each thread of a worker that are on their way: enough that none waits for the driver
MOST_LOSSES = 3  # of workers, with one task
SILENCE = 5.0  # seconds without a scheduler after which it is gone
COUNTING = 60.0  # seconds between two counts of the workers: there may be more of them
GONE = "the Dask scheduler does not answer any more"
CONNECTING = 20.0  # seconds to find a scheduler
CLOSING = 5.0  # seconds to end workers that were started here


class SchedulerLost(Exception):
    """The scheduler does not answer any more."""


class Cluster:
    """The workers of a Dask scheduler.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def count(self) -> int:
        """How many tasks are done at the same time: the threads of all workers; at least one."""
        if self._client.status != "running":
            raise SchedulerLost(GONE)
        try:
            return max(1, sum(self._client.nthreads().values()))
        except OSError:
            raise SchedulerLost(GONE) from None

    def side_by_side(
        self, tasks: Iterable[Callable[..., A]], over: Callable[[], bool], *shared: Any
    ) -> Iterator[tuple[int, A]]:
        """Do tasks and yield their numbers and answers as they come; the first ones begin first.

        What they share, their arguments, is sent to the workers once. When there are no more tasks they are asked for
        again after every answer.

        Few tasks are on their way at any time, so the driver's memory does not grow with their number. Once ``over``
        says so, or when nobody asks for more answers, all are cancelled and nobody waits.
        """
        waiting = enumerate(tasks)
        running: dict[int, tuple[Callable[..., A], Future, int]] = {}
        sent = self._sent(shared)
        done: SimpleQueue[tuple[int, Future]] = SimpleQueue()

        def begin(number: int, task: Callable[..., A], losses: int = 0) -> None:
            future = self._client.submit(_done, task, *sent, pure=False, retries=0)
            running[number] = task, future, losses
            future.add_done_callback(lambda future, number=number: done.put((number, future)))

        silent_since = None
        room, counted = AHEAD * self.count, time.monotonic()
        try:
            while not over():
                if time.monotonic() > counted + COUNTING:
                    room, counted = AHEAD * self.count, time.monotonic()
                while len(running) < room and (following := next(waiting, None)) is not None:
                    begin(*following)
                if not running:
                    return
                try:
                    number, future = done.get(timeout=LOOK)
                except Empty:
                    silent_since = self._silent(silent_since)
                    continue
                task, current, losses = running[number]
                if future is not current:
                    continue
                if future.status == "finished":
                    del running[number]
                    yield number, future.result()
                elif future.status == "error" and not _lost(future):
                    raise future.exception()
                elif losses + 1 < MOST_LOSSES:
                    self._silent(0.0)
                    sent = self._sent(shared)  # it may have gone with the worker
                    begin(number, task, losses + 1)
                else:
                    del running[number]
        finally:
            self._forget([future for _, future, _ in running.values()])

    def _sent(self, shared: tuple[Any, ...]) -> list[Future]:
        return [self._client.scatter(thing, broadcast=True, hash=False) for thing in shared]

    def _silent(self, since: float | None) -> float | None:
        """Since when the scheduler has been silent; None when it is not."""
        if self._client.status == "running":
            return None
        now = time.monotonic()
        if self._client.status == "closed" or (since is not None and now - since > SILENCE):
            raise SchedulerLost(GONE)
        return now if since is None else since

    def _forget(self, futures: list[Future]) -> None:
        """Cancel without waiting: the scheduler may be slow, or gone."""
        if futures and self._client.status == "running":
            threading.Thread(target=self._client.cancel, args=(futures,), daemon=True).start()


@contextmanager
def opened(options: Options) -> Iterator[Cluster | None]:
    """The cluster that the options ask for; None where they ask for none. What was started here is closed here."""
    if options.client is not None:
        yield Cluster(options.client)
        return
    if not options.distributed:
        yield None
        return
    if options.workers is not None and options.scheduler is not None:
        raise InputError(
            "--workers starts a cluster on this machine, --scheduler names one: give one of them"
        )
    client, started = _client(options)
    try:
        yield Cluster(client)
    finally:
        threading.Thread(target=_close, args=(client, started), daemon=True).start()


def _client(options: Options) -> tuple[Client, Any]:
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise InputError("many processes or machines need Dask: pip install 'certmix[distributed]'") from None
    if options.scheduler is not None:
        try:
            return Client(options.scheduler, timeout=CONNECTING, set_as_default=False), None
        except (OSError, ValueError, TimeoutError) as error:
            raise InputError(f"no Dask scheduler answers at {options.scheduler}: {error}") from None
    started = LocalCluster(
        n_workers=options.workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50
    )
    return Client(started, set_as_default=False), started


def _close(client: Client, started: Any) -> None:
    with suppress(Exception):  # nobody waits, and nobody would hear of it
        client.close(timeout=CLOSING)
        if started is not None:
            started.close(timeout=CLOSING)


def _done(task: Callable[..., A], *shared: Any) -> A:
    """On the worker. Its tasks run side by side already: threads of the linear algebra would get in their way."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return task(*shared)


def _lost(future: Future) -> bool:
    """Whether a task failed because its worker was lost."""
    from distributed import KilledWorker

    return isinstance(future.exception(), KilledWorker)
