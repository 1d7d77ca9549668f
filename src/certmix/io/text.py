"""Text files as rows of cells: encoding, separator, decimal sign, quotes. Strict: every error names its line."""

from __future__ import annotations

import codecs
import csv
import io
import re
from dataclasses import dataclass
from typing import Any

from certmix.errors import InputError
from certmix.io.files import Source

SEPARATORS = {"tab": "\t", "comma": ",", "semicolon": ";", "space": " ", "\\t": "\t"}
_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none"})
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?\s*")
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+(e[+-]?\d+)?\s*", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Style:
    """How a text file is written; None where it is to be guessed.

    Attributes
    ----------
    sep : one sign, or ``tab``, ``comma``, ``semicolon``, ``space``
    decimal : ``.`` or ``,``
    encoding : UTF-8 by default
    """

    sep: str | None = None
    decimal: str = "."
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.decimal not in (".", ","):
            raise InputError(f"--decimal {self.decimal!r}: the decimal sign is . or ,")
        if self.sep is not None:
            sign = SEPARATORS.get(self.sep.lower(), self.sep)
            if len(sign) != 1 or sign.isalnum() or sign in "\"'\r\n.+-_\0\ufeff":
                raise InputError(
                    f"--sep {self.sep!r}: give one sign such as ';', or {', '.join(list(SEPARATORS)[:4])}"
                )
            if sign == self.decimal:
                raise InputError(f"--sep {self.sep!r} is the decimal sign too; say which is which")
            object.__setattr__(self, "sep", sign)
        if self.encoding is not None:
            try:
                b"a".decode(self.encoding)
            except UnicodeError:
                pass  # an encoding in which this is not a whole letter
            except (LookupError, ValueError):
                raise InputError(
                    f"--encoding {self.encoding!r} is not known; usual ones are utf-8, latin-1, cp1252, utf-16"
                ) from None

    def as_dict(self) -> dict[str, Any]:
        """What was said, for the record."""
        said = {"sep": self.sep, "encoding": self.encoding}
        return {k: v for k, v in said.items() if v} | ({"decimal": ","} if self.decimal == "," else {})


# -- cells ---------------------------------------------------------------------------------------------
def is_missing(cell: Any) -> bool:
    """Whether a cell stands for no value: blank, NA, NaN, null, None."""
    if isinstance(cell, str):
        return cell.strip().lower() in _MISSING
    return cell is None or bool(cell != cell)


def to_number(cell: str, decimal: str = ".") -> float:
    """The number that a cell holds; ValueError when it holds none."""
    if decimal == ",":
        if "." in cell:
            raise ValueError(cell)
        cell = cell.replace(",", ".")
    return float(cell)


def is_number(cell: str, decimal: str = ".") -> bool:
    try:
        to_number(cell, decimal)
    except ValueError:
        return False
    return not is_missing(cell)


def number_hint(cell: Any, decimal: str) -> str:
    """What may be meant by a cell that is not a number, where that is plain."""
    if not isinstance(cell, str):
        return ""
    if decimal == "." and _THOUSANDS.fullmatch(cell):
        return "; take the comma between thousands out, or, if it is a decimal comma, add --decimal ,"
    if decimal == "." and _DECIMAL_COMMA.fullmatch(cell):
        return "; is it a decimal comma? add --decimal ,"
    if decimal == "," and is_number(cell):
        return "; it has a decimal point, and --decimal , was given"
    if len(cell) < 10000:
        for sign, word in ((";", "';'"), ("\t", "tab"), ("|", "'|'"), (" ", "space")):
            parts = cell.split(sign)
            if len(parts) > 1 and all(is_number(p) or _DECIMAL_COMMA.fullmatch(p) for p in parts):
                return f"; are the cells separated by {word}? add --sep {word}"
    return ""


# -- rows ----------------------------------------------------------------------------------------------
def decode(source: Source, encoding: str | None) -> str:
    """The text of a file, without its byte order mark."""
    content = source.content
    try:
        text = content.decode(encoding or "utf-8")
    except UnicodeError as error:
        at = getattr(error, "start", 0)
        line = content.count(b"\n", 0, at) + 1
        wide = content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        advice = "--encoding utf-16" if wide else "--encoding latin-1 or cp1252 may be right"
        byte = f"byte 0x{content[at]:02x}" if at < len(content) else "its end"
        raise InputError(
            f"{source}, line {line}: {byte} is not {encoding or 'UTF-8'}; save the file as UTF-8, or say how "
            f"it is written ({advice})"
        ) from None
    text = text.removeprefix("\ufeff")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(f"{source}, line {line}: the file is not text")
    return text


def separator(source: Source, text: str) -> str:
    """Tab for .tsv; else the first of comma, tab, semicolon that divides the first lines alike, or is there at all."""
    if source.kind in (".tsv", ".tab"):
        return "\t"
    lines = [line for line in text[:20000].splitlines()[:10] if line.strip()] or [""]
    present = [sign for sign in (",", "\t", ";") if sign in lines[0]]
    even = [sign for sign in present if len({line.count(sign) for line in lines[:-1] or lines}) == 1]
    return (even or present or [","])[0]


def split_rows(source: Source | str, text: str, sep: str) -> tuple[list[list[str]], list[int]]:
    """Rows that are not blank, and the line on which each ends."""
    rows: list[list[str]] = []
    lines: list[int] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=sep, strict=True)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append(row)
                lines.append(reader.line_num)
    except csv.Error as error:
        raise InputError(f"{source}, line {reader.line_num}: {error}") from None
    if not rows:
        raise InputError(f"{source} is empty")
    return rows, lines
