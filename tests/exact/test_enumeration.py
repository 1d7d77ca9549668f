"""Enumeration against the plainest loop there is, and its promises about bounds, limits and refusals."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from certmix.engines import Outcome
from certmix.errors import InfeasibleError
from certmix.exact.boxed_means import box_penalty
from certmix.exact.enumeration import MOST_GROUPS, Enumeration
from certmix.exact.labellings import count_labellings, labellings, labels_of
from certmix.exact.subsets import subset_table
from certmix.exact.weight_costs import WeightCosts
from certmix.ledger import Ledger
from certmix.options import Options
from certmix.presolve.instance import reduce
from certmix.problem import CannotLink, Label, MustLink, Problem, interchangeable, is_feasible
from certmix.problem.objective import _nearest_in_box
from certmix.status import Termination
from random_instances import random_problem


def run(problem: Problem, **options: object) -> tuple[Ledger, Outcome]:
    chosen = Options(**options)
    ledger = Ledger(problem, chosen.tolerances)
    return ledger, Enumeration().run(problem, ledger, chosen)


def naive_optimum(problem: Problem) -> float:
    """The best value over all K^n labellings, by the evaluator alone; infinite when none is feasible."""
    best = math.inf
    for labels in itertools.product(range(problem.n_components), repeat=problem.n_samples):
        z = np.array(labels)
        if is_feasible(problem, z):
            try:
                best = min(best, problem.objective.best(z).value)
            except InfeasibleError:
                continue
    return best


def assert_agrees(problem: Problem) -> None:
    expected = naive_optimum(problem)
    ledger, outcome = run(problem)
    assert outcome.termination is Termination.EXHAUSTED
    assert outcome.infeasible == math.isinf(expected)
    if not outcome.infeasible:
        assert ledger.upper == pytest.approx(expected, rel=1e-12, abs=1e-12)
        assert ledger.bound <= expected
        assert is_feasible(problem, ledger.incumbent.labels)


@pytest.mark.parametrize("block", range(8))
def test_agrees_with_a_naive_loop_on_random_problems(block: int) -> None:
    """Value, feasibility and bound agree with trying every labelling, under every option of the problem."""
    for seed in range(60 * block, 60 * (block + 1)):
        assert_agrees(random_problem(np.random.default_rng(seed), max_samples=5))


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_agrees_with_a_naive_loop_on_larger_problems(block: int) -> None:
    """The same with up to seven samples and four components."""
    for seed in range(100 * block, 100 * (block + 1)):
        assert_agrees(random_problem(np.random.default_rng([7, seed]), max_samples=6, max_components=4))


def test_bound_is_within_rounding_of_the_optimum() -> None:
    """The rounding term is far below the default gap, so everything it enumerates comes out optimal."""
    for seed in range(300):
        problem = random_problem(np.random.default_rng([1, seed]))
        ledger, outcome = run(problem)
        if not outcome.infeasible:
            assert ledger.closed, (seed, ledger.upper, ledger.bound)


def test_infeasible_constraints_are_found_out() -> None:
    """Three samples pairwise apart do not fit into two components."""
    problem = Problem([0.0, 1.0, 2.0, 3.0], 2, variance=1.0, constraints=[CannotLink(0, 1, 2)])
    ledger, outcome = run(problem)
    assert outcome.infeasible
    assert ledger.incumbent is None
    assert ledger.bound == -math.inf


def test_must_link_inside_cannot_link_is_infeasible() -> None:
    """A contradiction that presolve already sees is reported in the same way."""
    problem = Problem([0.0, 1.0, 2.0], 2, variance=1.0, constraints=[MustLink(0, 1), CannotLink(0, 1)])
    assert run(problem)[1].infeasible


@pytest.mark.parametrize(
    ("options", "why"), [({"time_limit": 0}, Termination.TIME), ({"node_limit": 10}, Termination.NODES)]
)
def test_a_limit_claims_no_bound(options: dict[str, float], why: Termination) -> None:
    """A run that a limit cut short keeps its incumbent but proves nothing."""
    problem = Problem(
        np.random.default_rng(0).normal(size=(12, 2)), 4, variance=1.0, constraints=[Label(0, 1), Label(1, 2)]
    )
    ledger, outcome = run(problem, **options)
    assert outcome.termination is why
    assert outcome.certificate_level == "none"
    assert ledger.bound == -math.inf
    assert ledger.incumbent is not None


def test_refuses_what_is_too_large() -> None:
    """More than twelve free samples are refused; must-linked ones count once; so are too many labellings."""
    y = np.random.default_rng(0).normal(size=(14, 1))
    assert "at most 12 samples" in Enumeration().refusal(Problem(y, 2, variance=1.0))
    assert Enumeration().refusal(Problem(y, 2, variance=1.0, constraints=[MustLink(0, 1, 2)])) is None
    several = Problem(y[:MOST_GROUPS], 6, variance=np.arange(1.0, 7.0))
    assert "clusterings to enumerate" in Enumeration().refusal(several)
    assert Enumeration().refusal(Problem(y[:MOST_GROUPS], 6, variance=1.0)) is None


def test_refusal_of_a_large_problem_does_not_look_at_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million samples are refused by their number alone."""
    problem = Problem(np.arange(100_000.0), 3, variance=1.0)
    monkeypatch.setattr("certmix.exact.enumeration.group_samples", lambda p: pytest.fail("looked"))
    monkeypatch.setattr("certmix.exact.enumeration.interchangeable", lambda p: pytest.fail("looked"))
    assert Enumeration().refusal(problem) is not None


