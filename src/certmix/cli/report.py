"""``certmix report``: the page of a result that was saved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from certmix.cli.pictures import FIGURES, PAGES, check_name, write_picture


def report_command(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="What certmix solve --out wrote, or a result.json.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="The page. Default: report.html in DIR.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="A picture too: PNG, PDF or SVG.")
    ] = None,
) -> None:
    """Write the result of a run as one HTML page that needs no network.

    Where DIR holds the margins that certmix stability wrote (stability.json), the page shows them.
    """
    from certmix.cli.standard_output import say
    from certmix.plotting.source import beside
    from certmix.reporting import report
    from certmix.result import Result

    folder = directory if directory.is_dir() else directory.parent
    page = folder / "report.html" if out is None else out
    check_name(page, "--out", PAGES)
    check_name(plot, "--plot", FIGURES)
    result, stability = Result.load(directory), beside(directory)
    say(f"{report(result, page, stability=stability)}\n")
    if plot is not None:
        from certmix.plotting import plot_overview

        write_picture(plot_overview(result, stability=stability), plot)
        say(f"{plot}\n")
