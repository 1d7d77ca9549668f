"""Soft links, quickly: what planted bugs are looked for with."""

from __future__ import annotations

import numpy as np
import pytest

from certmix import CannotLink, MinimumSize, MustLink, Problem, solve
from certmix.status import Status

LINE = np.array([0.0, 0.2, 0.4, 3.0, 3.2, 3.4])[:, None]


@pytest.mark.parametrize("gap", [1e-2, 0.05])
def test_a_poor_first_clustering_does_not_leave_a_gap(gap: float) -> None:
    """What was solved roughly because the incumbent was bad is solved again."""
    data = [[0.35, 0.82], [0.33, -1.3], [5.91, 5.45], [-0.54, 0.58], [0.36, 0.29], [0.03, 0.55]]
    links = [MinimumSize(5, 0), MustLink(0, 5, penalty=0.1), CannotLink(0, 1, penalty=0.05)]
    problem = Problem(np.array(data), 2, variance=1.0, weights="uniform", constraints=links)
    result = solve(problem, "interval", gap=gap)
    assert result.status is Status.OPTIMAL
    assert result.gap_relative <= gap


def test_penalties_of_k_means_are_in_its_own_units() -> None:
    """The objective has the penalty more, whatever the units of the data are; the sum of squares is without."""
    for unit in (1e-3, 1.0, 1e4):
        links = [MustLink(2, 3, penalty=0.25 * unit**2)]
        result = solve(Problem(unit * LINE, 2, weights="none", constraints=links))
        assert result.quantity.shown(result.objective) == pytest.approx((2 * 0.08 + 0.25) * unit**2)
        assert result.sse == pytest.approx(2 * 0.08 * unit**2)
        assert result.penalty == pytest.approx(0.25 * unit**2)
        assert result.sse_lower_bound == pytest.approx(2 * 0.08 * unit**2, rel=1e-5)
        assert result.sse_lower_bound <= result.sse
        assert "SSE + penalties" in result.sentence()
        assert result.verdict is not None
        assert "SSE + penalties" in result.verdict.sentence


def test_what_is_called_a_bound_of_the_sum_of_squares_is_one() -> None:
    """No clustering whose broken links cost no more has a smaller sum of squares, though others have."""
    links = [CannotLink(0, 1, penalty=0.5), MustLink(2, 3, penalty=0.3), MustLink(0, 5, penalty=100.0)]
    problem = Problem(LINE, 2, weights="none", constraints=links)
    result = solve(problem, verify=False)
    shown = problem.quantity.shown
    below = 0
    for z in np.ndindex(*(2,) * 6):
        labels = np.array(z)
        if len(set(z)) < 2:
            continue
        paid = shown(problem.objective.penalty(labels))
        squares = shown(problem.objective.best(labels).value) - paid
        if paid <= result.penalty:
            assert result.sse_lower_bound <= squares + 1e-12
        below += squares < result.sse_lower_bound
    assert below > 0
