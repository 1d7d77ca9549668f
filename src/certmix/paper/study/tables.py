"""Tables: rows of texts for the page, and records with all their digits for CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Table:
    """A table of the page and its CSV file.

    Attributes
    ----------
    name : str
        Name of the CSV file.
    caption : str
    header : texts
    rows : sequences of texts
    records : mappings, optional
        What the CSV file holds; the rows as shown by default.
    """

    name: str
    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    records: Sequence[Mapping[str, Any]] = field(default=())

    def csv(self) -> str:
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        if self.records:
            writer.writerow(self.records[0].keys())
            writer.writerows([_plain(v) for v in record.values()] for record in self.records)
        else:
            writer.writerow(self.header)
            writer.writerows(self.rows)
        return text.getvalue()


def _plain(value: Any) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    return repr(float(value)) if isinstance(value, float) else str(value)


def decimals(value: float | None, digits: int) -> str:
    """A number with so many decimals; a dash where there is none. Very large ones get an exponent."""
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:.1e}" if abs(value) >= 1e5 else f"{value:.{digits}f}"


def percent(value: float | None, digits: int = 1) -> str:
    """A share in per cent; a dash where there is none."""
    return "–" if value is None or not math.isfinite(value) else f"{100 * value:.{digits}f} %"


def seconds(value: float | None) -> str:
    """Seconds with two leading digits or so."""
    if value is None:
        return "–"
    return f"{value:.3f}" if value < 0.1 else f"{value:.2f}" if value < 10 else f"{value:.0f}"
