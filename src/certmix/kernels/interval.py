"""The interval bound: boxes for the means and intervals for the sizes, contracted and bounded (design 3.2).

A node says: component k's mean lies in the box ``[lo_k, hi_k]``, its size in ``[a_k, b_k]``, and group g is in
one of the components in its candidate set. ``mean`` is always the minimiser of the component's quadratic cost
for its own members.

Rounding: as in :mod:`.contraction`; a bound is lowered by ``(2 N + 64) eps`` times the sum of the absolute values that
were added up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certmix.kernels.candidates import NONE, SEVERAL, candidates, forbid, holds
from certmix.kernels.compiled import njit
from certmix.kernels.contraction import SLACK, box_distances, contract_means, drop_dominated, order_components
from certmix.kernels.mass import add_mass, mass_of, own_mass, shared_mass
from certmix.kernels.propagation import propagate_rest
from certmix.kernels.settled import Rest, settle, sorted_rest
from certmix.kernels.splitting import ALPHA, BETA, FAVOURITE, FLOOR, RIVAL, THETA, VALUE, where_to_split
from certmix.rounding import EPS

OPEN, CLOSED, DECIDED = 0, 1, 2
# How often a node is contracted and bounded at most.
TURNS = 8
# A node is worth another turn when what is left of it (groups, and widths in parts of the data's) has shrunk to less
# than this part.
SHRUNK = 0.95
TINY = 1e-300


@njit()
def chord(entropy, concave, a, b):
    """``(alpha, beta)`` with ``alpha + beta m <= entropy[m]`` for every whole m in [a, b]."""
    low = int(a)
    high = int(b)
    if high > low:
        beta = (entropy[high] - entropy[low]) / (high - low)
    else:  # any slope will do; the local one makes the assignment agree with the size
        left = max(low - 1, 0)
        right = min(low + 1, entropy.shape[0] - 1)
        beta = (entropy[right] - entropy[left]) / (right - left) if right > left else 0.0
    if not np.isfinite(beta):
        beta = 0.0
    if concave:
        alpha = min(entropy[low] - beta * low, entropy[high] - beta * high)
    else:
        alpha = np.inf
        for m in range(low, high + 1):
            alpha = min(alpha, entropy[m] - beta * m)
    return alpha, beta


@njit()
def _quadratic(mass, total, lo, hi):
    """Minimise ``mass/2 x^2 - total x`` over an interval: (value, minimiser)."""
    if mass > 0:
        x = total / mass
    else:
        x = 0.5 * (lo + hi) if lo > -np.inf and hi < np.inf else 0.0
    x = min(max(x, lo), hi)
    return 0.5 * mass * x * x - total * x, x


class Minorant(NamedTuple):
    """The function below a node's cost that is minimised, as :func:`minimise` leaves it for the functions after it."""

    component: np.ndarray  # (4, K): ALPHA, BETA, VALUE, SIZE
    mass: np.ndarray  # (K,) or (K, d) of the quadratic
    total: np.ndarray  # (K, d) linear term of the quadratic
    chosen: (
        np.ndarray
    )  # (3, N) int: FAVOURITE and RIVAL of the groups that are left, in order; LABEL by group
    mixed: np.ndarray  # (3, N): THETA and FLOOR of the groups that are left, in order; MARGIN by group
    share: np.ndarray  # (K, d) of the loss that comes from the width of a box


@njit()
def new_minorant(N, K, d, mass):
    """Room for one, where groups have such masses."""
    chosen, mixed = np.empty((3, N), dtype=np.int64), np.empty((3, N))
    load, total, share = np.empty((K, *mass.shape[1:])), np.empty((K, d)), np.empty((K, d))
    return Minorant(np.empty((4, K)), load, total, chosen, mixed, share)


