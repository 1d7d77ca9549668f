"""The metrics against loops that follow their definitions."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from certmix import solve
from certmix.datasets import load
from certmix.paper.study import metrics, paper
from certmix.paper.study.truth import scored


@pytest.mark.parametrize("seed", range(10))
def test_definitions(seed):
    """Weights, means and assignments by plain loops over components and samples."""
    rng = np.random.default_rng(seed)
    K, d, n = 3, int(rng.integers(1, 4)), 12
    a, b = rng.dirichlet(np.ones(K)), rng.dirichlet(np.ones(K))
    assert metrics.weight_error(a, b) == max(abs(a[k] - b[k]) for k in range(K))
    A, B = rng.normal(size=(K, d)), rng.normal(size=(K, d))
    directions = rng.normal(size=(20_000, d))
    stretch = np.linalg.norm(directions @ (A - B).T, axis=1) / np.linalg.norm(directions, axis=1)
    assert stretch.max() <= metrics.mean_error(A, B) <= 1.02 * stretch.max()
    assert metrics.mean_error_frobenius(A, B) == pytest.approx(
        sum((x - y) ** 2 for x, y in zip(A.flat, B.flat, strict=True)) ** 0.5
    )
    z, t = rng.integers(0, K, n), rng.integers(0, K, n)
    total = sum(max(abs(float(z[i] == k) - float(t[i] == k)) for k in range(K)) for i in range(n))
    assert metrics.assignment_error(z, t) == pytest.approx(total / n)


def test_accuracy_counts_known_samples_only():
    """Two of three known samples right; the unknown one does not matter."""
    assert metrics.accuracy(np.array([0, 1, 1, 2]), np.array([0, 1, 0, -1])) == pytest.approx(2 / 3)
    assert metrics.concordance(np.array([0, 1]), np.array([0, 2])) == 0.5


def test_names_of_components_do_not_matter():
    """Every way to number the components of a clustering has the same scores."""
    data = load("iris1d")
    problem, rng = data.problem(), np.random.default_rng(0)
    labels = np.where(rng.random(150) < 0.2, rng.integers(0, 3, 150), data.target)
    expected = None
    for order in map(np.array, permutations(range(3))):
        point = problem.objective.best(order[labels])
        found = scored(data, point.labels, point.means, point.weights)
        values = (found.weights, found.means, found.assignment)
        expected = expected or values
        assert values == pytest.approx(expected)


def test_the_papers_optimal_clustering_of_wine():
    """The optimum (hard EM finds it) has the paper's metrics to the printed digits: its norm is the spectral one."""
    data = load("wine")
    result = solve(data.problem(), "hard-em")
    found = scored(data, result.labels, result.means, result.weights)
    for metric in ("weights", "means", "assignment"):
        assert f"{getattr(found, metric):.3f}" == paper.printed(f"table2/wine/minlp/{metric}")