@pytest.mark.parametrize("classes", [[0, 0, 0], [0, 1, 2], [0, 1, 0], [0], [0, 1, 1, 0]])
def test_one_labelling_of_every_equivalent_set(monkeypatch: pytest.MonkeyPatch, classes: list[int]) -> None:
    """Up to swapping interchangeable components every labelling appears once, in several goes, and is counted."""
    n, K = 5, len(classes)
    monkeypatch.setattr("certmix.exact.labellings.CHUNK", 16 * K)
    variance = np.array([1.0, 2.0, 3.0])[classes]
    problem = Problem(np.random.default_rng(3).normal(size=(n, 1)), K, variance=variance, allow_empty=True)
    kinds = interchangeable(problem)
    assert kinds.tolist() == classes

    def canonical(labels: tuple[int, ...]) -> frozenset[tuple[int, frozenset[int]]]:
        sets = [(classes[k], frozenset(i for i, z in enumerate(labels) if z == k)) for k in range(K)]
        return frozenset((c, s) for c, s in sets if s)

    table = subset_table(reduce(problem))
    found = [canonical(tuple(labels_of(row, n))) for chunk in labellings(n, kinds, table) for row in chunk]
    everything = {canonical(z) for z in itertools.product(range(K), repeat=n)}
    assert len(found) == len(set(found)) == len(everything) == count_labellings(n, kinds)
    assert set(found) == everything


def test_box_penalty_never_exceeds_and_meets_the_evaluators_solution() -> None:
    """The duality bound on a boxed quadratic is below the evaluator's minimum and within rounding of it."""
    rng = np.random.default_rng(5)
    for _ in range(60):
        d = int(rng.integers(1, 5))
        root = rng.normal(size=(d, d)) + np.eye(d)
        precision, prior = root @ root.T + 0.05 * np.eye(d), np.diag(rng.uniform(0, 1, d))
        target = 3 * rng.normal(size=(8, d))
        lower = np.where(rng.random(d) < 0.3, -np.inf, rng.normal(size=d))
        upper = np.where(np.isfinite(lower), lower, 0.0) + np.where(
            rng.random(d) < 0.3, np.inf, rng.uniform(0, 2, d)
        )
        size = np.arange(1, 9)
        penalty, rounding = box_penalty(size, precision, prior, target, np.abs(target), lower, upper)
        for s in range(8):
            hessian = size[s] * precision + prior
            away = _nearest_in_box(hessian, target[s], lower, upper) - target[s]
            expected = 0.5 * away @ hessian @ away
            assert penalty[s] <= expected + rounding
            assert penalty[s] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_weight_costs_meet_the_evaluator() -> None:
    """With bounds on the weights, the dual cost for given sizes equals the evaluator's cost."""
    rng = np.random.default_rng(6)
    for _ in range(40):
        K = int(rng.integers(1, 5))
        inside = rng.dirichlet(np.ones(K))
        problem = Problem(
            rng.normal(size=(8, 1)),
            K,
            variance=1.0,
            weight_bounds=(inside * rng.random(K), np.minimum(1.0, inside + rng.random(K))),
            allow_empty=True,
        )
        sizes = rng.multinomial(8, np.full(K, 1 / K), size=5)
        costs = WeightCosts(problem)(sizes)
        for row, cost in zip(sizes, costs, strict=True):
            exact = problem.objective.weight_cost(row, problem.objective.best_weights(row))
            assert cost == pytest.approx(exact, rel=1e-12, abs=1e-12)
