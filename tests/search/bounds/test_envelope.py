"""Factors of matrices whose entries lie near the diagonal, in some order."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import LinAlgError
from scipy.sparse import csr_matrix

from certmix.search.bounds.envelope import BLOCK, Normal
from certmix.threads import Threads


def rows_of(n: int, border: int, count: int, width: int, seed: int) -> np.ndarray:
    """Neighbours on a line whose places are shuffled, and anything in the border; some rows have nobody."""
    rng = np.random.default_rng(seed)
    rows, name = np.zeros((count, n + border)), rng.permutation(n)
    for i in range(count):
        first, some = rng.integers(n), rng.uniform(size=width) < 0.7
        rows[i, name[(first + np.flatnonzero(some)).clip(max=n - 1)]] = 1.0
        rows[i, n:] = rng.integers(0, 2, size=border)
    rows[::7, :n] = 0.0
    return rows


@pytest.mark.parametrize(
    ("n", "border", "width"),
    [(5, 1, 3), (BLOCK, 2, 9), (BLOCK + 1, 0, 20), (3 * BLOCK + 17, 3, 40), (300, 2, 300)],
)
def test_the_factor_solves_what_the_whole_matrix_solves(n: int, border: int, width: int) -> None:
    """Like a solver for dense matrices, for one block of rows and for several, with and without a border."""
    rng = np.random.default_rng(n)
    rows = rows_of(n, border, 2 * n, width, n)
    weight, diagonal = rng.uniform(size=2 * n) ** 4, rng.uniform(1e-3, 1.0, size=n + border)
    normal = Normal(csr_matrix(rows), border)
    right = rng.normal(size=n + border)
    for factor in (1.0, 1e-3):  # other weights, the same places
        dense = (rows * (factor * weight)[:, None]).T @ rows + np.diag(diagonal)
        found = normal.factor(factor * weight, diagonal).solve(right)
        np.testing.assert_allclose(dense @ found, right, atol=1e-8)


def test_variables_in_the_same_rows_are_one() -> None:
    """The matrix that is factored has each kind once, and solutions are those of the whole matrix."""
    rng = np.random.default_rng(5)
    rows = rows_of(60, 2, 150, 12, 5)
    rows = np.hstack([rows[:, rng.permutation(np.repeat(np.arange(60), 3))], rows[:, 60:]])
    weight, diagonal = rng.uniform(size=150), 10.0 ** rng.uniform(-6.0, 3.0, size=182)
    normal, right = Normal(csr_matrix(rows), 2), rng.normal(size=182)
    assert normal.n <= 60
    found = normal.factor(weight, diagonal).solve(right)
    dense = (rows * weight[:, None]).T @ rows + np.diag(diagonal)
    np.testing.assert_allclose(dense @ found, right, atol=1e-8)


def test_small_diagonals_leave_what_rows_see_certain() -> None:
    """Of variables in the same rows only the sum is certain where nothing else holds them, but that is."""
    rng = np.random.default_rng(7)
    rows = np.repeat(rows_of(40, 1, 120, 9, 7)[:, :40], 4, axis=1)
    rows = np.hstack([rows, np.ones((120, 1))])
    diagonal = np.append(10.0 ** rng.uniform(-15.0, -11.0, size=160), 1e-3)
    weight, x = rng.uniform(0.1, 1.0, size=120), rng.normal(size=161)
    right = (rows * weight[:, None]).T @ (rows @ x) + diagonal * x
    found = Normal(csr_matrix(rows), 1).factor(weight, diagonal).solve(right)
    np.testing.assert_allclose(rows @ found, rows @ x, atol=1e-6)


def test_neighbours_need_little_room() -> None:
    """Of rows that tie neighbours only, most blocks of the matrix are not stored, however places are shuffled."""
    n = 8 * BLOCK
    normal = Normal(csr_matrix(rows_of(n, 1, 3 * n, 30, 0)), 1)
    assert normal.room < 0.35 * n**2


def test_a_matrix_that_is_not_positive_is_refused() -> None:
    """By the error that a solver for dense matrices raises."""
    normal = Normal(csr_matrix(rows_of(20, 1, 40, 4, 1)), 1)
    with pytest.raises(LinAlgError):
        normal.factor(np.full(40, -1.0), np.full(21, 1e-3))


def test_threads_leave_the_factor_as_it_is() -> None:
    rng = np.random.default_rng(3)
    rows = (rng.uniform(size=(2000, 700)) < 0.05).astype(float)
    weight, diagonal, right = (rng.uniform(0.1, 1.0, size=n) for n in (2000, 700, 700))
    found: list[np.ndarray] = []
    for count in (1, 2, 3):
        with Threads(count) as threads:
            found.append(Normal(csr_matrix(rows), 1, threads).factor(weight, diagonal).solve(right))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    matrix = (rows.T * weight) @ rows + np.diag(diagonal)
    np.testing.assert_allclose(matrix @ found[0], right, atol=1e-8)
