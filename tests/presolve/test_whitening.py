"""The rounding of whitened coordinates, held against exact rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from certmix import GaussianPrior, MustLink, Problem
from certmix.presolve.instance import reduce
from certmix.presolve.whitening import coordinates, disagreement
from certmix.problem.symmetric_matrices import Matrices

Matrix = list[list[Fraction]]


def exactly(array: np.ndarray) -> Matrix:
    return [[Fraction(x) for x in row] for row in np.atleast_2d(array).tolist()]


def product(left: Matrix, right: Matrix) -> Matrix:
    return [
        [
            sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0))
            for column in zip(*right, strict=True)
        ]
        for row in left
    ]


def transposed(matrix: Matrix) -> Matrix:
    return [list(column) for column in zip(*matrix, strict=True)]


def inverted(matrix: Matrix) -> Matrix:
    """Gauss-Jordan elimination without rounding."""
    n = len(matrix)
    rows = [row + [Fraction(int(i == j)) for j in range(n)] for i, row in enumerate(matrix)]
    for c in range(n):
        pivot = max(range(c, n), key=lambda r: abs(rows[r][c]))
        rows[c], rows[pivot] = rows[pivot], rows[c]
        rows[c] = [x / rows[c][c] for x in rows[c]]
        for r in range(n):
            if r != c and rows[r][c]:
                rows[r] = [x - rows[r][c] * y for x, y in zip(rows[r], rows[c], strict=True)]
    return [row[n:] for row in rows]


def random_precision(rng: np.random.Generator, d: int, decades: float) -> np.ndarray:
    """A dense positive definite matrix whose eigenvalues spread over so many powers of ten."""
    rotation, _ = np.linalg.qr(rng.normal(size=(d, d)))
    matrix = rotation @ np.diag(10.0 ** rng.uniform(-decades / 2, decades / 2, size=d)) @ rotation.T
    return (matrix + matrix.T) / 2


@pytest.mark.parametrize("with_prior", [False, True])
def test_disagreement_bounds_the_exact_residual(with_prior: bool) -> None:
    """The norm of A^-T M A^-1 - diag(gamma), without rounding, never exceeds the bound, nor is it far below."""
    rng = np.random.default_rng(5)
    far = []
    for _ in range(60):
        d = int(rng.integers(2, 6))
        precision = random_precision(rng, d, rng.uniform(0, 11))
        prior = random_precision(rng, d, 2.0) if with_prior else np.zeros((d, d))
        a, gamma = coordinates(Matrices(precision[None]), Matrices(prior[None]))
        inverse = inverted(exactly(a))
        matrix, target = (prior, gamma) if with_prior else (precision, np.ones(d))
        middle = product(product(transposed(inverse), exactly(matrix)), inverse)
        norm = (
            sum(
                float(middle[i][j] - (Fraction(float(target[i])) if i == j else 0)) ** 2
                for i in range(d)
                for j in range(d)
            )
            ** 0.5
        )
        bound = disagreement(a, matrix, gamma if with_prior else None)
        assert norm <= bound
        far.append(bound / max(norm, 1e-300))
    assert np.median(far) < 100


def exact_cost(problem: Problem, labels: np.ndarray) -> Fraction:
    """The quadratic part of the objective at the best means, without rounding."""
    total = Fraction(0)
    for k in range(problem.n_components):
        rows = exactly(problem.data[labels == k])
        precision = exactly(problem.covariance.of(k))
        mean = [sum(column, Fraction(0)) / len(rows) for column in zip(*rows, strict=True)]
        if problem.prior.on_means:
            prior, at = exactly(problem.prior.precision[k]), exactly(problem.prior.mean[k])[0]
            hessian = [
                [len(rows) * p + q for p, q in zip(x, y, strict=True)]
                for x, y in zip(precision, prior, strict=True)
            ]
            pull = product(prior, [[m - x] for m, x in zip(at, mean, strict=True)])
            step = product(inverted(hessian), pull)
            mean = [x + s[0] for x, s in zip(mean, step, strict=True)]
            gap = [[x - m for x, m in zip(mean, at, strict=True)]]
            total += product(product(gap, prior), transposed(gap))[0][0] / 2
        for row in rows:
            gap = [[y - x for y, x in zip(row, mean, strict=True)]]
            total += product(product(gap, precision), transposed(gap))[0][0] / 2
    return total


def stored_cost(problem: Problem, labels: np.ndarray) -> Fraction:
    """The same from the stored points, scatter and prior of the instance, without further rounding."""
    instance = reduce(problem)
    of_group = instance.contract(labels)
    total = Fraction(0)
    for k in range(problem.n_components):
        c = 0 if instance.shared else k
        members = np.flatnonzero(of_group == k)
        weight = [Fraction(int(w)) for w in instance.weight[members]]
        total += sum((Fraction(float(s)) for s in instance.scatter[c][members]), Fraction(0))
        for j in range(instance.n_features):
            x = [Fraction(float(v)) for v in instance.points[c][members, j]]
            gamma, at = (
                Fraction(float(instance.prior_weight[k, j])),
                Fraction(float(instance.prior_mean[k, j])),
            )
            mean = (sum(w * v for w, v in zip(weight, x, strict=True)) + gamma * at) / (sum(weight) + gamma)
            total += (
                sum(w * (v - mean) ** 2 for w, v in zip(weight, x, strict=True)) / 2
                + gamma * (mean - at) ** 2 / 2
            )
    return total


@pytest.mark.parametrize("kind", ["plain", "merged", "prior"])
def test_stored_cost_is_at_most_the_exact_one_plus_the_error(kind: str) -> None:
    """For random labels, ill-conditioned precisions, offsets, merged samples and priors; the error stays small."""
    rng = np.random.default_rng(6)
    for _ in range(25):
        n, d, K = 12, int(rng.integers(1, 4)), 2
        data = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-2, 2, size=d) + 10.0 ** rng.uniform(-3, 7)
        precision = random_precision(rng, d, rng.uniform(0, 9))
        labels = np.arange(n) % K
        problem = Problem(
            data,
            K,
            precision=precision,
            prior=GaussianPrior(data.mean(axis=0), np.linalg.inv(random_precision(rng, d, 1.0)))
            if kind == "prior"
            else "flat",
            constraints=[MustLink(0, 2, 4, 6, 8), MustLink(1, 11)] if kind == "merged" else (),
        )
        exact, stored, error = (
            exact_cost(problem, labels),
            stored_cost(problem, labels),
            reduce(problem).error,
        )
        assert stored <= exact + Fraction(error)
        assert error <= 1e-3 * float(exact)
