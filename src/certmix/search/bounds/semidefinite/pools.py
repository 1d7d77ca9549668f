"""Pools of components that cost the same, their size blocks, and what a cluster in a block costs.

A cluster S of m samples in component k costs, with coordinates relative to the prior mean (the origin without one),

    sum_{s in S} lin_s - 1/2 sum_j (sum_{s in S} w_s x_sj)^2 / (m + gamma_j) + entropy[k, m],
    lin_s = scatter_s + w_s / 2 |x_s|^2,

and for m <= u the factor 1 / (m + gamma_j) is at most rho_j / m with rho_j = u / (u + gamma_j). With x_s = r_s /
sqrt(m) on S this is x' C x + alpha at least, for any slope beta, where

    C = -1/2 sum_j rho_j (r x_j)(r x_j)' + beta r r' + (lin/r) r' symmetrised,   alpha = min_m entropy[k, m] - beta m.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass, field

import numpy as np

from certmix.presolve.instance import Instance
from certmix.search.bounds.semidefinite.contraction import Contraction, Region
from certmix.search.bounds.semidefinite.cuts import Cuts

MOST_BLOCKS = 6  # of a root's order for each component: no larger are all blocks of a node together ...
MOST_COUNTED = 10  # ... but no more than so many components count for that ...
FEW_ENTRIES = 4e6  # ... but so many entries they may have in any case
LEAST_TRACE = 0.02  # in components: a block that holds less is not worth refining


@dataclass
class ComponentPool:
    """Components with the same costs, candidates and sizes.

    Attributes
    ----------
    components : the components
    index : (P,), super-points that may be in them, ascending
    must : position in ``index`` of the super-point that is in the (only) component, or -1
    sizes : (n + 1,) bool, sizes that are not excluded; zero is one of them where components may be empty
    entropy : (n + 1,)
    points : (P, d), relative to the prior mean; linear : (P,); gamma : (d,)
    """

    components: np.ndarray
    index: np.ndarray
    must: int
    sizes: np.ndarray
    entropy: np.ndarray
    points: np.ndarray
    linear: np.ndarray
    gamma: np.ndarray

    @property
    def count(self) -> int:
        return len(self.components)


@dataclass
class SizeBlock:
    """The clusters of one pool with sizes in ``[low, high]``, and the state of the method there."""

    pool: int
    low: int
    high: int
    slope: float
    offset: float
    cost: np.ndarray
    x: np.ndarray
    u: np.ndarray
    over: np.ndarray
    under: np.ndarray
    cuts: Cuts
    slack: np.ndarray = field(default_factory=lambda: np.zeros(0))
    basis: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    rank: int = 2
    trace: float = 1.0
    held: np.ndarray = field(default_factory=lambda: np.zeros(0))


def pools_of(region: Region, shape: Contraction, instance: Instance) -> list[ComponentPool]:
    """The pools of a node; components that are empty have none."""
    system = np.zeros(instance.n_components, dtype=np.int64)
    if not instance.shared:
        system = np.arange(instance.n_components)
    sizes = np.arange(instance.n_samples + 1)
    where = region.decided()
    found = []
    for ks in region.untouched(instance):
        k = int(ks[0])
        index = np.flatnonzero(shape.allowed[:, k])
        members = np.flatnonzero(where == k)
        must = int(np.searchsorted(index, shape.of[members[0]])) if len(members) else -1
        points = shape.points[system[k]][index] - instance.prior_mean[k]
        linear = shape.scatter[system[k]][index] + 0.5 * shape.weight[index] * np.einsum(
            "ij,ij->i", points, points
        )
        table = instance.entropy[k]
        allowed = (sizes >= region.a[k]) & (sizes <= region.b[k]) & np.isfinite(table)
        found.append(
            ComponentPool(ks, index, must, allowed, np.array(table), points, linear, instance.prior_weight[k])
        )
    return found


def slope_of(pool: ComponentPool, low: int, high: int) -> tuple[float, float]:
    """Slope of the chord of the entropy over a block, and the offset that makes the line stay below.

    A block of one size may have any slope. It gets that of the chord over the allowed sizes beside it: one sample more
    or less then costs what it costs in the blocks around. Where no other size is allowed the slope is what its samples
    cost each, with which the multipliers of samples begin; another one the rows of the sizes would have to make up for.
    """
    allowed = np.flatnonzero(pool.sizes)
    sizes = allowed[(allowed >= low) & (allowed <= high)]
    table = pool.entropy
    at, end = np.searchsorted(allowed, (sizes[0], sizes[-1]))
    if at == end:
        at, end = max(at - 1, 0), min(end + 1, len(allowed) - 1)
    first, last = int(allowed[at]), int(allowed[end])
    slope = (table[last] - table[first]) / (last - first) if last > first else table[first] / first
    return float(slope), float((table[sizes] - slope * sizes).min())


def cost_matrix(pool: ComponentPool, root: np.ndarray, high: int, slope: float) -> np.ndarray:
    """The matrix C of the module's docstring."""
    r = root[pool.index]
    scale = np.sqrt(high / (high + pool.gamma))
    gram = r[:, None] * pool.points * scale
    cost = -0.5 * (gram @ gram.T)
    half = 0.5 * np.outer(pool.linear / r, r)
    cost += half + half.T
    cost += slope * np.outer(r, r)
    return cost


