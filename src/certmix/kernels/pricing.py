r"""Exact pricing: the cheapest set for one component under given multipliers (design 3.1).

For multipliers T, the reduced cost of a set S of groups for a component is

    r(S) = min_mu  sum_{g in S} [ w_g/2 |x_g - mu|^2 + cost_g ] + prior(mu) + h(|S|),    cost_g = scatter_g - T_g.

``price`` bounds its minimum from below by a depth-first search over a box for mu and an interval [a, b] for the
size. With the chord ``alpha + beta m <= h(m)``, a group contributes ``min(0, q_g)`` with ``q_g = w_g (|x_g -
mu|^2 / 2 + beta) + cost_g``. Over a box on which q runs from s < 0 to t > 0, the concave function min(0, q)
lies above ``theta q + (1 - theta) s`` with ``theta = -s / (t - s)``: a quadratic, so everything adds up to one
separable quadratic that is minimised by clipping. For a pair that may not be together ``min(0, q_i, q_j)``
takes the place of the sum.

Groups whose membership an exchange argument settles leave the list that children look at. The argument adds or removes
one group, so it is used only for groups outside coupling constraints and where the size stays within the limits.
"""

from __future__ import annotations

import numpy as np

from certmix.kernels.compiled import njit
from certmix.kernels.contraction import SLACK
from certmix.kernels.interval import chord
from certmix.kernels.price_parts import (
    cut_box,
    cut_interval,
    cut_size,
    keep_cheap,
    minimise,
    parts_of_sizes,
    widest_loss,
)
from certmix.kernels.records import finished, new_record, record_split
from certmix.kernels.sets import set_cost
from certmix.kernels.splitting import variation
from certmix.rounding import EPS

STACK = 4096
GROUP = -2  # split on the membership of a group


