"""Sweeps over all groups: the classification step, classification EM, and single moves by their exact change.

With many components most groups have nothing to look at. A group looks at components that have changed since it last
did, at all of them if its own has; and of these only at those within its reach, by the triangle inequality:

    cost in t  >=  floor_t + factor_t max(0, |centre_k - centre_t| - reach_k)^2  >=  loss_k  >=  cost in k

where every group of k lies within ``reach_k`` of the centre and costs at most ``loss_k`` where it is. An infinite reach
says that nothing is known: then every component is looked at.
"""

from __future__ import annotations

import numpy as np

from certmix.kernels.clustering import accumulate, exchanged, moment, parameters, square
from certmix.kernels.compiled import njit
from certmix.kernels.looking import look_at
from certmix.kernels.moves import TOLERANCE, fits, shift, tallied

REACH, LOSS, FLOOR, FACTOR = 0, 1, 2, 3  # what stands where in the table of a sweep
HOPELESS = 15.0  # times what the last sweep brought: of what lacks more than that, little comes


@njit()
def within_reach(look, centre, active, table, near):
    """Targets for the groups of every component: ``near[k, 1:near[k, 0] + 1]``. Those with targets are opened."""
    K, d = centre.shape
    changed = np.flatnonzero(active)
    for k in range(K):
        found = 0
        for i in range(K if active[k] else changed.shape[0]):
            target = i if active[k] else changed[i]
            if target == k:
                continue
            apart = 0.0
            for j in range(d):
                apart += (centre[k, j] - centre[target, j]) ** 2
            out = max(0.0, np.sqrt(apart) - table[REACH, k])
            if table[FLOOR, target] + table[FACTOR, target] * out * out < table[LOSS, k]:
                found += 1
                near[k, found] = target
        near[k, 0] = found
        if found > 0:
            look_at(look, k)


@njit()
def farthest(model, state, centre, active, reach):
    """How far the groups of every component reach from its centre. Those that have changed are opened."""
    points, label, look = model.points, state.label, state.look
    known = points.shape[0] == 1 and model.counted
    for k in range(centre.shape[0]):
        if active[k]:
            look_at(look, k)
        reach[k] = (0.0 if look.opened[k] else look.reach[k]) if known else np.inf
    if known:
        for p in range(look.looked[0]):
            k = label[look.groups[p]]
            reach[k] = max(reach[k], square(points, 0, look.groups[p], centre, k))
        for k in range(centre.shape[0]):
            if look.opened[k]:
                reach[k] = np.sqrt(reach[k])


@njit()
def reassign(model, state, mean, price, steps, active, near):
    """Classification steps for fixed means and prices, group by group, keeping every constraint.

    ``active`` says which components are not as they were at the last step. Where nothing binds this is the exact step.
    Returns the number of groups that moved; the centres of the state are left as they were, sizes and tallies are kept
    up.
    """
    points, scatter, weight, allowed = model.points, model.scatter, model.weight, model.allowed
    label, size, limits, mass, look = state.label, state.size, model.limits, model.mass, state.look
    K = mean.shape[0]
    own = points.shape[0] > 1
    table = np.empty((4, K))
    changed = 0
    for _ in range(steps):
        farthest(model, state, mean, active, table[REACH])
        for k in range(K):
            table[LOSS, k] = 0.5 * table[REACH, k] ** 2 + price[k]
            table[FLOOR, k] = price[k]
            table[FACTOR, k] = 0.5
        within_reach(look, mean, active, table, near)
        p = -1
        while p + 1 < look.looked[0]:  # there may be more of them as groups move
            p += 1
            g = look.groups[p]
            k = label[g]
            w = weight[g]
            if near[k, 0] == 0 or size[k] - w < limits[0, k]:
                continue
            c = k if own else 0
            least = 0.5 * moment(points, mass, c, g, mean, k) + w * price[k] + scatter[c, g]
            least -= TOLERANCE * (1.0 + abs(least))
            best = k
            for i in range(1, near[k, 0] + 1):
                target = near[k, i]
                c = target if own else 0
                cost = 0.5 * moment(points, mass, c, g, mean, target) + w * price[target] + scatter[c, g]
                if cost < least and allowed[g, target] and fits(model, state, g, k, target):
                    least = cost
                    best = target
            if best != k:
                size[k] -= w
                size[best] += w
                label[g] = best
                look_at(look, best)
                changed += 1
                if model.coupled:
                    tallied(model, state, g, k, best)
    return changed


