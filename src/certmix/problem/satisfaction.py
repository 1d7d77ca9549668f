"""Which constraints do given labels satisfy?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from certmix.problem.constraints import Copies
from certmix.problem.rules import ALL, Rules
from certmix.problem.tightness import tightness
from certmix.problem.wording import describe

if TYPE_CHECKING:
    from certmix.problem.problem import Problem


@dataclass(frozen=True)
class Satisfaction:
    """One line of the constraint satisfaction table."""

    kind: str
    text: str
    source: str
    satisfied: bool
    tight: bool | None = None
    """Whether it has a say: its limit is reached, or a sample would be elsewhere without it; None if nobody looked."""
    room: str = ""
    """How tight it is, in words."""
    cost: tuple[float, float] | None = None
    """Between which lies what dropping it would gain; None if nobody asked."""
    penalty: float | None = None
    """What the objective has more where a soft link is broken, as people see it; None for one that has to hold."""

    @property
    def broken_at(self) -> float:
        """What it adds to the objective: its penalty if it is a soft link that is broken."""
        return 0.0 if self.satisfied or self.penalty is None else self.penalty


def satisfied(problem: Problem, labels: np.ndarray) -> np.ndarray:
    """For every constraint object of the problem that has to hold, whether the labels satisfy it; else true."""
    return satisfied_rules(problem.rules, labels, np.bincount(labels, minlength=problem.n_components))


def satisfied_rules(rules: Rules, labels: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """For every constraint object behind the rules, whether labels with these component sizes satisfy it."""
    ok = np.ones(len(rules.constraints), dtype=bool)
    i, j, origin = rules.together_array.T
    ok[origin[labels[i] != labels[j]]] = False
    i, j, origin = rules.apart_array.T
    ok[origin[labels[i] == labels[j]]] = False
    i, j, k, origin = rules.implication_array.T
    ok[origin[((k == ALL) | (k == labels[i])) & (labels[i] != labels[j])]] = False
    i, k, origin = rules.label_array.T
    ok[origin[labels[i] != k]] = False
    for size in rules.sizes:
        counts = sizes if size.component == ALL else sizes[size.component]
        ok[size.origin] &= bool(np.all((counts >= size.low) & (counts <= size.high)))
    for count in rules.counts:
        found = int(np.count_nonzero(labels[count.samples] == count.component))
        ok[count.origin] &= count.low <= found <= count.high
    return ok


def is_feasible(problem: Problem, labels: np.ndarray) -> bool:
    """Whether the labels satisfy every side constraint and size limit (boxes are the evaluator's affair)."""
    sizes = np.bincount(labels, minlength=problem.n_components)
    if np.any(sizes < problem.size_lower) or np.any(sizes > problem.size_upper):
        return False
    return bool(satisfied(problem, labels).all())


def satisfaction_table(
    problem: Problem, labels: np.ndarray, alone: np.ndarray | None = None
) -> tuple[Satisfaction, ...]:
    """Every constraint in words, and whether the labels satisfy it; with ``alone`` also how tight it is.

    Parameters
    ----------
    alone : (n,), optional
        The cheapest component of every sample at the means and weights of the clustering.
    """
    broken = {link.origin for link in problem.rules.soft if link.broken(labels)}
    held = satisfied(problem, labels)
    table = tuple(
        Satisfaction(
            item.kind,
            describe(problem, item),
            item.source,
            bool(good) and origin not in broken,
            penalty=getattr(item, "penalty", None),
        )
        for origin, (item, good) in enumerate(zip(problem.constraints, held, strict=True))
    )
    if alone is None or not table:
        return tuple(line for line in table if line.kind != Copies.kind)
    found = tightness(problem, labels, alone)
    table = tuple(replace(line, tight=t.tight, room=t.room) for line, t in zip(table, found, strict=True))
    return tuple(line for line in table if line.kind != Copies.kind)
