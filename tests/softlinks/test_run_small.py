"""Soft links, quickly: what planted bugs are looked for with."""

from __future__ import annotations

import numpy as np
import pytest

from certmix import CannotLink, MinimumSize, MustLink, Options, Problem, solve
from certmix.certificate.softlinks import Solved
from certmix.engines import engine as engine_of
from certmix.ledger import Ledger
from certmix.softlinks.run import SoftRun
from certmix.status import Status, Tolerances

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


@pytest.mark.parametrize("engine", ["dual", "sdp", "parts"])
def test_what_is_closed_from_the_start_has_a_certificate(engine: str) -> None:
    """A sum of squares of zero that breaks no link needs no search, and is on record all the same."""
    links = [MustLink(0, 1, penalty=1.0), CannotLink(1, 2, penalty=1.0)]
    problem = Problem(np.repeat(LINE[[0, 3]], 2, axis=0), 2, weights="none", constraints=links)
    result = solve(problem, engine, certificate=True)
    assert (result.objective, result.penalty) == (0.0, 0.0)
    assert result.certificate_level == "verified", result.verification


def test_the_bound_is_that_of_the_weakest_leaf() -> None:
    """Nodes that are settled, with bounds somewhat below the incumbent, count when no other is left."""
    problem = Problem(LINE, 2, variance=1.0, constraints=[MustLink(2, 3, penalty=2.0)])
    ledger = Ledger(problem, Tolerances(0.2))
    run = SoftRun(problem, ledger, Options(threads=1), engine_of("interval"))
    run.run()
    leaves = [leaf for leaf in run.record.nodes if isinstance(leaf, Solved)]
    least = min(leaf.result.lower_bound + (0.0 if leaf.kept else 2.0) for leaf in leaves)
    assert len(leaves) == 2
    assert ledger.bound == pytest.approx(least, rel=1e-12)
    assert least < 0.9 * ledger.upper
