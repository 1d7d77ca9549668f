"""What is known of every part, and what follows for the whole."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from certmix.certificate.parts import PartProof
from certmix.ledger import Progress
from certmix.observers.base import Silent
from certmix.parts.task import Unfinished


def summed(bounds: Iterable[float]) -> float:
    """The sum of lower bounds, rounded down."""
    found = list(bounds)
    return math.inf if math.inf in found else math.nextafter(math.fsum(found), -math.inf)


@dataclass(eq=False)
class Part(Silent):
    """One part. As an observer of a run on it, it hears of better bounds while that goes on.

    Attributes
    ----------
    groups : of the whole instance
    samples : the same as samples, ascending
    share : the incumbent's objective, restricted to the part, with the best parameters for it
    bound : the best lower bound
    value : the best objective of a clustering of the part; at most its share
    tries, seconds : how often it was worked on, and how long last time
    unfinished : what the next try can go on from
    proofs : the best that there are, of the part or of the parts that it was put together from
    """

    groups: np.ndarray
    samples: np.ndarray
    share: float
    bound: float
    value: float
    tries: int = 0
    proofs: list[PartProof] = field(default_factory=list)
    seconds: float = 0.0
    unfinished: Unfinished | None = None

    @property
    def is_proved(self) -> bool:
        """Whether there are proofs for all of it."""
        return sum(len(proof.samples) for proof in self.proofs) == len(self.samples)

    def proved(self, proof: PartProof) -> None:
        """Take a proof and its bound, unless there are better ones."""
        if not self.is_proved or proof.bound > summed(known.bound for known in self.proofs):
            self.proofs = [proof]
        self.bound = max(self.bound, proof.bound)

    def progressed(self, progress: Progress) -> None:
        self.bound = max(self.bound, progress.bound)

    @property
    def inner(self) -> float:
        """What more work on this part may gain."""
        return max(0.0, self.value - self.bound)

    @property
    def below(self) -> float:
        """What the part does better alone than in the whole: work on this part does not gain it back."""
        return max(0.0, self.share - self.value)


@dataclass
class Account:
    """The parts of a partition; none before there is one."""

    parts: list[Part]

    @property
    def bound(self) -> float:
        return summed(part.bound for part in self.parts) if self.parts else -math.inf

    def gaps(self, upper: float) -> tuple[float, float]:
        """The gap that the partition leaves, as far as it is known, and the one inside of the parts."""
        partition = upper - math.fsum(part.value for part in self.parts)
        return partition, math.fsum(part.inner for part in self.parts)

    def words(self, upper: float) -> str:
        """How things stand, for the log."""
        tried = sum(part.tries > 0 for part in self.parts)
        text = f"{tried} of {len(self.parts)} parts"
        if math.isfinite(upper):
            partition, inner = (gap / max(1.0, abs(upper)) for gap in self.gaps(upper))
            text += f", gap {partition:.1e} of the partition + {inner:.1e} of the parts"
        return text
