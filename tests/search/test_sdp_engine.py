"""The engine as a whole: against enumeration, against the other engines, limited, interrupted, refused."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from certmix import datasets, solve, verify
from certmix.engines import engine, why_not
from certmix.errors import UnsupportedError
from certmix.options import Options
from certmix.presolve.instance import reduce
from certmix.problem import CannotLink, GaussianPrior, Label, MinimumSize, MustLink, Problem
from certmix.result import Result
from certmix.search.bounds.semidefinite.bound import SemidefiniteBound
from certmix.status import Status, Termination, Tolerances
from certmix.verify.tree import AT_LEAST, AT_MOST
from random_domains import HONOURED, merged_problem
from random_instances import random_problem
from soundness import GAPS, by_engine, by_loop, find_truth, poor_labels, semidefinite_bound, violations


def overlapping(n: int, d: int, K: int, seed: int, spread: float = 2.0, **settings: Any) -> Problem:
    """Clusters that overlap somewhat."""
    rng = np.random.default_rng([seed, 80])
    centres = rng.normal(scale=spread, size=(K, d))
    data = centres[rng.integers(K, size=n)] + rng.normal(size=(n, d))
    return Problem(data, K, **{"variance": 1.0, **settings})


def assert_no_more_than_proved(result: Result, optimum: float) -> None:
    assert result.lower_bound <= optimum + 1e-9 * abs(optimum)
    assert result.objective >= optimum - 1e-9 * abs(optimum)
    closed = Tolerances(result.tolerances.relative).closed(result.objective, result.lower_bound)
    assert (result.status is Status.OPTIMAL) == closed
    bounds = [point.bound for point in result.trace]
    assert bounds == sorted(bounds)


# -- enumeration -----------------------------------------------------------------------------------------------
def assert_sound(seed: int, problem: Problem, rng: np.random.Generator) -> int:
    """Runs of the engine and of the bare loop from no, a poor and the best incumbent; returns how many closed."""
    truth = find_truth(problem)
    poor = None if truth.infeasible else poor_labels(problem, truth, rng)
    closed = 0
    for start in (None, poor, truth.labels):
        options = Options(
            gap=float(rng.choice(GAPS)),
            threads=1,
            restarts=1,
            start=start,
            node_limit=int(rng.integers(0, 6)) if rng.random() < 0.3 else 200,
        )
        claims = [by_loop("loop", problem, semidefinite_bound, options)]
        if start is None:
            claims.append(by_engine(problem, "sdp", options))
        for claim in claims:
            assert list(violations(problem, truth, claim)) == [], f"seed {seed}, {claim.way}, {options}"
            closed += claim.closed
    return closed


@pytest.mark.parametrize("block", range(3))
def test_random_problems_against_enumeration(block: int) -> None:
    """No claim contradicts enumeration, whatever the constraints, priors, weights, gaps and incumbents."""
    closed = 0
    for seed in range(7 * block, 7 * block + 7):
        rng = np.random.default_rng([seed, 81])
        closed += assert_sound(seed, random_problem(rng, max_samples=7, features=HONOURED), rng)
    assert closed > 10, "of 28 runs, some with few nodes"


@pytest.mark.parametrize(("scale", "offset"), [(1.0, 0.0), (1e-6, 0.0), (1e6, 0.0), (1.0, 1e5), (1e3, -1e7)])
def test_merged_problems_in_any_units_against_enumeration(scale: float, offset: float) -> None:
    """The same with heavy groups, in units that strain the arithmetic."""
    for seed in range(2):
        rng = np.random.default_rng([seed, 82])
        assert_sound(seed, merged_problem(rng, groups=5, scale=scale, offset=offset), rng)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(8))
def test_many_problems_against_enumeration(block: int) -> None:
    """The same on some hundred problems."""
    for seed in range(1000 + 60 * block, 1060 + 60 * block):
        rng = np.random.default_rng([seed, 83])
        if seed % 2:
            problem = random_problem(rng, max_samples=9, max_components=4, features=HONOURED)
        else:
            scale, offset = float(rng.choice([1e-6, 1.0, 1.0, 1e6])), float(rng.choice([0.0, 0.0, 1e5]))
            problem = merged_problem(rng, groups=int(rng.integers(4, 8)), scale=scale, offset=scale * offset)
        assert_sound(seed, problem, rng)


@pytest.mark.parametrize(
    "problem",
    [
        Problem(np.array([[0.0, 1.0]]), 1, variance=1.0),
        Problem(np.arange(3.0)[:, None], 3, variance=1.0),
        Problem(np.arange(4.0)[:, None], 1, variance=1.0),
        Problem(np.repeat(np.arange(2.0), 3)[:, None], 3, variance=1.0),
        Problem(np.arange(3.0)[:, None], 5, variance=1.0, allow_empty=True),
        Problem(np.arange(5.0)[:, None], 2, variance=1.0, weights="uniform"),
        Problem(
            np.arange(4.0)[:, None], 2, variance=1.0, constraints=[MustLink(0, 1, 2, 3)], allow_empty=True
        ),
        Problem(np.arange(4.0)[:, None], 2, variance=1.0, constraints=[Label(i, i % 2) for i in range(4)]),
        Problem(np.arange(6.0)[:, None], 3, variance=1.0, constraints=[MinimumSize(2), CannotLink(0, 1)]),
    ],
)
def test_problems_at_the_edge(problem: Problem) -> None:
    """One sample, one component, as many components as samples, duplicates, everything decided."""
    truth = find_truth(problem)
    result = solve(problem, "sdp", gap=1e-6, threads=1)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(truth.optimum, rel=1e-9, abs=1e-9)
    assert_no_more_than_proved(result, truth.optimum)


def test_an_infeasible_problem_is_called_so() -> None:
    """Three samples that are pairwise apart do not fit into two components."""
    links = [CannotLink(0, 1, 2)]
    instance_free = Problem(np.arange(6.0)[:, None], 2, variance=1.0, constraints=links)
    assert solve(instance_free, "sdp", threads=1).status is Status.INFEASIBLE


# -- the other engines -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("n", "d", "K", "settings"),
    [
        (20, 2, 2, {}),
        (30, 3, 2, {"weights": "uniform"}),
        (24, 2, 3, {"constraints": [MustLink(0, 1, 2), CannotLink(3, 4), MinimumSize(4)]}),
        (16, 2, 2, {"variance": np.array([1.0, 2.5])}),
        (18, 3, 2, {"prior": [GaussianPrior(0.0, 4.0), "jeffreys"]}),
    ],
)
def test_agreement_with_the_spatial_engines(n: int, d: int, K: int, settings: dict[str, Any]) -> None:
    """Where several engines close a problem, they name the same value."""
    problem = overlapping(n, d, K, seed=n, spread=4.0, **settings)
    mine = solve(problem, "sdp", gap=1e-7, threads=1, node_limit=300)
    theirs = [solve(problem, name, gap=1e-7, threads=1) for name in ("interval", "dual")]
    assert all(r.status is Status.OPTIMAL for r in (mine, *theirs))
    for other in theirs:
        assert mine.objective == pytest.approx(other.objective, rel=2e-7)
        assert mine.lower_bound <= other.objective + 1e-9 * abs(other.objective)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_agreement_with_the_dual_engine_on_many(seed: int) -> None:
    """The same with up to forty samples, and clusters closer together."""
    rng = np.random.default_rng([seed, 84])
    n, d, K = int(rng.integers(15, 41)), int(rng.integers(2, 4)), int(rng.integers(2, 4))
    problem = overlapping(n, d, K, seed, spread=float(rng.uniform(2.5, 5.0)))
    mine = solve(problem, "sdp", gap=1e-6, threads=1, time_limit=60)
    other = solve(problem, "dual", gap=1e-7, threads=1, time_limit=60)
    assert other.status is Status.OPTIMAL
    assert_no_more_than_proved(mine, other.objective)
    if mine.status is Status.OPTIMAL:
        assert mine.objective == pytest.approx(other.objective, rel=2e-6)


# -- limits, interruption, repetition --------------------------------------------------------------------------
@pytest.fixture(scope="module")
def hard() -> tuple[Problem, float]:
    """A problem that is not closed at the root, and its optimum."""
    problem = overlapping(60, 2, 4, seed=2, spread=0.5)
    result = solve(problem, "dual", gap=1e-8, threads=1)
    assert result.status is Status.OPTIMAL
    return problem, result.objective


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_node_limit(hard: tuple[Problem, float], limit: int) -> None:
    """At the node limit the run stops with a bound below the optimum and is not called optimal."""
    problem, optimum = hard
    result = solve(problem, "sdp", gap=1e-9, node_limit=limit, threads=1)
    assert_no_more_than_proved(result, optimum)
    assert result.nodes <= limit
    assert result.status is Status.FEASIBLE or limit > 1
    if result.status is not Status.OPTIMAL:
        assert result.termination is Termination.NODES


@pytest.mark.parametrize("seconds", [0.0, 0.05])
def test_time_limit(hard: tuple[Problem, float], seconds: float) -> None:
    """Out of time, in the middle of the root, the answer is a clustering and what the root had proved."""
    problem, optimum = hard
    result = solve(problem, "sdp", gap=1e-9, time_limit=seconds, threads=1)
    assert result.termination is Termination.TIME
    assert result.status in (Status.FEASIBLE, Status.UNKNOWN)
    assert_no_more_than_proved(result, optimum)


@pytest.mark.parametrize("call", [0, 1, 2])
def test_interruption(hard: tuple[Problem, float], call: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupted inside a node, the run returns its incumbent and the bound it had."""
    problem, optimum = hard
    visit, calls = SemidefiniteBound.visit, itertools.count()

    def interrupted(self: Any, *arguments: Any) -> Any:
        if next(calls) == call:
            raise KeyboardInterrupt
        return visit(self, *arguments)

    monkeypatch.setattr(SemidefiniteBound, "visit", interrupted)
    result = solve(problem, "sdp", gap=1e-9, threads=1)
    assert result.termination is Termination.INTERRUPTED
    assert result.status is Status.FEASIBLE
    assert result.labels is not None
    assert_no_more_than_proved(result, optimum)
    assert call == 0 or result.lower_bound > -math.inf


