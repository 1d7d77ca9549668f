"""On which side of a bound does an average lie? Decided exactly, at any offset and scale."""

from __future__ import annotations

import itertools
import math

import numpy as np

from certmix.rounding import EPS


def average_in_box(samples: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> bool:
    """Whether the exact average of the samples, (m, d), lies in the box, its edges included."""
    return bool(np.all(average_side(samples, lower) >= 0) and np.all(average_side(samples, upper) <= 0))


def average_side(samples: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """(d,): 1 where the exact average of the samples lies above the bound, -1 below it, 0 on it.

    A sum of m differences errs by no more than m + 1 units of the sum of their sizes. Where that leaves the side open,
    the exact sum, rounded once, has the right sign.
    """
    away = samples - bound
    total, error = away.sum(axis=0), (len(samples) + 4) * EPS * np.abs(away).sum(axis=0)
    side = np.sign(total)
    for j in np.flatnonzero(np.isfinite(bound) & ~(np.abs(total) > error)):
        column = samples[:, j].tolist()
        side[j] = np.sign(math.fsum(itertools.chain(column, itertools.repeat(-float(bound[j]), len(column)))))
    return np.asarray(side)
