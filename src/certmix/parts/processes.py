"""Tasks in processes of their own: threads of one process wait for each other wherever the work is not compiled.

A process is started by its command, so whoever calls ``solve`` needs no guard around it. Tasks and answers go through
its pipes. It ends when its pipe is closed, however the program that started it has ended.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import IO, Any

from certmix.ledger import Observer, Progress
from certmix.observers.base import Silent
from certmix.stopping import Abandoned, Stop

COMMAND = "from certmix.parts.processes import serve; serve()"
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
CLOSING = 5.0  # seconds in which a process that was killed is gone

PROGRESS, ANSWER, ERROR = range(3)  # what a message is


class _Lost(Exception):
    """The process is gone."""


class Processes:
    """Processes that do tasks, each one at a time. One that is lost is not replaced: its tasks are done here.

    Parameters
    ----------
    count : how many; they are started at once, and nobody waits for them
    """

    def __init__(self, count: int) -> None:
        self._closed = False
        self._all: list[_Process] = []
        self._idle: SimpleQueue[_Process | None] = SimpleQueue()
        for _ in range(count):
            try:
                self._all.append(_Process())
            except OSError:
                self._idle.put(None)
                continue
            self._idle.put(self._all[-1])

    def do(self, task: Callable[..., Any], stop: Stop, observers: Sequence[Observer] = ()) -> Any:
        """Do a task in one of them; it takes a flag, and observers where there are any."""
        process = self._idle.get()
        try:
            if process is not None:
                return process.do(task, observers)
        except _Lost:
            process = None
            if self._closed:
                raise Abandoned from None
        finally:
            self._idle.put(process)
        return task(stop, observers) if observers else task(stop)

    def prepare(self, task: Callable[..., Any]) -> None:
        """Do a task in each of them, and forget what it comes to: the first one has to load what all need."""
        for _ in self._all:
            threading.Thread(target=self._tried, args=(task,), name="certmix", daemon=True).start()

    def _tried(self, task: Callable[..., Any]) -> None:
        with suppress(Exception):
            self.do(task, Stop())

    def close(self) -> None:
        """End all of them, whatever they are at."""
        self._closed = True
        for process in self._all:
            process.end()


class _Process:
    """One process, and what goes to it and comes from it."""

    def __init__(self) -> None:
        path = os.pathsep.join(os.path.abspath(place) for place in sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", COMMAND],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": path},
        )

    def do(self, task: Callable[..., Any], observers: Sequence[Observer]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            _send(self._process.stdin, (task, bool(observers)))
            while True:
                kind, content = pickle.load(self._process.stdout)
                if kind == ANSWER:
                    return content
                if kind == ERROR:
                    break
                for observer in observers:
                    observer.progressed(content)
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            raise _Lost from None
        raise content

    def end(self) -> None:
        self._process.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(CLOSING)


@contextmanager
def started(count: int) -> Iterator[Processes | None]:
    """So many processes; none where one would do, or where nobody knows how to start Python."""
    if count < 2 or not sys.executable:
        yield None
        return
    found = Processes(count)
    try:
        yield found
    finally:
        found.close()


# -- in the process --------------------------------------------------------------------------------------------
def serve() -> None:
    """Do what comes in, and send back what it comes to."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started this decides what an interruption means
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what is printed does not get between the answers
    tasks: SimpleQueue[tuple[Callable[..., Any], bool]] = SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, tasks), daemon=True).start()
    while True:
        task, observed = tasks.get()
        try:
            _send(out, (ANSWER, task(Stop(), [_Teller(out)]) if observed else task(Stop())))
        except Exception as error:
            _send(out, (ERROR, error))


def _listen(source: IO[bytes], tasks: SimpleQueue[Any]) -> None:
    """Read tasks; when there can be no more nobody waits for an answer either."""
    try:
        while True:
            tasks.put(pickle.load(source))
    finally:
        os._exit(0)


class _Teller(Silent):
    """Sends on how a task goes."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out

    def progressed(self, progress: Progress) -> None:
        _send(self._out, (PROGRESS, progress))


def _send(out: IO[bytes], message: Any) -> None:
    out.write(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))
    out.flush()
