"""Starts, perturbations and the loop around the local search."""

from __future__ import annotations

import numpy as np

from certmix.kernels.clustering import LOWER, UPPER, accumulate, moment, parameters, refresh, slope
from certmix.kernels.compiled import njit
from certmix.kernels.looking import look_at, look_everywhere, look_nowhere, remember
from certmix.kernels.mass import mass_of
from certmix.kernels.moves import along, attempt, compounds, holds
from certmix.kernels.swaps import swaps
from certmix.kernels.sweeps import compared, farthest, hartigan, lloyd, reassign

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX1, _MIX2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)

# Two costs closer than this, relatively, are the same clustering or as good.
SAME_COST = 1e-10
# Largest N (K - 1) for which every pair of moves is tried.
PAIR_LIMIT = 64
# Where a restart begins: not at all (it goes on), at labels, or at seeds: spread by k-means++ or drawn uniformly, for
# sizes that are even or not.
GO_ON, AT_LABELS, SPREAD_EVENLY, UNIFORM_EVENLY, SPREAD_UNEVENLY = -1, 0, 1, 2, 3


@njit()
def uniform(rng):
    """A number in [0, 1) from a splitmix64 generator whose state is ``rng[0]``."""
    rng[0] += _STEP
    z = rng[0]
    z = (z ^ (z >> _S30)) * _MIX1
    z = (z ^ (z >> _S27)) * _MIX2
    z = z ^ (z >> _S31)
    return (z >> _S11) * (1.0 / 9007199254740992.0)


@njit()
def below(rng, count):
    """A whole number in 0 .. count - 1."""
    return min(int(uniform(rng) * count), count - 1)


@njit()
def drawn(rng, chance):
    """A position with probability proportional to its chance; any, when there is none."""
    total = 0.0
    for i in range(chance.shape[0]):
        total += chance[i]
    last = -1
    if total > 0:
        left = uniform(rng) * total
        for i in range(chance.shape[0]):
            if chance[i] > 0:
                last = i
                left -= chance[i]
                if left < 0:
                    break
    return last if last >= 0 else below(rng, chance.shape[0])


@njit()
def place(points, region, g, k, mean):
    """Put the mean of component k on group g, as far as the box allows."""
    c = k if points.shape[0] > 1 else 0
    for j in range(mean.shape[1]):
        mean[k, j] = min(max(points[c, g, j], region[LOWER, k, j]), region[UPPER, k, j])


@njit()
def seed_means(model, rng, spread, mean):
    """Means for a fresh start: of a component's known members, else on groups drawn one by one.

    With ``spread`` a group is drawn with probability proportional to its squared distance to the nearest
    mean so far (k-means++), otherwise uniformly.
    """
    points, region, allowed, mass = model.points, model.region, model.allowed, model.mass
    N, K = allowed.shape
    d = mean.shape[1]
    own = points.shape[0] > 1
    known = np.empty(N, dtype=np.int64)
    order = np.arange(K)
    members = np.zeros((K, d))  # mass of a component's known members
    some = np.zeros(K, dtype=np.bool_)
    near = np.empty(N)
    chance = np.empty(N)
    mean[:] = 0.0
    near[:] = np.inf
    for g in range(N):
        options = 0
        only = -1
        for k in range(K):
            if allowed[g, k]:
                options += 1
                only = k
        known[g] = only if options == 1 else -1
        if options == 1:
            some[only] = True
            for j in range(d):
                members[only, j] += mass_of(mass, g, j)
                mean[only, j] += mass_of(mass, g, j) * points[only if own else 0, g, j]
    for i in range(K - 1, 0, -1):
        j = below(rng, i + 1)
        order[i], order[j] = order[j], order[i]
    # Components with known members first: the others are seeded away from them.
    for seeded in range(2 * K):
        k = order[seeded % K]
        if some[k] != (seeded < K):
            continue
        if some[k]:
            for j in range(d):
                at = mean[k, j] / members[k, j] if members[k, j] > 0 else 0.0
                mean[k, j] = min(max(at, region[LOWER, k, j]), region[UPPER, k, j])
        else:
            for g in range(N):
                chance[g] = 0.0
                if allowed[g, k] and known[g] < 0:
                    chance[g] = near[g] if spread and near[g] < np.inf else model.weight[g]
            place(points, region, drawn(rng, chance), k, mean)
        for g in range(N):
            near[g] = min(near[g], moment(points, mass, k if own else 0, g, mean, k))


