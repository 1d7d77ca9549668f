"""Pricing over cells against an independent truth: points on a line in R^d have the optimum of their line.

Steps along directions of whole length with coordinates of few binary digits make the line exact, so that the shortest
path over its intervals, written again here, is the optimum in every dimension (with groups of several samples: an upper
bound on it). No bound may lie above that.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from unittest import mock

import numpy as np
import pytest

from certmix.options import Options
from certmix.problem import DirichletPrior, MaximumSize, MinimumSize, MustLink, Problem
from certmix.problem.constraints import Constraint
from certmix.search.bounds import pricer
from ways.drawing import by_engine
from ways.loops import by_loop, dual_bound

DIRECTIONS = {2: (3.0, 4.0), 3: (2.0, 3.0, 6.0), 4: (1.0, 1.0, 3.0, 5.0)}  # of lengths 5, 7 and 6


@dataclass(frozen=True)
class Line:
    """A problem on a line: places along it, the group of every sample, and what the model says of components."""

    problem: Problem
    x: np.ndarray
    group: np.ndarray
    precision: float

    def optimum(self) -> float:
        """The least cost of a partition into intervals of groups, over all orders of the components."""
        p, K = self.problem, self.problem.n_components
        alike = p.fixed_weights is None and np.ptp(p.prior.alpha) == 0
        orders = [tuple(range(K))] if alike else itertools.permutations(range(K))
        return min(self._path(order) for order in orders)

    def _path(self, order: tuple[int, ...]) -> float:
        x = self.x - self.x.mean()
        count, total, square = (
            np.concatenate([[0.0], np.cumsum(np.bincount(self.group, v))])
            for v in (np.ones_like(x), x, x * x)
        )
        best = np.full(len(count), np.inf)
        best[0] = 0.0
        for k in order:
            entropy, after = self._entropy(k), np.full(len(best), np.inf)
            for j in range(1, len(best)):
                m, s, q = (v[j] - v[:j] for v in (count, total, square))
                cost = 0.5 * self.precision * (q - s * s / m) + entropy[m.astype(int)]
                after[j] = (best[:j] + cost).min()
            best = after
        return float(best[-1])

    def _entropy(self, k: int) -> np.ndarray:
        """What a size costs component k; infinite where its limits forbid it."""
        p, n = self.problem, self.problem.n_samples
        sizes = np.arange(n + 1.0)
        power, total = sizes + p.prior.alpha[k] - 1.0, n + (p.prior.alpha - 1.0).sum()
        with np.errstate(all="ignore"):
            weight = power / total if p.fixed_weights is None else p.fixed_weights[k]
            cost = np.where(power == 0, 0.0, -power * np.log(weight))
        outside = (sizes < p.size_lower[k]) | (sizes > p.size_upper[k])
        return np.where(outside, np.inf, cost)


def drawn(rng: np.random.Generator, n: int, K: int) -> Line:
    """Clusters on a line, with sizes, fixed weights, a prior on the weights or groups of neighbours."""
    d = int(rng.choice(list(DIRECTIONS)))
    step = np.array(DIRECTIONS[d])
    length = float(np.sqrt((step**2).sum()))
    centres = rng.normal(size=K) * rng.choice([0.5, 1.5, 4.0])
    t = np.sort(np.round((centres[rng.integers(K, size=n)] + rng.normal(size=n)) * 1024) / 1024)
    group, rules = np.arange(n), list[Constraint]()
    kind = rng.choice(["plain", "sizes", "weights", "prior", "groups"])
    given = {}
    if kind == "sizes":
        tight = 1 if n < 1000 else 4  # pricing thousands of samples under tight sizes takes minutes
        rules = [MinimumSize(int(rng.integers(1, n // (tight * K) + 1)))]
        if rng.random() < 0.5 and n < 1000:
            rules.append(MaximumSize(int(rng.integers(-(-n // K), n))))
    elif kind == "weights":
        given["weights"] = "uniform" if rng.random() < 0.4 else rng.dirichlet(np.full(K, 3.0)) * 0.9 + 0.1 / K
    elif kind == "prior":
        given["prior"] = DirichletPrior(rng.uniform(1.0, 5.0, size=K) if rng.random() < 0.5 else 2.5)
    elif kind == "groups":
        group = np.cumsum(np.concatenate([[0], rng.random(n - 1) < 0.7]))
        members = [np.flatnonzero(group == g) for g in range(group[-1] + 1)]
        rules = [MustLink(*map(int, m)) for m in members if len(m) > 1]
    variance = length**2 * float(rng.choice([0.25, 1.0, 4.0]))
    shuffle = rng.permutation(n)
    at = np.argsort(shuffle)  # where a sample of the sorted line ended up
    rules = [MustLink(*(int(at[i]) for i in r.samples)) if isinstance(r, MustLink) else r for r in rules]
    problem = Problem((t[:, None] * step)[shuffle], K, variance=variance, constraints=rules, **given)
    return Line(problem, t * length, group, 1.0 / variance)


def examine(line: Line, options: Options, cells_from: int) -> tuple[float, float]:
    """Solve over cells; no bound above the truth, no clustering below it. What was proved, and the truth."""
    optimum = line.optimum()
    slack = 1e-10 * max(1.0, abs(optimum))
    start = by_engine(line.problem, "hard-em", Options(seed=options.seed, restarts=5)).labels
    if start is None:
        return np.nan, optimum
    options = Options(
        start=start, **{k: getattr(options, k) for k in ("node_limit", "time_limit", "seed", "gap")}
    )
    with mock.patch.object(pricer, "CELLS_FROM", cells_from):
        claim = by_loop(
            "cells", line.problem, lambda i, ledger, o: dual_bound(i, ledger, o, fewest=2), options
        )
    assert max((claim.lower, *(point.bound for point in claim.trace))) <= optimum + slack
    grouped = len(np.unique(line.group)) < line.problem.n_samples
    assert grouped or claim.upper >= optimum - slack
    return claim.lower, optimum


def run(seeds: range, sizes: tuple[int, int], cells_from: int, seconds: float, share: float = 0.5) -> None:
    close = looked = 0
    for seed in seeds:
        rng = np.random.default_rng([seed, 91])
        line = drawn(rng, int(rng.integers(*sizes)), int(rng.integers(2, 4)))
        lower, optimum = examine(
            line, Options(node_limit=20, time_limit=seconds, seed=seed, gap=1e-6), cells_from
        )
        looked += not np.isnan(lower)
        close += lower > optimum - 1e-2 * max(1.0, abs(optimum))
    assert close >= int(share * looked), "bounds far below the optimum say nothing"


def test_no_bound_over_cells_above_the_optimum_of_a_line() -> None:
    """A few dozen samples each, with the cells that are meant for thousands."""
    run(range(8), (15, 40), cells_from=1, seconds=1.0)


@pytest.mark.slow
def test_no_bound_over_cells_above_the_optimum_of_hundreds_of_lines() -> None:
    """The same by the hundred."""
    run(range(100, 500), (12, 90), cells_from=1, seconds=3.0)


@pytest.mark.slow
def test_no_bound_over_cells_above_the_optimum_of_long_lines() -> None:
    """Three thousand groups and more, priced over cells as in every run."""
    run(range(600, 610), (4_400, 5_000), cells_from=pricer.CELLS_FROM, seconds=20.0, share=0.0)
