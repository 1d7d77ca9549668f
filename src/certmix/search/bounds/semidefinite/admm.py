"""The alternating direction method on the size blocks of a node.

    minimise    sum_b <C_b, X_b> + alpha_b tr X_b
    subject to  X_b positive semidefinite, X_b >= 0, X_b = 0 for pairs apart, sizes of block b in its interval,
                sum over the blocks of a pool of tr X_b = components in the pool,   sum_b X_b r = r.

It is the Lagrangian (Dantzig-Wolfe) bound with a semidefinite pricing problem for every interval of sizes: concave
entropies are chords only inside a block, and the multipliers of the last row, one for each sample, are shared by all
blocks. With a single block and a linear entropy it is the relaxation of k-means by J. Peng and Y. Wei (2007).
"""

from __future__ import annotations

import numpy as np

from certmix.kernels.alternating import find_awake, iterate
from certmix.kernels.semidefinite import point_of, project, relax, row_sums, update_sizes
from certmix.search.bounds.semidefinite.eigen import above, improve, largest
from certmix.search.bounds.semidefinite.pools import Block, Pool
from certmix.search.threads import Threads
from certmix.stopping import current

RELAXATION = 1.6
SPARE = 3  # eigenpairs computed beyond those that were used last time
EXACT = 10  # the eigenvectors are computed afresh every so many iterations and improved in between
IDLE = 5  # a block that held next to nothing last time is looked at again only every so many iterations
FAINT, ASLEEP = 0.05, 0.1  # ... and what they held was no more than this share of the pool's components
SMALL, MOST_ENTRIES = 130, 4_000_000  # up to this order and in all: a whole round is one compiled call


