"""Starts, perturbations and the loop around the local search."""

from __future__ import annotations

import numpy as np

from certmix.kernels.clustering import LOWER, UPPER, accumulate, parameters, slope, square
from certmix.kernels.compiled import njit
from certmix.kernels.moves import attempt, chains, hartigan, holds, lloyd, pairs, reassign, refresh
from certmix.kernels.swaps import swaps

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX1, _MIX2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)

# Two costs closer than this, relatively, are the same clustering or as good.
SAME = 1e-10
# Largest N (K - 1) for which every pair of moves is tried.
PAIR_LIMIT = 64
# Where a restart begins: not at all (it goes on), at labels, or at seeds: spread by k-means++ or drawn uniformly, for
# sizes that are even or not.
GO_ON, AT_LABELS, SPREAD_EVENLY, UNIFORM_EVENLY, SPREAD_UNEVENLY = -1, 0, 1, 2, 3


@njit(nogil=True)
def uniform(rng):
    """A number in [0, 1) from a splitmix64 generator whose state is ``rng[0]``."""
    rng[0] += _STEP
    z = rng[0]
    z = (z ^ (z >> _S30)) * _MIX1
    z = (z ^ (z >> _S27)) * _MIX2
    z = z ^ (z >> _S31)
    return (z >> _S11) * (1.0 / 9007199254740992.0)


@njit(nogil=True)
def below(rng, count):
    """A whole number in 0 .. count - 1."""
    return min(int(uniform(rng) * count), count - 1)


@njit(nogil=True)
def draw(rng, mass):
    """A position with probability proportional to its mass; -1 when there is none."""
    total = 0.0
    for i in range(mass.shape[0]):
        total += mass[i]
    last = -1
    if total > 0:
        left = uniform(rng) * total
        for i in range(mass.shape[0]):
            if mass[i] > 0:
                last = i
                left -= mass[i]
                if left < 0:
                    break
    return last


@njit(nogil=True)
def place(model, g, k, mean):
    """Put the mean of component k on group g, as far as the box allows."""
    c = k if model.points.shape[0] > 1 else 0
    for j in range(mean.shape[1]):
        mean[k, j] = min(max(model.points[c, g, j], model.region[LOWER, k, j]), model.region[UPPER, k, j])


@njit(nogil=True)
def seed_means(model, rng, spread, mean):
    """Means for a fresh start: of a component's known members, else on groups drawn one by one.

    With ``spread`` a group is drawn with probability proportional to its squared distance to the nearest
    mean so far (k-means++), otherwise uniformly.
    """
    points = model.points
    N, K = model.allowed.shape
    d = mean.shape[1]
    own = points.shape[0] > 1
    known = np.full(N, -1)
    weight = np.zeros(K)
    for k in range(K):
        for j in range(d):
            mean[k, j] = 0.0
    for g in range(N):
        options = 0
        for k in range(K):
            if model.allowed[g, k]:
                options += 1
                known[g] = k
        if options > 1:
            known[g] = -1
        elif options == 1:
            k = known[g]
            weight[k] += model.weight[g]
            for j in range(d):
                mean[k, j] += model.weight[g] * model.points[k if own else 0, g, j]
    near = np.full(N, np.inf)
    order = np.arange(K)
    for i in range(K - 1, 0, -1):
        j = below(rng, i + 1)
        order[i], order[j] = order[j], order[i]
    mass = np.empty(N)
    # Components with known members first: the others are seeded away from them.
    for seeded in range(2 * K):
        k = order[seeded % K]
        if (weight[k] > 0) != (seeded < K):
            continue
        if weight[k] > 0:
            for j in range(d):
                at = mean[k, j] / weight[k]
                mean[k, j] = min(max(at, model.region[LOWER, k, j]), model.region[UPPER, k, j])
        else:
            for g in range(N):
                free = model.allowed[g, k] and known[g] < 0
                mass[g] = 0.0
                if free:
                    mass[g] = model.weight[g] * (near[g] if spread and near[g] < np.inf else 1.0)
            g = draw(rng, mass)
            if g < 0:
                g = below(rng, N)
            place(model, g, k, mean)
        for g in range(N):
            near[g] = min(near[g], square(points, k if own else 0, g, mean, k))


@njit(nogil=True)
def seed_prices(model, rng, even, price):
    """Prices for a fresh start: of equal sizes, or of random ones."""
    K = price.shape[0]
    n = model.entropy.shape[1] - 1
    share = np.empty(K)
    total = 0.0
    for k in range(K):
        share[k] = 1.0 if even else -np.log(1.0 - uniform(rng))
        total += share[k]
    for k in range(K):
        price[k] = slope(model, k, max(1, int(n * (share[k] / total))))


