"""A search whose nodes are explored elsewhere proves what it would prove here, and loses nothing on the way."""

from __future__ import annotations

import math
from unittest import mock

import numpy as np
import pytest

from certmix import Problem, solve
from certmix.cluster import opened
from certmix.ledger import Ledger
from certmix.options import Options
from certmix.presolve.instance import reduce
from certmix.search import engines, spread
from certmix.search.bounds import dual
from certmix.search.engines import interval_search
from certmix.search.spread import Spread
from certmix.state import State
from certmix.status import Termination, Tolerances
from certmix.threads import Threads
from claims import find_truth
from pretended_cluster import Pretended, pretended
from random_instances import random_problem
from tuned import tuned


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


@pytest.mark.parametrize(("n", "d", "k", "variance", "seed"), [(30, 2, 5, 0.05, 0), (30, 3, 4, 0.1, 1)])
def test_workers_explore_the_tree_of_multipliers(n: int, d: int, k: int, variance: float, seed: int) -> None:
    """What the root of ``dual`` leaves open."""
    problem = Problem(np.random.default_rng(seed).normal(size=(n, d)), k, variance=variance)
    alone = solve(problem, "dual", verify=False)
    with (
        tuned(engines, first_turn=1.0, growth=4.0),
        tuned(dual, most_groups=0),
        mock.patch.object(spread, "ENOUGH", 1),
        pretended(np.random.default_rng(seed), count=2) as cluster,
    ):
        shared = solve(problem, "dual", verify=False)
    assert alone.status == shared.status == "optimal"
    assert shared.objective == pytest.approx(alone.objective)
    assert cluster.answered > 0


@pytest.mark.parametrize("seed", range(25))
def test_no_bound_is_above_the_optimum(seed: int) -> None:
    """Trees of boxes, which are large: tasks of a few nodes, some of them lost, a run that ends at any moment."""
    rng = np.random.default_rng([seed, 5])
    problem = random_problem(rng)
    truth = find_truth(problem)
    ledger = Ledger(problem, Tolerances(1e-7, 0.0))
    options = Options(node_limit=int(rng.choice([5, 40, 200])), gap=1e-7)
    search = interval_search(reduce(problem), Threads(1), ledger, options, State())
    with (
        mock.patch.object(spread, "BUDGET", int(rng.integers(2, 30))),
        mock.patch.object(spread, "ENOUGH", int(rng.integers(0, 3))),
    ):
        reason = Spread(search, "interval", Pretended(rng, lost=float(rng.choice([0.0, 0.3])))).finish()
    allowed = 1e-9 * max(1.0, abs(truth.optimum)) if math.isfinite(truth.optimum) else 0.0
    assert ledger.bound <= truth.optimum + allowed
    if reason in (Termination.GAP, Termination.EXHAUSTED):
        assert ledger.upper == pytest.approx(truth.optimum, rel=1e-6)


def test_what_others_closed_stays_in_the_account() -> None:
    """A node that another process has closed at 3 leaves a bound of 3, whatever is open here."""
    problem = overlapping(8, 2, 0)
    ledger = Ledger(problem, Tolerances(1e-7, 0.0))
    search = interval_search(reduce(problem), Threads(1), ledger, Options(), State())
    while search.frontier.bound < 3.0:
        search.step()
    for ticket in range(len(search.frontier)):
        node = search.hand_out(ticket)
        assert node is not None
        arrays = {name: a[:0] for name, a in node.of("search").arrays.items()}
        own = State({"nodes": 1}, {**arrays, "account": np.array([3.0, math.inf])})
        search.take_in(ticket, State.joined(search=own, bound=node.of("bound")))
    assert len(search.frontier) == 0
    assert search.proved == 3.0


@pytest.mark.parametrize("engine", ["sdp", "dual"])
def test_dask_workers_explore_nodes(engine: str) -> None:
    pytest.importorskip("distributed")
    problem = overlapping(30, 6, 1)
    if engine == "dual":
        problem = Problem(np.random.default_rng(0).normal(size=(30, 2)), 5, variance=0.05)
    alone = solve(problem, engine, verify=False)
    with opened(Options(workers=2)) as cluster:
        assert cluster is not None
        shared = solve(problem, engine, verify=False, client=cluster._client)
    assert shared.status == "optimal"
    assert shared.objective == pytest.approx(alone.objective)
