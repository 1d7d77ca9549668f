"""``certmix stability`` and ``certmix alternatives``: the run, from request to exit code."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from certmix import interruption
from certmix.ahead import Helpers
from certmix.cli.building import Asked
from certmix.cli.output import ALTERNATIVES, STABILITY, nothing, write_certificate, write_files
from certmix.cli.pictures import write_shown
from certmix.cli.request import Request, command
from certmix.cli.running import ended, exit_code, hinted, prepared, resuming, solved, with_options
from certmix.engines import refuse_early
from certmix.errors import InputError, OutputError
from certmix.io.atomic import write_text
from certmix.io.certificates import Certificate
from certmix.io.files import read_text
from certmix.io.strict_json import dumps
from certmix.io.text import split_rows
from certmix.observers.snapshot import NAME as SNAPSHOT
from certmix.options import Options
from certmix.result import Result
from certmix.resuming import finished, require_unfinished
from certmix.saving import RESULT
from certmix.sensitivity.alternatives import Alternatives, alternatives
from certmix.sensitivity.asking import checked_limit, checked_within, positions
from certmix.sensitivity.margins import Stability
from certmix.sensitivity.run import stability
from certmix.sensitivity.table import progress

if TYPE_CHECKING:
    from certmix.cli.stability import AlternativesOutput, StabilityOutput, WithinOutput

MARGINS = "stability-certificate"
Found = Stability | Alternatives
Next = Callable[[Asked, Result, dict[str, Any]], Found]


def run_stability(request: Request, options: Options, output: StabilityOutput) -> int:
    """Build the problem, solve it, find the margins, write what was found; return the exit code."""
    output = resuming(output, options.resume, _require_begun)
    pairs: list[tuple[str, str]] = []
    earlier = None if options.resume is None else options.resume / f"{MARGINS}.json"
    known = None if earlier is None or not earlier.is_file() else Certificate.load(earlier)

    def check(asked: Asked) -> None:
        if output.pairs is not None:
            pairs.extend(read_pairs(output.pairs, asked))

    def margins(asked: Asked, result: Result, given: dict[str, Any]) -> Stability:
        listen = _listener(output, STABILITY, progress)
        return stability(result, output.within, pairs=pairs, known=known, listener=listen, **given)

    return _run("stability", request, options, output, margins, check)


def run_alternatives(request: Request, options: Options, output: AlternativesOutput) -> int:
    """The same for clusterings that are nearly as good."""
    output = resuming(output, options.resume, _require_begun)

    def tell(found: Alternatives) -> None:
        last = found.clusterings[-1]
        print(f"{found.seconds:8.1f} s  {last.objective:.10g}: {last.words}", file=sys.stderr)

    def others(asked: Asked, result: Result, given: dict[str, Any]) -> Alternatives:
        listen = _listener(output, ALTERNATIVES, tell)
        return alternatives(result, output.within, limit=output.limit, listener=listen, **given)

    return _run("alternatives", request, options, output, others)


def _listener(output: WithinOutput, name: str, tell: Callable[[Any], None]) -> Callable[[Any], None]:
    """What is known so far is written and told."""

    def listen(found: Found) -> None:
        if output.out is not None:
            with suppress(OutputError):  # said at the end, where it fails again
                write_text(output.out / name, dumps(found.to_dict()))
        if not output.quiet:
            tell(found)

    return listen


def _run(
    name: str,
    request: Request,
    options: Options,
    output: WithinOutput,
    after: Next,
    check: Callable[[Asked], None] = lambda _: None,
) -> int:
    refuse_early(options)
    try:
        if output.within is not None:
            checked_within(output.within)
        checked_limit(getattr(output, "limit", 1))
    except InputError as error:
        raise InputError(f"--{error}") from None
    asked = prepared(request, output, check)
    with interruption.held():  # from here on there is something to lose
        begin = time.perf_counter()
        result = _solved(asked, options, output, command(request, options, name, output))
        result = with_options(result, request)
        if output.out is not None:  # it is there whatever becomes of the margins
            with suppress(OutputError):  # said at the end, where it fails again
                write_files(result, asked, output.out)
        spent = time.perf_counter() - begin
        code = exit_code(result)
        if result.labels is None:
            found, shown = None, dumps(nothing(result.sentence())) if output.json else result.summary() + "\n"
        else:
            found = _found(asked, result, options, spent, after)
            shown = dumps(found.to_dict()) if output.json else found.summary() + "\n"
            settled = found.settled if isinstance(found, Stability) else found.complete
            code = 3 if code == 0 and not settled else code
        return ended(lambda: _write(result, found, asked, output, request), shown, code)


def _require_begun(directory: Path) -> None:
    """An error in words where a folder holds no clustering to go on with, finished or not."""
    if not (directory / RESULT).is_file():
        require_unfinished(directory)


def _solved(asked: Asked, options: Options, output: WithinOutput, again: str) -> Result:
    """The clustering; of a run that is resumed the one that it had come to, unless it was still being looked for."""
    earlier = options.resume
    if earlier is not None and not (earlier / SNAPSHOT).is_file():
        known = finished(earlier, asked.problem)
        if known is not None:
            return replace(known, transform=asked.transform)
        options = replace(options, resume=None, start=options.start or earlier)
    return solved(asked, options, output, again)


def _found(asked: Asked, result: Result, options: Options, spent: float, after: Next) -> Found:
    if options.time_limit is not None:
        options = replace(options, time_limit=max(0.0, options.time_limit - spent))
    with Helpers(options.n_threads) as helpers:
        given = {
            "problem": asked.problem,
            "options": replace(options, start=None, resume=None),
            "observers": [helpers],
        }
        return after(asked, result, given)


def read_pairs(file: Path, asked: Asked) -> list[tuple[str, str]]:
    """Two names of samples a line, a comma, semicolon or tab between them; ``first,second`` may stand above them."""
    text = read_text(file)
    mark = next((sign for sign in (",", ";", "\t") if sign in text.splitlines()[0]), ",")
    found = []
    for row, number in zip(*split_rows(f"--pairs {file}", text, mark), strict=True):
        cells = [cell.strip() for cell in row]
        if number == 1 and [c.lower() for c in cells] == ["first", "second"]:
            continue
        if len(cells) != 2 or not all(cells):
            raise InputError(f"--pairs {file}, line {number}: two samples are expected, not {len(cells)}")
        try:
            positions(asked.problem, [(cells[0], cells[1])])
        except InputError as error:
            raise InputError(f"--pairs {file}, line {number}: {error}") from None
        found.append((cells[0], cells[1]))
    return found


def _write(result: Result, found: Found | None, asked: Asked, output: WithinOutput, request: Request) -> None:
    others = found if isinstance(found, Alternatives) else None
    margins = found.stability if isinstance(found, Alternatives) else found
    if output.out is not None:
        write_files(result, asked, output.out, margins)
        if others is not None:
            write_text(output.out / ALTERNATIVES, dumps(others.to_dict()))
        else:
            (output.out / ALTERNATIVES).unlink(missing_ok=True)
        certificate = None if margins is None else margins.certificate
        write_certificate(hinted(certificate, request), output.out / MARGINS)
    write_shown(result, output, margins, others)