@njit()
def minimise(lo, hi, a, b, mask, arrays, rest, centre, minorant):
    """Minimise a node's minorant. Every decided group must be settled.

    Returns the bound and how much it was lowered for rounding; ``centre`` receives the minimiser.
    """
    K, d = lo.shape
    points, system, scatter, gamma = arrays.points, arrays.system, arrays.scatter, arrays.gamma
    component, total, chosen, mixed = minorant.component, minorant.total, minorant.chosen, minorant.mixed
    groups, mass, quadratic = rest.groups, arrays.mass, minorant.mass
    constant = 0.0
    magnitude = 0.0
    for k in range(K):
        alpha, beta = chord(arrays.entropy[k], arrays.concave[k], a[k], b[k])
        if alpha == np.inf:  # the component can have none of these sizes
            return np.inf, 0.0
        component[ALPHA, k] = alpha
        component[BETA, k] = beta
        component[VALUE, k] = 0.0
        quadratic[k] = rest.mass[k]
        linear = rest.weight[k] * beta
        constant += alpha + rest.cost[k] + linear
        magnitude += abs(alpha) + abs(beta) * b[k] + rest.cost[k] + abs(linear)
        for j in range(d):
            pull = gamma[k, j] * arrays.prior_mean[k, j]
            total[k, j] = pull + rest.points[k, j]
            half = 0.5 * pull * arrays.prior_mean[k, j]
            constant += half
            magnitude += half
    for u in range(rest.left[0]):
        g = groups[u]
        w = arrays.weight[g]
        best = -1
        second = -1
        low = np.inf
        next_low = np.inf
        high = np.inf
        for k in range(K):
            if not holds(mask, g, k):
                continue
            c = system[k]
            near, far = box_distances(points, mass, c, g, lo, hi, k)
            base = w * component[BETA, k] + scatter[c, g]
            cost = 0.5 * near + base
            if cost < low:
                next_low = low
                second = best
                low = cost
                high = 0.5 * far + base
                best = k
            elif cost < next_low:
                next_low = cost
                second = k
        t = 1.0
        if high > next_low:
            t = max(0.0, (next_low - low) / (high - low)) * (1.0 - SLACK)
        chosen[FAVOURITE, u], chosen[RIVAL, u] = best, second
        mixed[THETA, u], mixed[FLOOR, u] = t, low
        c = system[best]
        square = 0.0
        add_mass(quadratic, best, t, mass, g)
        for j in range(d):
            x = points[c, g, j]
            total[best, j] += t * mass_of(mass, g, j) * x
            square += own_mass(mass, g, j) * (x * x)
        square *= shared_mass(mass, g)
        linear = w * component[BETA, best]
        constant += t * (0.5 * square + linear + scatter[c, g]) + (1.0 - t) * low
        magnitude += t * (0.5 * square + abs(linear) + scatter[c, g]) + (1.0 - t) * abs(low)
    for k in range(K):
        for j in range(d):
            found, x = _quadratic(mass_of(quadratic, k, j) + gamma[k, j], total[k, j], lo[k, j], hi[k, j])
            component[VALUE, k] += found
            magnitude += abs(total[k, j] * x) + abs(found + total[k, j] * x)
            centre[k, j] = x
    error = (2.0 * mask.shape[0] + 64.0) * EPS * magnitude
    bound = constant - error
    for k in range(K):
        bound += component[VALUE, k]
    return bound, error


@njit()
def tighten(bound, error, cutoff, lo, hi, mask, arrays, rest, centre, minorant):
    """Narrow boxes and candidate sets to where the minorant stays below the cutoff. Valid under every constraint."""
    K, d = lo.shape
    points, system, scatter, gamma = arrays.points, arrays.system, arrays.scatter, arrays.gamma
    component, total, mass, quadratic = minorant.component, minorant.total, arrays.mass, minorant.mass
    # Moving one coordinate of one mean away from the minimiser costs weight/2 times the squared distance.
    gap = cutoff - bound
    for k in range(K):
        for j in range(d):
            full = mass_of(quadratic, k, j) + gamma[k, j]
            if full <= 0:
                continue
            bar = total[k, j] / full
            reach = np.sqrt(2.0 * gap / full + (centre[k, j] - bar) ** 2) * (1.0 + 1e-9)
            reach += 4.0 * (mask.shape[0] + 16) * EPS * arrays.largest
            lo[k, j] = max(lo[k, j], bar - reach)
            hi[k, j] = min(hi[k, j], bar + reach)
    # Drop k from g's candidates when forcing g into k lifts the bound to the cutoff.
    for u in range(rest.left[0]):
        g = rest.groups[u]
        f = minorant.chosen[FAVOURITE, u]
        t = minorant.mixed[THETA, u]
        w = arrays.weight[g]
        c = system[f]
        without = 0.0
        square = 0.0
        for j in range(d):
            x = points[c, g, j]
            m = mass_of(mass, g, j)
            square += m * (x * x)
            left = max(mass_of(quadratic, f, j) - t * m, 0.0) + gamma[f, j]
            without += _quadratic(left, total[f, j] - t * m * x, lo[f, j], hi[f, j])[0]
        part = t * (0.5 * square + w * component[BETA, f] + scatter[c, g])
        part += (1.0 - t) * minorant.mixed[FLOOR, u]
        others = bound - component[VALUE, f] + without - part
        for k in range(K):
            if not holds(mask, g, k) or candidates(mask, g) != SEVERAL:
                continue
            c = system[k]
            forced = 0.0
            square = 0.0
            share = t if k == f else 0.0
            for j in range(d):
                x = points[c, g, j]
                m = mass_of(mass, g, j)
                square += m * (x * x)
                left = max(mass_of(quadratic, k, j) - share * m, 0.0) + m + gamma[k, j]
                forced += _quadratic(left, total[k, j] + (1.0 - share) * m * x, lo[k, j], hi[k, j])[0]
            lifted = others - (without if k == f else component[VALUE, k]) + forced
            lifted += 0.5 * square + w * component[BETA, k] + scatter[c, g]
            if lifted - error - SLACK * (1.0 + abs(lifted)) >= cutoff:
                forbid(mask, g, k)


