"""What a proof rules out: sizes, components for groups, and pairs of groups in one cluster."""

from __future__ import annotations

import numpy as np

from certmix.kernels.reduced_costs import find_apart
from certmix.search.bounds.semidefinite.admm import Method
from certmix.search.bounds.semidefinite.contraction import Contraction, Domain
from certmix.search.bounds.semidefinite.safe import Proof
from certmix.search.threads import Threads

ANCHORS = 8  # super-points of a cluster that could name its component
SAMPLE = 4000  # pairs


def exclude_sizes(domain: Domain, method: Method, proof: Proof, cutoff: float) -> bool:
    """Drop sizes with which no component can beat the cutoff, and blocks without sizes; False if none is left."""
    for p, pool in enumerate(method.pools):
        pool.sizes &= proof.prices[p] < cutoff
        left = np.flatnonzero(pool.sizes)
        if len(left) == 0:
            return False
        domain.a[pool.components] = np.maximum(domain.a[pool.components], left[0])
        domain.b[pool.components] = np.minimum(domain.b[pool.components], left[-1])
    keep = []
    for b in method.blocks:
        left = np.flatnonzero(method.pools[b.pool].sizes[b.low : b.high + 1]) + b.low
        if len(left):
            b.low, b.high = int(left[0]), int(left[-1])
            keep.append(b)
    method.blocks[:] = keep
    return True


def impossible(
    rows: np.ndarray,
    columns: np.ndarray,
    p: int,
    method: Method,
    proof: Proof,
    cutoff: float,
    threads: Threads,
) -> np.ndarray:
    """For pairs of positions in pool p (column -1: the row alone): cannot be together in any of its blocks."""
    pool = method.pools[p]
    r = method.root[pool.index]
    weight = np.round(r * r)
    price = proof.prices[p]
    hopeless = np.ones(len(rows), dtype=bool)
    likely = int(np.argmin(np.where(pool.sizes, price, np.inf)))
    mine = [i for i, b in enumerate(method.blocks) if b.pool == p]
    # The block with the cheapest size first: most pairs are possible there, and need no other test.
    mine.sort(key=lambda i: not method.blocks[i].low <= likely <= method.blocks[i].high)
    for i in mine:
        b = method.blocks[i]
        test = np.flatnonzero(hopeless)
        if len(test) == 0:
            break
        size = likely if b.low <= likely <= b.high else int(b.low + np.argmin(price[b.low : b.high + 1]))
        found = np.zeros(len(test), dtype=bool)

        def work(first: int, last: int) -> None:
            find_apart(
                first,
                last,
                rows[test],  # noqa: B023
                columns[test],  # noqa: B023
                b.slack,  # noqa: B023
                r,
                weight,
                method.apart[p],
                pool.must,
                price,
                b.low,  # noqa: B023
                b.high,  # noqa: B023
                size,  # noqa: B023
                cutoff,
                found,  # noqa: B023
            )

        threads.over(len(test), work)
        hopeless[test[found]] = False
    return hopeless


def exclude_members(
    domain: Domain, shape: Contraction, method: Method, proof: Proof, cutoff: float, threads: Threads
) -> int:
    """Take components from groups that cannot be in them; returns how many pairs (group, pool) were dropped."""
    dropped = 0
    for p, pool in enumerate(method.pools):
        undecided = (shape.mask[pool.index] & (shape.mask[pool.index] - 1)) != 0
        rows = np.flatnonzero(undecided)
        if len(rows) == 0:
            continue
        columns = np.full(len(rows), pool.must, dtype=np.int64)
        out = impossible(rows, columns, p, method, proof, cutoff, threads)
        bits = np.bitwise_or.reduce(np.int64(1) << pool.components.astype(np.int64))
        domain.mask[shape.first[pool.index[rows[out]]]] &= ~bits
        dropped += int(out.sum())
    return dropped


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


def find_pairs_apart(
    domain: Domain,
    shape: Contraction,
    method: Method,
    proof: Proof,
    cutoff: float,
    labels: np.ndarray,
    threads: Threads,
) -> int:
    """Mark pairs of super-points that no pool can hold together.

    Pairs are looked for where they can give components their names: between the few super-points of every cluster of
    ``labels`` that lie deepest in it, and whatever is in other clusters.
    """
    M = len(shape.root)
    by_point = labels[shape.first]
    depth = margins(shape, by_point)
    deep = np.zeros(M, dtype=bool)
    for k in np.unique(by_point):
        mine = np.flatnonzero(by_point == k)
        deep[mine[np.argsort(-depth[mine], kind="stable")[:ANCHORS]]] = True
    test = (by_point[:, None] != by_point) & ~shape.apart & (deep[:, None] | deep)
    first, second = np.nonzero(np.triu(test, 1))
    if len(first) > 2 * SAMPLE:  # where a sample of the pairs yields nothing, the rest is not worth the time
        some = np.linspace(0, len(first) - 1, SAMPLE).astype(np.int64)
        if not _nowhere(first[some], second[some], M, method, proof, cutoff, threads).any():
            return 0
    found = np.flatnonzero(_nowhere(first, second, M, method, proof, cutoff, threads))
    if len(found) == 0:
        return 0
    apart = np.zeros((M, M), dtype=bool)
    apart[first[found], second[found]] = apart[second[found], first[found]] = True
    domain.apart |= apart[np.ix_(shape.of, shape.of)]
    shape.apart[apart] = True
    for p, pool in enumerate(method.pools):
        method.apart[p] = np.ascontiguousarray(shape.apart[np.ix_(pool.index, pool.index)])
    return len(found)


def _nowhere(
    first: np.ndarray,
    second: np.ndarray,
    M: int,
    method: Method,
    proof: Proof,
    cutoff: float,
    threads: Threads,
) -> np.ndarray:
    """For pairs of super-points: no pool can hold them together."""
    left = np.ones(len(first), dtype=bool)
    for p, pool in enumerate(method.pools):
        place = np.full(M, -1)
        place[pool.index] = np.arange(len(pool.index))
        here = np.flatnonzero(left & (place[first] >= 0) & (place[second] >= 0))
        if len(here):
            out = impossible(place[first[here]], place[second[here]], p, method, proof, cutoff, threads)
            left[here[~out]] = False
    return left
