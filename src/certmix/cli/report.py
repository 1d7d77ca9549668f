"""``certmix report``: the page of a result that was saved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

PAGES = (".html", ".htm")


def report_command(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="What certmix solve --out wrote, or a result.json.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="The page. Default: report.html in DIR.")
    ] = None,
) -> None:
    """Write the result of a run as one HTML page that needs no network.

    Where DIR holds the margins that certmix stability wrote (stability.json), the page shows them.
    """
    from certmix.cli.standard_output import say
    from certmix.reporting import report
    from certmix.reporting.margins import STABILITY
    from certmix.result import Result

    folder = directory if directory.is_dir() else directory.parent
    page = folder / "report.html" if out is None else out
    check_page(page, "--out")
    result = Result.load(directory)
    beside = folder / STABILITY
    say(f"{report(result, page, stability=beside if beside.is_file() else None)}\n")


def check_page(path: Path, option: str) -> None:
    """Refuse, before any work, a page that cannot be written."""
    from certmix.errors import InputError

    if path.suffix.lower() not in PAGES:
        raise InputError(f"{option} {path}: the name must end with {' or '.join(PAGES)}")
    if path.is_dir():
        raise InputError(f"{option} {path}: it is a directory")
    if not path.parent.is_dir():
        raise InputError(f"{option} {path}: there is no folder {str(path.parent)!r}")
