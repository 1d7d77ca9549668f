"""Conclusions of the checker against every clustering: nothing that obeys the rules is ever removed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from claiming import determinant, rooted

from certmix.verify.domain import Domain
from certmix.verify.enumeration import feasible
from certmix.verify.evidence import Rejected
from certmix.verify.rounding import proved_semidefinite
from certmix.verify.statement import read
from random_instances import random_problem


@pytest.mark.parametrize("seed", range(60))
def test_conclusions_keep_every_clustering_that_obeys_the_rules(seed: int) -> None:
    """With any decisions beside the problem's own rules, no clustering that obeys them is lost."""
    rng = np.random.default_rng(seed)
    root = rooted(random_problem(rng, max_samples=6))
    domain = Domain.of(root)
    for _ in range(int(rng.integers(3))):
        domain.allowed[int(rng.integers(root.N)), int(rng.integers(root.K))] = False
    labels = np.array(list(itertools.product(range(root.K), repeat=root.N)))
    allowed = domain.allowed[np.arange(root.N), labels].all(axis=1)
    good = labels[allowed & feasible(root, domain, labels)]
    left = domain.propagate(root)
    assert left or not len(good)
    if len(good):
        assert domain.allowed[np.arange(root.N), good].all()
        sizes = np.stack([(good == k) @ root.weight for k in range(root.K)], axis=1)
        assert (sizes >= domain.low).all()
        assert (sizes <= domain.high).all()


def test_singular_matrices_are_not_called_semidefinite() -> None:
    """Where rounding decides whether Cholesky's method comes to its end, its end proves nothing."""
    rng, negative = np.random.default_rng(1), 0
    for _ in range(300):
        a = rng.normal(size=(3, 2))
        matrix = a @ a.T
        matrix = np.triu(matrix) + np.triu(matrix, 1).T
        if determinant(matrix) < 0:
            negative += 1
            assert not proved_semidefinite(matrix)
    assert negative > 50


def test_matrices_are_symmetric() -> None:
    """A precision that is not its own transpose says two things at once."""
    from certmix.certificate.statement import state
    from certmix.problem import Problem

    said = state(Problem(np.random.default_rng(0).normal(size=(4, 2)), 2, variance=1.0))
    with pytest.raises(Rejected, match="symmetric"):
        read({**said, "precision": [[[2.0, 0.5], [0.25, 2.0]]]})
