"""The bound for one-dimensional problems with very many samples: shortest paths over cells of cut positions."""

from __future__ import annotations

import numpy as np

from certmix.kernels.line import (
    Ladder,
    Line,
    Potential,
    descend,
    potential_at,
    potential_of,
    running_sums,
    sweep,
)
from certmix.presolve.instance import Instance
from certmix.problem import Problem, interchangeable
from certmix.problem.features import Feature, features
from certmix.rounding import EPS
from certmix.search.bounds.base import Explored
from certmix.search.nodes import Nodes

HANDLED = frozenset(
    {Feature.SIZE, Feature.FIXED_WEIGHTS, Feature.DIRICHLET, Feature.ESTIMATORS, Feature.ALLOW_EMPTY}
)
MANY_SAMPLES = 2000  # below, the general bounds and dynamic programming are as quick
CELLS = 128  # of every cut, where that many are to be had
MOST_ARCS = 400_000  # of one node; a larger one is cut in two
WIDE_GAP = 0.1  # of the range of a cut: there it is cut, else in the middle


def applies(problem: Problem) -> str | None:
    """Why the bound cannot be used for a problem, or None."""
    if problem.n_features != 1:
        return f"it needs one dimension, and the data have {problem.n_features}"
    unknown = sorted(features(problem) - HANDLED)
    if unknown:
        return f"it does not know {unknown[0]}"
    if interchangeable(problem).any():
        return "it needs interchangeable components"
    if "weights" in problem.estimators and np.any(problem.prior.alpha != 1):
        return "it does not handle weights tied to the sizes under a Dirichlet prior"
    return None


