"""Moves between clusterings that keep every side constraint: single groups, and chains that repair."""

from __future__ import annotations

from certmix.kernels.clustering import CONFLICT, COUNT, IMPLIES, PRIOR_WEIGHT, exchanged
from certmix.kernels.compiled import njit
from certmix.kernels.mass import add_mass, mass_of, take_mass

# A change must be better than rounding to count; relative to the terms that it is the difference of.
TOLERANCE = 1e-12
# Groups that one chain may take along.
CHAIN_LIMIT = 24


# Functions of this search leave at one place: for every other way out the compiler writes code to let go of each array.
@njit()
def fits(model, state, g, k, target):
    """May group g move from k to the target, everything else staying where it is?"""
    w, size, limits = model.weight[g], state.size, model.limits
    good = model.allowed[g, target] and size[k] - w >= limits[0, k] and size[target] + w <= limits[1, target]
    if good and model.coupled:
        links, link_start, rows = model.links, model.link_start, model.rows
        label, tally = state.label, state.tally
        for p in range(link_start[g], link_start[g + 1]):
            kind, other, extra = links[p, 0], links[p, 1], links[p, 2]
            if kind == COUNT:
                component = rows[other, 0]
                if component == k:
                    good = good and tally[other] - extra >= rows[other, 1]
                elif component == target:
                    good = good and tally[other] + extra <= rows[other, 2]
                continue
            good = good and not torn(kind, extra, target, label[other])
    return good


@njit()
def torn(kind, extra, k, where):
    """Whether a link (no count) does not hold when its group is in component k and the other one in ``where``."""
    if kind == CONFLICT:
        return where == k
    return where != k and (extra < 0 or extra == (k if kind == IMPLIES else where))


@njit()
def holds(model, state):
    """Do the labels satisfy every constraint? Statistics must be fresh."""
    label, size, limits = state.label, state.size, model.limits
    links, link_start, rows = model.links, model.link_start, model.rows
    good = True
    for k in range(size.shape[0]):
        good = good and limits[0, k] <= size[k] <= limits[1, k]
    for r in range(rows.shape[0]):
        good = good and rows[r, 1] <= state.tally[r] <= rows[r, 2]
    for g in range(label.shape[0]):
        k = label[g]
        good = good and model.allowed[g, k]
        for p in range(link_start[g], link_start[g + 1]):
            kind, extra = links[p, 0], links[p, 2]
            if kind != COUNT:
                good = good and not torn(kind, extra, k, label[links[p, 1]])
    return good


@njit()
def tallied(model, state, g, k, target):
    """Keep the tallies up when group g moves from k to the target."""
    links, link_start, rows, tally = model.links, model.link_start, model.rows, state.tally
    for p in range(link_start[g], link_start[g + 1]):
        if links[p, 0] == COUNT:
            r, coefficient = links[p, 1], links[p, 2]
            if rows[r, 0] == k:
                tally[r] -= coefficient
            elif rows[r, 0] == target:
                tally[r] += coefficient


@njit()
def shift(model, state, g, target):
    """Move group g to the target and update the statistics."""
    points, region, centre, size = model.points, model.region, state.centre, state.size
    mass, load = model.mass, state.load
    k = state.label[g]
    own = points.shape[0] > 1
    state.label[g] = target
    size[k] -= model.weight[g]
    size[target] += model.weight[g]
    take_mass(load, k, mass, g)
    add_mass(load, target, 1.0, mass, g)
    for j in range(centre.shape[1]):
        w = mass_of(mass, g, j)
        rest = mass_of(load, k, j) + region[PRIOR_WEIGHT, k, j]
        at = centre[k, j]
        centre[k, j] = at - w * (points[k if own else 0, g, j] - at) / rest if rest > 0 else 0.0
        at = centre[target, j]
        full = mass_of(load, target, j) + region[PRIOR_WEIGHT, target, j]
        centre[target, j] = at + w * (points[target if own else 0, g, j] - at) / full if full > 0 else 0.0
    if model.coupled:
        tallied(model, state, g, k, target)