@njit(nogil=True)
def price(place, status, partner, goal, offers):
    """Lower bound on the smallest reduced cost over admissible sets: ``(bound, best value, nodes, complete, record)``.

    ``status`` is 1 for groups that must be in, 0 for free ones and -1 for those that may not. Nodes whose bound reaches
    ``min(threshold, best value - tolerance)`` are closed. Sets worth a column are reported in ``offers``.
    """
    points, weight, cost, gamma, prior_mean = (
        place.points,
        place.weight,
        place.cost,
        place.gamma,
        place.prior_mean,
    )
    lo, hi, entropy, concave = place.lo, place.hi, place.entropy, place.concave
    size_lower, size_upper = place.a, place.b
    a, b = place.a, place.b
    threshold, tolerance, recording = goal.threshold, goal.tolerance, goal.recording
    N, d = points.shape
    n = entropy.shape[0] - 1
    arena = np.empty(max(16, 4 * N), dtype=np.int64)
    stack_lo = np.empty((STACK, d))
    stack_hi = np.empty((STACK, d))
    stack_a = np.empty(STACK)
    stack_b = np.empty(STACK)
    stack_bound = np.empty(STACK)
    stack_from = np.empty(STACK, dtype=np.int64)
    stack_len = np.empty(STACK, dtype=np.int64)
    stack_end = np.empty(
        STACK, dtype=np.int64
    )  # where the arena is free; siblings may have lists of different lengths
    # certain members: weight, sum, constant, magnitude
    stack_weight = np.empty(STACK)
    stack_total = np.empty((STACK, d))
    stack_constant = np.empty(STACK)
    stack_entry = np.zeros(STACK, dtype=np.int64)
    record = new_record(recording)
    entries = 1
    stamp = np.zeros(N, dtype=np.int64)
    low_q = np.empty(N)
    high_q = np.empty(N)
    members = np.zeros(N, dtype=np.bool_)
    total = np.empty(d)
    sure_total = np.empty(d)
    bar = np.empty(d)
    at = np.empty(d)
    share = np.empty(d + 1)
    box_lo = np.empty(d)
    box_hi = np.empty(d)
    best_value = goal.start
    leaf_bound = np.inf
    for i in range(offers.value.shape[0]):
        offers.value[i] = np.inf
    base_constant = 0.0
    for j in range(d):
        base_constant += 0.5 * gamma[j] * prior_mean[j] ** 2
    sure_weight = 0.0
    sure_constant = base_constant
    magnitude_all = base_constant
    for j in range(d):
        sure_total[j] = gamma[j] * prior_mean[j]
    length = 0
    possible = 0.0
    farthest = 1.0  # largest coordinate: the rounding in a mean
    for g in range(N):
        square = 0.0
        for j in range(d):
            square += points[g, j] ** 2
            farthest = max(farthest, abs(points[g, j]))
        if status[g] == 1:
            sure_weight += weight[g]
            for j in range(d):
                sure_total[j] += weight[g] * points[g, j]
            sure_constant += 0.5 * weight[g] * square + cost[g]
        elif status[g] == 0:
            arena[length] = g
            length += 1
        if status[g] >= 0:
            possible += weight[g]
            magnitude_all += weight[g] * square + abs(cost[g])
    a = max(a, sure_weight)
    b = min(b, possible)
    if a > b:
        return np.inf, best_value, 0, True, finished(record, entries)
    single = False
    if sure_weight == 0 and a <= 1:
        # Sets of one group are looked at one by one, so that from here on a group may always leave a set.
        for g in range(N):
            if status[g] != 0 or not a <= weight[g] <= b:
                continue
            members[g] = True
            found = set_cost(members, place)[0]
            members[g] = False
            found -= (2.0 * d + 64.0) * EPS * magnitude_all
            leaf_bound = min(leaf_bound, found)
            best_value = min(best_value, found)
        a = 2.0
        single = True
        if a > b:
            return leaf_bound, best_value, 0, True, finished(record, entries)
    heaviest = 0.0
    for p in range(length):
        heaviest = max(heaviest, weight[arena[p]])
    parts, part_entry, record, entries = parts_of_sizes(place, a, b, heaviest, single, record)
    top = 0
    for part in range(3):
        from_size, to_size = parts[part]
        if from_size > to_size:
            continue
        stack_entry[top] = part_entry[part]
        for j in range(d):
            stack_lo[top, j] = lo[j]
            stack_hi[top, j] = hi[j]
            stack_total[top, j] = sure_total[j]
        stack_a[top] = from_size
        stack_b[top] = to_size
        stack_bound[top] = -np.inf
        stack_from[top] = 0
        stack_len[top] = length
        stack_end[top] = length
        stack_weight[top] = sure_weight
        stack_constant[top] = sure_constant
        top += 1
    rounding = 4.0 * (N + 16) * EPS
    nodes = 0
    complete = True
    while top > 0:
        top -= 1
        parent_bound = stack_bound[top]
        cut = min(threshold, best_value - tolerance)
        if parent_bound >= cut:
            leaf_bound = min(leaf_bound, parent_bound)
            continue
        if nodes >= goal.node_limit or goal.stop[0]:
            complete = False
            leaf_bound = min(leaf_bound, parent_bound)
            continue
        nodes += 1
        entry = stack_entry[top]
        for j in range(d):
            box_lo[j] = stack_lo[top, j]
            box_hi[j] = stack_hi[top, j]
            sure_total[j] = stack_total[top, j]
        a = stack_a[top]
        b = stack_b[top]
        sure_weight = stack_weight[top]
        sure_constant = stack_constant[top]
        first = stack_from[top]
        length = stack_len[top]
        mine = stack_end[top]
        if mine + length > arena.shape[0]:
            grown = np.empty(2 * arena.shape[0] + length, dtype=np.int64)
            grown[: arena.shape[0]] = arena
            arena = grown
        bound = parent_bound
        closed = False
        alpha = 0.0
        beta = 0.0
        for sweep in range(4):
            # membership settled by exchange arguments
            ia = int(a)
            ib = int(b)
            kept = 0
            undecided = 0.0
            for p in range(length):
                g = arena[first + p]
                near = 0.0
                far = 0.0
                for j in range(d):
                    x = points[g, j]
                    below = box_lo[j] - x
                    above = x - box_hi[j]
                    out = max(below, above, 0.0)
                    near += out * out
                    reach = max(-below, -above)
                    far += reach * reach
                w = weight[g]
                iw = int(w)
                low_q[g] = 0.5 * w * near + cost[g]
                high_q[g] = 0.5 * w * far + cost[g]
                if partner[g] < 0 and concave:
                    if (size_upper >= n or b + w <= size_upper) and ia + iw <= n:
                        step = entropy[ia + iw] - entropy[ia]
                        if high_q[g] + step < -SLACK * (
                            1.0 + abs(high_q[g]) + abs(cost[g]) + abs(entropy[ia])
                        ):
                            sure_weight += w
                            square = 0.0
                            for j in range(d):
                                sure_total[j] += w * points[g, j]
                                square += points[g, j] ** 2
                            sure_constant += 0.5 * w * square + cost[g]
                            continue
                    if a - w >= max(size_lower, 1.0):
                        step = entropy[ib] - entropy[ib - iw]
                        if low_q[g] + step > SLACK * (1.0 + abs(low_q[g]) + abs(cost[g]) + abs(entropy[ib])):
                            continue
                arena[mine + kept] = g
                kept += 1
                undecided += w
            first = mine
            length = kept
            if mine + 2 * length > arena.shape[0]:
                grown = np.empty(2 * arena.shape[0] + length, dtype=np.int64)
                grown[: arena.shape[0]] = arena
                arena = grown
            old_width = b - a
            a = max(a, sure_weight)
            b = min(b, sure_weight + undecided)
            if a > b:
                closed = True
                bound = np.inf
                break
            alpha, beta = chord(entropy, concave, a, b)
            stamp_now = nodes * 8 + sweep + 1
            for p in range(length):
                stamp[arena[first + p]] = stamp_now
            quad = sure_weight
            constant = sure_constant + alpha + beta * sure_weight
            magnitude = magnitude_all + abs(alpha) + abs(beta) * b
            for j in range(d):
                total[j] = sure_total[j]
            for p in range(length):
                g = arena[first + p]
                w = weight[g]
                s = low_q[g] + w * beta
                if s >= 0:
                    continue
                t = high_q[g] + w * beta
                ceiling = 0.0
                mate = partner[g]
                if mate >= 0 and stamp[mate] == stamp_now:
                    s_mate = low_q[mate] + weight[mate] * beta
                    if s_mate < s or (s_mate == s and mate < g):
                        continue  # the mate stands for the pair
                    ceiling = min(0.0, s_mate)
                theta = 1.0
                if t > ceiling:
                    theta = max(0.0, (ceiling - s) / (t - s)) * (1.0 - SLACK)
                square = 0.0
                for j in range(d):
                    total[j] += theta * w * points[g, j]
                    square += points[g, j] ** 2
                quad += theta * w
                constant += theta * (0.5 * w * square + cost[g] + w * beta) + (1.0 - theta) * s
            value = constant + minimise(quad, total, gamma, box_lo, box_hi, bar, at)
            value -= (2.0 * N + 64.0) * EPS * magnitude
            bound = max(bound, value)
            if bound >= cut:
                closed = True
                break
            rest = cut - value  # of this quadratic, though the parent's bound may be the better one
            closed, shrunk = cut_box(rest, quad, gamma, bar, at, rounding, farthest, box_lo, box_hi)
            if closed:
                bound = cut
            if closed or not (shrunk or b - a < 0.8 * old_width):
                break
        if closed:
            leaf_bound = min(leaf_bound, bound if bound < np.inf else np.inf)
            continue
        # A set to offer: everything with negative cost at the minimiser.
        for g in range(N):
            members[g] = status[g] == 1
        for j in range(d + 1):
            share[j] = 0.0
        size = 0.0
        for g in range(N):
            if status[g] != 0:
                if status[g] == 1:
                    size += weight[g]
                continue
            square = 0.0
            for j in range(d):
                square += (points[g, j] - at[j]) ** 2
            if weight[g] * (0.5 * square + beta) + cost[g] < 0:
                members[g] = True
                size += weight[g]
        admissible = size_lower <= size <= size_upper and size > 0
        if admissible:
            for g in range(N):
                if members[g] and partner[g] >= 0 and members[partner[g]]:
                    admissible = False
        if admissible:
            found = set_cost(members, place)[0]
            if found < best_value:
                best_value = found
            if found < threshold:
                keep_cheap(offers, found, at, beta)
        # Where does the bound lose most?
        worst = -1
        worst_loss = 0.0
        for p in range(length):
            g = arena[first + p]
            w = weight[g]
            s = low_q[g] + w * beta
            if s >= 0:
                continue
            t = high_q[g] + w * beta
            square = 0.0
            spread = 0.0
            for j in range(d):
                square += (points[g, j] - at[j]) ** 2
                spread += variation(points[g, j], box_lo[j], box_hi[j])
            q = w * (0.5 * square + beta) + cost[g]
            ceiling = 0.0
            truth = min(q, 0.0)
            mate = partner[g]
            if mate >= 0 and stamp[mate] == stamp_now:
                s_mate = low_q[mate] + weight[mate] * beta
                if s_mate < s or (s_mate == s and mate < g):
                    continue
                ceiling = min(0.0, s_mate)
                square = 0.0
                for j in range(d):
                    square += (points[mate, j] - at[j]) ** 2
                truth = min(truth, weight[mate] * (0.5 * square + beta) + cost[mate])
            theta = 1.0 if t <= ceiling else max(0.0, (ceiling - s) / (t - s))
            loss = truth - (theta * q + (1.0 - theta) * s)
            if loss > worst_loss:
                worst_loss = loss
                worst = p
            if loss > 0 and spread > 0:
                for j in range(d):
                    share[j] += loss * variation(points[g, j], box_lo[j], box_hi[j]) / spread
        m = int(min(max(round(size), a), b))
        share[d] = entropy[m] - alpha - beta * m
        split = widest_loss(share, box_lo, box_hi, at)
        largest = share[split] if split >= 0 else 0.0
        if b > a and share[d] > largest:
            split = d
            largest = share[d]
        if worst >= 0 and worst_loss > 0.5 * largest:
            split = GROUP  # the loss sits in one group: settle whether it is in
        if split == -1:
            if b > a:
                split = d
            elif length > 0:
                split = GROUP
                worst = 0
            else:
                leaf_bound = min(leaf_bound, bound)  # one set is left, and this is its cost up to rounding
                continue
        if split == GROUP:
            # The group, and its mate before it, go to the end of the list, where children can leave them out.
            g = arena[first + worst]
            arena[first + worst] = arena[first + length - 1]
            arena[first + length - 1] = g
            without_mate = length - 1
            mate = partner[g]
            if mate >= 0 and stamp[mate] == stamp_now:
                for p in range(length - 1):
                    if arena[first + p] == mate:
                        arena[first + p] = arena[first + length - 2]
                        arena[first + length - 2] = mate
                        without_mate = length - 2
                        break
        if top + 2 > STACK:
            complete = False
            leaf_bound = min(leaf_bound, bound)
            continue
        cutting = 0.0
        below = 0  # which of the children, in the order in which they are pushed, is below the cut, or has the group
        if split == GROUP:
            below = 1
        elif split == d:
            cutting, below = cut_size(m, a, b)
        else:
            cutting, below = cut_interval(at[split], box_lo[split], box_hi[split], recording)
        record = record_split(record, entry, d + 1 + g if split == GROUP else split, cutting, entries)
        for child in range(2):
            # the second child is explored first; make that the one around the minimiser
            for j in range(d):
                stack_lo[top, j] = box_lo[j]
                stack_hi[top, j] = box_hi[j]
                stack_total[top, j] = sure_total[j]
            stack_a[top] = a
            stack_b[top] = b
            stack_bound[top] = bound
            stack_from[top] = first
            stack_len[top] = length
            stack_end[top] = first + length
            stack_weight[top] = sure_weight
            stack_constant[top] = sure_constant
            stack_entry[top] = entries + (0 if child == below else 1)
            if split == GROUP:
                if child == 0:
                    stack_len[top] = length - 1
                else:
                    stack_len[top] = without_mate
                    stack_weight[top] += weight[g]
                    square = 0.0
                    for j in range(d):
                        stack_total[top, j] += weight[g] * points[g, j]
                        square += points[g, j] ** 2
                    stack_constant[top] += 0.5 * weight[g] * square + cost[g]
            elif split == d:
                if child == below:
                    stack_b[top] = cutting
                else:
                    stack_a[top] = cutting + 1.0
            elif child == below:
                stack_hi[top, split] = cutting
            else:
                stack_lo[top, split] = cutting
            top += 1
        entries += 2
    # Boxes were cut against the threshold, so no more than that is proved of what was cut away.
    proved = min(leaf_bound, threshold, best_value - tolerance)
    return proved, best_value, nodes, complete, finished(record, entries)
