"""What a proof rules out: sizes, components for groups, and pairs of groups in one cluster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from certmix.kernels.reduced_costs import find_apart
from certmix.search.bounds.semidefinite.admm import Method
from certmix.search.bounds.semidefinite.contraction import Contraction, Region, pairwise_apart, undecided
from certmix.search.bounds.semidefinite.pools import ComponentPool, SizeBlock
from certmix.search.bounds.semidefinite.safe import Proof


@dataclass(frozen=True)
class Tuning:
    """What is looked at, and what is worth a step."""

    deepest: int = 8  # super-points of a cluster that could name its component, and whose pairs are looked at
    small_step: float = 2.0**22  # bytes of a recorded step; smaller ones are worth any exclusion ...
    large_step: float = 2.0**25  # ... larger ones only ...
    least_share: float = 0.15  # ... those that take away this share of what is possible


TUNING = Tuning()


@dataclass(frozen=True)
class Exclusions:
    """What one proof rules out in a node.

    Attributes
    ----------
    sizes : per pool, (n + 1,) bool, the sizes that are left
    gone : (M, K) bool, components that super-points cannot be in
    pairs : (M, M) bool, pairs that cannot be together, beyond those known
    """

    sizes: list[np.ndarray]
    gone: np.ndarray
    pairs: np.ndarray

    def anything(self, method: Method) -> bool:
        fewer = any((p.sizes & ~s).any() for p, s in zip(method.pools, self.sizes, strict=True))
        return fewer or bool(self.gone.any() or self.pairs.any())

    def narrow(self, region: Region, shape: Contraction, pools: list[ComponentPool]) -> None:
        """Take it from a node."""
        for pool, sizes in zip(pools, self.sizes, strict=True):
            left = np.flatnonzero(sizes)
            region.a[pool.components] = np.maximum(region.a[pool.components], left[0])
            region.b[pool.components] = np.minimum(region.b[pool.components], left[-1])
        region.allowed[shape.first] &= ~self.gone
        if self.pairs.any():
            region.apart |= self.pairs[np.ix_(shape.of, shape.of)]

    def apply(self, region: Region, shape: Contraction, method: Method) -> None:
        """Take it from a node and from its blocks."""
        self.narrow(region, shape, method.pools)
        for pool, sizes in zip(method.pools, self.sizes, strict=True):
            pool.sizes = sizes
        method.blocks[:] = [b for b in method.blocks if self.sizes[b.pool][b.low : b.high + 1].any()]
        for b in method.blocks:
            left = np.flatnonzero(self.sizes[b.pool][b.low : b.high + 1]) + b.low
            b.low, b.high = int(left[0]), int(left[-1])
        if self.pairs.any():
            shape.apart[self.pairs] = True
            method.apart = [np.ascontiguousarray(shape.apart[np.ix_(p.index, p.index)]) for p in method.pools]

    def worth(self, shape: Contraction, method: Method) -> bool:
        """Whether it takes away so much of what is possible, or of the blocks, that it is worth the bytes of a step.

        That does not depend on whether steps are recorded, so that the search is the same in both cases.
        """
        size = sum(0.75 * len(b.over) ** 2 + 5.0 * len(b.cuts.multiplier) for b in method.blocks)
        least = TUNING.least_share * min(1.0, max(0.0, size - TUNING.small_step) / TUNING.large_step)
        left = sum(bool(self.sizes[b.pool][b.low : b.high + 1].any()) for b in method.blocks)
        if len(method.blocks) - left > 2.0 * least * len(method.blocks):
            return True
        lost = np.count_nonzero(self.gone & shape.allowed)
        if lost > least * (np.count_nonzero(shape.allowed) - len(shape.allowed)):
            return True
        if np.count_nonzero(self.pairs) > least * np.count_nonzero(~shape.apart):
            return True
        before, after = sum(int(p.sizes.sum()) for p in method.pools), sum(int(s.sum()) for s in self.sizes)
        return before - after > 2.0 * least * before


def sizes_left(method: Method, proof: Proof, cutoff: float) -> list[np.ndarray]:
    """Per pool the sizes with which a component can still beat the cutoff."""
    return [pool.sizes & (proof.prices[p] < cutoff) for p, pool in enumerate(method.pools)]


def impossible(
    rows: np.ndarray,
    columns: np.ndarray,
    p: int,
    blocks: list[SizeBlock],
    method: Method,
    proof: Proof,
    cutoff: float,
) -> np.ndarray:
    """For pairs of positions in pool p (column -1: the row alone): cannot be together in any of its ``blocks``."""
    pool = method.pools[p]
    r = method.root[pool.index]
    weight = np.round(r * r)
    price = proof.prices[p]
    hopeless = np.ones(len(rows), dtype=bool)
    likely = 1 + int(np.argmin(np.where(pool.sizes, price, np.inf)[1:]))
    # The block with the cheapest size first: most pairs are possible there, and need no other test.
    for b in sorted(blocks, key=lambda b: not b.low <= likely <= b.high):
        if price[b.low : b.high + 1].min() >= cutoff:
            continue
        test = np.flatnonzero(hopeless)
        if len(test) == 0:
            break
        size = likely if b.low <= likely <= b.high else int(b.low + np.argmin(price[b.low : b.high + 1]))
        found = np.zeros(len(test), dtype=bool)

        known = b.slack, r, weight, method.apart[p], pool.must, price, b.low, b.high, size, cutoff
        pairs = rows[test], columns[test]

        def work(first: int, last: int) -> None:
            find_apart(first, last, *pairs, *known, found)  # noqa: B023

        method.threads.over(len(test), work)
        hopeless[test[found]] = False
    return hopeless


def members_gone(shape: Contraction, method: Method, proof: Proof, cutoff: float) -> np.ndarray:
    """(M, K) bool: the components that super-points cannot be in."""
    gone, several = np.zeros_like(shape.allowed), undecided(shape.allowed)
    blocks = method.by_pool()
    for p, pool in enumerate(method.pools):
        rows = np.flatnonzero(several[pool.index])
        if len(rows) == 0:
            continue
        columns = np.full(len(rows), pool.must, dtype=np.int64)
        out = impossible(rows, columns, p, blocks[p], method, proof, cutoff)
        gone[np.ix_(pool.index[rows[out]], pool.components)] = True
    return gone


def margins(shape: Contraction, by_point: np.ndarray) -> np.ndarray:
    """How much dearer than its own cluster's mean the nearest other one is, for every super-point."""
    x = shape.points[0]
    clusters = np.unique(by_point)
    costs = np.empty((len(x), len(clusters)))
    for c, k in enumerate(clusters):
        mates = by_point == k
        mean = np.average(x[mates], axis=0, weights=shape.weight[mates])
        costs[:, c] = ((x - mean) ** 2).sum(axis=1)
    rows, mine = np.arange(len(x)), np.searchsorted(clusters, by_point)
    own = costs[rows, mine].copy()
    costs[rows, mine] = np.inf
    others = costs.min(axis=1)
    return np.where(np.isfinite(others), others - own, -own)


