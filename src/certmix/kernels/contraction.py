"""What of an interval node can be dropped without bounding it: parts of boxes, and candidates that exchanges exclude.

Rounding: comparisons that remove a candidate leave a relative slack of ``SLACK``; boxes are widened by the rounding of
the sums behind them.
"""

from __future__ import annotations

import numpy as np

from certmix.kernels.compiled import njit
from certmix.kernels.propagation import single
from certmix.rounding import EPS

SLACK = 1e-12


@njit()
def contract_means(lo, hi, a, b, mask, arrays, rest, ordered):
    """Intersect every box with the means that its certain members plus some of its candidates can have.

    The smallest mean along a coordinate is reached by adding candidates in increasing order while they lie below the
    running mean or are needed to make up the smallest size. ``ordered`` holds the groups that are left (or more),
    sorted by coordinate. Returns False when a box becomes empty.
    """
    K, d = lo.shape
    N = mask.shape[0]
    widen = 4.0 * (N + 16) * EPS * arrays.largest
    for k in range(K):
        if b[k] <= 0:
            continue
        bit = np.int64(1) << k
        c = arrays.system[k]
        for j in range(d):
            prior = arrays.gamma[k, j]
            prior_sum = prior * arrays.prior_mean[k, j]
            order = ordered[c, j]
            left = order.shape[0]
            for side in range(2):
                members = rest.weight[k]
                total = rest.points[k, j] + prior_sum
                for step in range(left):
                    g = order[step] if side == 0 else order[left - 1 - step]
                    if not mask[g] & bit or mask[g] == bit:
                        continue
                    x = arrays.points[c, g, j]
                    w = min(arrays.weight[g], b[k] - members)
                    if w <= 0:
                        break
                    if members + prior > 0:
                        mean = total / (members + prior)
                        if members >= a[k] and ((side == 0 and x >= mean) or (side == 1 and x <= mean)):
                            break
                        if members < a[k] and ((side == 0 and x >= mean) or (side == 1 and x <= mean)):
                            w = min(w, a[k] - members)
                    elif members >= a[k]:
                        w = min(w, 1.0)
                    members += w
                    total += w * x
                if members + prior <= 0:
                    continue
                mean = total / (members + prior)
                mean = min(max(mean, arrays.box_lower[k, j]), arrays.box_upper[k, j])
                if side == 0:
                    lo[k, j] = max(lo[k, j], mean - widen)
                else:
                    hi[k, j] = min(hi[k, j], mean + widen)
            if lo[k, j] > hi[k, j]:
                return False
    return True


@njit()
def order_components(lo, hi, b, arrays):
    """Interchangeable components may be numbered by increasing mean along one coordinate."""
    K = lo.shape[0]
    j = arrays.axis
    for k in range(K):
        for m in range(k + 1, K):
            if arrays.classes[k] == arrays.classes[m] and b[k] > 0 and b[m] > 0:
                lo[m, j] = max(lo[m, j], lo[k, j])
                break
    for m in range(K - 1, -1, -1):
        for k in range(m - 1, -1, -1):
            if arrays.classes[k] == arrays.classes[m] and b[k] > 0 and b[m] > 0:
                hi[k, j] = min(hi[k, j], hi[m, j])
                break
    for k in range(K):
        if lo[k, j] > hi[k, j]:
            return False
    return True


@njit()
def box_distances(x, lo, hi):
    """Squared distances from a point to the nearest and the farthest point of a box."""
    near = 0.0
    far = 0.0
    for j in range(x.shape[0]):
        below = lo[j] - x[j]
        above = x[j] - hi[j]
        out = max(below, above, 0.0)
        near += out * out
        reach = max(hi[j] - x[j], x[j] - lo[j])
        far += reach * reach
    return near, far


@njit()
def drop_dominated(lo, hi, a, b, mask, arrays, rest):
    """Drop k from g's candidates when moving g out of k would surely pay (Hartigan's exchange).

    In an optimal clustering no single move to another allowed component pays, provided that the move keeps every
    constraint: so only groups outside all coupling constraints are looked at, the component left must keep its smallest
    size and the one joined its largest. Valid only where the instance's cost is the exact objective.
    """
    K = lo.shape[0]
    gain = np.empty(K)  # least saving from leaving k
    price = np.empty(K)  # most that joining k can cost
    inside = np.empty(K, dtype=np.bool_)
    n = arrays.entropy.shape[1] - 1
    for u in range(rest.left[0]):
        g = rest.groups[u]
        if single(mask[g]) or not arrays.movable[g]:
            continue
        w = arrays.weight[g]
        iw = int(w)
        cheapest = np.inf
        second = np.inf
        best = -1
        for k in range(K):
            bit = np.int64(1) << k
            if not mask[g] & bit:
                continue
            c = arrays.system[k]
            near, far = box_distances(arrays.points[c, g], lo[k], hi[k])
            inside[k] = near <= 1e-9 * (1.0 + far)
            gain[k] = -np.inf
            price[k] = np.inf
            if not arrays.concave[k]:
                continue
            ib = int(b[k])
            ia = int(a[k])
            if ib - iw >= 0:
                factor = 1.0
                if arrays.plain_means and ib > iw:
                    factor = ib / (ib - w)
                gain[k] = factor * 0.5 * w * near + arrays.entropy[k, ib] - arrays.entropy[k, ib - iw]
                gain[k] += arrays.scatter[c, g]
            if arrays.size_upper[k] >= n or b[k] + w <= arrays.size_upper[k]:
                factor = 1.0
                if arrays.plain_means:
                    factor = ib / (ib + w)
                from_size = min(ia, n - iw)
                price[k] = (
                    factor * 0.5 * w * far + arrays.entropy[k, from_size + iw] - arrays.entropy[k, from_size]
                )
                price[k] += arrays.scatter[c, g]
            if price[k] < cheapest:
                second = cheapest
                cheapest = price[k]
                best = k
            elif price[k] < second:
                second = price[k]
        for k in range(K):
            bit = np.int64(1) << k
            if not mask[g] & bit:
                continue
            alternative = second if k == best else cheapest
            if not np.isfinite(alternative) or not gain[k] > alternative + SLACK * (
                1 + abs(gain[k]) + abs(alternative)
            ):
                continue
            keeps_size = a[k] - w >= arrays.size_lower[k]
            # A component of one group has its mean at that group, so outside the box this cannot be the case.
            not_alone = arrays.size_lower[k] <= 1 and arrays.plain_means and not inside[k]
            if keeps_size or not_alone:
                mask[g] &= ~bit
    return True
