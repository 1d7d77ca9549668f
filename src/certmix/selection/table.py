"""A path on the screen."""

from __future__ import annotations

import math
import sys
import textwrap
from typing import TYPE_CHECKING

from certmix.selection.criterion import ICL
from certmix.summary import WIDTH, number

if TYPE_CHECKING:
    from certmix.selection.path import Path, Row


def table(path: Path) -> str:
    """One line for every number of components, and the sentence."""
    squares = any(row.sse is not None for row in path.rows)
    icl = path.criterion == ICL
    header = ["K"] if _plain_squares(path.rows[0]) else ["K", "objective", "lower bound"]
    header += ["ICL from", "to"] if icl else []
    header += ["SSE from", "to", "explained"] if squares else []
    header += ["BIC (EM)*"] if icl else []
    header += ["status", "certificate"]
    rows = [header, *(_cells(path, row, icl, squares) for row in path.rows)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(header))]
    lines = [
        "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    width = max(WIDTH, len(max(lines, key=len)))
    title = f"Number of {path.rows[0].result.quantity.group}s" + (" by ICL" if icl else "")
    parts = [title.center(width).rstrip(), "=" * width, lines[0], "-" * width, *lines[1:], "=" * width]
    parts.append(textwrap.fill(path.sentence(), width))
    parts += [textwrap.fill(f"Note: {note}.", width) for note in path.notes]
    if icl and any(row.bic is not None for row in path.rows):
        parts.append("* of the mixture that EM found; not certified")
    return "\n".join(parts)


def _cells(path: Path, row: Row, icl: bool, squares: bool) -> list[str]:
    cells = [str(row.k)]
    cells += [] if _plain_squares(row) else [number(row.objective, 9), number(row.lower_bound, 9)]
    if icl:
        cells += [_value(row.icl_lower_bound), _value(row.icl)]
    if squares:
        share = "-" if row.explained is None else f"{100 * row.explained:.2f} %"
        cells += [_value(row.sse_lower_bound), _value(row.sse), share]
    if icl:
        cells.append(_value(row.bic))
    return [*cells, _status(path, row), row.level]


def _plain_squares(row: Row) -> bool:
    """Whether the objective is the sum of squares, which has columns of its own."""
    return row.result.quantity.squares


def _status(path: Path, row: Row) -> str:
    if path.criterion == ICL and row.k == path.best:
        return "best" if path.proved else "best found"
    if path.criterion == ICL and not row.possible and math.isfinite(row.objective):
        return "ruled out"
    return str(row.status)


def _value(value: float | None) -> str:
    return "-" if value is None else number(value, 8)


def progress(path: Path) -> None:
    """A line for the log."""
    best = "" if path.best is None else f"best found: {path.best}; "
    possible = ", ".join(map(str, path.possible)) or "none"
    print(f"{path.seconds:8.1f} s  {best}still possible: {possible}", file=sys.stderr)
