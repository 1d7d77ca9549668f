"""Moves between clusterings that keep every side constraint: single groups and chains that repair."""

from __future__ import annotations

from certmix.kernels.clustering import (
    CONFLICT,
    COUNT,
    IMPLIES,
    PRIOR_WEIGHT,
    accumulate,
    clustering_cost,
    insertion,
    parameters,
    removal,
    square,
)
from certmix.kernels.compiled import njit

# A change must be better than rounding to count; relative to the terms that it is the difference of.
TOLERANCE = 1e-12
# Groups that one chain may take along.
CHAIN_LIMIT = 24


@njit(nogil=True)
def refresh(model, state):
    """Recompute the statistics from the labels; return the cost."""
    accumulate(model, state.label, state.size, state.centre, state.tally)
    return clustering_cost(model, state.label, state.size, state.centre)


@njit(nogil=True)
def fits(model, state, g, k, target):
    """May group g move from k to the target, everything else staying where it is?"""
    w = model.weight[g]
    if not model.allowed[g, target]:
        return False
    if state.size[k] - w < model.limits[0, k] or state.size[target] + w > model.limits[1, target]:
        return False
    if not model.coupled:
        return True
    label, links, rows = state.label, model.links, model.rows
    for p in range(model.link_start[g], model.link_start[g + 1]):
        kind, other, extra = links[p, 0], links[p, 1], links[p, 2]
        if kind == CONFLICT:
            if label[other] == target:
                return False
        elif kind == IMPLIES:
            if (extra < 0 or extra == target) and label[other] != target:
                return False
        elif kind == COUNT:
            if rows[other, 0] == k and state.tally[other] - extra < rows[other, 1]:
                return False
            if rows[other, 0] == target and state.tally[other] + extra > rows[other, 2]:
                return False
        elif label[other] != target and (extra < 0 or extra == label[other]):
            return False
    return True


@njit(nogil=True)
def holds(model, state):
    """Do the labels satisfy every constraint? Statistics must be fresh."""
    label, links = state.label, model.links
    for k in range(state.size.shape[0]):
        if not model.limits[0, k] <= state.size[k] <= model.limits[1, k]:
            return False
    for r in range(model.rows.shape[0]):
        if not model.rows[r, 1] <= state.tally[r] <= model.rows[r, 2]:
            return False
    for g in range(label.shape[0]):
        k = label[g]
        if not model.allowed[g, k]:
            return False
        for p in range(model.link_start[g], model.link_start[g + 1]):
            same = label[links[p, 1]] == k if links[p, 0] != COUNT else False
            if links[p, 0] == CONFLICT and same:
                return False
            if links[p, 0] == IMPLIES and not same and (links[p, 2] < 0 or links[p, 2] == k):
                return False
    return True


@njit(nogil=True)
def tallied(model, state, g, k, target):
    """Keep the tallies up when group g moves from k to the target."""
    links = model.links
    for p in range(model.link_start[g], model.link_start[g + 1]):
        if links[p, 0] == COUNT:
            r = links[p, 1]
            if model.rows[r, 0] == k:
                state.tally[r] -= links[p, 2]
            elif model.rows[r, 0] == target:
                state.tally[r] += links[p, 2]


@njit(nogil=True)
def shift(model, state, g, target):
    """Move group g to the target and update the statistics."""
    points, region, centre = model.points, model.region, state.centre
    k = state.label[g]
    w = model.weight[g]
    own = points.shape[0] > 1
    for j in range(centre.shape[1]):
        x = points[k if own else 0, g, j]
        rest = state.size[k] - w + region[PRIOR_WEIGHT, k, j]
        centre[k, j] = centre[k, j] - w * (x - centre[k, j]) / rest if rest > 0 else 0.0
        x = points[target if own else 0, g, j]
        mass = state.size[target] + w + region[PRIOR_WEIGHT, target, j]
        centre[target, j] += w * (x - centre[target, j]) / mass
    state.size[k] -= w
    state.size[target] += w
    state.label[g] = target
    if model.coupled:
        tallied(model, state, g, k, target)


