"""Which plane to split a node by: the one whose two sides cost most, as far as the sets that are known say."""

from __future__ import annotations

import math

import numpy as np
from scipy.sparse import csr_matrix, vstack

from certmix.highs import Ending, minimise
from certmix.search.bounds.central import CentralAscent
from certmix.search.bounds.sides import Side

FRACTION = 0.02  # of a component that counts
WORTH = 0.1  # share of what is lacking that both sides have to bring
TRIED = 8  # planes for every coordinate


def best_plane(ascent: CentralAscent, lacking: float) -> Side | None:
    """A plane with a fraction of a component on its left in the master program; None where none brings much."""
    sets = ascent.master.sets()
    members = csr_matrix(np.array([s for s, _ in sets]).T.astype(float))
    cells = np.array([cell for _, cell in sets])
    means, filled = np.array(ascent.means), np.array(ascent.cells) >= 0
    costs = ascent.master.costs()
    of_class = csr_matrix((ascent.owner[cells] == np.arange(len(ascent.counts))[:, None]).astype(float))
    known = csr_matrix((ascent.inside[cells] * filled[:, None]).T)
    free, signs, numbers = int(ascent.free.sum()), ascent.sides.signs, ascent.sides.numbers
    least = np.concatenate([np.ones(free), ascent.counts, np.where(signs > 0, numbers, -math.inf)])
    most = np.concatenate([np.ones(free), ascent.counts, np.where(signs > 0, math.inf, numbers)])
    matrix = vstack([members[ascent.free], of_class, known]).tocsr()
    upper = np.where(filled, 1.0, ascent.counts[ascent.owner[cells]])

    def least_cost(
        row: np.ndarray | None = None, low: float = 0.0, high: float = 0.0
    ) -> tuple[float, np.ndarray]:
        """Of the program, with one more row if there is one; infinite when nothing is left."""
        rows = matrix if row is None else vstack([matrix, csr_matrix(row[None])]).tocsr()
        ends = (least, most) if row is None else (np.append(least, low), np.append(most, high))
        ending, x = minimise(costs, rows, *ends, upper=upper)
        if ending is Ending.INFEASIBLE or x is None:
            return math.inf, np.zeros(len(costs))
        return float(costs @ x), x

    value, x = least_cost()
    if not math.isfinite(value):
        return None
    best, found = WORTH * lacking / ascent.unit, None
    for axis, at, least_number in _candidates(means, np.where(filled, x, 0.0)):
        left = (filled & (means[:, axis] <= at)).astype(float)
        more = least_cost(left, least_number, math.inf)[0] - value
        fewer = least_cost(left, -math.inf, least_number - 1)[0] - value
        gain = min(more, fewer) + 1e-3 * min(max(more, fewer), 1e3 * min(more, fewer))
        if gain > best:
            best, found = gain, Side(axis, at, least_number, True)
    return found


def _candidates(means: np.ndarray, x: np.ndarray) -> list[tuple[int, float, int]]:
    """``(axis, at, least number)`` of planes that are worth a trial."""
    used = np.flatnonzero(x > 1e-6)
    found = []
    for axis in range(means.shape[1]):
        order = used[np.argsort(means[used, axis], kind="stable")]
        place, left = means[order, axis], np.cumsum(x[order])[:-1]
        part, gap = np.abs(left - np.round(left)), np.diff(place)
        score = np.where((part > FRACTION) & (gap > 0), part * np.sqrt(np.maximum(gap, 0.0)), 0.0)
        for i in np.argsort(-score, kind="stable")[:TRIED]:
            if score[i] > 0:
                found.append((axis, float(0.5 * (place[i] + place[i + 1])), math.ceil(left[i] - FRACTION)))
    return found
