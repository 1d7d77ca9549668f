"""What every way of solving has: what it draws at random, and what it claims."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from certmix.engines import engine, why_not
from certmix.errors import InfeasibleError
from certmix.options import BRANCHING, Options
from certmix.problem import Problem, is_feasible
from certmix.result import Result
from certmix.search.bounds import dual
from certmix.solving import solve
from claims import Claim, Truth
from random_pricing import random_trios
from tuned import tuned

CERTIFIED = ("interval", "dual", "sdp", "bnb", "dynamic")
GAPS = (1e-9, 1e-6, 1e-4, 1e-2, 0.2)
Run = Callable[..., Result]


def by_engine(problem: Problem, name: str, options: Options, run: Run = solve) -> Claim:
    """A run through the front door; it is the search that is looked at, so its proof is not made."""
    start = time.perf_counter()
    result = run(problem, name, options=options, verify=False)
    used = engine(result.engine)
    return Claim(
        name,
        result.objective,
        result.lower_bound,
        result.labels,
        result.status,
        result.termination,
        result.trace,
        options,
        time.perf_counter() - start,
        certified=used.certified,
        attested=getattr(used, "attested", False),
    )


def poor_labels(problem: Problem, truth: Truth, rng: np.random.Generator) -> np.ndarray | None:
    """Some feasible labels, seldom good; the optimal ones when random tries find none."""
    for _ in range(200):
        labels = rng.integers(problem.n_components, size=problem.n_samples)
        if is_feasible(problem, labels):
            try:
                value = problem.objective.best(labels).value
            except InfeasibleError:
                continue
            if math.isfinite(value):
                return labels
    return truth.labels


@dataclass
class Draw:
    """What a way chooses at random: gaps, starts, limits."""

    problem: Problem
    truth: Truth
    rng: np.random.Generator
    seconds: float

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def poor(self) -> np.ndarray | None:
        return None if self.truth.infeasible else poor_labels(self.problem, self.truth, self.rng)

    def start(self, *, none: float = 0.5, best: float = 0.1) -> np.ndarray | None:
        """No start, the optimum, or a poor clustering."""
        number = self.rng.random()
        return None if number < none else self.truth.labels if number < none + best else self.poor()

    def few_nodes(self, probability: float) -> int | None:
        return int(self.rng.integers(0, 12)) if self.chance(probability) else None

    def options(self, **given: Any) -> Options:
        rng = self.rng
        given.setdefault("node_limit", None)
        given.setdefault("start", None)
        if self.chance(0.1):  # the absolute gap decides
            given |= {"gap": 0.0, "absolute_gap": float(rng.choice([1e-6, 1e-2, 1.0]))}
        else:
            given |= {"gap": float(rng.choice(GAPS))}
        own = rng.spawn(1)[0]  # so that all other runs are those without targets
        if not self.truth.infeasible and own.random() < 0.15:
            optimum = self.truth.optimum
            given["target"] = optimum + float(own.normal(-0.5)) * max(1.0, abs(optimum)) * float(
                own.choice([1e-3, 0.1, 1.0])
            )
        return Options(
            time_limit=self.seconds,
            seed=int(rng.integers(100)),
            threads=2 if self.chance(0.02) else 1,
            restarts=int(rng.choice([1, 1, 1, 2, 3])),
            **given,
        )

    def multipliers(self) -> Any:
        """A context in which groups have multipliers of their own, or those of the features of very many groups."""
        return tuned(dual, most_groups=0) if self.chance(0.5) else nullcontext()

    def any_trios(self, members: np.ndarray, shares: np.ndarray, known: np.ndarray, most: int) -> np.ndarray:
        """Trios of any groups, a few in all, in place of those that a program breaks."""
        groups = np.flatnonzero(members.any(axis=0))
        if len(groups) < 3 or len(known) > 6:
            return known[:0]
        count = int(self.rng.integers(1, 4))
        return random_trios(groups, self.rng, count)

    def branching(self) -> str:
        return str(self.rng.choice(BRANCHING))


@dataclass(frozen=True)
class Way:
    """One way of solving: how often it is taken where it applies, and how."""

    name: str
    often: float
    run: Callable[[Draw], Claim]
    applies: Callable[[Problem, Truth], bool]


def always(problem: Problem, truth: Truth) -> bool:
    return True


def taken_by(name: str) -> Callable[[Problem, Truth], bool]:
    return lambda problem, _: why_not(engine(name), problem) is None
