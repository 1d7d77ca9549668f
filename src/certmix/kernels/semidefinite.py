"""The polyhedral half of the semidefinite relaxation: one block's step of the alternating direction method.

A block holds a matrix X over super-points with ``r_s = sqrt(w_s)``; for a cluster S of m samples it is
``X_st = r_s r_t / m``. Its constraints are X >= 0, X_st = 0 for pairs that must be apart, and for sizes in [l, u]

    l X_ss <= r_s (X r)_s <= u X_ss          (multipliers ``under`` and ``over``),

and all blocks together cover every super-point, ``sum_b (X_b r)_s = r_s`` (multiplier ``cover``, shared).
Multipliers are divided by the penalty sigma throughout.
"""

from __future__ import annotations

from certmix.kernels.compiled import njit
from certmix.kernels.cuts import sweep_cuts


@njit(nogil=True)
def row_forces(cover, over, under, r, force):
    """``force_s`` such that the multipliers of the rows take ``(force_s r_t + force_t r_s) / 2`` from entry (s, t)."""
    for s in range(r.shape[0]):
        force[s] = cover[s] + (over[s] - under[s]) * r[s]


@njit(nogil=True)
def row_sums(y, cut_force, cover, over, under, r, low, high, apart, force, sums, free, diagonal):
    """Row sums ``(X r)_s`` of the projected matrix, its diagonal, and how much of each row can still move."""
    n = r.shape[0]
    row_forces(cover, over, under, r, force)
    for s in range(n):
        total = 0.0
        movable = 0.0
        for t in range(n):
            if s == t:
                x = y[s, s] - cut_force[s, s] - force[s] * r[s] + over[s] * high - under[s] * low
                if x < 0.0:
                    x = 0.0
                diagonal[s] = x
                if x > 0.0:
                    total += x * r[s]
                    movable += r[s] * r[s]
            elif not apart[s, t]:
                x = y[s, t] - cut_force[s, t] - 0.5 * (force[s] * r[t] + force[t] * r[s])
                if x > 0.0:
                    total += x * r[t]
                    movable += 0.5 * r[t] * r[t]
        sums[s] = total
        free[s] = movable


@njit(nogil=True)
def update_sizes(sums, free, diagonal, r, low, high, over, under):
    """Projected step on the multipliers of the size rows of one block."""
    for s in range(r.shape[0]):
        w = r[s] * r[s]
        have = r[s] * sums[s]
        curve = w * max(free[s], 0.5 * w)
        over[s] = max(0.0, over[s] + (have - high * diagonal[s]) / (curve + high * high))
        under[s] = max(0.0, under[s] + (low * diagonal[s] - have) / (curve + low * low))


@njit(nogil=True)
def project(y, cover, over, under, r, low, high, apart, ends, signs, multiplier, cut_force, w, force, x, u):
    """Write the projection X of Y and U = Y - X; return the squared change of X.

    ``cut_force`` holds what the cuts take from every entry; one pass over the cuts is made on the way. ``w`` and
    ``force`` are scratch.
    """
    n = r.shape[0]
    row_forces(cover, over, under, r, force)
    for s in range(n):
        for t in range(n):
            if s == t:
                w[s, s] = y[s, s] - cut_force[s, s] - force[s] * r[s] + over[s] * high - under[s] * low
            elif apart[s, t]:
                w[s, t] = 0.0
            else:
                w[s, t] = y[s, t] - cut_force[s, t] - 0.5 * (force[s] * r[t] + force[t] * r[s])
    sweep_cuts(ends, signs, multiplier, r, w, cut_force)
    change = 0.0
    for s in range(n):
        for t in range(n):
            value = w[s, t]
            if value < 0.0 or (s != t and apart[s, t]):
                value = 0.0
            change += (value - x[s, t]) ** 2
            x[s, t] = value
            u[s, t] = y[s, t] - value
    return change


@njit(nogil=True)
def split_multipliers(
    u, cost, sigma, cover, over, under, r, low, high, apart, cut_force, cut_size, force, slack, reduced
):
    """The multipliers N of X >= 0 and the reduced matrix ``S = cost + rows + cuts - N``; both exact by definition.

    Returns a bound on the squared Frobenius norm of the rounding in S, in units of the machine epsilon: the entries are
    sums of a few terms, each a product with square roots.
    """
    n = r.shape[0]
    row_forces(cover, over, under, r, force)
    error = 0.0
    for s in range(n):
        for t in range(n):
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
            slack[s, t] = n_st
            reduced[s, t] = cost[s, t] + row - n_st
            size += abs(cost[s, t]) + abs(n_st)
            error += size * size
    return error
