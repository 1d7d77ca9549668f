"""Data files as samples with names: which columns are data, which one names the samples, what is left out."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from certmix.datasets.dataset import Frame
from certmix.errors import InputError
from certmix.io.cells import Numbers, as_numbers, known, some
from certmix.io.grid import Grid, read_grid
from certmix.io.headings import headed_like_a_code, headed_like_a_gene
from certmix.io.missing import treat
from certmix.io.naming import find_names, sample_names
from certmix.io.sheet import LARGE
from certmix.io.text import Style, is_missing, is_number, number_hint
from certmix.io.transform import Transform, fit_transform


@dataclass(frozen=True)
class Table:
    """A data file, read.

    Attributes
    ----------
    path : the file, as it is called in messages
    names : names of the samples, or None when no column names them; where samples without names were left out, those
        that stay keep their numbers
    columns : names of the features
    values : ndarray of shape (n, d), the features
    everything : every column of the file by name: numbers (missing: NaN) or texts (missing: "")
    transform : how ``values`` came from the file's columns, or None when they are those columns
    dropped : names (or numbers) of the samples that were left out because a value is missing
    record : how the file was read and what was done about missing values, for the result
    notes, warnings : what was decided for the user, in words
    """

    path: str
    names: tuple[Any, ...] | None
    columns: tuple[str, ...]
    values: np.ndarray
    everything: dict[str, Any]
    transform: Transform | None = None
    dropped: tuple[Any, ...] = ()
    record: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def n_samples(self) -> int:
        return int(self.values.shape[0])

    def column(self, name: str, option: str) -> Any:
        """The values of one column of the file, by name."""
        return self.everything[known(name, tuple(self.everything), self.path, option)]

    def frame(self) -> Frame:
        """The features with the samples' names as index."""
        return Frame(self.values, self.columns, self.names)


def read_table(
    path: str | Path,
    *,
    columns: Sequence[str] | None = None,
    name_column: str | None = None,
    no_name_column: bool = False,
    leave_out: Mapping[str, str] | Sequence[str] = (),
    transpose: bool = False,
    standardize: bool = False,
    pca: int | None = None,
    header: bool | None = None,
    missing: str = "error",
    style: Style | None = None,
    large: int = LARGE,
) -> Table:
    """Read CSV, TSV, NPY or Parquet, plain or as ``.gz``; ``-`` is standard input.

    Parameters
    ----------
    columns : sequence of names, optional
        The features. Default: every numeric column that has no other role.
    name_column, no_name_column : str, bool
        The column that names the samples, or that there is none. Default: the first, if it is headed like a name,
        counts from 0 or 1, or holds texts that all differ.
    leave_out : names, or names and what asked for them
        Columns with another role (labels, classes): not features unless ``columns`` says so.
    transpose, header, style, large
        See :func:`certmix.io.grid.read_grid`.
    missing : str
        What to do about missing values: one of :data:`certmix.io.missing.POLICIES`.
    standardize, pca
        See :func:`certmix.io.transform.fit_transform`.
    """
    style = style or Style()
    keep = [*leave_out, *([name_column] if name_column is not None else [])]
    if transpose and name_column is not None:
        large = sys.maxsize  # names are texts as they are written, which only the strict reader keeps in rows
    grid = read_grid(path, transpose=transpose, header=header, style=style, keep=keep, large=large)
    notes, warnings = list(grid.notes), list(grid.warnings)
    numbers = {
        name: as_numbers(column, grid.decimal) for name, column in zip(grid.header, grid.columns, strict=True)
    }
    naming = find_names(
        grid, name_column, no_names=no_name_column, taken=[*(columns or ()), *leave_out], numbers=numbers
    )
    notes += naming.notes
    names: tuple[Any, ...] | None = None if naming.column is None else sample_names(grid, naming)
    for name in leave_out:
        asked = leave_out[name] if isinstance(leave_out, Mapping) else "the label or class column"
        known(name, grid.header, str(grid.path), asked)
    if columns is None:
        chosen = _default_columns(grid, numbers, {naming.column, *leave_out}, notes)
        warnings += _doubts(grid, chosen, numbers)
    else:
        chosen = _asked_columns(grid, columns, numbers)
    raw = np.column_stack([numbers[name].values for name in chosen])
    treated = treat(raw, chosen, missing, grid.path)
    if missing == "keep" and pca is not None:
        raise InputError("--missing keep: principal components need every value; leave --pca out")
    known_values = (
        np.where(np.isnan(treated.values), 0.0, treated.values) if missing == "keep" else treated.values
    )
    _refuse_gaps(grid, known_values, np.flatnonzero(treated.samples), treated.features, chosen, names)
    notes += [treated.note] if treated.note else []
    chosen = tuple(name for name, kept in zip(chosen, treated.features, strict=True) if kept)
    notes.append(f"features: {some(chosen)}")
    everything = _everything(grid, numbers)
    dropped: tuple[Any, ...] = ()
    if not treated.samples.all():
        everything = {name: _kept(column, treated.samples) for name, column in everything.items()}
        called = names if names is not None else tuple(range(grid.n_rows))
        dropped = tuple(name for name, kept in zip(called, treated.samples, strict=True) if not kept)
        names = tuple(name for name, kept in zip(called, treated.samples, strict=True) if kept)
    data, transform = fit_transform(treated.values, chosen, standardize=standardize, pca=pca)
    if transform is not None and transform.components is not None:
        notes.append(f"{pca} principal components explain {100 * transform.explained:.1f} % of the variance")
    record = {"reading": style.as_dict() or None, "missing": treated.record}
    return Table(
        str(grid.path),
        names,
        chosen if transform is None else transform.names(),
        np.ascontiguousarray(data),
        everything,
        transform,
        dropped,
        {key: value for key, value in record.items() if value is not None},
        tuple(notes),
        tuple(warnings),
    )


