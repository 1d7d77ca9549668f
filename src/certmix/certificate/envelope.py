"""What is known of an unknown variance: bounds at known ones, and what follows (docs/bounds.md, Unknown variance)."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from certmix.certificate.statement import state
from certmix.problem import Problem
from certmix.problem.envelope import Envelope, Piece, rise
from certmix.problem.scale import scale_range
from certmix.result import Result
from certmix.verify.claims import chords, vertices
from certmix.verify.claims.chords import least_squares, lifted
from certmix.verify.statement import read

BISECTIONS = 40


@dataclass(frozen=True)
class Solved:
    """A problem at one scale of its precision: what was found and proved there, and what its engine left for a proof.

    ``squares`` says that it is the problem of the sum of squares alone (:func:`certmix.problem.scale.sum_of_squares`).
    Where every feature has a variance of its own, there is a scale for each, or it is about the squares of one
    ``feature``.
    """

    scale: float | np.ndarray
    problem: Problem
    result: Result
    record: Any
    squares: bool = False
    feature: int | None = None

    @property
    def entry(self) -> dict[str, Any]:
        """Which problem it is, for a certificate."""
        if self.feature is not None:
            return {"scale": [self.scale], "feature": self.feature}
        if isinstance(self.scale, np.ndarray):
            return {"scale": self.scale.tolist()}
        return {"scale": self.scale, "squares": self.squares}


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
        slope = max(self.slope, slope, rise(points, self.most))
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
        return rise({scale: bound}, self.most)

    def slope_from(self, squares: Problem, scale: float, bound: float) -> float:
        """The slope that follows from a bound of the problem of the sum of squares at a scale."""
        if not math.isfinite(bound):
            return 0.0
        n, K, half_log_det = squares.n_samples, squares.n_components, squares.covariance.half_log_det
        return least_squares(bound, n, K, half_log_det, scale * (1.0 + self.slack))

    def add(self, one: Solved, bound: float) -> None:
        """Take a bound of one of the problems at known variances into account."""
        assert isinstance(one.scale, float)
        if one.squares:
            self.slope = max(self.slope, self.slope_from(one.problem, one.scale, bound))
        else:
            self.points.update(self.point(one.scale, bound))

    @property
    def bound(self) -> float:
        """What the objective is at least."""
        return self.envelope().bound

    def lowest(self) -> Piece:
        return min(self.envelope().pieces())

    def needed(self, scale: float, most: float, target: float) -> float | None:
        """The least bound of the problem at a scale with which both sides of it reach the target; at most ``most``.

        None when even that is not enough.
        """

        def enough(bound: float) -> bool:
            (at,) = point = self.point(scale, bound)
            end = min(at, self.high)  # rounded, a scale at the end of the range may be beyond it
            pieces = self.envelope(point).pieces()
            return all(piece.bound >= target for piece in pieces if end in (piece.left, piece.right))

        if not enough(most):
            return None
        least = most - max(1.0, abs(most))
        for _ in range(BISECTIONS):
            middle = 0.5 * (least + most)
            least, most = (least, middle) if enough(middle) else (middle, most)
        return most


class FeatureBounds:
    """The same where every feature has a variance of its own: half-spaces, and the vertices between them."""

    def __init__(self, problem: Problem) -> None:
        self.stated = read(json.loads(json.dumps(state(problem))))
        self.bounds = vertices.Bounds(self.stated)

    def add(self, one: Solved, bound: float) -> None:
        """Take a bound into account: a half-space."""
        s, none, cut = self.stated, np.zeros(1), self.bounds.polyhedron.cut
        if one.feature is not None:
            least = chords.least_squares(bound, s.n, s.K, none, float(one.scale))
            cut([float(j == one.feature) for j in range(s.d)], least, 0.0)
        else:
            assert isinstance(one.scale, np.ndarray)
            cut(one.scale.tolist(), lifted(bound, s.n, none, s.half_log_det))

    @property
    def bound(self) -> float:
        """What the objective is at least."""
        return self.bounds.lowest()[0]


def bounds_of(problem: Problem) -> Bounds | FeatureBounds:
    """Nothing is known yet."""
    return FeatureBounds(problem) if problem.covariance.per_feature else Bounds(problem)