def first_blocks(pool: ComponentPool, sizes: np.ndarray) -> list[tuple[int, int]]:
    """Size intervals to begin with: finer around the incumbent's sizes, coarse elsewhere."""
    allowed = np.flatnonzero(pool.sizes[1:]) + 1
    low, high = int(allowed[0]), int(allowed[-1])
    if is_linear(pool, low, high):
        return [(low, high)]
    small, large = float(sizes.min()), float(sizes.max())
    marks = [0.2 * small, 0.5 * small, 0.8 * small, 1.25 * large, 1.7 * large]
    middle = max(1, round(np.log(1.25 * large / (0.8 * small)) / np.log(1.4)))
    marks += [0.8 * small * (1.25 * large / (0.8 * small)) ** (i / middle) for i in range(1, middle)]
    cuts = sorted({round(m) for m in marks if low < round(m) <= high})
    edges = [low, *cuts, high + 1]
    return [(a, b - 1) for a, b in itertools.pairwise(edges) if pool.sizes[a:b].any()]


def most_entries(instance: Instance) -> float:
    """How many entries the blocks of a node may have, one matrix of each: names divide pools, but add no memory."""
    counted = min(instance.n_components, MOST_COUNTED)
    return max(FEW_ENTRIES, MOST_BLOCKS * counted * float(instance.n_groups) ** 2)


@dataclass(frozen=True)
class Interval:
    """A block before it has matrices: sizes of a pool, and how much it will hold, in components."""

    low: int
    high: int
    held: float


def joined(pools: list[ComponentPool], intervals: list[list[Interval]], most: float) -> list[list[list[int]]]:
    """For every pool the numbers of its intervals, those in one list that have to share a block.

    Neighbours do that hold little, and over which the entropy is nearly a line, until there are no more than ``most``
    entries, or one block for each pool.
    """
    over = sum(len(pool.index) ** 2 * len(mine) for pool, mine in zip(pools, intervals, strict=True)) - most
    if over <= 0.0:
        return [[[i] for i in range(len(mine))] for mine in intervals]
    end = [{i: i + 1 for i in range(len(mine))} for mine in intervals]  # of every run, by its first interval
    choices: list[tuple[float, int, int, int]] = []

    def offer(p: int, i: int) -> None:
        last = end[p].get(end[p][i])
        if last is not None:
            heapq.heappush(choices, (_loss(pools[p], intervals[p][i:last]), p, i, last))

    for p, mine in enumerate(intervals):
        for i in range(len(mine)):
            offer(p, i)
    while over > 0.0 and choices:
        _, p, i, last = heapq.heappop(choices)
        if i not in end[p] or end[p].get(end[p][i]) != last:
            continue  # one of the two is a part of a longer run by now
        end[p][i] = end[p].pop(end[p][i])
        over -= len(pools[p].index) ** 2
        for first in [j for j, e in end[p].items() if e == i] + [i]:
            offer(p, first)
    return [[list(range(i, e)) for i, e in mine.items()] for mine in end]


def _loss(pool: ComponentPool, run: list[Interval]) -> float:
    """What may be lost by one chord for several intervals."""
    return (LEAST_TRACE + sum(part.held for part in run)) * bend(pool, run[0].low, run[-1].high)


def bend(pool: ComponentPool, low: int, high: int) -> float:
    """How far the entropy is from a line over these sizes."""
    slope, offset = slope_of(pool, low, high)
    sizes = np.flatnonzero(pool.sizes[low : high + 1]) + low
    return float((pool.entropy[sizes] - slope * sizes - offset).max())


def is_linear(pool: ComponentPool, low: int, high: int) -> bool:
    """Whether the entropy is a line over these sizes, so that one block is as good as many."""
    sizes = np.flatnonzero(pool.sizes[low : high + 1]) + low
    return bend(pool, low, high) <= 1e-9 * max(1.0, float(np.abs(pool.entropy[sizes]).max()))
