"""Changes of a problem whose effect on the optimum is known, with both bounds of the search, on middle-sized data.

The interval engine goes through the front door. The dual engine would settle such problems in its interval
turns, so the dual bound is put into the loop alone.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from certmix import solve
from certmix.ledger import Ledger
from certmix.local.hard_em import hard_em
from certmix.options import Options
from certmix.presolve.instance import reduce
from certmix.problem import (
    CannotLink,
    Constraint,
    Covering,
    GaussianPrior,
    Implication,
    Label,
    MaximumSize,
    MinimumSize,
    MustLink,
    Packing,
    Problem,
)
from certmix.search.bounds.dual import DualBound
from certmix.search.loop import search
from certmix.status import Status

GAP = 1e-6
ENGINES = ("interval", "multipliers")


@dataclass(frozen=True)
class Case:
    """Data with a name: n samples in d dimensions, K components."""

    n: int
    d: int
    K: int
    spread: float
    seed: int

    @property
    def data(self) -> np.ndarray:
        rng = np.random.default_rng(self.seed)
        centres = rng.normal(scale=self.spread, size=(self.K, self.d))
        return centres[rng.integers(self.K, size=self.n)] + rng.normal(size=(self.n, self.d))

    @property
    def precision(self) -> np.ndarray:
        root = np.random.default_rng(self.seed + 1).normal(size=(self.d, self.d)) * 0.3 + np.eye(self.d)
        return root @ root.T

    def problem(self, **changes: Any) -> Problem:
        arguments: dict[str, Any] = {"precision": self.precision, **changes}
        return Problem(arguments.pop("data", self.data), arguments.pop("n_components", self.K), **arguments)


CASES = [Case(60, 1, 3, 8.0, 0), Case(40, 2, 3, 6.0, 1), Case(30, 3, 2, 3.0, 2), Case(80, 2, 4, 7.0, 3)]
every_case = pytest.mark.parametrize("case", CASES, ids=lambda c: f"n{c.n}d{c.d}K{c.K}")
every_engine = pytest.mark.parametrize("engine", ENGINES)
every_engine_constrained = pytest.mark.parametrize(
    "engine", ["interval", "dual", pytest.param("multipliers", marks=pytest.mark.slow)]
)


CONSTRAINED = Case(30, 2, 3, 6.0, 5)


def answer(problem: Problem, engine: str) -> tuple[float, float, np.ndarray]:
    """The proved optimum, its bound and its labels."""
    if engine == "multipliers":
        return by_multipliers(problem)
    result = solve(problem, engine, gap=GAP, threads=1, verify=False)
    assert result.status is Status.OPTIMAL
    assert result.labels is not None
    return result.objective, result.lower_bound, result.labels


def by_multipliers(problem: Problem) -> tuple[float, float, np.ndarray]:
    """The loop with the dual bound alone."""
    options = Options(gap=GAP)
    ledger = Ledger(problem, options.tolerances)
    instance = reduce(problem)
    found = hard_em(instance, restarts=3, seed=0)
    assert found is not None
    ledger.offer(instance.expand(found.labels), "hard EM")
    assert ledger.incumbent is not None
    bound = DualBound(
        instance,
        ledger.incumbent.labels,
        allowed=options.tolerances.allowed(ledger.upper),
        should_stop=lambda: ledger.closed,
        on_root_bound=ledger.raise_bound,
    )
    search(bound, ledger, options)
    assert ledger.closed
    return ledger.upper, ledger.bound, ledger.incumbent.labels


def optimum(problem: Problem, engine: str) -> float:
    """The proved optimum, with its two sides in order."""
    upper, lower, _ = answer(problem, engine)
    assert lower <= upper
    return upper


def same(one: float, other: float) -> bool:
    """Equal up to the gaps of two runs."""
    return abs(one - other) <= 2.0 * GAP * max(1.0, abs(one), abs(other))


_known: dict[tuple[Case, str], float] = {}


def plain(case: Case, engine: str) -> float:
    """The optimum of a case as it is, computed once."""
    if (case, engine) not in _known:
        _known[case, engine] = optimum(case.problem(), engine)
    return _known[case, engine]


@every_case
def test_engines_agree(case: Case) -> None:
    """Two engines with different bounds prove the same optimum."""
    assert same(plain(case, "interval"), plain(case, "multipliers"))
    assert same(plain(case, "interval"), plain(case, "dual"))


@every_case
@every_engine
def test_order_of_samples(case: Case, engine: str) -> None:
    """Permuting the samples changes nothing."""
    data = case.data[np.random.default_rng(9).permutation(case.n)]
    assert same(optimum(case.problem(data=data), engine), plain(case, engine))


@every_case
@every_engine
def test_translation(case: Case, engine: str) -> None:
    """Moving all samples by the same vector changes nothing, even far away."""
    for shift in (3.7, -1e4):
        assert same(optimum(case.problem(data=case.data + shift), engine), plain(case, engine))


@every_case
@every_engine
def test_rotation(case: Case, engine: str) -> None:
    """Rotating the samples and their precision changes nothing."""
    turn = np.linalg.qr(np.random.default_rng(4).normal(size=(case.d, case.d)))[0]
    precision = turn @ case.precision @ turn.T
    rotated = case.problem(data=case.data @ turn.T, precision=0.5 * (precision + precision.T))
    assert same(optimum(rotated, engine), plain(case, engine))


@every_case
@every_engine
def test_scaling(case: Case, engine: str) -> None:
    """Scaling the samples by s and the precision by 1/s^2 changes nothing."""
    for s in (1e-3, 250.0):
        scaled = case.problem(data=case.data * s, precision=case.precision / s**2)
        assert same(optimum(scaled, engine), plain(case, engine))


@every_engine_constrained
def test_relabelling_of_components(engine: str) -> None:
    """Permuting components together with everything said about them changes nothing."""
    case = CONSTRAINED
    rng = np.random.default_rng(6)
    weights = np.array([0.5, 0.3, 0.2])
    prior_means = rng.normal(scale=3.0, size=(3, 2))
    values = []
    for order in ([0, 1, 2], [2, 0, 1], [1, 0, 2]):
        new = {old: place for place, old in enumerate(order)}
        constraints = [
            Label(0, new[0]),
            MinimumSize(6, new[1]),
            MaximumSize(12, new[2]),
            Packing([1, 2, 3, 4], new[0], 2),
            Covering([5, 6, 7], new[2], 1),
            Implication(8, 9, new[1]),
        ]
        problem = case.problem(
            weights=weights[order], prior=GaussianPrior(prior_means[order], 4.0), constraints=constraints
        )
        values.append(optimum(problem, engine))
    assert same(values[0], values[1])
    assert same(values[0], values[2])


SIDE_CONSTRAINTS: list[Constraint] = [
    MustLink(0, 1, 2),
    CannotLink(3, 4),
    CannotLink(5, 6),
    Label(7, 1),
    MinimumSize(6),
    Packing([8, 9, 10, 11], 0, 1),
    Implication(12, 13, 2),
    Covering([14, 15, 16], 2, 1),
]


@every_engine_constrained
def test_order_of_constraints(engine: str) -> None:
    """Constraints in another order are the same constraints."""
    case = CONSTRAINED
    reference = optimum(case.problem(constraints=SIDE_CONSTRAINTS), engine)
    assert same(optimum(case.problem(constraints=SIDE_CONSTRAINTS[::-1]), engine), reference)


@every_engine_constrained
def test_another_constraint_never_lowers_the_optimum(engine: str) -> None:
    """Adding the constraints one after the other, the optimum only grows."""
    case = CONSTRAINED
    before = plain(case, engine)
    for count in range(1, len(SIDE_CONSTRAINTS) + 1):
        now = optimum(case.problem(constraints=SIDE_CONSTRAINTS[:count]), engine)
        assert now >= before - 2.0 * GAP * max(1.0, abs(before)), SIDE_CONSTRAINTS[count - 1]
        before = now


@every_case
@every_engine_constrained
def test_constraints_that_the_optimum_satisfies_change_nothing(case: Case, engine: str) -> None:
    """Must-links, cannot-links and size limits read off the optimum leave it where it is."""
    labels = answer(case.problem(), engine)[2]
    groups = [np.flatnonzero(labels == k) for k in range(case.K)]
    sizes = [len(g) for g in groups]
    constraints: list[Constraint] = [MustLink(*g[:4].tolist()) for g in groups if len(g) > 1]
    constraints += [CannotLink(int(a[0]), int(b[-1])) for a, b in itertools.pairwise(groups)]
    constraints += [MinimumSize(min(sizes)), MaximumSize(max(sizes))]
    assert same(optimum(case.problem(constraints=constraints), engine), plain(case, engine))


@every_engine
def test_must_links_merge(engine: str) -> None:
    """One must-link of four samples is three of two, and two copies of a sample that stay together are a pair."""
    case = CASES[0]
    whole = optimum(case.problem(constraints=[MustLink(0, 1, 2, 3)]), engine)
    chain = [MustLink(2, 1), MustLink(3, 2), MustLink(0, 1)]
    assert same(optimum(case.problem(constraints=chain), engine), whole)
    assert whole >= plain(case, engine) - 1e-4


@every_case
@every_engine
def test_uniform_weights_are_k_means(case: Case, engine: str) -> None:
    """With uniform weights the objective is SSE / 2 + n log K in whitened space, and at most that of k-means."""
    from sklearn.cluster import KMeans

    upper, lower, labels = answer(case.problem(weights="uniform"), engine)
    white = case.data @ np.linalg.cholesky(case.precision)
    within = sum(((white[labels == k] - white[labels == k].mean(axis=0)) ** 2).sum() for k in range(case.K))
    constant = case.n * math.log(case.K)
    assert upper == pytest.approx(0.5 * within + constant, rel=1e-9)
    best = KMeans(case.K, n_init=20, random_state=0).fit(white).inertia_
    assert lower <= 0.5 * best + constant + 1e-9
    assert upper <= 0.5 * best + constant + 1e-6 * upper


@every_engine
def test_more_components_cost_less_in_k_means(engine: str) -> None:
    """The within-cluster sum of squares falls with the number of components."""
    case = CASES[0]
    values = [
        optimum(case.problem(n_components=K, weights="uniform"), engine) - case.n * math.log(K)
        for K in (1, 2, 3, 4)
    ]
    assert all(a >= b - 1e-5 * abs(a) for a, b in itertools.pairwise(values))


@every_engine
def test_a_copy_of_the_covariance_for_every_component(engine: str) -> None:
    """One covariance per component, all equal, adds n/2 log det and nothing else."""
    case = CASES[2]
    covariance = np.linalg.inv(case.precision)
    stacked = np.stack([0.5 * (covariance + covariance.T)] * case.K)
    value = optimum(Problem(case.data, case.K, covariance=stacked), engine)
    constant = 0.5 * case.n * np.linalg.slogdet(covariance)[1]
    assert same(value - constant, plain(case, engine))


@every_engine
def test_a_wide_box_changes_nothing(engine: str) -> None:
    """Bounds on means and weights that hold at the optimum leave it where it is."""
    case = CASES[0]
    low, high = float(case.data.min()), float(case.data.max())
    boxed = case.problem(mean_bounds=(low, high), weight_bounds=(0.0, 1.0))
    assert same(optimum(boxed, engine), plain(case, engine))
