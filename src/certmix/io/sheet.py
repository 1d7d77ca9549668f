"""A text file as columns. Large plain files are read by pandas; whatever is odd or wrong, by the strict reader."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from certmix.errors import InputError
from certmix.io.files import Source
from certmix.io.headings import headed_like_a_name
from certmix.io.text import _MISSING, Style, decode, is_missing, is_number, separator, split_rows

# Below so many signs the strict reader is as fast as importing pandas is.
LARGE = 50_000
_LINES_TO_LOOK_AT = 20


@dataclass(frozen=True)
class Sheet:
    """Columns of a text file below its first row.

    Attributes
    ----------
    head : the cells of the first row, or None when that is data
    columns : float arrays (NaN where a value is missing), or lists of texts as they stand in the file
    where : "line 7" for row 0 and so on
    short : whether the first row has one cell less than the others, as R writes it
    """

    head: list[str] | None
    columns: list[Any]
    where: Callable[[int], str]
    sep: str
    short: bool = False


def read_sheet(
    source: Source, style: Style, *, header: bool | None, keep: Collection[str] = (), large: int = LARGE
) -> Sheet:
    """Read a text file.

    Parameters
    ----------
    header : whether the first row names the columns; by default it does, unless it looks like data
    keep : names of columns that are wanted as texts
    large : from so many signs on pandas is asked first
    """
    text = decode(source, style.encoding)
    sep = style.sep or separator(source, text)
    found = _by_pandas(text, sep, style.decimal, header, keep) if len(text) >= large else None
    return found or _strictly(source, text, sep, style.decimal, header)


def looks_like_data(row: list[str], decimal: str = ".") -> bool:
    """Whether a first row is data: numbers (a name may come first) that do not just count the columns."""
    rest = row
    if len(row) > 1 and not is_number(row[0], decimal):
        if headed_like_a_name(row[0]):  # "gene,1000,1001": the names of samples can be numbers
            return False
        rest = row[1:]
    if not all(is_number(cell, decimal) for cell in rest):
        return False
    counting = [str(j) for j in range(len(rest))]
    return not (len(rest) > 1 and [cell.strip() for cell in rest] == counting)


# -- the strict reader -----------------------------------------------------------------------------------
def _strictly(source: Source, text: str, sep: str, decimal: str, header: bool | None) -> Sheet:
    rows, lines = split_rows(source, text, sep)
    named = not looks_like_data(rows[0], decimal) if header is None else header
    short = named and _is_short(rows)
    if short:
        rows[0] = ["", *rows[0]]
    width = len(rows[0])
    for row, line in zip(rows, lines, strict=True):
        if len(row) != width:
            raise InputError(
                f"{source}, line {line}: it has {len(row)} cells, but the first line has {width}"
                + _sep_hint(text, sep)
            )
    head = rows[0] if named else None
    if named:
        rows, lines = rows[1:], lines[1:]
    if not rows:
        raise InputError(f"{source} has a header but no samples")
    columns = [list(column) for column in zip(*rows, strict=True)]
    return Sheet(head, columns, lambda i: f"line {lines[i]}", sep, short)


def _is_short(rows: list[list[str]]) -> bool:
    """A first row without a cell for the names of the rows, as R's write.table leaves it."""
    width = len(rows[0]) + 1
    return (
        len(rows) > 1
        and all(len(row) == width for row in rows[1:])
        and any(row[-1].strip() for row in rows[1:])
        and all(cell.strip() for cell in rows[0])
    )


def _sep_hint(text: str, sep: str) -> str:
    lines = [line for line in text[:20000].splitlines()[:10] if line.strip()]
    for sign, word in ((";", "';'"), ("\t", "tab")):
        counts = {line.count(sign) for line in lines[: max(1, len(lines) - 1)]}
        if sign != sep and len(counts) == 1 and counts.pop() > 0:
            comma = " --decimal ," if sep == "," else ""
            return f"; are the cells separated by {word}? add --sep {word}{comma}"
    return ""


