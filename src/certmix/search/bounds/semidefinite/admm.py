"""The alternating direction method on the size blocks of a node.

    minimise    sum_b <C_b, X_b> + alpha_b tr X_b
    subject to  X_b positive semidefinite, X_b >= 0, X_b = 0 for pairs apart, sizes of block b in its interval,
                sum over the blocks of a pool of tr X_b = components in the pool (at most, where they may be empty),
                sum_b X_b r = r.

It is the Lagrangian (Dantzig-Wolfe) bound with a semidefinite pricing problem for every interval of sizes: concave
entropies are chords only inside a block, and the multipliers of the last row, one for each sample, are shared by all
blocks. With a single block and a linear entropy it is the relaxation of k-means by J. Peng and Y. Wei (2007).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from certmix.kernels.semidefinite import point_of, project, relax_and_sum
from certmix.search.bounds.semidefinite.crossings import Crossing
from certmix.search.bounds.semidefinite.eigen import SINGLE, above, improve, largest
from certmix.search.bounds.semidefinite.pools import ComponentPool, SizeBlock
from certmix.stopping import current
from certmix.threads import Threads

Pairs = tuple[np.ndarray, np.ndarray]  # eigenvalues, ascending, and their vectors


@dataclass(frozen=True)
class Tuning:
    """What the method does how often."""

    relaxation: float = 1.6  # factor by which the projections are over-relaxed
    spare_pairs: int = 3  # eigenpairs computed beyond those that were used last time
    exact_every: int = 10  # iterations between two decompositions; in between eigenvectors are improved ...
    improve_from: int = 36  # ... in matrices of this order or more ...
    improve_times: int = 5  # ... and of so many times the eigenpairs wanted
    idle_every: int = 5  # iterations between two looks at a block that held next to nothing
    idle_trace: float = 0.05  # the most that such a block may hold, in components
    idle_share: float = 0.1  # the most that those of a pool may hold together, as a share of its components
    balance: float = 3.0  # how much larger than the other a residual is where the penalty is changed ...
    penalty_factor: float = 1.5  # ... by so much
    single_share: float = 0.02  # of the gap that single precision may cost where it is used


TUNING = Tuning()
NOTHING = np.zeros((0, 0))


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
        pools: list[ComponentPool],
        blocks: list[SizeBlock],
        cover: np.ndarray,
        sigma: float,
        threads: Threads,
    ) -> None:
        self.root, self.pools, self.blocks = root, pools, blocks
        self.cover, self.sigma, self.threads = cover, sigma, threads
        self.apart = [np.ascontiguousarray(apart[np.ix_(p.index, p.index)]) for p in pools]
        self.roots = [root[p.index] for p in pools]
        self.crossings: list[Crossing] = []
        self.primal = self.dual = np.inf
        self.count = 0
        self.single = False  # whether eigenvectors are those of matrices in single precision
        self.stop = current()

    def run(self, iterations: int, gap: float = 0.0) -> None:
        """So many iterations, then adapt the penalty. ``gap`` is what is to be closed: how precise they have to be."""
        self.single = self._rounding() <= TUNING.single_share * gap
        for _ in range(iterations):
            if self.stop.raised:
                return
            self._iterate()
        if self.primal > TUNING.balance * self.dual:
            self._rescale(TUNING.penalty_factor)
        elif self.dual > TUNING.balance * self.primal:
            self._rescale(1.0 / TUNING.penalty_factor)

    def _rounding(self) -> float:
        """About what the eigenvalues of all components lose together in single precision, as costs."""
        norms = (float(np.linalg.norm(self._point(block))) for block in self.blocks)
        return SINGLE * self.sigma * max(norms, default=0.0) * sum(pool.count for pool in self.pools)

    def coverage(self) -> np.ndarray:
        """(M, pools): how much of every super-point every pool covers."""
        out = np.zeros((len(self.root), len(self.pools)))
        for block in self.blocks:
            r = self.roots[block.pool]
            out[self.pools[block.pool].index, block.pool] += (block.x @ r) / r
        return out

    def by_pool(self) -> list[list[SizeBlock]]:
        """The blocks of every pool."""
        return by_pool(self.blocks, len(self.pools))

    def forget_slack(self) -> None:
        """The multipliers N of the last proof are not needed any more."""
        for block in self.blocks:
            block.slack = NOTHING

    def _rescale(self, factor: float) -> None:
        self.sigma *= factor
        self.cover = self.cover / factor
        for block in self.blocks:
            block.u /= factor
            block.over /= factor
            block.under /= factor
            block.cuts.multiplier /= factor
            block.cuts.force /= factor

    def _iterate(self) -> None:
        blocks = self.blocks if self.count % TUNING.idle_every == 0 else awake(self.blocks, self.pools)
        working = {id(b) for b in blocks}
        idle = [b for b in self.blocks if id(b) not in working]
        pairs = self._decomposed(blocks, exact=self.count % TUNING.exact_every == 0)
        self.count += 1
        levels = self._levels(blocks, idle, pairs)
        halves: list[np.ndarray] = [NOTHING] * len(blocks)  # Z = half half', made where it is needed
        sums = [np.empty((4, len(b.over))) for b in blocks]  # row sums, movable parts, diagonal, scratch
        cover = [self.cover[p.index] for p in self.pools]

        def towards_cone(first: int, last: int) -> None:
            for i in range(first, last):
                b, (values, vectors) = blocks[i], pairs[i]
                r = self.roots[b.pool]
                kept = values - levels[b.pool]
                used = int(np.count_nonzero(kept > 0.0))
                at = len(kept) - used
                halves[i] = vectors[:, at:] * np.sqrt(kept[at:])
                b.basis, b.rank, b.trace = vectors, max(1, used), float(kept[at:].sum())
                relax_and_sum(
                    halves[i] @ halves[i].T, b.x, b.u, TUNING.relaxation, b.cuts.force, cover[b.pool], b.over,
                    b.under, r, float(b.low), float(b.high), self.apart[b.pool], sums[i][3], *sums[i][:3],
                )  # fmt: skip

        self.threads.over(len(blocks), towards_cone)
        self._step_on_cover(blocks, idle, sums)
        cover = [self.cover[p.index] for p in self.pools]
        moved = np.zeros((len(blocks), 2))

        def towards_rows(first: int, last: int) -> None:
            for i in range(first, last):
                b, c = blocks[i], blocks[i].cuts
                r = self.roots[b.pool]
                b.held = np.empty(len(r))
                moved[i] = project(
                    b.u, halves[i] @ halves[i].T, cover[b.pool], b.over, b.under, r, float(b.low), float(b.high),
                    self.apart[b.pool], c.ends, c.signs, c.multiplier, c.force, np.empty((len(r), len(r))),
                    sums[i][3], *sums[i][:3], b.x, b.u, b.held,
                )  # fmt: skip

        self.threads.over(len(blocks), towards_rows)
        self.dual, self.primal = (float(x) for x in np.sqrt(moved.sum(axis=0)))

    def _decomposed(self, blocks: list[SizeBlock], exact: bool) -> list[Pairs]:
        """The eigenpairs of every block that are likely to be needed."""
        pairs: list[Pairs] = [(np.zeros(0), np.zeros(0))] * len(blocks)

        def work(first: int, last: int) -> None:
            for i in range(first, last):
                b = blocks[i]
                n = len(b.over)
                wanted = min(n, b.rank + TUNING.spare_pairs + b.rank // 3)
                if exact or len(b.basis) != n or n < max(TUNING.improve_from, TUNING.improve_times * wanted):
                    pairs[i] = largest(self._rounded(b), wanted)
                else:
                    pairs[i] = improve(self._rounded(b), b.basis[:, -wanted:], wanted)

        self.threads.over(len(blocks), work)
        return pairs

    def _point(self, block: SizeBlock) -> np.ndarray:
        """What is projected onto the cone."""
        out = np.empty_like(block.x)
        point_of(block.x, block.u, block.cost, block.offset, self.sigma, out)
        return out

    def _rounded(self, block: SizeBlock) -> np.ndarray:
        """The same in the precision of eigenvectors."""
        return self._point(block).astype(np.float32 if self.single else np.float64, copy=False)

    def _step_on_cover(self, blocks: list[SizeBlock], idle: list[SizeBlock], sums: list[np.ndarray]) -> None:
        have, movable = np.zeros(len(self.root)), np.zeros(len(self.root))
        for b in idle:
            have[self.pools[b.pool].index] += b.held
        for b, (rows, free, _, _) in zip(blocks, sums, strict=True):
            r, index = self.roots[b.pool], self.pools[b.pool].index
            have[index] += rows
            movable[index] += free + 0.5 * (r @ r)
        self.cover = self.cover + 0.5 * (have - self.root) / np.maximum(movable, 1.0)

    def _levels(self, blocks: list[SizeBlock], idle: list[SizeBlock], pairs: list[Pairs]) -> np.ndarray:
        """For every pool the level above which eigenvalues add up to its number of components.

        While eigenvalues are missing the level comes out too low: blocks whose smallest computed eigenvalue is still
        above it are decomposed again, down to there.
        """
        levels = self._thresholds(blocks, idle, pairs)
        short = [
            i
            for i, b in enumerate(blocks)
            if pairs[i][0][0] > levels[b.pool] and len(pairs[i][0]) < len(b.over)
        ]

        def again(first: int, last: int) -> None:
            for i in short[first:last]:
                pairs[i] = above(self._rounded(blocks[i]), levels[blocks[i].pool], len(pairs[i][0]))

        self.threads.over(len(short), again)
        return self._thresholds(blocks, idle, pairs) if short else levels

    def _thresholds(self, blocks: list[SizeBlock], idle: list[SizeBlock], pairs: list[Pairs]) -> np.ndarray:
        counts = [float(pool.count) for pool in self.pools]
        values: list[list[np.ndarray]] = [[] for _ in self.pools]
        for b in idle:
            counts[b.pool] -= b.trace
        for b, (mine, _) in zip(blocks, pairs, strict=True):
            values[b.pool].append(mine)
        found = [level_of(np.concatenate(v), count) for v, count in zip(values, counts, strict=True)]
        # What costs more than an empty component is not held where a component may be empty.
        least = [-pool.entropy[0] / self.sigma if pool.sizes[0] else -np.inf for pool in self.pools]
        return np.maximum(found, least)


def level_of(values: np.ndarray, count: float) -> float:
    """The level above which values, less the level, add up to ``count``."""
    values = np.sort(values.astype(np.float64))[::-1]
    level = (values.cumsum() - count) / np.arange(1, len(values) + 1)
    # Nothing is above the level where it is lost in the rounding of very large eigenvalues.
    reached = np.flatnonzero(values > level)
    return float(level[reached[-1]] if len(reached) else values[0])


def by_pool(blocks: list[SizeBlock], count: int) -> list[list[SizeBlock]]:
    found: list[list[SizeBlock]] = [[] for _ in range(count)]
    for b in blocks:
        found[b.pool].append(b)
    return found


def awake(blocks: list[SizeBlock], pools: list[ComponentPool]) -> list[SizeBlock]:
    """The blocks to work on: all but those that held next to nothing, next to nothing together as well."""
    idle = set()
    for pool, mine in zip(pools, by_pool(blocks, len(pools)), strict=True):
        left = TUNING.idle_share * pool.count
        for b in sorted(mine, key=lambda b: b.trace)[:-1]:  # the fullest never sleeps
            left -= b.trace
            if b.trace > TUNING.idle_trace or left < 0.0:
                break
            idle.add(id(b))
    return [b for b in blocks if id(b) not in idle]
