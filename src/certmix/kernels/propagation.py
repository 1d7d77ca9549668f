"""Constraint propagation on candidate sets: bit k of ``mask[g]`` says that group g may be in component k."""

from __future__ import annotations

import numpy as np

from certmix.kernels.compiled import njit


@njit()
def single(mask):
    """True when exactly one bit is set."""
    return mask != 0 and (mask & (mask - 1)) == 0


@njit()
def propagate(mask, a, b, n, arrays):
    """Narrow candidate sets and size intervals ``[a_k, b_k]`` in place until nothing changes.

    Returns False when some group or component has nothing left. Every step removes only what no clustering in the node
    can have, so this is valid under any objective.
    """
    N = mask.shape[0]
    return propagate_rest(mask, a, b, n, arrays, np.arange(N), N, np.zeros(a.shape[0]))


@njit()
def propagate_rest(mask, a, b, n, arrays, groups, left, settled):
    """The same where all groups but the first ``left`` of ``groups`` were decided when nothing changed any more.

    ``settled[k]`` is the weight of those in component k.
    """
    K = a.shape[0]
    weight, implications = arrays.weight, arrays.implications
    conflict_start, conflict_with = arrays.conflict_start, arrays.conflict_with
    count_start, count_group, count_coefficient = (
        arrays.count_start,
        arrays.count_group,
        arrays.count_coefficient,
    )
    count_component, count_low, count_high = arrays.count_component, arrays.count_low, arrays.count_high
    sure = np.empty(K)
    possible = np.empty(K)
    alive = True  # what follows a contradiction does no harm; leaving at once would be much more to compile
    changed = True
    while changed and alive:
        changed = False
        for u in range(left):
            g = groups[u]
            mine = mask[g]
            alive = alive and mine != 0
            if mine & (mine - 1):  # undecided
                continue
            for p in range(conflict_start[g], conflict_start[g + 1]):
                other = conflict_with[p]
                theirs = mask[other]
                if theirs & mine:
                    mask[other] = theirs & ~mine
                    changed = True
                    alive = alive and theirs != mine
        for q in range(implications.shape[0]):
            g, then, k = implications[q, 0], implications[q, 1], implications[q, 2]
            mine, theirs = mask[g], mask[then]
            if k < 0:
                narrowed = mine & theirs
                alive = alive and narrowed != 0
                if narrowed != mine:
                    mask[g] = narrowed
                    changed = True
                if not narrowed & (narrowed - 1) and theirs != narrowed:
                    mask[then] = narrowed
                    changed = True
            else:
                bit = np.int64(1) << k
                if mine & bit and not theirs & bit:
                    mine &= ~bit
                    alive = alive and mine != 0
                    mask[g] = mine
                    changed = True
                if mine == bit and theirs != bit:
                    mask[then] = bit
                    changed = True
        for r in range(count_low.shape[0]):
            bit = np.int64(1) << count_component[r]
            low, high = count_low[r], count_high[r]
            have = 0.0
            can = 0.0
            for p in range(count_start[r], count_start[r + 1]):
                mine = mask[count_group[p]]
                if mine & bit:
                    can += count_coefficient[p]
                    if mine == bit:
                        have += count_coefficient[p]
            alive = alive and not (have > high or can < low)
            for p in range(count_start[r], count_start[r + 1]):
                g = count_group[p]
                mine = mask[g]
                if not mine & bit or mine == bit:
                    continue
                if have + count_coefficient[p] > high:
                    mask[g] = mine & ~bit
                    changed = True
                elif can - count_coefficient[p] < low:
                    mask[g] = bit
                    changed = True
        if changed:
            continue
        for k in range(K):
            sure[k] = settled[k]
            possible[k] = settled[k]
        for u in range(left):
            g = groups[u]
            mine = mask[g]
            w = weight[g]
            for k in range(K):
                bit = np.int64(1) << k
                if mine & bit:
                    possible[k] += w
                    if mine == bit:
                        sure[k] += w
        total_a = 0.0
        total_b = 0.0
        for k in range(K):
            a[k] = max(a[k], sure[k])
            b[k] = min(b[k], possible[k])
            alive = alive and not a[k] > b[k]
            total_a += a[k]
            total_b += b[k]
        alive = alive and not (total_a > n or total_b < n)
        for k in range(K):
            low = n - (total_b - b[k])
            high = n - (total_a - a[k])
            if low > a[k]:
                total_a += low - a[k]
                a[k] = low
            if high < b[k]:
                total_b -= b[k] - high
                b[k] = high
            alive = alive and not a[k] > b[k]
        for k in range(K):
            bit = np.int64(1) << k
            slack_up = b[k] - sure[k]
            slack_down = possible[k] - a[k]
            for u in range(left):
                g = groups[u]
                mine = mask[g]
                if not mine & bit or mine == bit:
                    continue
                w = weight[g]
                if w > slack_up:
                    mask[g] = mine & ~bit
                    changed = True
                elif w > slack_down:
                    mask[g] = bit
                    changed = True
    return alive
