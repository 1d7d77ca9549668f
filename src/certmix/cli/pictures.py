"""What the command line writes for people to look at: the page of a result, and pictures."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from certmix.errors import InputError

if TYPE_CHECKING:
    from certmix.cli.solve import Output
    from certmix.result import Result

FIGURES = (".png", ".pdf", ".svg")
PAGES = (".html", ".htm")


def check_shown(output: Output) -> None:
    """Refuse, before any work, a page or picture that cannot be written."""
    check_name(output.report, "--report", PAGES)
    check_name(output.plot, "--plot", FIGURES)


def write_shown(result: Result, output: Output, stability: Any = None, alternatives: Any = None) -> None:
    """Write the page and the picture that were asked for: of other clusterings, if they were looked for."""
    if output.report is not None:
        from certmix.reporting import report

        report(result, output.report, stability=stability)
    if output.plot is not None and alternatives is not None:
        from certmix.plotting import plot_alternatives

        write_picture(plot_alternatives(result, alternatives=alternatives).figure, output.plot)
    elif output.plot is not None:
        from certmix.plotting import plot_overview

        write_picture(plot_overview(result, stability=stability), output.plot)


def check_name(path: Path | None, option: str, endings: tuple[str, ...]) -> None:
    """Refuse, before any work, a file that is asked for and cannot be written."""
    if path is None:
        return
    if path.suffix.lower() not in endings:
        raise InputError(f"{option} {path}: the name must end with {', '.join(endings)}")
    if path.is_dir():
        raise InputError(f"{option} {path}: it is a directory")
    if not path.parent.is_dir():
        raise InputError(f"{option} {path}: there is no folder {str(path.parent)!r}")


def write_picture(figure: Any, path: Path) -> None:
    """Write a matplotlib figure in the format that the name tells."""
    from certmix.io.atomic import write_atomically

    picture = io.BytesIO()
    figure.savefig(picture, format=path.suffix[1:].lower(), dpi=200)
    write_atomically(path, picture.getvalue())
