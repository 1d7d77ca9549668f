"""The interval bound: boxes for the means and intervals for the sizes, contracted and bounded (design 3.2).

A node says: component k's mean lies in the box ``[lo_k, hi_k]``, its size in ``[a_k, b_k]``, and group g is in
one of the components in its candidate set. ``mean`` is always the minimiser of the component's quadratic cost
for its own members.

Rounding: comparisons that remove a candidate leave a relative slack of ``SLACK``; boxes are widened by the rounding of
the sums behind them; a bound is lowered by ``(2 N + 64) eps`` times the sum of the absolute values that were added up.
"""

from __future__ import annotations

import numpy as np

from certmix.kernels.compiled import njit
from certmix.kernels.contraction import (
    EPS,
    SLACK,
    box_distances,
    contract_means,
    drop_dominated,
    order_components,
)
from certmix.kernels.propagation import propagate_rest, single
from certmix.kernels.settled import Rest, settle, sorted_rest
from certmix.kernels.splitting import SPLIT_GROUP, where_to_split

OPEN, CLOSED, DECIDED = 0, 1, 2


@njit()
def chord(entropy, concave, a, b):
    """``(alpha, beta)`` with ``alpha + beta m <= entropy[m]`` for every whole m in [a, b]."""
    low = int(a)
    high = int(b)
    if high > low:
        beta = (entropy[high] - entropy[low]) / (high - low)
    else:  # any slope will do; the local one makes the assignment agree with the size
        left = max(low - 1, 0)
        right = min(low + 1, entropy.shape[0] - 1)
        beta = (entropy[right] - entropy[left]) / (right - left) if right > left else 0.0
    if not np.isfinite(beta):
        beta = 0.0
    if concave:
        alpha = min(entropy[low] - beta * low, entropy[high] - beta * high)
    else:
        alpha = np.inf
        for m in range(low, high + 1):
            alpha = min(alpha, entropy[m] - beta * m)
    return alpha, beta


@njit()
def _quadratic(weight, total, lo, hi):
    """Minimise ``weight/2 x^2 - total x`` over an interval: (value, minimiser)."""
    if weight > 0:
        x = total / weight
    else:
        x = 0.5 * (lo + hi) if lo > -np.inf and hi < np.inf else 0.0
    x = min(max(x, lo), hi)
    return 0.5 * weight * x * x - total * x, x


