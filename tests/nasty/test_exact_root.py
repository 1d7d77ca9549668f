"""The checker's coordinates, tables and factors against exact arithmetic: their rounding is accounted for."""

from __future__ import annotations

import json
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from bounded_instances import bounded_problem
from exact_optimum import DIGITS, covers, exact_value
from nasty_instances import FAMILIES, nasty_problem

from certmix.certificate.statement import state
from certmix.problem import GaussianPrior, MustLink, Problem
from certmix.problem.masses import RealWeights
from certmix.verify import statement as statements
from certmix.verify.coordinates import coordinates
from certmix.verify.evidence import Rejected
from certmix.verify.root import Root

FAR = (
    "clumps far apart",
    "far apart and merged",
    "ill-conditioned",
    "priors",
    "own matrices",
    "more features",
    "tables alone",
    "weights alone",
    "cancelling",
)


def rotated(rng: np.random.Generator, d: int, condition: float) -> np.ndarray:
    """A symmetric matrix with eigenvalues between 1 / condition and 1."""
    rotation = np.linalg.qr(rng.normal(size=(d, d)))[0]
    values = condition ** -np.concatenate([[0.0], rng.random(d - 2), [1.0]])
    matrix = (rotation * values) @ rotation.T
    return np.asarray(np.triu(matrix) + np.triu(matrix, 1).T)


