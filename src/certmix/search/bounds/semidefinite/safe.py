"""A proved bound from whatever multipliers the method has reached.

For every cluster S of m samples in block b, with x_s = r_s / sqrt(m) on S and T_s the multiplier of super-point s,

    cost(S) - sum_{s in S} T_s  >=  lambda_min(S_b) + x' N x + entropy[m] - slope m,

because the rows of block b hold for it with the right sign and N >= 0 where X may be positive. Hence the bound is
``sum_s T_s`` plus the cheapest sizes that add up to n, each size m costing psi(m) = lambda_min + entropy[m] - slope m,
and an empty component, where there may be one, entropy[0].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from certmix.kernels.profiles import profile
from certmix.kernels.semidefinite import split_multipliers
from certmix.search.bounds.semidefinite.admm import Method
from certmix.search.bounds.semidefinite.crossings import demanded
from certmix.search.bounds.semidefinite.eigen import UNIT, smallest_from_below
from certmix.search.bounds.semidefinite.pools import SizeBlock
from certmix.search.bounds.semidefinite.steps import LARGEST_MULTIPLE, Rounded


@dataclass(frozen=True)
class Proof:
    """What the multipliers prove.

    Attributes
    ----------
    bound : lower bound on the cost of everything in the node
    prices : (pools, n + 1), lower bound when some component of the pool has m samples
    level : per block, the proved smallest eigenvalue of its reduced matrix
    grain, rounded : per block, the grain of N and the other multipliers, as a certificate holds them
    """

    bound: float
    prices: np.ndarray
    level: np.ndarray
    grain: np.ndarray
    rounded: Sequence[Rounded]


def prove(method: Method, constant: float, error: float, terms: int, grain: float) -> Proof:
    """The bound at the present multipliers; the multipliers N are left in the blocks.

    ``constant`` is added and ``error`` taken off; ``terms`` bounds how many rounded operations made an entry. The
    multipliers are first rounded to what a certificate would hold, N to multiples of the ``grain`` (see
    :mod:`.record`).
    """
    pools, blocks = method.pools, method.blocks
    n = len(pools[0].entropy) - 1
    T = -method.sigma * method.cover * method.root
    level, grains = np.zeros(len(blocks)), np.full(len(blocks), grain)
    rounded = [Rounded.of(b, method.sigma, grain) for b in blocks]

    def work(first: int, last: int) -> None:
        for i in range(first, last):
            level[i], grains[i] = _level(method, blocks[i], rounded[i], terms, grain)

    method.threads.over(len(blocks), work)
    costs = np.full((len(pools), n + 1), np.inf)
    for i, b in enumerate(blocks):
        sizes = np.flatnonzero(pools[b.pool].sizes[b.low : b.high + 1]) + b.low
        costs[b.pool, sizes] = level[i] + pools[b.pool].entropy[sizes] - b.slope * sizes
    for p, pool in enumerate(pools):
        if pool.sizes[0]:  # an empty component
            costs[p, 0] = pool.entropy[0]
    alone = np.empty_like(costs)
    counts = np.array([p.count for p in pools], dtype=np.int64)
    total = profile(costs, counts, alone)
    largest = max(float(np.abs(c[np.isfinite(c)]).max(initial=0.0)) for c in costs)
    largest += max(
        abs(b.slope) * n + float(np.abs(pools[b.pool].entropy[pools[b.pool].sizes]).max()) for b in blocks
    )
    added = demanded(method)
    # n: the logarithms of the entropy lose a unit for every sample where the weight is near one.
    magnitude = float(np.abs(T).sum()) + abs(constant) + added + float(counts.sum()) * largest + n
    terms = len(T) + int(counts.sum()) + 64
    shift = float(T.sum()) + constant + added - error - terms * UNIT * magnitude
    if not (np.isfinite(shift) and np.isfinite(level).all()):
        # A price that is not a number would compare as if it ruled out its size.
        return Proof(-np.inf, np.full_like(costs, -np.inf), level, grains, rounded)
    return Proof(total + shift, costs + alone + shift, level, grains, rounded)


def _level(
    method: Method, block: SizeBlock, rounded: Rounded, terms: int, grain: float
) -> tuple[float, float]:
    """A proved lower bound on the smallest eigenvalue of a block's reduced matrix, and the grain that N took."""
    pool, r, apart = method.pools[block.pool], method.roots[block.pool], method.apart[block.pool]
    P, sigma = len(r), method.sigma
    block.slack, reduced = np.empty((P, P)), np.empty((P, P))
    over, under, cuts = rounded.unscaled(block.cuts, sigma)
    force, size = cuts.exact(r)
    rows = (method.cover[pool.index], over, under, r, float(block.low), float(block.high), apart)
    known = (block.u, block.cost, sigma, *rows, force, size, np.empty(P))
    squared, largest = split_multipliers(*known, grain, block.slack, reduced)
    if LARGEST_MULTIPLE * grain < largest < np.inf:
        grain = float(2.0 ** np.ceil(np.log2(largest / LARGEST_MULTIPLE)))
        squared, _ = split_multipliers(*known, grain, block.slack, reduced)
    # The cost matrix itself was rounded, term by term, before the terms cancelled.
    parts = float(pool.linear.sum() + 2.0 * np.linalg.norm(pool.linear / r) * np.linalg.norm(r))
    parts += abs(block.slope) * float((r**2).sum())
    parts += sum(c.price for c in method.crossings) * float((r**2).sum())
    terms += 4 * len(method.crossings)
    rounding = (terms + 64) * UNIT * (np.sqrt(squared) + parts)
    # Each cut is one more rounded addition, and a merged super-point collects very many of them.
    rounding += np.count_nonzero(block.cuts.multiplier) * UNIT * sigma * float(np.linalg.norm(size))
    if np.isfinite(rounding) and np.isfinite(reduced).all():
        return smallest_from_below(reduced, method.single) - rounding, grain
    block.slack = np.zeros((P, P))  # multipliers that have overflowed prove nothing
    return -np.inf, grain
