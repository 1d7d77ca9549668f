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
NATS = 2.0

Pairs = Iterable[tuple[Any, Any]]


def asked(
    result: Result | Problem,
    within: float | None,
    problem: Problem | None,
    options: Options | None,
    given: dict[str, Any],
    observers: Sequence[Observer],
) -> tuple[Problem, Result, float, Options]:
    """What was asked for, checked before any work; a problem without a result is solved."""
    options, within = checked_options(options, given), None if within is None else checked_within(within)
    begin = time.perf_counter()
    if isinstance(result, Problem):
        problem, result = result, solve(result, options=options, observers=observers)
    problem = _problem_of(result, problem)
    if options.time_limit is not None:
        spent = time.perf_counter() - begin
        options = replace(options, time_limit=max(0.0, options.time_limit - spent))
    return problem, result, usual(problem, result) if within is None else within, options


def usual(problem: Problem, result: Result) -> float:
    """What counts as little more, where nothing is said: 2 nats; of k-means, 2 nats at the variance that fits."""
    if not problem.squares:
        return NATS
    inside = problem.n_samples if result.sizes is None else int(result.sizes[: problem.n_clusters].sum())
    return 2.0 * NATS * (result.sse or 0.0) / max(1, inside * problem.n_features)


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
        raise InputError(f"within must be a number >= 0 (nats; of k-means, sums of squares), not {within!r}")
    return float(within)


def checked_limit(limit: Any) -> int:
    if isinstance(limit, bool) or not isinstance(limit, (int, np.integer)) or limit < 1:
        raise InputError(f"limit must be a whole number >= 1, not {limit!r}")
    return int(limit)


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
    if result.labels is None:
        raise InputError("there is no clustering whose margins could be found: " + result.sentence())
    samples = problem.samples.original
    if len(result.labels) != samples.n_samples or result.n_components != problem.n_components:
        raise InputError("the problem given is not that of the result: it has other samples or components")
    assert result.positions is not None
    value, slack = (
        value_of(problem, problem.samples.expand(result.positions)),
        1e-9 * max(1.0, abs(result.objective)),
    )
    if not abs(value - result.objective) <= slack:
        raise InputError(
            "the problem given is not that of the result: its clustering has another objective there"
        )
    return problem