@njit()
def close(model, state, count):
    """Take along what a compound move forces to move; returns the number of groups, or -1 when it cannot be.

    A group that meets a conflicting one sends it to where it came from itself; implications pull their
    followers, and groups whose follower leaves go with it.
    """
    label, pending, moved = state.label, state.pending, state.moved
    links, link_start = model.links, model.link_start
    good = True
    i = 0
    while i < count and good:
        g = moved[i]
        target = pending[g]
        i += 1
        for p in range(link_start[g], link_start[g + 1]):
            kind, other, extra = links[p, 0], links[p, 1], links[p, 2]
            if kind == COUNT or not good:
                continue
            bound = pending[other]
            where = bound if bound >= 0 else label[other]
            wrong = torn(kind, extra, target, where)
            if wrong and bound < 0:
                count = along(pending, moved, other, label[g] if kind == CONFLICT else target, count)
            good = good and not (wrong and bound >= 0)
        good = good and count <= CHAIN_LIMIT
    return count if good else -count


@njit()
def along(pending, moved, g, target, count):
    """Add a group to a compound move; returns how many it has now."""
    pending[g] = target
    moved[count] = g
    return count + 1


@njit()
def transfer(model, state, g, k, target):
    """Change of the quadratic cost when group g goes from k to the target."""
    points, scatter, region, penalty = model.points, model.scatter, model.region, model.penalty
    mass, load, centre = model.mass, state.load, state.centre
    a, b = (k, target) if points.shape[0] > 1 else (0, 0)
    change = scatter[b, g] - scatter[a, g]
    change += exchanged(points, mass, region, penalty, a, g, load, centre, k, -1.0)
    return change + exchanged(points, mass, region, penalty, b, g, load, centre, target, 1.0)


@njit()
def attempt(model, state, count, size, centre, force):
    """Carry out a compound move, ``state.moved[:count]`` to ``state.pending``, if it lowers the cost.

    Chains are closed first and every constraint is checked at the end. Returns the change, 0.0 when nothing
    was done. ``size`` and ``centre`` are room to remember the statistics. With ``force`` a feasible move is
    made at any cost.
    """
    moved, pending, label, sizes = state.moved, state.pending, state.label, state.size
    weight, limits, entropy, rows = model.weight, model.limits, model.entropy, model.rows
    if model.coupled:
        count = close(model, state, count)
    feasible = count > 0
    count = abs(count)
    change = 0.0
    magnitude = 1.0
    size[:] = sizes
    for i in range(count):
        g = moved[i]
        target = pending[g]
        feasible = feasible and model.allowed[g, target]
        size[label[g]] -= weight[g]
        size[target] += weight[g]
    for k in range(size.shape[0]):
        feasible = feasible and limits[0, k] <= size[k] <= limits[1, k]
        if feasible and size[k] != sizes[k]:
            change += entropy[k, size[k]] - entropy[k, sizes[k]]
    good = feasible
    if feasible:
        size[:] = sizes
        centre[:] = state.centre
        for i in range(count):
            g = moved[i]
            k, target = label[g], pending[g]
            if k != target:
                part = transfer(model, state, g, k, target)
                change += part
                magnitude += abs(part)
                shift(model, state, g, target)
                pending[g] = k  # the way back
        good = force or change < -TOLERANCE * magnitude
        for r in range(rows.shape[0]):
            good = good and rows[r, 1] <= state.tally[r] <= rows[r, 2]
    for i in range(count):
        g = moved[i]
        target = pending[g]
        pending[g] = -1
        if feasible and not good and label[g] != target:
            shift(model, state, g, target)
    if feasible and not good:
        sizes[:] = size
        state.centre[:] = centre
    return change if good else 0.0


@njit()
def compounds(model, state, size, centre, paired):
    """Move a group with the chain that it forces, or two groups at once, wherever they may go, while that pays.

    Alone go only groups in conflicts or implications: the others have been tried. Returns the number of moves made.
    """
    label, allowed, pending, moved = state.label, model.allowed, state.pending, state.moved
    N, K = allowed.shape
    moves = 0
    for g in range(N):
        if model.stop[0]:
            break
        for target in range(K):
            if not allowed[g, target] or (model.single[g] and not paired):
                continue
            for partner in range(g * K if paired else 1):
                h, other = partner // K, partner % K
                if target == label[g] or (paired and (other == label[h] or not allowed[h, other])):
                    continue
                count = along(pending, moved, g, target, 0)
                if paired:
                    count = along(pending, moved, h, other, count)
                if attempt(model, state, count, size, centre, False) < 0.0:
                    moves += 1
    return moves
