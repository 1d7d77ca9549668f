"""What is asked of all clusterings within so many nats of the best: is this pair together, apart, this sample alone?

A question is about something that the reported clustering has. Its opposite is a problem of its own: the same one with
a constraint more. The least cost of that problem, less the reported objective, is the margin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from certmix.presolve.groups import group_samples
from certmix.problem import (
    CannotLink,
    Constraint,
    Label,
    MinimumSize,
    MustLink,
    Packing,
    Problem,
    interchangeable,
)

NOBODY, NOISE = -1, -2


@dataclass(frozen=True)
class Question:
    """Two samples that the reported clustering has together, or apart; or a sample that it has alone.

    Attributes
    ----------
    first, second : positions; ``second`` is ``NOBODY`` for a sample that is alone in its component, and ``NOISE`` for
        the only one that is noise
    together : whether the two are together in the reported clustering
    """

    first: int
    second: int
    together: bool

    def opposites(self, problem: Problem) -> list[list[Constraint]]:
        """Constraints that force the opposite: every clustering that has it satisfies one of these lists."""
        i = problem.samples.ref(self.first)
        if self.second >= 0:
            j = problem.samples.ref(self.second)
            return [[CannotLink(i, j) if self.together else MustLink(i, j)]]
        if self.second == NOISE:
            return [[Packing([i], problem.n_clusters, 0)]]
        # With somebody in a component; interchangeable ones can be renamed, so one of each class will do.
        _, components = np.unique(interchangeable(problem), return_index=True)
        more = len(problem.samples.copies([self.first])) + 1
        return [[Label(i, int(k)), MinimumSize(more, int(k))] for k in components]

    def proved(self, problem: Problem) -> list[Constraint]:
        """What holds in every clustering within delta once the opposite is ruled out there."""
        if self.second < 0:
            return []
        i, j = (problem.samples.ref(sample) for sample in (self.first, self.second))
        return [MustLink(i, j) if self.together else CannotLink(i, j)]


class Questions:
    """Several questions, each once."""

    def __init__(self, asked: Sequence[Question], problem: Problem) -> None:
        self.all = tuple(dict.fromkeys(asked))
        self._place = {question: i for i, question in enumerate(self.all)}
        table = np.array([(q.first, q.second, q.together) for q in self.all], dtype=np.int64).reshape(-1, 3)
        self._first, self._second, together = table.T
        self._together = together.astype(bool)
        self._alone, self._noise = (np.flatnonzero(self._second == who) for who in (NOBODY, NOISE))
        copies = [len(problem.samples.copies([i])) for i in self._first[self._alone].tolist()]
        self._copies, self._last = np.array(copies, dtype=np.int64), problem.n_components - 1

    def __len__(self) -> int:
        return len(self.all)

    def place(self, question: Question) -> int:
        return self._place[question]

    def __contains__(self, question: object) -> bool:
        return question in self._place

    def differing(self, labels: np.ndarray) -> np.ndarray:
        """For every question, whether a clustering has the opposite."""
        same = labels[self._first] == labels[np.maximum(self._second, 0)]  # nobody is not the last sample
        same[self._alone] = np.bincount(labels)[labels[self._first[self._alone]]] == self._copies
        same[self._noise] = labels[self._first[self._noise]] == self._last
        return np.asarray(same != self._together)


def representatives(problem: Problem, labels: np.ndarray, means: np.ndarray) -> np.ndarray:
    """For every sample whom it is compared with: the member of its component nearest to the mean.

    The nearest one itself is compared with the next nearest; ``NOBODY`` where there is none. Noise has no mean: its
    representative is the member that is farthest from all clusters. Samples with weights count once.
    """
    away = problem.objective.distances_to_own(labels, means)
    if problem.noise is not None:
        noise = labels == problem.n_clusters
        ones = np.ones(problem.n_components)
        away[noise] = -problem.objective.component_costs(means, ones)[noise, : problem.n_clusters].min(axis=1)
    found, copies = np.full(len(labels), NOBODY), problem.samples.copies
    for k in np.unique(labels):
        members = problem.samples.first[labels[problem.samples.first] == k]
        nearest = members[np.argsort(away[members], kind="stable")]
        found[labels == k] = nearest[0]
        nobody = NOISE if k == problem.n_clusters else NOBODY
        found[copies([int(nearest[0])])] = nearest[1] if len(nearest) > 1 else nobody
    return found


class Asker:
    """Makes questions; those that must-links make the same are one question."""

    def __init__(self, problem: Problem, labels: np.ndarray) -> None:
        self._labels = labels
        of = group_samples(problem).of
        self._first = np.unique(of, return_index=True)[1][of]  # the first sample of everyone's group
        samples, component, _ = problem.rules.label_array.T
        known = np.full(len(labels), NOBODY)
        known[self._first[samples]] = component
        self._known = known[self._first]  # the component that a label says

    def given(self, question: Question) -> bool:
        """Whether links or known labels have the two as they are: nothing has them otherwise."""
        i, j = question.first, question.second
        if j < 0:
            return False
        labelled = self._known[i] != NOBODY and self._known[j] != NOBODY
        return bool(self._first[i] == self._first[j] or labelled)

    def about(self, i: int, j: int) -> Question:
        if j < 0:
            return Question(i, j, True)
        a, b = sorted((int(self._first[i]), int(self._first[j])))
        if a == b:  # linked: nothing separates them
            a, b = sorted((i, j))
        return Question(a, b, bool(self._labels[i] == self._labels[j]))
