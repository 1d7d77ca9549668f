"""SLSQP: its gradient, the constraints that it keeps, what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from certmix import solve
from certmix.errors import UnsupportedError
from certmix.paper.local.slsqp import MOST_VARIABLES, _Relaxed, _start, slsqp
from certmix.presolve.instance import reduce
from certmix.problem import (
    CannotLink,
    Covering,
    Label,
    MaximumSize,
    MustLink,
    Problem,
)
from random_instances import random_problem
from two_groups import TWO_GROUPS


def test_slsqp_gradient_is_right() -> None:
    """The gradient of the relaxed objective agrees with differences, on random problems at random points."""
    rng = np.random.default_rng(6)
    for seed in range(25):
        problem = random_problem(np.random.default_rng([6, seed]), max_samples=6)
        instance = reduce(problem)
        relaxed = _Relaxed(instance)
        labels = instance.expand(rng.integers(0, problem.n_components, instance.n_groups))
        v = relaxed.pack(*_start(instance, labels))
        v = v + rng.uniform(0.05, 0.1, len(v))
        numeric = approx_fprime(v, lambda u, r=relaxed: r.value(u)[0], 1e-7)
        scale = 1.0 + np.abs(numeric).max() + abs(relaxed.value(v)[0])
        assert relaxed.value(v)[1] / scale == pytest.approx(numeric / scale, abs=1e-5)


def test_slsqp_keeps_linear_constraints() -> None:
    """Shares lie in [0, 1] and add up to one, and sizes, conflicts, labels and counts hold for them."""
    constraints = [
        MaximumSize(8, 0),
        CannotLink(0, 1),
        Label(2, 1),
        MustLink(3, 4),
        Covering([15, 16, 17], 0, 2),
    ]
    found = slsqp(Problem(TWO_GROUPS, 2, variance=1.0, constraints=constraints))
    shares = found.responsibilities
    assert found.converged
    assert shares.sum(axis=1) == pytest.approx(np.ones(20), abs=1e-6)
    assert shares[:, 0].sum() <= 8 + 1e-6
    assert np.all(shares[0] + shares[1] <= 1 + 1e-6)
    assert shares[2] == pytest.approx([0.0, 1.0], abs=1e-6)
    assert np.array_equal(shares[3], shares[4])
    assert shares[15:18, 0].sum() >= 2 - 1e-6
    assert len(found.notes) == 1
    assert "while iterating" in found.notes[0]


def test_slsqp_refuses_what_is_too_large() -> None:
    """Above the documented number of variables it declines, as a method and as an engine."""
    problem = Problem(np.arange(float(MOST_VARIABLES)), 3, variance=1.0)
    with pytest.raises(UnsupportedError, match="variables"):
        slsqp(problem)
    with pytest.raises(UnsupportedError, match="'slsqp' cannot solve this problem: it takes up to"):
        solve(problem, "slsqp")