@njit()
def compared(mean, price, before, active):
    """Which components have other means or prices than before; these are remembered."""
    K, d = mean.shape
    for k in range(K):
        active[k] = price[k] != before[k, d]
        before[k, d] = price[k]
        for j in range(d):
            active[k] = active[k] or mean[k, j] != before[k, j]
            before[k, j] = mean[k, j]


@njit(inline="always")
def lloyd(model, state, mean, price, passes, before):
    """Classification EM from the state's labels; returns the number of passes used.

    ``before`` are means and prices for which every group that still costs the same in its own component is in its
    best one; not a number where nothing is known.
    """
    used = 0
    changed = 1
    K = mean.shape[0]
    active = np.empty(K, dtype=np.bool_)
    near = np.empty((K, K + 1), dtype=np.int32)
    while changed and used < passes and not model.stop[0]:
        accumulate(model, state)
        parameters(model, state, mean, price)
        compared(mean, price, before, active)
        changed = reassign(model, state, mean, price, 1, active, near)
        used += 1
    return used


@njit()
def hartigan(model, state, sweeps, active, short):
    """Move single groups while that lowers the cost, by the exact change. Returns the number of moves.

    ``active`` are the components that have changed since no single move was worth it; it is changed. ``short`` is how
    much the cost has to fall to be of use, below zero where any fall is: when sweeps bring too little, they end.
    """
    points, scatter, weight, entropy = model.points, model.scatter, model.weight, model.entropy
    region, penalty, plain = model.region, model.penalty, model.plain
    allowed, limits = model.allowed, model.limits
    label, size, centre, mass, load = state.label, state.size, state.centre, model.mass, state.load
    look = state.look
    K = size.shape[0]
    own = points.shape[0] > 1
    table = np.empty((4, K))
    near = np.empty((K, K + 1), dtype=np.int32)
    alike = plain and not own
    for g in range(weight.shape[0]):
        alike = alike and weight[g] == weight[0]
    moves = 0
    for _ in range(sweeps):
        if model.stop[0]:
            break
        accumulate(model, state)  # running statistics drift
        single_moves(model, state, alike, active, table)
        within_reach(look, centre, active, table, near)
        active[:] = False
        changed = 0
        gained = 0.0
        p = -1
        while p + 1 < look.looked[0]:
            p += 1
            g = look.groups[p]
            k = label[g]
            w = weight[g]
            m = size[k]
            if near[k, 0] == 0 or m - w < limits[0, k]:
                continue
            c = k if own else 0
            leave = entropy[k, m - w] - entropy[k, m] - scatter[c, g]
            if not plain:
                leave += exchanged(points, mass, region, penalty, c, g, load, centre, k, -1.0)
            elif m > w:
                leave -= 0.5 * m * w / (m - w) * square(points, c, g, centre, k)
            least = -leave - TOLERANCE * (1.0 + abs(leave))
            best = k
            for i in range(1, near[k, 0] + 1):
                target = near[k, i]
                m = size[target]
                c = target if own else 0
                if not allowed[g, target]:
                    continue
                join = entropy[target, m + w] - entropy[target, m] + scatter[c, g]
                if plain:
                    join += 0.5 * m * w / (m + w) * square(points, c, g, centre, target)
                else:
                    join += exchanged(points, mass, region, penalty, c, g, load, centre, target, 1.0)
                if join < least and fits(model, state, g, k, target):
                    least = join
                    best = target
            if best != k:
                look_at(look, best)
                shift(model, state, g, best)
                changed += 1
                gained -= leave + least
                active[k] = active[best] = True
        moves += changed
        short -= gained
        if changed == 0 or short > HOPELESS * gained:
            break
    return moves


@njit()
def single_moves(model, state, alike, active, table):
    """The table of a sweep of single moves, for groups that are ``alike``: one weight, one system, no prior and box."""
    entropy, size = model.entropy, state.size
    w = model.weight[0]
    if alike:
        farthest(model, state, state.centre, active, table[REACH])
    for k in range(size.shape[0]):
        m = size[k]
        if not alike:
            table[REACH, k] = table[LOSS, k] = np.inf
            table[FLOOR, k] = table[FACTOR, k] = 0.0
            continue
        # Room for rounding: what is as good as a tie may be looked at.
        table[LOSS, k] = entropy[k, m] - entropy[k, m - w] if m >= w else 0.0
        if m > w:
            table[LOSS, k] += 0.5 * m * w / (m - w) * table[REACH, k] ** 2
        table[FLOOR, k] = entropy[k, m + w] - entropy[k, m] if m + w < entropy.shape[1] else np.inf
        table[FACTOR, k] = 0.5 * m * w / (m + w)
