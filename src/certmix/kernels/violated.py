"""Which trios of groups a fractional clustering breaks."""

from __future__ import annotations

import numpy as np

from certmix.kernels.compiled import njit


@njit()
def violated(start, mates, together, set_start, sets, shares, holds, least):
    """Trios of groups of which sets with two or more have shares above one by more than ``least``: ``(trios, by)``.

    Row i of a sparse matrix (``start``, ``mates``, ``together``) has the shares of sets that hold i and another group,
    ``sets`` those that hold i, ``holds`` (N, S) which groups are in which. Of a trio that is broken every two groups
    are together somewhere, and nowhere always.
    """
    N = start.shape[0] - 1
    found = np.empty((1024, 3), dtype=np.int64)
    by = np.empty(1024)
    count = 0
    near = np.empty(N, dtype=np.int64)
    with_i = np.zeros(N)
    with_j = np.zeros(N)
    for i in range(N):
        many = 0
        for p in range(start[i], start[i + 1]):
            with_i[mates[p]] = together[p]
            if mates[p] > i and least < together[p] < 1.0 - least:
                near[many] = mates[p]
                many += 1
        for q in range(many):
            j = near[q]
            for p in range(start[j], start[j + 1]):
                with_j[mates[p]] = together[p]
            for r in range(many):
                k = near[r]
                if k <= j or with_j[k] <= least:
                    continue
                pairs = with_i[j] + with_i[k] + with_j[k]
                if pairs <= 1.0 + least:
                    continue
                for p in range(set_start[i], set_start[i + 1]):
                    if holds[j, sets[p]] and holds[k, sets[p]]:
                        pairs -= 2.0 * shares[sets[p]]
                if pairs <= 1.0 + least:
                    continue
                if count == by.shape[0]:
                    more = np.empty((2 * count, 3), dtype=np.int64)
                    more[:count] = found
                    longer = np.empty(2 * count)
                    longer[:count] = by
                    found = more
                    by = longer
                found[count, 0], found[count, 1], found[count, 2] = i, j, k
                by[count] = pairs - 1.0
                count += 1
            for p in range(start[j], start[j + 1]):
                with_j[mates[p]] = 0.0
        for p in range(start[i], start[i + 1]):
            with_i[mates[p]] = 0.0
    return found[:count], by[:count]
