"""Do the leaves cover the root? Trees with one thing wrong with them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from claiming import rooted

from certmix.problem import Problem
from certmix.verify.domain import Domain
from certmix.verify.evidence import Evidence, Rejected
from certmix.verify.root import Root
from certmix.verify.tree import walk


def settled(root: Root, domain: Domain, evidence: Evidence, target: float) -> float:
    return target


def opened(root: Root, domain: Domain, evidence: Evidence, target: float) -> float:
    return -math.inf


def narrowed(root: Root, domain: Domain, evidence: Evidence, target: float) -> float:
    domain.allowed[0, 0] = False
    return -math.inf


KINDS = {"settled": settled, "open": opened, "narrow": narrowed, "enumerate": opened}


def walked(
    rows: list[tuple[int, int, int, int]], steps: list[tuple[int, str]], components: int = 2
) -> tuple[int, int]:
    root = rooted(Problem(np.arange(4.0)[:, None], components, variance=1.0))
    table = np.array(rows).reshape(-1, 4)
    arrays = {
        "tree/parent": table[:, 0].astype(np.int32),
        "tree/kind": table[:, 1].astype(np.int8),
        "tree/args": np.column_stack([table[:, 2:], np.zeros(len(table))]).astype(np.int32),
    }
    entries = [{"node": node, "kind": kind} for node, kind in steps]
    return walk(root, Evidence({}, arrays), entries, 1.0, KINDS)


TOP = (-1, 0, 0, 0)


def test_a_root_that_is_settled_is_a_tree() -> None:
    """One node, one step that reaches the target."""
    assert walked([TOP], [(0, "settled")])[1] == 1


def test_exchangeable_components_need_one_side_only() -> None:
    """The first group is in any one of them without loss: the other side is empty and may be missing."""
    for k in (0, 1):
        assert walked([TOP, (0, 1, 0, k)], [(1, "settled")])[1] == 1


def test_sizes_of_exchangeable_components() -> None:
    """One of three has at most one of four samples: the last, by renaming; all having two is impossible."""
    assert walked([TOP, (0, 3, 2, 1)], [(1, "settled")], components=3)[1] == 1
    with pytest.raises(Rejected, match="missing and not empty"):
        walked([TOP, (0, 3, 1, 1)], [(1, "settled")], components=2)


def test_two_sides_of_a_size() -> None:
    """At most one sample in one of the two, or at least two in both: that is everything."""
    found = walked([TOP, (0, 3, 0, 1), (0, 4, 0, 1)], [(1, "settled"), (2, "settled")])
    assert found == (3, 2)


@pytest.mark.parametrize(
    ("rows", "steps", "why"),
    [
        ([TOP], [], "does not reach"),
        ([TOP], [(0, "open")], "does not reach"),
        ([TOP], [(0, "magic")], "no kind of step"),
        ([TOP], [(1, "settled")], "'node'"),
        ([TOP, (0, 3, 0, 1)], [(1, "settled")], "missing and not empty"),
        ([TOP, (0, 3, 0, 2), (0, 4, 0, 1)], [(1, "settled"), (2, "settled")], "two sides"),
        ([TOP, (0, 3, 0, 2), (0, 3, 0, 2)], [(1, "settled"), (2, "settled")], "two sides"),
        ([TOP, (0, 3, 0, 2), (0, 2, 0, 2)], [(1, "settled"), (2, "settled")], "outside|two sides|not there"),
        ([TOP, (0, 3, 0, 1), (0, 4, 0, 1)], [(1, "settled")], "leaf 2"),
        ([TOP, (1, 1, 0, 0)], [(1, "settled")], "after its parent"),
        ([TOP, (-1, 0, 0, 0)], [(0, "open")], "after its parent"),
        ([(0, 0, 0, 0)], [(0, "settled")], "begin with its root"),
        ([], [], "begin with its root"),
        ([TOP, (0, 1, 9, 0)], [(1, "settled")], "not there"),
        ([TOP, (0, 1, 0, 5)], [(1, "settled")], "not there"),
        ([TOP, (0, 7, 0, 0)], [(1, "settled")], "outside"),
        # once a step has told the components apart, "in the first" no longer covers everything
        ([TOP, (0, 1, 1, 0)], [(0, "narrow"), (1, "settled")], "missing and not empty"),
        ([TOP, (0, 3, 0, 2)], [(0, "narrow"), (1, "settled")], "missing and not empty"),
    ],
)
def test_what_does_not_cover_the_root_is_rejected(
    rows: list[tuple[int, int, int, int]], steps: list[tuple[int, str]], why: str
) -> None:
    """The walk says which node fails and why."""
    with pytest.raises(Rejected, match=why):
        walked(rows, steps)


def test_arrays_of_the_wrong_kind_are_rejected() -> None:
    """Floats, wrong shapes and missing arrays in the tree are rejected."""
    root = rooted(Problem(np.arange(4.0)[:, None], 2, variance=1.0))
    good = {
        "tree/parent": np.array([-1], dtype=np.int32),
        "tree/kind": np.array([0], dtype=np.int8),
        "tree/args": np.zeros((1, 3), dtype=np.int32),
    }
    steps = [{"node": 0, "kind": "settled"}]
    assert walk(root, Evidence({}, good), steps, 1.0, KINDS)[1] == 1
    bad = [
        {"tree/parent": np.array([-1.0])},
        {"tree/parent": np.array([[-1]])},
        {"tree/kind": np.array([0, 0])},
        {"tree/args": np.zeros((1, 2), dtype=np.int32)},
        {"tree/args": np.array([["a", "b", "c"]])},
    ]
    for change in bad:
        with pytest.raises(Rejected):
            walk(root, Evidence({}, {**good, **change}), steps, 1.0, KINDS)
    for name in good:
        with pytest.raises(Rejected):
            walk(root, Evidence({}, {k: v for k, v in good.items() if k != name}), steps, 1.0, KINDS)
