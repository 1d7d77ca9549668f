"""What of an interval node can be dropped without bounding it: parts of boxes, and candidates that exchanges exclude.

Rounding: comparisons that remove a candidate leave a relative slack of ``SLACK``; boxes are widened by the rounding of
the sums behind them.
"""

from __future__ import annotations

import numpy as np

from certmix.kernels.candidates import SEVERAL, candidates, forbid, holds
from certmix.kernels.compiled import njit
from certmix.kernels.mass import mass_of, own_mass, shared_mass
from certmix.rounding import EPS

SLACK = 1e-12


@njit()
def contract_means(lo, hi, a, b, mask, arrays, rest, ordered):
    """Intersect every box with the means that its certain members plus some of its candidates can have.

    The smallest mean along a coordinate is reached by adding candidates in increasing order while they lie below the
    running mean or are needed to make up the smallest size. ``ordered`` holds the groups that are left (or more),
    sorted by coordinate. Returns False when a box becomes empty.

    Where masses are not sizes, limits of sizes say nothing about them. A mean of nothing is zero, or what of the user's
    box is nearest to it, by agreement: so every clustering has one mean, and a node without it need not count with it.
    """
    K, d = lo.shape
    points, mass, counted = arrays.points, arrays.mass, arrays.counted
    left = ordered.shape[2]
    widen = 4.0 * (mask.shape[0] + 16) * EPS * arrays.largest
    possible = True
    for k in range(K):
        if b[k] <= 0:
            continue
        least, most = (a[k], b[k]) if counted else (0.0, np.inf)
        c = arrays.system[k]
        for j in range(d):
            prior = arrays.gamma[k, j]
            prior_sum = prior * arrays.prior_mean[k, j]
            nothing = min(max(0.0, arrays.box_lower[k, j]), arrays.box_upper[k, j])
            undetermined = (
                not counted and mass_of(rest.mass, k, j) + prior <= 0 and lo[k, j] <= nothing <= hi[k, j]
            )
            for side in range(2):
                members = mass_of(rest.mass, k, j)
                total = rest.points[k, j] + prior_sum
                for step in range(left):
                    g = ordered[c, j, step if side == 0 else left - 1 - step]
                    if not holds(mask, g, k) or candidates(mask, g) != SEVERAL:
                        continue
                    x = points[c, g, j]
                    w = mass_of(mass, g, j)
                    if w <= 0:
                        continue
                    w = min(w, most - members)
                    if w <= 0:
                        break
                    if members + prior > 0:
                        mean = total / (members + prior)
                        if x >= mean if side == 0 else x <= mean:
                            if members >= least:
                                break
                            w = min(w, least - members)
                    elif members >= least:
                        w = min(w, 1.0)
                    members += w
                    total += w * x
                if members + prior <= 0:
                    continue
                mean = total / (members + prior)
                mean = min(max(mean, arrays.box_lower[k, j]), arrays.box_upper[k, j])
                if undetermined:
                    mean = min(mean, nothing) if side == 0 else max(mean, nothing)
                if side == 0:
                    lo[k, j] = max(lo[k, j], mean - widen)
                else:
                    hi[k, j] = min(hi[k, j], mean + widen)
            possible = possible and not lo[k, j] > hi[k, j]
    return possible


@njit()
def order_components(lo, hi, b, arrays):
    """Interchangeable components may be numbered by increasing mean along one coordinate."""
    K = lo.shape[0]
    j = arrays.axis
    classes = arrays.classes
    for k in range(K):
        for m in range(k + 1, K):
            if classes[k] == classes[m] and b[k] > 0 and b[m] > 0:
                lo[m, j] = max(lo[m, j], lo[k, j])
                break
    for m in range(K - 1, -1, -1):
        for k in range(m - 1, -1, -1):
            if classes[k] == classes[m] and b[k] > 0 and b[m] > 0:
                hi[k, j] = min(hi[k, j], hi[m, j])
                break
    possible = True
    for k in range(K):
        possible = possible and not lo[k, j] > hi[k, j]
    return possible


