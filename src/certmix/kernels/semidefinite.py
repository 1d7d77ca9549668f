"""The polyhedral half of the semidefinite relaxation: one block's step of the alternating direction method.

A block holds a matrix X over super-points with ``r_s = sqrt(w_s)``; for a cluster S of m samples it is
``X_st = r_s r_t / m``. Its constraints are X >= 0, X_st = 0 for pairs that must be apart, and for sizes in [l, u]

    l X_ss <= r_s (X r)_s <= u X_ss          (multipliers ``under`` and ``over``),

and all blocks together cover every super-point, ``sum_b (X_b r)_s = r_s`` (multiplier ``cover``, shared).
Multipliers are divided by the penalty sigma throughout.
"""

from __future__ import annotations

import numpy as np

from certmix.kernels.compiled import njit
from certmix.kernels.cuts import sweep_cuts

# Sums may be added up in any order and products fused: no proof rests on the functions that are compiled like this.
LOOSE = {"reassoc", "contract", "nsz"}


@njit()
def row_forces(cover, over, under, r, force):
    """``force_s`` such that the multipliers of the rows take ``(force_s r_t + force_t r_s) / 2`` from entry (s, t)."""
    for s in range(r.shape[0]):
        force[s] = cover[s] + (over[s] - under[s]) * r[s]


@njit(fastmath=LOOSE)
def point_of(x, u, cost, offset, sigma, out):
    """``X - U - (cost + offset I) / sigma``: what is projected onto the semidefinite matrices."""
    n = x.shape[0]
    scale = 1.0 / sigma
    for s in range(n):
        for t in range(n):
            out[s, t] = x[s, t] - u[s, t] - scale * cost[s, t]
        out[s, s] -= scale * offset


@njit(fastmath=LOOSE)
def row_sums(y, cut_force, cover, over, under, r, low, high, apart, force, sums, free, diagonal):
    """Row sums ``(X r)_s`` of the projected matrix, its diagonal, and how much of each row can still move."""
    n = r.shape[0]
    row_forces(cover, over, under, r, force)
    for s in range(n):
        half_force = 0.5 * force[s]
        half_root = 0.5 * r[s]
        total = 0.0
        movable = 0.0
        for t in range(n):
            x = y[s, t] - cut_force[s, t] - half_force * r[t] - half_root * force[t]
            x = 0.0 if apart[s, t] else max(x, 0.0)  # in this form it is compiled to vector instructions
            total += x * r[t]
            movable += r[t] * r[t] if x > 0.0 else 0.0
        # The diagonal has other rows and twice the weight.
        wrong = y[s, s] - cut_force[s, s] - force[s] * r[s]
        if wrong > 0.0 and not apart[s, s]:
            total -= wrong * r[s]
            movable -= r[s] * r[s]
        x = max(0.0, wrong + over[s] * high - under[s] * low)
        diagonal[s] = x
        sums[s] = total + x * r[s]
        free[s] = 0.5 * movable + (r[s] * r[s] if x > 0.0 else 0.0)


@njit()
def update_sizes(sums, free, diagonal, r, low, high, over, under):
    """Projected step on the multipliers of the size rows of one block."""
    for s in range(r.shape[0]):
        w = r[s] * r[s]
        have = r[s] * sums[s]
        curve = w * max(free[s], 0.5 * w)
        above = (have - high * diagonal[s]) / (curve + high * high)
        if low == high:  # one row with one multiplier of either sign: two steps would be one twice as long
            net = over[s] - under[s] + above
            over[s] = max(0.0, net)
            under[s] = max(0.0, -net)
        else:
            over[s] = max(0.0, over[s] + above)
            under[s] = max(0.0, under[s] + (low * diagonal[s] - have) / (curve + low * low))


@njit(fastmath=LOOSE)
def _before_cuts(y, cut_force, force, over, under, r, low, high, apart, w):
    """What the rows leave of Y before the cuts are swept and negative entries clipped."""
    n = r.shape[0]
    for s in range(n):
        half_force = 0.5 * force[s]
        half_root = 0.5 * r[s]
        for t in range(n):
            x = y[s, t] - cut_force[s, t] - half_force * r[t] - half_root * force[t]
            w[s, t] = 0.0 if apart[s, t] else x
        w[s, s] = y[s, s] - cut_force[s, s] - force[s] * r[s] + over[s] * high - under[s] * low


