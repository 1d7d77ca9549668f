"""What is asked of all clusterings within so many nats of the best: is this pair together, apart, this sample alone?

A question is about something that the reported clustering has. Its opposite is a problem of its own: the same one with
a constraint more. The least cost of that problem, less the reported objective, is the margin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from certmix.presolve.groups import group_samples
from certmix.problem import CannotLink, Constraint, Label, MinimumSize, MustLink, Problem, interchangeable
from certmix.problem.constraints import Row

NOBODY = -1


@dataclass(frozen=True)
class Question:
    """Two samples that the reported clustering has together, or apart; or a sample that it has alone.

    Attributes
    ----------
    first, second : positions; ``second`` is ``NOBODY`` for a sample that is alone in its component
    together : whether the two are together in the reported clustering
    """

    first: int
    second: int
    together: bool

    def opposites(self, problem: Problem) -> list[list[Constraint]]:
        """Constraints that force the opposite: every clustering that has it satisfies one of these lists."""
        n = problem.n_samples
        i, j = Row(self.first, n), Row(max(self.second, 0), n)
        if self.second != NOBODY:
            return [[CannotLink(i, j) if self.together else MustLink(i, j)]]
        # With somebody in a component; interchangeable ones can be renamed, so one of each class will do.
        _, components = np.unique(interchangeable(problem), return_index=True)
        return [[Label(i, int(k)), MinimumSize(2, int(k))] for k in components]

    def proved(self, n: int) -> list[Constraint]:
        """What holds in every clustering within delta once the opposite is ruled out there."""
        if self.second == NOBODY:
            return []
        i, j = Row(self.first, n), Row(self.second, n)
        return [MustLink(i, j) if self.together else CannotLink(i, j)]


class Questions:
    """Several questions, each once."""

    def __init__(self, asked: Sequence[Question]) -> None:
        self.all = tuple(dict.fromkeys(asked))
        self._place = {question: i for i, question in enumerate(self.all)}
        table = np.array([(q.first, q.second, q.together) for q in self.all], dtype=np.int64).reshape(-1, 3)
        self._first, self._second, together = table.T
        self._together = together.astype(bool)

    def __len__(self) -> int:
        return len(self.all)

    def place(self, question: Question) -> int:
        return self._place[question]

    def differing(self, labels: np.ndarray) -> np.ndarray:
        """For every question, whether a clustering has the opposite."""
        same = labels[self._first] == labels[self._second]
        alone = self._second == NOBODY
        same[alone] = np.bincount(labels)[labels[self._first[alone]]] == 1
        return np.asarray(same != self._together)


def representatives(problem: Problem, labels: np.ndarray, means: np.ndarray) -> np.ndarray:
    """For every sample whom it is compared with: the member of its component nearest to the mean.

    The nearest one itself is compared with the next nearest; ``NOBODY`` where there is none.
    """
    away = problem.objective.distances_to_own(labels, means)
    found = np.full(len(labels), NOBODY)
    for k in np.unique(labels):
        members = np.flatnonzero(labels == k)
        nearest = members[np.argsort(away[members], kind="stable")]
        found[members] = nearest[0]
        found[nearest[0]] = nearest[1] if len(nearest) > 1 else NOBODY
    return found


class Asker:
    """Makes questions; those that must-links make the same are one question."""

    def __init__(self, problem: Problem, labels: np.ndarray) -> None:
        self._labels = labels
        of = group_samples(problem).of
        self._first = np.unique(of, return_index=True)[1][of]  # the first sample of everyone's group

    def linked(self, i: int, j: int) -> bool:
        """Whether must-links have the two together."""
        return bool(self._first[i] == self._first[j])

    def about(self, i: int, j: int) -> Question:
        if j == NOBODY:
            return Question(i, NOBODY, True)
        a, b = sorted((int(self._first[i]), int(self._first[j])))
        if a == b:  # linked: nothing separates them
            a, b = sorted((i, j))
        return Question(a, b, bool(self._labels[i] == self._labels[j]))
