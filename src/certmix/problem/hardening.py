"""Soft links as links that have to hold, or not there at all: problems without any."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from certmix.problem.constraints import Constraint, Copies, Linking

if TYPE_CHECKING:
    from certmix.problem.problem import Problem


def hardened(problem: Problem, kept: Collection[int] | None = None) -> Problem:
    """The problem in which some of its soft links have to hold, and the others are not there.

    Its objective is the same without penalties, so for a clustering that keeps these links it is no larger.

    Parameters
    ----------
    kept : positions in ``problem.rules.soft``; all of them by default
    """
    soft = problem.rules.soft
    hard = {link.origin for i, link in enumerate(soft) if kept is None or i in kept}
    dropped = {link.origin for link in soft} - hard
    rules: list[Constraint] = []
    for origin, item in enumerate(problem.constraints):
        if origin in hard and isinstance(item, Linking):
            rules.append(type(item)(*item.samples, source=item.source))
        elif origin not in dropped and not isinstance(item, Copies):
            rules.append(item)
    return problem.replace(constraints=rules)
