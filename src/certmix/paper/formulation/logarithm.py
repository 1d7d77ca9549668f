r"""A piecewise-linear function in the place of :math:`-\log`.

Two variants over breakpoints :math:`b_1 < \dots < b_m`, both the largest of a few lines and so, in a minimisation, a
few linear rows without a single binary variable:

- *tangent*: the tangents at the breakpoints. They lie below the convex function :math:`-\log`, so a lower bound on the
  model's optimum is one on the exact problem's.
- *chord*: the chords between neighbouring breakpoints, as in the paper. They lie above, so the model is an
  approximation, and its lower bound says nothing about the exact problem by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

Variant = Literal["tangent", "chord"]


@dataclass(frozen=True)
class PiecewiseLog:
    """Lines ``slope x + intercept`` whose largest stands for ``-log x`` on an interval.

    Attributes
    ----------
    breakpoints : increasing, the ends of the interval included
    """

    variant: Variant
    breakpoints: np.ndarray

    @property
    def lines(self) -> list[tuple[float, float]]:
        """``(slope, intercept)`` of every line."""
        b = self.breakpoints
        if self.variant == "tangent" or len(b) == 1:
            return [(-1.0 / x, 1.0 - float(np.log(x))) for x in b.tolist()]
        slopes = -np.diff(np.log(b)) / np.diff(b)
        return [(s, -float(np.log(x)) - s * x) for s, x in zip(slopes.tolist(), b[:-1].tolist(), strict=True)]

    def value(self, x: np.ndarray) -> np.ndarray:
        """The function that stands for ``-log x``."""
        slope, intercept = np.array(self.lines).T
        return np.asarray((np.multiply.outer(np.asarray(x, dtype=float), slope) + intercept).max(axis=-1))

    @property
    def error(self) -> float:
        r"""The largest distance from :math:`-\log` on the interval.

        Between breakpoints :math:`a < b` the tangents meet, and lie farthest below, at
        :math:`x = ab \log(b/a) / (b - a)`; the chord lies farthest above where its slope is that of :math:`-\log`, at
        :math:`x = (b - a) / \log(b/a)`.
        """
        a, b = self.breakpoints[:-1], self.breakpoints[1:]
        if not len(a):
            return 0.0
        rate = np.log(b / a) / (b - a)
        worst = a * b * rate if self.variant == "tangent" else 1.0 / rate
        return float(np.abs(-np.log(worst) - self.value(worst)).max())

    def refined(self, points: np.ndarray) -> PiecewiseLog:
        """With more breakpoints; points outside the interval or next to a breakpoint are left out."""
        low, high = float(self.breakpoints[0]), float(self.breakpoints[-1])
        kept = self.breakpoints
        for x in np.asarray(points, dtype=float).tolist():
            if low < x < high and np.abs(kept - x).min() > 1e-9 * x:
                kept = np.sort(np.append(kept, x))
        return PiecewiseLog(self.variant, kept)


def regular(variant: Variant, low: float, high: float, count: int) -> PiecewiseLog:
    """Breakpoints at equal distances, as in the paper; one suffices where the weight is known."""
    if high <= low * (1.0 + 1e-8):
        return PiecewiseLog(variant, np.array([low if variant == "tangent" else high]))
    return PiecewiseLog(variant, np.linspace(low, high, max(2, count)))