@njit()
def _remaining(lo, hi, mask, arrays, rest):
    """How many groups are undecided (-1: one has no candidates, or a box is empty), and how large the node is."""
    undecided = 0
    empty = False
    for u in range(rest.left[0]):
        many = candidates(mask, rest.groups[u])
        empty = empty or many == NONE
        if many == SEVERAL:
            undecided += 1
    width = 0.0
    for k in range(lo.shape[0]):
        for j in range(lo.shape[1]):
            width += hi[k, j] - lo[k, j]
            empty = empty or (undecided > 0 and lo[k, j] > hi[k, j])
    return -1 if empty else undecided, undecided + width / max(arrays.largest, TINY)


@njit()
def explore_batch(first, last, nodes, cutoff, arrays, start, settled, results):
    """Contract and bound nodes ``first .. last - 1`` of a batch, each in place until it stops shrinking.

    Every array has a row for each node: ``nodes`` are lower and upper ends of boxes, smallest and largest sizes, and
    candidate sets; ``settled`` is a ``Rest``, but the groups that are left in node i begin at ``start[i]``. Written are
    the ``results``: OPEN, CLOSED or DECIDED, the bound, and where to split (four arrays). Holds no
    interpreter lock, so several threads can work on one batch.

    All steps are called from here, not from each other: a function is compiled again with each that calls it.
    """
    every_lo, every_hi, every_a, every_b, every_mask = nodes
    groups, left, weight, mass, points, cost = settled
    state, bound, kind, which, index, at = results
    n = arrays.entropy.shape[1] - 1
    centre = np.empty(every_lo.shape[1:])
    minorant = new_minorant(every_mask.shape[1], every_lo.shape[1], every_lo.shape[2], arrays.mass)
    for i in range(first, last):
        lo, hi, a, b, mask = every_lo[i], every_hi[i], every_a[i], every_b[i], every_mask[i]
        listed = groups[start[i] : start[i] + left[i]]
        rest = Rest(listed, left[i : i + 1], weight[i], mass[i], points[i], cost[i])
        ordered = np.empty((0, 0, 0), dtype=np.int64)
        state[i] = OPEN
        previous = np.inf
        for turn in range(TURNS):
            if arrays.stop[0]:
                break
            alive = propagate_rest(mask, a, b, n, arrays, rest.groups, rest.left[0], rest.weight)
            if alive:
                settle(mask, arrays, rest)
                if turn == 0:
                    ordered = sorted_rest(mask, arrays, rest)
                alive = contract_means(lo, hi, a, b, mask, arrays, rest, ordered)
                alive = alive and order_components(lo, hi, b, arrays)
            if alive:
                drop_dominated(lo, hi, a, b, mask, arrays, rest)
                alive = propagate_rest(mask, a, b, n, arrays, rest.groups, rest.left[0], rest.weight)
            found, error = np.inf, 0.0
            if alive:
                settle(mask, arrays, rest)
                found, error = minimise(lo, hi, a, b, mask, arrays, rest, centre, minorant)
            bound[i] = max(bound[i], found)
            if found >= cutoff:
                state[i] = CLOSED
                break
            if np.isfinite(cutoff - found):
                tighten(found, error, cutoff, lo, hi, mask, arrays, rest, centre, minorant)
            kind[i], which[i], index[i], at[i] = where_to_split(
                found, cutoff, lo, hi, a, b, mask, arrays, rest, centre, minorant
            )
            undecided, size = _remaining(lo, hi, mask, arrays, rest)
            if undecided < 0:
                state[i], bound[i] = CLOSED, np.inf
            elif undecided == 0:
                state[i] = DECIDED
            if undecided <= 0 or size > SHRUNK * previous:
                break
            previous = size
