"""The account of a search: no leaf drops out of it, no bound falls, children hold what their parent held."""

from __future__ import annotations

import math

import numpy as np
import pytest

from certmix.ledger import Ledger
from certmix.options import Options
from certmix.presolve.instance import reduce
from certmix.problem import Problem
from certmix.search.bounds.base import Explored
from certmix.search.bounds.interval import IntervalBound
from certmix.search.loop import Search
from certmix.search.nodes import Nodes
from certmix.status import Termination

PROBLEM = Problem(np.array([0.0, 0.1, 3.0, 3.2])[:, None], 2, variance=1.0)
BEST = np.array([0, 0, 1, 1])


class Forest:
    """Roots with known bounds; exploring the first one finds the best clustering and closes it at infinity."""

    reaches = True

    def __init__(self, bounds: list[float]) -> None:
        self.bounds = np.array(bounds)

    def root(self) -> Nodes:
        return Nodes({"bound": self.bounds.copy()})

    def explore(self, nodes: Nodes, cutoff: float) -> Explored:
        fields = {name: array.copy() for name, array in nodes.fields.items()}
        fields["bound"][:] = math.inf
        return Explored(Nodes(fields), np.zeros(len(nodes), dtype=bool), [BEST])

    def branch(self, explored: Explored) -> Nodes:
        return explored.nodes.take(np.zeros(0, dtype=np.int64))


def test_a_node_that_was_closed_unseen_counts_with_its_bound() -> None:
    """An incumbent closes nodes that nobody has looked at: no more than their own bounds is proved."""
    upper = PROBLEM.objective.best(BEST).value
    waiting = upper - 0.05 * upper
    options = Options(gap=0.1)
    ledger = Ledger(PROBLEM, options.tolerances)
    search = Search(Forest([-math.inf, waiting]), ledger, options)
    assert search.run() in (Termination.GAP, Termination.EXHAUSTED)
    assert ledger.bound <= waiting


def test_a_node_that_is_dropped_among_open_ones_counts_with_its_bound() -> None:
    """The same where nodes that are explored after that are compared with a little more than the gap asks for."""
    upper, options = PROBLEM.objective.best(BEST).value, Options(gap=1e-6)
    waiting = 0.5 * (options.tolerances.cutoff(upper) + options.tolerances.exclusion(upper))
    ledger, forest = Ledger(PROBLEM, options.tolerances), Forest([-math.inf, 0.5 * upper, waiting])
    forest.reaches = False
    search = Search(forest, ledger, options)
    assert search.run() in (Termination.GAP, Termination.EXHAUSTED)
    assert ledger.nodes == 2
    assert ledger.bound == waiting


def test_the_bound_never_falls_and_never_passes_the_incumbent() -> None:
    """Whatever an engine says later, what was proved stays proved; and the optimum is at most the incumbent."""
    ledger = Ledger(PROBLEM, Options().tolerances)
    ledger.raise_bound(1.0)
    ledger.raise_bound(0.5)
    assert ledger.bound == 1.0
    assert ledger.offer(BEST, "test")
    ledger.raise_bound(math.inf)
    assert ledger.bound == ledger.upper
    with pytest.raises(AssertionError):
        ledger.raise_bound(math.nan)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_size_is_lost_between_children(size: int) -> None:
    """The size intervals of the two children of a size split are next to each other."""
    from certmix.kernels.splitting import SPLIT_SIZE

    bound = IntervalBound(reduce(PROBLEM))
    nodes = bound.root()
    nodes["kind"][0], nodes["which"][0], nodes["at"][0] = SPLIT_SIZE, 1, size
    children = bound.branch(Explored(nodes, np.array([True])))
    assert children["a"][0, 1] == nodes["a"][0, 1]
    assert children["b"][0, 1] == size
    assert children["a"][1, 1] == size + 1
    assert children["b"][1, 1] == nodes["b"][0, 1]


def test_no_piece_of_a_box_is_lost_between_children() -> None:
    """The boxes of the two children of a split of a mean have their common side at the cut."""
    from certmix.kernels.splitting import SPLIT_MEAN

    bound = IntervalBound(reduce(PROBLEM))
    nodes = bound.root()
    low, high = nodes["lo"][0, 1, 0], nodes["hi"][0, 1, 0]
    cut = 0.7 * low + 0.3 * high
    nodes["kind"][0], nodes["which"][0], nodes["index"][0], nodes["at"][0] = SPLIT_MEAN, 1, 0, cut
    children = bound.branch(Explored(nodes, np.array([True])))
    assert children["lo"][:, 1, 0].tolist() == [low, cut]
    assert children["hi"][:, 1, 0].tolist() == [cut, high]
