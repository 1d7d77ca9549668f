"""The loop on a tree whose every bound is known: samples are placed one after the other."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from certmix.ledger import Ledger
from certmix.options import Options
from certmix.problem import Problem, is_feasible
from certmix.search.bounds.base import Explored
from certmix.search.frontier import OPEN_BYTES
from certmix.search.loop import Search, search
from certmix.search.nodes import Nodes
from certmix.status import Status, Termination, decide


class KnownTree:
    """A node at depth t has fixed the labels of the first t samples; its bound is the truth minus a known amount.

    ``weakness`` scales how far the bounds of inner nodes lie below the truth; bounds grow towards the leaves.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        weakness: float = 1.0,
        seed: int = 0,
        offers: bool = True,
        contracts: bool = False,
        reaches: bool = True,
    ) -> None:
        self.problem = problem
        self.reaches = reaches
        self.n, self.K = problem.n_samples, problem.n_components
        self.offers = offers
        self.contracts = contracts
        self.explored: list[float] = []
        rng = np.random.default_rng(seed)
        shape = (self.K,) * self.n
        values = np.full(shape, math.inf)
        for labels in itertools.product(range(self.K), repeat=self.n):
            if is_feasible(problem, np.array(labels)):
                values[labels] = problem.objective.best(np.array(labels)).value
        self.truth = values
        self.optimum = float(values.min())
        self.loss = weakness * rng.exponential(size=(self.n + 1, *shape))

    def bound_of(self, labels: tuple[int, ...]) -> float:
        """The truth below a node, less the losses from its depth on (so that children are never weaker)."""
        below = float(self.truth[labels].min())
        where = labels + (0,) * (self.n - len(labels))
        lost = sum(self.loss[(t, *where[:t], *(0,) * (self.n - t))] for t in range(len(labels), self.n))
        return below - lost

    def root(self) -> Nodes:
        return Nodes({"bound": np.array([-math.inf]), "labels": np.zeros((1, self.n), dtype=np.int64)})

    def explore(self, nodes: Nodes, cutoff: float) -> Explored:
        bounds, opened, found = nodes.bound.copy(), np.zeros(len(nodes), dtype=bool), []
        for i in range(len(nodes)):
            depth = int(nodes["depth"][i])
            labels = tuple(nodes["labels"][i, :depth].tolist())
            bounds[i] = np.maximum(bounds[i], self.bound_of(labels))
            self.explored.append(float(bounds[i]))
            opened[i] = depth < self.n and bounds[i] < cutoff
            if self.contracts and bounds[i] >= cutoff:
                bounds[i] = math.inf
            if depth == self.n and self.offers:
                found.append(np.array(labels))
        return Explored(Nodes({**nodes.fields, "bound": bounds}), opened, found)

    def branch(self, explored: Explored) -> Nodes:
        children = []
        for k in range(self.K):
            child = {name: array.copy() for name, array in explored.nodes.fields.items()}
            rows = np.arange(len(explored.nodes))
            child["labels"][rows, child["depth"]] = k
            child["depth"] += 1
            children.append(Nodes(child))
        return Nodes.join(children)


def small_problem(seed: int = 0, n: int = 6, K: int = 2) -> Problem:
    return Problem(np.random.default_rng(seed).normal(size=(n, 2)) * 2.0, K, variance=1.0)


def start(problem: Problem, **options: object) -> tuple[Ledger, Options]:
    chosen = Options(**options)  # type: ignore[arg-type]
    return Ledger(problem, chosen.tolerances), chosen


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("gap", [1e-9, 1e-3, 0.05, 0.3])
@pytest.mark.parametrize("weakness", [0.0, 0.3, 3.0])
@pytest.mark.parametrize("open_bytes", [OPEN_BYTES, 500, 0])
def test_finds_and_proves_the_optimum(seed: int, gap: float, weakness: float, open_bytes: float) -> None:
    """At the end the gap is closed, the bound below the optimum and the incumbent within the gap of it; so too where
    there is little or no room for open nodes."""
    problem = small_problem(seed)
    tree = KnownTree(problem, weakness=weakness, seed=seed)
    ledger, options = start(problem, gap=gap)
    reason = search(tree, ledger, options, open_bytes=open_bytes)
    assert reason in (Termination.GAP, Termination.EXHAUSTED)
    assert ledger.closed
    assert ledger.bound <= tree.optimum + 1e-12
    assert tree.optimum - 1e-12 <= ledger.upper <= tree.optimum + options.tolerances.allowed(ledger.upper)
    bounds = [point.bound for point in ledger.trace]
    incumbents = [point.incumbent for point in ledger.trace]
    assert bounds == sorted(bounds)
    assert incumbents == sorted(incumbents, reverse=True)