def far_problem(family: str, rng: np.random.Generator) -> Problem:
    """Clumps whose distance is 1e6 to 1e12 times their width: a sum of squares keeps few digits of the widths."""
    n, d, K = 8, int(rng.integers(2, 4)), 2
    ratio, scale = 10.0 ** rng.uniform(6, 12), 10.0 ** rng.uniform(-3, 3)
    given: dict[str, Any] = {"variance": scale**2}
    if family == "far apart and merged":
        n = 40
        given["constraints"] = [MustLink(*range(0, 16)), MustLink(*range(16, 35))]
    if family == "more features":
        d = n + 4
    y = scale * (rng.normal(size=(n, d)) + ratio * rng.normal(size=(2, d))[np.arange(n) * 2 // n])
    if family == "ill-conditioned":
        given = {"precision": rotated(rng, d, 1e10) / scale**2}
    elif family == "own matrices":
        given = {"precision": np.stack([rotated(rng, d, 1e10) for _ in range(K)]) / scale**2}
    elif family == "priors":
        given = {
            "precision": rotated(rng, d, 1e4) / scale**2,
            "prior": GaussianPrior(
                y[0] + scale, scale**2 * ratio ** rng.uniform(0, 2) * rotated(rng, d, 10.0)
            ),
        }
    elif family == "tables alone":
        y, given = 1e-30 * rng.normal(size=(n, d)), {"variance": 1.0}
    elif family == "weights alone":
        weight = RealWeights(10.0 ** rng.uniform(4, 8, size=n))
        y, given = (
            1e-30 * y / ratio,
            {"variance": 1.0, "weights": rng.dirichlet([2.0, 2.0]), "sample_weight": weight},
        )
    elif family == "cancelling":  # the factor of this precision is exact, and large terms cancel in x = A y
        slope, t = int(rng.integers(512, 1024)) / 1024, 1e9 * rng.normal(size=n)
        y = np.stack([3e4 * rng.normal(size=n) - slope * t, t], axis=1)
        given = {"precision": np.array([[1.0, slope], [slope, slope**2 + 2.0**-34]])}
    return Problem(y, K, **given)


def rooted(problem: Problem) -> Root:
    return Root(statements.read(json.loads(json.dumps(state(problem)))), problem.data)


def cost(root: Root, labels: np.ndarray) -> Fraction | None:
    """The cost of a clustering of the groups in the checker's coordinates, taken as exact; None if infinite."""
    total = Fraction(0)
    for k in range(root.K):
        groups = np.flatnonzero(labels == k)
        size = int(root.weight[groups].sum())
        if root.entropy[k, size] == np.inf:
            return None
        total += Fraction(float(root.entropy[k, size]))
        total += sum((Fraction(float(s)) for s in root.scatter[k, groups]), Fraction(0))
        mass = np.broadcast_to(root.mass, (root.N, root.d))
        for j in range(root.d):
            gamma, prior = Fraction(float(root.prior_weight[k, j])), Fraction(float(root.prior_mean[k, j]))
            pulls = [
                (Fraction(float(m)), Fraction(float(x)))
                for m, x in zip(mass[groups, j], root.points[k, groups, j], strict=True)
            ]
            pulls.append((gamma, prior))
            full = sum((w for w, _ in pulls), Fraction(0))
            if full > 0:
                mean = sum((w * x for w, x in pulls), Fraction(0)) / full
                low, high = float(root.mean_lower[k, j]), float(root.mean_upper[k, j])
                mean = max(mean, Fraction(low)) if low > -np.inf else mean
                mean = min(mean, Fraction(high)) if high < np.inf else mean
                total += sum((w * (x - mean) ** 2 for w, x in pulls), Fraction(0)) / 2
    return total


def excesses(problem: Problem, rng: np.random.Generator, count: int) -> tuple[list[Decimal], Decimal]:
    """How far the cost in the checker's coordinates lies above the exact objective, and how far it may."""
    root = rooted(problem)
    found = []
    with localcontext() as context:
        context.prec = DIGITS
        for _ in range(count):
            labels = rng.integers(root.K, size=root.N)
            value, exact = cost(root, labels), exact_value(problem, labels[root.group])
            if value is None:
                assert exact == Decimal("Infinity")
            elif exact.is_finite():
                found.append(Decimal(value.numerator) / Decimal(value.denominator) - exact)
        return found, Decimal(root.error)


@pytest.mark.parametrize("family", [*FAR, *FAMILIES, "masses"])
def test_the_cost_less_its_error_is_not_above_the_exact_objective(family: str) -> None:
    """By nothing at all, whatever was rounded: points, groups, prior, tables. Without the error, it often is."""
    above = 0
    for seed in range(6):
        rng = np.random.default_rng([seed, 83])
        makers = {"masses": bounded_problem, **dict.fromkeys(FAR, far_problem)}
        problem = makers.get(family, nasty_problem)(family, rng)
        if not covers(problem):
            continue
        try:
            found, error = excesses(problem, rng, 8)
        except Rejected:
            continue
        assert max(found, default=Decimal(0)) <= error, (
            f"{family} {seed}: {max(found):.3e}, {error:.3e} allowed"
        )
        above += any(excess > 0 for excess in found)
    assert above, "the error has something to account for"


def least(matrix: list[list[Fraction]]) -> Fraction:
    """The smallest pivot of exact elimination: nonnegative if and only if the matrix is positive semidefinite, but
    for singular ones, which come up as negative when a column below a zero pivot is not zero."""
    rows, smallest = [row[:] for row in matrix], Fraction(1)
    for i in range(len(rows)):
        pivot = rows[i][i]
        smallest = min(smallest, pivot)
        below = rows[i + 1 :]
        if pivot == 0:
            if any(row[i] != 0 for row in below):
                return Fraction(-1)
            continue
        for row in below:
            share = row[i] / pivot
            for j in range(i, len(rows)):
                row[j] -= share * rows[i][j]
    return smallest


def surplus(matrix: np.ndarray, a: np.ndarray, g: np.ndarray, share: Fraction) -> list[list[Fraction]]:
    """matrix - share a' diag(g) a, exactly."""
    d = len(matrix)
    f, w = [[Fraction(float(x)) for x in row] for row in a], [Fraction(float(x)) for x in g]
    return [
        [
            Fraction(float(matrix[i, j]))
            - share * sum((w[r] * f[r][i] * f[r][j] for r in range(d)), Fraction(0))
            for j in range(d)
        ]
        for i in range(d)
    ]


@pytest.mark.parametrize("condition", [1e2, 1e6, 1e10, 1e13])
@pytest.mark.parametrize("prior_condition", [None, 1e2, 1e6])
def test_a_factor_is_below_its_matrix_but_for_its_ratio(
    condition: float, prior_condition: float | None
) -> None:
    """P - (1 - r) A'A and prior - A' diag(g) A are positive semidefinite, exactly; with r = 0 often they are not."""
    without = kept = 0
    for seed in range(12):
        rng = np.random.default_rng([seed, 84])
        d = int(rng.integers(2, 5))
        precision, scale = rotated(rng, d, condition), 10.0 ** rng.uniform(-8, 8)
        prior = np.zeros((d, d)) if prior_condition is None else rotated(rng, d, prior_condition) * scale
        try:
            a, g, r = coordinates(precision, prior)
        except Rejected:
            continue
        kept += 1
        one = np.ones(d)
        assert least(surplus(precision, a, one, 1 - Fraction(r))) >= 0
        assert least(surplus(prior, a, g, Fraction(1))) >= 0
        without += least(surplus(precision, a, one, Fraction(1))) < 0
    assert kept >= 6
    assert without, "the ratio has something to account for"
