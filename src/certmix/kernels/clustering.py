"""Clusters as running statistics: costs, exact cost changes of a single move, and the classification EM step.

Component k has, in coordinate j, the *load* of its groups' masses and the prior's precision ``gamma_j``, and the
*centre* ``(sum_g m_gj x_gj + gamma_j m_j) / load``, the mean that would be best without a box; the best mean is the
centre clipped to the box. A mass is the number of samples in a group, but for missing values and weights of samples.
All changes are written in terms of load and centre, never as differences of sums of squares, so that they keep their
digits for data far from the origin.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certmix.kernels.compiled import njit
from certmix.kernels.looking import Look, everything
from certmix.kernels.mass import NOTHING, add_mass, mass_of, own_mass, shared_mass

# What stands where in ``Model.region`` …
PRIOR_WEIGHT, PRIOR_MEAN, LOWER, UPPER = 0, 1, 2, 3
# … and the kinds of links in ``Model.links``.
CONFLICT, IMPLIES, IMPLIED, COUNT = 0, 1, 2, 3


class Model(NamedTuple):
    """An instance as the local search reads it: C coordinate systems, K components, N groups, d features.

    Few and packed arrays, because compiling takes time for every array that is passed on.
    """

    points: np.ndarray  # (C, N, d)
    scatter: np.ndarray  # (C, N)
    weight: np.ndarray  # (N,) int: samples
    mass: np.ndarray  # (N,) or (N, d): how much every coordinate counts
    region: np.ndarray  # (4, K, d) prior precision and mean, lower and upper end of the box on the means
    entropy: np.ndarray  # (K, n + 1)
    allowed: np.ndarray  # (N, K) bool
    limits: np.ndarray  # (2, K) int: smallest and largest size
    classes: np.ndarray  # (K,) interchangeable components have equal numbers
    link_start: np.ndarray  # (N + 1,) the links of group g are links[link_start[g]:link_start[g + 1]]
    links: np.ndarray  # (., 3): CONFLICT, other, 0; IMPLIES, follower, component (-1: any); IMPLIED, leader,
    #                           component; COUNT, row, coefficient
    rows: np.ndarray  # (R, 3) counts: component, least, most
    single: np.ndarray  # (N,) bool: in no conflict and no implication
    penalty: float  # price of a centre outside the box; 1 where the mean may be clipped
    counted: bool  # masses are numbers of samples
    plain: bool  # they are, and there is neither prior nor box on the means
    coupled: bool  # conflicts, implications or counts
    stop: np.ndarray  # (1,) byte: when it is set, local search ends where it is (certmix.stopping)


class State(NamedTuple):
    """A clustering and its statistics, changed in place, with room for compound moves."""

    label: np.ndarray  # (N,)
    size: np.ndarray  # (K,) samples
    load: np.ndarray  # (K,) or (K, d) sum of masses
    centre: np.ndarray  # (K, d)
    tally: np.ndarray  # (R,) left-hand sides of the counts
    pending: np.ndarray  # (N,) target of a group in a compound move, -1 outside it
    moved: np.ndarray  # (N,) groups of a compound move
    look: Look  # which components may not be as they were, and their groups


def state_of(model: Model, label: np.ndarray) -> State:
    """A clustering whose statistics nobody has computed."""
    (N, K), whole = model.allowed.shape, np.int64
    load, centre = np.zeros((K, *model.mass.shape[1:])), np.zeros((K, model.points.shape[2]))
    tally, pending = np.zeros(len(model.rows), dtype=whole), np.full(N, -1, dtype=whole)
    sizes, moved = np.zeros(K, dtype=whole), np.zeros(N, dtype=whole)
    return State(label, sizes, load, centre, tally, pending, moved, everything(N, K))


@njit()
def accumulate(model, state):
    """Statistics from scratch of the components that are looked at."""
    points, weight, region, rows = model.points, model.weight, model.region, model.rows
    link_start, links, mass = model.link_start, model.links, model.mass
    label, size, centre, tally, load = state.label, state.size, state.centre, state.tally, state.load
    groups, opened = state.look.groups, state.look.opened
    K, d = centre.shape
    own = points.shape[0] > 1
    tally[:] = 0
    for k in range(K):
        if opened[k]:
            size[k] = 0
            load[k] = 0.0
            centre[k] = region[PRIOR_WEIGHT, k] * region[PRIOR_MEAN, k]
    for p in range(state.look.looked[0]):
        g = groups[p]
        k = label[g]
        c = k if own else 0
        size[k] += weight[g]
        add_mass(load, k, 1.0, mass, g)
        for j in range(d):
            centre[k, j] += mass_of(mass, g, j) * points[c, g, j]
        for p in range(link_start[g], link_start[g + 1]):
            if links[p, 0] == COUNT and rows[links[p, 1], 0] == k:
                tally[links[p, 1]] += links[p, 2]
    for k in range(K):
        for j in range(d if opened[k] else 0):
            full = mass_of(load, k, j) + region[PRIOR_WEIGHT, k, j]
            centre[k, j] = centre[k, j] / full if full > 0 else 0.0


@njit()
def excess(region, penalty, k, j, at):
    """Squared distance from a centre to the box, times the penalty."""
    if at < region[LOWER, k, j]:
        gap = region[LOWER, k, j] - at
    elif at > region[UPPER, k, j]:
        gap = at - region[UPPER, k, j]
    else:
        return 0.0
    return penalty * gap * gap


@njit()
def square(points, c, g, centre, k):
    """Squared distance from group g to a centre."""
    total = 0.0
    for j in range(centre.shape[1]):
        gap = points[c, g, j] - centre[k, j]
        total += gap * gap
    return total


@njit()
def moment(points, mass, c, g, centre, k):
    """Squared distance from group g to a centre, every coordinate times its mass."""
    total = 0.0
    for j in range(centre.shape[1]):
        gap = points[c, g, j] - centre[k, j]
        total += own_mass(mass, g, j) * (gap * gap)
    return shared_mass(mass, g) * total


@njit()
def refresh(model, state):
    """Statistics and costs from scratch of the components that are looked at; the cost ``sum_k c_k(S_k)`` of all."""
    accumulate(model, state)
    points, region, scatter, mass = model.points, model.region, model.scatter, model.mass
    label, size, centre, load = state.label, state.size, state.centre, state.load
    entropy, groups, opened, cost = model.entropy, state.look.groups, state.look.opened, state.look.cost
    K, d = centre.shape
    own = points.shape[0] > 1
    for k in range(K):
        if not opened[k]:
            continue
        cost[k] = entropy[k, size[k]]
        if model.plain:
            continue
        for j in range(d):
            full = mass_of(load, k, j) + region[PRIOR_WEIGHT, k, j]
            if full > 0:
                gap = centre[k, j] - region[PRIOR_MEAN, k, j]
                cost[k] += 0.5 * region[PRIOR_WEIGHT, k, j] * gap * gap
                cost[k] += 0.5 * full * excess(region, model.penalty, k, j, centre[k, j])
    for p in range(state.look.looked[0]):
        g = groups[p]
        k = label[g]
        c = k if own else 0
        cost[k] += scatter[c, g] + 0.5 * moment(points, mass, c, g, centre, k)
    total = 0.0
    for k in range(K):
        total += cost[k]
    return total


# The next one is called for every group and component of every sweep. It takes arrays, not the model:
# numba counts references whenever it takes an array out of a tuple, and that would be most of the work.
@njit()
def exchanged(points, mass, region, penalty, c, g, load, centre, k, sign):
    """Change of the quadratic cost of component k when group g joins (sign 1) or leaves (sign -1); scatter aside.

    Without box and prior ``1/2 m w / (m + w) |x_g - centre|^2`` for m samples in the component and w in the group, or
    -w when it leaves; 0 for the last group.
    """
    change = 0.0
    for j in range(centre.shape[1]):
        x = points[c, g, j]
        w = sign * mass_of(mass, g, j)
        full = mass_of(load, k, j) + region[PRIOR_WEIGHT, k, j]
        rest = full + w
        if full > 0 and rest > NOTHING * full:
            gap = x - centre[k, j]
            change += 0.5 * full * w / rest * gap * gap
            after = centre[k, j] + w * gap / rest
            change += 0.5 * rest * excess(region, penalty, k, j, after)
            change -= 0.5 * full * excess(region, penalty, k, j, centre[k, j])
        else:
            change += 0.5 * w * excess(region, penalty, k, j, x)
    return change


@njit()
def slope(entropy, k, size):
    """Price of one more sample in component k: the middle of the entropy's forward and backward difference.

    Where the table is concave this is a supergradient, so a classification step never raises the cost.
    """
    here = entropy[k, size]
    up = entropy[k, size + 1] - here if size < entropy.shape[1] - 1 else np.inf
    down = here - entropy[k, size - 1] if size > 0 else np.inf
    if not np.isfinite(up):
        up = down
    if not np.isfinite(down):
        down = up
    return 0.5 * (up + down) if np.isfinite(up) else 0.0


@njit()
def parameters(model, state, mean, price):
    """Best means (clipped centres) and prices of a sample in every component."""
    region, entropy, size, centre = model.region, model.entropy, state.size, state.centre
    for k in range(centre.shape[0]):
        price[k] = slope(entropy, k, size[k])
        for j in range(centre.shape[1]):
            mean[k, j] = min(max(centre[k, j], region[LOWER, k, j]), region[UPPER, k, j])


@njit()
def linear_costs(model, mean, price):
    """``costs[g, k] = scatter + m/2 |x_g - mean_k|^2 + w price_k``: what an assignment step minimises."""
    points, mass = model.points, model.mass
    N, K = points.shape[1], mean.shape[0]
    own = points.shape[0] > 1
    costs = np.empty((N, K))
    for g in range(N):
        w = model.weight[g]
        for k in range(K):
            c = k if own else 0
            costs[g, k] = model.scatter[c, g] + 0.5 * moment(points, mass, c, g, mean, k) + w * price[k]
    return costs
