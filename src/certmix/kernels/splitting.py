"""Where an interval node loses most: the coordinate, size or group to split (design 3.2)."""

from __future__ import annotations

import numpy as np

from certmix.kernels.compiled import njit
from certmix.kernels.propagation import single
from certmix.kernels.settled import component_of

SPLIT_MEAN, SPLIT_SIZE, SPLIT_GROUP = 0, 1, 2


@njit()
def where_to_split(
    bound,
    cutoff,
    lo,
    hi,
    a,
    b,
    mask,
    arrays,
    rest,
    centre,
    beta,
    alpha,
    opened,
    favourite,
    rival,
    theta,
    floor,
    share,
):
    """The split with the largest share of (true cost - minorant) at the minimiser.

    When even the true cost at the minimiser stays below the cutoff, smaller boxes cannot close the node: the assignment
    there breaks a constraint (or the exact objective lies above the instance's cost), and a group has to be split.
    """
    K, d = lo.shape
    N = mask.shape[0]
    for k in range(K):
        for j in range(d + 1):
            share[k, j] = 0.0
    sizes = rest.weight.copy()
    label = np.empty(N, dtype=np.int64)  # both are written, and read, for the groups in ``opened`` only
    margin = np.empty(N)
    for u in range(opened.shape[0]):
        g = opened[u]
        label[g] = -1
        margin[g] = np.inf
        if single(mask[g]):
            label[g] = component_of(mask[g])
            sizes[label[g]] += arrays.weight[g]
    worst_group = -1
    worst_loss = 0.0
    lost = 0.0
    for u in range(opened.shape[0]):
        g = opened[u]
        if mask[g] == 0 or label[g] >= 0:
            continue
        w = arrays.weight[g]
        cost = np.inf
        following = np.inf
        for k in range(K):
            if mask[g] & (np.int64(1) << k):
                here = _cost_at(g, k, centre, beta, arrays)
                if here < cost:
                    following = cost
                    cost = here
                    label[g] = k
                elif here < following:
                    following = here
        margin[g] = following - cost
        sizes[label[g]] += w
        f = favourite[u]
        loss = cost - (theta[u] * _cost_at(g, f, centre, beta, arrays) + (1.0 - theta[u]) * floor[u])
        if loss <= 0:
            continue
        lost += loss
        if loss > worst_loss:
            worst_loss = loss
            worst_group = g
        spread = 0.0
        for side in range(2):
            k = f if side == 0 else rival[u]
            c = arrays.system[k]
            for j in range(d):
                spread += variation(arrays.points[c, g, j], lo[k, j], hi[k, j])
        if spread > 0:
            for side in range(2):
                k = f if side == 0 else rival[u]
                c = arrays.system[k]
                for j in range(d):
                    share[k, j] += loss * variation(arrays.points[c, g, j], lo[k, j], hi[k, j]) / spread
    best = 0.0
    kind = SPLIT_GROUP
    which = 0
    index = -1
    at = 0.0
    for k in range(K):
        if b[k] > a[k]:
            m = int(min(max(round(sizes[k]), a[k]), b[k]))
            share[k, d] = arrays.entropy[k, m] - alpha[k] - beta[k] * m
            lost += share[k, d]
            if share[k, d] > best:
                best = share[k, d]
                kind = SPLIT_SIZE
                which = k
                split = int(0.5 * (m + 0.5 * (a[k] + b[k])))
                at = float(min(max(split, int(a[k])), int(b[k]) - 1))
        for j in range(d):
            width = hi[k, j] - lo[k, j]
            if share[k, j] > best and width > 1e-7 * (1.0 + arrays.largest):
                best = share[k, j]
                kind = SPLIT_MEAN
                which = k
                index = j
                at = min(max(centre[k, j], lo[k, j] + 0.25 * width), hi[k, j] - 0.25 * width)
    g = -1
    if bound + 0.9 * lost < cutoff:
        g = _violating_group(opened, label, margin, sizes, a, b, mask, arrays)
    if g < 0 and (kind == SPLIT_GROUP or worst_loss > 2.0 * best or not bound + 0.9 * lost >= cutoff):
        g = worst_group
        if g < 0:
            least = np.inf
            for u in range(opened.shape[0]):
                if margin[opened[u]] < least and not single(mask[opened[u]]):
                    least = margin[opened[u]]
                    g = opened[u]
        if g < 0 and kind == SPLIT_GROUP:
            for u in range(opened.shape[0]):
                if not single(mask[opened[u]]):
                    g = opened[u]
    if g >= 0:
        return bound, SPLIT_GROUP, label[g], g, 0.0
    return bound, kind, which, index, at


@njit()
def _cost_at(g, k, centre, beta, arrays):
    """Cost of group g in component k with the mean at the minimiser."""
    c = arrays.system[k]
    square = 0.0
    for j in range(centre.shape[1]):
        square += (arrays.points[c, g, j] - centre[k, j]) ** 2
    return arrays.weight[g] * (0.5 * square + beta[k]) + arrays.scatter[c, g]


@njit()
def _where(g, label, mask):
    """The component of a group in the labels; decided groups need none."""
    return component_of(mask[g]) if single(mask[g]) else label[g]


@njit()
def _violating_group(opened, label, margin, sizes, a, b, mask, arrays):
    """An undecided group that takes part in a constraint which the labels break; -1 when they break none."""
    best = -1
    least = np.inf
    for u in range(opened.shape[0]):
        g = opened[u]
        if single(mask[g]):
            continue
        for p in range(arrays.conflict_start[g], arrays.conflict_start[g + 1]):
            if _where(arrays.conflict_with[p], label, mask) == label[g] and margin[g] < least:
                least = margin[g]
                best = g
    if best >= 0:
        return best
    for q in range(arrays.implications.shape[0]):
        g = arrays.implications[q, 0]
        then = arrays.implications[q, 1]
        k = arrays.implications[q, 2]
        here = _where(g, label, mask)
        if (k < 0 or here == k) and here != _where(then, label, mask):
            if not single(mask[g]):
                return g
            if not single(mask[then]):
                return then
    for r in range(arrays.count_low.shape[0]):
        k = arrays.count_component[r]
        have = 0.0
        for p in range(arrays.count_start[r], arrays.count_start[r + 1]):
            if _where(arrays.count_group[p], label, mask) == k:
                have += arrays.count_coefficient[p]
        if arrays.count_low[r] <= have <= arrays.count_high[r]:
            continue
        for p in range(arrays.count_start[r], arrays.count_start[r + 1]):
            g = arrays.count_group[p]
            if not single(mask[g]) and margin[g] < least:
                least = margin[g]
                best = g
        if best >= 0:
            return best
    for k in range(a.shape[0]):
        if a[k] <= sizes[k] <= b[k]:
            continue
        for u in range(opened.shape[0]):
            g = opened[u]
            inside = label[g] == k
            if (
                not single(mask[g])
                and inside == (sizes[k] > b[k])
                and mask[g] & (np.int64(1) << k)
                and margin[g] < least
            ):
                least = margin[g]
                best = g
        if best >= 0:
            return best
    return -1


@njit()
def variation(x, lo, hi):
    """How much the squared distance along one coordinate varies over an interval."""
    far = max(hi - x, x - lo)
    near = max(lo - x, x - hi, 0.0)
    return far * far - near * near
