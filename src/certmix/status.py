"""How good is the answer, why did the run stop, and the one place where the two bounds are compared."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum

from certmix.errors import InputError, about


class Status(StrEnum):
    """How good the answer is."""

    OPTIMAL = "optimal"
    """The gap between incumbent and lower bound is within the tolerances."""
    FEASIBLE = "feasible"
    """A clustering that satisfies every constraint is known; how far from optimal it is, the gap says."""
    INFEASIBLE = "infeasible"
    """It is proved that no clustering satisfies the constraints."""
    UNKNOWN = "unknown"
    """No clustering was found and none was excluded."""


class Termination(StrEnum):
    """Why the run stopped."""

    GAP = "gap reached"
    TARGET = "target reached"
    """The lower bound reached what it was to reach; the gap is not closed."""
    TIME = "time limit"
    NODES = "node limit"
    MEMORY = "memory limit"
    """The run came to its memory limit, or would have with what it needed next."""
    INTERRUPTED = "interrupted"
    EXHAUSTED = "exhausted"
    """Everything was explored."""
    CONVERGED = "converged"
    """A local method came to rest; nothing is proved."""
    FAILED = "solver failed"
    """An external solver gave up; what it had found and proved until then counts."""


@dataclass(frozen=True)
class Tolerances:
    """The owner of every comparison between an incumbent and a bound.

    Parameters
    ----------
    relative : float
        Relative gap ``(UB - LB) / max(1, |UB|)`` that is good enough.
    absolute : float
        Absolute gap in nats that is good enough. Either one suffices.
    target : float
        A lower bound that is good enough, whatever the gap is then; infinite when there is none. It ends a run, and
        makes nothing optimal.
    """

    relative: float = 1e-6
    absolute: float = 0.0
    target: float = math.inf

    def __post_init__(self) -> None:
        for name in ("relative", "absolute"):
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value < math.inf:
                with about("gap" if name == "relative" else "absolute_gap"):
                    raise InputError(f"the {name} gap must be a number >= 0, not {value!r}")
        if math.isnan(self.target):
            raise InputError("the target must be a number")

    @staticmethod
    def gap_absolute(upper: float, lower: float) -> float:
        """``UB - LB`` in nats, never negative; infinite when either side is missing."""
        if not (math.isfinite(upper) and math.isfinite(lower)):
            return math.inf
        return max(0.0, upper - lower)

    @classmethod
    def gap_relative(cls, upper: float, lower: float) -> float:
        """``(UB - LB) / max(1, |UB|)``."""
        gap = cls.gap_absolute(upper, lower)
        return gap / max(1.0, abs(upper)) if math.isfinite(gap) else math.inf

    def allowed(self, upper: float) -> float:
        """The absolute gap that is good enough for this incumbent."""
        if not math.isfinite(upper):
            return 0.0
        return max(self.absolute, self.relative * max(1.0, abs(upper)), upper - self.target)

    def cutoff(self, upper: float) -> float:
        """A node whose bound reaches this needs no further work.

        A hair above ``upper - allowed``, so that a search that closes every node at the cutoff has closed the gap.
        """
        return upper - 0.999 * self.allowed(upper) if math.isfinite(upper) else math.inf

    def needed(self, upper: float) -> float:
        """A bound that is good enough for this incumbent, with room for a sum; below the cutoff of a search."""
        return upper - (1.0 - 1e-6) * self.allowed(upper)

    def exclusion(self, upper: float) -> float:
        """What nodes may be narrowed against where that costs nothing: the incumbent itself.

        What is excluded is then no better than the incumbent, so a search that closes may have proved more than it was
        asked for. With a wide tolerance the cutoff saves work.
        """
        narrow = self.allowed(upper) <= 1e-5 * max(1.0, abs(upper))
        return upper if narrow else self.cutoff(upper)

    def closed(self, upper: float, lower: float) -> bool:
        """Is the gap within the tolerances, or the target reached?"""
        return self.gap_absolute(upper, lower) <= self.allowed(upper)


def decide(upper: float, lower: float, tolerances: Tolerances, *, infeasible: bool = False) -> Status:
    """The only place where a run is called optimal: by comparing numbers."""
    if math.isfinite(upper):
        gap = replace(tolerances, target=math.inf)
        return Status.OPTIMAL if gap.closed(upper, lower) else Status.FEASIBLE
    return Status.INFEASIBLE if infeasible else Status.UNKNOWN
