"""What a local method returns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from certmix.problem import Problem
from certmix.problem.features import Feature, features

CONSTRAINTS = (
    Feature.MUST_LINK,
    Feature.CANNOT_LINK,
    Feature.IMPLICATION,
    Feature.LABEL,
    Feature.SIZE,
    Feature.COUNTING,
)


@dataclass(frozen=True, eq=False)
class LocalSolution:
    """A clustering found without proof.

    ``labels`` satisfy every side constraint: the method's own where they do, else the nearest by the exact assignment
    to its components; None when there are none.
    """

    method: str
    labels: np.ndarray | None
    own_labels: np.ndarray  # the most probable component of every sample; they may violate constraints
    means: np.ndarray  # (K, d), the method's own, ...
    weights: np.ndarray  # ... and (K,)
    value: float  # the objective of ``own_labels`` at these parameters: how the paper scores local methods
    rescored: (
        float  # the objective of ``labels`` at the best parameters for them; infinite when there are none
    )
    iterations: int = 0
    history: Sequence[float] = ()  # what the method itself minimises, after every iteration
    converged: bool = True  # False when a limit on iterations or time ended the method
    responsibilities: np.ndarray | None = None  # (n, K)
    notes: tuple[
        str, ...
    ] = ()  # which side constraints were honoured while iterating, and other reservations

    def __post_init__(self) -> None:
        object.__setattr__(self, "history", tuple(map(float, self.history)))
        for name in ("labels", "own_labels", "means", "weights", "responsibilities"):
            array = getattr(self, name)
            if array is not None:
                array = np.array(array)
                array.setflags(write=False)
                object.__setattr__(self, name, array)

    @property
    def feasible(self) -> bool:
        return self.labels is not None and math.isfinite(self.rescored)


def constraint_notes(problem: Problem, method: str, during: frozenset[Feature]) -> tuple[str, ...]:
    """Which of the problem's side constraints a method honours while iterating, and which only in the end."""
    used = [feature for feature in CONSTRAINTS if feature in features(problem)]
    early = [str(feature) for feature in used if feature in during]
    late = [str(feature) for feature in used if feature not in during]
    notes = []
    if early:
        notes.append(f"{method} honours {_listed(early)} while iterating")
    if late:
        notes.append(f"{method} honours {_listed(late)} only when its answer is rounded")
    return tuple(notes)


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
