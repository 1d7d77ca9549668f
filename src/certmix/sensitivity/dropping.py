"""What does a side constraint cost? The problem is solved again without it."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from certmix.errors import InputError
from certmix.ledger import Observer
from certmix.options import Options, changed
from certmix.problem import Problem
from certmix.result import Result
from certmix.solving import solve
from certmix.status import Termination


def constraint_costs(
    result: Result,
    *,
    problem: Problem | None = None,
    options: Options | None = None,
    observers: Sequence[Observer] = (),
    **given: Any,
) -> Result:
    """What dropping each side constraint would gain, as an interval.

    The problem is solved again without each constraint in turn, tight ones first, until the time limit, which is that
    of all these runs together, is over. The gain is the difference of the two optima; it is never negative.

    Parameters
    ----------
    result : Result
    problem : Problem, optional
        Of the result; needed where that was loaded from a file.
    options : Options, optional
        Of the runs.
    observers : sequence of Observer, of every run
    **given
        Options of a run, which count instead of ``options``.

    Returns
    -------
    Result
        The same with ``cost``, (lower, upper) in the units of the objective, in each constraint that there was time
        for.
    """
    problem = result.problem if problem is None else problem
    if problem is None:
        raise InputError(
            "the result does not hold its problem; give it: constraint_costs(result, problem=...)"
        )
    if result.labels is None or not result.constraints:
        return result
    options = replace(
        changed(options or Options(), given),
        start=result.labels,
        resume=None,
        verify=False,
        certificate=False,
    )
    end = math.inf if options.time_limit is None else time.monotonic() + options.time_limit
    lines = list(result.constraints)
    order = sorted(range(len(lines)), key=lambda i: lines[i].tight is not True)
    for turn, i in enumerate(order):
        left = end - time.monotonic()
        if left <= 0.0:
            break
        share = None if math.isinf(left) else left / (len(order) - turn)
        rest = [c for j, c in enumerate(problem.constraints) if j != i]
        without = solve(
            problem.replace(constraints=rest), options=replace(options, time_limit=share), observers=observers
        )
        lines[i] = replace(lines[i], cost=_difference(result, without))
        if without.termination is Termination.INTERRUPTED:
            break
    return replace(result, constraints=tuple(lines))


def _difference(result: Result, without: Result) -> tuple[float, float]:
    """Between which the optimum lies above that without the constraint."""
    low = math.nextafter(result.lower_bound - min(without.objective, result.objective), -math.inf)
    high = math.nextafter(result.objective - without.lower_bound, math.inf)
    return max(0.0, low), max(0.0, high)
