"""Which column names the samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from certmix.errors import InputError
from certmix.io.cells import Numbers, known
from certmix.io.grid import Grid
from certmix.io.headings import headed_like_a_name
from certmix.io.text import is_missing

# Texts of which so many differ are names, two of which are alike by mistake; fewer are classes.
_MOST_DIFFER = 0.8


@dataclass
class Naming:
    """The column that names the samples, or None, and what is to be said about it."""

    column: str | None = None
    guessed: bool = False
    notes: list[str] = field(default_factory=list)


def find_names(
    grid: Grid,
    asked: str | None,
    *,
    no_names: bool,
    taken: Sequence[str],
    numbers: dict[str, Numbers],
) -> Naming:
    """Decide which column names the samples.

    Parameters
    ----------
    asked, no_names : what the user said
    taken : columns that have another role, features that were asked for among them
    """
    first = grid.header[0]
    if asked is not None:
        if no_names:
            raise InputError("--name-column and --no-name-column contradict each other")
        return Naming(known(asked, grid.header, grid.path, "--name-column"))
    if grid.turned:
        if no_names:
            raise InputError(
                "--no-name-column: with --transpose the first row names the samples; --no-header if it does not"
            )
        return Naming(first)
    if no_names or first in taken or grid.bare:
        return Naming()
    called = "the first column" if first == "" else f"column {first!r}"
    otherwise = "--no-name-column if it does not"
    if first == "" or (headed_like_a_name(first) and not _measured(numbers[first])):
        return Naming(first, True, [f"{called} names the samples ({otherwise})"])
    column = numbers[first]
    if len(column.bad) > column.n_good:
        return _texts(grid, first, called, otherwise)
    others = [name for name in grid.header if name != first and name not in taken]
    if _counts(column) and any(not numbers[name].bad and numbers[name].n_good for name in others):
        return Naming(first, True, [f"{called} counts the samples and names them ({otherwise})"])
    return Naming()


def _texts(grid: Grid, first: str, called: str, otherwise: str) -> Naming:
    cells = [str(cell).strip() for cell in grid.columns[0]]
    n, different = len(cells), len(set(cells))
    if any(is_missing(cell) for cell in cells):
        return Naming()
    if different == n or (n >= 5 and different >= _MOST_DIFFER * n):
        return Naming(first, True, [f"{called} names the samples ({otherwise})"])
    return Naming(notes=[f"{called} holds texts that are not all different, so it does not name the samples"])


def _counts(column: Numbers) -> bool:
    """Whether a column is 0, 1, 2, … or 1, 2, 3, …"""
    v = column.values
    if isinstance(v, np.ndarray) and len(v) >= 3 and not column.bad and v[0] in (0, 1):
        return bool(np.array_equal(v, v[0] + np.arange(len(v))))
    return False


def _measured(column: Numbers) -> bool:
    """Whether a column holds numbers that are not all whole."""
    good = column.values[~np.isnan(column.values)]
    return not column.bad and bool(len(good)) and not bool(np.all(good == np.floor(good)))


def sample_names(grid: Grid, naming: Naming) -> tuple[str, ...]:
    """The texts of the column that names the samples; they must all be there and differ."""
    assert naming.column is not None
    said = "the first row" if grid.turned and naming.column == grid.header[0] else f"column {naming.column!r}"
    option = "" if not naming.guessed else "; --no-name-column if it does not name the samples"
    cells = [_text(cell) for cell in grid[naming.column]]
    seen: dict[str, list[int]] = {}
    for i, cell in enumerate(cells):
        if is_missing(cell):
            raise InputError(f"{grid.path}, {grid.where(i)}: the sample has no name in {said}{option}")
        seen.setdefault(cell, []).append(i)
    if len(seen) < len(cells):
        twice = {name: rows for name, rows in seen.items() if len(rows) > 1}
        (name, rows), *rest = twice.items()
        more = ", ".join(repr(other) for other, _ in rest[:5]) + (", …" if len(rest) > 5 else "")
        raise InputError(
            f"{grid.path}: the sample name {name!r} in {said} stands twice "
            f"({grid.where(rows[0])} and {grid.where(rows[1])})"
            + (f"; others that stand more than once: {more}" if more else "")
            + option
        )
    return tuple(cells)


def _text(cell: object) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()
