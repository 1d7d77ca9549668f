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
    """Row ``entry`` is cut, with rows ``child`` and the next as children. Returns the record, perhaps grown."""
    rows = record.code.shape[0]
    if rows == 0:
        return record
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
def finished(record, rows):
    """The rows that are used."""
    rows = min(rows, record.code.shape[0])
    return Record(record.code[:rows], record.cut[:rows], record.child[:rows])
