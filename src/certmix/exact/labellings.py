"""All labellings of a few groups, one of each set that differs only by interchangeable components."""

from __future__ import annotations

from collections.abc import Iterator
from math import comb

import numpy as np

from certmix.exact.subsets import SubsetTable

CHUNK = 1 << 16  # numbers in the labellings of one go


def count_labellings(n_groups: int, classes: np.ndarray) -> int:
    """How many labellings there are, equivalent ones counted once, constraints left aside.

    A class of c interchangeable components can split m groups into at most c unlabelled parts in ``sum_{j
    <= c} Stirling2(m, j)`` ways; the classes share the groups out among them (a binomial convolution).
    """
    stirling = [[0] * (n_groups + 1) for _ in range(n_groups + 1)]
    stirling[0][0] = 1
    for m in range(1, n_groups + 1):
        for j in range(1, m + 1):
            stirling[m][j] = j * stirling[m - 1][j] + stirling[m - 1][j - 1]
    ways = [1] + [0] * n_groups
    for members in np.bincount(classes):
        own = [sum(stirling[m][: int(members) + 1]) for m in range(n_groups + 1)]
        ways = [sum(comb(m, a) * own[a] * ways[m - a] for a in range(m + 1)) for m in range(n_groups + 1)]
    return ways[n_groups]


def labellings(n_groups: int, classes: np.ndarray, table: SubsetTable) -> Iterator[np.ndarray]:
    """Chunks of labellings, each of shape (L, K): the set of groups in every component as a number.

    The groups are placed one after the other. A component takes its first group only when every earlier
    component of its class has one, which leaves one labelling of every equivalent set; and no component
    takes a group that its table blocks. What remains may still break a constraint: then its cost is
    infinite.
    """
    K = len(classes)
    earlier = np.full(K, -1)
    for k in range(K):
        same = np.flatnonzero(classes[:k] == classes[k])
        earlier[k] = same[-1] if len(same) else -1
    yield from _extend(np.zeros((1, K), dtype=np.int32), 0, n_groups, earlier, table, max(1, CHUNK // K))


def _extend(
    partial: np.ndarray, g: int, n_groups: int, earlier: np.ndarray, table: SubsetTable, chunk: int
) -> Iterator[np.ndarray]:
    while g < n_groups and len(partial) <= chunk:
        partial = _place(partial, g, earlier, table)
        g += 1
    if g == n_groups:
        if len(partial):
            yield partial
        return
    for start in range(0, len(partial), chunk):
        yield from _extend(partial[start : start + chunk], g, n_groups, earlier, table, chunk)


def _place(partial: np.ndarray, g: int, earlier: np.ndarray, table: SubsetTable) -> np.ndarray:
    """Every partial labelling with group g in every component that may take it."""
    bit = np.int32(1 << g)
    grown = []
    for k, before in enumerate(earlier):
        may = ~table.blocked[table.row[k], partial[:, k] | bit]
        if before >= 0:
            may &= partial[:, before] != 0
        taken = partial[may]
        taken[:, k] |= bit
        grown.append(taken)
    return np.concatenate(grown)


def labels_of(masks: np.ndarray, n_groups: int) -> np.ndarray:
    """Labels of the groups from one labelling written as sets, shape (K,)."""
    holds = (masks[:, None] >> np.arange(n_groups)) & 1
    return np.asarray(holds.argmax(axis=0))
