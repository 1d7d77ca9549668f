"""Basin hopping."""

from __future__ import annotations

import pytest

from certmix.datasets import load
from certmix.local.em import em
from certmix.paper.local.annealing import annealing


def test_annealing_leaves_the_basin_that_em_stays_in() -> None:
    """On iris1d EM stops above the optimum; basin hopping reaches it, and the seed repeats the run."""
    problem = load("iris1d").problem()
    found = annealing(problem, hops=20)
    assert em(problem).rescored > 280.4
    assert found.rescored == pytest.approx(280.0197, abs=5e-5)
    assert found.history == annealing(problem, hops=20).history
    assert list(found.history) == sorted(found.history, reverse=True)
