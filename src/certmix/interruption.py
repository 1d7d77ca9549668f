"""Ctrl-C and termination signals, in one place.

The command line listens from its first line (:func:`listen`) to its last (:func:`leave`). What a signal does depends on
what there is to lose:

- nothing yet: the process ends at once, in words, with exit code 130;
- in a :func:`raising` block: ``KeyboardInterrupt``, which the block's owner turns into what was found until then;
- in a :func:`held` block: it is noted, and told as ``KeyboardInterrupt`` when a :func:`raising` block is entered or
  come back to; where there is none any more, the work was complete and nothing is cut off.

Where nobody called :func:`listen`, in somebody else's program, signals are that program's business and nothing here
does anything but :func:`noted`.
"""

from __future__ import annotations

import enum
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

INTERRUPTED, NOT_WRITTEN = 130, 5  # exit codes

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# A KeyboardInterrupt may be lost (in a destructor, in a callback of C code): after so long, a signal raises it again.
_AGAIN = 1.0


class _Mode(enum.Enum):
    ABSENT = enum.auto()
    ENDING = enum.auto()
    RAISING = enum.auto()
    NOTING = enum.auto()


class _State:
    mode = _Mode.ABSENT
    pending = False  # noted, not yet told
    raised = -float("inf")  # when it was last told


_state = _State()
listeners: list[Callable[[], object]] = []  # called when a signal comes, whatever else happens


def listen() -> None:
    """From now on SIGINT and SIGTERM are ours; those that are ignored stay ignored."""
    if threading.current_thread() is not threading.main_thread():
        return
    _state.mode = _Mode.ENDING
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _hear)


def _hear(number: int, frame: Any) -> None:
    for tell in listeners:
        tell()
    if _state.mode is _Mode.RAISING and loading(frame):
        _remind(number)
        return
    if _state.mode is _Mode.ENDING:
        _say("interrupted before there was a result")
        os._exit(INTERRUPTED)
    if _state.mode is _Mode.RAISING and time.monotonic() - _state.raised > _AGAIN:
        _raise()
    _state.pending = _state.mode is _Mode.NOTING


def loading(frame: Any) -> bool:
    """Whether a module or a kernel is just being loaded: half of it would be left, and the next time it would fail."""
    while frame is not None:
        of = str(frame.f_globals.get("__name__", ""))
        if frame.f_code.co_filename.startswith("<frozen importlib") or of.startswith(("numba.", "llvmlite.")):
            return True
        frame = frame.f_back
    return False


def _remind(number: int) -> None:
    """Let the signal come once more in a moment."""
    timer = threading.Timer(0.02, signal.raise_signal, (number,))
    timer.daemon = True
    timer.start()


def _raise() -> None:
    _state.pending = False
    _state.raised = time.monotonic()
    raise KeyboardInterrupt


def heard() -> bool:
    """Whether a signal has cut something short."""
    return _state.raised > 0


@contextmanager
def _switched(mode: _Mode) -> Iterator[None]:
    before = _state.mode
    if before is _Mode.ABSENT or threading.current_thread() is not threading.main_thread():
        yield
        return
    try:
        _state.mode = mode
        if mode is _Mode.RAISING and _state.pending:
            _raise()
        yield
    finally:
        _state.mode = before
    if before is _Mode.RAISING and _state.pending:
        _raise()


def raising() -> Any:
    """A block in which a signal raises KeyboardInterrupt."""
    return _switched(_Mode.RAISING)


def held() -> Any:
    """A block that no signal cuts off."""
    return _switched(_Mode.NOTING)


@contextmanager
def noted() -> Iterator[list[int]]:
    """A block in which signals are put into a list, for C code that asks for them in its callbacks."""
    found: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield found  # signals are the main thread's business
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    callers = {number: handler for number, handler in before.items() if callable(handler)}
    try:
        for number in callers:  # one that is ignored, or ends the process, is left alone
            signal.signal(number, lambda number, _frame: found.append(number))
        yield found
    finally:
        for number, handler in callers.items():
            signal.signal(number, handler)


def ignore() -> None:
    """From now on, signals do nothing: what is left to do is short and must be done."""
    if _state.mode is not _Mode.ABSENT:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)


def leave(code: int) -> None:
    """End the process with this exit code; 5 instead if standard output cannot be written to.

    Without the interpreter's own goodbye, which takes a while and in which a signal would still kill the process.
    """
    ignore()
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        pass  # whoever was reading has gone: nothing to tell, and the exit code still counts
    except OSError as error:
        _say(f"standard output cannot be written to: {error.strerror or error}")
        code = NOT_WRITTEN
    if sys.stderr is not None:
        sys.stderr.flush()
    os._exit(code)


def _say(sentence: str) -> None:
    os.write(2, f"certmix: error: {sentence}\n".encode())
