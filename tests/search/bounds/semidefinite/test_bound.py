"""Something is known of every root early, and nothing that is false."""

from __future__ import annotations

import numpy as np

from certmix import Problem, solve
from certmix.presolve.instance import reduce
from certmix.search.bounds.semidefinite.bound import SemidefiniteBound


def clusters(n: int = 60) -> Problem:
    rng = np.random.default_rng(4)
    centres = 3.0 * rng.normal(size=(3, 5))
    data = centres[rng.integers(3, size=n)] + rng.normal(size=(n, 5))
    return Problem(data, 3, variance=1.0, allow_empty=True)


def test_roots_of_few_components_come_first() -> None:
    """They are cheap, and no bound counts before every root has one."""
    problem = clusters()
    roots = SemidefiniteBound(reduce(problem), None).root()
    assert (np.diff((roots["b"] > 0).sum(axis=1)) >= 0).all()
    assert len(roots) == 3


def test_a_root_that_is_split_has_bounds_before_it_is_visited() -> None:
    """They hold: the best clustering of each costs no less."""
    problem = clusters()
    best = solve(problem, "sdp", gap=1e-6, verify=False)
    roots = SemidefiniteBound(reduce(problem), best.labels, split_from=1).root()
    split = (roots["b"] > 0).all(axis=1)
    assert split.sum() == 2
    assert np.isfinite(roots.bound[split]).all()
    assert roots.bound[split].min() <= best.objective
