"""The tree that a pricing search walks, written down: what a certificate shows instead of a search.

A record has one row for each node: what is cut (a coordinate, the size or a group, numbered as in
:mod:`certmix.verify.lagrangian`; -1 for a leaf), where, and the row of the first child, which has what is not above the
cut, or the group; the second child is the next row. It has no rows when nobody asks.
"""

from __future__ import annotations

import numpy as np

from certmix.kernels.compiled import njit


@njit()
def new_record(recording):
    return np.full((1024 if recording else 0, 3), -1.0)


@njit()
def record_split(record, entry, code, cut, child):
    """Row ``entry`` is cut, with rows ``child`` and the next as children. Returns the record, perhaps grown."""
    rows = record.shape[0]
    if rows == 0:
        return record
    if child + 2 > rows:
        grown = np.full((2 * rows, 3), -1.0)
        grown[:rows] = record
        record = grown
    record[entry, 0], record[entry, 1], record[entry, 2] = code, cut, child
    return record
