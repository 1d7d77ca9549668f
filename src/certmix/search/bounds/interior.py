"""A primal-dual interior-point method for the master program: a point near the centre, not a vertex.

    max  gain y - sum pull (y - towards)^2 / 2   s.t.  rows y <= cost,  low <= y <= high

Column generation from vertices swings from one end of what is not known yet to the other. From points that are about as
far from every row as from the others it converges in a dozen rounds (Gondzio, Gonzalez-Brevis and Munari, New
developments in the primal-dual column generation technique, EJOR 224, 2013). So a solution is wanted only to the gap
that the round deserves. A step costs much more to factor than to solve, so it is mended until it is long (Gondzio,
Multiple centrality corrections in a primal-dual method for linear programming, Computational Optimization and
Applications 6, 1996).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, lu_factor, lu_solve
from scipy.sparse import csr_matrix

from certmix.search.bounds.envelope import Factor, Normal, kinds
from certmix.threads import Threads


@dataclass(frozen=True)
class Tuning:
    """How the method steps, and when it ends."""

    most_steps: int = 40
    near: float = 1e-6  # how far rows may be from what they are said to be, in units
    most_lacking: float = 0.1  # of what a variable gains, that rows and ends may be short of
    to_the_edge: float = 0.95  # share of the longest step that is taken, where it is no whole one
    least_share: float = 0.1  # of the complementarity that a step may leave at least ...
    most_share: float = 0.8  # ... and at most
    smallest: float = 1e-10  # multiplier
    lost: float = 1e3  # times the smallest gap so far: the numbers have given out
    few_rows: int = 3  # times as many variables as rows: then the rows are what is solved for
    near_rows: int = 3  # times as many rows as variables: of more the nearest to their price count
    centred: float = 0.5  # complementarities to begin with are no smaller than this share of their mean
    least_slack: float = 0.01  # of a row that is broken: a share of the mean, ...
    least_mean: float = 1e-3  # ... which is no less than this, in units
    corrections: int = 3  # of a step, while it is no ...
    long_enough: float = 0.9  # ... longer, as a share of the whole: they hope for ...
    longer: float = 0.3  # ... so much more, with complementarities within ...
    uneven: float = 3.0  # ... this factor of what they should be, and count where they have gained ...
    least_gained: float = 0.1  # ... this share of what they hoped for


TUNING = Tuning()

Step = tuple[np.ndarray, np.ndarray, np.ndarray]  # of variables, multipliers and slacks


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

    def slack(self, y: np.ndarray) -> np.ndarray:
        """How far every row is from its price."""
        return np.asarray(self.cost - self.matrix @ y)


@dataclass(frozen=True)
class Solved:
    """A central point, what it is worth, and how much more there may be."""

    point: Point
    value: float
    gap: float


class Inequalities:
    """``G y <= c`` of the ends of variables and, after them, of the rows of a program that count."""

    def __init__(self, program: LinearProgram, rows: np.ndarray, threads: Threads | None) -> None:
        self.program, self.kept, self.threads = program, rows, threads
        self.low = np.flatnonzero(np.isfinite(program.low))
        self.high = np.flatnonzero(np.isfinite(program.high))
        self.n_ends = len(self.low) + len(self.high)
        self._arrange()

    def add(self, rows: np.ndarray) -> None:
        """More rows count."""
        self.kept = np.append(self.kept, rows)
        self._arrange()

    def _arrange(self) -> None:
        self.matrix, border = self.program.matrix[self.kept], self.program.border
        self.across = self.matrix.T.tocsr()
        few = TUNING.few_rows * (self.matrix.shape[0] + border) <= self.matrix.shape[1]
        self.normal = FewRows(self.matrix) if few else Normal(self.matrix, border, self.threads)

    def ends(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """What there is of every end, from what there is of every variable."""
        return np.concatenate([lower[self.low], upper[self.high]])

    def slack(self, y: np.ndarray) -> np.ndarray:
        """``c - G y``."""
        program = self.program
        return np.append(
            self.ends(y - program.low, program.high - y), program.cost[self.kept] - self.matrix @ y
        )

    def times(self, dy: np.ndarray) -> np.ndarray:
        """``G dy``."""
        return np.append(self.ends(-dy, dy), self.matrix @ dy)

    def turned(self, z: np.ndarray) -> np.ndarray:
        """``G' z``."""
        lower, upper = self.sides(z)
        return np.asarray(self.across @ z[self.n_ends :] - lower + upper)

    def sides(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of every variable, what belongs to its lower and to its upper end."""
        both = np.zeros((2, self.matrix.shape[1]))
        both[0, self.low], both[1, self.high] = np.split(z[: self.n_ends], [len(self.low)])
        return both[0], both[1]

    def factor(self, weight: np.ndarray, diagonal: np.ndarray) -> Factor | FewRows:
        """Of ``G' diag(weight) G + diag(diagonal)``."""
        lower, upper = self.sides(weight)
        return self.normal.factor(weight[self.n_ends :], lower + upper + diagonal)


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

    ``start`` lies strictly between the ends of its variables; rows may be broken, and the last ones may be new: it has
    no multipliers of them. Of many rows those count that are near their price, and those that a step has broken.
    """
    y, slack = start.y.copy(), program.slack(start.y)
    most = min(TUNING.near_rows * len(y), len(slack))
    limits = Inequalities(program, np.sort(np.argpartition(slack, most - 1)[:most]), threads)
    known = np.append(start.rows, np.zeros(len(slack) - len(start.rows)))
    z, s = np.append(limits.ends(start.lower, start.upper), known[limits.kept]), limits.slack(y)
    s[limits.n_ends :] = np.maximum(s[limits.n_ends :], _least(s[limits.n_ends :]))
    z = np.maximum(z, TUNING.centred * max(float(z @ s), wanted) / len(z) / s)
    best = math.inf, y, z
    for _ in range(TUNING.most_steps):
        away, lacking = limits.slack(y) - s, program.gain - pull * (y - towards) - limits.turned(z)
        kept = (
            float(np.abs(away).max(initial=0.0)) <= TUNING.near
            and np.abs(lacking).max() <= TUNING.most_lacking
        )
        gap = float(z @ s) if kept else math.inf
        best = min(best, (gap, y, z), key=lambda point: point[0])
        if gap <= 1.5 * wanted or z @ s > TUNING.lost * best[0]:
            break
        try:
            factor = limits.factor(z / s, pull)
        except LinAlgError:
            break

        def step(goal: np.ndarray) -> Step:
            """To complementarities that are so much more than now."""
            dy = factor.solve(lacking - limits.turned((goal - z * away) / s))  # noqa: B023
            ds = away - limits.times(dy)  # noqa: B023
            return dy, (goal - z * ds) / s, ds  # noqa: B023

        aim, (dy, dz, ds) = _direction(step, z, s, wanted)
        dual = _longest(s, ds)
        z, y, s = np.maximum(z + _longest(z, dz) * dz, TUNING.smallest), y + dual * dy, s + dual * ds
        if not (np.isfinite(y).all() and np.isfinite(z).all()):
            break
        slack = program.slack(y)
        slack[limits.kept] = 0.0
        broken = np.flatnonzero(slack < 0.0)
        if len(broken):
            limits.add(broken)
            least = _least(s[limits.n_ends :])
            s = np.append(s, np.full(len(broken), least))
            z = np.append(z, np.full(len(broken), TUNING.centred * aim / least))
    gap, y, z = best if math.isfinite(best[0]) else (float(z @ s), y, z)
    rows = np.zeros(len(program.cost))
    rows[limits.kept[: len(z) - limits.n_ends]] = z[limits.n_ends :]
    value = float(program.gain @ y)
    point = Point(y, rows, *limits.sides(z))
    return Solved(point, value, gap) if math.isfinite(value) and math.isfinite(gap) else None


def _direction(
    step: Callable[[np.ndarray], Step], z: np.ndarray, s: np.ndarray, wanted: float
) -> tuple[float, Step]:
    """What complementarities should be, and the step to that: Mehrotra's, mended while that makes it longer."""
    gap = float(z @ s)
    _, dz, ds = step(-z * s)
    left = float((z + _longest(z, dz) * dz) @ (s + _longest(s, ds) * ds))
    share = min(max((left / gap) ** 3, TUNING.least_share), TUNING.most_share)
    aim = max(share * gap, wanted) / len(z)
    low, high = aim / TUNING.uneven, aim * TUNING.uneven
    goal = aim - z * s - dz * ds
    best = step(goal)
    for _ in range(TUNING.corrections):
        lengths = np.array([_longest(z, best[1]), _longest(s, best[2])])
        if lengths.min() >= TUNING.long_enough:
            break
        hoped = np.minimum(lengths + TUNING.longer, 1.0)
        there = (z + hoped[0] * best[1]) * (s + hoped[1] * best[2])
        mended = goal + np.maximum(np.clip(there, low, high) - there, -high)
        other = step(mended)
        gained = _longest(z, other[1]) + _longest(s, other[2]) - lengths.sum()
        if not gained >= TUNING.least_gained * (hoped - lengths).sum():
            break
        goal, best = mended, other
    return aim, best


def _least(slack: np.ndarray) -> float:
    """How far rows that are broken are said to be from their price."""
    return TUNING.least_slack * max(float(np.abs(slack).mean()), TUNING.least_mean)


def _longest(value: np.ndarray, change: np.ndarray) -> float:
    """The step, one at most, that leaves everything some of its way to zero."""
    falls = change < 0
    return min(1.0, TUNING.to_the_edge * float((-value[falls] / change[falls]).min(initial=math.inf)))


class FewRows:
    """``rows' diag(weight) rows + diag(diagonal)`` where rows are few: they are what is solved for.

    Variables that are in the same rows are one in the product of rows.
    """

    def __init__(self, rows: csr_matrix) -> None:
        self.rows = rows.toarray()
        first, self.kind = kinds(rows)
        self.different = self.rows[:, first]

    def factor(self, weight: np.ndarray, diagonal: np.ndarray) -> FewRows:
        # With u = diag(weight) rows x, what is held is (right - rows' u) / diagonal, which leaves u and the others.
        self.held = diagonal > 0
        self.own, others, self.scale = self.rows[:, self.held], self.rows[:, ~self.held], diagonal[self.held]
        together = np.bincount(self.kind[self.held], 1.0 / self.scale, minlength=self.different.shape[1])
        corner = (self.different * together) @ self.different.T + np.diag(1.0 / weight)
        nothing = np.zeros((others.shape[1],) * 2)
        self.lu = lu_factor(np.block([[corner, -others], [others.T, nothing]]), check_finite=False)
        return self

    def solve(self, right: np.ndarray) -> np.ndarray:
        known = np.append(self.own @ (right[self.held] / self.scale), right[~self.held])
        u, free = np.split(lu_solve(self.lu, known, check_finite=False), [len(self.own)])
        x = np.empty(len(right))
        x[self.held], x[~self.held] = (right[self.held] - self.own.T @ u) / self.scale, free
        return x