@njit()
def seed_prices(entropy, rng, even, price):
    """Prices for a fresh start: of equal sizes, or of random ones."""
    K = price.shape[0]
    n = entropy.shape[1] - 1
    total = 0.0
    for k in range(K):
        price[k] = 1.0 if even else -np.log(1.0 - uniform(rng))
        total += price[k]
    for k in range(K):
        price[k] = slope(entropy, k, max(1, int(n * (price[k] / total))))


@njit()
def relocate(model, state, rng, mean, price):
    """Perturb: put one component on another group, with size one, average or as it is.

    As a component of one sample it attracts only what lies far from everything else, which finds clusters
    of one or two.
    """
    points, weight, allowed, entropy = model.points, model.weight, model.allowed, model.entropy
    label = state.label
    N, K = allowed.shape
    own = points.shape[0] > 1
    k = below(rng, K)
    far = uniform(rng) < 0.5
    chance = np.empty(N)
    for g in range(N):
        there = label[g]
        chance[g] = 0.0
        if allowed[g, k] and there != k:
            chance[g] = weight[g]
            if far:
                chance[g] = moment(points, model.mass, there if own else 0, g, mean, there)
    g = drawn(rng, chance)
    place(points, model.region, g, k, mean)
    u = uniform(rng)
    if u < 0.7:
        price[k] = slope(entropy, k, weight[g] if u < 0.35 else max(1, (entropy.shape[1] - 1) // K))


@njit()
def different(state, kept, everywhere, active):
    """Which components have other members than in the labels that were kept; or all of them."""
    label, look = state.label, state.look
    active[:] = everywhere
    for p in range(look.looked[0]):
        g = look.groups[p]
        if label[g] != kept[g]:
            active[label[g]] = active[kept[g]] = True


@njit()
def exchange(model, state, rng, mean, price, kept):
    """Perturb: let two components trade their members; False when they are interchangeable.

    Members that may not follow stay. Where the result breaks a constraint the labels remain and only the means
    and prices are those of the trade. ``kept`` holds the labels on entry.
    """
    label, allowed = state.label, model.allowed
    K = allowed.shape[1]
    k = below(rng, K)
    other = (k + 1 + below(rng, K - 1)) % K
    different = model.classes[k] != model.classes[other]
    if different:
        look_everywhere(state.look)
        for g in range(label.shape[0]):
            if kept[g] == k and allowed[g, other]:
                label[g] = other
            elif kept[g] == other and allowed[g, k]:
                label[g] = k
        accumulate(model, state)
        parameters(model, state, mean, price)
        if not holds(model, state):
            label[:] = kept
    return different


@njit()
def shake(model, state, rng, size, centre):
    """Perturb: a few random compound moves, at any cost but within the constraints."""
    label, allowed, pending, moved = state.label, model.allowed, state.pending, state.moved
    N, K = allowed.shape
    for _ in range(1 + below(rng, 4)):
        g = below(rng, N)
        target = below(rng, K)
        k = label[g]
        if target == k or not allowed[g, target]:
            continue
        count = along(pending, moved, g, target, 0)
        if uniform(rng) < 0.6:
            h = below(rng, N)
            if h != g and label[h] == target and allowed[h, k]:
                count = along(pending, moved, h, k, count)
        attempt(model, state, count, size, centre, True)


@njit()
def blocked(model, state, tight):
    """Which components have a size limit or a count that may keep single groups from joining or leaving."""
    limits, size, rows = model.limits, state.size, model.rows
    for k in range(size.shape[0]):
        tight[k] = not limits[0, k] < size[k] < limits[1, k]
    for r in range(rows.shape[0]):
        tight[rows[r, 0]] = True


@njit()
def explore(model, state, rng, mean, price, start, patience, limit, trials, failures):
    """One restart: a start, its local optimum, then perturbations until ``patience`` in a row fail.

    The one way from Python into the local search, because every other would be compiled again. ``state.label`` must
    satisfy every constraint. ``start`` says where to begin: at those labels, at seeds for the means
    (``SPREAD_EVENLY``, ``UNIFORM_EVENLY``, ``SPREAD_UNEVENLY``), or nowhere (``GO_ON``): with perturbations, after an
    earlier call. At most ``trials`` of them are made in this call; ``failures[0]`` counts those in a row that brought
    nothing and is -1 when the restart has come to its end. Without any patience even the first descent is thorough.
    Fewer than no trials: nothing but the seeds is made.

    Returns the cost; the labels are in the state, with fresh statistics. Without a start and trials ``mean`` and
    ``price`` are those of the labels.
    """
    N, K = model.allowed.shape
    kept = np.empty_like(state.label)
    size = np.empty_like(state.size)
    centre = np.empty_like(mean)
    active = np.ones(K, dtype=np.bool_)
    before = np.full((K, mean.shape[1] + 1), np.nan)
    near = np.empty((K, K + 1), dtype=np.int32)
    nothing = np.zeros(K, dtype=np.bool_)
    tight = np.zeros(K, dtype=np.bool_)
    look = state.look
    look_everywhere(look)
    cost = refresh(model, state)
    if start >= SPREAD_EVENLY:
        seed_means(model, rng, start != UNIFORM_EVENLY, mean)
        seed_prices(model.entropy, rng, start != SPREAD_UNEVENLY, price)
        reassign(model, state, mean, price, 2 if trials >= 0 else 0, active, near)
    else:
        parameters(model, state, mean, price)
    constrained = model.coupled
    for k in range(K):
        constrained = constrained or model.limits[0, k] > 1 or model.limits[1, k] < model.entropy.shape[1] - 1
    kept[:] = state.label
    # Whether a component that was not looked at is known: how far it reaches, and that its mean is its centre.
    local = model.plain and model.counted and model.points.shape[0] == 1
    if start == GO_ON:
        farthest(model, state, state.centre, nothing, look.reach)
        remember(look, kept)
    for trial in range(1 if start == GO_ON else 0, trials + 1):
        deep = failures[0] >= patience  # one thorough look at the end; what it finds is worth another round
        if trial > 0 and (K == 1 or model.stop[0]):
            failures[0] = -1
            break
        # What a perturbation leaves alone is as good as it was, unless something binds that it loosens.
        everywhere = trial == 0 or constrained or deep
        before[:] = np.nan
        if everywhere or not local:
            look_everywhere(look)
        else:
            look_nowhere(look)
        if trial > 0 and not deep:
            if constrained and uniform(rng) < 0.4:
                shake(model, state, rng, size, centre)
            else:
                parameters(model, state, mean, price)
                if not everywhere:
                    compared(mean, price, before, active)
                if uniform(rng) >= 0.25 or not exchange(model, state, rng, mean, price, kept):
                    relocate(model, state, rng, mean, price)
                accumulate(model, state)
                active[:] = True
                if not everywhere:
                    compared(mean, price, before, active)
                # Twice: the last member of a component can leave only after others have joined.
                reassign(model, state, mean, price, 2, active, near)
        # Down to a local optimum: classification EM, single moves, chains, swaps and, where there are few, pairs.
        # After a perturbation single moves do most of it, and end where it is in vain.
        lloyd(model, state, mean, price, 100 if everywhere else 1, before)
        short = -np.inf if everywhere else refresh(model, state) - cost
        different(state, kept, everywhere, active)
        moves = 1
        for _ in range(100):
            if moves == 0 or model.stop[0]:
                break
            hartigan(model, state, 200, active, short)
            active[:] = True
            moves = 0
            if model.coupled:
                moves = compounds(model, state, size, centre, False)
            blocked(model, state, tight)
            for k in range(K if moves == 0 else 0):
                for other in range(k):
                    if (deep or tight[k] or tight[other]) and not model.stop[0]:
                        look_at(look, k)
                        look_at(look, other)
                        moves += swaps(model, state, mean, price, size, centre, k, other, limit)
            if moves == 0 and deep and N * (K - 1) <= PAIR_LIMIT:
                moves = compounds(model, state, size, centre, True)
        found = refresh(model, state)
        if trial == 0 or found < cost - SAME_COST * (1.0 + abs(cost)):
            cost = found
            kept[:] = state.label
            farthest(model, state, state.centre, nothing, look.reach)
            remember(look, kept)
            failures[0] = 0
        else:
            state.label[:] = kept
            accumulate(model, state)
            failures[0] = -1 if deep else failures[0] + 1
            if deep:
                break
    look_everywhere(look)
    return cost
