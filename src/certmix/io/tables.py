"""Data files as samples with names: which columns are data, which one names the samples, what is left out."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from certmix.errors import InputError
from certmix.io.grid import Grid, existing_file, is_missing, is_number, load_npy, read_grid, read_rows
from certmix.io.transform import Transform, fit_transform


@dataclass(frozen=True)
class Table:
    """A data file, read.

    Attributes
    ----------
    path : the file
    names : names of the samples, or None when no column names them
    columns : names of the features
    values : ndarray of shape (n, d), the features
    everything : every column of the file by name: numbers (missing: NaN) or texts
    transform : how ``values`` came from the file's columns, or None when they are those columns
    notes : what was decided for the user, in words
    """

    path: Path
    names: tuple[str, ...] | None
    columns: tuple[str, ...]
    values: np.ndarray
    everything: dict[str, Any]
    transform: Transform | None = None
    notes: tuple[str, ...] = ()

    @property
    def n_samples(self) -> int:
        return int(self.values.shape[0])

    def column(self, name: str, option: str) -> Any:
        """The values of one column of the file, by name."""
        return self.everything[_known(name, tuple(self.everything), self.path, option)]

    def frame(self) -> Any:
        """The features as a pandas DataFrame with the samples' names as index."""
        import pandas as pd

        return pd.DataFrame(
            self.values, columns=list(self.columns), index=None if self.names is None else list(self.names)
        )


def read_table(
    path: str | Path,
    *,
    columns: Sequence[str] | None = None,
    name_column: str | None = None,
    leave_out: Sequence[str] = (),
    transpose: bool = False,
    standardize: bool = False,
    pca: int | None = None,
    header: bool | None = None,
) -> Table:
    """Read CSV, TSV, NPY or Parquet.

    Parameters
    ----------
    columns : sequence of names, optional
        The features. Default: every numeric column that has no other role.
    name_column : str, optional
        The column that names the samples. Default: the first one, if it has no heading or holds texts that
        all differ.
    leave_out : sequence of names
        Columns with another role (labels, classes): not features unless ``columns`` says so.
    transpose, header
        See :func:`certmix.io.grid.read_grid`.
    standardize, pca
        See :func:`certmix.io.transform.fit_transform`.
    """
    grid = read_grid(path, transpose=transpose, header=header)
    notes = list(grid.notes)
    numbers = {name: _numbers(column) for name, column in zip(grid.header, grid.columns, strict=True)}
    name_column = _name_column(grid, name_column, columns, leave_out, numbers, notes)
    names = None if name_column is None else _names(grid, name_column)
    for name in leave_out:
        _known(name, grid.header, grid.path, "the label or class column")
    if columns is None:
        taken = {name_column, *leave_out}
        chosen = _default_columns(grid, numbers, taken, notes)
    else:
        chosen = _asked_columns(grid, columns, numbers)
    values = _matrix(grid, chosen, numbers, names)
    data, transform = fit_transform(values, chosen, standardize=standardize, pca=pca)
    if transform is not None and transform.components is not None:
        notes.append(f"{pca} principal components explain {100 * transform.explained:.1f} % of the variance")
    everything = {
        name: column if numbers[name].bad else numbers[name].values
        for name, column in zip(grid.header, grid.columns, strict=True)
    }
    kept = chosen if transform is None else transform.names()
    return Table(grid.path, names, kept, np.ascontiguousarray(data), everything, transform, tuple(notes))


# -- cells ---------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Numbers:
    """A column as numbers: NaN where a cell is missing or ``bad`` (neither missing nor a number)."""

    values: np.ndarray
    bad: tuple[int, ...]

    @property
    def n_good(self) -> int:
        return int(np.count_nonzero(~np.isnan(self.values)))


def _numbers(cells: Any) -> _Numbers:
    if isinstance(cells, np.ndarray):
        return _Numbers(cells, ())
    if cells and all(isinstance(cell, str) for cell in cells):
        try:
            return _Numbers(np.array(cells, dtype=np.float64), ())
        except ValueError:
            pass  # some cell is missing or no number: look at each
    values = np.full(len(cells), np.nan)
    bad = []
    for i, cell in enumerate(cells):
        if is_missing(cell):
            continue
        if isinstance(cell, (int, float)) and not isinstance(cell, bool):
            values[i] = cell
        elif isinstance(cell, str) and is_number(cell):
            values[i] = float(cell)
        else:
            bad.append(i)
    return _Numbers(values, tuple(bad))


# -- names ---------------------------------------------------------------------------------------------
def _name_column(
    grid: Grid,
    asked: str | None,
    columns: Sequence[str] | None,
    leave_out: Sequence[str],
    numbers: dict[str, _Numbers],
    notes: list[str],
) -> str | None:
    if asked is not None:
        return _known(asked, grid.header, grid.path, "--name-column")
    first = grid.header[0]
    if first in (columns or ()) or first in leave_out:
        return None
    cells = [str(cell).strip() for cell in grid.columns[0]]
    unique = len(set(cells)) == len(cells) and not any(is_missing(cell) for cell in cells)
    if not unique:
        return None
    if first == "" or (numbers[first].bad and numbers[first].n_good == 0):
        notes.append(f"{'the first column' if first == '' else f'column {first!r}'} names the samples")
        return first
    return None


def _names(grid: Grid, name: str) -> tuple[str, ...]:
    column = grid.columns[grid.header.index(name)]
    cells = [_text(cell) for cell in column]
    seen: dict[str, int] = {}
    for i, cell in enumerate(cells):
        if is_missing(cell):
            raise InputError(f"{grid.path}, {grid.where[i]}: the sample has no name in column {name!r}")
        if cell in seen:
            raise InputError(
                f"{grid.path}: the sample name {cell!r} in column {name!r} stands twice "
                f"({grid.where[seen[cell]]} and {grid.where[i]})"
            )
        seen[cell] = i
    return tuple(cells)