@njit(fastmath=LOOSE)
def _after_cuts(y, z, w, apart, r, x, u, held):
    """Clip W into X; U = Y - X and ``held = X r`` follow. Returns the squared change of X and distance from Z."""
    n = r.shape[0]
    change = 0.0
    distance = 0.0
    for s in range(n):
        own = w[s, s]
        total = 0.0
        for t in range(n):
            value = 0.0 if apart[s, t] else max(w[s, t], 0.0)
            move = value - x[s, t]
            change += move * move
            away = value - z[s, t]
            distance += away * away
            total += value * r[t]
            x[s, t] = value
            u[s, t] = y[s, t] - value
        if apart[s, s] and own > 0.0:
            x[s, s] = own
            u[s, s] = y[s, s] - own
            total += own * r[s]
        held[s] = total
    return change, distance


@njit(fastmath=LOOSE)
def relax_and_sum(
    z, x, u, factor, cut_force, cover, over, under, r, low, high, apart, force, sums, free, diagonal
):
    """Overwrite U by ``factor Z + (1 - factor) X + U``, over-relaxed, and write the sums of :func:`row_sums` for it."""
    for s in range(r.shape[0]):
        for t in range(r.shape[0]):
            u[s, t] = factor * z[s, t] + (1.0 - factor) * x[s, t] + u[s, t]
    row_sums(u, cut_force, cover, over, under, r, low, high, apart, force, sums, free, diagonal)


@njit()
def project(
    y, z, cover, over, under, r, low, high, apart, ends, signs, multiplier, cut_force, w, force, sums, free,
    diagonal, x, u, held
):  # fmt: skip
    """Step on the multipliers of the size rows, then write the projection X of Y, U = Y - X and ``held = X r``.

    ``cut_force`` holds what the cuts take from every entry; one pass over the cuts is made on the way. U may be Y;
    ``w``, ``force``, ``sums``, ``free`` and ``diagonal`` are scratch. Returns the squared change of X and its squared
    distance from Z.
    """
    row_sums(y, cut_force, cover, over, under, r, low, high, apart, force, sums, free, diagonal)
    update_sizes(sums, free, diagonal, r, low, high, over, under)
    row_forces(cover, over, under, r, force)
    _before_cuts(y, cut_force, force, over, under, r, low, high, apart, w)
    sweep_cuts(ends, signs, multiplier, r, w, cut_force)
    return _after_cuts(y, z, w, apart, r, x, u, held)


@njit()
def split_multipliers(
    u, cost, sigma, cover, over, under, r, low, high, apart, cut_force, cut_size, force, grain, slack, reduced
):
    """The multipliers N of X >= 0, whole multiples of a grain, and the reduced matrix ``S = cost + rows + cuts - N``.

    Of U and the cost the lower triangle is read, and both come out exactly symmetric whatever the upper one holds.
    Returns a bound on the squared Frobenius norm of the rounding in S, in units of the machine epsilon (the entries are
    sums of a few terms, each a product with square roots), and the largest entry of N.
    """
    n = r.shape[0]
    row_forces(cover, over, under, r, force)
    error = 0.0
    largest = 0.0
    for s in range(n):
        for t in range(s + 1):
            if s == t:
                row = sigma * (force[s] * r[s] - over[s] * high + under[s] * low)
                size = sigma * (
                    (abs(cover[s]) + (over[s] + under[s]) * r[s]) * r[s] + over[s] * high + under[s] * low
                )
            else:
                row = 0.5 * sigma * (force[s] * r[t] + force[t] * r[s])
                size = 0.5 * sigma * (abs(cover[s]) * r[t] + abs(cover[t]) * r[s])
                size += 0.5 * sigma * (over[s] + under[s] + over[t] + under[t]) * r[s] * r[t]
            row += sigma * cut_force[s, t]
            size += sigma * cut_size[s, t]
            n_st = row - sigma * u[s, t]
            if n_st < 0.0 and (s == t or not apart[s, t]):
                n_st = 0.0
            n_st = np.rint(n_st / grain) * grain
            largest = max(largest, abs(n_st))
            slack[s, t] = n_st
            slack[t, s] = n_st
            reduced[s, t] = cost[s, t] + row - n_st
            reduced[t, s] = reduced[s, t]
            size += abs(cost[s, t]) + abs(n_st)
            error += size * size if s == t else 2.0 * size * size
    return error, largest
