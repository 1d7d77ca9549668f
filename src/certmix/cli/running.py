"""``certmix solve``: the run, from request to exit code."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from certmix.cli.output import document, nothing, prepare_directory, write_files
from certmix.cli.request import Asked, Request, build
from certmix.engines import NAMES
from certmix.errors import InfeasibleError
from certmix.io.results import dumps
from certmix.options import USED_BY, Options, refuse_unused
from certmix.solving import solve
from certmix.status import Status, Termination

if TYPE_CHECKING:
    from certmix.observers.base import Observer
    from certmix.result import Result


@dataclass(frozen=True, kw_only=True)
class Run:
    """How to run and what to do with the result."""

    engine: str = "auto"
    gap: float = 1e-6
    absolute_gap: float = 0.0
    time_limit: float | None = None
    node_limit: int | None = None
    threads: int | None = None
    seed: int = 0
    branching: str | None = None
    solver: str | None = None
    logarithm: str | None = None
    breakpoints: int | None = None
    adaptive: bool | None = None
    warm_start: bool | None = None
    out: Path | None = None
    certificate: bool = False
    verify: bool = False
    json: bool = False
    quiet: bool = False

    def options(self) -> dict[str, Any]:
        specific = {name: getattr(self, name) for name in USED_BY}
        return {
            "gap": self.gap,
            "absolute_gap": self.absolute_gap,
            "time_limit": self.time_limit,
            "node_limit": self.node_limit,
            "threads": self.threads,
            "seed": self.seed,
            "certificate": self.certificate or self.verify,
            **{name: value for name, value in specific.items() if value is not None},
        }


def run_request(request: Request, run: Run) -> int:
    """Build the problem, solve it, write what was found; return the exit code."""
    Options(**run.options())  # a bad option is told before the data are read
    if run.engine in NAMES[1:]:
        refuse_unused(run.engine, {name: getattr(run, name) for name in USED_BY})
    with interruptible() as signals:
        try:
            asked = build(request)
        except InfeasibleError as error:
            if run.json:
                _print(dumps(nothing(str(error))))
            raise
        if run.out is not None:
            prepare_directory(run.out)
        if not run.quiet:
            _tell(asked)
        result = _solve(asked, run)
        if run.verify:
            result = _verified(result, asked)
        signals.ignore()  # a second Ctrl-C must not cut off the writing of what the first one saved
        if run.out is not None:
            write_files(result, asked, run.out)
        _show(result, asked, run)
    return exit_code(result)


def exit_code(result: Result) -> int:
    """0 certified, 3 not certified, 4 infeasible, 130 interrupted."""
    if result.termination is Termination.INTERRUPTED:
        return 130
    return {Status.OPTIMAL: 0, Status.INFEASIBLE: 4}.get(result.status, 3)


def _solve(asked: Asked, run: Run) -> Result:
    observers: list[Observer] = []
    with ExitStack() as stack:
        snapshot = None
        if run.out is not None:
            from certmix.observers.snapshot import Snapshot

            snapshot = Snapshot(run.out)
            observers.append(snapshot)
        if not run.quiet:
            if sys.stderr.isatty():
                from certmix.observers.live import LiveLine

                observers.append(stack.enter_context(LiveLine()))
            else:
                from certmix.observers.log import PlainLog

                observers.append(PlainLog())
        return solve(asked.problem, run.engine, **run.options(), observers=observers)


def _verified(result: Result, asked: Asked) -> Result:
    """The result with the level that the checker gives it; what it says goes to standard error."""
    if result.certificate is None:
        print("not verified: there is no certificate", file=sys.stderr)
        return result
    result, verdict = result.checked(asked.problem)
    print(f"{verdict.sentence} ({verdict.seconds:.3g} s)", file=sys.stderr)
    return result


def _tell(asked: Asked) -> None:
    for note in asked.notes:
        print(f"note: {note}", file=sys.stderr)
    for warning in asked.warnings:
        print(f"warning: {warning}", file=sys.stderr)


def _show(result: Result, asked: Asked, run: Run) -> None:
    _print(dumps(document(result, asked)) if run.json else result.summary() + "\n")
    if result.status is Status.INFEASIBLE and run.quiet:
        print(f"certmix: error: {result.sentence()}", file=sys.stderr)


def _print(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever was reading has gone: nothing to tell, and the exit code still counts
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Signals:
    """The signals that end a run; SIGTERM does what Ctrl-C does."""

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}

    def install(self) -> None:
        if threading.current_thread() is threading.main_thread():
            self._before = {s: signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)}
            signal.signal(signal.SIGTERM, _interrupt)

    def ignore(self) -> None:
        for number in self._before:
            signal.signal(number, signal.SIG_IGN)

    def restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


@contextmanager
def interruptible() -> Iterator[_Signals]:
    """Within the block, SIGTERM does what Ctrl-C does."""
    signals = _Signals()
    signals.install()
    try:
        yield signals
    finally:
        signals.restore()
