r"""Exact pricing over the cells of a kd-tree: a node costs as much as the boundary of its set.

The same search as :mod:`certmix.kernels.pricing`, for many groups. A cell stands for all its groups: it knows
their box, weight, weighted sum and sum of squares, and the range of their constant costs. Over a box of means the
costs of its groups lie in an interval [s, t]; if a rule settles the whole cell it joins the sums or leaves the
list, otherwise one theta serves all its groups:

    sum_g min(0, q_g) >= theta sum_g q_g + (1 - theta) m s,      theta = -s / (t - s),  m groups,

a quadratic that the cell's sums give at once. A cell over which the costs vary more than over the box of means is
replaced by its children, a small leaf by its groups. Pairs that may not be together are not looked at here, which
only weakens the bound.
"""

from __future__ import annotations

from typing import NamedTuple

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
from certmix.kernels.splitting import variation
from certmix.rounding import EPS

LEAF = 8
STACK = 4096


class Tree(NamedTuple):
    """A kd-tree over the groups of one coordinate system; cell 0 is the root, children come in pairs."""

    order: np.ndarray  # (N,) groups, those of a cell side by side
    start: np.ndarray  # (M,)
    end: np.ndarray
    child: np.ndarray  # (M,) the first of two children, -1 for a leaf
    lower: np.ndarray  # (M, d) box of the groups
    upper: np.ndarray
    weight: np.ndarray  # (M,)
    lightest: np.ndarray
    heaviest: np.ndarray
    total: np.ndarray  # (M, d) weighted sum
    square: np.ndarray  # (M,) half the weighted sum of squares