@njit()
def box_distances(points, mass, c, g, lo, hi, k):
    """Squared distances from a group to the nearest and the farthest point of component k's box, times its mass."""
    near = 0.0
    far = 0.0
    for j in range(points.shape[2]):
        x = points[c, g, j]
        below = lo[k, j] - x
        above = x - hi[k, j]
        out = max(below, above, 0.0)
        near += own_mass(mass, g, j) * (out * out)
        reach = max(-above, -below)
        far += own_mass(mass, g, j) * (reach * reach)
    return shared_mass(mass, g) * near, shared_mass(mass, g) * far


@njit()
def drop_dominated(lo, hi, a, b, mask, arrays, rest):
    """Drop k from g's candidates when moving g out of k would surely pay (Hartigan's exchange).

    In an optimal clustering no single move to another allowed component pays, provided that the move keeps every
    constraint: so only groups outside all coupling constraints are looked at, the component left must keep its smallest
    size and the one joined its largest. Valid only where the instance's cost is the exact objective. A clustering that
    costs ``allowance`` more than the best one gains no more than that by a move.

    Hartigan's factors are those of means of samples. Where masses are not sizes the means stay where they are, which
    saves no more and costs no less.
    """
    K = lo.shape[0]
    points, scatter, weight, system = arrays.points, arrays.scatter, arrays.weight, arrays.system
    mass = arrays.mass
    entropy, size_lower, size_upper = arrays.entropy, arrays.size_lower, arrays.size_upper
    movable, plain_means, groups = arrays.movable, arrays.plain_means, rest.groups
    averages = plain_means and arrays.counted
    gain = np.empty(K)  # least saving from leaving k
    inside = np.empty(K)  # is the group in the box of k?
    n = entropy.shape[1] - 1
    for u in range(rest.left[0]):
        g = groups[u]
        if candidates(mask, g) != SEVERAL or not movable[g]:
            continue
        w = weight[g]
        iw = int(w)
        heaviest = 0.0
        for j in range(points.shape[2]):
            heaviest = max(heaviest, mass_of(mass, g, j))
        cheapest = np.inf  # most that joining the best component can cost
        second = np.inf
        best = -1
        for k in range(K):
            if not holds(mask, g, k):
                continue
            c = system[k]
            near, far = box_distances(points, mass, c, g, lo, hi, k)
            inside[k] = near <= 1e-9 * (heaviest * arrays.largest**2 + far)
            gain[k] = -np.inf
            if not arrays.concave[k]:
                continue
            ib = int(b[k])
            if ib - iw >= 0:
                factor = 1.0
                if averages and ib > iw:
                    factor = ib / (ib - w)
                saved = factor * 0.5 * near + entropy[k, ib] - entropy[k, ib - iw]
                gain[k] = saved + scatter[c, g]
            if size_upper[k] >= n or b[k] + w <= size_upper[k]:
                factor = 1.0
                if averages:
                    factor = ib / (ib + w)
                from_size = min(int(a[k]), n - iw)
                added = factor * 0.5 * far + entropy[k, from_size + iw] - entropy[k, from_size]
                added += scatter[c, g]
                if added < cheapest:
                    second = cheapest
                    cheapest = added
                    best = k
                elif added < second:
                    second = added
        for k in range(K):
            if not holds(mask, g, k):
                continue
            alternative = second if k == best else cheapest
            saved = gain[k] - arrays.allowance
            if np.isfinite(alternative) and saved > alternative + SLACK * (1 + abs(saved) + abs(alternative)):
                keeps_size = a[k] - w >= size_lower[k]
                # A component of one group has its mean at that group, so outside the box this cannot be the case.
                not_alone = size_lower[k] <= 1 and plain_means and not inside[k]
                if keeps_size or not_alone:
                    forbid(mask, g, k)