@pytest.mark.parametrize("contracts", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_pruned_leaves_stay_in_the_account(seed: int, contracts: bool) -> None:
    """A wide gap prunes leaves below the incumbent: their bounds, not the incumbent's, are what is proved.

    What was cut away inside a node because of the cutoff proves no more than the cutoff.
    """
    problem = small_problem(seed)
    tree = KnownTree(problem, weakness=0.05, seed=seed, contracts=contracts)
    values = np.sort(tree.truth[np.isfinite(tree.truth)])
    ledger, options = start(problem, gap=0.5)
    poor = np.argwhere(tree.truth == values[len(values) // 2])[0]
    ledger.offer(poor, "start")
    search(tree, ledger, options)
    assert ledger.closed
    assert ledger.bound <= tree.optimum


@pytest.mark.parametrize("reaches", [False, True])
@pytest.mark.parametrize("difference", [1e-7, 1e-6, 1e-5])
def test_a_leaf_proves_no_more_than_it_was_compared_with(difference: float, reaches: bool) -> None:
    """The optimum lies between the cutoff and an incumbent that is within the gap of it: it may go unseen, but no bound
    is above it. Bounds that are not worked on until they reach the cutoff are compared with the incumbent."""
    problem = Problem(np.array([-2.0 - difference, 0.0, 2.0]), 2, variance=1.0)
    tree = KnownTree(problem, weakness=0.0, contracts=True, reaches=reaches)
    ledger, options = start(problem, gap=6 * difference)
    ledger.offer(np.array([0, 0, 1]), "start")
    assert ledger.cutoff < tree.optimum < ledger.upper
    search(tree, ledger, options)
    assert ledger.closed
    assert ledger.bound <= tree.optimum


@pytest.mark.parametrize("limit", [0, 1, 2, 5, 17, 40])
def test_node_limit_is_kept_and_the_bound_counts_every_open_node(limit: int) -> None:
    """No more nodes than allowed are explored, and the bound is the smallest of open nodes and closed leaves."""
    problem = small_problem(1)
    tree = KnownTree(problem, weakness=3.0)
    ledger, options = start(problem, gap=1e-9, node_limit=limit)
    running = Search(tree, ledger, options)
    reason = running.run()
    assert ledger.nodes == len(tree.explored) == limit
    assert reason is Termination.NODES
    assert ledger.bound == min(running.frontier.bound, running.leaves)
    assert ledger.bound <= tree.optimum
    assert decide(ledger.upper, ledger.bound, options.tolerances) is not Status.OPTIMAL


def test_pausing_changes_nothing() -> None:
    """A search that is paused after every batch ends where the uninterrupted one ends."""
    problem = small_problem(2)
    whole, options = start(problem, gap=1e-9)
    tree = KnownTree(problem, weakness=2.0)
    assert search(tree, whole, options) in (Termination.GAP, Termination.EXHAUSTED)
    pieces, options = start(problem, gap=1e-9)
    running = Search(KnownTree(problem, weakness=2.0), pieces, options)
    reason, turns = None, 0
    while reason is None:
        done = running.nodes
        reason = running.run(pause=lambda done=done: running.nodes > done)  # type: ignore[misc]
        turns += 1
    assert turns > 3
    assert (pieces.nodes, pieces.upper, pieces.bound) == (whole.nodes, whole.upper, whole.bound)


def test_two_searches_may_share_a_ledger() -> None:
    """An incumbent that another search found prunes this one; what both claim is still below the optimum."""
    problem = small_problem(3)
    ledger, options = start(problem, gap=1e-9)
    blind = Search(KnownTree(problem, weakness=2.0, offers=False), ledger, options)
    seeing = Search(KnownTree(problem, weakness=1.0, seed=5), ledger, options)
    reason = None
    while reason is None:
        for running in (blind, seeing):
            done = running.nodes
            reason = running.run(pause=lambda running=running, done=done: running.nodes > done + 3)  # type: ignore[misc]
            assert ledger.bound <= blind.bound.optimum + 1e-12  # type: ignore[attr-defined]
            if reason is not None:
                break
    assert ledger.closed
    assert ledger.upper == pytest.approx(blind.bound.optimum)  # type: ignore[attr-defined]


def test_an_interruption_loses_no_node() -> None:
    """The nodes that were being explored go back to the frontier, and the ledger keeps bound and incumbent."""
    problem = small_problem(4)
    tree = KnownTree(problem, weakness=1.0)
    explore, calls = tree.explore, itertools.count()

    def interrupted(nodes: Nodes, cutoff: float) -> Explored:
        if next(calls) == 12:
            raise KeyboardInterrupt
        return explore(nodes, cutoff)

    tree.explore = interrupted  # type: ignore[method-assign]
    ledger, options = start(problem, gap=1e-9)
    running = Search(tree, ledger, options)
    with pytest.raises(KeyboardInterrupt):
        running.run()
    assert -math.inf < ledger.bound <= tree.optimum
    assert min(running.frontier.bound, running.leaves) <= tree.optimum
    tree.explore = explore  # type: ignore[method-assign]
    running.run()
    assert ledger.closed
    assert ledger.upper == pytest.approx(tree.optimum)


def test_infeasible_when_everything_is_explored_and_nothing_found() -> None:
    """A tree without a feasible leaf ends exhausted, without an incumbent and with an infinite bound."""
    problem = Problem(np.arange(3.0)[:, None], 3, variance=1.0)
    tree = KnownTree(problem)
    tree.truth[:] = math.inf
    tree.offers = False
    ledger, options = start(problem)
    assert search(tree, ledger, options) is Termination.EXHAUSTED
    assert ledger.incumbent is None
    assert ledger.bound == math.inf
    assert decide(ledger.upper, ledger.bound, options.tolerances, infeasible=True) is Status.INFEASIBLE


def test_a_bound_that_is_not_a_number_is_never_a_proof() -> None:
    """A node whose bound is not a number may not vanish from the account."""
    problem = small_problem(5)
    tree = KnownTree(problem, weakness=1.0)
    bound_of = tree.bound_of
    tree.bound_of = lambda labels: math.nan if len(labels) == 3 else bound_of(labels)  # type: ignore[method-assign]
    ledger, options = start(problem, gap=1e-9)
    with pytest.raises(AssertionError, match="not a number"):
        search(tree, ledger, options)
    assert ledger.bound <= tree.optimum


def test_best_node_first() -> None:
    """One node at a time, the loop takes an open node with the smallest bound."""
    problem = small_problem(6)
    tree = KnownTree(problem, weakness=2.0)
    ledger, options = start(problem, gap=1e-9)
    running = Search(tree, ledger, options)
    while len(running.frontier) and running.nodes < 8:  # batches of one
        smallest = running.frontier.bound
        taken = running.frontier.all().bound[0]
        assert taken == smallest
        running.step()
    assert running.nodes == 8


def test_diving_needs_little_room_and_explores_the_same_nodes() -> None:
    """With the optimum known, what has to be explored is the same in any order; diving holds few nodes at a time."""
    problem = small_problem(7, n=9)
    most, explored = {}, {}
    for open_bytes in (OPEN_BYTES, 0.0):
        tree = KnownTree(problem, weakness=3.0, offers=False)
        ledger, options = start(problem, gap=1e-9)
        ledger.offer(np.argwhere(tree.truth == tree.optimum)[0], "start")
        running = Search(tree, ledger, options, largest_batch=1, open_bytes=open_bytes)
        most[open_bytes] = 0
        while len(running.frontier):
            running.step()
            most[open_bytes] = max(most[open_bytes], len(running.frontier))
        explored[open_bytes] = sorted(tree.explored)
    assert explored[0.0] == explored[OPEN_BYTES]
    assert len(explored[0.0]) > 200
    assert most[0.0] <= 2 * 9 < most[OPEN_BYTES]


def test_a_better_incumbent_empties_the_frontier_and_the_account_remembers() -> None:
    """Nodes that a new incumbent closes are dropped at once; their bounds stay in the account."""
    problem = small_problem(8)
    tree = KnownTree(problem, weakness=1.0, offers=False)
    ledger, options = start(problem, gap=0.3)
    running = Search(tree, ledger, options)
    while running.nodes < 30:
        running.step()
    waiting = running.frontier.all().bound
    ledger.offer(np.argwhere(tree.truth == tree.optimum)[0], "start")
    closed = waiting[waiting >= ledger.cutoff]
    assert len(closed) > 0
    running.step()
    assert running.leaves <= closed.min()
    assert running.frontier.all().bound.max(initial=-math.inf) < ledger.cutoff