@njit()
def build_tree(points, weight):
    """A balanced kd-tree: every cell is cut at the median of its widest coordinate."""
    N, d = points.shape
    most = 4 * (N // LEAF + 2)
    order = np.arange(N)
    start = np.zeros(most, dtype=np.int64)
    end = np.zeros(most, dtype=np.int64)
    child = np.full(most, -1, dtype=np.int64)
    lower = np.empty((most, d))
    upper = np.empty((most, d))
    mass = np.zeros(most)
    lightest = np.full(most, np.inf)
    heaviest = np.zeros(most)
    total = np.zeros((most, d))
    square = np.zeros(most)
    end[0] = N
    cells = 1
    at = 0
    while at < cells:
        first, last = start[at], end[at]
        for j in range(d):
            lower[at, j] = np.inf
            upper[at, j] = -np.inf
        for p in range(first, last):
            g = order[p]
            mass[at] += weight[g]
            lightest[at] = min(lightest[at], weight[g])
            heaviest[at] = max(heaviest[at], weight[g])
            for j in range(d):
                x = points[g, j]
                lower[at, j] = min(lower[at, j], x)
                upper[at, j] = max(upper[at, j], x)
                total[at, j] += weight[g] * x
                square[at] += 0.5 * weight[g] * x * x
        if last - first > LEAF:
            widest = 0
            for j in range(1, d):
                if upper[at, j] - lower[at, j] > upper[at, widest] - lower[at, widest]:
                    widest = j
            piece = order[first:last].copy()
            ranked = np.argsort(points[piece, widest], kind="mergesort")
            for p in range(last - first):
                order[first + p] = piece[ranked[p]]
            middle = (first + last) // 2
            child[at] = cells
            start[cells], end[cells] = first, middle
            start[cells + 1], end[cells + 1] = middle, last
            cells += 2
        at += 1
    return Tree(
        order,
        start[:cells].copy(),
        end[:cells].copy(),
        child[:cells].copy(),
        lower[:cells].copy(),
        upper[:cells].copy(),
        mass[:cells].copy(),
        lightest[:cells].copy(),
        heaviest[:cells].copy(),
        total[:cells].copy(),
        square[:cells].copy(),
    )


@njit()
def cell_costs(tree, cost):
    """Sum, smallest and largest constant cost of every cell's groups."""
    cells = tree.start.shape[0]
    summed = np.zeros(cells)
    least = np.empty(cells)
    most = np.empty(cells)
    for c in range(cells - 1, -1, -1):
        if tree.child[c] >= 0:
            a = tree.child[c]
            summed[c] = summed[a] + summed[a + 1]
            least[c] = min(least[a], least[a + 1])
            most[c] = max(most[a], most[a + 1])
        else:
            least[c] = np.inf
            most[c] = -np.inf
            for p in range(tree.start[c], tree.end[c]):
                value = cost[tree.order[p]]
                summed[c] += value
                least[c] = min(least[c], value)
                most[c] = max(most[c], value)
    return summed, least, most


@njit(nogil=True)
def price_cells(tree, place, forced, goal, offers):
    """Lower bound on the smallest reduced cost over sets of groups: ``(bound, best value, nodes, complete, record)``.

    The groups of the place, over which the tree is, are free to be in or out; what must be in comes as sums. The rest
    is as in :func:`certmix.kernels.pricing.price`.
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
    forced_weight, forced_total, forced_constant = forced.weight, forced.total, forced.constant
    best_value = goal.start
    threshold, tolerance, recording = goal.threshold, goal.tolerance, goal.recording
    N, d = points.shape
    n = entropy.shape[0] - 1
    summed, least, most = cell_costs(tree, cost)
    cut = min(threshold, best_value - tolerance)
    capacity = 1 << 16
    arena = np.empty(capacity, dtype=np.int64)  # a cell, or -1 - group
    low_q = np.empty(capacity)  # per group of the item
    high_q = np.empty(capacity)
    stack_lo = np.empty((STACK, d))
    stack_hi = np.empty((STACK, d))
    stack_a = np.empty(STACK)
    stack_b = np.empty(STACK)
    stack_bound = np.empty(STACK)
    stack_from = np.empty(STACK, dtype=np.int64)
    stack_len = np.empty(STACK, dtype=np.int64)
    stack_weight = np.empty(STACK)
    stack_total = np.empty((STACK, d))
    stack_constant = np.empty(STACK)
    stack_entry = np.zeros(STACK, dtype=np.int64)
    record = new_record(recording)
    entries = 1
    pending = np.empty(4096, dtype=np.int64)
    total = np.empty(d)
    sure_total = np.empty(d)
    bar = np.empty(d)
    at = np.empty(d)
    box_lo = np.empty(d)
    box_hi = np.empty(d)
    item_lo = np.empty(d)
    item_hi = np.empty(d)
    item_total = np.empty(d)
    share = np.empty(d + 1)
    for i in range(offers.value.shape[0]):
        offers.value[i] = np.inf
    leaf_bound = np.inf
    farthest = 1.0
    base = 0.0
    magnitude_all = 2.0 * tree.square[0]
    for g in range(N):
        magnitude_all += abs(cost[g])
    for j in range(d):
        base += 0.5 * gamma[j] * prior_mean[j] ** 2
        farthest = max(
            farthest, abs(tree.lower[0, j]), abs(tree.upper[0, j]), abs(prior_mean[j]) * (gamma[j] > 0)
        )
    magnitude_all += base + abs(forced_constant)
    a = max(a, forced_weight)
    b = min(b, forced_weight + tree.weight[0])
    if a > b:
        return np.inf, best_value, 0, True, finished(record, entries)
    single = False
    if a <= 1.0 and forced_weight == 0:
        # Sets of one group are looked at one by one, so that from here on a group may always leave a set.
        for g in range(N):
            if not a <= weight[g] <= b:
                continue
            value = cost[g] + entropy[int(weight[g])]
            for j in range(d):
                full = weight[g] + gamma[j]
                mean = (weight[g] * points[g, j] + gamma[j] * prior_mean[j]) / full
                mean = min(max(mean, lo[j]), hi[j])
                value += (
                    0.5 * weight[g] * (points[g, j] - mean) ** 2
                    + 0.5 * gamma[j] * (mean - prior_mean[j]) ** 2
                )
            leaf_bound = min(
                leaf_bound, value - (2.0 * d + 64.0) * EPS * (abs(value) + abs(cost[g]) + farthest**2)
            )
        a = 2.0
        single = True
        if a > b:
            return min(leaf_bound, cut), best_value, 0, True, finished(record, entries)
    arena[0] = 0
    parts, part_entry, record, entries = parts_of_sizes(place, a, b, tree.heaviest[0], single, record)
    top = 0
    for part in range(3):
        from_size, to_size = parts[part]
        if from_size > to_size:
            continue
        stack_entry[top] = part_entry[part]
        for j in range(d):
            stack_lo[top, j] = lo[j]
            stack_hi[top, j] = hi[j]
            stack_total[top, j] = gamma[j] * prior_mean[j] + forced_total[j]
        stack_a[top] = from_size
        stack_b[top] = to_size
        stack_bound[top] = -np.inf
        stack_from[top] = 0
        stack_len[top] = 1
        stack_weight[top] = forced_weight
        stack_constant[top] = base + forced_constant
        top += 1
    rounding = 4.0 * (N + 16) * EPS
    nodes = 0
    complete = True
    while top > 0:
        top -= 1
        bound = stack_bound[top]
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
        a = stack_a[top]
        b = stack_b[top]
        sure_weight = stack_weight[top]
        sure_constant = stack_constant[top]
        first = stack_from[top]
        length = stack_len[top]
        mine = first + length
        closed = False
        alpha = 0.0
        beta = 0.0
        for sweep in range(4):
            ia = int(a)
            ib = int(b)
            kept = 0
            undecided = 0.0
            for p in range(length):
                pending[0] = arena[first + p]
                waiting = 1
                while waiting > 0:
                    waiting -= 1
                    item = pending[waiting]
                    near = 0.0
                    far = 0.0
                    if item >= 0:
                        for j in range(d):
                            item_lo[j] = tree.lower[item, j]
                            item_hi[j] = tree.upper[item, j]
                        light, heavy = tree.lightest[item], tree.heaviest[item]
                        cheap, dear = least[item], most[item]
                        mass = tree.weight[item]
                    else:
                        g = -1 - item
                        for j in range(d):
                            item_lo[j] = points[g, j]
                            item_hi[j] = points[g, j]
                        light = heavy = mass = weight[g]
                        cheap = dear = cost[g]
                    by_cell = (
                        dear - cheap
                    )  # how much the costs vary through the cell's extent, and through the box's
                    by_box = 0.0
                    for j in range(d):
                        gap = max(box_lo[j] - item_hi[j], item_lo[j] - box_hi[j], 0.0)
                        near += gap * gap
                        reach = max(box_hi[j] - item_lo[j], item_hi[j] - box_lo[j])
                        far += reach * reach
                        by_cell += reach * (item_hi[j] - item_lo[j])
                        by_box += reach * (box_hi[j] - box_lo[j])
                    low = 0.5 * light * near + cheap
                    high = 0.5 * heavy * far + dear
                    settled = 0
                    if concave and light == heavy:
                        iw = int(light)
                        if (size_upper >= n or b + light <= size_upper) and ia + iw <= n:
                            step = entropy[ia + iw] - entropy[ia]
                            if high + step < -SLACK * (1.0 + abs(high) + abs(dear) + abs(entropy[ia])):
                                settled = 1
                        if settled == 0 and a - light >= max(size_lower, 1.0):
                            step = entropy[ib] - entropy[ib - iw]
                            if low + step > SLACK * (1.0 + abs(low) + abs(cheap) + abs(entropy[ib])):
                                settled = -1
                    if settled == -1:
                        continue
                    if settled == 1:
                        sure_weight += mass
                        if item >= 0:
                            for j in range(d):
                                sure_total[j] += tree.total[item, j]
                            sure_constant += tree.square[item] + summed[item]
                        else:
                            square = 0.0
                            for j in range(d):
                                sure_total[j] += mass * points[g, j]
                                square += points[g, j] ** 2
                            sure_constant += 0.5 * mass * square + cost[g]
                        continue
                    if item >= 0 and by_cell > 0.5 * by_box:
                        if tree.child[item] >= 0:
                            pending[waiting] = tree.child[item]
                            pending[waiting + 1] = tree.child[item] + 1
                            waiting += 2
                        else:
                            for q in range(tree.start[item], tree.end[item]):
                                pending[waiting] = -1 - tree.order[q]
                                waiting += 1
                        continue
                    # Splitting makes the list grow, so a second sweep writes behind the list it reads.
                    where = mine + kept if sweep == 0 else mine + length + kept
                    if where + 2 >= arena.shape[0]:
                        bigger = np.empty(2 * arena.shape[0], dtype=np.int64)
                        bigger[: arena.shape[0]] = arena
                        arena = bigger
                        bigger_low = np.empty(2 * low_q.shape[0])
                        bigger_low[: low_q.shape[0]] = low_q
                        low_q = bigger_low
                        bigger_high = np.empty(2 * high_q.shape[0])
                        bigger_high[: high_q.shape[0]] = high_q
                        high_q = bigger_high
                    arena[where] = item
                    low_q[where] = low
                    high_q[where] = high
                    kept += 1
                    undecided += mass
            if sweep == 0:
                first = mine
            else:
                # bring the new list to the front of this node's space
                for p in range(kept):
                    arena[mine + p] = arena[mine + length + p]
                    low_q[mine + p] = low_q[mine + length + p]
                    high_q[mine + p] = high_q[mine + length + p]
                first = mine
            length = kept
            old_width = b - a
            a = max(a, sure_weight)
            b = min(b, sure_weight + undecided)
            if a > b:
                closed = True
                bound = np.inf
                break
            alpha, beta = chord(entropy, concave, a, b)
            quad = sure_weight
            constant = sure_constant + alpha + beta * sure_weight
            magnitude = magnitude_all + abs(alpha) + abs(beta) * b
            for j in range(d):
                total[j] = sure_total[j]
            for p in range(length):
                item = arena[first + p]
                if item >= 0:
                    light, heavy, mass = tree.lightest[item], tree.heaviest[item], tree.weight[item]
                    count = float(tree.end[item] - tree.start[item])
                    fixed = tree.square[item] + summed[item]
                else:
                    g = -1 - item
                    light = heavy = mass = weight[g]
                    count = 1.0
                    fixed = cost[g]
                    for j in range(d):
                        fixed += 0.5 * mass * points[g, j] ** 2
                s = low_q[first + p] + (light if beta > 0 else heavy) * beta
                if s >= 0:
                    continue
                t = high_q[first + p] + (heavy if beta > 0 else light) * beta
                theta = 1.0
                if t > 0:
                    theta = -s / (t - s) * (1.0 - SLACK)
                for j in range(d):
                    total[j] += theta * (tree.total[item, j] if item >= 0 else mass * points[g, j])
                quad += theta * mass
                constant += theta * (fixed + mass * beta) + (1.0 - theta) * count * s
                magnitude += (1.0 - theta) * count * abs(s)
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
            leaf_bound = min(leaf_bound, bound)
            continue
        for j in range(d + 1):
            share[j] = 0.0
            if j < d:
                total[j] = sure_total[j]
        size = sure_weight
        constant = sure_constant
        for p in range(length):
            item = arena[first + p]
            if item >= 0:
                light, heavy, mass = tree.lightest[item], tree.heaviest[item], tree.weight[item]
                count = float(tree.end[item] - tree.start[item])
                for j in range(d):
                    item_total[j] = tree.total[item, j] / mass
            else:
                g = -1 - item
                light = heavy = mass = weight[g]
                count = 1.0
                for j in range(d):
                    item_total[j] = points[g, j]
            s = low_q[first + p] + (light if beta > 0 else heavy) * beta
            t = high_q[first + p] + (heavy if beta > 0 else light) * beta
            if s >= 0:
                continue
            apart = 0.0
            for j in range(d):
                apart += (item_total[j] - at[j]) ** 2
            if mass * (0.5 * apart + beta) + (summed[item] if item >= 0 else cost[g]) < 0:
                size += mass
                constant += summed[item] + tree.square[item] if item >= 0 else cost[g]
                for j in range(d):
                    total[j] += mass * item_total[j]
                    if item < 0:
                        constant += 0.5 * mass * item_total[j] ** 2
            if t <= 0:
                continue
            loss = count * (-s) * t / (t - s)
            spread = 0.0
            for j in range(d):
                spread += variation(item_total[j], box_lo[j], box_hi[j])
            if spread > 0:
                for j in range(d):
                    share[j] += loss * variation(item_total[j], box_lo[j], box_hi[j]) / spread
        if size_lower <= size <= size_upper and size > 0:
            # What seems to be in at the minimiser is a set like any other: the bound need not go above its cost.
            value = constant + entropy[int(size + 0.5)]
            for j in range(d):
                full = size + gamma[j]
                mean = min(max(total[j] / full, lo[j]), hi[j])
                value += 0.5 * full * mean * mean - total[j] * mean
            if value < best_value:
                best_value = value
                cut = min(threshold, best_value - tolerance)
            keep_cheap(offers, value, at, beta)
        m = int(min(max(round(size), a), b))
        share[d] = entropy[m] - alpha - beta * m
        split = widest_loss(share, box_lo, box_hi, at)
        largest = share[split] if split >= 0 else 0.0
        if b > a and (share[d] > largest or split < 0):
            split = d
        if split < 0 or top + 2 > STACK:
            complete = False  # nothing to split but memberships, which this search leaves open
            leaf_bound = min(leaf_bound, bound)
            continue
        if split == d:
            cutting, below = cut_size(m, a, b)
        else:
            cutting, below = cut_interval(at[split], box_lo[split], box_hi[split], recording)
        record = record_split(record, entry, split, cutting, entries)
        for half in range(2):
            for j in range(d):
                stack_lo[top, j] = box_lo[j]
                stack_hi[top, j] = box_hi[j]
                stack_total[top, j] = sure_total[j]
            stack_a[top] = a
            stack_b[top] = b
            stack_bound[top] = bound
            stack_from[top] = first
            stack_len[top] = length
            stack_weight[top] = sure_weight
            stack_constant[top] = sure_constant
            stack_entry[top] = entries + (0 if half == below else 1)
            if split == d:
                if half == below:
                    stack_b[top] = cutting
                else:
                    stack_a[top] = cutting + 1.0
            elif half == below:
                stack_hi[top, split] = cutting
            else:
                stack_lo[top, split] = cutting
            top += 1
        entries += 2
    return min(leaf_bound, cut), best_value, nodes, complete, finished(record, entries)
