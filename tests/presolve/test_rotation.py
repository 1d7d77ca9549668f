"""Points from inner products: the same costs in fewer coordinates, held against exact rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from certmix import GaussianPrior, MustLink, Problem, solve, verify
from certmix.certificate.statement import state
from certmix.presolve.instance import reduce
from certmix.verify.root import Root
from certmix.verify.statement import read


def wide(rng: np.random.Generator, kind: int) -> tuple[np.ndarray, dict[str, object]]:
    """A random sample of more features than samples, or of low rank, or with features that do not vary."""
    n, d = int(rng.integers(3, 9)), int(rng.integers(2, 14))
    data = rng.normal(size=(n, d))
    if kind % 4 == 1:  # low rank
        data = rng.normal(size=(n, 2)) @ rng.normal(size=(2, d))
    if kind % 4 == 2:  # samples that are there twice, features that do not vary
        data[n // 2 :] = data[: n - n // 2]
        data[:, 0] = 0.1
    data = data * 10.0 ** rng.uniform(-8, 8) + rng.choice([0.0, 1.0, 1e6])
    known: dict[str, object] = {"variance": float(10.0 ** rng.uniform(-3, 3))}
    if kind % 3 == 1:
        known = {"precision": 10.0 ** rng.uniform(-3, 3, size=d)}
    if kind % 3 == 2:
        root = rng.normal(size=(d, d)) + 2 * np.eye(d)
        known = {"precision": root @ root.T}
    return data, known


def within(points: list[list[Fraction]], precision: np.ndarray, labels: np.ndarray) -> Fraction:
    """Half the sum of squares around the averages of the clusters, without rounding."""
    p = [[Fraction(x) for x in row] for row in precision.tolist()]
    total = Fraction(0)
    for k in np.unique(labels):
        rows = [points[i] for i in np.flatnonzero(labels == k)]
        mean = [sum(column, Fraction(0)) / len(rows) for column in zip(*rows, strict=True)]
        for row in rows:
            away = [x - m for x, m in zip(row, mean, strict=True)]
            total += sum(
                a * p[i][j] * b for i, a in enumerate(away) for j, b in enumerate(away) if p[i][j] != 0
            )
    return total / 2


def exactly(array: np.ndarray) -> list[list[Fraction]]:
    return [[Fraction(x) for x in row] for row in array.tolist()]


@pytest.mark.parametrize("checker", [False, True])
def test_the_exact_cost_lies_within_the_error_of_the_cost_in_fewer_coordinates(checker: bool) -> None:
    """For hundreds of samples with offsets, scales, duplicates and low rank, and random clusterings of each."""
    rng = np.random.default_rng(11)
    fewer = 0
    for kind in range(240):
        data, known = wide(rng, kind)
        n, d = data.shape
        links = [MustLink(0, 1)] if kind % 5 == 0 else []
        problem = Problem(data, 2, constraints=links, **known)  # type: ignore[arg-type]
        reduced = Root(read(state(problem)), data) if checker else reduce(problem)
        points, scatter = reduced.points[0], reduced.scatter[0]
        of = reduced.group if checker else reduced.groups.of  # type: ignore[union-attr]
        fewer += points.shape[1] < d
        assert points.shape[1] <= d
        labels = rng.integers(0, 2, size=len(points))
        stored = within(exactly(points[of]), np.eye(points.shape[1]), labels[of])
        for g in np.flatnonzero(np.bincount(of) > 1):
            stored += Fraction(float(scatter[g]))
        exact = within(exactly(data), problem.covariance.of(0), labels[of])
        slip = abs(stored - exact)
        assert slip <= Fraction(reduced.error)
        total = within(exactly(data), problem.covariance.of(0), np.zeros(n, dtype=int))
        assert reduced.error <= 1e-9 * float(total) + 1e-9
    assert fewer > 150


@pytest.mark.parametrize(
    "said", [{"mean_bounds": (-50.0, 50.0)}, {"prior": GaussianPrior(0.0, 4.0)}, {"variance": [1.0, 2.0]}]
)
def test_what_is_said_about_means_or_components_keeps_the_coordinates(said: dict[str, object]) -> None:
    """A box, a prior and covariances of one's own are about features: nothing is turned."""
    data = np.random.default_rng(0).normal(size=(6, 9))
    arguments = {"variance": 1.0, **said}
    assert reduce(Problem(data, 2, **arguments)).n_features == 9  # type: ignore[arg-type]


