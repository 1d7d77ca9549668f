"""``certmix path``: the run, from request to exit code."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path as File
from typing import TYPE_CHECKING

from certmix import interruption
from certmix.ahead import Helpers
from certmix.cli.building import Asked, Prepared
from certmix.cli.output import (
    CERTIFICATE,
    as_csv,
    check_directory,
    prepare_directory,
    write_certificate,
    write_files,
)
from certmix.cli.pictures import check_shown, write_picture
from certmix.cli.request import Request
from certmix.cli.running import ended, hinted, resuming, tell, with_options
from certmix.engines import refuse_early
from certmix.errors import InputError, OutputError
from certmix.io.atomic import write_text
from certmix.io.strict_json import dumps
from certmix.options import Options
from certmix.result import Result
from certmix.selection.criterion import ICL, SQUARES
from certmix.selection.kept import folder, require_comparison
from certmix.selection.path import Path
from certmix.selection.problems import numbers, problems
from certmix.selection.table import progress
from certmix.selection.turns import compare
from certmix.status import Status

if TYPE_CHECKING:
    from certmix.cli.path import PathOutput

NAME = "path"


def run_path(request: Request, options: Options, output: PathOutput) -> int:
    """Build the problems, compare them, write what was found; return the exit code."""
    refuse_early(options)
    output = resuming(output, options.resume, require_comparison)
    check_shown(output)
    if output.out is not None:
        check_directory(output.out, overwrite=output.overwrite)
        options = replace(options, certificate=True) if options.certificate is None else options
    prepared = Prepared(request)
    asked = _asked(prepared, output.k)
    if output.out is not None:
        prepare_directory(output.out)
    if not output.quiet:
        tell(asked[0])
    squares, written = prepared.squares, dict[int, Result]()

    def listen(found: Path) -> None:
        if output.out is not None:
            with suppress(OutputError):  # said at the end, where it fails again
                write_text(output.out / f"{NAME}.json", dumps(found.to_dict()))
                _write_rows(found, asked, output.out, request, written)
        if not output.quiet:
            progress(found)

    # From here on there is something to lose.
    with interruption.held(), Helpers(options.n_threads) as helpers:
        every = [one.problem for one in asked]
        found = compare(every, SQUARES if squares else ICL, options, listen, [helpers], output.out)
        shown = dumps(found.to_dict()) if output.json else found.summary() + "\n"
        return ended(lambda: _write(found, asked, output, request, written), shown, exit_code(found))


def exit_code(found: Path) -> int:
    """0 proved and certified, 3 not, 4 infeasible with every number, 130 interrupted."""
    if found.interrupted:
        return interruption.INTERRUPTED
    statuses = {row.status for row in found.rows}
    if statuses == {Status.INFEASIBLE}:
        return 4
    if found.criterion == SQUARES:
        return 0 if statuses <= {Status.OPTIMAL, Status.INFEASIBLE} else 3
    certified = found.result is not None and found.result.status is Status.OPTIMAL
    return 0 if found.proved and certified else 3


def _asked(prepared: Prepared, k: str) -> list[Asked]:
    """All problems; labels name the same components in each of them."""
    try:
        counts = numbers(k)
    except InputError as error:
        raise InputError(f"-{error}") from None
    return [prepared.told(problem) for problem in problems(prepared.maker(counts), counts)]


def _write(
    found: Path, asked: list[Asked], output: PathOutput, request: Request, written: dict[int, Result]
) -> None:
    if output.out is not None:
        _write_rows(found, asked, output.out, request, written)
        write_text(output.out / f"{NAME}.json", dumps(found.to_dict()))
        rows = [row.to_dict() for row in found.rows]
        write_text(output.out / f"{NAME}.csv", as_csv([list(rows[0]), *(list(row.values()) for row in rows)]))
        write_certificate(hinted(found.certificate, request), output.out / CERTIFICATE)
    if output.plot is not None:
        from certmix.plotting import plot_path

        write_picture(plot_path(found).figure, output.plot)


def _write_rows(
    found: Path, asked: list[Asked], directory: File, request: Request, written: dict[int, Result]
) -> None:
    """What is known with every number, in a folder of its own, where it is not there already."""
    for row, one in zip(found.rows, asked, strict=False):
        if written.get(row.k) is row.result:
            continue
        own = folder(directory, row.k)
        prepare_directory(own)
        write_files(with_options(replace(row.result, transform=one.transform), request), one, own)
        written[row.k] = row.result
