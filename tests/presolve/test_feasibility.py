"""Feasibility against brute force, and the sizes it must cope with."""

from __future__ import annotations

import numpy as np
import pytest
from constrained import acceptable, has_solution, random_constrained

from certmix.errors import InfeasibleError
from certmix.presolve.demands import demands
from certmix.presolve.feasibility import check_feasible, find_feasible
from certmix.presolve.groups import group_samples
from certmix.presolve.instance import CountRow
from certmix.presolve.placing import Verdict, _exactly, place
from certmix.presolve.placing_milp import clique_cover
from certmix.problem import (
    CannotLink,
    Covering,
    Implication,
    Label,
    MaximumSize,
    MinimumSize,
    MustLink,
    Packing,
    Partitioning,
    Problem,
    is_feasible,
)


@pytest.mark.parametrize("part", range(4))
def test_feasible_exactly_when_some_labelling_is(part: int) -> None:
    """On hundreds of random constrained problems the verdict is brute force's, with labels to show for it."""
    answers = set()
    for seed in range(part, 400, 4):
        problem = random_constrained(np.random.default_rng([2, seed]))
        truth = has_solution(problem)
        answers.add(truth)
        labels = find_feasible(problem)
        assert (labels is not None) == truth, seed
        if labels is not None:
            assert acceptable(problem, labels)
            check_feasible(problem)
        else:
            with pytest.raises(InfeasibleError):
                check_feasible(problem)
    assert answers == {True, False}


def test_the_milp_alone_is_right() -> None:
    """Without the greedy pass the MILP comes to the same verdicts."""
    asked_milp = 0
    for seed in range(150):
        problem = random_constrained(np.random.default_rng([3, seed]))
        asked = demands(problem)
        lower, upper = asked.size_limits()
        groups = group_samples(problem.replace(constraints=problem.constraints))
        if len(asked.samples) < problem.n_samples or groups.contradiction or np.any(lower > upper):
            continue
        rows = [CountRow.of(count, groups) for count in asked.rules.counts]
        found = _exactly(asked, groups, rows, lower, upper, 10.0)
        assert (found.verdict is Verdict.FEASIBLE) == has_solution(problem)
        assert found.verdict is not Verdict.UNKNOWN
        asked_milp += 1
    assert asked_milp > 30


def test_nothing_asked_costs_nothing() -> None:
    """A million samples without constraints are feasible at once, and with a few constraints nearly so."""
    data = np.random.default_rng(0).normal(size=(1_000_000, 1))
    plain = Problem(data, 4, variance=1.0)
    check_feasible(plain)
    labels = find_feasible(plain)
    assert labels is not None
    assert is_feasible(plain, labels)
    few = plain.replace(
        constraints=[MinimumSize(240_000), MustLink(5, 999_999), CannotLink(5, 7), Label(7, 2)]
    )
    labels = find_feasible(few)
    assert labels is not None
    assert is_feasible(few, labels)
    asked = demands(few)
    assert len(asked.samples) == 3
    assert asked.n_free == 999_997


def test_thousands_of_links() -> None:
    """Links drawn from a planted clustering are feasible; one more link against it is not."""
    rng = np.random.default_rng(4)
    n, K = 1500, 5
    planted = rng.integers(0, K, n)
    constraints = []
    while len(constraints) < 4000:
        i, j = (int(x) for x in rng.integers(0, n, 2))
        if i != j:
            constraints.append(MustLink(i, j) if planted[i] == planted[j] else CannotLink(i, j))
    problem = Problem(rng.normal(size=(n, 2)), K, variance=1.0, constraints=constraints)
    labels = find_feasible(problem)
    assert labels is not None
    assert is_feasible(problem, labels)
    groups = group_samples(problem)
    i, j = np.flatnonzero(groups.of == np.argmax(groups.weight))[:2]
    with pytest.raises(InfeasibleError) as error:
        check_feasible(problem.replace(constraints=[*constraints, CannotLink(int(i), int(j))]))
    assert len(error.value.conflict) >= 2


def test_counting_that_only_arithmetic_sees() -> None:
    """Pairs must stay together and components hold an odd number: propagation cannot tell, the MILP can."""
    pairs = [MustLink(2 * i, 2 * i + 1) for i in range(6)]
    odd = [MinimumSize(5, 0), MaximumSize(5, 0)]
    y = np.arange(12.0)
    assert find_feasible(Problem(y, 2, variance=1.0, constraints=[*pairs, *odd])) is None
    assert (
        find_feasible(Problem(y, 2, variance=1.0, constraints=[*pairs, MinimumSize(6, 0), MaximumSize(6, 0)]))
        is not None
    )


