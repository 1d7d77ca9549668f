"""Piecewise-linear logarithms: on which side they lie, and by how much they are off."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from certmix.paper.formulation.approximation import first_approximation
from certmix.paper.formulation.logarithm import PiecewiseLog, regular
from certmix.problem import Problem


def test_tangents_lie_below_and_chords_above() -> None:
    """Over the whole interval, touching at the breakpoints, and never farther away than the error says."""
    x = np.linspace(0.02, 1.0, 50_001)
    for count in (2, 3, 10, 50):
        for variant, sign in (("tangent", 1.0), ("chord", -1.0)):
            log = regular(variant, 0.02, 1.0, count)  # type: ignore[arg-type]
            away = sign * (-np.log(x) - log.value(x))
            assert away.min() > -1e-12
            assert away.max() <= log.error + 1e-12
            assert away.max() > 0.99 * log.error
            assert np.allclose(log.value(log.breakpoints), -np.log(log.breakpoints), atol=1e-12)


def test_the_error_by_hand() -> None:
    """Between 1/e and 1 the tangents e(1/e - x) + 1 and 1 - x meet at 1/(e - 1), where both are (e - 2)/(e - 1)."""
    log = PiecewiseLog("tangent", np.array([1 / math.e, 1.0]))
    meeting = 1 / (math.e - 1)
    assert log.value(np.array([meeting]))[0] == pytest.approx((math.e - 2) / (math.e - 1))
    assert log.error == pytest.approx(math.log(math.e - 1) - (math.e - 2) / (math.e - 1))


def test_more_breakpoints_make_the_error_smaller() -> None:
    """Regular breakpoints: a quarter of the error, nearly, for twice as many."""
    errors = [regular("chord", 0.2, 1.0, count).error for count in (10, 20, 40)]
    assert errors[0] > 3.5 * errors[1] > 12 * errors[2]


def test_refinement_leaves_out_what_is_there_or_outside() -> None:
    """A point on a breakpoint or outside the interval adds nothing."""
    log = regular("tangent", 0.1, 0.9, 3)
    assert len(log.refined(np.array([0.5, 0.05, 0.95, 0.1])).breakpoints) == 3
    assert len(log.refined(np.array([0.3, 0.3 + 1e-14])).breakpoints) == 4


def test_chords_through_every_attainable_weight_are_exact() -> None:
    """With free weights only multiples of 1/n matter: once all are breakpoints, the approximation has no error."""
    problem = Problem(np.arange(12.0), 3, variance=1.0)
    approximation = first_approximation(problem, "chord", 3, True)
    assert approximation is not None
    errors = [approximation.error]
    for _ in range(4):
        approximation = approximation.refined(None)
        errors.append(approximation.error)
    assert errors[0] > 0.1
    assert errors[-1] < 1e-7
    assert all(b <= a for a, b in pairwise(errors))


def test_regular_refinement_doubles() -> None:
    """Without adaptivity the number of breakpoints doubles."""
    approximation = first_approximation(Problem(np.arange(12.0), 2, variance=1.0), "tangent", 5, False)
    assert approximation is not None
    assert approximation.refined(None).n_breakpoints == 10


def test_fixed_weights_need_no_logarithm() -> None:
    assert first_approximation(Problem(np.arange(5.0), 2, weights="uniform"), "tangent", 5, True) is None