class LineBound:
    """Coarse-to-fine dynamic programming (see :mod:`certmix.kernels.line`) as a bound for the one loop.

    A node is a *ladder*: for every cut a list of cells of positions, of which the optimal cuts are in one each.
    Exploring it finds the shortest path over the cells and drops those on no path below the cutoff; branching splits
    the cells, or the node where it has become too large. There is one root for every number of components in use.

    ``Nodes`` carry the ladder as bytes, the cuts behind the potential and their cost.
    """

    reaches = True

    def __init__(self, instance: Instance) -> None:
        problem = instance.problem
        reason = applies(problem)
        if reason is not None:
            raise ValueError(f"the bound for one dimension cannot be used: {reason}")
        self.instance = instance
        self.order = np.argsort(problem.data[:, 0], kind="stable")
        y = np.ascontiguousarray(problem.data[self.order, 0])
        n = len(y)
        x, sums = running_sums(y, y[n // 2])
        precision = float(problem.covariance.of(0)[0, 0])
        self.line = Line(
            x=x,
            sums=sums,
            entropy=np.array(instance.entropy[0]),
            precision=precision,
            smallest=max(int(problem.size_lower[0]), 1),
            largest=int(problem.size_upper[0]),
        )
        self._sum_error, self._table_error = self._rounding()

    def _rounding(self) -> tuple[float, float]:
        """Rounding that an arc does not account for: of a scatter from running sums, and of an entry of the tables.

        A running sum of n pairs errs by ``n 2^-104`` times the sum of the absolute values. In the scatter
        ``Q - S^2/m`` an error of S counts ``2 |S|/m``, at most twice the largest offset. An entry ``-c log(c/C)`` of
        the tables errs by a few units of itself and of c.
        """
        line = self.line
        n = len(line.x)
        unit = 4.0 * (n + 32) * 2.0**-104
        size = np.abs(line.x)
        first, reach = unit * float(size.sum()), float(size.max())
        scatter = unit * float((size**2).sum()) * 2.0 + 2.0 * reach * first + first**2
        table = line.entropy[1:]
        alpha = float(np.abs(self.instance.problem.prior.alpha).max())
        return 0.5 * line.precision * scatter, 8.0 * EPS * (float(np.abs(table).max()) + n + alpha)

    def error(self, count: int) -> float:
        """Rounding of a path's length: the scatters of its arcs and of the potential at up to four ends of each."""
        return count * (4 * count + 1) * self._sum_error + self.instance.n_components * self._table_error

    def root(self) -> Nodes:
        K, n = self.instance.n_components, self.instance.n_samples
        counts = [K]
        if self.instance.size_lower[0] == 0 and np.isfinite(self.instance.entropy[0, 0]):
            counts = list(range(1, min(K, n) + 1))
        ladders = np.empty(len(counts), dtype=object)
        cuts = np.zeros((len(counts), K + 1), dtype=np.int64)
        for i, count in enumerate(counts):
            ladder, cuts[i, : count + 1] = self._begun(count)
            ladders[i] = _as_bytes(ladder)
        return Nodes(
            {
                "bound": np.full(len(counts), -np.inf),
                "count": np.array(counts, dtype=np.int64),
                "cuts": cuts,
                "cost": np.full(len(counts), np.inf),
                "ladder": ladders,
            }
        )

    def start(self) -> np.ndarray:
        """A clustering to begin with."""
        return self._labels(self._begun(self.instance.n_components)[1])

    def _begun(self, count: int) -> tuple[Ladder, np.ndarray]:
        """All cuts into so many intervals, in cells; and equal intervals, improved."""
        n, least, cut = self.instance.n_samples, self.line.smallest, np.arange(count + 1, dtype=np.int64)
        low, high = cut * least, n - (count - cut) * least
        low[-1], high[0] = n, 0
        following = np.append(cut[1:], 0), np.append(cut[1:] + 1, 0)
        ladder = split_cells(Ladder(low, high, np.arange(count + 2), *following), CELLS, 0)
        cuts = cut * n // count
        descend(cuts, *_hull(ladder), self.line)
        return ladder, cuts

    def explore(self, nodes: Nodes, cutoff: float) -> Explored:
        f = {name: array.copy() for name, array in nodes.fields.items()}
        is_open = np.zeros(len(nodes), dtype=bool)
        found = []
        for i in range(len(nodes)):
            count = int(f["count"][i])
            cuts = f["cuts"][i, : count + 1]
            ladder, bound, path = self._sweep(_from_bytes(f["ladder"][i]), cuts, cutoff)
            exact = bool(np.all(_alive(ladder) <= (ladder.low == ladder.high)))
            f["ladder"][i] = _as_bytes(ladder)
            f["bound"][i] = max(f["bound"][i], min(bound, cutoff))
            better = False
            if path is not None:
                cost = descend(path, *_hull(ladder), self.line)
                better = cost < f["cost"][i]
                if better:
                    f["cost"][i] = cost
                    cuts[:] = path
                    if cost < cutoff:
                        found.append(self._labels(path))
            # Single positions are as exact as the potential is small: once more with a better one.
            is_open[i] = bool(_alive(ladder)[0]) and (better or not exact)
        return Explored(Nodes(f), is_open, found)

    def _sweep(
        self, ladder: Ladder, cuts: np.ndarray, cutoff: float
    ) -> tuple[Ladder, float, np.ndarray | None]:
        """The ladder without what the cutoff excludes, its bound, and the cuts of its shortest path."""
        count = len(cuts) - 1
        empty = self.instance.n_components - count
        potential = Potential(*potential_of(cuts, self.line))
        total = float(potential_at(self.instance.n_samples, self.line, potential))
        unused = empty * float(self.line.entropy[0]) if empty else 0.0
        total += unused
        error = self.error(count) + 8.0 * EPS * (abs(total) + abs(unused))
        limit = cutoff - total
        limit += error + 8.0 * EPS * (abs(cutoff) + abs(total)) if np.isfinite(cutoff) else 0.0
        length, cells, first, last = sweep(ladder, self.line, potential, limit)
        bound = float(length) + total
        if np.isnan(bound) or np.isnan(limit):
            raise AssertionError("the length of a path is not a number")
        bound -= error + 4.0 * EPS * abs(bound) if np.isfinite(bound) else 0.0
        if first[0] >= last[0] and np.isfinite(bound):
            bound = max(bound, cutoff)  # every path reaches the cutoff; the two sums may round differently
        ladder = ladder._replace(first=first, last=last)
        if not np.isfinite(length):
            return ladder, bound, None
        path = (ladder.low[cells] + ladder.high[cells]) // 2
        n, least = self.instance.n_samples, self.line.smallest
        for k in range(1, count):
            path[k] = min(max(path[k], path[k - 1] + least), n - (count - k) * least)
        return ladder, bound, path

    def _labels(self, cuts: np.ndarray) -> np.ndarray:
        labels = np.empty(self.instance.n_samples, dtype=np.int64)
        labels[self.order] = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))
        return labels

    def branch(self, explored: Explored) -> Nodes:
        rows, ladders, whole = [], [], []
        for i in range(len(explored.nodes)):
            parts = _parts(split_cells(_from_bytes(explored.nodes["ladder"][i]), 2, CELLS))
            rows += [i] * len(parts)
            ladders += parts
            whole += [len(parts) == 1] * len(parts)
        fields = explored.nodes.take(np.array(rows, dtype=np.int64)).fields
        for i, ladder in enumerate(ladders):
            fields["ladder"][i] = _as_bytes(ladder)
            if not whole[i]:
                fields["cost"][i] = np.inf  # each part takes its potential from a clustering of its own
        fields["depth"] += 1
        return Nodes(fields)


