"""What the objective is called and counted in: nats, or the sum of squares of k-means."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from certmix.errors import InputError

SSE = "SSE"
PENALISED = "SSE + penalties"  # where there are links that may be broken at a price
# The sum of squares around one mean, in the objective of k-means: between this and four times as much. What is less
# than a nat is then less than a hundred-millionth of it, and no more than rounding leaves.
TOTAL = 2.0**26
LEAST = 1e-200  # half the sum of squares around one mean, less than that is not told from zero
SMALLEST, LARGEST = -450, 450  # powers of four that leave room for squares and their inverses


@dataclass(frozen=True)
class Quantity:
    """How an objective is shown: ``factor`` times itself. Factors are powers of two, so nothing is rounded.

    Attributes
    ----------
    name : what people call it
    unit : what it is counted in; empty for units of the data
    factor : what one nat is worth
    """

    name: str = "objective"
    unit: str = "nats"
    factor: float = 1.0

    @property
    def squares(self) -> bool:
        """Whether it is the sum of squares of k-means, penalties of broken links added or not."""
        return self.name in (SSE, PENALISED)

    @property
    def group(self) -> str:
        """What people call that which samples are in."""
        return "cluster" if self.squares else "component"

    def shown(self, objective: float) -> float:
        """An objective, a bound or a gap as people see it."""
        return self.factor * objective

    def objective(self, shown: float) -> float:
        """What the objective is where people see this."""
        return shown / self.factor

    def with_unit(self, number: str) -> str:
        """A number that is shown, and its unit."""
        return f"{number} {self.unit}".rstrip()

    @property
    def words(self) -> str:
        """Name and unit, for an axis."""
        return f"{self.name} ({self.unit})" if self.unit else self.name


NATS = Quantity()


def sum_of_squares(factor: float, *, penalised: bool = False) -> Quantity:
    """The sum of squares, where the objective is so many times smaller; ``penalised``: links may be broken."""
    return Quantity(PENALISED if penalised else SSE, "", factor)


def kmeans_variance(data: np.ndarray) -> float:
    """The variance at which k-means is solved: a power of four, by which the result does not change.

    Half the sum of squares around one mean is then about :data:`TOTAL` nats, whatever the units of the data are, so
    that "a relative gap, of a nat at least" means the same for all data.
    """
    away = data - data.mean(axis=0)
    total = 0.5 * float(np.einsum("ij,ij->", away, away))
    if total < LEAST and (far := float(np.ptp(data, axis=0).max())) > 0.0:
        raise InputError(
            f"the samples differ by {far:.3g} at most, too little to be squared; rescale the data first"
        )
    if total == 0.0:
        return 1.0
    power = math.floor(math.log2(total / TOTAL) / 2.0)
    return 4.0 ** min(max(power, SMALLEST), LARGEST)
