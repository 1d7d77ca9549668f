"""Something is known of every root early, and nothing that is false."""

from __future__ import annotations

import math

import numpy as np

from certmix import Problem, solve
from certmix.presolve.instance import reduce
from certmix.search.bounds.semidefinite.bound import SemidefiniteBound, region_of
from certmix.status import Termination
from certmix.stopping import Stop, under
from certmix.threads import Threads


def clusters(n: int = 60) -> Problem:
    rng = np.random.default_rng(4)
    centres = 3.0 * rng.normal(size=(3, 5))
    data = centres[rng.integers(3, size=n)] + rng.normal(size=(n, 5))
    return Problem(data, 3, variance=1.0, allow_empty=True)


def test_one_root_serves_all_choices_of_empty_components() -> None:
    """Its bound holds for clusterings that leave some empty, and an empty one that would cost too much is excluded."""
    problem = clusters()
    roots = SemidefiniteBound(reduce(problem), None).root()
    assert len(roots) == 1
    assert (roots["a"] == 0).all()


def test_components_stay_empty_where_that_is_best() -> None:
    """Three pairs of samples close together: the entropy of a second component is more than it saves."""
    data = np.repeat(np.array([[0.0, 0.0], [0.3, 0.0], [0.0, 0.3]]), 2, axis=0)
    problem = Problem(data, 4, variance=1.0, allow_empty=True)
    truth = solve(problem, "enumerate", gap=0.0)
    assert len(np.unique(truth.labels)) < 4
    bound = SemidefiniteBound(reduce(problem), truth.labels)
    root = bound.root()
    region = region_of(root, 0)
    assert bound.visit(region, None, -math.inf, math.inf, Threads(1)).bound <= truth.objective
    found = solve(problem, "sdp", gap=1e-9, verify=True)
    assert abs(found.objective - truth.objective) <= 1e-9
    assert found.certificate_level == "verified"


def test_a_root_that_is_split_has_bounds_before_it_is_visited() -> None:
    """They hold: the best clustering of each costs no less."""
    problem = clusters()
    best = solve(problem, "sdp", gap=1e-6, verify=False)
    roots = SemidefiniteBound(reduce(problem), best.labels, split_from=1).root()
    assert len(roots) == 2
    assert np.isfinite(roots.bound).all()
    assert roots.bound.min() <= best.objective
    assert all(start is not None for start in roots["warm"])  # what was done for it is not done again


def test_a_visit_that_is_told_to_stop_ends_without_another_proof() -> None:
    """What it would prove then counts no more; the node is open as it was, with what it can go on from."""
    problem = clusters()
    labels = solve(problem, "hard-em").labels
    stop = Stop()
    with under(stop):
        bound = SemidefiniteBound(reduce(problem), labels)
        root = bound.root()
        region = region_of(root, 0)
        stop.hoist(Termination.TIME)
        visit = bound.visit(region, None, -math.inf, math.inf, Threads(1))
    assert visit.open
    assert visit.bound == -math.inf
    assert visit.warm is not None
