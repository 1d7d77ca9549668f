"""What was asked of all clusterings within delta, checked before any work."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from certmix.errors import InputError
from certmix.ledger import Observer
from certmix.options import Options, changed, options_of
from certmix.problem import Problem
from certmix.result import Result
from certmix.sensitivity.witnesses import value_of
from certmix.solving import solve

NOT_HERE = ("start", "resume", "target")

Pairs = Iterable[tuple[Any, Any]]


def asked(
    result: Result | Problem,
    within: float,
    problem: Problem | None,
    options: Options | None,
    given: dict[str, Any],
    observers: Sequence[Observer],
) -> tuple[Problem, Result, float, Options]:
    """What was asked for, checked before any work; a problem without a result is solved."""
    options, within = checked_options(options, given), checked_within(within)
    begin = time.perf_counter()
    if isinstance(result, Problem):
        _refuse(result)
        problem, result = result, solve(result, options=options, observers=observers)
    problem = _problem_of(result, problem)
    if options.time_limit is not None:
        spent = time.perf_counter() - begin
        options = replace(options, time_limit=max(0.0, options.time_limit - spent))
    return problem, result, within, options


def _refuse(problem: Problem) -> None:
    """Margins are in nats, and about samples that stand for themselves."""
    if problem.squares:
        raise InputError(
            "margins are counted in nats, which k-means does not have: give equal weights and a variance instead "
            "(weights='uniform', variance=...)"
        )
    if problem.rules.soft:
        raise InputError(
            "there are no margins and alternatives with soft links yet: leave out their penalties, or the links"
        )
    if problem.noise is not None:
        raise InputError("there are no margins of samples where some may be noise")
    if problem.sample_weight is not None:
        raise InputError(
            "there are no margins of samples with weights: give every sample as often as it counts"
        )


def checked_options(options: Options | None, given: dict[str, Any]) -> Options:
    """The options of the runs; those that are about a single run are refused."""
    unknown = [name for name in given if name not in options_of(Options)]
    if unknown:
        raise TypeError(f"there is no option {unknown[0]!r}")
    options = changed(options or Options(), given)
    for name in NOT_HERE:
        if getattr(options, name) is not None:
            raise InputError(f"the option {name} is about one run; here are many")
    return options


def checked_within(within: Any) -> float:
    if (
        isinstance(within, bool)
        or not isinstance(within, (int, float, np.number))
        or not 0 <= within < math.inf
    ):
        raise InputError(f"within must be a number of nats >= 0, not {within!r}")
    return float(within)


def positions(problem: Problem, pairs: Pairs) -> list[tuple[int, int]]:
    """The positions of pairs of samples."""
    found = []
    for pair in pairs:
        if isinstance(pair, str) or len(tuple(pair)) != 2:
            raise InputError(f"a pair has two samples, not {pair!r}")
        i, j = (problem.samples.position(ref) for ref in pair)
        if i == j:
            raise InputError(f"a pair has two different samples, not {problem.names[i]!r} twice")
        found.append((i, j))
    return found


def _problem_of(result: Result, problem: Problem | None) -> Problem:
    if not isinstance(result, Result):
        raise InputError(f"stability takes a Result or a Problem, not a {type(result).__name__}")
    problem = result.problem if problem is None else problem
    if problem is None:
        raise InputError("the result was loaded from a file: give the problem, too (problem=...)")
    _refuse(problem)
    if result.labels is None:
        raise InputError("there is no clustering whose margins could be found: " + result.sentence())
    if len(result.labels) != problem.n_samples or result.n_components != problem.n_components:
        raise InputError("the problem given is not that of the result: it has other samples or components")
    value, slack = value_of(problem, result.labels), 1e-9 * max(1.0, abs(result.objective))
    if not abs(value - result.objective) <= slack:
        raise InputError(
            "the problem given is not that of the result: its clustering has another objective there"
        )
    return problem
