"""K-means: which cluster is which component, and what it cannot use."""

from __future__ import annotations

import math

import numpy as np
import pytest

from certmix.datasets import load
from certmix.local.kmeans import kmeans
from certmix.problem import (
    GaussianPrior,
    Label,
    Problem,
)
from two_groups import TWO_GROUPS


def test_kmeans_gives_clusters_to_the_components_that_suit_them() -> None:
    """Priors on the means, and known labels, decide which cluster is which component."""
    y = np.array([0.0, 0.2, 0.4, 10.0, 10.2, 20.0, 20.1])
    prior = GaussianPrior(np.array([[20.0], [0.0], [10.0]]), 1.0)
    assert kmeans(Problem(y, 3, variance=1.0, prior=prior)).labels.tolist() == [1, 1, 1, 2, 2, 0, 0]
    labelled = Problem(y, 3, variance=1.0, constraints=[Label(0, 2), Label(6, 1)])
    assert kmeans(labelled).labels.tolist() == [2, 2, 2, 0, 0, 1, 1]


def test_kmeans_agrees_with_uniform_weights() -> None:
    """With equal weights and identity precision k-means minimises the objective: SSE/2 + n log K on iris."""
    problem = load("iris").problem(precision=np.eye(4), weights="uniform")
    assert kmeans(problem).value == pytest.approx(78.8514414261460 / 2 + 150 * math.log(3), abs=2e-3)


def test_kmeans_says_that_it_averages_the_precisions() -> None:
    """One covariance per component is more than k-means can use, and it says so."""
    found = kmeans(Problem(TWO_GROUPS, 2, variance=[1.0, 2.0]))
    assert "mean precision" in found.notes[-1]
