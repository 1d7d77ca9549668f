"""A search whose nodes are explored elsewhere proves what it would prove here, and loses nothing on the way."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from certmix import Problem, solve
from certmix.cluster import opened
from certmix.options import Options
from certmix.search import spread
from claims import find_truth
from pretended_cluster import pretended
from random_instances import random_problem


def overlapping(n: int, d: int, seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=1.0, size=(3, d))
    return Problem(centres[rng.integers(3, size=n)] + rng.normal(size=(n, d)), 3, variance=1.0)


@pytest.mark.parametrize("seed", range(4))
def test_workers_close_what_one_process_closes(seed: int) -> None:
    problem = overlapping(24, 5, seed)
    alone = solve(problem, "sdp", verify=False)
    with pretended(np.random.default_rng(seed)) as cluster:
        shared = solve(problem, "sdp", verify=False)
    assert alone.status == shared.status == "optimal"
    assert shared.objective == pytest.approx(alone.objective)
    if alone.nodes > 20:
        assert cluster.answered > 0


@pytest.mark.parametrize("seed", range(25))
def test_no_bound_is_above_the_optimum(seed: int) -> None:
    """Tasks of one or two nodes, half of them lost, and a run that ends at any moment."""
    rng = np.random.default_rng([seed, 5])
    problem = random_problem(rng)
    if problem.has_mean_box:
        return
    truth = find_truth(problem)
    with pretended(rng, lost=0.5), mock.patch.object(spread, "BUDGET", 1 + seed % 2):
        found = solve(problem, "sdp", verify=False, node_limit=int(rng.integers(1, 60)))
    assert found.lower_bound <= truth.optimum + 1e-9 * max(1.0, abs(truth.optimum))
    if found.status == "optimal":
        assert found.objective == pytest.approx(truth.optimum, rel=1e-5)


def test_dask_workers_explore_nodes() -> None:
    pytest.importorskip("distributed")
    problem = overlapping(30, 6, 1)
    alone = solve(problem, "sdp", verify=False)
    with opened(Options(workers=2)) as cluster:
        assert cluster is not None
        shared = solve(problem, "sdp", verify=False, client=cluster._client)
    assert shared.status == "optimal"
    assert shared.objective == pytest.approx(alone.objective)