def test_colouring() -> None:
    """An odd wheel needs four components; with three it is infeasible although no clique of four is in it."""
    rim = [CannotLink(i, (i + 1) % 5) for i in range(5)]
    spokes = [CannotLink(i, 5) for i in range(5)]
    y = np.arange(9.0)
    assert find_feasible(Problem(y, 3, variance=1.0, constraints=[*rim, *spokes])) is None
    labels = find_feasible(Problem(y, 4, variance=1.0, constraints=[*rim, *spokes]))
    assert labels is not None


def test_exact_counts_over_many_alike_samples() -> None:
    """Partitioning over hundreds of samples is a small matter, because samples that are alike are counted."""
    y = np.arange(900.0)
    sets = [
        Partitioning(range(0, 600), 0, 123),
        Partitioning(range(300, 900), 1, 456),
        Covering(range(0, 900), 2, 100),
        Packing(range(0, 300), 2, 10),
    ]
    problem = Problem(y, 3, variance=1.0, constraints=sets)
    labels = find_feasible(problem)
    assert labels is not None
    assert is_feasible(problem, labels)
    too_much = problem.replace(constraints=[*sets, MinimumSize(290, 0), Packing(range(600, 900), 0, 100)])
    assert find_feasible(too_much) is None


def test_tied_means_in_boxes() -> None:
    """Cluster means that must lie in boxes: feasible where the data can be split so, infeasible where not."""
    y = np.array([0.0, 1.0, 2.0, 9.0, 10.0, 11.0])
    good = Problem(y, 2, variance=1.0, estimators="means", mean_bounds=([4.9, 4.0], [5.6, 6.0]))
    labels = find_feasible(good)
    assert labels is not None
    assert acceptable(good, labels)
    bad = Problem(y, 2, variance=1.0, estimators="means", mean_bounds=([6.0, 6.0], [11.0, 11.0]))
    assert find_feasible(bad) is None
    with pytest.raises(InfeasibleError, match="mean_bounds"):
        check_feasible(bad)


def test_tied_weights() -> None:
    """pi_k = n_k/n with fixed weights sets the sizes."""
    y = np.arange(8.0)
    problem = Problem(
        y, 2, variance=1.0, estimators="weights", weights=[0.25, 0.75], constraints=[MustLink(0, 1, 2)]
    )
    labels = find_feasible(problem)
    assert labels is not None
    assert np.bincount(labels).tolist() == [2, 6]
    with pytest.raises(InfeasibleError, match="pi_k = n_k/n"):
        check_feasible(problem.replace(constraints=[Covering([0, 1, 2], 0, 3)]))


def test_boxes_too_large_for_the_milp_are_left_open() -> None:
    """A mean box over very many samples is not decided, and nothing is claimed."""
    y = np.random.default_rng(0).normal(size=(40_000, 1))
    problem = Problem(y, 2, variance=1.0, estimators="means", mean_bounds=([2.0, -9.0], 9.0))
    assert place(demands(problem)).verdict is Verdict.UNKNOWN
    check_feasible(problem)


def test_integer_program_says_nothing_on_standard_output(capfd: pytest.CaptureFixture[str]) -> None:
    """The solver keeps quiet even where it works hard: standard output belongs to results."""
    rng = np.random.default_rng(8)
    pairs = {tuple(sorted(map(int, rng.choice(60, 2, replace=False)))) for _ in range(140)}
    problem = Problem(
        np.arange(60.0), 3, variance=1.0, constraints=[CannotLink(*pair) for pair in sorted(pairs)]
    )
    find_feasible(problem)
    assert capfd.readouterr().out == ""


def test_clique_cover() -> None:
    """Every pair lies in a clique, every clique consists of pairs, and a full set is one clique."""
    rng = np.random.default_rng(6)
    for _ in range(30):
        pairs = {tuple(sorted(map(int, rng.choice(12, 2, replace=False)))) for _ in range(25)}
        covered = set()
        for clique in clique_cover(np.array(sorted(pairs))):
            for a, i in enumerate(clique.tolist()):
                for j in clique.tolist()[a + 1 :]:
                    assert (i, j) in pairs
                    covered.add((i, j))
        assert covered == pairs
    full = np.array([(i, j) for i in range(6) for j in range(i + 1, 6)])
    assert [c.tolist() for c in clique_cover(full)] == [list(range(6))]
    assert clique_cover(np.zeros((0, 2), dtype=int)) == []


def test_implications_need_search() -> None:
    """If a sample's every component drags another into a full one, there is no solution."""
    y = np.arange(4.0)
    rules = [Implication(0, 1, k) for k in range(2)] + [Implication(2, 3, k) for k in range(2)]
    assert find_feasible(Problem(y, 2, variance=1.0, constraints=[*rules, CannotLink(0, 2)])) is not None
    assert find_feasible(Problem(y, 2, variance=1.0, constraints=[*rules, CannotLink(0, 1)])) is None
    sizes = [MinimumSize(1), MaximumSize(3, 0), MinimumSize(3, 0)]
    assert find_feasible(Problem(y, 2, variance=1.0, constraints=[*rules, *sizes])) is None
