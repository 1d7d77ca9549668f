"""The eigenvalues that the method works with, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from certmix.search.bounds.semidefinite import lapack
from certmix.search.bounds.semidefinite.eigen import above, improve, largest, smallest_from_below

REALS = {"double": "d", "float": "s"}


def random_matrix(n: int, seed: int) -> np.ndarray:
    a = np.random.default_rng([seed, n]).normal(size=(n, n))
    return a + a.T


@pytest.mark.parametrize("n", [1, 5, 30, 80])
@pytest.mark.parametrize("seed", range(3))
def test_some_eigenpairs_are_those_of_the_whole_decomposition(n: int, seed: int) -> None:
    """The largest ones by number, and down to a level; at least one, even when the level is above all of them."""
    matrix = random_matrix(n, seed)
    values = np.linalg.eigvalsh(matrix)
    for count in {1, (n + 1) // 2, n}:
        level = values[n - count] - 1e-6
        assert len(largest(matrix, count)[0]) == count
        down = above(matrix, level, 1)[0]
        assert len(down) == n or down[0] <= level
        for found, vectors in (largest(matrix, count), above(matrix, level, 1)):
            assert len(found) >= count
            np.testing.assert_allclose(found, values[n - len(found) :], atol=1e-9)
            np.testing.assert_allclose(matrix @ vectors, vectors * found, atol=1e-9)
    found, _ = above(matrix, values[-1] + 1.0, 1)
    np.testing.assert_allclose(found, values[-len(found) :], atol=1e-9)


def test_improved_eigenpairs_come_close() -> None:
    """From the vectors of a matrix nearby, and more of them than those when asked."""
    matrix = random_matrix(60, 0)
    matrix[:5, :5] += 40.0 * np.eye(5)
    _, vectors = largest(matrix + 0.01 * random_matrix(60, 1), 5)
    values, turned = improve(matrix, vectors, 8)
    assert turned.shape == (60, 8)
    np.testing.assert_allclose(turned.T @ turned, np.eye(8), atol=1e-10)
    np.testing.assert_allclose(values[-5:], np.linalg.eigvalsh(matrix)[-5:], rtol=1e-3)


def test_single_precision_is_as_good_as_it_can_be() -> None:
    """Eigenpairs of a matrix in single precision are so too, and right to a few units of its norm."""
    matrix = random_matrix(80, 2)
    values, norm = np.linalg.eigvalsh(matrix), float(np.linalg.norm(matrix))
    for values_32, vectors in (
        found := largest(matrix.astype(np.float32), 6),
        largest(matrix.astype(np.float32), 40),
        above(matrix.astype(np.float32), float(values[-6]), 2),
        improve(matrix.astype(np.float32), found[1], 6),
    ):
        assert values_32.dtype == vectors.dtype == np.float32
        np.testing.assert_allclose(values_32, values[-len(values_32) :], atol=2.0**-22 * norm)
        np.testing.assert_allclose(matrix @ vectors, vectors * values_32, atol=2.0**-21 * norm)


@pytest.mark.parametrize("n", [30, 80, 150])
@pytest.mark.parametrize("scale", [1e-60, 1e-6, 1.0, 1e9, 1e60])
def test_a_rough_smallest_eigenvalue_is_below_the_true_one(n: int, scale: float) -> None:
    """As far as single precision tells; and the bound in double precision is next to nothing below it."""
    matrix = scale * random_matrix(n, 4)
    least, norm = float(np.linalg.eigvalsh(matrix)[0]), float(np.abs(matrix).sum(axis=1).max())
    for single, far in ((True, 2.0**-20), (False, 2.0**-34)):
        found = smallest_from_below(matrix, single)
        assert least - far * norm <= found < least


def declared(integer: str, letter: str = "d", real: str = "__pyx_t_5scipy_6linalg_13cython_lapack_") -> bytes:
    """How SciPy declares dsyevr or ssyevr, with these names of types."""
    names = {"c": "char *", "i": f"{integer} *", "r": f"{real if real in REALS else real + letter} *"}
    return f"void ({', '.join(names[kind] for kind in lapack.ARGUMENTS)})".encode("ascii")


@pytest.mark.parametrize("letter", sorted(REALS.values()))
def test_only_the_signature_that_is_called_is_called(letter: str) -> None:
    """C integers and its real numbers; not 64-bit integers, others, another number of arguments or no name."""
    right = lapack.ARGUMENTS.replace("r", letter)
    for real, its in REALS.items():
        assert (lapack._kinds(declared("int", letter, real)) == right) == (its == letter)
    assert lapack._kinds(declared("int", letter)) == right
    wrong = [
        declared(n, letter) for n in ("long", "int64_t", "npy_int64", "__pyx_t_blas_int", "unsigned int")
    ]
    wrong += [declared("int", letter)[:-7] + b")", b"", None]
    assert all(lapack._kinds(signature) != right for signature in wrong)


@pytest.mark.parametrize("n", [30, 80])
def test_another_signature_means_scipys_own_call(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 64-bit integers the routine is not called through ctypes, and the answers are the same."""
    matrix = random_matrix(n, 7)
    ways = (
        lambda: largest(matrix, 4),
        lambda: above(matrix, float(np.linalg.eigvalsh(matrix)[-5]), 2),
        lambda: above(matrix, 1e9, 2),
        lambda: (np.array(smallest_from_below(matrix)), np.zeros((1, 1))),
    )
    direct = [way() for way in ways]
    lapack._routine.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(lapack, "ARGUMENTS", lapack.ARGUMENTS.replace("i", "l"))
        assert lapack._routine("d") is None
        for way, (values, vectors) in zip(ways, direct, strict=True):
            found, turned = way()
            np.testing.assert_allclose(found, values, atol=1e-9)
            np.testing.assert_allclose(np.abs(turned), np.abs(vectors), atol=1e-8)
    lapack._routine.cache_clear()
    assert lapack._routine("d") is not None
