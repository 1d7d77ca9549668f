"""Variational EM: its bound and its posterior."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from certmix.paper.local.variational import variational_em
from certmix.problem import (
    DirichletPrior,
    GaussianPrior,
    Problem,
)
from two_groups import TWO_GROUPS


def test_variational_bound_improves_and_posterior_is_conjugate() -> None:
    """The negative evidence bound falls; the weights are (alpha + N) / (sum alpha + n) at the end."""
    problem = Problem(
        TWO_GROUPS, 2, variance=1.0, prior=[DirichletPrior([3.0, 1.5]), GaussianPrior(0.0, 4.0)]
    )
    found = variational_em(problem)
    assert all(b <= a + 1e-9 for a, b in pairwise(found.history))
    sizes = found.responsibilities.sum(axis=0)
    assert found.weights == pytest.approx((sizes + np.array([3.0, 1.5])) / 24.5, abs=1e-5)
    average = found.responsibilities.T @ TWO_GROUPS / sizes[:, None]
    assert found.means == pytest.approx(average * (sizes / (sizes + 0.25))[:, None], abs=1e-5)
