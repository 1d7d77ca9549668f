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
    sure = np.empty(K)
    possible = np.empty(K)
    changed = True
    while changed:
        changed = False
        for u in range(left):
            g = groups[u]
            if mask[g] == 0:
                return False
            if not single(mask[g]):
                continue
            for p in range(arrays.conflict_start[g], arrays.conflict_start[g + 1]):
                other = arrays.conflict_with[p]
                if mask[other] & mask[g]:
                    mask[other] &= ~mask[g]
                    changed = True
                    if mask[other] == 0:
                        return False
        for q in range(arrays.implications.shape[0]):
            g = arrays.implications[q, 0]
            then = arrays.implications[q, 1]
            k = arrays.implications[q, 2]
            if k < 0:
                narrowed = mask[g] & mask[then]
                if narrowed != mask[g]:
                    mask[g] = narrowed
                    changed = True
                if narrowed == 0:
                    return False
                if single(narrowed) and mask[then] != narrowed:
                    mask[then] = narrowed
                    changed = True
            else:
                bit = np.int64(1) << k
                if mask[g] & bit and not mask[then] & bit:
                    mask[g] &= ~bit
                    changed = True
                    if mask[g] == 0:
                        return False
                if mask[g] == bit and mask[then] != bit:
                    mask[then] = bit
                    changed = True
        for r in range(arrays.count_low.shape[0]):
            bit = np.int64(1) << arrays.count_component[r]
            have = 0.0
            can = 0.0
            for p in range(arrays.count_start[r], arrays.count_start[r + 1]):
                m = mask[arrays.count_group[p]]
                if m & bit:
                    can += arrays.count_coefficient[p]
                    if m == bit:
                        have += arrays.count_coefficient[p]
            if have > arrays.count_high[r] or can < arrays.count_low[r]:
                return False
            for p in range(arrays.count_start[r], arrays.count_start[r + 1]):
                g = arrays.count_group[p]
                if not mask[g] & bit or mask[g] == bit:
                    continue
                if have + arrays.count_coefficient[p] > arrays.count_high[r]:
                    mask[g] &= ~bit
                    changed = True
                elif can - arrays.count_coefficient[p] < arrays.count_low[r]:
                    mask[g] = bit
                    changed = True
        if changed:
            continue
        for k in range(K):
            sure[k] = settled[k]
            possible[k] = settled[k]
        for u in range(left):
            g = groups[u]
            for k in range(K):
                bit = np.int64(1) << k
                if mask[g] & bit:
                    possible[k] += arrays.weight[g]
                    if mask[g] == bit:
                        sure[k] += arrays.weight[g]
        total_a = 0.0
        total_b = 0.0
        for k in range(K):
            a[k] = max(a[k], sure[k])
            b[k] = min(b[k], possible[k])
            if a[k] > b[k]:
                return False
            total_a += a[k]
            total_b += b[k]
        if total_a > n or total_b < n:
            return False
        for k in range(K):
            low = n - (total_b - b[k])
            high = n - (total_a - a[k])
            if low > a[k]:
                total_a += low - a[k]
                a[k] = low
            if high < b[k]:
                total_b -= b[k] - high
                b[k] = high
            if a[k] > b[k]:
                return False
        for k in range(K):
            bit = np.int64(1) << k
            slack_up = b[k] - sure[k]
            slack_down = possible[k] - a[k]
            largest = 0.0
            for u in range(left):
                g = groups[u]
                if mask[g] & bit and mask[g] != bit:
                    largest = max(largest, arrays.weight[g])
            if largest <= slack_up and largest <= slack_down:
                continue
            for u in range(left):
                g = groups[u]
                if not mask[g] & bit or mask[g] == bit:
                    continue
                if arrays.weight[g] > slack_up:
                    mask[g] &= ~bit
                    changed = True
                elif arrays.weight[g] > slack_down:
                    mask[g] = bit
                    changed = True
    return True
