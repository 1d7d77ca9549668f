"""Must-links merged into groups, and what labels and cannot-links then rule out."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from certmix.problem import Problem
from certmix.problem.rules import ALL, Rules


@dataclass(frozen=True)
class Groups:
    """Samples merged by must-links, with propagated labels.

    Attributes
    ----------
    of : ndarray of shape (n,)
        Group of every sample; groups are numbered by their first sample.
    n_groups : int
    weight : ndarray of shape (N,)
        Samples in every group.
    allowed : bool ndarray of shape (N, K)
    conflicts : ndarray of shape (p, 2)
        Pairs of groups that may not share a component; each pair once, smaller number first.
    implications : ndarray of shape (q, 3)
        (group, then, component). Implications for every component are must-links and have been merged.
    contradiction : bool
        A group is apart from itself or has no component left. (False does not mean feasible.)
    """

    of: np.ndarray
    n_groups: int
    weight: np.ndarray
    allowed: np.ndarray
    conflicts: np.ndarray
    implications: np.ndarray
    contradiction: bool


def group_samples(problem: Problem) -> Groups:
    """Merge must-linked samples and propagate labels until nothing changes."""
    return merge_samples(problem.rules, problem.n_samples, problem.size_upper)


def merge_samples(rules: Rules, n: int, size_upper: np.ndarray) -> Groups:
    """Merge ``n`` samples by any set of resolved rules and propagate what they rule out."""
    K = len(size_upper)
    of = merged(rules, n)
    n_groups = int(of.max(initial=-1)) + 1
    weight = np.bincount(of, minlength=n_groups)
    allowed = np.asarray(weight[:, None] <= size_upper[None, :])
    if rules.labels:
        samples, component, _ = rules.label_array.T
        named = np.zeros((n_groups, K), dtype=bool)
        named[of[samples], component] = True
        often = named.sum(axis=1, keepdims=True)
        allowed &= (often == 0) | (named & (often == 1))
    conflicts = np.unique(np.sort(of[rules.apart_array[:, :2]], axis=1), axis=0)
    torn = conflicts[:, 0] == conflicts[:, 1]
    conflicts = conflicts[~torn]
    implications = rules.implication_array[:, :3].copy()
    implications[:, :2] = of[implications[:, :2]]
    implications = np.unique(implications[implications[:, 0] != implications[:, 1]], axis=0)
    Domains(allowed, conflicts, implications).settle()
    contradiction = bool(torn.any()) or not bool(allowed.any(axis=1).all())
    for array in (of, weight, allowed, conflicts, implications):
        array.setflags(write=False)
    return Groups(of, n_groups, weight, allowed, conflicts, implications, contradiction)


def merged(rules: Rules, n: int) -> np.ndarray:
    """Group of every sample. "If i is in k then so is j, for all k" puts j wherever i is: a must-link."""
    tied = rules.implication_array[:, 2] == ALL
    pairs = np.vstack([rules.together_array[:, :2], rules.implication_array[tied, :2]])
    if not len(pairs):
        return np.arange(n)
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    graph = coo_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    component = connected_components(graph, directed=False)[1]
    first = np.full(component.max() + 1, n)
    np.minimum.at(first, component, np.arange(n))
    return np.asarray(np.argsort(np.argsort(first))[component], dtype=np.int64)


class Domains:
    """The components that every group may still take, narrowed in place as groups are fixed.

    A group fixed to k keeps its conflict partners out of k; "if g is in k then so is h" fixes h with g and
    keeps g out of k when h is.
    """

    def __init__(self, allowed: np.ndarray, conflicts: np.ndarray, implications: np.ndarray) -> None:
        self.allowed = allowed
        self.left = allowed.sum(axis=1)
        self.apart: dict[int, list[int]] = defaultdict(list)
        self._forward: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self._backward: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for a, b in conflicts.tolist():
            self.apart[a].append(b)
            self.apart[b].append(a)
        for group, then, k in implications.tolist():
            self._forward[group].append((then, k))
            self._backward[then].append((group, k))
        tied = self.apart.keys() | self._forward.keys() | self._backward.keys()
        self.tied = np.array(sorted(tied), dtype=np.int64)
        self.narrowed: list[int] = []
        """Groups that have lost components, for who wants to know."""
        self._waiting: list[int] = []

    def settle(self) -> None:
        """Propagate what is known at the start."""
        left = self.left[self.tied]
        self._waiting = self.tied[(left < self.allowed.shape[1]) | (left == 1)].tolist()
        self._run()

    def fix(self, group: int, k: int) -> None:
        """Put a group into a component and propagate."""
        self._keep(group, k)
        self._run()

    def _keep(self, group: int, k: int) -> None:
        for other in np.flatnonzero(self.allowed[group]):
            if other != k:
                self._remove(group, int(other))

    def _remove(self, group: int, k: int) -> None:
        if self.allowed[group, k]:
            self.allowed[group, k] = False
            self.left[group] -= 1
            self.narrowed.append(group)
            self._waiting.append(group)

    def _run(self) -> None:
        while self._waiting:
            group = self._waiting.pop()
            for other, k in self._backward.get(group, ()):
                if not self.allowed[group, k]:
                    self._remove(other, k)
            if self.left[group] != 1:
                continue
            fixed = int(np.argmax(self.allowed[group]))
            for other in self.apart.get(group, ()):
                self._remove(other, fixed)
            for then, k in self._forward.get(group, ()):
                if k == fixed:
                    self._keep(then, k)
