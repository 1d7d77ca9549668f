"""Files as raw columns: what stands in a CSV, TSV, NPY or Parquet file, before anything is made of it."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from certmix.errors import InputError

TEXT = (".csv", ".tsv", ".tab", ".txt")
SUFFIXES = (*TEXT, ".npy", ".parquet")
_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none"})


def is_missing(cell: Any) -> bool:
    """Whether a cell stands for no value: blank, NA, NaN, null, None."""
    if isinstance(cell, str):
        return cell.strip().lower() in _MISSING
    return cell is None or bool(cell != cell)


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return not is_missing(cell)


@dataclass(frozen=True)
class Grid:
    """The columns of a file as they stand in it.

    Attributes
    ----------
    header : names of the columns
    columns : one list (of texts or values) or float array for each
    where : "line 7" and the like for every row (or column, when the file was transposed)
    notes : what was guessed about the file, in words
    """

    path: Path
    header: tuple[str, ...]
    columns: tuple[Any, ...]
    where: tuple[str, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def n_rows(self) -> int:
        return len(self.where)


def read_grid(path: str | Path, *, transpose: bool = False, header: bool | None = None) -> Grid:
    """Read a file into columns; the kind of file is told by its suffix.

    Parameters
    ----------
    transpose : bool
        The file holds features in rows and samples in columns.
    header : bool, optional
        Whether the first row names the columns. By default it does, unless it looks like data.
    """
    path = existing_file(path)
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return _from_array(path, load_npy(path), transpose)
    if suffix == ".parquet":
        if transpose:
            raise InputError(
                f"{path}: --transpose is for CSV, TSV and NPY files; a Parquet file has typed columns"
            )
        return _from_parquet(path)
    return _from_rows(path, transpose, header)


def existing_file(path: str | Path) -> Path:
    """The path of a file that can be read, or a sentence that says why it cannot."""
    path = Path(path)
    try:
        if path.is_dir():
            raise InputError(f"{path} is a directory, not a file")
        if not path.exists():
            raise InputError(f"there is no file {str(path)!r}")
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{str(path)!r} cannot be opened: {error}") from None
    if path.suffix.lower() not in SUFFIXES:
        kind = f"the suffix {path.suffix!r}" if path.suffix else "no suffix"
        raise InputError(f"{path} has {kind}; certmix reads {', '.join(SUFFIXES)}")
    return path


# -- text ----------------------------------------------------------------------------------------------
def read_rows(path: Path) -> tuple[list[list[str]], list[int], str]:
    """Rows of a text file that are not blank, the line on which each ends, and the delimiter."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}, line {line}: byte 0x{content[error.start]:02x} is not UTF-8; save the file as UTF-8"
        ) from None
    if "\0" in text:
        raise InputError(
            f"{path}, line {text.count(chr(10), 0, text.index(chr(0))) + 1}: the file is not text"
        )
    delimiter = _delimiter(path, text)
    rows: list[list[str]] = []
    lines: list[int] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append(row)
                lines.append(reader.line_num)
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: {error}") from None
    if not rows:
        raise InputError(f"{path} is empty")
    return rows, lines, delimiter


def _delimiter(path: Path, text: str) -> str:
    """Tab for .tsv; else the comma, unless the first line has none but has tabs or semicolons."""
    if path.suffix.lower() in (".tsv", ".tab"):
        return "\t"
    first = text.lstrip("\r\n").split("\n", 1)[0]
    if "," in first:
        return ","
    return next((sign for sign in ("\t", ";") if sign in first), ",")


def _from_rows(path: Path, transpose: bool, header: bool | None) -> Grid:
    rows, lines, delimiter = read_rows(path)
    notes = []
    if delimiter == ";":
        notes.append("cells are separated by semicolons")
    width = len(rows[0])
    for row, line in zip(rows, lines, strict=True):
        if len(row) != width:
            raise InputError(f"{path}, line {line}: it has {len(row)} cells, but the first line has {width}")
    if transpose:
        rows = [list(column) for column in zip(*rows, strict=True)]
        where = [f"column {j + 1} of the file" for j in range(len(rows))]
    else:
        where = [f"line {line}" for line in lines]
    if header is None:
        header = not _looks_like_data(rows[0])
        if not header:
            notes.append(
                "the first row holds numbers, so the columns have no names (--header if it does name them)"
            )
    if header:
        names = [cell.strip() for cell in rows[0]]
        rows, where = rows[1:], where[1:]
    else:
        names = [f"x{j}" for j in range(len(rows[0]))]
    if not rows:
        raise InputError(f"{path} has a header but no samples")
    columns: list[list[str]] = [list(column) for column in zip(*rows, strict=True)]
    names, columns = _without_blank_columns(names, columns)
    _check_header(path, names, "row" if transpose else "column")
    return Grid(path, tuple(names), tuple(columns), tuple(where), tuple(notes))


