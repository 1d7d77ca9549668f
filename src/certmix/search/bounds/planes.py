"""Which plane to split a node by: the one whose two sides cost most, as far as the sets that are known say."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix, eye, hstack

from certmix.highs import Ending, Program
from certmix.search.bounds.central import CentralAscent
from certmix.search.bounds.envelope import kinds
from certmix.search.bounds.sides import Side
from certmix.search.bounds.trios import limits


@dataclass(frozen=True)
class Tuning:
    """Which planes are tried: components, shares of what is lacking, and numbers of planes."""

    fraction: float = 0.02  # of a component that counts
    worth: float = (
        0.02  # share of what is lacking that both sides bring, more of one for less of the other, ...
    )
    least: float = 1e-3  # ... down to this
    tried: int = 8  # planes for every coordinate, ...
    in_vain: int = 5  # ... until so many in a row were no better than the best, ...
    most_steps: int = 300  # ... with so many steps of the simplex method for each; ...
    most_entries: int = (
        400_000  # ... but none where the program has more: that takes longer than another node
    )


TUNING = Tuning()


def best_plane(ascent: CentralAscent, lacking: float) -> Side | None:
    """A plane with a fraction of a component on its left in the master program; None where none brings much.

    The best one has the largest product of what its two sides bring. Of the sets only those count whose reduced cost is
    no more than what is lacking. Where the program is so large that trials take long, it is the likeliest one.
    """
    if ascent.master.n_entries > TUNING.most_entries:
        return _likeliest(ascent)
    program, kept = _program(ascent, lacking)
    means, filled = np.array(ascent.means)[kept], np.array(ascent.cells)[kept] >= 0
    ending, x = program.solve()
    if ending is not Ending.OPTIMAL or x is None:
        return None
    value, enough = program.value, lacking / ascent.unit
    best, found, in_vain = (TUNING.worth * enough) ** 2, None, 0
    for axis, at, least_number in _candidates(means, np.where(filled, x[: len(kept)], 0.0)):
        left = np.zeros(len(x))
        left[: len(kept)] = filled & (means[:, axis] <= at)
        gain = 1.0
        for low, high in ((least_number, math.inf), (-math.inf, least_number - 1)):
            brings = program.least_with(left, low, high, value + enough, TUNING.most_steps) - value
            gain *= max(brings, TUNING.least * enough)
        in_vain += 1
        if gain > best:
            best, found, in_vain = gain, Side(axis, at, least_number, True), 0
        if found is not None and in_vain >= TUNING.in_vain:
            break
    return found


def _likeliest(ascent: CentralAscent) -> Side | None:
    """The first candidate at the shares of sets that the ascent ended with; None where there is none."""
    shares = ascent.shares()
    if shares is None:
        return None
    filled = np.array(ascent.cells) >= 0
    found = _candidates(np.array(ascent.means), np.where(filled, shares, 0.0))
    return Side(*found[0], True) if found else None


def _program(ascent: CentralAscent, lacking: float) -> tuple[Program, np.ndarray]:
    """The master program in terms of sets, and which of them are in it; they come first.

    The ends of the boxes of multipliers and prices are what it costs to leave a group out or take it twice, and to
    break a side: known sets need not make a clustering. Groups that are in the same of these sets are one row.
    """
    cells, signs = np.array(ascent.cells), ascent.sides.signs
    kept = np.flatnonzero((ascent.slack() <= lacking / ascent.unit) | (cells < 0))
    rows, costs = ascent.master.rows()
    rows, trios, sides = rows[kept], limits(ascent.master.trios), len(signs)
    first, kind = kinds(rows[:, : len(ascent.low)])
    rows = hstack([rows[:, first], rows[:, len(kind) :]])
    apart = np.zeros((rows.shape[1] - sides, sides))
    beside = np.vstack([apart, np.diag(signs)])
    one = eye(rows.shape[1], len(first))
    matrix = hstack([rows.T, one, -one, csr_matrix(beside)]).tocsr()
    ones, numbers = np.ones(len(first)), ascent.sides.numbers
    least = np.concatenate(
        [ones, np.full(len(trios), -math.inf), ascent.counts, np.where(signs > 0, numbers, -math.inf)]
    )
    most = np.concatenate([ones, trios, ascent.counts, np.where(signs > 0, math.inf, numbers)])
    high, low = np.bincount(kind, ascent.high), np.bincount(kind, ascent.low)
    priced = np.concatenate([costs[kept], high, -low, np.full(sides, ascent.dearest)])
    upper = np.full(len(priced), math.inf)
    upper[: len(kept)] = np.where(cells[kept] < 0, math.inf, 1.0)
    return Program(priced, matrix, least, most, upper=upper), kept


def _candidates(means: np.ndarray, x: np.ndarray) -> list[tuple[int, float, int]]:
    """``(axis, at, least number)`` of planes that are worth a trial, the likeliest first."""
    used = np.flatnonzero(x > 1e-6)
    found: list[tuple[float, tuple[int, float, int]]] = []
    for axis in range(means.shape[1]):
        order = used[np.argsort(means[used, axis], kind="stable")]
        place, left = means[order, axis], np.cumsum(x[order])[:-1]
        part, gap = np.abs(left - np.round(left)), np.diff(place)
        score = np.where((part > TUNING.fraction) & (gap > 0), part * np.sqrt(np.maximum(gap, 0.0)), 0.0)
        for i in np.argsort(-score, kind="stable")[: TUNING.tried]:
            if score[i] > 0:
                at = float(0.5 * (place[i] + place[i + 1]))
                found.append((float(score[i]), (axis, at, math.ceil(left[i] - TUNING.fraction))))
    return [plane for _, plane in sorted(found, key=lambda each: -each[0])]
