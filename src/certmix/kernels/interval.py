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
from certmix.kernels.propagation import propagate, single
from certmix.kernels.splitting import SPLIT_GROUP, where_to_split

EPS = 2.220446049250313e-16
SLACK = 1e-12
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
def contract_means(lo, hi, a, b, mask, arrays):
    """Intersect every box with the means that its certain members plus some of its candidates can have.

    The smallest mean along a coordinate is reached by adding candidates in increasing order while they lie below the
    running mean or are needed to make up the smallest size. Returns False when a box becomes empty.
    """
    K, d = lo.shape
    N = mask.shape[0]
    widen = 4.0 * (N + 16) * EPS * arrays.largest
    for k in range(K):
        if b[k] <= 0:
            continue
        bit = np.int64(1) << k
        c = arrays.system[k]
        sure = 0.0
        for g in range(N):
            if mask[g] == bit:
                sure += arrays.weight[g]
        for j in range(d):
            fixed_sum = 0.0
            for g in range(N):
                if mask[g] == bit:
                    fixed_sum += arrays.weight[g] * arrays.points[c, g, j]
            prior = arrays.gamma[k, j]
            prior_sum = prior * arrays.prior_mean[k, j]
            order = arrays.order[c, j]
            for side in range(2):
                members = sure
                total = fixed_sum + prior_sum
                for step in range(N):
                    g = order[step] if side == 0 else order[N - 1 - step]
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
def drop_dominated(lo, hi, a, b, mask, arrays):
    """Drop k from g's candidates when moving g out of k would surely pay (Hartigan's exchange).

    In an optimal clustering no single move to another allowed component pays, provided that the move keeps every
    constraint: so only groups outside all coupling constraints are looked at, the component left must keep its smallest
    size and the one joined its largest. Valid only where the instance's cost is the exact objective.
    """
    K = lo.shape[0]
    N = mask.shape[0]
    gain = np.empty(K)  # least saving from leaving k
    price = np.empty(K)  # most that joining k can cost
    inside = np.empty(K, dtype=np.bool_)
    n = arrays.entropy.shape[1] - 1
    for g in range(N):
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
def bound_node(lo, hi, a, b, mask, cutoff, arrays, centre, share):
    """Bound a node, tighten its boxes and candidate sets against the cutoff, and say where the bound loses most.

    Returns ``(bound, split kind, component, coordinate or group, split value)``. ``centre`` receives the minimiser.
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
    n_open = 0
    for g in range(N):
        if not single(mask[g]):
            n_open += 1
    opened = np.empty(n_open, dtype=np.int64)
    favourite = np.empty(n_open, dtype=np.int64)
    rival = np.empty(n_open, dtype=np.int64)
    theta = np.empty(n_open)
    floor = np.empty(n_open)
    u = 0
    for g in range(N):
        w = arrays.weight[g]
        if single(mask[g]):
            k = 0
            while not mask[g] & (np.int64(1) << k):
                k += 1
            c = arrays.system[k]
            square = 0.0
            for j in range(d):
                x = arrays.points[c, g, j]
                total[k, j] += w * x
                square += x * x
            weight[k] += w
            part = 0.5 * w * square + arrays.scatter[c, g]
            constant += part + w * beta[k]
            magnitude += part + abs(w * beta[k])
            continue
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
        opened[u] = g
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
        u += 1
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
    rest = cutoff - bound
    if not rest > 0:
        return bound, OPEN, 0, 0, 0.0
    # Boxes: moving one coordinate of one mean away from the minimiser costs weight/2 times the squared distance.
    if np.isfinite(rest):
        for k in range(K):
            for j in range(d):
                full = weight[k] + arrays.gamma[k, j]
                if full <= 0:
                    continue
                bar = total[k, j] / full
                reach = np.sqrt(2.0 * rest / full + (centre[k, j] - bar) ** 2) * (1.0 + 1e-9)
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
def explore_node(lo, hi, a, b, mask, cutoff, arrays, centre, share):
    """Contract and bound one node in place until it stops shrinking.

    Returns ``(state, bound, split kind, component, index, value)``.
    """
    n = arrays.entropy.shape[1] - 1
    bound = -np.inf
    kind, which, index, at = SPLIT_GROUP, 0, -1, 0.0
    previous = np.inf
    for _ in range(8):
        if not propagate(mask, a, b, n, arrays):
            return CLOSED, np.inf, kind, which, index, at
        if not contract_means(lo, hi, a, b, mask, arrays):
            return CLOSED, np.inf, kind, which, index, at
        if not order_components(lo, hi, b, arrays):
            return CLOSED, np.inf, kind, which, index, at
        drop_dominated(lo, hi, a, b, mask, arrays)
        if not propagate(mask, a, b, n, arrays):
            return CLOSED, np.inf, kind, which, index, at
        found, kind, which, index, at = bound_node(lo, hi, a, b, mask, cutoff, arrays, centre, share)
        bound = max(bound, found)
        if bound >= cutoff:
            return CLOSED, bound, kind, which, index, at
        open_groups = 0
        for g in range(mask.shape[0]):
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
    first, last, lo, hi, a, b, mask, cutoff, arrays, state, bound, kind, which, index, at, centre
):
    """Explore nodes ``first .. last - 1`` of a batch; every output is written in the node's own row.

    Holds no interpreter lock, so several threads can work on one batch.
    """
    K, d = lo.shape[1], lo.shape[2]
    share = np.empty((K, d + 1))
    for i in range(first, last):
        s, f, t, w, x, v = explore_node(lo[i], hi[i], a[i], b[i], mask[i], cutoff, arrays, centre[i], share)
        state[i] = s
        bound[i] = max(bound[i], f)
        kind[i] = t
        which[i] = w
        index[i] = x
        at[i] = v