@pytest.mark.parametrize("threads", [1, 2])
def test_same_seed_and_node_limit_same_answer(threads: int) -> None:
    """Labels, objective, bound and node count repeat, with one thread and with two."""
    problem = overlapping(24, 2, 3, seed=7, spread=1.5)
    options: dict[str, Any] = {"gap": 1e-9, "node_limit": 6, "seed": 4, "threads": threads}
    first, second = (solve(problem, "sdp", **options) for _ in range(2))
    assert np.array_equal(first.labels, second.labels)
    assert (first.objective, first.lower_bound, first.nodes) == (
        second.objective,
        second.lower_bound,
        second.nodes,
    )


def test_the_bound_of_a_poor_incumbent_is_a_bound() -> None:
    """A cutoff far above the optimum rules things out against itself only."""
    problem = overlapping(24, 2, 3, seed=5, spread=1.2)
    optimum = solve(problem, "dual", gap=1e-8, threads=1).objective
    instance = reduce(problem)
    labels = np.arange(instance.n_samples) % 3
    options = Options(gap=0.0, start=labels, node_limit=2, threads=1)
    claim = by_loop("loop", problem, semidefinite_bound, options)
    assert claim.lower <= optimum + 1e-9 * abs(optimum)
    assert claim.lower > -math.inf