def pairs_apart(
    shape: Contraction, method: Method, proof: Proof, cutoff: float, labels: np.ndarray
) -> np.ndarray:
    """(M, M) bool: pairs of super-points that no pool can hold together, beyond those that are known.

    Pairs are looked for where they can give components their names: between the few super-points of every cluster of
    ``labels`` that lie deepest in it; and where those are enough for names, whatever is in other clusters.
    """
    M = len(shape.root)
    by_point = labels[shape.first]
    depth = margins(shape, by_point)
    deep = np.zeros(M, dtype=bool)
    for k in np.unique(by_point):
        mine = np.flatnonzero(by_point == k)
        deep[mine[np.argsort(-depth[mine], kind="stable")[: TUNING.deepest]]] = True
    test = (by_point[:, None] != by_point) & ~shape.apart & (deep[:, None] | deep)
    apart = np.zeros((M, M), dtype=bool)

    def look(first: np.ndarray, second: np.ndarray) -> None:
        found = _nowhere(first, second, M, method, proof, cutoff)
        apart[first[found], second[found]] = apart[second[found], first[found]] = True

    first, second = np.nonzero(np.triu(test, 1))
    both = deep[first] & deep[second]
    look(first[both], second[both])
    nameless = max(pool.count for pool in method.pools)
    if nameless > 1:
        could = pairwise_apart(np.flatnonzero(deep), shape.apart | apart, by_point, nameless)
        if len(could) < max(2, nameless - 1):
            return apart
    look(first[~both], second[~both])
    return apart


def _nowhere(
    first: np.ndarray, second: np.ndarray, M: int, method: Method, proof: Proof, cutoff: float
) -> np.ndarray:
    """For pairs of super-points: no pool can hold them together."""
    left, blocks = np.ones(len(first), dtype=bool), method.by_pool()
    for p, pool in enumerate(method.pools):
        place = np.full(M, -1)
        place[pool.index] = np.arange(len(pool.index))
        here = np.flatnonzero(left & (place[first] >= 0) & (place[second] >= 0))
        if len(here):
            pairs = place[first[here]], place[second[here]]
            out = impossible(*pairs, p, blocks[p], method, proof, cutoff)
            left[here[~out]] = False
    return left
