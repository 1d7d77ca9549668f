"""How tight constraints are, on samples that can be checked by hand."""

from __future__ import annotations

import numpy as np
import pytest

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
    satisfaction_table,
)

DATA = [[0.0], [0.1], [0.2], [4.0], [4.1], [4.2], [1.0]]
LABELS = np.array([0, 0, 0, 1, 1, 1, 1])  # the last one is not where it would be on its own
ALONE = np.array([0, 0, 0, 1, 1, 1, 0])


@pytest.mark.parametrize(
    ("constraint", "tight", "words"),
    [
        (MinimumSize(3), True, "component 0 has 3: no room"),
        (MinimumSize(2), False, "component 0 has 3: room for 1"),
        (MaximumSize(4), True, "component 1 has 4: no room"),
        (MaximumSize(6, component=0), False, "component 0 has 3: room for 3"),
        (Packing([0, 1, 3], 0, 2), True, "component 0 has 2 of them: no room"),
        (Covering([0, 1, 3], 0, 1), False, "component 0 has 2 of them: room for 1"),
        (Partitioning([0, 3], 0, 1), True, "component 0 has 1 of them: no room"),
        (MustLink(0, 1), False, "would hold by itself"),
        (MustLink(3, 6), True, "on its own, sample 6 would be in component 0"),
        (CannotLink(0, 6), True, "on its own, sample 6 would be in component 0"),
        (CannotLink(0, 3), False, "would hold by itself"),
        (Label(6, 1), True, "on its own, sample 6 would be in component 0"),
        (Label(0, 0), False, "would hold by itself"),
        (Implication(3, 6), True, "on its own, sample 6 would be in component 0"),
        (Implication(3, 6, component=0), False, "not in force"),
    ],
)
def test_how_tight(constraint, tight, words):
    """A limit is tight when it is reached, another constraint when a sample would be elsewhere on its own."""
    problem = Problem(DATA, 2, variance=1.0, constraints=[constraint])
    (line,) = satisfaction_table(problem, LABELS, ALONE)
    assert line.satisfied
    assert (line.tight, line.room) == (tight, words)


def test_many_samples_are_counted():
    """A long list is not named sample by sample."""
    problem = Problem(DATA, 2, variance=1.0, constraints=[MustLink(3, 4, 5, 6)])
    (line,) = satisfaction_table(problem, LABELS, np.zeros(7, dtype=int))
    assert line.room == "4 of 4 samples would be elsewhere on their own"


def test_nobody_looked():
    """Without the components of samples on their own nothing is said."""
    problem = Problem(DATA, 2, variance=1.0, constraints=[MustLink(0, 1)])
    (line,) = satisfaction_table(problem, LABELS)
    assert line.tight is None
    assert line.room == ""
