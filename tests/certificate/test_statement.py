"""Statements as the checker reads them."""

from __future__ import annotations

from certmix import MustLink, datasets
from certmix.certificate.statement import state
from certmix.verify.statement import digest


def test_a_problem_that_is_made_anew_has_the_same_statement() -> None:
    """What was checked of it is known again by its digest: zeros have no sign."""
    problem = datasets.load("wine").problem()
    again = problem.replace(constraints=[MustLink(0, 1)]).replace(constraints=[])
    assert digest(state(problem)) == digest(state(again))
