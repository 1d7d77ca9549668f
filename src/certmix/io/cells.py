"""Columns as numbers, and columns by name."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from certmix.errors import InputError
from certmix.io.text import is_missing, to_number


@dataclass(frozen=True)
class Numbers:
    """A column as numbers: NaN where a cell is missing or ``bad`` (neither missing nor a number)."""

    values: np.ndarray
    bad: tuple[int, ...]

    @property
    def n_good(self) -> int:
        return int(np.count_nonzero(~np.isnan(self.values)))

    @property
    def whole(self) -> bool:
        """Whether there are values, and all are whole numbers."""
        v = self.values[~np.isnan(self.values)]
        return not self.bad and bool(len(v)) and bool(np.all(v == np.floor(v)) and np.all(np.isfinite(v)))


def as_numbers(cells: Any, decimal: str = ".") -> Numbers:
    """The numbers of a column of texts or values."""
    if isinstance(cells, np.ndarray):
        return Numbers(cells, ())
    if cells and decimal == "." and all(isinstance(cell, str) for cell in cells):
        try:
            return Numbers(np.array(cells, dtype=np.float64), ())
        except ValueError:
            pass  # some cell is missing or no number: look at each
    values = np.full(len(cells), np.nan)
    bad = []
    for i, cell in enumerate(cells):
        if is_missing(cell):
            continue
        if isinstance(cell, (int, float)) and not isinstance(cell, bool):
            values[i] = cell
        elif isinstance(cell, str):
            try:
                values[i] = to_number(cell, decimal)
            except ValueError:
                bad.append(i)
        else:
            bad.append(i)
    return Numbers(values, tuple(bad))


def known(name: str, header: Sequence[str], path: Any, option: str) -> str:
    """The column of that name, or an error with a suggestion."""
    if name in header:
        return name
    if name.strip() in header:
        return name.strip()
    close = difflib.get_close_matches(name, header, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"its columns: {some(header)}"
    raise InputError(f"{option}: {path} has no column {name!r} ({hint})")


def some(names: Sequence[str], most: int = 10) -> str:
    """Names in a list, shortened when they are many."""
    listed = ", ".join(name or "(no name)" for name in names[:most])
    return listed + (f", … {len(names) - most} more" if len(names) > most else "")
