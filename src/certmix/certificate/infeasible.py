"""The prover for contradictory constraints: decisions about the groups that rules speak of, most constrained first.

Conclusions are the checker's own. A group of one sample that no rule names fits wherever a size has room, and sums of
sizes say whether there is room for all of them; so only the others are decided, and once they are, conclusions have
the last word.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from certmix.certificate.draft import Draft, Unproved
from certmix.certificate.growing import Split, grow
from certmix.certificate.statement import state
from certmix.errors import InfeasibleError
from certmix.presolve.feasibility import check_feasible
from certmix.problem import Problem
from certmix.verify import tree
from certmix.verify.domain import Domain
from certmix.verify.root import Root

MOST_NODES = 20_000
FEW_CLUSTERINGS = 1 << 10  # looked at one by one
MORE_CLUSTERINGS = 1 << 15  # where averages have to lie within bounds, which conclusions say nothing about


def refute(root: Root, draft: Draft, first: np.ndarray, late: Callable[[], bool] = lambda: False) -> None:
    """Add nodes and steps until nothing feasible is left anywhere.

    Parameters
    ----------
    first : (N,) bool, groups to be decided before others
    """
    matters = _named(root) | (root.weight > 1)
    degree = np.bincount(root.conflicts.ravel(), minlength=root.N)
    few = MORE_CLUSTERINGS if "means" in root.statement.estimators else FEW_CLUSTERINGS

    def split(node: int, domain: Domain, told: np.ndarray | None) -> Split:
        open_groups = np.flatnonzero(matters & ~domain.decided)
        if not len(open_groups):
            raise Unproved("a clustering meets the constraints as the checker sees them")
        keys = (-root.weight, -degree, domain.allowed.sum(axis=1), ~first)  # the last one counts most
        g = int(open_groups[np.lexsort([key[open_groups] for key in keys])[0]])
        k = next(int(m[0]) for m in domain.exchangeable(root) if domain.allowed[g, m[0]])
        return Split(tree.IN, g, k)

    grow(draft, root, math.inf, split, few, MOST_NODES, late)


def in_conflict(problem: Problem, root: Root) -> np.ndarray:
    """(N,) bool: groups that a smallest set of contradictory constraints speaks of; nothing when there is none."""
    found = np.zeros(root.N, dtype=bool)
    try:
        check_feasible(problem)
    except InfeasibleError as error:
        try:
            rules = state(problem.replace(constraints=error.conflict))
        except InfeasibleError:
            return found
        for rows, columns in (("together", 2), ("apart", 2), ("implications", 2), ("labels", 1)):
            for row in rules[rows]:
                found[root.group[row[:columns]]] = True
        for *_, samples in rules["counts"]:
            found[root.group[samples]] = True
    return found


def _named(root: Root) -> np.ndarray:
    """(N,) bool: groups that a rule speaks of."""
    named: np.ndarray = np.logical_not(root.allowed.all(axis=1))
    named[root.conflicts.ravel()] = True
    named[root.implications[:, :2].ravel()] = True
    for groups, *_ in root.counts:
        named[groups] = True
    return named
