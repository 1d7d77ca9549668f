"""``certmix solve``: the run, from request to exit code."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from certmix import interruption
from certmix.ahead import Helpers
from certmix.cli.output import check_directory, document, nothing, prepare_directory, write_files
from certmix.cli.request import Asked, Request, build, told
from certmix.cli.standard_output import say
from certmix.engines import NAMES
from certmix.errors import InfeasibleError, OutputError
from certmix.io.strict_json import dumps
from certmix.options import USED_BY, Options, refuse_unused
from certmix.saving import MOST_DATA
from certmix.solving import solve
from certmix.status import Status, Termination
from certmix.verifying import checked

if TYPE_CHECKING:
    from certmix.ledger import Observer
    from certmix.result import Result


@dataclass(frozen=True, kw_only=True)
class Run:
    """How to run and what to do with the result."""

    engine: str = "auto"
    gap: float = 1e-6
    absolute_gap: float = 0.0
    time_limit: float | None = None
    node_limit: int | None = None
    memory_limit: str | None = None
    threads: int | None = None
    seed: int = 0
    start: Path | None = None
    branching: str | None = None
    solver: str | None = None
    logarithm: str | None = None
    breakpoints: int | None = None
    adaptive: bool | None = None
    warm_start: bool | None = None
    out: Path | None = None
    overwrite: bool = False
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
            "memory_limit": self.memory_limit,
            "threads": self.threads,
            "seed": self.seed,
            "start": self.start,
            "certificate": self.certificate or self.verify,
            **{name: value for name, value in specific.items() if value is not None},
        }


def run_request(request: Request, run: Run) -> int:
    """Build the problem, solve it, write what was found; return the exit code."""
    Options(**run.options())  # a bad option is told before the data are read
    if run.engine in NAMES[1:]:
        refuse_unused(run.engine, {name: getattr(run, name) for name in USED_BY})
    if run.out is not None:
        check_directory(run.out, overwrite=run.overwrite)
    try:
        asked = build(request)
    except InfeasibleError as error:
        if run.json:
            say(dumps(nothing(str(error))))
        raise
    if run.out is not None:
        prepare_directory(run.out)
    if not run.quiet:
        _tell(asked)
    with interruption.held():  # from here on there is something to lose
        result = _solve(asked, run)
        if run.verify:
            result = _verified(result, asked)
        result = _with_options(result, request)
        interruption.ignore()
        failure = _write(result, asked, run)
        _show(result, asked, run)
    if failure is not None:
        raise failure
    return interruption.INTERRUPTED if interruption.heard() else exit_code(result)


def _write(result: Result, asked: Asked, run: Run) -> OutputError | None:
    """Write the files; where that fails, the result is still to be shown before that is said."""
    try:
        if run.out is not None:
            write_files(result, asked, run.out)
            if result.data is not None and result.data.nbytes > MOST_DATA and not run.quiet:
                print("note: result.npz leaves out the samples, more than 50 MB", file=sys.stderr)
    except OutputError as error:
        return error
    return None


def exit_code(result: Result) -> int:
    """0 certified, 3 not certified, 4 infeasible, 130 interrupted."""
    if result.termination is Termination.INTERRUPTED:
        return interruption.INTERRUPTED
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
        observers.append(stack.enter_context(Helpers(Options(**run.options()).n_threads)))
        result = solve(asked.problem, run.engine, **run.options(), observers=observers)
        return replace(result, transform=asked.transform)


def _verified(result: Result, asked: Asked) -> Result:
    """The result with the level that the checker gives it, or gave it already; what it says goes to standard error."""
    if result.certificate is None:
        print("not verified: there is no certificate", file=sys.stderr)
        return result
    verdict = result.verdict
    try:
        with interruption.raising():
            if verdict is None:
                result, verdict = checked(result, asked.problem)
    except KeyboardInterrupt:
        print("not verified: interrupted while the certificate was checked", file=sys.stderr)
        return result
    print(f"{verdict.sentence} ({verdict.seconds:.3g} s)", file=sys.stderr)
    return result


def _with_options(result: Result, request: Request) -> Result:
    """The result with the options of the run in its certificate, as a hint for whoever verifies it."""
    if result.certificate is None:
        return result
    document = {**result.certificate.document, "options": told(request)}
    return replace(result, certificate=replace(result.certificate, document=document))


def _tell(asked: Asked) -> None:
    for note in asked.notes:
        print(f"note: {note}", file=sys.stderr)
    for warning in asked.warnings:
        print(f"warning: {warning}", file=sys.stderr)


def _show(result: Result, asked: Asked, run: Run) -> None:
    say(dumps(document(result, asked)) if run.json else result.summary() + "\n")
    if result.status is Status.INFEASIBLE and run.quiet:
        print(f"certmix: error: {result.sentence()}", file=sys.stderr)