# -- refusal ---------------------------------------------------------------------------------------------------
def test_boxes_on_the_means_are_refused_with_who_can_take_them() -> None:
    """The message names the feature and engines that honour it."""
    problem = Problem(np.arange(6.0)[:, None], 2, variance=1.0, mean_bounds=(0.0, 4.0))
    with pytest.raises(UnsupportedError, match=r"mean.*engines that can:.*interval.*dual"):
        solve(problem, "sdp")


def test_very_many_samples_are_refused() -> None:
    """The matrices would not fit."""
    problem = Problem(np.arange(4000.0)[:, None], 2, variance=1.0)
    assert "samples" in str(why_not(engine("sdp"), problem))


# -- a known value ---------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_wine_closes_to_the_known_value() -> None:
    """The paper's wine instance: 1366.8512244670, sizes 59/70/49, proved to 1e-6."""
    result = solve(datasets.load("wine").problem(), "sdp", gap=1e-6)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(1366.8512244670, rel=1e-9)
    assert result.lower_bound >= 1366.8512244670 * (1 - 1.1e-6)
    assert sorted(np.bincount(result.labels).tolist()) == [49, 59, 70]


def test_a_split_root_reports_what_both_parts_prove() -> None:
    """While the parts of a split root are looked at, the bound that is reported holds for the whole problem."""
    for seed in range(6):
        problem = overlapping(11, 3, 2, seed)
        truth = find_truth(problem)
        reported: list[float] = []
        bound = SemidefiniteBound(reduce(problem), truth.labels, on_root_bound=reported.append, split_from=1)
        roots = bound.root()
        assert len(roots) == 2
        for i in (1, 0):
            bound.explore(roots.take(np.array([i])), truth.optimum + 1e-3)
        assert all(value <= truth.optimum + 1e-9 for value in reported)
        assert truth.optimum - 10.0 < bound._proved.min() <= truth.optimum + 1e-9


def test_a_split_search_can_be_certified() -> None:
    """The certificate tells of the decision about sizes, and the checker agrees."""
    problem = overlapping(260, 6, 3, 4, spread=3.0)
    result = solve(problem, engine="sdp", gap=1e-3, certificate=True)
    assert result.status is Status.OPTIMAL
    assert result.certificate is not None
    kinds = result.certificate.arrays["tree/kind"]
    assert {AT_MOST, AT_LEAST} <= set(kinds.tolist())
    assert verify(result.certificate, problem.data).verified
