"""Must-links merged into groups, and what labels and cannot-links then rule out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from certmix.problem import Problem
from certmix.problem.rules import ALL


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
        (group, then, component), component = ALL (-1) for every one.
    contradiction : bool
        A group is apart from itself or has no component left. (False does not mean that the problem is feasible.)
    """

    of: np.ndarray
    n_groups: int
    weight: np.ndarray
    allowed: np.ndarray
    conflicts: np.ndarray
    implications: np.ndarray
    contradiction: bool


def group_samples(problem: Problem) -> Groups:
    """Merge must-linked samples and propagate labels through cannot-links and implications until nothing changes."""
    n, K = problem.n_samples, problem.n_components
    of = _merged(problem)
    n_groups = int(of.max()) + 1
    weight = np.bincount(of, minlength=n_groups)
    allowed = np.ones((n_groups, K), dtype=bool)
    for known in problem.rules.labels:
        only = np.zeros(K, dtype=bool)
        only[known.component] = True
        allowed[of[known.sample]] &= only
    pairs = {tuple(sorted((int(of[r.i]), int(of[r.j])))) for r in problem.rules.apart}
    contradiction = any(a == b for a, b in pairs)
    conflicts = np.array(sorted((a, b) for a, b in pairs if a != b), dtype=np.int64).reshape(-1, 2)
    triples = {(int(of[r.sample]), int(of[r.then]), r.component) for r in problem.rules.implications}
    triples = {t for t in triples if t[0] != t[1]}
    implications = np.array(sorted(triples), dtype=np.int64).reshape(-1, 3)
    allowed &= weight[:, None] <= problem.size_upper[None, :]
    _propagate(allowed, conflicts, implications)
    contradiction |= not bool(allowed.any(axis=1).all())
    for array in (of, weight, allowed, conflicts, implications):
        array.setflags(write=False)
    return Groups(of, n_groups, weight, allowed, conflicts, implications, contradiction)


def _merged(problem: Problem) -> np.ndarray:
    n = problem.n_samples
    links = problem.rules.together
    if not links:
        return np.arange(n)
    rows = np.array([r.i for r in links])
    columns = np.array([r.j for r in links])
    graph = coo_matrix((np.ones(len(links)), (rows, columns)), shape=(n, n))
    component = connected_components(graph, directed=False)[1]
    first = np.full(component.max() + 1, n)
    np.minimum.at(first, component, np.arange(n))
    return np.asarray(np.argsort(np.argsort(first))[component], dtype=np.int64)


def _propagate(allowed: np.ndarray, conflicts: np.ndarray, implications: np.ndarray) -> None:
    """Narrow ``allowed`` in place: a group fixed to k keeps its conflict partners out of k, and so on."""
    while True:
        before = int(allowed.sum())
        fixed = allowed.sum(axis=1) == 1
        for a, b in conflicts:
            if fixed[a]:
                allowed[b] &= ~allowed[a]
            if fixed[b]:
                allowed[a] &= ~allowed[b]
        for group, then, k in implications:
            if k == ALL:
                allowed[group] &= allowed[then]
                if fixed[group]:
                    allowed[then] &= allowed[group]
            elif not allowed[then, k]:
                allowed[group, k] = False
            elif fixed[group] and allowed[group, k]:
                only = np.zeros(allowed.shape[1], dtype=bool)
                only[k] = True
                allowed[then] &= only
        if int(allowed.sum()) == before:
            return