class Method:
    """Runs the method on blocks; state lives in the blocks and in ``cover``.

    Parameters
    ----------
    root : (M,), square roots of the super-points' weights
    apart : (M, M) bool
    pools, blocks : what the node consists of
    cover : (M,), multipliers of the covering rows, divided by sigma
    sigma : float, the penalty
    """

    def __init__(
        self,
        root: np.ndarray,
        apart: np.ndarray,
        pools: list[Pool],
        blocks: list[Block],
        cover: np.ndarray,
        sigma: float,
        threads: Threads,
    ) -> None:
        self.root, self.pools, self.blocks = root, pools, blocks
        self.cover, self.sigma, self.threads = cover, sigma, threads
        self.apart = [np.ascontiguousarray(apart[np.ix_(p.index, p.index)]) for p in pools]
        self.primal = self.dual = np.inf
        self.count = 0
        self.stop = current()

    def run(self, iterations: int) -> None:
        """So many iterations, then adapt the penalty."""
        largest = max(len(p.index) for p in self.pools)
        if largest <= SMALL and len(self.blocks) * largest**2 <= MOST_ENTRIES:
            self._iterate_small(iterations)
        else:
            for _ in range(iterations):
                if self.stop.raised:
                    return
                self._iterate()
        if self.primal > 3.0 * self.dual:
            self._rescale(1.5)
        elif self.dual > 3.0 * self.primal:
            self._rescale(1.0 / 1.5)

    def coverage(self) -> np.ndarray:
        """(M, pools): how much of every super-point every pool covers."""
        out = np.zeros((len(self.root), len(self.pools)))
        for block in self.blocks:
            index = self.pools[block.pool].index
            r = self.root[index]
            out[index, block.pool] += (block.x @ r) / r
        return out

    def _rescale(self, factor: float) -> None:
        self.sigma *= factor
        self.cover = self.cover / factor
        for block in self.blocks:
            block.u /= factor
            block.over /= factor
            block.under /= factor
            block.cuts.multiplier /= factor
            block.cuts.force /= factor

    def _awake(self) -> tuple[list[Block], list[Block]]:
        """The blocks to work on in this iteration, and those that stay as they are."""
        if self.count % IDLE == 0:
            return list(self.blocks), []
        awake = np.empty(len(self.blocks), dtype=bool)
        find_awake(
            np.array([b.pool for b in self.blocks]),
            np.array([b.trace for b in self.blocks]),
            np.array([float(p.count) for p in self.pools]),
            FAINT,
            ASLEEP,
            awake,
        )
        pick = list(zip(self.blocks, awake, strict=True))
        return [b for b, a in pick if a], [b for b, a in pick if not a]

    def _iterate(self) -> None:
        sigma = self.sigma
        blocks, idle = self._awake()
        exact = self.count % EXACT == 0
        self.count += 1
        matrices: list[np.ndarray] = [np.zeros(0)] * len(blocks)
        pairs: list[tuple[np.ndarray, np.ndarray]] = [(np.zeros(0), np.zeros(0))] * len(blocks)

        def decompose(first: int, last: int) -> None:
            for i in range(first, last):
                b = blocks[i]
                m = np.empty_like(b.cost)
                point_of(b.x, b.u, b.cost, b.offset, sigma, m)
                matrices[i] = m
                wanted = min(len(m), b.rank + SPARE + b.rank // 3)
                if exact or len(b.basis) != len(m) or 8 * wanted > len(m):
                    pairs[i] = largest(m, wanted)
                else:
                    pairs[i] = improve(m, b.basis[:, -wanted:], wanted)

        self.threads.over(len(blocks), decompose)
        levels = self._levels(blocks, idle, matrices, pairs)
        targets: list[np.ndarray] = [np.zeros(0)] * len(blocks)
        residual = np.zeros(len(blocks))

        def mix(first: int, last: int) -> None:
            for i in range(first, last):
                b = blocks[i]
                b.basis = pairs[i][1]
                kept = pairs[i][0] - levels[b.pool]
                used = kept > 0
                half = pairs[i][1][:, used] * np.sqrt(kept[used])
                b.rank, b.trace = max(1, int(used.sum())), float(kept[used].sum())
                z = half @ half.T
                targets[i], matrices[i] = np.empty_like(z), z
                relax(z, b.x, b.u, RELAXATION, targets[i])
                n = len(z)
                if len(b.rows) != n:
                    b.rows, b.free, b.diagonal = np.empty(n), np.empty(n), np.empty(n)

        self.threads.over(len(blocks), mix)
        self._sums(blocks, targets)
        have, movable = np.zeros(len(self.root)), np.zeros(len(self.root))
        for b in idle:
            have[self.pools[b.pool].index] += b.held
        for b in blocks:
            have[self.pools[b.pool].index] += b.rows
            movable[self.pools[b.pool].index] += (
                b.free + 0.5 * (self.root[self.pools[b.pool].index] ** 2).sum()
            )
        self.cover = self.cover + 0.5 * (have - self.root) / np.maximum(movable, 1.0)
        self._sums(blocks, targets)
        for b in blocks:
            r = self.root[self.pools[b.pool].index]
            update_sizes(b.rows, b.free, b.diagonal, r, float(b.low), float(b.high), b.over, b.under)
        changes = np.zeros(len(blocks))

        def finish(first: int, last: int) -> None:
            for i in range(first, last):
                b, index = blocks[i], self.pools[blocks[i].pool].index
                b.held = np.empty(len(index))
                changes[i], residual[i] = project(
                    targets[i],
                    matrices[i],
                    self.cover[index],
                    b.over,
                    b.under,
                    self.root[index],
                    float(b.low),
                    float(b.high),
                    self.apart[b.pool],
                    b.cuts.ends,
                    b.cuts.signs,
                    b.cuts.multiplier,
                    b.cuts.force,
                    np.empty((len(index), len(index))),
                    np.empty(len(index)),
                    b.x,
                    b.u,
                    b.held,
                )

        self.threads.over(len(blocks), finish)
        self.primal, self.dual = float(np.sqrt(residual.sum())), float(np.sqrt(changes.sum()))

    def _iterate_small(self, iterations: int) -> None:
        """So many iterations in one compiled call: small blocks would spend their time in the interpreter."""
        blocks, pools = self.blocks, self.pools
        B, Q = len(blocks), max(len(p.index) for p in pools)
        order = np.array([len(pools[b.pool].index) for b in blocks])
        index = np.zeros((len(pools), Q), dtype=np.int64)
        apart = np.zeros((len(pools), Q, Q), dtype=bool)
        for p, pool in enumerate(pools):
            n = len(pool.index)
            index[p, :n], apart[p, :n, :n] = pool.index, self.apart[p]
        cost, x, u, force, basis = (np.zeros((B, Q, Q)) for _ in range(5))
        over, under, held = (np.zeros((B, Q)) for _ in range(3))
        based = np.zeros(B, dtype=np.int64)
        for i, b in enumerate(blocks):
            n = order[i]
            cost[i, :n, :n], x[i, :n, :n], u[i, :n, :n], force[i, :n, :n] = b.cost, b.x, b.u, b.cuts.force
            over[i, :n], under[i, :n] = b.over, b.under
            held[i, :n] = b.held if len(b.held) == n else b.x @ self.root[pools[b.pool].index]
            if len(b.basis) == n:
                based[i] = b.basis.shape[1]
                basis[i, :n, : based[i]] = b.basis
        rank = np.array([b.rank for b in blocks])
        trace = np.array([b.trace for b in blocks])
        multiplier = np.concatenate([b.cuts.multiplier for b in blocks])
        first_cut = np.cumsum([0] + [len(b.cuts.ends) for b in blocks])
        self.cover = self.cover.copy()
        self.primal, self.dual = iterate(
            iterations,
            self.count,
            self.sigma,
            RELAXATION,
            SPARE,
            EXACT,
            IDLE,
            FAINT,
            ASLEEP,
            self.root,
            self.cover,
            np.array([float(p.count) for p in pools]),
            index,
            apart,
            np.array([b.pool for b in blocks]),
            order,
            np.array([float(b.low) for b in blocks]),
            np.array([float(b.high) for b in blocks]),
            np.array([b.offset for b in blocks]),
            cost,
            x,
            u,
            over,
            under,
            held,
            rank,
            trace,
            basis,
            based,
            np.concatenate([b.cuts.ends for b in blocks]),
            np.concatenate([b.cuts.signs for b in blocks]),
            first_cut,
            multiplier,
            force,
        )
        self.count += iterations
        for i, b in enumerate(blocks):
            n = order[i]
            b.x, b.u, b.cuts.force = x[i, :n, :n].copy(), u[i, :n, :n].copy(), force[i, :n, :n].copy()
            b.over, b.under, b.held = over[i, :n].copy(), under[i, :n].copy(), held[i, :n].copy()
            b.rank, b.trace, b.basis = int(rank[i]), float(trace[i]), basis[i, :n, : based[i]].copy()
            b.cuts.multiplier = multiplier[first_cut[i] : first_cut[i + 1]].copy()

    def _sums(self, blocks: list[Block], targets: list[np.ndarray]) -> None:
        def work(first: int, last: int) -> None:
            for i in range(first, last):
                b, index = blocks[i], self.pools[blocks[i].pool].index
                row_sums(
                    targets[i],
                    b.cuts.force,
                    self.cover[index],
                    b.over,
                    b.under,
                    self.root[index],
                    float(b.low),
                    float(b.high),
                    self.apart[b.pool],
                    np.empty(len(index)),
                    b.rows,
                    b.free,
                    b.diagonal,
                )

        self.threads.over(len(blocks), work)

    def _levels(
        self,
        blocks: list[Block],
        idle: list[Block],
        matrices: list[np.ndarray],
        pairs: list[tuple[np.ndarray, np.ndarray]],
    ) -> np.ndarray:
        """For every pool the level above which eigenvalues add up to its number of components.

        While eigenvalues are missing the level comes out too low: blocks whose smallest computed eigenvalue is still
        above it are decomposed again, down to there.
        """
        levels = self._thresholds(blocks, idle, pairs)
        short = [
            i
            for i, b in enumerate(blocks)
            if pairs[i][0][0] > levels[b.pool] and len(pairs[i][0]) < len(matrices[i])
        ]

        def again(first: int, last: int) -> None:
            for i in short[first:last]:
                pairs[i] = above(matrices[i], levels[blocks[i].pool])

        self.threads.over(len(short), again)
        return self._thresholds(blocks, idle, pairs) if short else levels

    def _thresholds(
        self, blocks: list[Block], idle: list[Block], pairs: list[tuple[np.ndarray, np.ndarray]]
    ) -> np.ndarray:
        levels = np.zeros(len(self.pools))
        for p, pool in enumerate(self.pools):
            count = pool.count - sum(b.trace for b in idle if b.pool == p)
            mine = [pairs[i][0] for i, b in enumerate(blocks) if b.pool == p]
            values = np.sort(np.concatenate(mine))[::-1]
            level = (np.cumsum(values) - count) / np.arange(1, len(values) + 1)
            # Nothing is above the level where it is lost in the rounding of very large eigenvalues.
            reached = np.flatnonzero(values > level)
            levels[p] = level[reached[-1]] if len(reached) else values[0]
        return levels
