"""What bounds at some variances say of all of them: the bound of a run (docs/bounds.md, An unknown variance).

Let t = 1 / sigma^2 and g(t) the least of ``t W/2 + E`` over all clusterings, W their sum of squares in the metric of
the shape, E all else: the least of functions whose graphs are lines, so g is concave. The objective is g(t) - N log t,
N = n d / 2. Between two points g lies above the chord of lower bounds there; to the right of the last one it rises by
at least the least W/2, which is at least (g(t) - E) / t with the largest E. For every s > 0,
``-log t >= -(log s + t/s - 1)``, so that a chord less N log t is at least a line, and a line is least at an end.

The checker comes to the same by vertices (:mod:`certmix.verify.claims.vertices`), with less rounding.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from certmix.verify.rounding import UNIT, below, gamma


class Piece(NamedTuple):
    """What the objective is at least for all t in [left, right], and about where it may be so little."""

    bound: float
    at: float
    left: float
    right: float


class Envelope(NamedTuple):
    """Points (t, L) with g(t) >= L, ascending; g rises by ``slope`` at least; ``half`` is N; t is in [low, high]."""

    points: Sequence[tuple[float, float]]
    slope: float
    half: float
    low: float = 0.0
    high: float = math.inf

    def under(self, t: float) -> float:
        """A lower bound of g(t), from the chord around t or the slope to its right."""
        for (a, x), (b, y) in itertools.pairwise(self.points):
            if a <= t <= b:
                share = (t - a) / (b - a)
                return below(x + share * (y - x), gamma(8) * (abs(x) + abs(y)))
        a, x = self.points[-1]
        if t < a or self.slope < 0.0:
            return -math.inf
        return below(x + self.slope * (t - a), gamma(8) * (abs(x) + self.slope * t))

    def pieces(self) -> list[Piece]:
        """The range of t, from point to point."""
        ends = [(self.low, self.under(self.low)), *(p for p in self.points if self.low < p[0] < self.high)]
        last = self._beyond(*ends[-1])
        if math.isfinite(self.high):
            last = self._between(ends[-1], (self.high, self.under(self.high)))
        return [*(self._between(*pair) for pair in itertools.pairwise(ends)), last]

    @property
    def bound(self) -> float:
        """What the objective is at least."""
        return min(piece.bound for piece in self.pieces())

    def _between(self, left: tuple[float, float], right: tuple[float, float]) -> Piece:
        (a, x), (b, y) = left, right
        rise = (y - x) / (b - a)
        s = min(max(self.half / rise, a), b) if rise > 0.0 else b
        return Piece(min(self._line(a, x, s), self._line(b, y, s)), s, a, b)

    def _beyond(self, a: float, x: float) -> Piece:
        if not self.slope > 0.0:
            return Piece(-math.inf, math.inf, a, math.inf)
        # N / s is not above the slope, so the line does not fall.
        s = max(a, self.half / self.slope * (1.0 + 4 * UNIT))
        return Piece(self._line(a, x, s), s, a, math.inf)

    def _line(self, t: float, bound: float, s: float) -> float:
        """Not above ``bound - N (log s + t/s - 1)``."""
        if not (math.isfinite(bound) and 0.0 < s < math.inf):
            return -math.inf
        log, ratio = math.log(s), t / s
        size = abs(bound) + self.half * (abs(log) + ratio + 1.0)
        return below(bound - self.half * (log + ratio - 1.0), gamma(16) * size)


def rise(points: Mapping[float, float], most: float) -> float:
    """A lower bound of the least W/2 from points (t, L): g(t) is at most ``t W/2 + most`` of every clustering."""
    best = 0.0
    for t, bound in points.items():
        rest = below(bound - most, gamma(4) * (abs(bound) + abs(most)))
        if t > 0.0 and rest > 0.0:
            best = max(best, below(rest / t, 4 * UNIT * rest / t))
    return best