def test_a_feature_that_does_not_vary_costs_nothing() -> None:
    """It has no coordinate, whatever its value and however many samples there are."""
    rng = np.random.default_rng(1)
    data = np.column_stack([rng.normal(size=(4000, 2)), np.full(4000, 0.1)])
    assert reduce(Problem(data, 2, variance=1.0)).n_features == 2
    assert reduce(Problem(data[:50], 2, precision=np.eye(3) + 0.5)).n_features == 2


def test_means_go_to_the_coordinates_and_back() -> None:
    """An average of samples comes back as it was, and lies where the average of their points lies."""
    data = np.random.default_rng(2).normal(size=(12, 40)) + 5.0
    instance = reduce(Problem(data, 3, variance=0.5))
    mean = data[:4].mean(axis=0)
    x = instance.whitened(1, mean)
    np.testing.assert_allclose(x, instance.points[0, :4].mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(instance.original(1, x), mean, atol=1e-9)


def high(n: int, d: int, K: int, apart: float) -> np.ndarray:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(K, d)) * apart / np.sqrt(2 * d)
    return centres[rng.integers(0, K, n)] + rng.normal(size=(n, d))


@pytest.mark.parametrize(
    ("n", "d", "apart"),
    [
        (40, 500, 25.0),
        pytest.param(200, 5000, 30.0, marks=pytest.mark.slow),
        pytest.param(150, 20000, 60.0, marks=pytest.mark.slow),
    ],
)
def test_few_samples_of_many_features_are_proved_and_verified(n: int, d: int, apart: float) -> None:
    """The certificate is about the data as they were given."""
    data = high(n, d, 3, apart)
    result = solve(Problem(data, 3, variance=1.0), certificate=True)
    assert result.status == "optimal"
    assert result.certificate is not None
    assert verify(result.certificate, data).verified


def test_columns_of_zeros_and_turned_data_change_nothing() -> None:
    """The objective depends on distances alone."""
    rng = np.random.default_rng(3)
    data = high(9, 12, 2, 3.0)
    turn, _ = np.linalg.qr(rng.normal(size=(12, 12)))
    values = [
        solve(Problem(y, 2, variance=1.0)).objective
        for y in (data, np.column_stack([data, np.zeros((9, 5))]), data @ turn)
    ]
    np.testing.assert_allclose(values, values[0], rtol=1e-10)


def test_points_on_a_line_in_space_take_the_engine_for_few_dimensions() -> None:
    """`auto` counts the coordinates that the samples need, and the proof is checked in those."""
    rng = np.random.default_rng(4)
    data = np.outer(rng.normal(size=40) * 4, rng.normal(size=8)) + 3.0
    problem = Problem(data, 2, variance=1.0)
    assert reduce(problem).n_features == 1
    result = solve(problem, certificate=True)
    assert (result.engine, result.status) == ("dual", "optimal")
    assert result.certificate is not None
    assert verify(result.certificate, data).verified


def test_a_precision_that_is_negative_in_a_constant_feature_is_refused() -> None:
    """The feature has no coordinate, but its mean could run away."""
    from certmix.verify.evidence import Rejected

    data = np.column_stack([np.arange(5.0), np.ones(5)])
    entry = state(Problem(data, 2, precision=[1.0, 2.0]))
    assert entry["precision"] == [[1.0, 2.0]]
    entry["precision"] = [[1.0, -2.0]]
    with pytest.raises(Rejected, match="positive definite"):
        Root(read(entry), data)
