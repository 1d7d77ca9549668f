"""Contradictions: the set is truly conflicting, truly smallest, and said in words."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from constrained import has_solution, random_constrained

from certmix.errors import InfeasibleError
from certmix.presolve.conflict import Conflict, Proof, _irreducible, _Oracle, find_conflict
from certmix.presolve.demands import NONEMPTY, demands
from certmix.presolve.explanation import explain
from certmix.presolve.feasibility import check_feasible
from certmix.presolve.plain_conflicts import chain_conflicts, size_conflicts
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
    same_value,
)
from certmix.problem.constraints import Constraint

NAMES = [f"S{i}" for i in range(1, 11)]


def contradiction(*constraints: Constraint, K: int = 3, n: int = 10, **options: object) -> InfeasibleError:
    """The error for ten samples S1 … S10 (or as many as asked) with the given constraints."""
    problem = Problem(
        np.arange(float(n)), K, names=NAMES[:n], constraints=constraints, **{"variance": 1.0, **options}
    )
    with pytest.raises(InfeasibleError) as error:
        check_feasible(problem)
    return error.value


@pytest.mark.parametrize("part", range(4))
def test_conflicts_are_conflicting_and_smallest(part: int) -> None:
    """On random infeasible problems no smaller set of constraints conflicts, by brute force over subsets."""
    sizes = []
    for seed in range(part, 220, 4):
        problem = random_constrained(np.random.default_rng([5, seed]), most=9)
        if has_solution(problem):
            continue
        with pytest.raises(InfeasibleError) as error:
            check_feasible(problem)
        conflict = error.value.conflict
        assert all(item in problem.constraints for item in conflict)
        assert not has_solution(problem.replace(constraints=conflict))
        if len(conflict) > 1:
            assert "smallest" in str(error.value)
        for fewer in range(len(conflict)):
            for subset in itertools.combinations(problem.constraints, fewer):
                assert has_solution(problem.replace(constraints=subset)), (seed, subset, conflict)
        sizes.append(len(conflict))
    assert len(sizes) > 15
    assert max(sizes) >= 2


def test_fall_back_is_irreducible() -> None:
    """When there is no time for a smallest set, nothing can be left out of the set that is given."""
    checked = 0
    for seed in range(120):
        problem = random_constrained(np.random.default_rng([6, seed]), most=9)
        if has_solution(problem):
            continue
        asked = demands(problem)
        oracle = _Oracle(asked)
        found, proof = _irreducible(oracle, oracle.elements, np.inf)
        assert proof is (Proof.IRREDUCIBLE if found else Proof.SMALLEST)
        assert not has_solution(problem.replace(constraints=[problem.constraints[i] for i in found]))
        for left_out in found:
            rest = [problem.constraints[i] for i in found if i != left_out]
            assert has_solution(problem.replace(constraints=rest))
        checked += 1
    assert checked > 30


def test_no_time_at_all_is_admitted() -> None:
    """Without any time the answer is still a conflict, and it does not claim to be a smallest one."""
    rows = [MinimumSize(4, k, source=f"row {k}") for k in range(3)] + [Label(0, 0), Packing([1, 2], 1, 1)]
    problem = Problem(
        np.arange(10.0), 3, variance=1.0, constraints=[*rows, CannotLink(3, 4), CannotLink(4, 5)]
    )
    found = find_conflict(demands(problem), seconds=0.0)
    assert found.proof is not Proof.SMALLEST
    subset = problem.replace(constraints=[problem.constraints[i] for i in found.origins])
    with pytest.raises(InfeasibleError):
        check_feasible(subset)
    words = explain(problem, Conflict((0, 1, 2), frozenset(), Proof.IRREDUCIBLE))
    assert "an irreducible set" in words
    assert "smallest" not in words
    words = explain(problem, Conflict((0, 1, 2), frozenset(), Proof.NONE))
    assert "irreducible" not in words
    assert "smallest" not in words


def test_many_contradictions_at_once() -> None:
    """Among hundreds of contradictions one smallest is found and proved smallest."""
    twice = [Label(i, k, source=f"row {2 * i + k + 1}") for i in range(300) for k in range(2)]
    problem = Problem(np.arange(300.0), 3, variance=1.0, constraints=twice)
    with pytest.raises(InfeasibleError) as error:
        check_feasible(problem)
    assert len(error.value.conflict) == 2
    assert "smallest" in str(error.value)


def test_long_chain_is_proved_smallest() -> None:
    """A chain of a hundred must-links against one cannot-link needs all of them."""
    chain = [MustLink(i, i + 1, source=f"row {i + 1}") for i in range(100)]
    problem = Problem(
        np.arange(150.0), 3, variance=1.0, constraints=[*chain, CannotLink(0, 100, source="row 200")]
    )
    with pytest.raises(InfeasibleError) as error:
        check_feasible(problem)
    assert len(error.value.conflict) == 101
    assert "(rows 1-100) but may not be (row 200)" in str(error.value)
    assert "smallest" in str(error.value)


def test_shortest_chain_is_taken() -> None:
    """Of two chains between the same samples the shorter one is blamed; large must-links count once."""
    long_way = [MustLink(0, 1), MustLink(1, 2), MustLink(2, 3)]
    short_way = [MustLink(0, 7), MustLink(7, 8, 3)]
    problem = Problem(np.arange(10.0), 3, variance=1.0, constraints=[*long_way, *short_way, CannotLink(0, 3)])
    assert min(map(len, chain_conflicts(demands(problem), 5.0))) == 3
    with pytest.raises(InfeasibleError) as error:
        check_feasible(problem)
    assert set(error.value.conflict) == {*short_way, CannotLink(0, 3)}


def test_sizes_are_exact() -> None:
    """Among random size limits the smallest conflict is found by arithmetic, as brute force finds it."""
    found = 0
    for seed in range(200):
        rng = np.random.default_rng([9, seed])
        n, K = int(rng.integers(3, 12)), int(rng.integers(1, 5))
        if n < K:
            continue
        limits: list[Constraint] = []
        for _ in range(int(rng.integers(1, 6))):
            kind = MinimumSize if rng.random() < 0.5 else MaximumSize
            limits.append(
                kind(int(rng.integers(0, n + 2)), None if rng.random() < 0.3 else int(rng.integers(K)))
            )
        problem = Problem(np.arange(float(n)), K, variance=1.0, constraints=limits)
        fits = fitting(problem)
        candidates = size_conflicts(demands(problem))
        assert fits == (not candidates)
        if fits:
            continue
        fewest = next(
            number
            for number in range(len(limits) + 1)
            if any(
                not fitting(problem.replace(constraints=s)) for s in itertools.combinations(limits, number)
            )
        )
        assert min(map(len, candidates)) == fewest
        assert len(find_conflict(demands(problem)).origins) == fewest
        found += 1
    assert found > 30


def fitting(problem: Problem) -> bool:
    low, high, n = problem.size_lower, problem.size_upper, problem.n_samples
    return bool(np.all(low <= high) and low.sum() <= n <= high.sum())


# -- words -------------------------------------------------------------------------------------------------
WORDING: dict[str, tuple[list[Constraint], dict[str, object], str]] = {
    "chain against cannot-link": (
        [
            MustLink("S1", "S5", source="row 3"),
            MustLink("S5", "S9", source="row 8"),
            CannotLink("S1", "S9", source="row 12"),
        ],
        {},
        "S1 and S9 must be together (rows 3, 8) but may not be (row 12)",
    ),
    "one link against another": (
        [MustLink("S2", "S1", source="row 1"), CannotLink("S1", "S2", source="row 2")],
        {},
        "S1 and S2 must be together (row 1) but may not be (row 2)",
    ),
    "chain without rows": (
        [MustLink("S1", "S5"), MustLink("S5", "S9"), CannotLink("S1", "S9")],
        {},
        "S1 and S9 must be together (S1 and S5 must be together; S5 and S9 must be together) but may not be",
    ),
    "implication as a link": (
        [Implication("S1", "S2", source="row 1"), CannotLink("S1", "S2", source="row 2")],
        {},
        "S1 and S2 must be together (row 1) but may not be (row 2)",
    ),
    "column against cannot-link": (
        [*same_value(["a", "b", "a", *[None] * 7], name="batch"), CannotLink("S1", "S3", source="row 2")],
        {},
        "S1 and S3 must be together (batch = a) but may not be (row 2)",
    ),
    "two labels on samples tied together": (
        [
            Label("S1", 0, source="row 1"),
            MustLink("S1", "S4", source="row 2"),
            MustLink("S4", "S7", source="row 3"),
            Label("S7", 2, source="row 9"),
        ],
        {},
        "S1 and S7 must be together (rows 2, 3) but S1 is in component 0 (row 1) "
        "and S7 is in component 2 (row 9)",
    ),
    "two labels on one sample": (
        [Label("S3", 0, source="row 1"), Label("S3", 1, source="row 5")],
        {},
        "S3 is in component 0 (row 1) but also in component 1 (row 5)",
    ),
    "labels against cannot-link": (
        [
            Label("S1", 1, source="row 3"),
            Label("S2", 1, source="row 8"),
            CannotLink("S1", "S2", source="row 12"),
        ],
        {},
        "S1 and S2 may not be together (row 12) but both belong in component 1 (rows 3, 8)",
    ),
    "labels through links against cannot-link": (
        [
            Label("S1", 1, source="row 3"),
            MustLink("S1", "S4", source="row 4"),
            Label("S2", 1, source="row 8"),
            CannotLink("S4", "S2", source="row 12"),
        ],
        {},
        "S4 and S2 may not be together (row 12) but both belong in component 1 (rows 3, 4, 8)",
    ),
    "minimum sizes": (
        [MinimumSize(4, source="row 7")],
        {},
        "the minimum sizes add up to 12 (row 7) but there are only 10 samples",
    ),
    "minimum sizes of single components": (
        [MinimumSize(4, k, source=f"row {k + 1}") for k in range(3)],
        {},
        "the minimum sizes add up to 12 (rows 1-3) but there are only 10 samples",
    ),
    "minimum sizes and non-emptiness": (
        [MinimumSize(5, 0, source="row 1"), MinimumSize(5, 1, source="row 2")],
        {},
        "the minimum sizes add up to 11 (rows 1, 2; every component needs at least one sample) "
        "but there are only 10 samples",
    ),
    "maximum sizes": (
        [MaximumSize(3, source="row 2")],
        {},
        "the maximum sizes add up to 9 (row 2) but there are 10 samples",
    ),
    "one size larger than the data": (
        [MinimumSize(11, "1", source="row 1")],
        {"allow_empty": True},
        "component 1 has at least 11 samples (row 1) but there are only 10 samples",
    ),
    "minimum above maximum": (
        [MinimumSize(5, 0, source="row 3"), MaximumSize(4, source="row 4")],
        {},
        "component 0 has at least 5 samples (row 3) but at most 4 (row 4)",
    ),
    "maximum of zero": (
        [MaximumSize(0, 2, source="row 1")],
        {},
        "component 2 has at least 1 sample but at most 0 (row 1), "
        "since every component needs at least one sample",
    ),
    "more than the set holds": (
        [Covering(["S1", "S2", "S3"], 0, 5, source="row 2")],
        {},
        "at least 5 of S1, S2 and S3 in component 0 (row 2) but these are only 3 samples",
    ),
    "exactly more than the set holds": (
        [Partitioning(["S1"], 0, 2, source="row 2")],
        {},
        "exactly 2 of S1 in component 0 (row 2) but these are only 1 sample",
    ),
    "too many apart": (
        [CannotLink("S1", "S2", "S3", "S4", source="row 5")],
        {},
        "no two of S1, S2, S3 and S4 may be together (row 5) but there are only 3 components",
    ),
    "label against packing": (
        [Label("S1", 0, source="row 1"), Packing(["S1", "S2"], 0, 0, source="row 2")],
        {},
        "S1 is in component 0 (row 1) but at most 0 of S1 and S2 in component 0 (row 2)",
    ),
    "triangle in two components": (
        [CannotLink(f"S{i}", f"S{j}", source=f"row {i + j}") for i, j in ((1, 2), (1, 3), (2, 3))],
        {"K": 2},
        "S1 and S2 may not be together (row 3); S1 and S3 may not be together (row 4); "
        "and S2 and S3 may not be together (row 5): these cannot all hold, since there are only 2 components",
    ),
    "all together but none empty": (
        [MustLink(*NAMES, source="row 1")],
        {},
        "S1, S2, S3, S4, S5 and 5 more must be together (row 1), which cannot hold, "
        "since every component needs at least one sample",
    ),
    "tied weights": (
        [MinimumSize(6, 0, source="row 1")],
        {"K": 2, "estimators": "weights", "weights": "uniform"},
        "component 0 has at least 6 samples (row 1) but at most 5, "
        "since pi_k = n_k/n asks for 5 samples in every component",
    ),
    "named components": (
        [Label("S3", "Basal", source="row 1"), Label("S3", "LumA", source="row 5")],
        {"K": 2, "component_names": ["Basal", "LumA"]},
        "S3 is in component Basal (row 1) but also in component LumA (row 5)",
    ),
}


@pytest.mark.parametrize(("constraints", "options", "words"), WORDING.values(), ids=WORDING.keys())
def test_contradictions_in_words(constraints: list[Constraint], options: dict, words: str) -> None:
    """The message starts with the contradiction; harmless constraints around it are not blamed."""
    for harmless in ([], [CannotLink("S10", "S6", source="row 77"), MinimumSize(0, source="row 78")]):
        error = contradiction(*constraints, *harmless, **options)
        assert str(error).startswith(words + ". "), str(error)
        assert set(error.conflict) == set(constraints)


def test_a_long_general_conflict_is_cut() -> None:
    """A conflict of many constraints lists the first and counts the rest, with their rows."""
    every_pair = itertools.combinations(range(1, 6), 2)
    apart = [CannotLink(f"S{i}", f"S{j}", source=f"row {10 * i + j}") for i, j in every_pair]
    error = contradiction(*apart, K=4)
    assert len(error.conflict) == 10
    assert re.search(
        r"and 3 more \(rows 34, 35, 45\): these cannot all hold, since there are only 4", str(error)
    )


def test_only_the_conditions_of_the_problem() -> None:
    """When nothing but the problem itself is to blame, no constraint is."""
    error = contradiction(
        Label("S1", 0), MinimumSize(1), estimators="means", mean_bounds=([[8.0]] * 3, [[20.0]] * 3)
    )
    assert error.conflict == ()
    assert str(error).startswith("the mean of every component's samples must lie in mean_bounds")


def test_conditions_that_take_part_are_found() -> None:
    """Non-emptiness is blamed only where it is needed."""
    needed = Problem(np.arange(4.0), 3, variance=1.0, constraints=[MustLink(0, 1, 2)])
    assert find_conflict(demands(needed.replace(constraints=[MustLink(0, 1, 2)]))).conditions == {NONEMPTY}
    idle = Problem(np.arange(4.0), 2, variance=1.0, constraints=[Label(0, 0), Label(0, 1)])
    assert find_conflict(demands(idle)).conditions == frozenset()