@njit()
def bound_node(lo, hi, a, b, mask, cutoff, arrays, rest, centre, share):
    """Bound a node, tighten its boxes and candidate sets against the cutoff, and say where the bound loses most.

    Every decided group must be settled. Returns ``(bound, split kind, component, coordinate or group, split value)``;
    ``centre`` receives the minimiser.
    """
    K, d = lo.shape
    N = mask.shape[0]
    alpha = np.empty(K)
    beta = np.empty(K)
    weight = np.zeros(K)
    total = np.zeros((K, d))
    value = np.zeros(K)
    constant = 0.0
    magnitude = 0.0
    for k in range(K):
        alpha[k], beta[k] = chord(arrays.entropy[k], arrays.concave[k], a[k], b[k])
        if alpha[k] == np.inf:  # the component can have none of these sizes
            return np.inf, SPLIT_GROUP, 0, -1, 0.0
        constant += alpha[k]
        magnitude += abs(alpha[k]) + abs(beta[k]) * b[k]
        for j in range(d):
            total[k, j] = arrays.gamma[k, j] * arrays.prior_mean[k, j]
            half = 0.5 * arrays.gamma[k, j] * arrays.prior_mean[k, j] ** 2
            constant += half
            magnitude += half
    for k in range(K):
        weight[k] = rest.weight[k]
        for j in range(d):
            total[k, j] += rest.points[k, j]
        constant += rest.cost[k] + rest.weight[k] * beta[k]
        magnitude += rest.cost[k] + abs(rest.weight[k] * beta[k])
    n_open = rest.left[0]
    opened = rest.groups[:n_open].copy()
    favourite = np.empty(n_open, dtype=np.int64)
    rival = np.empty(n_open, dtype=np.int64)
    theta = np.empty(n_open)
    floor = np.empty(n_open)
    for u in range(n_open):
        g = opened[u]
        w = arrays.weight[g]
        best = -1
        second = -1
        low = np.inf
        next_low = np.inf
        high = np.inf
        for k in range(K):
            if not mask[g] & (np.int64(1) << k):
                continue
            c = arrays.system[k]
            near, far = box_distances(arrays.points[c, g], lo[k], hi[k])
            base = w * beta[k] + arrays.scatter[c, g]
            cost = 0.5 * w * near + base
            if cost < low:
                next_low = low
                second = best
                low = cost
                high = 0.5 * w * far + base
                best = k
            elif cost < next_low:
                next_low = cost
                second = k
        t = 1.0
        if high > next_low:
            t = max(0.0, (next_low - low) / (high - low)) * (1.0 - SLACK)
        favourite[u] = best
        rival[u] = second
        theta[u] = t
        floor[u] = low
        c = arrays.system[best]
        square = 0.0
        for j in range(d):
            x = arrays.points[c, g, j]
            total[best, j] += t * w * x
            square += x * x
        weight[best] += t * w
        part = t * (0.5 * w * square + w * beta[best] + arrays.scatter[c, g]) + (1.0 - t) * low
        constant += part
        magnitude += t * (0.5 * w * square + abs(w * beta[best]) + arrays.scatter[c, g]) + (1.0 - t) * abs(
            low
        )
    for k in range(K):
        for j in range(d):
            found, x = _quadratic(weight[k] + arrays.gamma[k, j], total[k, j], lo[k, j], hi[k, j])
            value[k] += found
            magnitude += abs(found)
            centre[k, j] = x
    error = (2.0 * N + 64.0) * EPS * magnitude
    bound = constant - error
    for k in range(K):
        bound += value[k]
    gap = cutoff - bound
    if not gap > 0:
        return bound, OPEN, 0, 0, 0.0
    # Boxes: moving one coordinate of one mean away from the minimiser costs weight/2 times the squared distance.
    if np.isfinite(gap):
        for k in range(K):
            for j in range(d):
                full = weight[k] + arrays.gamma[k, j]
                if full <= 0:
                    continue
                bar = total[k, j] / full
                reach = np.sqrt(2.0 * gap / full + (centre[k, j] - bar) ** 2) * (1.0 + 1e-9)
                reach += 4.0 * (N + 16) * EPS * arrays.largest
                lo[k, j] = max(lo[k, j], bar - reach)
                hi[k, j] = min(hi[k, j], bar + reach)
        _fix_by_cost(
            bound,
            error,
            cutoff,
            lo,
            hi,
            mask,
            arrays,
            weight,
            total,
            value,
            beta,
            opened,
            favourite,
            theta,
            floor,
        )
    return where_to_split(
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
    )


@njit()
def _fix_by_cost(
    bound, error, cutoff, lo, hi, mask, arrays, weight, total, value, beta, opened, favourite, theta, floor
):
    """Drop k from g's candidates when forcing g into k lifts the bound to the cutoff. Valid under every constraint."""
    K, d = lo.shape
    for u in range(opened.shape[0]):
        g = opened[u]
        f = favourite[u]
        t = theta[u]
        w = arrays.weight[g]
        c = arrays.system[f]
        without = 0.0
        square = 0.0
        for j in range(d):
            x = arrays.points[c, g, j]
            square += x * x
            without += _quadratic(
                max(weight[f] - t * w, 0.0) + arrays.gamma[f, j], total[f, j] - t * w * x, lo[f, j], hi[f, j]
            )[0]
        part = t * (0.5 * w * square + w * beta[f] + arrays.scatter[c, g]) + (1.0 - t) * floor[u]
        rest = bound - value[f] + without - part
        for k in range(K):
            bit = np.int64(1) << k
            if not mask[g] & bit or mask[g] == bit:
                continue
            e = arrays.system[k]
            forced = 0.0
            square = 0.0
            share = t if k == f else 0.0
            for j in range(d):
                x = arrays.points[e, g, j]
                square += x * x
                forced += _quadratic(
                    max(weight[k] - share * w, 0.0) + w + arrays.gamma[k, j],
                    total[k, j] + (1.0 - share) * w * x,
                    lo[k, j],
                    hi[k, j],
                )[0]
            if k == f:
                lifted = rest - without + forced
            else:
                lifted = rest - value[k] + forced
            lifted += 0.5 * w * square + w * beta[k] + arrays.scatter[e, g]
            if lifted - error - SLACK * (1.0 + abs(lifted)) >= cutoff:
                mask[g] &= ~bit


