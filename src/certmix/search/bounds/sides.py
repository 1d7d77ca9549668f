"""How many means lie on one side of a plane: what nodes with many components are split by.

Where multipliers leave a gap with many components it is nearly always because no one price for a component is right
everywhere: here one more would be worth having, there one less, and the program takes half of either. A node that knows
how many components have their mean on each side has a price for either side.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Cell:
    """A box that no plane cuts, and which planes it lies on the left of (0 or 1 each)."""

    lo: np.ndarray
    hi: np.ndarray
    inside: np.ndarray


@dataclass(frozen=True)
class Side:
    """At least ``least`` components lie on the left of the plane ``mean[axis] = at``, or fewer.

    On its left are the components that are not empty and whose mean has a coordinate of ``at`` or less.
    """

    axis: int
    at: float
    least: int
    left: bool  # at least so many, or fewer


@dataclass(frozen=True)
class Sides:
    """What a node knows of some planes."""

    all: tuple[Side, ...] = ()

    def __len__(self) -> int:
        return len(self.all)

    @property
    def numbers(self) -> np.ndarray:
        """What a price for each is multiplied by in the bound: the least number on the left, or the largest."""
        return np.array([side.least if side.left else side.least - 1 for side in self.all], dtype=float)

    @property
    def signs(self) -> np.ndarray:
        """Of the prices."""
        return np.array([1.0 if side.left else -1.0 for side in self.all])

    def cells(self, lo: np.ndarray, hi: np.ndarray) -> list[Cell]:
        """A box cut by all planes."""
        ends = []
        for j, (low, high) in enumerate(zip(lo.tolist(), hi.tolist(), strict=True)):
            cuts = sorted({side.at for side in self.all if side.axis == j and low < side.at < high})
            ends.append(list(itertools.pairwise([low, *cuts, high])))
        found = []
        for box in itertools.product(*ends):
            low_ends, high_ends = (np.array(end) for end in zip(*box, strict=True))
            inside = np.array([float(high_ends[side.axis] <= side.at) for side in self.all])
            found.append(Cell(low_ends, high_ends, inside))
        return found
