"""A primal-dual interior-point method for the master program of many components: a point near the centre, not a vertex.

    max  gain y - sum pull (y - towards)^2 / 2   s.t.  rows y <= cost,  low <= y <= high

Column generation from vertices swings from one end of what is not known yet to the other. From points that are about as
far from every row as from the others it converges in a dozen rounds (Gondzio, Gonzalez-Brevis and Munari, New
developments in the primal-dual column generation technique, EJOR 224, 2013). So a solution is wanted only to the gap
that the round deserves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError, lu_factor, lu_solve
from scipy.sparse import csr_matrix

from certmix.search.bounds.envelope import Normal
from certmix.search.threads import Threads


@dataclass(frozen=True)
class Tuning:
    """How the method steps, and when it ends."""

    most_steps: int = 25
    near: float = 1e-6  # how far rows may be from what they are said to be, in units
    to_the_edge: float = 0.95  # share of the longest step that is taken
    least_share: float = 0.1  # of the complementarity that a step may leave at least ...
    most_share: float = 0.8  # ... and at most
    smallest: float = 1e-10  # multiplier
    few_rows: int = 3  # times as many variables as rows: then the rows are what is solved for
    near_rows: int = 2  # times as many rows as variables: of more the nearest to their price count, ...
    most_trials: int = 8  # ... and those that are broken then, so often at most
    first_row: float = 1e-4  # multiplier of a row that is new, at least
    inside: float = 1e-8  # multipliers to begin with are no smaller


TUNING = Tuning()


@dataclass
class Point:
    """Where the method is: variables, and the multipliers of rows and of lower and upper ends."""

    y: np.ndarray
    rows: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


@dataclass(frozen=True)
class LinearProgram:
    """Rows of zeros and ones, and the ends of variables; the last ``border`` are in rows all over the place."""

    matrix: csr_matrix
    cost: np.ndarray
    gain: np.ndarray
    low: np.ndarray
    high: np.ndarray
    border: int = 0

    def among(self, rows: np.ndarray) -> LinearProgram:
        """Of these rows only."""
        return replace(self, matrix=self.matrix[rows], cost=self.cost[rows])

    def slack(self, y: np.ndarray) -> np.ndarray:
        """How far every row is from its price."""
        return np.asarray(self.cost - self.matrix @ y)


@dataclass(frozen=True)
class Solved:
    """A central point, what it is worth, and how much more there may be."""

    point: Point
    value: float
    gap: float


def central_among_many(
    program: LinearProgram,
    start: Point,
    wanted: float,
    pull: np.ndarray,
    towards: np.ndarray,
    threads: Threads | None = None,
) -> Solved | None:
    """The same as :func:`central`, without most of the rows that are far from their price: they have no say.

    ``start`` has multipliers of the first rows; those that came later get some.
    """
    y, m, most = start.y, len(program.cost), TUNING.near_rows * len(start.y)
    begin = max(TUNING.first_row, wanted / m)
    rows = np.append(start.rows, np.full(m - len(start.rows), begin))
    kept = np.arange(m)
    if m > most:
        kept = np.sort(np.argpartition(program.slack(y), most)[:most])
    solved, broken = None, kept[:0]
    for _ in range(TUNING.most_trials):
        rows[broken], kept = begin, np.sort(np.append(kept, broken))
        inside = (np.maximum(x, TUNING.inside) for x in (rows[kept], start.lower, start.upper))
        solved = central(program.among(kept), Point(y, *inside), wanted, pull, towards, threads)
        if solved is None:
            return None
        start, y = solved.point, solved.point.y
        rows[kept] = start.rows
        broken = np.setdiff1d(np.flatnonzero(program.slack(y) < -TUNING.near), kept)
        if not len(broken):
            break
    assert solved is not None
    every = np.zeros(m)
    every[kept] = rows[kept]
    return Solved(Point(y, every, start.lower, start.upper), solved.value, solved.gap)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # what is not a number is no step
def central(
    program: LinearProgram,
    start: Point,
    wanted: float,
    pull: np.ndarray,
    towards: np.ndarray,
    threads: Threads | None = None,
) -> Solved | None:
    """A central point whose value is within about ``wanted`` of the best; None when the numbers give out.

    ``start`` lies strictly between the ends of its variables; rows may be broken.
    """
    matrix, cost, gain = program.matrix, program.cost, program.gain
    low, high, border = program.low, program.high, program.border
    across, has_low, has_high = matrix.T.tocsr(), np.isfinite(low), np.isfinite(high)
    m = len(cost) + int(has_low.sum()) + int(has_high.sum())
    y, x = start.y.copy(), start.rows.copy()
    below, above = start.lower * has_low, start.upper * has_high
    slack = cost - matrix @ y
    slack = np.maximum(slack, 1e-2 * max(float(np.abs(slack).mean()), 1e-3))
    few = TUNING.few_rows * (matrix.shape[0] + border) <= matrix.shape[1]
    normal = FewRows(matrix) if few else Normal(matrix, border, threads)

    def complementarity() -> float:
        return float(x @ slack + below[has_low] @ down[has_low] + above[has_high] @ up[has_high])

    for _ in range(TUNING.most_steps):
        down, up = np.where(has_low, y - low, 1.0), np.where(has_high, high - y, 1.0)
        away = cost - matrix @ y - slack
        lacking = gain - pull * (y - towards) - across @ x + below - above
        mu = complementarity() / m
        if mu * m <= 1.5 * wanted and float(np.abs(away).max(initial=0.0)) <= TUNING.near:
            break
        weight = x / slack
        try:
            factor = normal.factor(weight, below / down + above / up + pull)
        except LinAlgError:
            break

        def step(row: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, ...]:
            """The step to complementarities that are so much more than now."""
            right = lacking - across @ (row / slack - weight * away) + lower / down - upper / up  # noqa: B023
            dy = factor.solve(right)  # noqa: B023
            ds = away - matrix @ dy  # noqa: B023
            dx = row / slack - weight * ds  # noqa: B023
            return dy, ds, dx, (lower - below * dy) / down, (upper + above * dy) / up  # noqa: B023

        dy, ds, dx, d_below, d_above = step(-x * slack, -below * down, -above * up)
        primal = _longest((x, dx), (below, d_below), (above, d_above))
        dual = _longest((slack, ds), (down, dy * has_low), (up, -dy * has_high))
        left = (x + primal * dx) @ (slack + dual * ds)
        left += (below + primal * d_below)[has_low] @ (down + dual * dy)[has_low]
        left += (above + primal * d_above)[has_high] @ (up - dual * dy)[has_high]
        share = min(max((left / (m * mu)) ** 3, TUNING.least_share), TUNING.most_share)
        aim = max(share * mu, wanted / m)
        dy, ds, dx, d_below, d_above = step(
            aim - x * slack - dx * ds,
            (aim - below * down - d_below * dy) * has_low,
            (aim - above * up + d_above * dy) * has_high,
        )
        primal = TUNING.to_the_edge * _longest((x, dx), (below, d_below), (above, d_above))
        dual = TUNING.to_the_edge * _longest((slack, ds), (down, dy * has_low), (up, -dy * has_high))
        x = np.maximum(x + primal * dx, TUNING.smallest)
        below, above = below + primal * d_below, above + primal * d_above
        y, slack = y + dual * dy, slack + dual * ds
        if not (np.isfinite(y).all() and np.isfinite(x).all()):
            return None
    down, up = np.where(has_low, y - low, 1.0), np.where(has_high, high - y, 1.0)
    point = Point(
        y, x, np.maximum(below, TUNING.smallest * has_low), np.maximum(above, TUNING.smallest * has_high)
    )
    value, gap = float(gain @ y), complementarity()
    return Solved(point, value, gap) if math.isfinite(value) and math.isfinite(gap) else None


class FewRows:
    """``rows' diag(weight) rows + diag(diagonal)`` where rows are few: they are what is solved for."""

    def __init__(self, rows: csr_matrix) -> None:
        self.rows = rows.toarray()

    def factor(self, weight: np.ndarray, diagonal: np.ndarray) -> FewRows:
        # With u = diag(weight) rows x, what is held is (right - rows' u) / diagonal, which leaves u and the others.
        self.held = diagonal > 0
        self.own, others, self.scale = self.rows[:, self.held], self.rows[:, ~self.held], diagonal[self.held]
        corner = (self.own / self.scale) @ self.own.T + np.diag(1.0 / weight)
        nothing = np.zeros((others.shape[1],) * 2)
        self.lu = lu_factor(np.block([[corner, -others], [others.T, nothing]]), check_finite=False)
        return self

    def solve(self, right: np.ndarray) -> np.ndarray:
        known = np.append(self.own @ (right[self.held] / self.scale), right[~self.held])
        u, free = np.split(lu_solve(self.lu, known, check_finite=False), [len(self.own)])
        x = np.empty(len(right))
        x[self.held], x[~self.held] = (right[self.held] - self.own.T @ u) / self.scale, free
        return x


def _longest(*pairs: tuple[np.ndarray, np.ndarray]) -> float:
    """The longest step, one at most, that keeps everything from falling below zero."""
    longest = 1.0 / TUNING.to_the_edge
    for value, change in pairs:
        falls = change < 0
        if falls.any():
            longest = min(longest, float((-value[falls] / change[falls]).min()))
    return longest
