"""What pricing searches over: single groups, or the cells of a kd-tree where there are many."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certmix.kernels.compiled import njit
from certmix.kernels.mass import mass_of

CELLS_FROM = 3000  # from so many groups on they are gathered in cells
SMALL_CELL = 8  # groups; a cell of so many has them for its children
PAIRED = -2  # has a partner that is not among these groups


class Cells(NamedTuple):
    """M cells over N groups; the roots have every group once."""

    roots: np.ndarray
    child: np.ndarray  # (M,) the first child; its siblings come next
    children: np.ndarray  # (M,) how many there are: none for a cell of one group
    group: np.ndarray  # (M,) the group of a cell that has one
    partner: np.ndarray  # (M,) the cell of a group that may not be in the same set, -1 for none, or PAIRED
    members: np.ndarray  # (M,) how many groups, as floats
    lower: np.ndarray  # (M, d) box of the groups
    upper: np.ndarray
    weight: np.ndarray  # (M,) samples; the fewest and the most in a group
    lightest: np.ndarray
    heaviest: np.ndarray
    mass: np.ndarray  # (M,) or (M, d); the least and the largest of a group
    least_mass: np.ndarray
    most_mass: np.ndarray
    total: np.ndarray  # (M, d) sum of mass times point
    square: np.ndarray  # (M,) half the sum of mass times squares


def cells_of(
    points: np.ndarray,
    weight: np.ndarray,
    mass: np.ndarray,
    free: np.ndarray,
    partner: np.ndarray | None = None,
) -> Cells:
    """Cells over the free groups, numbered among themselves; of many groups pairs are not looked at."""
    points, weight, mass = (np.ascontiguousarray(x[free]) for x in (points, weight, mass))
    N = len(points)
    if N >= CELLS_FROM:
        return build_tree(points, weight, mass)
    mates = np.full(N, -1)
    if partner is not None:
        position = np.full(len(free), PAIRED)
        position[free] = np.arange(N)
        mates = np.where(partner >= 0, position[partner], -1)[free]
    each = mass[:, None] if mass.ndim == 1 else mass
    total, square = each * points, 0.5 * (each * points**2).sum(axis=1)
    group, none = np.arange(N), np.zeros(N, dtype=np.int64)
    boxes, counts, masses = (points, points), (weight, weight, weight), (mass, mass, mass)
    return Cells(group, none, none, group, mates, np.ones(N), *boxes, *counts, *masses, total, square)


@njit()
def build_tree(points, weight, mass):
    """A balanced kd-tree: cells are cut at the median of their widest coordinate, small ones into their groups."""
    N, d = points.shape
    most = N + N // 2 + 2  # of more than SMALL_CELL groups either half has half of that at least
    order = np.arange(N)
    start = np.zeros(most, dtype=np.int64)
    end = np.full(most, N)
    child = np.full(most, -1)
    children = np.zeros(most, dtype=np.int64)
    group = np.full(most, -1)
    lower = np.full((most, d), np.inf)
    upper = np.full((most, d), -np.inf)
    shape = (most, *mass.shape[1:])
    samples = np.zeros(most)
    lightest = np.full(most, np.inf)
    heaviest = np.zeros(most)
    summed = np.zeros(shape)
    least_mass = np.full(shape, np.inf)
    most_mass = np.zeros(shape)
    total = np.zeros((most, d))
    square = np.zeros(most)
    cells = 1
    at = 0
    while at < cells:
        first, last = start[at], end[at]
        for p in range(first, last):
            g = order[p]
            samples[at] += weight[g]
            summed[at] += mass[g]
            least_mass[at] = np.minimum(least_mass[at], mass[g])
            most_mass[at] = np.maximum(most_mass[at], mass[g])
            lightest[at] = min(lightest[at], weight[g])
            heaviest[at] = max(heaviest[at], weight[g])
            for j in range(d):
                x = points[g, j]
                m = mass_of(mass, g, j)
                lower[at, j] = min(lower[at, j], x)
                upper[at, j] = max(upper[at, j], x)
                total[at, j] += m * x
                square[at] += 0.5 * m * x * x
        cuts = last - first
        if cuts == 1:
            group[at] = order[first]
            cuts = 0
        elif cuts > SMALL_CELL:
            cuts = 2
            widest = 0
            for j in range(1, d):
                if upper[at, j] - lower[at, j] > upper[at, widest] - lower[at, widest]:
                    widest = j
            piece = order[first:last].copy()
            ranked = np.argsort(points[piece, widest], kind="mergesort")
            for p in range(last - first):
                order[first + p] = piece[ranked[p]]
        child[at] = cells
        children[at] = cuts
        for i in range(cuts):
            start[cells] = first + (last - first) * i // cuts
            end[cells] = first + (last - first) * (i + 1) // cuts
            cells += 1
        at += 1
    root = np.zeros(1, dtype=np.int64)
    alone = np.full(cells, -1)
    members = (end[:cells] - start[:cells]).astype(np.float64)
    names = (root, child[:cells], children[:cells], group[:cells], alone, members)
    counts = (samples[:cells], lightest[:cells], heaviest[:cells])
    masses = (summed[:cells], least_mass[:cells], most_mass[:cells])
    return Cells(*names, lower[:cells], upper[:cells], *counts, *masses, total[:cells], square[:cells])


@njit()
def cell_costs(cells, cost):
    """Sum, smallest and largest constant cost of every cell's groups."""
    M = cells.child.shape[0]
    summed = np.zeros(M)
    least = np.full(M, np.inf)
    most = np.full(M, -np.inf)
    for c in range(M - 1, -1, -1):  # children come after their parents
        if cells.children[c] == 0:
            summed[c] = least[c] = most[c] = cost[cells.group[c]]
        for child in range(cells.child[c], cells.child[c] + cells.children[c]):
            summed[c] += summed[child]
            least[c] = min(least[c], least[child])
            most[c] = max(most[c], most[child])
    return summed, least, most
