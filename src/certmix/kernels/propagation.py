"""Constraint propagation on candidate sets (:mod:`.candidates`)."""

from __future__ import annotations

import numpy as np

from certmix.kernels.candidates import NONE, ONE, SEVERAL, assign, candidates, component_of, forbid, holds
from certmix.kernels.compiled import njit


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
    count_start, count_group = arrays.count_start, arrays.count_group
    count_coefficient = arrays.count_coefficient
    count_component, count_low, count_high = arrays.count_component, arrays.count_low, arrays.count_high
    sure = np.empty(K)
    possible = np.empty(K)
    alive = True  # what follows a contradiction does no harm; leaving at once would be much more to compile
    changed = True
    while changed and alive:
        changed = False
        for u in range(left):
            g = groups[u]
            many = candidates(mask, g)
            alive = alive and many != NONE
            if many != ONE:
                continue
            mine = component_of(mask, g)
            for p in range(conflict_start[g], conflict_start[g + 1]):
                other = conflict_with[p]
                if holds(mask, other, mine):
                    forbid(mask, other, mine)
                    changed = True
                    alive = alive and candidates(mask, other) != NONE
        for q in range(implications.shape[0]):
            g, then, k = implications[q, 0], implications[q, 1], implications[q, 2]
            if k < 0:
                for word in range(mask.shape[1]):
                    narrowed = mask[g, word] & mask[then, word]
                    changed = changed or narrowed != mask[g, word]
                    mask[g, word] = narrowed
                alive = alive and candidates(mask, g) != NONE
                if candidates(mask, g) == ONE and candidates(mask, then) != ONE:
                    assign(mask, then, component_of(mask, g))
                    changed = True
            else:
                if holds(mask, g, k) and not holds(mask, then, k):
                    forbid(mask, g, k)
                    alive = alive and candidates(mask, g) != NONE
                    changed = True
                if holds(mask, g, k) and candidates(mask, g) == ONE and candidates(mask, then) != ONE:
                    assign(mask, then, k)
                    changed = True
        for r in range(count_low.shape[0]):
            k = count_component[r]
            low, high = count_low[r], count_high[r]
            have = 0.0
            can = 0.0
            for p in range(count_start[r], count_start[r + 1]):
                g = count_group[p]
                if holds(mask, g, k):
                    can += count_coefficient[p]
                    if candidates(mask, g) == ONE:
                        have += count_coefficient[p]
            alive = alive and not (have > high or can < low)
            for p in range(count_start[r], count_start[r + 1]):
                g = count_group[p]
                if not holds(mask, g, k) or candidates(mask, g) != SEVERAL:
                    continue
                if have + count_coefficient[p] > high:
                    forbid(mask, g, k)
                    changed = True
                elif can - count_coefficient[p] < low:
                    assign(mask, g, k)
                    changed = True
        if changed:
            continue
        for k in range(K):
            sure[k] = settled[k]
            possible[k] = settled[k]
        for u in range(left):
            g = groups[u]
            w = weight[g]
            decided = candidates(mask, g) == ONE
            for k in range(K):
                if holds(mask, g, k):
                    possible[k] += w
                    if decided:
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
            slack_up = b[k] - sure[k]
            slack_down = possible[k] - a[k]
            for u in range(left):
                g = groups[u]
                if not holds(mask, g, k) or candidates(mask, g) != SEVERAL:
                    continue
                w = weight[g]
                if w > slack_up:
                    forbid(mask, g, k)
                    changed = True
                elif w > slack_down:
                    assign(mask, g, k)
                    changed = True
    return alive
