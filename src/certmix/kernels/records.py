"""The tree that a pricing search walks, written down: what a certificate shows instead of a search.

A record is three growing arrays with one row for each node: what is cut (a coordinate, the size or a group, numbered
as in :mod:`certmix.verify.lagrangian`; -1 for a leaf), where, and the row of the first child; the second child is the
next row. They are empty when nobody asks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certmix.kernels.compiled import njit


class Record(NamedTuple):
    """The first child has what is not above the cut, or the group."""

    code: np.ndarray
    cut: np.ndarray
    child: np.ndarray


@njit()
def new_record(recording):
    rows = 1024 if recording else 0
    return Record(np.full(rows, -1, dtype=np.int64), np.zeros(rows), np.zeros(rows, dtype=np.int64))


@njit()
def record_split(record, entry, code, cut, child):
    """Row ``entry`` is cut, with rows ``child`` and the next as children. Returns the record, perhaps a larger one."""
    rows = record.code.shape[0]
    if child + 2 > rows:
        bigger = Record(
            np.full(2 * rows, -1, dtype=np.int64), np.zeros(2 * rows), np.zeros(2 * rows, dtype=np.int64)
        )
        for i in range(rows):
            bigger.code[i] = record.code[i]
            bigger.cut[i] = record.cut[i]
            bigger.child[i] = record.child[i]
        record = bigger
    record.code[entry] = code
    record.cut[entry] = cut
    record.child[entry] = child
    return record


@njit()
def record_sizes(record, d, single, a, cut_low, cut_high, b):
    """The cuts between the sizes that a search looks at one by one, or apart: ``(record, rows, row of every part)``.

    Sizes below ``a``, if they are looked at one by one; then a .. cut_low - 1, what is above cut_high, and the rest.
    """
    row = np.zeros(3, dtype=np.int64)
    recording = record.code.shape[0] > 0
    rows = 1
    rest = 0
    if single:
        if recording:
            record = record_split(record, rest, d, a - 1.0, rows)
        rest = rows + 1
        rows += 2
    row[0] = rest
    if a < cut_low <= b:
        if recording:
            record = record_split(record, rest, d, cut_low - 1.0, rows)
        row[0] = rows
        rest = rows + 1
        rows += 2
    row[1] = row[2] = rest
    if cut_low <= cut_high < b:
        if recording:
            record = record_split(record, rest, d, cut_high, rows)
        row[2] = rows
        row[1] = rows + 1
        rows += 2
    return record, rows, row


@njit()
def finished(record, rows):
    """The rows that are used."""
    rows = min(rows, record.code.shape[0])
    return Record(record.code[:rows], record.cut[:rows], record.child[:rows])


@njit()
def where_to_cut(wanted, low, high, recording):
    """Where to cut an interval: near a point, in its middle part; recorded cuts are short numbers."""
    width = high - low
    cut = min(max(wanted, low + 0.3 * width), high - 0.3 * width)
    if recording:
        grain = 2.0 ** np.floor(np.log2(0.1 * width))
        rounded = np.floor(cut / grain + 0.5) * grain
        if low < rounded < high:
            return rounded
    return cut