def _everything(grid: Grid, numbers: dict[str, Numbers]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, column in zip(grid.header, grid.columns, strict=True):
        if numbers[name].bad:
            found[name] = ["" if is_missing(cell) else cell for cell in column]
        else:
            found[name] = numbers[name].values
    return found


def _kept(column: Any, rows: np.ndarray) -> Any:
    if isinstance(column, np.ndarray):
        return column[rows]
    return [cell for cell, kept in zip(column, rows, strict=True) if kept]


# -- features ------------------------------------------------------------------------------------------
def _default_columns(
    grid: Grid, numbers: dict[str, Numbers], taken: set[str | None], notes: list[str]
) -> tuple[str, ...]:
    chosen, text = [], []
    for name in grid.header:
        if name in taken:
            continue
        column = numbers[name]
        if not column.bad and column.n_good:
            chosen.append(name)
        elif column.n_good > len(column.bad) or _with_the_other_sign(grid, name, column):
            # Numbers, all or most: a slip of the pen, not a column of texts; leaving it out would hide the error.
            hint = _turn_hint(grid, numbers)
            if not (hint or number_hint(grid[name][column.bad[0]], grid.decimal)):
                hint = "; correct it, or choose the features with --columns"
            raise InputError(_not_a_number(grid, name, column) + hint)
        else:
            text.append(name)
    if text:
        notes.append(
            f"left out, not numeric: {', '.join(map(repr, text[:8]))}{', …' if len(text) > 8 else ''}"
        )
    if not chosen:
        suspect = next((name for name in (*text, *grid.header) if numbers[name].bad), None)
        hint = _turn_hint(grid, numbers)
        if suspect is not None:
            hint = hint or number_hint(grid[suspect][numbers[suspect].bad[0]], grid.decimal)
        raise InputError(
            f"{grid.path} has no numeric column to cluster by (its columns: {some(grid.header)}){hint}"
        )
    return tuple(chosen)


def _with_the_other_sign(grid: Grid, name: str, column: Numbers) -> bool:
    """Whether what is not a number would be one with the other decimal sign."""
    other = "." if grid.decimal == "," else ","
    return bool(column.bad) and all(is_number(grid[name][i], other) for i in column.bad)


def _asked_columns(grid: Grid, asked: Sequence[str], numbers: dict[str, Numbers]) -> tuple[str, ...]:
    if not asked:
        raise InputError("--columns names no column")
    chosen: list[str] = []
    for entry in asked:
        name = known(entry, grid.header, str(grid.path), "--columns")
        if name in chosen:
            raise InputError(f"--columns names {name!r} twice")
        if numbers[name].bad:
            raise InputError(_not_a_number(grid, name, numbers[name]))
        chosen.append(name)
    return tuple(chosen)


def _doubts(grid: Grid, chosen: tuple[str, ...], numbers: dict[str, Numbers]) -> list[str]:
    """What looks like something else than measurements, and what to type then."""
    found = []
    if not grid.turned and grid.headed and headed_like_a_gene(grid.header[0]) and len(chosen) > 1:
        found.append(f"the rows go by {grid.header[0]!r}; if the samples are in the columns, add --transpose")
    names, codes = [], []
    for name in chosen if grid.headed and not grid.turned else ():
        if not numbers[name].whole:
            continue
        values = numbers[name].values
        if len(values) >= 3 and len(np.unique(values)) == len(values):
            names.append(name)
        elif headed_like_a_code(name):
            codes.append(name)
    if names:
        one = names[0]
        found.append(
            f"{_called(names)} whole numbers that all differ, as names do, and {_is(names)}; "
            f"type --name-column {one} if it names the samples, --columns to choose the features"
        )
    if codes:
        found.append(
            f"{_called(codes)} whole numbers that look like codes, and {_is(codes)}; "
            "type --columns to choose the features"
        )
    return found


def _called(names: list[str]) -> str:
    listed = ", ".join(map(repr, names[:5])) + (f", … {len(names) - 5} more" if len(names) > 5 else "")
    return f"column {listed} holds" if len(names) == 1 else f"columns {listed} hold"


def _is(names: list[str]) -> str:
    return "is a feature" if len(names) == 1 else "are features"


# -- errors ----------------------------------------------------------------------------------------------
def _refuse_gaps(
    grid: Grid,
    values: np.ndarray,
    rows: np.ndarray,
    features: np.ndarray,
    columns: tuple[str, ...],
    names: tuple[str, ...] | None,
) -> None:
    """Refuse values that are missing or infinite, by their place in the file."""
    if np.isfinite(values).all():
        return
    wrong = np.argwhere(~np.isfinite(values))
    first = tuple(int(x) for x in wrong[0])
    i, name = int(rows[first[0]]), columns[int(np.flatnonzero(features)[first[1]])]
    who = f"sample {names[i]!r}" if names is not None else f"sample {i}"
    gap = bool(np.isnan(values[first]))
    more = f" ({len(wrong)} such values in all)" if len(wrong) > 1 else ""
    advice = "say what to do with --missing, or " if gap else ""
    raise InputError(
        f"{grid.path}, {grid.where(i)}: the value of {who} in column {name!r} "
        f"{'is missing' if gap else f'is {values[first]}'}{more}; {advice}correct the file"
    )


def _not_a_number(grid: Grid, name: str, column: Numbers) -> str:
    i = column.bad[0]
    cell = grid[name][i]
    more = f" ({len(column.bad)} such cells in all)" if len(column.bad) > 1 else ""
    shown = repr(cell) if len(str(cell)) < 100 else repr(str(cell)[:100]) + "…"
    return (
        f"{grid.path}, {grid.where(i)}, column {name!r}: {shown} is not a number{more}"
        f"{number_hint(cell, grid.decimal)}"
    )


def _turn_hint(grid: Grid, numbers: dict[str, Numbers]) -> str:
    """A word about --transpose where a table of genes is plain to see: by its heading, or texts in one row only."""
    if grid.turned or not grid.headed:
        return ""
    bad = {numbers[name].bad for name in grid.header[1:] if numbers[name].n_good and numbers[name].bad}
    texts = sum(bool(numbers[name].bad) for name in grid.header[1:])
    in_one_row = len(bad) == 1 and len(next(iter(bad))) == 1 and texts > 1
    if in_one_row or headed_like_a_gene(grid.header[0]):
        return "; if the samples are in the columns, add --transpose"
    return ""
