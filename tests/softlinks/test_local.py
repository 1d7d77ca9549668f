"""The descent that knows penalties."""

from __future__ import annotations

import numpy as np

from certmix import MustLink, Problem
from certmix.problem import is_feasible
from certmix.softlinks.local import descended
from soft_links import random_soft_links


def test_labels_become_no_worse_and_stay_feasible() -> None:
    """From any clustering: what comes out keeps the links that have to hold and costs no more."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        links = [*random_soft_links(9, rng, 1.0), MustLink(0, 4)]
        problem = Problem(rng.normal(size=(9, 2)), 3, variance=0.5, constraints=links)
        labels = np.array([0, 1, 2, 0, 0, 1, 2, 1, 2])
        better = descended(problem, labels, lambda: False)
        assert is_feasible(problem, better)
        assert problem.objective.best(better).value <= problem.objective.best(labels).value
        assert (descended(problem, better, lambda: False) == better).all()


def test_it_stops_when_told_to() -> None:
    """The clock is looked at before every move."""
    problem = Problem(np.arange(6.0)[:, None], 2, variance=1.0, constraints=[MustLink(0, 5, penalty=9.0)])
    labels = np.array([0, 0, 0, 1, 1, 1])
    assert (descended(problem, labels, lambda: True) == labels).all()