def _looks_like_data(row: list[str]) -> bool:
    """Whether a first row is data: numbers (the first cell aside) that do not just count the columns."""
    rest = row[1:] if len(row) > 1 and row[0].strip() and not is_number(row[0]) else row
    if not all(is_number(cell) for cell in rest):
        return False
    counting = [str(j) for j in range(len(rest))]
    return not (len(rest) > 1 and [cell.strip() for cell in rest] == counting)


def _without_blank_columns(names: list[str], columns: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Drop columns without name and content (a delimiter at the end of every line)."""
    keep = [j for j, name in enumerate(names) if name or any(cell.strip() for cell in columns[j])]
    return [names[j] for j in keep], [columns[j] for j in keep]


def _check_header(path: Path, names: list[str], what: str) -> None:
    seen: dict[str, int] = {}
    for j, name in enumerate(names):
        if not name and j > 0:
            raise InputError(f"{path}: {what} {j + 1} has no name")
        if name in seen:
            raise InputError(f"{path}: two {what}s are named {name!r} ({seen[name] + 1} and {j + 1})")
        seen[name] = j


# -- binary --------------------------------------------------------------------------------------------
def load_npy(path: Path) -> np.ndarray:
    """A NumPy array from a file, never unpickling anything."""
    try:
        with path.open("rb") as stream:
            if stream.read(6) != b"\x93NUMPY":
                raise InputError(f"{path} is not a NumPy array file (write one with numpy.save)")
        array = np.load(path, allow_pickle=False)
    except InputError:
        raise
    except (
        Exception
    ) as error:  # a damaged header is Python source to NumPy, with all the errors that can have
        if "object arrays" in str(error).lower():
            raise InputError(f"{path} holds Python objects, not numbers; save a numeric array") from None
        raise InputError(f"{path} is a damaged NumPy array file ({error})") from None
    return np.asarray(array)


def _from_array(path: Path, array: np.ndarray, transpose: bool) -> Grid:
    if array.dtype.names:
        if transpose or array.ndim != 1:
            raise InputError(f"{path}: a structured array must have one dimension and cannot be transposed")
        header = tuple(array.dtype.names)
        columns = tuple(_typed(array[name]) for name in header)
        return Grid(path, header, columns, _row_numbers(len(array)))
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
    return Grid(path, header, tuple(array.T), _row_numbers(len(array)))


def _from_parquet(path: Path) -> Grid:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise InputError(
            f"{path}: reading Parquet needs pyarrow; install it with: pip install 'certmix[parquet]'"
        ) from None
    import pandas as pd

    try:
        frame = pd.read_parquet(path, engine="pyarrow")
    except Exception as error:  # pyarrow has a dozen kinds of errors for a damaged file
        raise InputError(f"{path} cannot be read as Parquet: {str(error).splitlines()[0]}") from None
    if not isinstance(frame.index, pd.RangeIndex):
        frame = frame.reset_index(names=frame.index.name or "")
    if frame.shape[0] == 0 or frame.shape[1] == 0:
        raise InputError(f"{path} is empty: {frame.shape[0]} rows x {frame.shape[1]} columns")
    names = [str(column) for column in frame.columns]
    _check_header(path, names, "column")
    columns = tuple(_typed(frame.iloc[:, j].to_numpy()) for j in range(frame.shape[1]))
    return Grid(path, tuple(names), columns, _row_numbers(len(frame)))


def _typed(values: np.ndarray) -> Any:
    """Numbers as a float array, everything else as a list."""
    with np.errstate(invalid="ignore"):
        return values.astype(np.float64) if values.dtype.kind in "fiu" else values.tolist()


def _row_numbers(n: int) -> tuple[str, ...]:
    return tuple(f"row {i}" for i in range(n))