# -- pandas ----------------------------------------------------------------------------------------------
def _by_pandas(text: str, sep: str, decimal: str, header: bool | None, keep: Collection[str]) -> Sheet | None:
    """The same columns by pandas' C parser, or None when the file is such that pandas might read it otherwise.

    pandas fills short rows, is lenient with quotes and skips what it takes for blank. So it is only asked when every
    line is a row, quotes stand around whole cells without a separator, and separators are as many as they have to be.
    """
    text = text.rstrip("\r\n")
    if text.count("\r") != text.count("\r\n") or not _plainly_quoted(text, sep):
        return None
    n_lines = text.count("\n") + 1
    opening = text[: _end_of_line(text, _LINES_TO_LOOK_AT)].split("\n")
    try:
        rows = list(csv.reader([line.rstrip("\r") for line in opening], delimiter=sep, strict=True))
    except csv.Error:
        return None
    if n_lines < 3 or len(rows) < 3 or any(not any(cell.strip() for cell in row) for row in rows):
        return None
    head, width = rows[0], len(rows[1])
    named = not looks_like_data(head, decimal) if header is None else header
    short = named and len(head) + 1 == width and all(cell.strip() for cell in head)
    if text.count(sep) != len(head) - 1 + (width - 1) * (n_lines - 1) or not (len(head) == width or short):
        return None
    if short:
        head = ["", *head]
    texts = [
        j == 0
        or (named and head[j].strip() in keep)
        or any(j >= len(row) or not (is_missing(row[j]) or is_number(row[j], decimal)) for row in rows[1:])
        for j in range(width)
    ]
    columns = _columns(text, sep, decimal, int(named), texts, n_lines - int(named))
    if columns is None or (short and not any(map(_filled, columns[-1]))):
        return None
    first = 1 + int(named)
    return Sheet(head if named else None, columns, lambda i: f"line {first + i}", sep, short)


def _columns(
    text: str, sep: str, decimal: str, skip: int, texts: list[bool], n_rows: int
) -> list[Any] | None:
    import pandas as pd

    def read(**how: Any) -> Any:
        return pd.read_csv(
            io.BytesIO(text.encode()),
            sep=sep,
            header=None,
            skiprows=skip,
            keep_default_na=False,
            float_precision="round_trip",
            decimal=decimal,
            skip_blank_lines=False,
            low_memory=False,
            engine="c",
            **how,
        )

    wordy = [j for j, is_text in enumerate(texts) if is_text]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pandas 3.1 deprecates float_precision
            # Missing values by column would take seconds with thousands of columns.
            frame = read(
                dtype={j: object if is_text else np.float64 for j, is_text in enumerate(texts)},
                na_values=_WORDS,
            )
            if frame.shape != (n_rows, len(texts)):
                return None
            # Texts are kept as they are; every row has its length by now, which ``usecols`` would not look at.
            as_written = read(usecols=wordy, dtype=object) if frame[wordy].isna().any(axis=None) else frame
    except (ValueError, OverflowError, TypeError):
        return None  # a cell is not what its column promised, and the strict reader says which; or pandas is another
    columns: list[Any] = [
        as_written[j].tolist() if is_text else frame[j].to_numpy() for j, is_text in enumerate(texts)
    ]
    if any(not isinstance(cell, str) for j in wordy for cell in columns[j]):
        return None
    blank = np.ones(n_rows, dtype=bool)  # of rows without numbers the texts decide
    for column in columns:
        if isinstance(column, np.ndarray):
            blank &= np.isnan(column)
    blank_rows = np.flatnonzero(blank)
    if any(not any(_filled(column[i]) for column in columns) for i in blank_rows):
        return None  # a row of nothing, which the strict reader leaves out
    return columns


def _filled(cell: Any) -> bool:
    return bool(cell.strip()) if isinstance(cell, str) else cell == cell


def _end_of_line(text: str, count: int) -> int:
    """Where so many lines end."""
    at = -1
    for _ in range(count):
        at = text.find("\n", at + 1)
        if at < 0:
            return len(text)
    return at


def _plainly_quoted(text: str, sep: str) -> bool:
    quotes = text.count('"')
    if not quotes:
        return True
    s = re.escape(sep)
    whole = re.compile(rf'(?<![^{s}\n])"[^"{s}\r\n]*"(?![^{s}\r\n])')
    return 2 * sum(1 for _ in whole.finditer(text)) == quotes


def _spellings(word: str) -> list[str]:
    return ["".join(letters) for letters in product(*({c, c.upper()} for c in word))]


_WORDS = [spelling for word in sorted(_MISSING) for spelling in _spellings(word)]
