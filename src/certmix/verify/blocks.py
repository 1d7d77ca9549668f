"""Blocks of the semidefinite step: what every cluster with sizes in an interval costs at least.

The matrix of a block, and why its smallest eigenvalue is a bound, are in docs/certificates.md (semidefinite).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from certmix.verify.evidence import Rejected
from certmix.verify.rounding import UNIT, Array, cholesky_ends, cholesky_loss, gamma

CHUNK = 2_000_000  # numbers that are sorted at a time


@dataclass(frozen=True)
class Pool:
    """Components with one cost function, and the P points that may be in them."""

    components: Array
    points: Array  # (P,), ascending
    weight: Array  # (P,), samples of each
    root: Array  # (P,), its square root
    linear: Array  # (P,)
    vector: Array  # (P, d)
    size: Array  # (P, d), the sum of absolute values in ``vector``
    gamma: Array  # (d,)
    apart: Array  # (P, P) bool
    anchors: Array  # (P,) bool, points that are surely in the (only) component
    mixed: Array  # (P, P), what the prices of sets take
    terms: int  # how many groups a point holds at most


@dataclass(frozen=True)
class Block:
    """The multipliers of one interval of sizes of one pool."""

    low: int
    high: int
    slope: float
    level: float
    T: Array
    over: Array
    under: Array
    cuts: Array  # (c, 3)
    multiplier: Array  # (c,)
    N: Array  # (P, P)


def proved_level(pool: Pool, block: Block) -> float:
    r"""The smallest eigenvalue of the reduced matrix is at least this, a hair below the level that the file claims.

    What Cholesky's factorisation proves is in :func:`.rounding.cholesky_loss`. The entries themselves are sums of
    rounded terms: they err by gamma(terms) times the sum of absolute values, and the norm of such an error is at most
    its largest row sum.
    """
    matrix, size, terms = _reduced(pool, block)
    P = len(matrix)
    with np.errstate(over="ignore", invalid="ignore"):
        diagonal = np.diag(matrix) - block.level
        matrix[np.diag_indices(P)] = diagonal
        error = gamma(terms) * float(size.sum(axis=1).max()) * (1.0 + gamma(P))
    fine = np.isfinite(matrix).all() and np.isfinite(error) and (diagonal > 0.0).all()
    if not (fine and cholesky_ends(matrix)):
        raise Rejected("a reduced matrix is not positive definite at the level that is claimed")
    lost = cholesky_loss(P, float(diagonal.sum())) + error
    return block.level - 1.01 * (lost + 4.0 * UNIT * (float(diagonal.max()) + abs(block.level)))


def _reduced(pool: Pool, b: Block) -> tuple[Array, Array, int]:
    """The reduced matrix, the sum of absolute values of its terms, and how many rounded operations an entry took."""
    r, d = pool.root, pool.vector.shape[1]
    scale = np.sqrt(b.high / (b.high + pool.gamma)) / r[:, None]
    spread, largest = pool.vector * scale, pool.size * scale
    force = (pool.linear - b.T) / r + (b.slope + b.over - b.under) * r
    weight = (pool.linear + np.abs(b.T)) / r + (abs(b.slope) + b.over + b.under) * r
    cut, cut_size, most = _cut_matrix(b, r)
    matrix = (
        -0.5 * (spread @ spread.T) + 0.5 * (np.outer(force, r) + np.outer(r, force)) + cut - pool.mixed - b.N
    )
    size = 0.5 * (largest @ largest.T) + 0.5 * (np.outer(weight, r) + np.outer(r, weight)) + cut_size
    size += np.abs(b.N) + pool.mixed
    matrix[np.diag_indices(len(r))] += b.under * b.low - b.over * b.high
    size[np.diag_indices(len(r))] += b.under * b.low + b.over * b.high
    return matrix, size, 2 * pool.terms + d + most + 64


def _cut_matrix(b: Block, r: Array) -> tuple[Array, Array, int]:
    """All cuts times their multipliers, the sum of absolute values, and the largest number of terms in an entry."""
    P = len(r)
    i, j, k = b.cuts.T
    anchor, triangle = k == -2, k >= 0
    every, t = np.ones(len(k), dtype=bool), np.where(triangle, k, 0)
    # (row, column, sign) of up to four entries: Z_ij - Z_ii [+ Z_ik - Z_jk]; for an anchor Z_jj - Z_ij.
    entries = [
        (np.where(anchor, j, i), j, 1.0, every),
        (i, np.where(anchor, j, i), -1.0, every),
        (i, t, 1.0, triangle),
        (j, t, -1.0, triangle),
    ]
    place = np.concatenate([(s * P + e)[use] for s, e, _, use in entries])
    value = np.concatenate([(0.5 * b.multiplier / (r[s] * r[e]))[use] for s, e, _, use in entries])
    sign = np.concatenate([np.full(use.sum(), sign) for _, _, sign, use in entries])
    half = np.bincount(place, weights=sign * value, minlength=P * P).reshape(P, P)
    size = np.bincount(place, weights=value, minlength=P * P).reshape(P, P)
    return half + half.T, size + size.T, 2 * int(np.bincount(place, minlength=1).max())


def hopeless(pool: Pool, block: Block, i: Array, j: Array, price: Array, live: Array, target: float) -> Array:
    """For pairs of points (j = -1: i alone): no cluster of a live size in this block holds them below the target.

    With ``R_st = r_s r_t N_st`` a cluster S of m samples that holds i and j pays, on top of the price of its size,

        sum_{s,t in S} R_st / m  >=  2/m (R_ij + sum over the others p in S of (R_ip + R_jp)),

    and the others are points that are apart from neither, with m samples together: no cheaper than the cheapest
    fractional choice, by cost per sample. A point that is in the cluster anyway is among the others. All terms are
    nonnegative, so the computed sums of n terms err by gamma(n + 16) of themselves.

    Parameters
    ----------
    price : (n + 1,), bound for everything in which a component of the pool has that many samples
    live : the sizes in the block that have to be looked at
    """
    R = np.outer(pool.root, pool.root) * np.where(pool.apart, 0.0, block.N)
    step = max(1, CHUNK // int(pool.weight.sum()))
    parts = [slice(first, first + step) for first in range(0, len(i), step)]
    found = [_hopeless(pool, R, i[part], j[part], price, live, target) for part in parts]
    return np.concatenate([np.zeros(0, dtype=bool), *found])


def _hopeless(pool: Pool, R: Array, i: Array, j: Array, price: Array, live: Array, target: float) -> Array:
    rows, w = np.arange(len(i)), pool.weight
    anchor = int(np.argmax(pool.anchors * w)) if pool.anchors.any() else -1
    if anchor >= 0:  # whoever is in the cluster is together with its anchor
        j = np.where((j < 0) & (i != anchor), anchor, j)
    alone = j < 0
    other = np.where(alone, i, j)
    cost = R[i] + np.where(alone, 0.0, 1.0)[:, None] * R[other]
    banned = pool.apart[i] | pool.apart[other]
    impossible = banned[rows, i] | banned[rows, other]
    start = w[i] + np.where(alone, 0, w[other])
    paid = np.where(alone, 0.0, R[i, other])
    banned[rows, i] = banned[rows, other] = True
    if anchor >= 0:
        third = (i != anchor) & (other != anchor)
        impossible |= third & banned[:, anchor]
        paid = paid + np.where(third, cost[:, anchor], 0.0)
        start = start + np.where(third, w[anchor], 0)
        banned[:, anchor] = True
    # The others sample by sample, the cheapest first: what so many of them cost together.
    each = np.repeat(np.where(banned, np.inf, cost / w), np.where(np.arange(len(w)) == anchor, 0, w), axis=1)
    total = np.cumsum(np.sort(each, axis=1), axis=1)
    most, safe = total.shape[1], 1.0 - gamma(total.shape[1] + 16)
    out = np.ones(len(i), dtype=bool)
    for m in live.tolist():
        need = m - start
        fill = total[rows, np.clip(need - 1, 0, most - 1)] if most else np.full(len(i), np.inf)
        gain = 2.0 / m * (paid + np.where(need <= 0, 0.0, np.where(need > most, np.inf, fill))) * safe
        rounding = 4.0 * UNIT * (abs(price[m]) + np.where(np.isinf(gain), 0.0, gain))
        out &= (price[m] + gain - rounding >= target) | (need < 0)
    return np.asarray(out | impossible)
