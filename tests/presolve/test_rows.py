"""Linear rows of side constraints against the constraints themselves, and what is left out of them."""

from __future__ import annotations

import numpy as np

from certmix.errors import CertmixError
from certmix.presolve.instance import reduce
from certmix.presolve.rows import Rows, apart, once, side_rows, sizes
from certmix.problem import CannotLink, Implication, Label, Packing, Partitioning, Problem, is_feasible
from random_instances import random_problem


def hold(rows: Rows, x: np.ndarray) -> bool:
    values = rows.matrix @ x.ravel()
    return bool(np.all(values >= rows.low) and np.all(values <= rows.high))


def test_rows_hold_exactly_where_the_constraints_do() -> None:
    """Every labelling of random instances: all rows, the binding ones, and the one-sided ones say the same."""
    outcomes = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        try:
            instance = reduce(random_problem(rng, max_samples=6))
        except CertmixError:
            continue
        if instance.groups.contradiction:
            continue
        N, K = instance.allowed.shape
        rows = sizes(instance.weight, instance.size_lower, instance.size_upper) + side_rows(instance)
        binding = rows.binding(instance.allowed)
        matrix, right = binding.at_most()
        for labels in rng.integers(0, K, size=(20, N)):
            x = np.eye(K)[labels]
            wanted = is_feasible(instance.problem, instance.expand(labels))
            inside = bool(instance.allowed[np.arange(N), labels].all())
            assert hold(once(np.ones(N), K), x)
            assert (inside and hold(rows, x)) == wanted
            assert (inside and hold(binding, x)) == wanted
            assert (inside and bool(np.all(matrix @ x.ravel() <= right))) == wanted
            outcomes.append(wanted)
    assert {True, False} == set(outcomes)


def test_rows_by_hand() -> None:
    """A conflict for each component, an implication and a count: coefficients and sides."""
    rules = [CannotLink(0, 1), Implication(1, 2, 0), Packing([0, 2], 1, 1)]
    rows = side_rows(reduce(Problem(np.arange(3.0), 2, variance=1.0, constraints=rules)))
    assert rows.matrix.toarray().tolist() == [
        [1, 0, 1, 0, 0, 0],
        [0, 1, 0, 1, 0, 0],
        [0, 0, 1, 0, -1, 0],
        [0, 1, 0, 0, 0, 1],
    ]
    assert rows.low.tolist() == [-np.inf, -np.inf, -np.inf, 0]
    assert rows.high.tolist() == [1, 1, 0, 1]


def test_rows_of_members_leave_out_what_reaches_beyond_them() -> None:
    """Of two conflicts and a count, only the conflict between members 1 and 3 is about members alone."""
    rules = [CannotLink(0, 1), CannotLink(1, 3), Partitioning([2, 3], 0, 1)]
    rows = side_rows(reduce(Problem(np.arange(4.0), 2, variance=1.0, constraints=rules)), np.array([3, 1]))
    assert rows.matrix.toarray().tolist() == [[1, 0, 1, 0], [0, 1, 0, 1]]


def test_what_cannot_be_is_left_out() -> None:
    """A known label closes components: a conflict there cannot bind any more, a count keeps what is open."""
    rules = [Label(0, 0), CannotLink(1, 2), Packing([0, 1, 2], 1, 1)]
    instance = reduce(Problem(np.arange(3.0), 2, variance=1.0, constraints=rules))
    rows = side_rows(instance).binding(instance.allowed)
    assert rows.matrix.toarray()[-1].tolist() == [0, 0, 0, 1, 0, 1]
    closed = instance.allowed.copy()
    closed[1, 1] = False
    assert side_rows(instance).binding(closed).matrix.toarray().tolist() == [[0, 0, 1, 0, 1, 0]]


def test_sets_of_groups_apart() -> None:
    """A clique of three and a pair: one row for each component and set, sets in their order."""
    rows = apart([np.array([0, 1, 3]), np.array([2, 3])], (4, 2))
    groups = [np.flatnonzero(row).tolist() for row in rows.matrix.toarray()]
    assert groups == [[0, 2, 6], [1, 3, 7], [4, 6], [5, 7]]