@njit(nogil=True)
def relocate(model, state, rng, mean, price):
    """Perturb: put one component on another group, with size one, average or as it is.

    As a component of one sample it attracts only what lies far from everything else, which finds clusters
    of one or two.
    """
    N, K = model.allowed.shape
    n = model.entropy.shape[1] - 1
    k = below(rng, K)
    mass = np.zeros(N)
    far = uniform(rng) < 0.5
    points, label, allowed = model.points, state.label, model.allowed
    own = points.shape[0] > 1
    for g in range(N):
        if allowed[g, k] and label[g] != k:
            mass[g] = model.weight[g]
            if far:
                mass[g] *= square(points, label[g] if own else 0, g, mean, label[g])
    g = draw(rng, mass)
    if g < 0:
        g = below(rng, N)
    place(model, g, k, mean)
    u = uniform(rng)
    if u < 0.35:
        price[k] = slope(model, k, model.weight[g])
    elif u < 0.7:
        price[k] = slope(model, k, max(1, n // K))


@njit(nogil=True)
def copy_labels(label, to):
    """Copy labels."""
    for g in range(label.shape[0]):
        to[g] = label[g]


@njit(nogil=True)
def exchange(model, state, rng, mean, price, kept):
    """Perturb: let two components trade their members; False when they are interchangeable.

    Members that may not follow stay. Where the result breaks a constraint the labels remain and only the means
    and prices are those of the trade. ``kept`` holds the labels on entry.
    """
    label, allowed = state.label, model.allowed
    K = state.size.shape[0]
    k = below(rng, K)
    other = (k + 1 + below(rng, K - 1)) % K
    if model.classes[k] == model.classes[other]:
        return False
    for g in range(label.shape[0]):
        if kept[g] == k and allowed[g, other]:
            label[g] = other
        elif kept[g] == other and allowed[g, k]:
            label[g] = k
    accumulate(model, label, state.size, state.centre, state.tally)
    parameters(model, state.size, state.centre, mean, price)
    if not holds(model, state):
        copy_labels(kept, label)
    return True


@njit(nogil=True)
def shake(model, state, rng, size, centre):
    """Perturb: a few random compound moves, at any cost but within the constraints."""
    N, K = model.allowed.shape
    for _ in range(1 + below(rng, 4)):
        g = below(rng, N)
        target = below(rng, K)
        if target == state.label[g] or not model.allowed[g, target]:
            continue
        state.pending[g] = target
        state.moved[0] = g
        count = 1
        if uniform(rng) < 0.6:
            h = below(rng, N)
            if h != g and state.label[h] == target and model.allowed[h, state.label[g]]:
                state.pending[h] = state.label[g]
                state.moved[1] = h
                count = 2
        attempt(model, state, count, size, centre, True)


@njit(nogil=True)
def blocked(model, state, k, other):
    """Does a size limit or a count keep single groups from moving between the two components?"""
    for r in range(model.rows.shape[0]):
        if model.rows[r, 0] == k or model.rows[r, 0] == other:
            return True
    size, limits = state.size, model.limits
    return (
        size[k] <= limits[0, k]
        or size[other] <= limits[0, other]
        or size[k] >= limits[1, k]
        or size[other] >= limits[1, other]
    )


@njit(inline="always")
def settle(model, state, mean, price, size, centre, deep, limit):
    """From labels to a local optimum: classification EM, single moves, chains, swaps. Returns the cost.

    ``deep`` tries swaps between all components and, on small instances, every pair of moves. ``size`` and ``centre``
    are room to work in.
    """
    K = mean.shape[0]
    lloyd(model, state, mean, price, 100)
    for _ in range(100):
        if model.stop[0]:
            break
        hartigan(model, state, 200)
        accumulate(model, state.label, state.size, state.centre, state.tally)
        moves = 0
        if model.coupled:
            moves += chains(model, state, size, centre)
        if moves == 0:
            for k in range(K):
                for other in range(k):
                    if (deep or blocked(model, state, k, other)) and not model.stop[0]:
                        moves += swaps(model, state, mean, price, size, centre, k, other, limit)
        if moves == 0 and deep and model.weight.shape[0] * (K - 1) <= PAIR_LIMIT:
            moves += pairs(model, state, size, centre)
        if moves == 0:
            break
    return refresh(model, state)


@njit(inline="always")
def perturb(model, state, rng, mean, price, size, centre, kept):
    """Leave a local optimum, whose labels are in ``kept``, for labels that keep every constraint."""
    constrained = model.coupled
    for k in range(size.shape[0]):
        constrained = constrained or model.limits[0, k] > 1
        constrained = constrained or model.limits[1, k] < model.entropy.shape[1] - 1
    if constrained and uniform(rng) < 0.4:
        shake(model, state, rng, size, centre)
    else:
        parameters(model, state.size, state.centre, mean, price)
        if uniform(rng) >= 0.25 or not exchange(model, state, rng, mean, price, kept):
            relocate(model, state, rng, mean, price)
        accumulate(model, state.label, state.size, state.centre, state.tally)
        assign_twice(model, state, mean, price)


@njit()
def assign_twice(model, state, mean, price):
    """Two classification steps: the last member of a component can leave only after others have joined."""
    for _ in range(2):
        reassign(model, state, mean, price)


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
    K = mean.shape[0]
    kept = np.empty_like(state.label)
    size = np.empty_like(state.size)
    centre = np.empty_like(mean)
    cost = refresh(model, state)
    if start >= SPREAD_EVENLY:
        seed_means(model, rng, start != UNIFORM_EVENLY, mean)
        seed_prices(model, rng, start != SPREAD_UNEVENLY, price)
        if trials >= 0:
            assign_twice(model, state, mean, price)
    else:
        parameters(model, state.size, state.centre, mean, price)
    copy_labels(state.label, kept)
    for trial in range(1 if start == GO_ON else 0, trials + 1):
        deep = failures[0] >= patience  # one thorough look at the end; what it finds is worth another round
        if trial > 0:
            if K == 1 or model.stop[0]:
                failures[0] = -1
                break
            if not deep:
                perturb(model, state, rng, mean, price, size, centre, kept)
        found = settle(model, state, mean, price, size, centre, deep, limit)
        if trial == 0 or found < cost - SAME * (1.0 + abs(cost)):
            cost = found
            copy_labels(state.label, kept)
            failures[0] = 0
        else:
            copy_labels(kept, state.label)
            accumulate(model, state.label, state.size, state.centre, state.tally)
            failures[0] = -1 if deep else failures[0] + 1
            if deep:
                break
    return cost
