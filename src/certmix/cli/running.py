"""``certmix solve``: the run, from request to exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from certmix import interruption
from certmix.ahead import Helpers
from certmix.cli.building import Asked, build
from certmix.cli.output import check_directory, document, nothing, prepare_directory, write_files
from certmix.cli.pictures import check_shown, write_shown
from certmix.cli.request import Request, command, told
from certmix.cli.standard_output import say
from certmix.engines import refuse_early
from certmix.errors import InfeasibleError, InputError, OutputError
from certmix.io.strict_json import dumps
from certmix.options import Options
from certmix.resuming import require_unfinished
from certmix.saving import MOST_DATA
from certmix.solving import solve
from certmix.status import Status, Termination

if TYPE_CHECKING:
    from certmix.cli.solve import Output
    from certmix.io.certificates import Certificate
    from certmix.ledger import Observer
    from certmix.result import Result

Out = TypeVar("Out", bound="Output")


def run_request(request: Request, options: Options, output: Output) -> int:
    """Build the problem, solve it, write what was found; return the exit code."""
    refuse_early(options)
    output = resuming(output, options.resume, require_unfinished)
    asked = prepared(request, output)
    with interruption.held():  # from here on there is something to lose
        result = solved(asked, options, output, command(request, options))
        if options.verify is True:
            said = result.verification if result.verdict is None else result.verdict.sentence
            print(said, file=sys.stderr)
        if output.constraint_costs:
            from certmix.sensitivity.dropping import constraint_costs

            result = constraint_costs(result, problem=asked.problem, options=options)
        result = with_options(result, request)
        shown = dumps(document(result, asked)) if output.json else result.summary() + "\n"
        code = ended(lambda: _write(result, asked, output), shown, exit_code(result))
    if result.status is Status.INFEASIBLE and output.quiet:
        print(f"certmix: error: {result.sentence()}", file=sys.stderr)
    return code


def ended(write: Callable[[], None], shown: str, code: int) -> int:
    """Write the files and show what was found, the second even where the first fails; return the exit code."""
    interruption.ignore()
    failure = None
    try:
        write()
    except OutputError as error:
        failure = error
    say(shown)
    if failure is not None:
        raise failure
    return interruption.INTERRUPTED if interruption.heard() else code


def prepared(request: Request, output: Any, check: Callable[[Asked], None] = lambda _: None) -> Asked:
    """The problem, where there is a place for its results; ``check`` looks at it before that is made."""
    check_shown(output)
    if output.out is not None:
        check_directory(output.out, overwrite=output.overwrite)
    try:
        asked = build(request)
    except InfeasibleError as error:
        if output.json:
            say(dumps(nothing(str(error), squares=request.weights == "none")))
        raise
    check(asked)
    if output.out is not None:
        prepare_directory(output.out)
    if not output.quiet:
        tell(asked)
    return asked


def resuming(output: Out, resume: Path | None, require: Callable[[Path], None]) -> Out:
    """A run that is resumed goes on in its folder, which has to hold one."""
    if resume is None:
        return output
    if output.out not in (None, resume):
        raise InputError(f"--resume {resume} goes on in its own folder: leave --out {output.out} out")
    require(resume)
    return replace(output, out=resume, overwrite=True)


def _write(result: Result, asked: Asked, output: Output) -> None:
    if output.out is not None:
        write_files(result, asked, output.out)
        if result.data is not None and result.data.nbytes > MOST_DATA and not output.quiet:
            print("note: result.npz leaves out the samples, more than 50 MB", file=sys.stderr)
    write_shown(result, output)


def exit_code(result: Result) -> int:
    """0 certified, 3 not certified, 4 infeasible, 130 interrupted."""
    if result.termination is Termination.INTERRUPTED:
        return interruption.INTERRUPTED
    return {Status.OPTIMAL: 0, Status.INFEASIBLE: 4}.get(result.status, 3)


def solved(asked: Asked, options: Options, output: Output, command: str) -> Result:
    """The run itself, with whoever shows how it goes."""
    observers: list[Observer] = []
    with ExitStack() as stack:
        if output.out is not None:
            from certmix.observers.snapshot import Snapshot

            observers.append(Snapshot(output.out, overwrite=output.overwrite))
        if not output.quiet:
            if sys.stderr.isatty():
                from certmix.observers.live import LiveLine

                observers.append(stack.enter_context(LiveLine()))
            else:
                from certmix.observers.log import PlainLog

                observers.append(PlainLog())
        observers.append(stack.enter_context(Helpers(options.n_threads)))
        if options.certificate is None and output.out is not None:
            options = replace(options, certificate=True)
        result = solve(asked.problem, options=options, observers=observers)
        return replace(result, transform=asked.transform, command=command)


def with_options(result: Result, request: Request) -> Result:
    """The result with the options of the run in its certificate."""
    return replace(result, certificate=hinted(result.certificate, request))


def hinted(certificate: Certificate | None, request: Request) -> Certificate | None:
    """A certificate with the options of the run, as a hint for whoever verifies it."""
    if certificate is None:
        return None
    return replace(certificate, document={**certificate.document, "options": told(request)})


def tell(asked: Asked) -> None:
    """What the user should know before the run."""
    for note in asked.notes:
        print(f"note: {note}", file=sys.stderr)
    for warning in asked.warnings:
        print(f"warning: {warning}", file=sys.stderr)