@njit(nogil=True)
def reassign(model, state, mean, price):
    """One classification step for fixed means and prices, group by group, keeping every constraint.

    Where nothing binds this is the exact step. Returns the number of groups that moved; the centres of the
    state are left as they were, sizes and tallies are kept up.
    """
    points, scatter, weight, allowed = model.points, model.scatter, model.weight, model.allowed
    label, size, limits = state.label, state.size, model.limits
    K = mean.shape[0]
    own = points.shape[0] > 1
    changed = 0
    for g in range(weight.shape[0]):
        k = label[g]
        w = weight[g]
        if size[k] - w < limits[0, k]:
            continue
        c = k if own else 0
        least = w * (0.5 * square(points, c, g, mean, k) + price[k]) + scatter[c, g]
        least -= TOLERANCE * (1.0 + abs(least))
        best = k
        for target in range(K):
            if target == k or not allowed[g, target]:
                continue
            c = target if own else 0
            cost = w * (0.5 * square(points, c, g, mean, target) + price[target]) + scatter[c, g]
            if cost < least and fits(model, state, g, k, target):
                least = cost
                best = target
        if best != k:
            size[k] -= w
            size[best] += w
            label[g] = best
            changed += 1
            if model.coupled:
                tallied(model, state, g, k, best)
    return changed


@njit(inline="always")
def lloyd(model, state, mean, price, passes):
    """Classification EM from the state's labels; returns the number of passes used."""
    for step in range(passes):
        if model.stop[0]:
            break
        accumulate(model, state.label, state.size, state.centre, state.tally)
        parameters(model, state.size, state.centre, mean, price)
        if reassign(model, state, mean, price) == 0:
            return step + 1
    accumulate(model, state.label, state.size, state.centre, state.tally)
    return passes


@njit(nogil=True)
def hartigan(model, state, sweeps):
    """Move single groups while that lowers the cost, by the exact change. Returns the number of moves."""
    points, scatter, weight, entropy = model.points, model.scatter, model.weight, model.entropy
    region, penalty, plain = model.region, model.penalty, model.plain
    allowed, limits = model.allowed, model.limits
    label, size, centre = state.label, state.size, state.centre
    own = points.shape[0] > 1
    moves = 0
    for _ in range(sweeps):
        if model.stop[0]:
            break
        accumulate(model, label, size, centre, state.tally)  # running statistics drift
        changed = 0
        for g in range(weight.shape[0]):
            k = label[g]
            w = weight[g]
            m = size[k]
            if m - w < limits[0, k]:
                continue
            c = k if own else 0
            leave = entropy[k, m - w] - entropy[k, m] - scatter[c, g]
            if not plain:
                leave += removal(points, region, penalty, c, g, w, m, centre, k)
            elif m > w:
                leave -= 0.5 * m * w / (m - w) * square(points, c, g, centre, k)
            least = -leave - TOLERANCE * (1.0 + abs(leave))
            best = k
            for target in range(size.shape[0]):
                if target == k or not allowed[g, target]:
                    continue
                m = size[target]
                c = target if own else 0
                join = entropy[target, m + w] - entropy[target, m] + scatter[c, g]
                if plain:
                    join += 0.5 * m * w / (m + w) * square(points, c, g, centre, target)
                else:
                    join += insertion(points, region, penalty, c, g, w, m, centre, target)
                if join < least and fits(model, state, g, k, target):
                    least = join
                    best = target
            if best != k:
                shift(model, state, g, best)
                changed += 1
        moves += changed
        if changed == 0:
            break
    return moves


@njit(nogil=True)
def close(model, state, count):
    """Take along what a compound move forces to move; returns the number of groups, or -1 when it cannot be.

    A group that meets a conflicting one sends it to where it came from itself; implications pull their
    followers, and groups whose follower leaves go with it.
    """
    label, pending, links = state.label, state.pending, model.links
    i = 0
    while i < count:
        g = state.moved[i]
        target = pending[g]
        i += 1
        for p in range(model.link_start[g], model.link_start[g + 1]):
            kind, other, extra = links[p, 0], links[p, 1], links[p, 2]
            if kind == COUNT:
                continue
            where = pending[other] if pending[other] >= 0 else label[other]
            destination = target
            if kind == CONFLICT:
                wrong = where == target
                destination = label[g]
            elif kind == IMPLIES:
                wrong = where != target and (extra < 0 or extra == target)
            else:
                wrong = where != target and (extra < 0 or extra == where)
            if wrong:
                if pending[other] >= 0:
                    return -count
                count = along(state, other, destination, count)
        if count > CHAIN_LIMIT:
            return -count
    return count


