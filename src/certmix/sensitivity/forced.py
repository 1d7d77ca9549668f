"""One problem with a constraint more: run until its bound passes delta, or a clustering within delta is found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from certmix.engines import engine, why_not
from certmix.ledger import Ledger, Observer, Progress
from certmix.observers.base import Silent
from certmix.options import ENGINE_OPTIONS, Options
from certmix.presolve.groups import group_samples
from certmix.problem import Constraint, Problem, is_feasible
from certmix.result import Result
from certmix.solving import solve
from certmix.status import Termination

GAP = 1e-7  # relative: a clustering just beyond delta is told from one within it
FEW_GROUPS = 40  # with so few, boxes are the quickest to search and to check
RESTARTS = 2  # of the local search: a good clustering is known, and the bound is what is wanted


@dataclass(frozen=True)
class Forced:
    """A problem with what every clustering within delta has, and the opposite of what is in question.

    Attributes
    ----------
    links : constraints that every clustering below the target satisfies
    constraints : what is forced
    cutoff, target : the reported objective plus delta, and a hair more
    """

    problem: Problem
    links: tuple[Constraint, ...]
    constraints: tuple[Constraint, ...]
    cutoff: float
    target: float


class Enough(Silent):
    """Ends a run as soon as a clustering within the cutoff is known."""

    def __init__(self, cutoff: float) -> None:
        self.cutoff = cutoff
        self.ledger: Ledger | None = None

    def started(self, problem: Problem, engine: str, ledger: Ledger) -> None:
        self.ledger = ledger

    def progressed(self, progress: Progress) -> None:
        if progress.incumbent <= self.cutoff and self.ledger is not None:
            self.ledger.stop.hoist(Termination.TARGET)


def forced(
    asked: Forced,
    options: Options,
    start: np.ndarray | None,
    observers: Sequence[Observer] = (),
) -> Result:
    """The run. Its clustering satisfies all constraints of the problem, its bound holds under those that are forced."""
    constraints = (*asked.links, *asked.constraints)
    enough = (*observers, Enough(asked.cutoff))
    return under(asked.problem, constraints, options, asked.target, start, enough)


def under(
    problem: Problem,
    constraints: Sequence[Constraint],
    options: Options,
    target: float,
    start: np.ndarray | None = None,
    observers: Sequence[Observer] = (),
) -> Result:
    """A run under more constraints, until it is closed or its bound has reached the target."""
    whole = problem.replace(constraints=[*problem.given_constraints, *constraints])
    usable = start is not None and is_feasible(whole, start)
    changes: dict[str, Any] = {
        "gap": min(options.gap, GAP),
        "target": target,
        "start": start if usable else None,
        "restarts": options.restarts or RESTARTS,
    }
    if (
        options.engine == "auto"
    ):  # which engine is taken may differ from run to run, and with it who has which options
        changes |= dict.fromkeys(ENGINE_OPTIONS)
        boxes = engine("interval")
        if group_samples(whole).n_groups <= FEW_GROUPS and why_not(boxes, whole) is None:
            changes["engine"] = boxes.name  # in many dimensions, too: there is little to search
    return solve(whole, options=replace(options, **changes), observers=observers)
