r"""Exact pricing: the cheapest set for one component under given multipliers (design 3.1).

For multipliers T, the reduced cost of a set S of groups for a component is

    r(S) = min_mu  sum_{g in S} [ m_g/2 |x_g - mu|^2 + cost_g ] + prior(mu) + h(|S|),    cost_g = scatter_g - T_g.

``price`` bounds its minimum from below by a depth-first search over a box for mu and an interval [a, b] for the
size. With the chord ``alpha + beta m <= h(m)``, a group contributes ``min(0, q_g)`` with ``q_g = m_g |x_g - mu|^2 / 2 +
w_g beta + cost_g``, where the mass m_g of its w_g samples may depend on the coordinate. Over a box on which q runs from
s < 0 to t > 0, the concave function min(0, q) lies above ``theta q + (1 - theta) s`` with ``theta = -s / (t - s)``: a
quadratic, so everything adds up to one separable quadratic that is minimised by clipping. For a pair that may not be
together ``min(0, q_i, q_j)`` takes the place of the sum.

The search looks at cells (:mod:`.cells`), so that a node costs as much as the boundary of its set: a cell knows the
box, weight, weighted sum and sum of squares of its groups, and the range of their constant costs. Over a box of means
the costs of its m groups lie in an interval [s, t], and one theta serves all of them:

    sum_g min(0, q_g) >= theta sum_g q_g + (1 - theta) m s,      theta = -s / (t - s).

A cell over which the costs vary more than over the box of means is replaced by its children.

Cells whose membership an exchange argument settles leave the list that children look at. The argument adds or removes
one group, so it is used only for groups outside coupling constraints and where the size stays within the limits.
"""

from __future__ import annotations

import numpy as np

from certmix.kernels.cells import cell_costs
from certmix.kernels.compiled import njit
from certmix.kernels.contraction import SLACK
from certmix.kernels.interval import chord
from certmix.kernels.mass import add_mass, mass_of, own_mass, shared_mass
from certmix.kernels.price_parts import (
    cut_box,
    cut_interval,
    cut_size,
    keep_cheap,
    minimise,
    parts_of_sizes,
    widest_loss,
)
from certmix.kernels.records import new_record, record_split
from certmix.kernels.splitting import variation
from certmix.kernels.trios import joining, joins, owed, stays_out, tied_cells
from certmix.rounding import EPS

STACK = 4096
PENDING = 1024  # cells on the way down a kd-tree
GROUP = -2  # split on the membership of a group


