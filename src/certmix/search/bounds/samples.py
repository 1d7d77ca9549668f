"""Many groups: the multipliers of a few say what those of all are, nearly.

Coefficients of features are the same thing however many groups there are, and so are a set's mean and slope. So the
ascent begins with one group of every so many that are near each other, each of which stands for all of them, goes on
with more, and has little left to do when it comes to all: its first multipliers are good ones, and the master knows the
sets that matter. Nothing here has to be right: what is claimed is priced over all groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import KDTree

from certmix.kernels.arrays import Arrays
from certmix.search.bounds.pricer import PricingClass

FEWEST = 2500  # groups in the smallest sample at least
TIMES = 6  # as many are in the next one


@dataclass(frozen=True)
class Known:
    """What an ascent has found out."""

    coefficients: np.ndarray  # of the features, ...
    radius: float  # ... within which they are known
    starts: list[tuple[np.ndarray, np.ndarray]]  # means and slopes of the sets that matter, for every class


@dataclass(frozen=True)
class Sample:
    """Some groups; each stands for those around it, so that all have ``weight`` samples together."""

    groups: np.ndarray
    weight: np.ndarray

    def arrays(self, whole: Arrays) -> Arrays:
        """What pricing reads: heavier groups, and no conflicts between them."""
        here = self.groups
        times = self.weight / whole.weight[here]
        return whole._replace(
            points=np.ascontiguousarray(whole.points[:, here]),
            scatter=times * whole.scatter[:, here],
            weight=self.weight,
            mass=times.reshape(-1, *[1] * (whole.mass.ndim - 1)) * whole.mass[here],
            conflict_start=np.zeros(len(here) + 1, dtype=np.int64),
            conflict_with=np.zeros(0, dtype=np.int64),
        )

    def classes(self, whole: list[PricingClass]) -> list[PricingClass]:
        """Without limits on sizes: near one, pricing looks at sets one by one, and heavy groups are always near."""
        n = float(self.weight.sum())
        return [replace(which, status=which.status[self.groups], a=1.0, b=n) for which in whole]


def samples(arrays: Arrays) -> Iterator[Sample]:
    """Larger and larger ones, none of all groups; none at all where there are few groups."""
    N, steps = len(arrays.weight), [TIMES]
    if N < FEWEST * TIMES:
        return
    while FEWEST * TIMES * steps[-1] <= N:
        steps.append(TIMES * steps[-1])
    order = KDTree(arrays.points[0]).indices  # neighbours are near each other there
    for step in reversed(steps):
        first = np.arange(0, N, step)
        middle = np.minimum(first + step // 2, N - 1)
        yield Sample(order[middle], np.add.reduceat(arrays.weight[order], first))
