"""Which trios of groups a fractional clustering breaks, and which rows of five."""

from __future__ import annotations

import numpy as np

from certmix.kernels.compiled import njit
from certmix.kernels.restarts import below


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


SWEEPS = 6  # over the five groups, while better ones are found


@njit()
def broken_fives(set_start, sets, group_start, groups, shares, rng, tries, least):
    """Rows of five groups of which sets with two or more have shares above two by more than ``least``: ``(rows, by)``.

    Row i of ``sets`` (from ``set_start``) has the sets that hold group i, row s of ``groups`` the groups of set s. From
    every group a few walks through sets that have groups in common begin, and their groups are replaced one by one by
    the best ones.
    """
    N = set_start.shape[0] - 1
    found = np.empty((N * tries, 5), dtype=np.int64)
    by = np.empty(N * tries)
    count = 0
    held = np.zeros(shares.shape[0], dtype=np.int64)  # by every set, of the five
    gain = np.zeros(N)
    touched = np.empty(N, dtype=np.int64)
    five = np.empty(5, dtype=np.int64)
    for trial in range(N * tries):
        five[0] = trial // tries
        for i in range(1, 5):
            at = five[i - 1]
            s = sets[set_start[at] + below(rng, set_start[at + 1] - set_start[at])]
            five[i] = groups[group_start[s] + below(rng, group_start[s + 1] - group_start[s])]
        for g in five:
            for p in range(set_start[g], set_start[g + 1]):
                held[sets[p]] += 1
        value = -1.0
        for _ in range(SWEEPS):
            better = False
            for i in range(5):
                old = five[i]
                for p in range(set_start[old], set_start[old + 1]):
                    held[sets[p]] -= 1
                many = 0
                base = 0.0
                for j in range(5):
                    if j == i:
                        continue
                    for p in range(set_start[five[j]], set_start[five[j] + 1]):
                        s = sets[p]
                        if held[s] == 1:
                            for q in range(group_start[s], group_start[s + 1]):
                                g = groups[q]
                                if gain[g] == 0.0:
                                    touched[many] = g
                                    many += 1
                                gain[g] += shares[s]
                        elif held[s] > 1:
                            base += shares[s] / held[s]  # it is met as often
                for j in range(5):
                    if j != i:
                        gain[five[j]] = -1.0  # no group twice
                best = old
                most = gain[old]
                for q in range(many):
                    g = touched[q]
                    if gain[g] > most:
                        most = gain[g]
                        best = g
                for q in range(many):
                    gain[touched[q]] = 0.0
                for j in range(5):
                    gain[five[j]] = 0.0
                five[i] = best
                for p in range(set_start[best], set_start[best + 1]):
                    held[sets[p]] += 1
                if base + most > value + 1e-9:
                    value = base + most
                    better = True
            if not better:
                break
        value = 0.0
        for g in five:
            for p in range(set_start[g], set_start[g + 1]):
                if held[sets[p]] > 1:
                    value += shares[sets[p]] / held[sets[p]]
        for g in five:
            for p in range(set_start[g], set_start[g + 1]):
                held[sets[p]] = 0
        five.sort()
        if value > 2.0 + least and np.all(five[1:] > five[:-1]):
            found[count] = five
            by[count] = value - 2.0
            count += 1
    return found[:count], by[:count]
