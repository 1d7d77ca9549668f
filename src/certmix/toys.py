"""Toy problems that make every compiled kernel run: :mod:`certmix.ahead` compiles with them.

Each function is one part. Parts that engines run one after the other are called without each other here, so that
processes that compile side by side do not compile the same.
"""

from __future__ import annotations

import math
from itertools import count
from typing import Any

import numpy as np

from certmix.presolve.instance import reduce
from certmix.problem import CannotLink, MaximumSize, MinimumSize, MustLink, Problem


def _problem(n: int = 30, d: int = 2, k: int = 2, *, apart: float = 2.0, **options: Any) -> Problem:
    rng = np.random.default_rng(1)
    data = rng.normal(size=(n, d))
    data[:, 0] += apart * (np.arange(n) % k)
    return Problem(data, k, variance=1.0, **options)


def _guess(problem: Problem) -> np.ndarray:
    return np.arange(problem.n_samples) % problem.n_components


def _tied() -> list[Any]:
    return [MustLink(0, 2), CannotLink(0, 1), CannotLink(3, 4), MinimumSize(3), MaximumSize(25)]


def start() -> None:
    """Hard EM, with and without side constraints."""
    from certmix.local.hard_em import hard_em

    sizes = [MinimumSize(8), MaximumSize(12)]  # alone they are a flow
    for constraints in ([], sizes, _tied()):
        hard_em(reduce(_problem(k=3, constraints=constraints)), restarts=4)


def interval() -> None:
    """The interval bound."""
    from certmix.search.bounds.interval import IntervalBound

    bound = IntervalBound(reduce(_problem()))
    bound.explore(bound.root(), math.inf)


def semidefinite() -> None:
    """The semidefinite bound, without its local search."""
    from certmix.search.bounds.semidefinite.bound import SemidefiniteBound

    problem = _problem(30, 5, 2, apart=1.0)
    labels, asked = _guess(problem), count()
    bound = SemidefiniteBound(reduce(problem), labels, should_stop=lambda: next(asked) > 8)
    bound._local = _NoSearch()  # type: ignore[assignment]
    bound.explore(bound.root(), float(problem.objective.best(labels).value))


def pricing() -> None:
    """Multipliers and exact pricing, over few groups and over the cells of many; many components."""
    from certmix.search.bounds.dual import DualBound
    from certmix.search.bounds.trios import NO_TRIOS, violated_trios

    violated_trios(~np.eye(3, dtype=bool), np.full(3, 0.5), NO_TRIOS.groups, 1)
    for problem in (_problem(), _problem(3100, 2, 2, apart=8.0), _problem(40, 2, 10)):
        bound = DualBound(reduce(problem), _guess(problem), allowed=1.0)
        bound.advance_root(float(problem.objective.best(_guess(problem)).value), 1e6)


def line() -> None:
    """One dimension: dynamic programming, and cuts between many sorted samples."""
    from certmix.solving import solve

    solve(_problem(30, 1), "dynamic")
    solve(_problem(2100, 1, 2, apart=8.0), "interval", node_limit=20)


def rest() -> None:
    """Whole runs, for what is left."""
    from certmix.solving import solve

    solve(_problem(3100, 2, 2, apart=8.0), "hard-em", restarts=2)
    solve(_problem(60, 2), "parts", part_size=20, node_limit=20, time_limit=20.0)
    for engine, d in (("interval", 2), ("dual", 2), ("dual", 3), ("sdp", 5), ("bnb", 2)):
        for constraints in ([], _tied()):
            problem = _problem(30, d, 2, constraints=constraints)
            solve(problem, engine, node_limit=30, time_limit=20.0, certificate=True)


class _NoSearch:
    """A local search that finds nothing."""

    def __getattr__(self, name: str) -> Any:
        return lambda labels, *more, **options: (labels, math.inf)
