"""Constraint objects, the one-liners on columns, their words, and which of them labels satisfy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest

from certmix.errors import InputError
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
    component_names_from,
    is_feasible,
    labels_from,
    same_value,
    satisfaction_table,
)
from certmix.problem.constraints import Constraint
from certmix.problem.wording import describe

DATA = np.arange(12.0).reshape(6, 2)
NAMES = ["A", "B", "C", "D", "E", "F"]


def problem(*constraints: Constraint, **options: Any) -> Problem:
    return Problem(DATA, 3, names=NAMES, constraints=constraints, **{"variance": 1.0, **options})


# -- columns -----------------------------------------------------------------------------------------------
BLANKS = [None, "", "  ", float("nan"), np.nan, pd.NA, pd.NaT, np.datetime64("NaT")]


@pytest.mark.parametrize("blank", BLANKS, ids=repr)
def test_blank_cells_say_nothing(blank: Any) -> None:
    """Every kind of missing value links and labels nothing."""
    assert same_value([blank, "x", blank]) == []
    assert labels_from([blank, 1]) == [Label(1, 1)]
    assert component_names_from([blank, "x"], 1) == ("x",)


def test_same_value_links_equal_cells() -> None:
    """Equal cells become one must-link each; 2, 2.0 and "2" are the same value."""
    assert same_value(["a", "b", "a", "a", "c"]) == [MustLink(0, 2, 3)]
    assert same_value([2, 2.0, "2", np.int64(2), " 2 "]) == [MustLink(0, 1, 2, 3, 4)]
    assert same_value(pd.Series(["x", None, "x"]), name="batch")[0].source == "batch = x"


def test_labels_from_a_column() -> None:
    """Numbers read as 2.0 because of blanks are labels 2; other values are names."""
    assert labels_from(pd.Series([2.0, np.nan, 0.0])) == [Label(0, 2), Label(2, 0)]
    assert labels_from(pd.array([1, None, 0], dtype="Int64")) == [Label(0, 1), Label(2, 0)]
    assert labels_from([True, 1.5]) == [Label(0, "True"), Label(1, "1.5")]
    assert labels_from(pd.Categorical(["Basal", None, "LumA"])) == [Label(0, "Basal"), Label(2, "LumA")]


@pytest.mark.parametrize(
    ("values", "K", "expected"),
    [
        ([0, 2, None], 3, None),
        (["0", "1"], 2, None),
        ([1, 2, 3], 3, ("1", "2", "3")),
        ([10, 9, None], 3, ("9", "10", "component 2")),
        (["LumA", "Basal", "LumA"], 2, ("Basal", "LumA")),
        ([True, False], 2, ("False", "True")),
        ([1, "1", 5], 2, ("1", "5")),
        ([0.5, 1.5], 2, ("0.5", "1.5")),
        ([], 2, None),
    ],
)
def test_component_names_from_a_column(values: list[Any], K: int, expected: tuple[str, ...] | None) -> None:
    """Positions need no names; anything else names the components, and labels then find them."""
    assert component_names_from(values, K) == expected
    data = np.arange(float(max(len(values), K)))
    labelled = Problem(data, K, variance=1.0, component_names=expected, constraints=labels_from(values))
    assert len(labelled.rules.labels) == len([v for v in values if v is not None])


def test_too_many_values_for_the_components() -> None:
    """A label column with more values than components is refused with its values."""
    with pytest.raises(InputError, match=r"3 different values \(a, b, c\).*only 2 components"):
        component_names_from(["a", "b", "c"], 2)


# -- bad constraints ---------------------------------------------------------------------------------------
BAD_OBJECTS: dict[str, tuple[Any, list[str]]] = {
    "must-link of one": (lambda: MustLink("A"), ["must-link", "at least 2"]),
    "cannot-link of none": (lambda: CannotLink(), ["cannot-link", "at least 2", "0"]),
    "packing of none": (lambda: Packing([], 0, 1), ["packing", "at least 1 sample"]),
    "packing of a string": (lambda: Packing("AB", 0, 1), ["packing", "'AB'"]),
    "fractional limit": (lambda: Covering(["A"], 0, 1.5), ["covering", "1.5"]),
    "negative limit": (lambda: MinimumSize(-1), ["min-size", "-1"]),
    "limit of nothing": (lambda: MaximumSize(None), ["max-size", "None"]),
    "limit in words": (lambda: MaximumSize("many"), ["max-size", "'many'"]),
    "limit is a truth value": (lambda: MinimumSize(True), ["min-size", "True"]),
    "limit not a number": (lambda: Partitioning(["A"], 0, float("nan")), ["partitioning", "nan"]),
    "limit infinite": (lambda: MinimumSize(float("inf")), ["min-size", "inf"]),
}


@pytest.mark.parametrize(("make", "words"), BAD_OBJECTS.values(), ids=BAD_OBJECTS.keys())
def test_constraints_that_make_no_sense_by_themselves(make: Any, words: list[str]) -> None:
    """A constraint that is wrong by itself is refused when it is made."""
    with pytest.raises(InputError) as error:
        make()
    for word in words:
        assert word in str(error.value)


BAD_IN_PROBLEM: dict[str, tuple[Any, list[str]]] = {
    "unknown sample": (MustLink("A", "Z", source="row 4"), ["must-link (row 4)", "'Z'"]),
    "unknown position": (Label(6, 0), ["label", "no sample 6"]),
    "misspelt sample": (Covering(["A", "b"], 0, 1), ["covering", "'b'"]),
    "unknown component": (Label("A", 3), ["label", "component 3", "0 to 2"]),
    "unknown component name": (MinimumSize(1, "Basal"), ["min-size", "'Basal'"]),
    "component is a fraction": (Label("A", 1.5), ["label", "1.5"]),
    "component is a truth value": (Label("A", True), ["label", "True"]),
    "component is an odd digit": (Label("A", "²"), ["label", "²"]),
    "negative component": (MaximumSize(1, -1), ["max-size", "-1"]),
    "label without component": (Label("A", None), ["label", "needs a component"]),  # type: ignore[arg-type]
    "packing without component": (Packing(["A"], None, 1), ["packing", "needs a component"]),  # type: ignore[arg-type]
    "apart from itself": (CannotLink("A", "B", "A"), ["cannot-link", "A cannot be apart from itself"]),
    "twice in the set": (Packing(["A", 0], 0, 1), ["packing", "A stands twice"]),
    "not a constraint": (("A", "B"), ["('A', 'B')", "not a constraint"]),
    "a class": (MustLink, ["not a constraint"]),
}


@pytest.mark.parametrize(("item", "words"), BAD_IN_PROBLEM.values(), ids=BAD_IN_PROBLEM.keys())
def test_constraints_that_do_not_fit_the_problem(item: Any, words: list[str]) -> None:
    """A constraint on samples or components that do not exist is refused, with where it was written."""
    with pytest.raises(InputError) as error:
        problem(item)
    for word in words:
        assert word in str(error.value)


def test_constraints_given_in_other_ways() -> None:
    """One constraint alone, a generator, or nothing will do; text will not."""
    assert Problem(DATA, 2, variance=1.0, constraints=MinimumSize(1)).constraints == (MinimumSize(1),)
    assert len(Problem(DATA, 2, variance=1.0, constraints=(Label(i, 0) for i in range(3))).constraints) == 3
    assert Problem(DATA, 2, variance=1.0, constraints=None).constraints == ()
    for bad in ("must-link", 3):
        with pytest.raises(InputError, match="list of constraints"):
            Problem(DATA, 2, variance=1.0, constraints=bad)  # type: ignore[arg-type]


# -- words -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("item", "words"),
    [
        (MustLink("A", "B"), "A and B must be together"),
        (MustLink("A", "B", "C"), "A, B and C must be together"),
        (CannotLink("A", 1), "A and B may not be together"),
        (CannotLink("A", "B", "C"), "no two of A, B and C may be together"),
        (Implication("A", "B", 1), "if A is in component LumA then so is B"),
        (Implication("A", "B"), "B is wherever A is"),
        (Label("A", "Basal"), "A is in component Basal"),
        (MinimumSize(1), "every component has at least 1 sample"),
        (MinimumSize(2, 0), "component Basal has at least 2 samples"),
        (MaximumSize(4, "LumA"), "component LumA has at most 4 samples"),
        (Packing(["A", "B"], 0, 1), "at most 1 of A and B in component Basal"),
        (Partitioning(["A", "B", "C"], 0, 2), "exactly 2 of A, B and C in component Basal"),
        (Covering(["A"], 2, 1), "at least 1 of A in component Her2"),
    ],
)
def test_constraints_in_words(item: Constraint, words: str) -> None:
    """Every constraint can be said in words."""
    assert describe(problem(item, component_names=["Basal", "LumA", "Her2"]), item) == words


def test_long_lists_are_cut() -> None:
    """A long list of samples ends in how many more there are."""
    many = Problem(np.arange(9.0), 2, variance=1.0, constraints=[MustLink(*range(9))])
    expected = "sample 0, sample 1, sample 2, sample 3, sample 4 and 4 more must be together"
    assert describe(many, many.constraints[0]) == expected


# -- satisfaction ------------------------------------------------------------------------------------------
def holds(item: Constraint, z: tuple[int, ...]) -> bool:
    """The definition of every constraint, word by word (samples and components by position)."""
    match item:
        case MustLink(samples=s):
            return len({z[i] for i in s}) == 1
        case CannotLink(samples=s):
            return len({z[i] for i in s}) == len(s)
        case Implication(sample=i, then=j, component=k):
            return z[j] == z[i] if k in (None, z[i]) else True
        case Label(sample=i, component=k):
            return z[i] == k
        case MinimumSize(limit=m, component=k):
            return all(z.count(c) >= m for c in range(3) if k in (None, c))
        case MaximumSize(limit=m, component=k):
            return all(z.count(c) <= m for c in range(3) if k in (None, c))
        case Packing(samples=s, component=k, limit=m):
            return sum(z[i] == k for i in s) <= m
        case Partitioning(samples=s, component=k, limit=m):
            return sum(z[i] == k for i in s) == m
        case Covering(samples=s, component=k, limit=m):
            return sum(z[i] == k for i in s) >= m
    raise AssertionError


EVERY_KIND = [
    MustLink(0, 3),
    MustLink(1, 2, 4),
    CannotLink(0, 1),
    CannotLink(2, 3, 5),
    Implication(0, 1),
    Implication(2, 5, 1),
    Label(4, 2),
    MinimumSize(1),
    MinimumSize(3, 0),
    MaximumSize(3),
    MaximumSize(1, 2),
    Packing([0, 1, 2], 0, 1),
    Partitioning([1, 3, 5], 1, 2),
    Covering([0, 4, 5], 2, 2),
]


def test_satisfaction_of_every_labelling() -> None:
    """For all 729 labellings, the table agrees with the definitions, and is_feasible with the table."""
    asked = Problem(DATA, 3, variance=1.0, constraints=EVERY_KIND, allow_empty=True)
    alone = {
        item: Problem(DATA, 3, variance=1.0, constraints=[item], allow_empty=True) for item in EVERY_KIND
    }
    for z in itertools.product(range(3), repeat=6):
        labels = np.array(z)
        truth = [holds(item, z) for item in EVERY_KIND]
        assert [line.satisfied for line in satisfaction_table(asked, labels)] == truth
        assert is_feasible(asked, labels) == all(truth)
        for item, true in zip(EVERY_KIND, truth, strict=True):
            assert is_feasible(alone[item], labels) == true


def test_empty_components_are_not_feasible_by_default() -> None:
    """Without allow_empty every component needs a sample."""
    labels = np.array([0, 0, 0, 1, 1, 1])
    assert not is_feasible(Problem(DATA, 3, variance=1.0), labels)
    assert is_feasible(Problem(DATA, 3, variance=1.0, allow_empty=True), labels)
