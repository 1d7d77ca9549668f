"""The eigenvalues that the method works with, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from certmix.search.bounds.semidefinite.eigen import above, improve, largest


def random_matrix(n: int, seed: int) -> np.ndarray:
    a = np.random.default_rng([seed, n]).normal(size=(n, n))
    return a + a.T


@pytest.mark.parametrize("n", [1, 5, 30, 80])
@pytest.mark.parametrize("seed", range(3))
def test_some_eigenpairs_are_those_of_the_whole_decomposition(n: int, seed: int) -> None:
    """The largest ones by number and by level; at least one, even when the level is above all of them."""
    matrix = random_matrix(n, seed)
    values = np.linalg.eigvalsh(matrix)
    for count in {1, (n + 1) // 2, n}:
        level = values[n - count] - 1e-6
        for found, vectors in (largest(matrix, count), above(matrix, level)):
            np.testing.assert_allclose(found, values[n - count :], atol=1e-9)
            np.testing.assert_allclose(matrix @ vectors, vectors * found, atol=1e-9)
    found, _ = above(matrix, values[-1] + 1.0)
    np.testing.assert_allclose(found, values[-1:], atol=1e-9)


def test_improved_eigenpairs_come_close() -> None:
    """From the vectors of a matrix nearby, and more of them than those when asked."""
    matrix = random_matrix(60, 0)
    matrix[:5, :5] += 40.0 * np.eye(5)
    _, vectors = largest(matrix + 0.01 * random_matrix(60, 1), 5)
    values, turned = improve(matrix, vectors, 8)
    assert turned.shape == (60, 8)
    np.testing.assert_allclose(turned.T @ turned, np.eye(8), atol=1e-10)
    np.testing.assert_allclose(values[-5:], np.linalg.eigvalsh(matrix)[-5:], rtol=1e-3)
