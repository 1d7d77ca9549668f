"""Margins as a page of text."""

from __future__ import annotations

import math
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from certmix.summary import WIDTH

if TYPE_CHECKING:
    from certmix.sensitivity.alternatives import Alternatives
    from certmix.sensitivity.margins import Margin, Stability

MOST = 40  # samples that are shown
RANK = {"open": 0, "undecided": 1}  # those that are least sure first; who is fixed is not shown


def table(found: Stability) -> str:
    """The samples that are not fixed, the pairs, and the sentence."""
    shown = [sample for sample in found.samples if sample.state in RANK]
    shown.sort(key=lambda sample: (RANK[sample.state], sample.upper))
    parts = [f"Margins within {_delta(found)}".center(WIDTH).rstrip(), "=" * WIDTH]
    if shown:
        header = ["sample", found.result.quantity.group, "with", "goes to", "margin", "state"]
        cells = [
            [s.name, s.component, s.representative or "-", s.goes_to or "-", interval(s), str(s.state)]
            for s in shown[:MOST]
        ]
        parts += [*_columns([header, *cells]), "=" * WIDTH]
        if len(shown) > MOST:
            parts.insert(-1, f"and {len(shown) - MOST} more")
    if found.pairs:
        cells = [[p.first, p.second, interval(p), p.words] for p in found.pairs]
        parts += [*_columns([["sample", "and", "margin", "state"], *cells]), "=" * WIDTH]
    parts.append(textwrap.fill(found.sentence(), WIDTH))
    parts += [textwrap.fill(f"Note: {note}.", WIDTH) for note in found.notes]
    if len(shown) < len(found.samples):
        words = "checked" if found.level == "verified" else "computed, not checked by the checker"
        parts.append(f"What is fixed: {words}.")
    return "\n".join(parts)


def _delta(found: Stability | Alternatives) -> str:
    return found.result.quantity.with_unit(f"{found.within:g}")


def interval(margin: Margin) -> str:
    """Between which the margin lies."""
    upper = f"{margin.upper:.4g}" if math.isfinite(margin.upper) else "?"
    lower = f"{margin.lower:.4g}" if math.isfinite(margin.lower) else "no limit"
    return lower if lower == upper or math.isinf(margin.lower) else f"{lower} .. {upper}"


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(f"{c:<{w}}" for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    return [lines[0], "-" * max(WIDTH, max(map(len, lines))), *lines[1:]]


def listing(found: Alternatives) -> str:
    """A line for every clustering, and the sentence."""
    parts = [f"Clusterings within {_delta(found)}".center(WIDTH).rstrip(), "=" * WIDTH]
    cells = [[f"{one.objective:.10g}", f"{one.extra:.4g}", one.words] for one in found.clusterings]
    parts += [*_columns([[found.result.quantity.name, "extra", "what differs"], *cells]), "=" * WIDTH]
    return "\n".join([*parts, textwrap.fill(found.sentence(), WIDTH)])


def progress(found: Stability) -> None:
    """A line for the log."""
    counts = ", ".join(f"{found.count(state)} {state}" for state in ("fixed", *RANK))
    print(f"{found.seconds:8.1f} s  {counts}", file=sys.stderr)
