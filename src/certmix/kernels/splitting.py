"""Where an interval node loses most: the coordinate, size or group to split (design 3.2)."""

from __future__ import annotations

import numpy as np

from certmix.kernels.candidates import NONE, ONE, candidates, component_of, holds
from certmix.kernels.compiled import njit
from certmix.kernels.mass import mass_of, own_mass, shared_mass

SPLIT_MEAN, SPLIT_SIZE, SPLIT_GROUP = 0, 1, 2


# What stands where in the arrays of a ``Minorant``: of a component, …
ALPHA, BETA, VALUE, SIZE = 0, 1, 2, 3
# … of the choices of a group (its component there, if it is undecided; a decided one has it in its mask), …
FAVOURITE, RIVAL, LABEL = 0, 1, 2
# … and of the numbers that go with them (by how much the label beats the next best).
THETA, FLOOR, MARGIN = 0, 1, 2


@njit()
def where_to_split(bound, cutoff, lo, hi, a, b, mask, arrays, rest, centre, minorant):
    """The split with the largest share of (true cost - minorant) at the minimiser.

    When even the true cost at the minimiser stays below the cutoff, smaller boxes cannot close the node: the assignment
    there breaks a constraint (or the exact objective lies above the instance's cost), and a group has to be split.

    Returns ``(kind, component, coordinate or group, value)``.
    """
    K, d = lo.shape
    points, mass, system = arrays.points, arrays.mass, arrays.system
    component, chosen, mixed, share = minorant.component, minorant.chosen, minorant.mixed, minorant.share
    groups, left = rest.groups, rest.left[0]
    for k in range(K):
        component[SIZE, k] = rest.weight[k]
        for j in range(d):
            share[k, j] = 0.0
    for u in range(left):
        g = groups[u]
        chosen[LABEL, g] = -1
        mixed[MARGIN, g] = np.inf
        if candidates(mask, g) == ONE:
            k = component_of(mask, g)
            chosen[LABEL, g] = k
            component[SIZE, k] += arrays.weight[g]
    worst_group = -1
    worst_loss = 0.0
    lost = 0.0
    for u in range(left):
        g = groups[u]
        if candidates(mask, g) == NONE or chosen[LABEL, g] >= 0:
            continue
        w = arrays.weight[g]
        f = chosen[FAVOURITE, u]
        label = -1
        cost = np.inf
        following = np.inf
        favourite = np.inf
        for k in range(K):
            if holds(mask, g, k) or k == f:
                c = system[k]
                square = 0.0
                for j in range(d):
                    square += own_mass(mass, g, j) * (points[c, g, j] - centre[k, j]) ** 2
                here = 0.5 * shared_mass(mass, g) * square + w * component[BETA, k] + arrays.scatter[c, g]
                if k == f:
                    favourite = here
                if not holds(mask, g, k):
                    continue
                if here < cost:
                    following = cost
                    cost = here
                    label = k
                elif here < following:
                    following = here
        chosen[LABEL, g] = label
        mixed[MARGIN, g] = following - cost
        component[SIZE, label] += w
        theta = mixed[THETA, u]
        loss = cost - (theta * favourite + (1.0 - theta) * mixed[FLOOR, u])
        if loss <= 0:
            continue
        lost += loss
        if loss > worst_loss:
            worst_loss = loss
            worst_group = g
        spread = 0.0
        for second_pass in range(2):
            for side in range(2):
                k = chosen[side, u]  # FAVOURITE, RIVAL
                c = system[k]
                for j in range(d):
                    varied = mass_of(mass, g, j) * variation(points[c, g, j], lo[k, j], hi[k, j])
                    if second_pass:
                        share[k, j] += loss * varied / spread
                    else:
                        spread += varied
            if not spread > 0:
                break
    best = 0.0
    kind = SPLIT_GROUP
    which = 0
    index = -1
    at = 0.0
    for k in range(K):
        low, high = a[k], b[k]
        if high > low:
            m = int(min(max(round(component[SIZE, k]), low), high))
            loss = arrays.entropy[k, m] - component[ALPHA, k] - component[BETA, k] * m
            lost += loss
            if loss > best:
                best = loss
                kind = SPLIT_SIZE
                which = k
                split = int(0.5 * (m + 0.5 * (low + high)))
                at = float(min(max(split, int(low)), int(high) - 1))
        for j in range(d):
            width = hi[k, j] - lo[k, j]
            if share[k, j] > best and width > 1e-7 * arrays.largest:
                best = share[k, j]
                kind = SPLIT_MEAN
                which = k
                index = j
                at = min(max(centre[k, j], lo[k, j] + 0.25 * width), hi[k, j] - 0.25 * width)
    g = -1
    if bound + 0.9 * lost < cutoff:
        g = _violating_group(groups, left, chosen, mixed, component, a, b, mask, arrays)
    if g < 0 and (kind == SPLIT_GROUP or worst_loss > 2.0 * best or not bound + 0.9 * lost >= cutoff):
        g = worst_group
        if g < 0:
            for u in range(left):
                g = _less_sure(g, groups[u], mixed, mask)
            if g >= 0 and mixed[MARGIN, g] == np.inf and kind != SPLIT_GROUP:
                g = -1
    if g >= 0:
        kind, which, index, at = SPLIT_GROUP, chosen[LABEL, g], g, 0.0
    return kind, which, index, at