def _text(cell: Any) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()


# -- features ------------------------------------------------------------------------------------------
def _default_columns(
    grid: Grid, numbers: dict[str, _Numbers], taken: set[str | None], notes: list[str]
) -> tuple[str, ...]:
    chosen, text = [], []
    for name in grid.header:
        if name in taken:
            continue
        column = numbers[name]
        if not column.bad and column.n_good:
            chosen.append(name)
        elif column.n_good > len(column.bad):
            # Mostly numbers: a slip of the pen, not a column of texts; leaving it out would hide the error.
            raise InputError(
                _not_a_number(grid, name, column) + "; correct it, or choose the features with --columns"
            )
        else:
            text.append(name)
    if text:
        notes.append(
            f"left out, not numeric: {', '.join(map(repr, text[:8]))}{', …' if len(text) > 8 else ''}"
        )
    if not chosen:
        raise InputError(
            f"{grid.path} has no numeric column to cluster by (its columns: {_some(grid.header)})"
        )
    return tuple(chosen)


def _asked_columns(grid: Grid, asked: Sequence[str], numbers: dict[str, _Numbers]) -> tuple[str, ...]:
    if not asked:
        raise InputError("--columns names no column")
    chosen: list[str] = []
    for entry in asked:
        name = _known(entry, grid.header, grid.path, "--columns")
        if name in chosen:
            raise InputError(f"--columns names {name!r} twice")
        if numbers[name].bad:
            raise InputError(_not_a_number(grid, name, numbers[name]))
        chosen.append(name)
    return tuple(chosen)


def _matrix(
    grid: Grid, chosen: tuple[str, ...], numbers: dict[str, _Numbers], names: tuple[str, ...] | None
) -> np.ndarray:
    values = np.column_stack([numbers[name].values for name in chosen])
    if np.isfinite(values).all():
        return values
    wrong = np.argwhere(~np.isfinite(values))
    i, j = (int(x) for x in wrong[0])
    who = f"sample {names[i]!r}" if names is not None else f"sample {i}"
    what = "is missing" if np.isnan(values[i, j]) else f"is {values[i, j]}"
    more = f" ({len(wrong)} such values in all)" if len(wrong) > 1 else ""
    raise InputError(
        f"{grid.path}, {grid.where[i]}: the value of {who} in column {chosen[j]!r} {what}{more}; "
        f"fill it, or drop the sample or the column"
    )


def _not_a_number(grid: Grid, name: str, column: _Numbers) -> str:
    i = column.bad[0]
    cell = grid.columns[grid.header.index(name)][i]
    more = f" ({len(column.bad)} such cells in all)" if len(column.bad) > 1 else ""
    return f"{grid.path}, {grid.where[i]}, column {name!r}: {cell!r} is not a number{more}"


def _known(name: str, header: tuple[str, ...], path: Path, option: str) -> str:
    """The column of that name, or an error with a suggestion."""
    if name in header:
        return name
    if name.strip() in header:
        return name.strip()
    close = difflib.get_close_matches(name, header, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"its columns: {_some(header)}"
    raise InputError(f"{option}: {path} has no column {name!r} ({hint})")


def _some(names: Sequence[str], most: int = 10) -> str:
    listed = ", ".join(name or "(no name)" for name in names[:most])
    return listed + (f", … {len(names) - most} more" if len(names) > most else "")


# -- matrices ------------------------------------------------------------------------------------------
def read_matrix(path: str | Path, columns: Sequence[str]) -> np.ndarray:
    """A precision or covariance matrix from CSV, TSV or NPY.

    A text file holds d rows of d numbers. It may have a header and a first column of names, which must then
    be the data's columns in the same order. An NPY file may also hold one matrix for each component, shape
    (K, d, d).
    """
    path = existing_file(path)
    if path.suffix.lower() == ".parquet":
        raise InputError(f"{path}: a matrix is read from CSV, TSV or NPY")
    if path.suffix.lower() == ".npy":
        array = load_npy(path)
        if array.dtype.kind not in "fiu":
            raise InputError(f"{path} holds {array.dtype} values; a matrix must hold real numbers")
        with np.errstate(invalid="ignore"):  # a signalling NaN, refused later
            return array.astype(np.float64)
    rows, lines, _ = read_rows(path)
    if not all(is_number(cell) for cell in rows[0]):
        header, rows, lines = [cell.strip() for cell in rows[0]], rows[1:], lines[1:]
        if rows and not is_number(rows[0][0]):
            _same_names(path, "the first column", [row[0].strip() for row in rows], columns)
            header, rows = header[1:], [row[1:] for row in rows]
        _same_names(path, "the header", header, columns)
    d = len(columns)
    for row, line in zip(rows, lines, strict=True):
        if len(row) != d:
            raise InputError(f"{path}, line {line}: {len(row)} numbers, but the data have {d} features")
        for j, cell in enumerate(row):
            if not is_number(cell):
                raise InputError(f"{path}, line {line}, column {j + 1}: {cell!r} is not a number")
    if len(rows) != d:
        raise InputError(f"{path} has {len(rows)} rows of numbers, but the data have {d} features")
    return np.array(rows, dtype=np.float64)


def _same_names(path: Path, what: str, found: list[str], columns: Sequence[str]) -> None:
    if found != list(columns):
        raise InputError(
            f"{path}: {what} ({_some(found)}) does not name the data's columns ({_some(columns)}) in order"
        )
