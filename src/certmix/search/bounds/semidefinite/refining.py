"""Making the relaxation of a node finer: narrower size blocks, more cuts."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import numpy as np

from certmix.search.bounds.semidefinite.admm import Method
from certmix.search.bounds.semidefinite.crossings import costs
from certmix.search.bounds.semidefinite.pools import LEAST_TRACE, SizeBlock, slope_of

MOST_NEW_CUTS = 3000  # a block gets at a time


def separate(method: Method) -> int:
    """Add violated cuts to the blocks that hold something; returns how many."""
    added = np.zeros(len(method.blocks), dtype=np.int64)

    def work(first: int, last: int) -> None:
        for i in range(first, last):
            b = method.blocks[i]
            if b.trace >= LEAST_TRACE:
                r = method.root[method.pools[b.pool].index]
                added[i] = b.cuts.separate(b.x, r, MOST_NEW_CUTS)

    method.threads.over(len(method.blocks), work)
    return int(added.sum())


def refine(method: Method, gap: float, most: float) -> bool:
    """Split the blocks whose chord lies far below the entropy; True when there was one.

    The matrices have at most ``most`` entries afterwards.
    """
    total = sum(p.count for p in method.pools)
    room = most - sum(b.x.size for b in method.blocks)
    new: list[SizeBlock] = []
    for b in method.blocks:
        pool = method.pools[b.pool]
        sizes = np.flatnonzero(pool.sizes[b.low : b.high + 1]) + b.low
        bend = pool.entropy[sizes] - b.slope * sizes
        bent = bend.max() - bend.min() >= 0.25 * gap / total
        if b.trace < LEAST_TRACE or len(sizes) < 3 or not bent or b.x.size > room:
            new.append(b)
        else:
            at = min(max(int(sizes[np.argmax(bend)]), b.low), b.high - 1)
            halves = [
                (low, high)
                for low, high in ((b.low, at), (at + 1, b.high))
                if pool.sizes[low : high + 1].any()
            ]
            new += [_part(b, method, low, high, 1.0 / len(halves)) for low, high in halves]
            room -= b.x.size * (len(halves) - 1)
    done = len(new) > len(method.blocks)
    method.blocks[:] = new
    return done


def _part(block: SizeBlock, method: Method, low: int, high: int, share: float) -> SizeBlock:
    """The part of a block with sizes in ``[low, high]``, holding a share of what the block held."""
    pool = method.pools[block.pool]
    slope, offset = slope_of(pool, low, high)
    return replace(
        block,
        low=low,
        high=high,
        slope=slope,
        offset=offset,
        cost=costs(method, block.pool, high, slope),
        x=share * block.x,
        u=block.u.copy(),
        over=block.over.copy(),
        under=block.under.copy(),
        cuts=deepcopy(block.cuts),
        held=share * block.held,
        trace=share * block.trace,
    )
