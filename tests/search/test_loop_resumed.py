"""A search that goes on from the state of another one: nothing is lost, nothing is claimed that was not proved."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from certmix import Problem
from certmix.exact.dynamic import DynamicProgramming
from certmix.exact.enumeration import Enumeration
from certmix.ledger import Ledger
from certmix.options import Options
from certmix.paper.bnb.branching import branching_rule
from certmix.paper.bnb.relaxation import RelaxationBound
from certmix.presolve.instance import Instance, reduce
from certmix.search.bounds.base import Bound, Explored
from certmix.search.bounds.dual import DualBound
from certmix.search.bounds.interval import IntervalBound
from certmix.search.bounds.line import LineBound
from certmix.search.bounds.semidefinite.bound import SemidefiniteBound
from certmix.search.bounds.semidefinite.record import Recorder
from certmix.search.loop import Search
from certmix.search.nodes import Nodes
from certmix.search.record import Splits
from certmix.state import State
from certmix.status import Termination
from certmix.stopping import Stop
from resumed import through_files

EXACT = Options(gap=1e-9)


def problem_of(seed: int, d: int = 2) -> Problem:
    n = 11 if d > 1 else 150  # on a line fewer are settled at the root
    return Problem(np.random.default_rng(seed).normal(size=(n, d)), 3, variance=0.1)


def dual(instance: Instance) -> Bound:
    labels = np.arange(instance.n_samples) % instance.n_components
    return DualBound(instance, labels, allowed=1e-6, fewest=2)


BOUNDS: dict[str, tuple[int, Callable[[Instance], Bound]]] = {
    "interval": (2, lambda instance: IntervalBound(instance, splits=Splits())),
    "line": (1, LineBound),
    "dual": (2, dual),
    "sdp": (2, lambda instance: SemidefiniteBound(instance, None, recorder=Recorder())),
    "sdp, split": (2, lambda instance: SemidefiniteBound(instance, None, recorder=Recorder(), split_from=1)),
    "bnb": (2, lambda instance: RelaxationBound(instance, branching_rule("most-infeasible"))),
}


def optimum(problem: Problem) -> float:
    ledger = Ledger(problem, EXACT.tolerances)
    (Enumeration() if problem.n_features > 1 else DynamicProgramming()).run(problem, ledger, EXACT)
    return ledger.upper


def begun(problem: Problem, name: str, nodes: int, options: Options = EXACT) -> Search:
    """A search that has explored so many nodes, from a poor clustering."""
    ledger = Ledger(problem, options.tolerances)
    ledger.offer(np.arange(problem.n_samples) % problem.n_components, "start")
    search = Search(BOUNDS[name][1](reduce(problem)), ledger, options, largest_batch=4)
    search.run(pause=lambda: search.nodes >= nodes)
    return search


def gone_on(search: Search, name: str, state: State, options: Options = EXACT) -> Search:
    """Another search with a new ledger that knows the clustering, and the state."""
    before = search.ledger
    ledger = Ledger(before.problem, options.tolerances)
    assert before.incumbent is not None
    ledger.offer(before.incumbent.labels, "resumed")
    bound = BOUNDS[name][1](reduce(before.problem))
    return Search(bound, ledger, options, largest_batch=4, state=state)


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("nodes", [1, 3, 8])
def test_open_nodes_and_account_come_back(name: str, nodes: int, tmp_path: Path) -> None:
    """The same open nodes, bit for bit but for what only saves time, the same bound, and the optimum in the end."""
    problem = problem_of(nodes, BOUNDS[name][0])
    search = begun(problem, name, nodes)
    found = gone_on(search, name, through_files(search.state(), tmp_path))
    assert found.proved == search.proved
    assert found.nodes == search.nodes
    old, new = search.frontier.all(), found.frontier.all()
    for field in old.fields:
        if field != "warm":
            assert old[field].tolist() == new[field].tolist(), field
        else:
            assert set(new["warm"].tolist()) <= {-1}, "keys of another process"
    assert found.finish() in (Termination.GAP, Termination.EXHAUSTED)
    assert found.ledger.upper == pytest.approx(optimum(problem), abs=1e-9)
    assert found.ledger.closed
    assert found.ledger.bound <= optimum(problem) + 1e-9


@pytest.mark.parametrize("name", BOUNDS)
def test_nodes_that_are_being_explored_are_in_the_state(name: str, tmp_path: Path) -> None:
    """A state that is asked for in the middle of a step covers what the step has taken."""
    problem = problem_of(20, BOUNDS[name][0])
    search = begun(problem, name, 1)
    assert len(search.frontier)
    inside: list[State] = []
    explore = search.bound.explore

    def watched(nodes: Nodes, cutoff: float) -> Explored:
        inside.append(search.state())
        explored = explore(nodes, cutoff)
        inside.append(search.state())  # what the bound has written down meanwhile does not matter
        return explored

    search.bound.explore = watched  # type: ignore[method-assign]
    before = search.proved
    search.step()
    for state in inside:
        found = gone_on(search, name, through_files(state, tmp_path))
        assert found.proved == before
        found.finish()
        assert found.ledger.closed
        assert found.ledger.upper == pytest.approx(optimum(problem), abs=1e-9)


def test_what_a_kernel_says_after_the_flag_is_up_does_not_count() -> None:
    """Nodes whose exploration may have been cut short go back as they were, and so does a state."""
    problem = problem_of(3)
    search = begun(problem, "interval", 3)
    search.ledger.stop = Stop()
    before = search.state().arrays

    def cut_short(nodes: Nodes, cutoff: float) -> Explored:
        search.ledger.stop.hoist(Termination.TIME)
        return Explored(
            Nodes({**nodes.fields, "bound": nodes.bound + math.inf}), np.zeros(len(nodes), dtype=bool)
        )

    search.bound.explore = cut_short  # type: ignore[method-assign]
    search.step()
    after = search.state().arrays
    assert sorted(after["search/bound"].tolist()) == sorted(before["search/bound"].tolist())
    assert after["search/account"].tolist() == before["search/account"].tolist()


def test_a_tree_that_was_searched_for_a_wide_gap_does_not_prove_a_narrow_one(tmp_path: Path) -> None:
    """What was cut away at the wider gap's cutoff is not below the new one's: such a search begins anew."""
    problem = problem_of(7)
    wide = Options(gap=0.2)
    search = begun(problem, "interval", 8, wide)
    found = gone_on(search, "interval", through_files(search.state(), tmp_path))
    assert found.nodes == 0
    found.finish()
    assert found.ledger.upper == pytest.approx(optimum(problem), abs=1e-9)
    assert found.ledger.closed


def test_what_was_cut_away_inside_of_open_nodes_counts(tmp_path: Path) -> None:
    """The smallest number that open nodes were narrowed against is a leaf of the search that goes on."""
    problem = problem_of(7)
    search = begun(problem, "interval", 8)
    state = search.state()
    arrays = dict(state.arrays)
    leaves, against = arrays["search/account"]
    assert math.isfinite(against)
    arrays["search/account"] = np.array([math.inf, against])
    assert gone_on(search, "interval", State(state.numbers, arrays)).leaves == against
    assert gone_on(search, "interval", state).leaves == min(leaves, against)


def test_open_nodes_alone_are_gone_on_with() -> None:
    """Nothing closed and nothing cut away is no reason to begin anew: a node may be all that somebody was given."""
    search = begun(problem_of(7), "interval", 8)
    state = search.state()
    alone = {**state.arrays, "search/account": np.full(2, math.inf)}
    found = gone_on(search, "interval", State(state.numbers, alone))
    assert found.nodes == search.nodes
    assert len(found.frontier) == len(search.frontier)


def test_damaged_open_nodes_are_refused() -> None:
    """Columns of unequal length, another type, a bound that is not a number: no search begins from these."""
    problem = problem_of(2)
    search = begun(problem, "interval", 3)
    state = search.state()
    for name, array in {
        "search/mask": state.arrays["search/mask"][:-1],
        "search/a": state.arrays["search/a"].astype(np.float32),
        "search/bound": np.full_like(state.arrays["search/bound"], math.nan),
    }.items():
        with pytest.raises(ValueError, match="open nodes"):
            gone_on(search, "interval", State(state.numbers, {**state.arrays, name: array}))