@njit(nogil=True)
def price(cells, cost, place, forced, goal, offers, trios):
    """Lower bound on the smallest reduced cost over admissible sets: ``(bound, best value, nodes, complete, record)``.

    The cells' groups, with constant costs ``cost``, are free to be in or out; what must be in comes as sums. Nodes
    whose bound reaches ``min(threshold, best value - tolerance)`` are closed. Sets worth a column are reported in
    ``offers``. Sets pay for ``trios`` of the free groups.
    """
    lower, upper, light_of, heavy_of = cells.lower, cells.upper, cells.lightest, cells.heaviest
    weight, sums, square, partner = cells.weight, cells.total, cells.square, cells.partner
    mass, least_mass, most_mass = cells.mass, cells.least_mass, cells.most_mass
    summed, least, most = cell_costs(cells, cost)
    tied = tied_cells(trios, cells)
    gamma, entropy, concave = place.gamma, place.entropy, place.concave
    size_lower, size_upper = place.a, place.b
    N = cost.shape[0]
    d = gamma.shape[0]
    n = entropy.shape[0] - 1
    arena = np.empty(max(1 << 12, 4 * cells.roots.shape[0]), dtype=np.int64)
    stack_lo = np.empty((STACK, d))
    stack_hi = np.empty((STACK, d))
    stack_a = np.empty(STACK)
    stack_b = np.empty(STACK)
    stack_bound = np.empty(STACK)
    stack_from = np.zeros(STACK, dtype=np.int64)
    stack_len = np.empty(STACK, dtype=np.int64)
    stack_end = np.empty(STACK, dtype=np.int64)  # where the arena is free: siblings' lists differ in length
    stack_weight = np.empty(STACK)  # of certain members: samples, mass, sum, constant
    stack_mass = np.empty((STACK, *mass.shape[1:]))
    stack_total = np.empty((STACK, d))
    stack_constant = np.empty(STACK)
    stack_entry = np.zeros(STACK, dtype=np.int64)
    M = trios.price.shape[0]
    stack_inside = np.empty((STACK, M), dtype=np.int8)  # of every trio: how many groups are in, and out
    stack_outside = np.empty((STACK, M), dtype=np.int8)
    stack_sure = np.empty((STACK, trios.tied), dtype=np.bool_)  # which groups of trios are in
    sure = np.empty(trios.tied, dtype=np.bool_)
    chosen = np.empty(trios.tied, dtype=np.bool_)  # and in the set that is offered
    inside = np.empty(M, dtype=np.int8)
    outside = np.empty(M, dtype=np.int8)
    taken = np.empty(M, dtype=np.int8)  # open ones in the set that is offered
    shared = np.zeros(N)  # what an open group pays for its trios, by its place in the list
    record = new_record(goal.recording)
    entries = 1
    here = np.empty(N, dtype=np.int64)  # the cells of a node: read from here, written there
    there = np.empty(N, dtype=np.int64)
    low_q = np.empty(N)  # and by their place in that list: least and largest cost of a group,
    high_q = np.empty(N)
    theta_of = np.empty(N)  # share of the quadratic in the minorant, -1 for nothing,
    worth = np.empty(N)  # and cost at the minimiser
    slot = np.zeros(weight.shape[0], dtype=np.int64)  # place of a cell in the list
    pending = np.empty(PENDING, dtype=np.int64)
    total = np.empty(d)
    quad = np.empty((1, *mass.shape[1:]))
    sure_mass = np.empty((1, *mass.shape[1:]))
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
    base = 0.0
    farthest = max(1.0, forced.farthest)  # largest coordinate: the rounding in a mean
    for j in range(d):
        base += 0.5 * gamma[j] * place.prior_mean[j] ** 2
        farthest = max(farthest, abs(place.prior_mean[j]) * (gamma[j] > 0))
    magnitude_all = base + 2.0 * forced.magnitude
    possible = forced.weight
    heaviest = 0.0
    length = cells.roots.shape[0]
    for p in range(length):
        item = cells.roots[p]
        arena[p] = item
        possible += weight[item]
        heaviest = max(heaviest, heavy_of[item])
        magnitude_all += 2.0 * square[item]
        for j in range(d):
            farthest = max(farthest, abs(lower[item, j]), abs(upper[item, j]))
    for g in range(N):
        magnitude_all += abs(cost[g])
    for trio in range(M):
        magnitude_all += 2.0 * trios.price[trio]
    a = max(place.a, forced.weight)
    b = min(place.b, possible)
    if a > b:
        return np.inf, best_value, 0, True, record[:entries]
    single = a <= 1 and forced.weight == 0
    if single:
        # Sets of one group are looked at one by one, so that from here on a group may always leave a set.
        for item in range(weight.shape[0]):
            w = weight[item]
            if cells.children[item] > 0 or not a <= w <= b:
                continue
            value = summed[item] + entropy[int(w)]
            heavy = 0.0
            for j in range(d):
                x = lower[item, j]
                m = mass_of(mass, item, j)
                heavy = max(heavy, m)
                full = m + gamma[j]
                mean = (m * x + gamma[j] * place.prior_mean[j]) / full if full > 0 else 0.0
                mean = min(max(mean, place.lo[j]), place.hi[j])
                value += 0.5 * m * (x - mean) ** 2 + 0.5 * gamma[j] * (mean - place.prior_mean[j]) ** 2
            size = abs(value) + abs(summed[item]) + abs(entropy[int(w)]) + heavy * farthest**2
            value -= (2.0 * d + 64.0) * EPS * size
            leaf_bound = min(leaf_bound, value)
            best_value = min(best_value, value)
        a = 2.0
        if a > b:
            proved = min(leaf_bound, goal.threshold, best_value - goal.tolerance)
            return proved, best_value, 0, True, record[:entries]
    parts, part_entry, record, entries = parts_of_sizes(place, a, b, heaviest, single, record)
    top = 0
    for part in range(3):
        from_size, to_size = parts[part]
        if from_size > to_size:
            continue
        stack_entry[top] = part_entry[part]
        for j in range(d):
            stack_lo[top, j] = place.lo[j]
            stack_hi[top, j] = place.hi[j]
            stack_total[top, j] = gamma[j] * place.prior_mean[j] + forced.total[j]
        stack_mass[top] = forced.mass[0]
        stack_a[top] = from_size
        stack_b[top] = to_size
        stack_bound[top] = -np.inf
        stack_len[top] = length
        stack_end[top] = length
        stack_inside[top] = 0
        stack_outside[top] = trios.missing
        stack_sure[top] = False
        stack_weight[top] = forced.weight
        stack_constant[top] = base + forced.constant
        top += 1
    summands = N + forced.groups + M + trios.of.shape[0]
    rounding = 4.0 * (summands + 16) * EPS
    nodes = 0
    complete = True
    while top > 0:
        top -= 1
        bound = stack_bound[top]
        cut = min(goal.threshold, best_value - goal.tolerance)
        if bound >= cut:
            leaf_bound = min(leaf_bound, bound)
            continue
        if nodes >= goal.node_limit or goal.stop[0]:
            complete = False
            leaf_bound = min(leaf_bound, bound)
            continue
        nodes += 1
        entry = stack_entry[top]
        for j in range(d):
            box_lo[j] = stack_lo[top, j]
            box_hi[j] = stack_hi[top, j]
            sure_total[j] = stack_total[top, j]
        sure_mass[0] = stack_mass[top]
        inside[:] = stack_inside[top]
        outside[:] = stack_outside[top]
        sure[:] = stack_sure[top]
        a = stack_a[top]
        b = stack_b[top]
        sure_weight = stack_weight[top]
        sure_constant = stack_constant[top]
        length = stack_len[top]
        free_from = stack_end[top]
        for p in range(length):
            here[p] = arena[stack_from[top] + p]
        closed = False
        alpha = 0.0
        beta = 0.0
        for _ in range(4):
            # cells that vary too much are replaced, those that exchange arguments settle leave the list
            ia = int(a)
            ib = int(b)
            kept = 0
            undecided = 0.0
            for p in range(length):
                pending[0] = here[p]
                waiting = 1
                while waiting > 0:
                    waiting -= 1
                    item = pending[waiting]
                    near = 0.0
                    far = 0.0
                    for j in range(d):
                        below = box_lo[j] - upper[item, j]
                        above = lower[item, j] - box_hi[j]
                        out = max(below, above, 0.0)
                        near += own_mass(least_mass, item, j) * (out * out)
                        reach = max(box_hi[j] - lower[item, j], upper[item, j] - box_lo[j])
                        far += own_mass(most_mass, item, j) * (reach * reach)
                    w = light_of[item]
                    low = 0.5 * shared_mass(least_mass, item) * near + least[item]
                    high = 0.5 * shared_mass(most_mass, item) * far + most[item]
                    several = cells.children[item] > 0
                    most_due = 0.0
                    least_due = 0.0
                    if tied[item] and not several:
                        most_due, least_due, _ = joining(trios, cells.group[item], inside, outside)
                    if concave and partner[item] == -1 and w == heavy_of[item]:
                        iw = int(w)
                        if (size_upper >= n or b + w <= size_upper) and ia + iw <= n:
                            step = entropy[ia + iw] - entropy[ia]
                            size = 1.0 + abs(high) + abs(most[item]) + abs(entropy[ia]) + most_due
                            if high + step + most_due < -SLACK * size and not (several and tied[item]):
                                if tied[item]:
                                    sure_constant += joins(trios, cells.group[item], inside)
                                    sure[trios.place[cells.group[item]]] = True
                                sure_weight += weight[item]
                                add_mass(sure_mass, 0, 1.0, mass, item)
                                for j in range(d):
                                    sure_total[j] += sums[item, j]
                                sure_constant += square[item] + summed[item]
                                continue
                        if a - w >= max(size_lower, 1.0):
                            step = entropy[ib] - entropy[ib - iw]
                            size = 1.0 + abs(low) + abs(least[item]) + abs(entropy[ib]) + least_due
                            if low + step + least_due > SLACK * size:
                                if tied[item] and not several:
                                    stays_out(trios, cells.group[item], outside)
                                continue
                    if several:
                        by_cell = most[item] - least[item]  # how much costs vary through the cell's extent,
                        by_box = 0.0  # and through that of the box
                        for j in range(d):
                            heavy = mass_of(most_mass, item, j)
                            by_cell += (heavy - mass_of(least_mass, item, j)) * farthest**2
                            reach = max(box_hi[j] - lower[item, j], upper[item, j] - box_lo[j])
                            by_cell += heavy * reach * (upper[item, j] - lower[item, j])
                            by_box += heavy * reach * (box_hi[j] - box_lo[j])
                        if by_cell > 0.5 * by_box or tied[item]:
                            for i in range(cells.children[item]):
                                pending[waiting] = cells.child[item] + i
                                waiting += 1
                            continue
                    there[kept] = item
                    slot[item] = kept
                    low_q[kept] = low
                    high_q[kept] = high
                    kept += 1
                    undecided += weight[item]
            here, there = there, here
            length = kept
            old_width = b - a
            a = max(a, sure_weight)
            b = min(b, sure_weight + undecided)
            if a > b:
                closed = True
                bound = np.inf
                break
            alpha, beta = chord(entropy, concave, a, b)
            constant = sure_constant + alpha + beta * sure_weight
            magnitude = magnitude_all + abs(alpha) + abs(beta) * b
            quad[0] = sure_mass[0]
            for j in range(d):
                total[j] = sure_total[j]
            for p in range(length if M > 0 else 0):
                # only now, when it is known who else is in
                shared[p] = 0.0
                if tied[here[p]]:
                    _, _, shared[p] = joining(trios, cells.group[here[p]], inside, outside)
                    low_q[p] += shared[p]
                    high_q[p] += shared[p]
            for p in range(length):
                item = here[p]
                theta_of[p] = -1.0
                s = low_q[p] + (light_of[item] if beta > 0 else heavy_of[item]) * beta
                if s >= 0:
                    continue
                t = high_q[p] + (heavy_of[item] if beta > 0 else light_of[item]) * beta
                ceiling = 0.0
                mate = partner[item]
                if mate >= 0 and slot[mate] < length and here[slot[mate]] == mate:
                    s_mate = low_q[slot[mate]] + weight[mate] * beta
                    if s_mate < s or (s_mate == s and mate < item):
                        continue  # the mate stands for the pair
                    ceiling = min(0.0, s_mate)
                theta = 1.0
                if t > ceiling:
                    theta = max(0.0, (ceiling - s) / (t - s)) * (1.0 - SLACK)
                theta_of[p] = theta
                add_mass(quad, 0, theta, mass, item)
                for j in range(d):
                    total[j] += theta * sums[item, j]
                floor = (1.0 - theta) * cells.members[item] * s
                constant += theta * (square[item] + summed[item] + weight[item] * beta + shared[p]) + floor
                magnitude += abs(floor)
            value, size = minimise(quad, total, gamma, box_lo, box_hi, bar, at)
            value += constant - (2.0 * summands + 64.0) * EPS * (magnitude + size)
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
            leaf_bound = min(leaf_bound, bound)
            continue
        # A set to offer: everything with negative cost at the minimiser.
        quad[0] = sure_mass[0]
        for j in range(d):
            share[j] = 0.0
            total[j] = sure_total[j]
        size = sure_weight
        constant = sure_constant
        taken[:] = inside
        chosen[:] = sure
        for p in range(length):
            item = here[p]
            norm = 0.0
            for j in range(d):
                norm += own_mass(mass, item, j) * (0.5 * at[j] ** 2)
            worth[p] = shared_mass(mass, item) * norm + weight[item] * beta + square[item] + summed[item]
            worth[p] += shared[p]
            for j in range(d):
                worth[p] -= sums[item, j] * at[j]
            if worth[p] < 0:
                if tied[item]:
                    joins(trios, cells.group[item], taken)
                    chosen[trios.place[cells.group[item]]] = True
                size += weight[item]
                constant += square[item] + summed[item]
                add_mass(quad, 0, 1.0, mass, item)
                for j in range(d):
                    total[j] += sums[item, j]
        admissible = size_lower <= size <= size_upper and size > 0
        for trio in range(M):
            if inside[trio] < 2 <= taken[trio]:
                constant += trios.price[trio]
        # Where does the bound lose most?
        worst = -1
        worst_loss = 0.0
        for p in range(length):
            item = here[p]
            theta = theta_of[p]
            if cells.children[item] == 0 and worst < 0:
                worst = p
            if theta < 0:
                continue
            s = low_q[p] + (light_of[item] if beta > 0 else heavy_of[item]) * beta
            truth = min(worth[p], 0.0)
            mate = partner[item]
            if mate >= 0 and slot[mate] < length and here[slot[mate]] == mate:
                admissible = admissible and not (worth[p] < 0 and worth[slot[mate]] < 0)
                truth = min(truth, worth[slot[mate]])
            loss = truth - (theta * worth[p] + (1.0 - theta) * cells.members[item] * s)
            alone = loss  # what it is worth to know whether this one is in: no smaller box tells who pays for trios
            if tied[item] and worth[p] < 0:
                alone += owed(trios, cells.group[item], inside, taken)
            if alone > worst_loss and cells.children[item] == 0:
                worst_loss = alone
                worst = p
            if loss <= 0:
                continue
            spread = 0.0
            for j in range(d):
                bar[j] = variation(0.5 * (lower[item, j] + upper[item, j]), box_lo[j], box_hi[j])
                bar[j] *= mass_of(mass, item, j)
                spread += bar[j]
            for j in range(d if spread > 0 else 0):
                share[j] += loss * bar[j] / spread
        if admissible:
            # The bound need not go above the cost of any set.
            value = constant + entropy[int(size + 0.5)]
            for j in range(d):
                full = mass_of(quad, 0, j) + gamma[j]
                mean = min(max(total[j] / full if full > 0 else 0.0, place.lo[j]), place.hi[j])
                value += 0.5 * full * mean * mean - total[j] * mean
            best_value = min(best_value, value)
            if value < goal.threshold:
                keep_cheap(offers, value, at, beta, chosen)
        m = int(min(max(round(size), a), b))
        share[d] = entropy[m] - alpha - beta * m
        split = widest_loss(share, box_lo, box_hi, at)
        largest = share[split] if split >= 0 else 0.0
        if b > a and (share[d] > largest or split < 0):
            split = d
            largest = share[d]
        if worst >= 0 and (worst_loss > 0.5 * largest or split < 0):
            split = GROUP  # the loss sits in one group: settle whether it is in
        if split == -1 or top + 2 > STACK:
            # Where nothing is open, one set is left, and this is its cost up to rounding.
            complete = complete and split == -1 and length == 0
            leaf_bound = min(leaf_bound, bound)
            continue
        cutting = 0.0
        below_first = (
            1  # which child, in the order in which they are pushed, is below the cut, or has the group
        )
        code = split
        without_mate = length - 1
        if split == GROUP:
            # The group, and its mate before it, go to the end of the list, where children can leave them out.
            item = here[worst]
            mate = partner[item]
            code = d + 1 + cells.group[item]
            here[worst] = here[length - 1]
            here[length - 1] = item
            for p in range(length - 1):
                if mate >= 0 and here[p] == mate:
                    without_mate = length - 2
                    here[p] = here[without_mate]
                    here[without_mate] = mate
                    break
        elif split == d:
            cutting, below_first = cut_size(m, a, b)
        else:
            cutting, below_first = cut_interval(at[split], box_lo[split], box_hi[split], goal.recording)
        if free_from + length > arena.shape[0]:
            grown = np.empty(2 * arena.shape[0] + length, dtype=np.int64)
            grown[:free_from] = arena[:free_from]
            arena = grown
        for p in range(length):
            arena[free_from + p] = here[p]
        record = record_split(record, entry, code, cutting, entries)
        for child in range(2):
            # the second child is explored first; make that the one around the minimiser
            for j in range(d):
                stack_lo[top, j] = box_lo[j]
                stack_hi[top, j] = box_hi[j]
                stack_total[top, j] = sure_total[j]
            stack_mass[top] = sure_mass[0]
            stack_a[top] = a
            stack_b[top] = b
            stack_bound[top] = bound
            stack_from[top] = free_from
            stack_len[top] = length
            stack_end[top] = free_from + length
            stack_weight[top] = sure_weight
            stack_constant[top] = sure_constant
            stack_inside[top] = inside
            stack_outside[top] = outside
            stack_sure[top] = sure
            first_half = child == below_first
            stack_entry[top] = entries + (0 if first_half else 1)
            if split == GROUP and not first_half:
                stack_len[top] = length - 1
                stays_out(trios, cells.group[item], stack_outside[top])
            elif split == GROUP:
                if tied[item]:
                    stack_constant[top] += joins(trios, cells.group[item], stack_inside[top])
                    stack_sure[top, trios.place[cells.group[item]]] = True
                stack_len[top] = without_mate
                stack_weight[top] += weight[item]
                add_mass(stack_mass, top, 1.0, mass, item)
                for j in range(d):
                    stack_total[top, j] += sums[item, j]
                stack_constant[top] += square[item] + summed[item]
            elif split == d:
                if first_half:
                    stack_b[top] = cutting
                else:
                    stack_a[top] = cutting + 1.0
            elif first_half:
                stack_hi[top, split] = cutting
            else:
                stack_lo[top, split] = cutting
            top += 1
        entries += 2
    # Boxes were cut against the threshold, so no more than that is proved of what was cut away.
    proved = min(leaf_bound, goal.threshold, best_value - goal.tolerance)
    return proved, best_value, nodes, complete, record[:entries]