@njit()
def _label(g, chosen, mask):
    """The component of a group: the decided one, else that of the minimiser."""
    return component_of(mask, g) if candidates(mask, g) == ONE else chosen[LABEL, g]


@njit()
def _violating_group(groups, left, chosen, mixed, component, a, b, mask, arrays):
    """An undecided group that takes part in a constraint which the labels break; -1 when they break none."""
    conflict_start, conflict_with = arrays.conflict_start, arrays.conflict_with
    implications, count_start, count_group = arrays.implications, arrays.count_start, arrays.count_group
    best = -1
    for u in range(left):
        g = groups[u]
        if candidates(mask, g) == ONE:
            continue
        for p in range(conflict_start[g], conflict_start[g + 1]):
            if _label(conflict_with[p], chosen, mask) == chosen[LABEL, g]:
                best = _less_sure(best, g, mixed, mask)
                break
    for q in range(implications.shape[0]):
        if best >= 0:
            break
        g, then, k = implications[q, 0], implications[q, 1], implications[q, 2]
        here = _label(g, chosen, mask)
        if (k < 0 or here == k) and here != _label(then, chosen, mask):
            best = _less_sure(best, then if candidates(mask, g) == ONE else g, mixed, mask)
    for r in range(arrays.count_low.shape[0]):
        if best >= 0:
            break
        have = 0.0
        for p in range(count_start[r], count_start[r + 1]):
            if _label(count_group[p], chosen, mask) == arrays.count_component[r]:
                have += arrays.count_coefficient[p]
        if not arrays.count_low[r] <= have <= arrays.count_high[r]:
            for p in range(count_start[r], count_start[r + 1]):
                best = _less_sure(best, count_group[p], mixed, mask)
    for k in range(a.shape[0]):
        if best >= 0:
            break
        size = component[SIZE, k]
        if not a[k] <= size <= b[k]:
            for u in range(left):
                if holds(mask, groups[u], k) and (chosen[LABEL, groups[u]] == k) == (size > b[k]):
                    best = _less_sure(best, groups[u], mixed, mask)
    return best


@njit()
def _less_sure(best, g, mixed, mask):
    """Of two groups (-1: none yet) the undecided one whose label beats the next best by less."""
    better = candidates(mask, g) != ONE and (best < 0 or mixed[MARGIN, g] < mixed[MARGIN, best])
    return g if better else best


@njit()
def variation(x, lo, hi):
    """How much the squared distance along one coordinate varies over an interval."""
    far = max(hi - x, x - lo)
    near = max(lo - x, x - hi, 0.0)
    return far * far - near * near
