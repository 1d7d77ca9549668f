"""What is known of an unknown variance: bounds at known ones, and what follows (docs/bounds.md, Unknown variance)."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from certmix.certificate.statement import state
from certmix.problem import Problem
from certmix.problem.scale import scale_range
from certmix.result import Result
from certmix.verify import chords
from certmix.verify.chords import Envelope, Piece, least_squares, lifted
from certmix.verify.statement import read

BISECTIONS = 40


@dataclass(frozen=True)
class Solved:
    """A problem at one scale of its precision: what was found and proved there, and what its engine left for a proof.

    ``squares`` says that it is the problem of the sum of squares alone (:func:`certmix.problem.scale.sum_of_squares`).
    """

    scale: float
    problem: Problem
    result: Result
    record: Any
    squares: bool = False


class Bounds:
    """The envelope of a problem with an unknown variance; the checker's own arithmetic, rounded downwards."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.half = 0.5 * problem.n_samples * problem.n_features
        self.low, self.high = scale_range(problem)
        stated = read(json.loads(json.dumps(state(problem))))
        self.slack = chords.slack(stated.precision)
        self.points: dict[float, float] = {0.0: chords.least_weight_cost(stated)}
        self.most = chords.most_weight_cost(stated)
        self.slope = 0.0

    @property
    def sloped(self) -> bool:
        """Whether the least sum of squares is wanted: not where a smallest variance is given."""
        return math.isinf(self.high)

    def envelope(self, more: dict[float, float] | None = None, slope: float = 0.0) -> Envelope:
        """With more points or a better slope, if there are any."""
        points = {**self.points, **(more or {})}
        slope = max(self.slope, slope, chords.rise(points, self.most))
        return Envelope(sorted(points.items()), slope, self.half, self.low, self.high)

    def point(self, scale: float, bound: float) -> dict[float, float]:
        """The point that follows from a bound of the problem at a scale."""
        p = self.problem
        half_log_det = p.covariance.scaled(scale).half_log_det
        found = lifted(bound, p.n_samples, half_log_det, p.covariance.half_log_det)
        at = scale * (1.0 + self.slack)
        return {at: max(found, self.points.get(at, -math.inf))}

    def rise(self, scale: float, bound: float) -> float:
        """What a bound of g at a scale says of the slope."""
        return chords.rise({scale: bound}, self.most)

    def slope_from(self, squares: Problem, scale: float, bound: float) -> float:
        """The slope that follows from a bound of the problem of the sum of squares at a scale."""
        if not math.isfinite(bound):
            return 0.0
        n, K, half_log_det = squares.n_samples, squares.n_components, squares.covariance.half_log_det
        return least_squares(bound, n, K, half_log_det, scale * (1.0 + self.slack))

    def add(self, one: Solved, bound: float) -> None:
        """Take a bound of one of the problems at known variances into account."""
        if one.squares:
            self.slope = max(self.slope, self.slope_from(one.problem, one.scale, bound))
        else:
            self.points.update(self.point(one.scale, bound))

    def lowest(self) -> Piece:
        return min(self.envelope().pieces())

    def needed(self, scale: float, most: float, target: float) -> float | None:
        """The least bound of the problem at a scale with which both sides of it reach the target; at most ``most``.

        None when even that is not enough.
        """

        def enough(bound: float) -> bool:
            (at,) = point = self.point(scale, bound)
            pieces = self.envelope(point).pieces()
            return all(piece.bound >= target for piece in pieces if at in (piece.left, piece.right))

        if not enough(most):
            return None
        least = most - max(1.0, abs(most))
        for _ in range(BISECTIONS):
            middle = 0.5 * (least + most)
            least, most = (least, middle) if enough(middle) else (middle, most)
        return most
