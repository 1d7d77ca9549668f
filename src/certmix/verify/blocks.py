r"""Blocks of the semidefinite step: what every cluster with sizes in an interval costs at least.

A cluster S of m samples becomes the unit vector x with ``x_s = r_s / sqrt(m)`` on S and zero elsewhere; s runs over
points (groups, or several groups of one component taken together), ``r_s`` is the square root of the samples in s. With
``V_s = sum w x`` and ``lin_s = sum (scatter + w/2 |x|^2)`` over the groups of a point, coordinates relative to the
prior's mean, its quadratic cost is

    sum_{s in S} lin_s - 1/2 sum_j (sum_{s in S} V_sj)^2 / (m + gamma_j)
        >=  x' [ -1/2 sum_j rho_j (V_j / r)(V_j / r)' + sym((lin / r) r') ] x     for m <= u, rho_j = u / (u + gamma_j)

because ``x'r = sqrt(m)``; sym(f r') is ``(f r' + r f') / 2``, and a sum over S of any numbers a_s is
x' sym((a / r) r') x. For sizes in [l, u] and numbers over, under, cut >= 0 these are not positive:

    over_s  (sym(r_s e_s r') - u e_s e_s'),  under_s (l e_s e_s' - sym(r_s e_s r'))     for  X_ss m = r_s^2, X = x x'
    cut (Z_ij - Z_ii),  cut (Z_ij + Z_ik - Z_ii - Z_jk)                                 with Z_st = X_st / (r_s r_t)
    cut (Z_jj - Z_aj)                                                     where a is in the cluster anyway

(Z is 1/m on S x S). So with S the matrix of the cost plus all these less T and less a matrix N, at any slope beta,

    cost(S) - T(S)  >=  lambda_min(S) + x' N x + entropy[m] - beta m,

and x' N x >= 0 when N >= 0 wherever two points may be together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from certmix.verify.evidence import Rejected
from certmix.verify.rounding import UNIT, cholesky_loss, gamma

CHUNK = 2_000_000  # numbers that are sorted at a time


@dataclass(frozen=True)
class Pool:
    """Components with one cost function, and the P points that may be in them."""

    components: np.ndarray
    points: np.ndarray  # (P,), ascending
    weight: np.ndarray  # (P,), samples of each
    root: np.ndarray  # (P,), its square root
    linear: np.ndarray  # (P,)
    vector: np.ndarray  # (P, d)
    size: np.ndarray  # (P, d), the sum of absolute values in ``vector``
    gamma: np.ndarray  # (d,)
    apart: np.ndarray  # (P, P) bool
    anchors: np.ndarray  # (P,) bool, points that are surely in the (only) component
    terms: int  # how many groups a point holds at most


@dataclass(frozen=True)
class Block:
    """The multipliers of one interval of sizes of one pool."""

    low: int
    high: int
    slope: float
    level: float
    T: np.ndarray
    over: np.ndarray
    under: np.ndarray
    cuts: np.ndarray  # (c, 3)
    multiplier: np.ndarray  # (c,)
    N: np.ndarray  # (P, P)


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
    if not (np.isfinite(matrix).all() and np.isfinite(error) and (diagonal > 0.0).all()):
        raise Rejected("a reduced matrix is not positive definite at the level that is claimed")
    try:
        factor = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        raise Rejected("a reduced matrix is not positive definite at the level that is claimed") from None
    if not np.isfinite(factor).all():
        raise Rejected("a reduced matrix has no factorisation")
    lost = cholesky_loss(P, float(diagonal.sum()))
    lost += error + 4.0 * UNIT * (float(diagonal.max()) + abs(block.level))
    return block.level - 1.01 * lost


def _reduced(pool: Pool, b: Block) -> tuple[np.ndarray, np.ndarray, int]:
    """The reduced matrix, the sum of absolute values of its terms, and how many rounded operations an entry took."""
    r, P = pool.root, len(pool.root)
    scale = np.sqrt(b.high / (b.high + pool.gamma)) / r[:, None]
    spread, largest = pool.vector * scale, pool.size * scale
    force = (pool.linear - b.T) / r + (b.slope + b.over - b.under) * r
    weight = (pool.linear + np.abs(b.T)) / r + (abs(b.slope) + b.over + b.under) * r
    cut, cut_size, most = _cut_matrix(b, r)
    matrix = -0.5 * (spread @ spread.T) + 0.5 * (np.outer(force, r) + np.outer(r, force)) + cut - b.N
    size = (
        0.5 * (largest @ largest.T)
        + 0.5 * (np.outer(weight, r) + np.outer(r, weight))
        + cut_size
        + np.abs(b.N)
    )
    matrix[np.diag_indices(P)] += b.under * b.low - b.over * b.high
    size[np.diag_indices(P)] += b.under * b.low + b.over * b.high
    return matrix, size, 2 * pool.terms + pool.vector.shape[1] + most + 64


def _cut_matrix(b: Block, r: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """All cuts times their multipliers, the sum of absolute values, and the largest number of terms in an entry."""
    P = len(r)
    i, j, k = b.cuts.T
    pair, anchor = k == -1, k == -2
    triangle = ~(pair | anchor)
    t = np.where(triangle, k, 0)
    # (row, column, sign) of up to four entries: Z_ij - Z_ii [+ Z_ik - Z_jk]; for an anchor Z_jj - Z_ij.
    entries = [
        (np.where(anchor, j, i), j, 1.0, slice(None)),
        (i, np.where(anchor, j, i), -1.0, slice(None)),
        (i, t, 1.0, triangle),
        (j, t, -1.0, triangle),
    ]
    place = np.concatenate([(s * P + e)[use] for s, e, _, use in entries])
    value = np.concatenate([(0.5 * b.multiplier / (r[s] * r[e]))[use] for s, e, _, use in entries])
    sign = np.concatenate([np.full(len(s[use]), float(g)) for s, _, g, use in entries])
    half = np.bincount(place, weights=sign * value, minlength=P * P).reshape(P, P)
    size = np.bincount(place, weights=value, minlength=P * P).reshape(P, P)
    most = int(np.bincount(place, minlength=1).max()) if len(place) else 0
    return half + half.T, size + size.T, 2 * most


def hopeless(
    pool: Pool, block: Block, i: np.ndarray, j: np.ndarray, price: np.ndarray, live: np.ndarray, target: float
) -> np.ndarray:
    """For pairs of points (j = -1: i alone): no cluster of a live size in this block holds them below the target.

    With ``R_st = r_s r_t N_st`` a cluster S of m samples that holds i and j pays, on top of the price of its size,

        sum_{s,t in S} R_st / m  >=  2/m (R_ij + sum over the others p in S of (R_ip + R_jp)),

    and the others are points that are apart from neither, with m samples together: no cheaper than the cheapest
    fractional choice, by cost per sample. A point that is in the cluster anyway is among the others. All terms are
    nonnegative, so the computed sums err by gamma(P + 16) of themselves.

    Parameters
    ----------
    price : (n + 1,), bound for everything in which a component of the pool has that many samples
    live : the sizes in the block that have to be looked at
    """
    R = np.outer(pool.root, pool.root) * np.where(pool.apart, 0.0, block.N)
    out = np.empty(len(i), dtype=bool)
    step = max(1, CHUNK // len(R))
    for first in range(0, len(i), step):
        part = slice(first, first + step)
        out[part] = _hopeless(pool, R, i[part], j[part], price, live, target)
    return out


def _hopeless(
    pool: Pool,
    R: np.ndarray,
    i: np.ndarray,
    j: np.ndarray,
    price: np.ndarray,
    live: np.ndarray,
    target: float,
) -> np.ndarray:
    rows, P, w = np.arange(len(i)), len(R), pool.weight
    anchor = int(np.argmax(pool.anchors * w)) if pool.anchors.any() else -1
    alone = j < 0
    if anchor >= 0:  # whoever is in the cluster is together with its anchor
        j = np.where(alone & (i != anchor), anchor, j)
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
    ratio = np.where(banned, np.inf, cost / w)
    others = np.arange(P) != anchor
    filling = _fill_unit(ratio) if (w[others] == 1).all() else _fill(ratio, w)
    safe = 1.0 - gamma(P + 16)
    out = np.ones(len(i), dtype=bool)
    for m in live.tolist():
        need = m - start
        gain = 2.0 / m * (paid + filling(np.maximum(need, 0))) * safe
        enough = (
            price[m] + gain - 4.0 * UNIT * (abs(price[m]) + np.where(np.isinf(gain), 0.0, gain)) >= target
        )
        out &= enough | (need < 0)
    return np.asarray(out | impossible)


def _fill_unit(ratio: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """The cost of the cheapest so many points of one sample each, per row."""
    total = np.cumsum(np.sort(ratio, axis=1), axis=1)
    rows, P = np.arange(len(ratio)), ratio.shape[1]

    def cost(need: np.ndarray) -> np.ndarray:
        found = total[rows, np.clip(need - 1, 0, P - 1)]
        return np.where(need == 0, 0.0, np.where(need > P, np.inf, found))

    return cost


def _fill(ratio: np.ndarray, weight: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """The cost of the cheapest so many samples in points of several, the last one taken in part, per row."""
    order = np.argsort(ratio, axis=1)
    ratio = np.take_along_axis(ratio, order, axis=1)
    w = weight[order]
    rows, P = np.arange(len(ratio)), ratio.shape[1]
    zero = np.zeros((len(ratio), 1))
    filled = np.concatenate([zero, np.cumsum(w, axis=1)], axis=1)
    total = np.concatenate([zero, np.cumsum(ratio * w, axis=1)], axis=1)

    def cost(need: np.ndarray) -> np.ndarray:
        full = (filled[:, 1:] < need[:, None]).sum(axis=1)  # points taken whole
        at = np.minimum(full, P - 1)
        with np.errstate(invalid="ignore"):
            part = total[rows, at] + ratio[rows, at] * (need - filled[rows, at])
        return np.where(need == 0, 0.0, np.where(full == P, np.inf, part))

    return cost