@njit()
def _width(lo, hi, a, b, mask):
    total = 0.0
    for k in range(lo.shape[0]):
        for j in range(lo.shape[1]):
            total += hi[k, j] - lo[k, j]
    return total


@njit()
def explore_node(lo, hi, a, b, mask, cutoff, arrays, rest, centre, share):
    """Contract and bound one node in place until it stops shrinking.

    Returns ``(state, bound, split kind, component, index, value)``.
    """
    n = arrays.entropy.shape[1] - 1
    bound = -np.inf
    kind, which, index, at = SPLIT_GROUP, 0, -1, 0.0
    previous = np.inf
    ordered = np.empty((0, 0, 0), dtype=np.int64)
    for turn in range(8):
        if not propagate_rest(mask, a, b, n, arrays, rest.groups, rest.left[0], rest.weight):
            return CLOSED, np.inf, kind, which, index, at
        settle(mask, arrays, rest)
        if turn == 0:
            ordered = sorted_rest(mask, arrays, rest)
        if not contract_means(lo, hi, a, b, mask, arrays, rest, ordered):
            return CLOSED, np.inf, kind, which, index, at
        if not order_components(lo, hi, b, arrays):
            return CLOSED, np.inf, kind, which, index, at
        drop_dominated(lo, hi, a, b, mask, arrays, rest)
        if not propagate_rest(mask, a, b, n, arrays, rest.groups, rest.left[0], rest.weight):
            return CLOSED, np.inf, kind, which, index, at
        settle(mask, arrays, rest)
        found, kind, which, index, at = bound_node(lo, hi, a, b, mask, cutoff, arrays, rest, centre, share)
        bound = max(bound, found)
        if bound >= cutoff:
            return CLOSED, bound, kind, which, index, at
        open_groups = 0
        for u in range(rest.left[0]):
            g = rest.groups[u]
            if mask[g] == 0:
                return CLOSED, np.inf, kind, which, index, at
            if not single(mask[g]):
                open_groups += 1
        if open_groups == 0:
            return DECIDED, bound, kind, which, index, at
        for k in range(lo.shape[0]):
            for j in range(lo.shape[1]):
                if lo[k, j] > hi[k, j]:
                    return CLOSED, np.inf, kind, which, index, at
        size = _width(lo, hi, a, b, mask) + open_groups
        if size > 0.95 * previous:
            break
        previous = size
    return OPEN, bound, kind, which, index, at


@njit(nogil=True)
def explore_batch(
    first,
    last,
    lo,
    hi,
    a,
    b,
    mask,
    cutoff,
    arrays,
    groups,
    start,
    left,
    weight,
    points,
    cost,
    state,
    bound,
    kind,
    which,
    index,
    at,
    centre,
):
    """Explore nodes ``first .. last - 1`` of a batch; every output is written in the node's own row.

    ``groups[start[i] : start[i] + left[i]]`` are the groups that are left in node i; ``weight``, ``points`` and
    ``cost`` are its sums over the others. Holds no interpreter lock, so several threads can work on one batch.
    """
    K, d = lo.shape[1], lo.shape[2]
    share = np.empty((K, d + 1))
    for i in range(first, last):
        if arrays.stop[0]:
            state[i] = OPEN
            continue
        mine = groups[start[i] : start[i] + left[i]]
        rest = Rest(mine, left[i : i + 1], weight[i], points[i], cost[i])
        s, f, t, w, x, v = explore_node(
            lo[i], hi[i], a[i], b[i], mask[i], cutoff, arrays, rest, centre[i], share
        )
        state[i] = s
        bound[i] = max(bound[i], f)
        kind[i] = t
        which[i] = w
        index[i] = x
        at[i] = v
