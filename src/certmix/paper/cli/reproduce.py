"""``certmix reproduce``: the paper's experiments, run again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from certmix import interruption
from certmix.cli.commands import among
from certmix.cli.parsing import number
from certmix.errors import InputError
from certmix.paper.study.pieces import ALL, PIECES, chosen
from certmix.paper.study.settings import Settings


def reproduce_command(
    pieces: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PIECE...",
            help=f"{', '.join((*PIECES, ALL))}.",
            show_default=ALL,
            autocompletion=among((*PIECES, ALL)),
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where page, tables, figures and finished runs go.")
    ] = Path("reproduction"),
    time_limit: Annotated[
        float, typer.Option(metavar="SECONDS", help="For one run of a solver.", parser=number)
    ] = 60.0,
    pam50: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The PAM50 matrix, or its folder; centroids are looked for beside it. Without it, pam50 is skipped.",
        ),
    ] = None,
    sample: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Draw the expression profile of this PAM50 sample too; may be repeated.",
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress lines.")] = False,
) -> int:
    """Run the paper's experiments again: a page with the paper's value beside ours, CSV tables, figures.

    report.html and report.md in DIR are the page. Finished runs are kept in DIR: the same command goes on where an
    interrupted one stopped, and a run made with another time limit is made again.

    Exit codes: 0 finished, 2 bad usage or input, 130 interrupted.
    """
    from certmix.cli.output import prepare_directory

    names = chosen(pieces or [ALL])
    settings = Settings(time_limit=time_limit, pam50=pam50, samples=tuple(sample or ()))
    names = _with_data(names, settings)
    prepare_directory(out)
    if not names:
        return 0
    from certmix.paper.study.runner import Interrupted, run

    with interruption.held():
        try:
            with interruption.raising():
                sections = run(names, settings, out, (lambda _: None) if quiet else _tell)
        except Interrupted as stop:
            _tell(
                f"certmix: interrupted; {stop.finished} of {stop.cells} runs are finished and kept in {out}: the same "
                "command goes on from there"
            )
            return interruption.INTERRUPTED
    print(f"{out / 'report.html'}, {out / 'report.md'}: {', '.join(sections)}")
    return 0


def _with_data(names: list[str], settings: Settings) -> list[str]:
    """Look at the PAM50 file before any work; without one, leave that piece out and say so."""
    if "pam50" not in names:
        if settings.samples:
            raise InputError("--sample belongs to the piece pam50, which is not asked for")
        return names
    if settings.pam50 is None:
        if settings.samples:
            raise InputError("--sample needs the data it is looked for in: --pam50 FILE")
        _tell("pam50 is skipped: its data are not part of certmix (--pam50 FILE says where they are)")
        return [name for name in names if name != "pam50"]
    from certmix.paper.study.pam50.data import read

    read(settings.pam50).positions(settings.samples)
    return names


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