@njit(nogil=True)
def along(state, g, target, count):
    state.pending[g] = target
    state.moved[count] = g
    return count + 1


@njit(nogil=True)
def transfer(model, state, g, k, target):
    """Change of the quadratic cost when group g goes from k to the target."""
    points, region, penalty, centre = model.points, model.region, model.penalty, state.centre
    w = model.weight[g]
    a, b = (k, target) if points.shape[0] > 1 else (0, 0)
    change = model.scatter[b, g] - model.scatter[a, g]
    change += removal(points, region, penalty, a, g, w, state.size[k], centre, k)
    return change + insertion(points, region, penalty, b, g, w, state.size[target], centre, target)


@njit(nogil=True)
def copy_statistics(size, centre, to_size, to_centre):
    """Copy sizes and centres."""
    for k in range(size.shape[0]):
        to_size[k] = size[k]
        for j in range(centre.shape[1]):
            to_centre[k, j] = centre[k, j]


@njit(nogil=True)
def attempt(model, state, count, size, centre, force):
    """Carry out a compound move, ``state.moved[:count]`` to ``state.pending``, if it lowers the cost.

    Chains are closed first and every constraint is checked at the end. Returns the change, 0.0 when nothing
    was done. ``size`` and ``centre`` are room to remember the statistics. With ``force`` a feasible move is
    made at any cost.
    """
    K = state.size.shape[0]
    if model.coupled:
        count = close(model, state, count)
    feasible = count > 0
    count = abs(count)
    change = 0.0
    magnitude = 1.0
    if feasible:
        for i in range(count):
            feasible = feasible and model.allowed[state.moved[i], state.pending[state.moved[i]]]
    if feasible:
        for k in range(K):
            size[k] = state.size[k]
        for i in range(count):
            g = state.moved[i]
            size[state.label[g]] -= model.weight[g]
            size[state.pending[g]] += model.weight[g]
        for k in range(K):
            feasible = feasible and model.limits[0, k] <= size[k] <= model.limits[1, k]
            if feasible and size[k] != state.size[k]:
                change += model.entropy[k, size[k]] - model.entropy[k, state.size[k]]
    if feasible:
        copy_statistics(state.size, state.centre, size, centre)
        for i in range(count):
            g = state.moved[i]
            k = state.label[g]
            target = state.pending[g]
            if k != target:
                part = transfer(model, state, g, k, target)
                change += part
                magnitude += abs(part)
                shift(model, state, g, target)
                state.pending[g] = k  # the way back
        good = force or change < -TOLERANCE * magnitude
        for r in range(model.rows.shape[0]):
            good = good and model.rows[r, 1] <= state.tally[r] <= model.rows[r, 2]
        if not good:
            change = 0.0
            for i in range(count):
                g = state.moved[i]
                if state.label[g] != state.pending[g]:
                    shift(model, state, g, state.pending[g])
            copy_statistics(size, centre, state.size, state.centre)
    else:
        change = 0.0
    for i in range(count):
        state.pending[state.moved[i]] = -1
    return change


@njit(nogil=True)
def chains(model, state, size, centre):
    """Move groups in conflicts or implications, with the chains that they force. Returns the moves made."""
    K = state.size.shape[0]
    moves = 0
    for g in range(model.weight.shape[0]):
        if model.single[g]:
            continue
        if model.stop[0]:
            break
        for target in range(K):
            if target != state.label[g] and model.allowed[g, target]:
                count = along(state, g, target, 0)
                if attempt(model, state, count, size, centre, False) < 0.0:
                    moves += 1
    return moves


@njit(nogil=True)
def pairs(model, state, size, centre):
    """All moves of two groups at once, wherever each may go. Returns the number of moves made."""
    N = model.weight.shape[0]
    K = state.size.shape[0]
    moves = 0
    for g in range(N):
        if model.stop[0]:
            break
        for target in range(K):
            if not model.allowed[g, target]:
                continue
            for h in range(g):
                for other in range(K):
                    if target == state.label[g] or other == state.label[h] or not model.allowed[h, other]:
                        continue
                    count = along(state, g, target, 0)
                    count = along(state, h, other, count)
                    if attempt(model, state, count, size, centre, False) < 0.0:
                        moves += 1
    return moves
