"""Where the method starts in a node: from a clustering, or from where its parent stopped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from certmix import memory
from certmix.presolve.instance import Instance
from certmix.search.bounds.semidefinite.admm import Method
from certmix.search.bounds.semidefinite.contraction import Contraction
from certmix.search.bounds.semidefinite.crossings import carried, costs
from certmix.search.bounds.semidefinite.cuts import Cuts
from certmix.search.bounds.semidefinite.pools import (
    LEAST_TRACE,
    ComponentPool,
    Interval,
    SizeBlock,
    cost_matrix,
    first_blocks,
    joined,
    slope_of,
)
from certmix.search.bounds.semidefinite.states import Warm
from certmix.threads import Threads

MATRICES = 6  # of a block: its cost, state and slack, and one of a step


def soft_minimum(instance: Instance, labels: np.ndarray, unit: float) -> np.ndarray:
    """Multipliers of the groups around a clustering: what a group costs, softly, in its cheapest component.

    ``unit`` is the temperature.

    A uniform amount per cluster is added, so that the smallest clusters (a single group far out) do not undercut the
    clusters at hand.
    """
    K = instance.n_components
    w = instance.weight.astype(np.float64)
    sizes = np.bincount(labels, weights=w, minlength=K)
    used = np.flatnonzero(sizes > 0)
    costs = np.full((instance.n_groups, K), np.inf)
    for k in used:
        c = 0 if instance.shared else int(k)
        mine = labels == k
        total = (w[mine, None] * instance.points[c][mine]).sum(axis=0)
        gamma = instance.prior_weight[k]
        mean = (total + gamma * instance.prior_mean[k]) / (sizes[k] + gamma)
        away = instance.points[c] - mean
        share = instance.entropy[k, int(sizes[k])] / sizes[k]
        costs[:, k] = instance.scatter[c] + w * (0.5 * np.einsum("ij,ij->i", away, away) + share)
    costs[~instance.allowed] = np.inf
    costs[~np.isfinite(costs).any(axis=1)] = 0.0  # a group that is allowed in empty components only
    least = costs.min(axis=1)
    T = least - unit * np.log(np.exp(-(costs - least[:, None]) / unit).sum(axis=1))
    alone = instance.entropy[used][:, instance.weight].min(axis=0)
    under = float(np.max(T - np.where(np.isfinite(alone), alone, np.inf), initial=0.0))
    return T + under * w / sizes[labels]


def cold_start(
    shape: Contraction,
    pools: list[ComponentPool],
    T: np.ndarray,
    labels: np.ndarray,
    sigma: float,
    threads: Threads,
    most: float,
) -> Method:
    """Start from multipliers and a clustering of the groups, with at most so many entries in the blocks."""
    cover = -np.bincount(shape.of, weights=T, minlength=len(shape.root)) / shape.root / sigma
    clusters = _clusters(shape, labels)
    sizes = np.array([m for _, m in clusters]) if clusters else np.array([shape.weight.sum() / 2.0])
    parts = [
        [
            Interval(low, high, float(((low <= sizes) & (sizes <= high)).sum()))
            for low, high in first_blocks(pool, sizes)
        ]
        for pool in pools
    ]
    places = [
        (p, parts[p][run[0]].low, parts[p][run[-1]].high)
        for p, runs in enumerate(joined(pools, parts, most))
        for run in runs
    ]
    _require(pools, [p for p, _, _ in places])
    blocks = [_new_block(pools[p], p, low, high, shape.root, cover) for p, low, high in places]
    method = Method(shape.root, shape.apart, pools, blocks, cover, sigma, threads)
    _place(method, shape, clusters)
    if clusters:
        _hold_apart(method, [members for members, _ in clusters])
    return method


def warm_start(
    shape: Contraction, pools: list[ComponentPool], warm: Warm, threads: Threads, most: float
) -> Method:
    """Start from the parent's (or the same node's earlier) state, contracted, with at most so many entries.

    The blocks of a state that nobody else needs are given up one by one, so that there are never two of all matrices.
    """
    old_shape, old = warm.shape, warm.method
    sigma = old.sigma
    into = shape.of[old_shape.first]  # new super-point of every old one
    part = old_shape.root / shape.root[into]
    T = np.bincount(into, weights=old.cover * old_shape.root, minlength=len(shape.root))
    cover = T / shape.root
    source = {int(k): p for p, pool in enumerate(old.pools) for k in pool.components}
    origin = [source[int(pool.components[0])] for pool in pools]
    shares = _shares(pools, old_shape, old, into)
    moves = [
        _Move.of(pool, old.pools[q].index, into, part, share)
        for pool, q, share in zip(pools, origin, shares, strict=True)
    ]
    parts = _parts(pools, old, origin, moves, most)
    _require(pools, [p for p, mine in enumerate(parts) for part in mine.values() if part.first])
    waiting = old.blocks if warm.alone else list(old.blocks)
    waiting.reverse()
    found: list[list[SizeBlock]] = [[] for _ in pools]
    takers: list[list[int]] = [[] for _ in waiting]  # the pools that take something of every old block
    for p, mine in enumerate(parts):
        for i in mine:
            takers[i].append(p)
    for i, takes in enumerate(takers):
        b = waiting.pop()
        for p in takes:
            pool, part = pools[p], parts[p][i]
            if part.first:
                found[p].append(_new_block(pool, p, part.low, part.high, shape.root, cover))
            if b.x.size:
                moves[p].add(found[p][-1], b, part, shape.root[pool.index], pool.must)
    method = Method(
        shape.root, shape.apart, pools, [b for mine in found for b in mine], cover, sigma, threads
    )
    method.crossings = carried(old.crossings, into, len(shape.root))
    for b in method.blocks if method.crossings else []:
        b.cost = costs(method, b.pool, b.high, b.slope)
    return method


@dataclass(frozen=True)
class _Part:
    """What an old block becomes: a new one of the sizes ``[low, high]``, or a share of it where some are joined."""

    low: int
    high: int
    first: bool  # of the parts of the new block
    most: bool  # does it hold most of it
    share: float


def _parts(
    pools: list[ComponentPool], old: Method, origin: list[int], moves: list[_Move], most: float
) -> list[dict[int, _Part]]:
    """For every pool what becomes of the old blocks, by their numbers."""
    number = {id(b): i for i, b in enumerate(old.blocks)}
    blocks = old.by_pool()
    mine = [
        [number[id(b)] for b in blocks[q] if pool.sizes[b.low : b.high + 1].any()]
        for pool, q in zip(pools, origin, strict=True)
    ]
    intervals = [
        [Interval(b.low, b.high, move.held(b)) for b in (old.blocks[i] for i in here)]
        for here, move in zip(mine, moves, strict=True)
    ]
    found: list[dict[int, _Part]] = [{} for _ in pools]
    for p, runs in enumerate(joined(pools, intervals, most)):
        for run in runs:
            low, high = intervals[p][run[0]].low, intervals[p][run[-1]].high
            weight = LEAST_TRACE + np.array([intervals[p][j].held for j in run])
            for n, j in enumerate(run):
                found[p][mine[p][j]] = _Part(
                    low, high, n == 0, n == np.argmax(weight), float(weight[n] / weight.sum())
                )
    return found


@dataclass(frozen=True)
class _Move:
    """How matrices over the old super-points of a pool become matrices over the new ones."""

    kept: np.ndarray  # positions of the old super-points that are still in the pool
    at: np.ndarray  # per old super-point, its new position, -1 if it is not
    gather: csr_matrix  # (kept, new)
    share: np.ndarray

    @classmethod
    def of(
        cls, pool: ComponentPool, old_index: np.ndarray, into: np.ndarray, part: np.ndarray, share: np.ndarray
    ) -> _Move:
        place = np.searchsorted(pool.index, into[old_index])
        place[place == len(pool.index)] = 0
        kept = np.flatnonzero(pool.index[place] == into[old_index])
        entries = part[old_index[kept]], (np.arange(len(kept)), place[kept])
        gather = csr_matrix(entries, shape=(len(kept), len(pool.index)))
        at = np.full(len(old_index), -1)
        at[kept] = place[kept]
        return cls(kept, at, gather, share[old_index[kept]])

    def held(self, old: SizeBlock) -> float:
        """What the pool takes over of a block, in components."""
        return float(self.share**2 @ np.diag(old.x)[self.kept]) if old.x.size else old.trace

    def add(self, new: SizeBlock, old: SizeBlock, part: _Part, r: np.ndarray, must: int) -> None:
        """Matrices add up, multipliers are averaged; cuts come from the part that holds most."""
        gather, both = self.gather, np.ix_(self.kept, self.kept)
        squares = gather.power(2).T
        x = gather.T @ (np.outer(self.share, self.share) * old.x[both]) @ gather
        u = gather.T @ old.u[both] @ gather
        new.x += 0.5 * (x + x.T)
        new.u = (0.0 if part.first else new.u) + 0.5 * part.share * (u + u.T)
        new.over += part.share * (squares @ old.over[self.kept])
        new.under += part.share * (squares @ old.under[self.kept])
        new.rank = old.rank if part.first else max(new.rank, old.rank)
        if part.most:
            new.cuts = old.cuts.moved(self.at, r, must)


def _shares(
    pools: list[ComponentPool], old_shape: Contraction, old: Method, into: np.ndarray
) -> list[np.ndarray]:
    """How much of the parent's matrices each pool takes over, per old super-point.

    Where a pool was divided because one of its components got a name, the share of a super-point in that component is
    how often it was together with the named one; the unnamed components keep the rest.
    """
    source = {int(k): p for p, pool in enumerate(old.pools) for k in pool.components}
    shares = [np.ones(len(old_shape.root)) for _ in pools]
    parts_of: list[list[int]] = [[] for _ in old.pools]
    for p, pool in enumerate(pools):
        parts_of[source[int(pool.components[0])]].append(p)
    for whole, blocks, parts in zip(old.pools, old.by_pool(), parts_of, strict=True):
        if len(parts) < 2:
            continue
        mean = np.zeros((len(whole.index), len(whole.index)))
        for b in blocks:
            if b.x.size:
                mean += b.x
        left = np.ones(len(whole.index))
        unnamed = [p for p in parts if pools[p].must < 0]
        for p in parts:
            if p in unnamed:
                continue
            named = pools[p].index[pools[p].must]
            at = np.flatnonzero(into[whole.index] == named)[0]
            r = old_shape.root[whole.index]
            with np.errstate(divide="ignore", invalid="ignore"):
                part = mean[at] / r / (mean[at, at] / r[at])
            part = np.clip(np.nan_to_num(part), 0.0, 1.0)
            shares[p][whole.index] = part
            left = np.clip(left - part, 0.0, 1.0)
        for p in unnamed:
            shares[p][whole.index] = left * (1.0 if len(unnamed) == 1 else 1.0 / len(unnamed))
    return shares


def _require(pools: list[ComponentPool], blocks: list[int]) -> None:
    """Ask for the matrices of blocks (of these pools) before they are made."""
    entries = sum(len(pools[p].index) ** 2 for p in blocks)
    memory.require(8.0 * MATRICES * entries, f"{len(blocks)} matrices of the semidefinite relaxation")


def _new_block(
    pool: ComponentPool, p: int, low: int, high: int, root: np.ndarray, cover: np.ndarray
) -> SizeBlock:
    """A block over the sizes of ``[low, high]`` that are left, with multipliers of the covering rows only."""
    left = np.flatnonzero(pool.sizes[low : high + 1]) + low
    low, high = int(left[0]), int(left[-1])
    slope, offset = slope_of(pool, low, high)
    r, eta = root[pool.index], cover[pool.index]
    n = len(r)
    u = 0.5 * (np.outer(eta, r) + np.outer(r, eta))
    return SizeBlock(
        p,
        low,
        high,
        slope,
        offset,
        cost_matrix(pool, root, high, slope),
        np.zeros((n, n)),
        u,
        np.zeros(n),
        np.zeros(n),
        Cuts.of_anchor(n, pool.must),
    )


def _hold_apart(method: Method, clusters: list[np.ndarray]) -> None:
    """Multipliers N of X >= 0 between clusters, with which the reduced matrix nearly vanishes on every cluster.

    Between two clusters N is the matrix of rank one that has the row sums of the reduced matrix there, as in the
    certificate of T. Iguchi, D. G. Mixon, J. Peterson and S. Villar (Probably certifiably correct k-means clustering,
    Mathematical Programming 165, 2017). It is optimal where clusters are far apart, and a good start elsewhere.
    """
    cluster = np.zeros(len(method.root), dtype=np.int64)
    for number, members in enumerate(clusters):
        cluster[members] = number
    for block in method.blocks:
        index, r = method.pools[block.pool].index, method.roots[block.pool]
        of = cluster[index]
        member = np.where(of[:, None] == np.arange(len(clusters)), r[:, None], 0.0)
        half = 0.5 * method.sigma * np.outer(method.cover[index], r)
        sums = np.maximum((block.cost + half + half.T) @ member, 0.0)
        total = member.T @ sums
        total = np.maximum(total, total.T)
        np.fill_diagonal(total, 0.0)  # there is none inside of a cluster
        inverse = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0.0)
        rows = sums[:, of]
        block.u -= rows * rows.T * inverse[np.ix_(of, of)] / method.sigma


def _clusters(shape: Contraction, labels: np.ndarray) -> list[tuple[np.ndarray, float]]:
    """The clusters of a labelling of the groups as sets of super-points, where super-points are not torn apart."""
    found = []
    by_point = labels[shape.first]
    if np.any(by_point[shape.of] != labels):
        return []
    for k in np.unique(labels):
        members = np.flatnonzero(by_point == k)
        found.append((members, float(shape.weight[members].sum())))
    return found


def _place(method: Method, shape: Contraction, clusters: list[tuple[np.ndarray, float]]) -> None:
    """Put every cluster, as a matrix of rank one, into a block that can hold it."""
    left = np.array([pool.count for pool in method.pools])
    of_pool = shape.allowed[:, [int(pool.components[0]) for pool in method.pools]]
    must = np.array([pool.index[pool.must] if pool.must >= 0 else -1 for pool in method.pools])
    blocks = method.by_pool()
    for members, size in clusters:
        can = of_pool[members].all(axis=0) & (left > 0) & ((must < 0) | np.isin(must, members))
        fitting = (b for p in np.flatnonzero(can) for b in blocks[p] if b.low <= size <= b.high)
        block = next(fitting, None)
        if block is not None:
            pool = method.pools[block.pool]
            x = np.zeros(len(pool.index))
            x[np.searchsorted(pool.index, members)] = shape.root[members] / np.sqrt(size)
            block.x += np.outer(x, x)
            left[block.pool] -= 1
