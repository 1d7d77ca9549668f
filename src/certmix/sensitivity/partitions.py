"""What is left of all clusterings when one is taken out, in pieces that are problems of their own.

Groups of samples stand in a fixed order. A clustering is told by going through them: each joins a cluster that an
earlier one has begun, or begins one. A piece agrees with a clustering before some group, and differs from it there (the
scheme of Lawler 1972, and of Murty 1968 for assignments). Pieces do not overlap, and together they are everything but
that clustering, whatever its components are called.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from certmix.problem import CannotLink, Constraint, MustLink, Problem, interchangeable
from certmix.problem.constraints import Row

MOST_NAMINGS = 5040


@dataclass(frozen=True)
class Piece:
    """A set of clusterings.

    Attributes
    ----------
    depth : the place in the order before which all of them agree
    constraints : what makes them the piece
    excluded : those of the constraints that rule out what was told of the group at that place
    """

    depth: int = 0
    constraints: tuple[Constraint, ...] = ()
    excluded: tuple[Constraint, ...] = ()

    @property
    def all(self) -> tuple[Constraint, ...]:
        return (*self.constraints, *self.excluded)

    def without(self, labels: np.ndarray, order: Sequence[int], ref: Callable[[int], Row]) -> Iterator[Piece]:
        """The piece without one of its clusterings; ``order`` has a sample of every group, ``ref`` calls it."""
        first: dict[int, Row] = {}  # who began every cluster
        prefix: list[Constraint] = []
        for place, i in enumerate(order):
            sample, k = ref(i), int(labels[i])
            kept = self.excluded if place == self.depth else ()
            if place >= self.depth:
                if k in first:
                    yield Piece(place, tuple(prefix), (*kept, CannotLink(sample, first[k])))
                else:
                    for other in first.values():
                        yield Piece(place, (*prefix, MustLink(sample, other)), kept)
            if k in first:
                prefix.append(MustLink(sample, first[k]))
            else:
                prefix += [CannotLink(sample, other) for other in first.values()]
                first[k] = sample


def canonical(problem: Problem, labels: np.ndarray) -> tuple[int, ...]:
    """The same for two clusterings that differ in the names of interchangeable components only."""
    classes = interchangeable(problem)
    free = {c: iter(np.flatnonzero(classes == c).tolist()) for c in np.unique(classes).tolist()}
    name: dict[int, int] = {}
    for k in labels.tolist():
        if k not in name:
            name[k] = next(free[int(classes[k])])
    return tuple(name[k] for k in labels.tolist())


def namings(problem: Problem, labels: np.ndarray) -> list[np.ndarray] | None:
    """The same clusters with other components, one of every kind; None when they are too many to be looked at."""
    K, classes = problem.n_components, interchangeable(problem)
    sizes = np.unique(classes, return_counts=True)[1].tolist()
    if len(sizes) == 1:
        return [labels]
    if math.factorial(K) > MOST_NAMINGS:
        return None
    found: dict[tuple[int, ...], np.ndarray] = {}
    for permutation in itertools.permutations(range(K)):
        named = np.array(permutation)[labels]
        found.setdefault(canonical(problem, named), named)
    return list(found.values())
