"""Problems in which soft links have to hold, or are not there."""

from __future__ import annotations

import numpy as np

from certmix import CannotLink, MinimumSize, MustLink, Problem
from certmix.certificate.statement import state
from certmix.problem.hardening import hardened
from certmix.verify.claims.softlinks import hardened as stated
from certmix.verify.statement import read

LINKS = [
    MustLink(4, 0, penalty=1.0),
    CannotLink(1, 2, 3, penalty=2.0),
    MustLink(0, 1, penalty=3.0),
    MinimumSize(2),
]


def test_links_are_kept_or_gone() -> None:
    """The kept ones are links like any others; nothing else of the problem changes."""
    problem = Problem(np.arange(6.0)[:, None], 3, variance=1.0, constraints=LINKS)
    for kept in (set(), {0}, {1, 2}, {0, 1, 2}):
        found = hardened(problem, kept)
        assert not found.rules.soft
        assert len(found.given_constraints) == 1 + len(kept)
        assert (found.data == problem.data).all()
        assert (found.size_lower == problem.size_lower).all()
    assert state(hardened(problem)) == state(hardened(problem, {0, 1, 2}))


def test_the_checker_has_the_same_statement() -> None:
    """Its own way from the whole's statement to a part's ends where the program's does, to the last digit."""
    problem = Problem(
        np.arange(7.0)[:, None], 3, variance=1.0, constraints=[*LINKS, CannotLink(5, 2), MustLink(6, 5)]
    )
    whole = state(problem)
    for kept in (frozenset(), frozenset({1}), frozenset({0, 2}), frozenset({0, 1, 2})):
        assert stated(whole, read(whole), kept) == state(hardened(problem, kept))