def _as_bytes(ladder: Ladder) -> bytes:
    """The number of cells, and all arrays one after another."""
    low, high, rung, first, last = ladder
    return np.concatenate([[len(low)], low, high, first, last, rung]).astype(np.int64).tobytes()


def _from_bytes(content: bytes) -> Ladder:
    numbers = np.frombuffer(content, dtype=np.int64)
    count = int(numbers[0])
    # A copy: kernels take arrays that can be written to.
    low, high, first, last, rung = np.split(numbers[1:].copy(), count * np.arange(1, 5))
    return Ladder(low, high, rung, first, last)


def _alive(ladder: Ladder) -> np.ndarray:
    """Which cells are on a short path; the last one has no arcs and counts as one."""
    return np.append(ladder.last[:-1] > ladder.first[:-1], True)


def _hull(ladder: Ladder) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest position of every cut."""
    starts, alive = ladder.rung[:-1], _alive(ladder)
    low = np.minimum.reduceat(np.where(alive, ladder.low, np.iinfo(np.int64).max), starts)
    return low, np.maximum.reduceat(np.where(alive, ladder.high, -1), starts)


def split_cells(ladder: Ladder, least: int, target: int) -> Ladder:
    """Drop cells on no short path; split the others into at least so many, into more where a cut has few cells."""
    low, rung, alive = ladder.low, ladder.rung, _alive(ladder)
    width = ladder.high - low + 1
    most = np.maximum(least, target // np.maximum(np.add.reduceat(alive, rung[:-1], dtype=np.int64), 1))
    pieces = np.where(alive, np.minimum(np.repeat(most, np.diff(rung)), np.maximum(width, 0)), 0)
    start = np.append(0, np.cumsum(pieces))
    parent = np.repeat(np.arange(len(low)), pieces)
    piece, wide, many = np.arange(start[-1]) - start[parent], width[parent], pieces[parent]
    return Ladder(
        low[parent] + wide * piece // many,
        low[parent] + wide * (piece + 1) // many - 1,
        start[rung],
        start[ladder.first][parent],
        start[ladder.last][parent],
    )


def _parts(ladder: Ladder) -> list[Ladder]:
    """The ladder, or where it has many arcs two that share its cells of one cut between them."""
    if np.maximum(ladder.last - ladder.first, 0).sum() <= MOST_ARCS:
        return [ladder]
    k = int(np.argmax(np.diff(ladder.rung)))
    first, last = int(ladder.rung[k]), int(ladder.rung[k + 1])
    gaps = ladder.low[first + 1 : last] - ladder.high[first : last - 1]
    middle = first + 1 + int(np.argmax(gaps))
    if gaps.max() < WIDE_GAP * (ladder.high[last - 1] - ladder.low[first]):
        middle = (first + last) // 2
    halves = []
    for gone in (slice(first, middle), slice(middle, last)):
        firsts, lasts = ladder.first.copy(), ladder.last.copy()
        firsts[gone] = lasts[gone] = 0
        halves.append(split_cells(ladder._replace(first=firsts, last=lasts), 1, 0))
    return halves
