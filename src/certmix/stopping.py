"""How a run is told to stop: one flag, which Python code asks for and compiled kernels look at.

:func:`attend` runs the work in a thread of its own and waits for it. So the thread that called ``solve`` is always in
Python, where Ctrl-C and the clock reach it at once, whatever the work is doing; it then raises the flag. Kernels hold
the array ``Stop.flag`` and return early when it is set; :func:`current` finds the run's flag where it is wanted.

A kernel that was cut short may return anything: the ledger takes no bound once the flag is up, and no word that a
problem is infeasible is believed either. Clusterings are checked one by one and always count.

Work that has not ended some time after the flag was raised is left alone: what the ledger has is the result. Its
thread ends at its next step in Python, for which the program waits a moment before it ends. Where it is in a kernel,
the kernel's caller ends it (:func:`end_if_left`): Numba turns what a kernel returns into Python objects with Python's
help, and an exception that comes then would kill the process. Only a compilation is waited for at once, so that it is
done once.
"""

from __future__ import annotations

import atexit
import ctypes
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

import numpy as np

from certmix import compiling, memory
from certmix.errors import InfeasibleError
from certmix.interruption import loading
from certmix.status import Termination

T = TypeVar("T")

LOOK = 0.2  # seconds between two looks at the clock
HEARD = 0.4  # seconds that interrupted work has to end by itself
LEAST = 0.2  # seconds that late work has in any case
LAST = 5.0  # seconds that the program waits at its end for work that was left alone
LATE = 0.4  # share of what a run may take beyond its time limit that the work has to end by itself


class Abandoned(Exception):
    """The work did not end when it was told to."""


class LeftAlone(BaseException):
    """Ends a thread that nobody waits for. Not SystemExit: where C code prints that, it ends the interpreter."""


class Stop:
    """The flag of one run, and its deadline.

    Attributes
    ----------
    flag : ndarray of one byte
        What kernels look at: 0, or 1 when they should return.
    reason : Termination or None
        Why the flag was raised.
    end : float
        The deadline, on the clock of ``time.perf_counter``.
    """

    def __init__(self, seconds: float = math.inf) -> None:
        self.flag = np.zeros(1, dtype=np.uint8)
        self.reason: Termination | None = None
        self.end = math.inf
        self.lower(seconds)

    @property
    def raised(self) -> bool:
        return bool(self.flag[0])

    @property
    def left(self) -> float:
        """Seconds until the deadline; infinite without one, nothing once the flag is up."""
        return 0.0 if self.raised else max(0.0, self.end - time.perf_counter())

    def hoist(self, reason: Termination) -> None:
        """Raise the flag; the first reason counts."""
        self.reason = self.reason or reason
        self.flag[0] = 1

    def lower(self, seconds: float) -> None:
        """Take the flag down and set a new deadline."""
        self.reason = None
        self.flag[0] = 0
        self.end = time.perf_counter() + seconds

    def look(self) -> bool:
        """Whether the flag is up; raises it when the deadline has passed."""
        if not self.raised and time.perf_counter() >= self.end:
            self.hoist(Termination.TIME)
        if not self.raised and memory.reached():
            self.hoist(Termination.MEMORY)
        return self.raised


_NEVER = Stop()
_current: ContextVar[Stop] = ContextVar("stop", default=_NEVER)
_work: ContextVar[object] = ContextVar("work", default=None)  # what this code is a part of
left_alone: set[object] = set()  # work that nobody waits for


def end_if_left() -> None:
    """End this thread if it does work that nobody waits for."""
    if _work.get() in left_alone:
        raise LeftAlone


def current() -> Stop:
    """The flag of the run that this code belongs to; one that nobody raises outside of a run."""
    return _current.get()


@contextmanager
def under(stop: Stop) -> Iterator[None]:
    """Within the block (and in threads begun with its context) this is the current flag."""
    token = _current.set(stop)
    try:
        yield
    finally:
        _current.reset(token)


def overtime(seconds: float) -> float:
    """How much longer than its time limit a run may take: a second, or a twentieth of the limit."""
    return max(1.0, 0.05 * seconds) if math.isfinite(seconds) else 1.0


def attend(work: Callable[[], T], stop: Stop, limit: float = math.inf, grace: float = 0.0) -> T:
    """Do the work under the flag, in a thread of its own, and wait for it.

    At the deadline and at Ctrl-C the flag is raised and the work has a moment to end; at the deadline ``grace``
    seconds, if that is more.

    Raises
    ------
    Abandoned
        When it did not. Whatever the work raises is raised here.
    """
    ended, last_step = threading.Event(), threading.Lock()
    answers: list[T] = []
    failures: list[BaseException] = []

    mine = object()

    def job() -> None:
        with suppress(LeftAlone):  # may come between any two steps, the last ones too
            try:
                _work.set(mine)
                with under(stop):
                    answers.append(work())
            except BaseException as error:
                failures.append(error)
            finally:
                with last_step:
                    left_alone.discard(mine)
                    ended.set()

    context = copy_context()
    thread = threading.Thread(target=context.run, args=(job,), name="certmix", daemon=True)
    thread.start()
    until = math.inf
    while not ended.is_set():
        try:
            if stop.look():
                late = min(time.perf_counter(), stop.end) + max(grace, LATE * overtime(limit))
                until = min(until, max(late, time.perf_counter() + LEAST))
            if stop.reason is Termination.TIME and compiling.under_way():
                until = max(until, time.perf_counter() + LEAST)
            left = min(LOOK, stop.left or LOOK, until - time.perf_counter())
            if left <= 0:
                with last_step:  # a thread that has ended may have left its number to another one
                    if not ended.is_set():
                        left_alone.add(mine)  # from here on it enters no kernel
                        _end_thread(thread)
                        raise Abandoned
            ended.wait(left)
        except KeyboardInterrupt:
            stop.hoist(Termination.INTERRUPTED)
            until = min(until, time.perf_counter() + HEARD)
    if failures:
        raise failures[0]
    return answers[0]


def attempt(work: Callable[[], T], stop: Stop, limit: float) -> T | None:
    """The same for work that may come to nothing: None when it did not end, lacked memory or had nothing feasible.

    A kernel that was cut short may have said anything: nothing counts once the flag is up.
    """
    try:
        found = attend(work, stop, limit)
    except (Abandoned, InfeasibleError, MemoryError):
        return None
    return None if stop.raised else found


def _end_thread(thread: threading.Thread) -> None:
    """Let a thread that is abandoned end at its next step in Python, or of kernels."""
    frame = sys._current_frames().get(thread.ident or 0)
    if thread.ident is not None and not loading(frame) and not _in_kernel(frame):
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(LeftAlone))
    atexit.register(
        thread.join, LAST
    )  # a thread in C++ that comes back to an interpreter which is gone aborts


def _in_kernel(frame: Any) -> bool:
    """Whether a thread with this frame is in a kernel, or was just about to be."""
    while frame is not None:
        if frame.f_globals.get("__name__") == "certmix.kernels.compiled":
            return True
        frame = frame.f_back
    return False
