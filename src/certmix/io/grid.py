"""Files as raw columns: what stands in a CSV, TSV, NPY, Parquet or Excel file, before anything is made of it."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from certmix.errors import InputError
from certmix.io.files import Source, read_source
from certmix.io.sheet import LARGE, Sheet, read_sheet
from certmix.io.text import Style, is_missing, is_number

# Files that pandas reads: what they are called, what reads them, and the extra that brings it.
FRAMES = {".parquet": ("Parquet", "pyarrow", "parquet"), ".xlsx": ("an Excel file", "openpyxl", "excel")}


@dataclass(frozen=True)
class Grid:
    """The columns of a file as they stand in it.

    Attributes
    ----------
    header : names of the columns
    columns : one list (of texts or values) or float array for each
    where : "line 7" and the like for every row (or column, when the file was transposed)
    headed : whether the names of the columns stand in the file
    bare : whether the file is a matrix of numbers without names of any kind
    turned : whether rows and columns were exchanged; the first column then names the samples
    decimal : the decimal sign of texts
    notes, warnings : what was guessed about the file, in words
    """

    path: Source
    header: tuple[str, ...]
    columns: tuple[Any, ...]
    where: Callable[[int], str]
    headed: bool = True
    bare: bool = False
    turned: bool = False
    decimal: str = "."
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        return len(self.columns[0])

    def __getitem__(self, name: str) -> Any:
        return self.columns[self.header.index(name)]


def read_grid(
    path: str | Path,
    *,
    transpose: bool = False,
    header: bool | None = None,
    style: Style | None = None,
    keep: Collection[str] = (),
    large: int = LARGE,
) -> Grid:
    """Read a file into columns; the kind of file is told by its suffix.

    Parameters
    ----------
    transpose : bool
        The file holds features in rows and samples in columns; its first row names the samples and its first column
        the features, unless ``header`` is False, when there are only numbers.
    header : bool, optional
        Whether the first row names the columns. By default it does, unless it looks like data.
    style : Style, optional
        How a text file is written.
    keep, large
        See :func:`certmix.io.sheet.read_sheet`.
    """
    source = read_source(path)
    style = style or Style()
    if source.kind in (".npy", *FRAMES) and style != Style():
        raise InputError(f"{source}: --sep, --decimal and --encoding are for text files")
    if source.kind == ".npy":
        return _from_array(source, load_npy(source), transpose)
    if source.kind in FRAMES:
        if transpose:
            raise InputError(
                f"{source}: --transpose is for CSV, TSV and NPY files; a file of this kind has typed columns"
            )
        return _from_frame(source)
    if not transpose:
        return _upright(source, read_sheet(source, style, header=header, keep=keep, large=large), style)
    sheet = read_sheet(source, style, header=header is not False, large=large)
    body = sheet.columns if sheet.head is None else sheet.columns[1:]
    whole = all(isinstance(c, np.ndarray) for c in body)
    if not whole and any(
        isinstance(c, np.ndarray) for c in sheet.columns
    ):  # a row of texts: its cells have to stay as they are written
        sheet = read_sheet(source, style, header=header is not False, large=sys.maxsize)
    return _turned(source, sheet, style)


# -- text ----------------------------------------------------------------------------------------------
def _upright(source: Source, sheet: Sheet, style: Style) -> Grid:
    notes = _notes(sheet, style)
    if sheet.head is None:
        names = [f"x{j}" for j in range(len(sheet.columns))]
        notes.append(
            "the first row holds numbers, so the columns have no names (--header if it does name them)"
        )
    else:
        names = [cell.strip() for cell in sheet.head]
    names, columns = _without_blank_columns(names, sheet.columns)
    _check_header(source, names, "column")
    headed = sheet.head is not None
    return Grid(
        source, tuple(names), tuple(columns), sheet.where, headed, decimal=style.decimal, notes=tuple(notes)
    )


def _turned(source: Source, sheet: Sheet, style: Style) -> Grid:
    """Samples from the columns of a sheet: its first row names them, its first column the features."""
    notes, warnings = _notes(sheet, style), []
    body = sheet.columns if sheet.head is None else sheet.columns[1:]
    if not body:
        raise InputError(f"{source} has one column only; with --transpose the samples are in the columns")
    if all(isinstance(column, np.ndarray) for column in body):
        columns: list[Any] = list(np.column_stack(body))
    else:
        columns = [list(row) for row in zip(*body, strict=True)]
    if sheet.head is None:
        names = [f"x{j}" for j in range(len(columns))]
    else:
        features = [str(cell).strip() for cell in sheet.columns[0]]
        names = [sheet.head[0].strip(), *features]
        columns = [[cell.strip() for cell in sheet.head[1:]], *columns]
        notes.append("the first row names the samples, the first column the features")
        if all(is_number(cell, style.decimal) for cell in (*sheet.head, *features)):
            warnings.append(
                "the first row and the first column hold numbers only and were taken for names; "
                "add --no-header if they are data"
            )
        if names[0] in features:
            names[0] = ""
        names, columns = _without_blank_columns(names, columns)
    _check_header(source, names, "row")
    shift = 1 if sheet.head is None else 2
    return Grid(
        source,
        tuple(names),
        tuple(columns),
        lambda i: f"column {i + shift} of the file",
        headed=sheet.head is not None,
        bare=sheet.head is None,
        turned=sheet.head is not None,
        decimal=style.decimal,
        notes=tuple(notes),
        warnings=tuple(warnings),
    )


def _notes(sheet: Sheet, style: Style) -> list[str]:
    notes = []
    word = {";": "semicolons", "\t": "tabs"}.get(sheet.sep, repr(sheet.sep))
    if style.sep is not None or sheet.sep == ";":
        notes.append(f"cells are separated by {word}")
    if style.decimal == ",":
        notes.append("numbers have a decimal comma")
    if style.encoding is not None:
        notes.append(f"the file is written in {style.encoding}")
    if sheet.short:
        notes.append("the first row has no cell for the first column (as R writes it), which names the rows")
    return notes


def _without_blank_columns(names: list[str], columns: list[Any]) -> tuple[list[str], list[Any]]:
    """Drop columns without name and content (a delimiter at the end of every line)."""
    keep = [j for j, name in enumerate(names) if name or not _is_blank(columns[j])]
    return [names[j] for j in keep], [columns[j] for j in keep]


def _is_blank(column: Any) -> bool:
    if isinstance(column, np.ndarray):
        return bool(np.isnan(column).all())
    return all(is_missing(cell) for cell in column)


def _check_header(path: Source, names: list[str], what: str) -> None:
    seen: dict[str, int] = {}
    for j, name in enumerate(names):
        if not name and j > 0:
            raise InputError(f"{path}: {what} {j + 1} has no name")
        if name in seen:
            raise InputError(f"{path}: two {what}s are named {name!r} ({seen[name] + 1} and {j + 1})")
        seen[name] = j


# -- binary --------------------------------------------------------------------------------------------
def load_npy(path: Source) -> np.ndarray:
    """A NumPy array from a file, never unpickling anything."""
    if path.content[:6] != b"\x93NUMPY":
        raise InputError(f"{path} is not a NumPy array file (write one with numpy.save)")
    try:
        array = np.load(io.BytesIO(path.content), allow_pickle=False)
    except Exception as error:  # a damaged header is Python source to NumPy, with all the errors of that
        if "object arrays" in str(error).lower():
            raise InputError(f"{path} holds Python objects, not numbers; save a numeric array") from None
        raise InputError(f"{path} is a damaged NumPy array file ({error})") from None
    return np.asarray(array)


def _from_array(path: Source, array: np.ndarray, transpose: bool) -> Grid:
    if array.dtype.names:
        if transpose or array.ndim != 1:
            raise InputError(f"{path}: a structured array must have one dimension and cannot be transposed")
        header = tuple(array.dtype.names)
        columns = tuple(_typed(array[name]) for name in header)
        return Grid(path, header, columns, _row)
    if array.dtype.kind not in "fiub":
        raise InputError(f"{path} holds {array.dtype} values; the data must be real numbers")
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise InputError(
            f"{path}: the array has {array.ndim} dimensions; the data must be a table (samples x features)"
        )
    if transpose:
        array = array.T
    if 0 in array.shape:
        raise InputError(f"{path} is empty: {array.shape[0]} samples x {array.shape[1]} features")
    with np.errstate(invalid="ignore"):  # a signalling NaN; what is not finite is refused later, by its row
        array = array.astype(np.float64)
    header = tuple(f"x{j}" for j in range(array.shape[1]))
    return Grid(path, header, tuple(array.T), _row, headed=False, bare=True)


def _from_frame(path: Source) -> Grid:
    what, needs, extra = FRAMES[path.kind]
    if find_spec(needs) is None:
        raise InputError(
            f"{path}: reading {what} needs {needs}; install it with: pip install 'certmix[{extra}]'"
        )
    import pandas as pd

    notes: list[str] = []
    try:
        if path.kind == ".parquet":
            frame = pd.read_parquet(io.BytesIO(path.content), engine="pyarrow")
        else:
            book = pd.ExcelFile(io.BytesIO(path.content), engine="openpyxl")
            frame = pd.read_excel(book, sheet_name=0).dropna(how="all")
            frame = frame.rename(columns=lambda name: "" if str(name) == "Unnamed: 0" else name)
            if len(book.sheet_names) > 1:
                notes.append(f"of {len(book.sheet_names)} sheets the first was read, {book.sheet_names[0]!r}")
            frame.index = pd.RangeIndex(len(frame))
    except Exception as error:  # both libraries have a dozen kinds of errors for a damaged file
        raise InputError(
            f"{path} cannot be read as {what}: {(str(error) or repr(error)).splitlines()[0]}"
        ) from None
    if not isinstance(frame.index, pd.RangeIndex):
        frame = frame.reset_index(names=frame.index.name or "")
    if frame.shape[0] == 0 or frame.shape[1] == 0:
        raise InputError(f"{path} is empty: {frame.shape[0]} rows x {frame.shape[1]} columns")
    names = [str(column) for column in frame.columns]
    _check_header(path, names, "column")
    columns = tuple(_typed(frame.iloc[:, j].to_numpy()) for j in range(frame.shape[1]))
    return Grid(path, tuple(names), columns, _row, notes=tuple(notes))


def _typed(values: np.ndarray) -> Any:
    """Numbers as a float array, everything else as a list."""
    with np.errstate(invalid="ignore"):
        return values.astype(np.float64) if values.dtype.kind in "fiu" else values.tolist()


def _row(i: int) -> str:
    return f"row {i}"
