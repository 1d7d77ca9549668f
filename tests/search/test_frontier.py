"""Nodes as arrays, and the queue of open nodes."""

from __future__ import annotations

import math
import weakref

import numpy as np
import pytest

from certmix.search.frontier import Frontier
from certmix.search.nodes import Nodes


def some_nodes(bounds: list[float], first: int = 0) -> Nodes:
    """Nodes with the given bounds, numbered from ``first`` on."""
    numbers = np.arange(first, first + len(bounds))
    return Nodes(
        {"bound": np.array(bounds), "number": numbers, "box": np.repeat(numbers[:, None] * 1.0, 3, axis=1)}
    )


def test_nodes_need_a_bound_and_get_a_depth() -> None:
    """Every set of nodes carries bounds; depth starts at zero."""
    with pytest.raises(ValueError, match="bound"):
        Nodes({"number": np.arange(3)})
    assert some_nodes([1.0, 2.0])["depth"].tolist() == [0, 0]


def test_take_and_join_are_inverse() -> None:
    """Nodes taken apart and joined again are the same nodes; what is taken is a copy."""
    nodes = some_nodes([3.0, 1.0, 2.0])
    parts = [nodes.take(np.array([0])), nodes.take(np.array([False, True, True]))]
    joined = Nodes.join(parts)
    assert joined["number"].tolist() == [0, 1, 2]
    parts[0]["box"][0] = -1.0
    assert nodes["box"][0].tolist() == [0.0, 0.0, 0.0]


def test_best_bound_first_and_oldest_first_among_equals() -> None:
    """Nodes come out by bound; ties by age, so that a run can be repeated."""
    frontier = Frontier(some_nodes([2.0, 1.0, 2.0, 1.0]))
    assert frontier.bound == 1.0
    assert frontier.pop(3)["number"].tolist() == [1, 3, 0]
    frontier.push(some_nodes([2.0, 0.5], first=10))
    assert frontier.pop(9)["number"].tolist() == [11, 2, 10]
    assert len(frontier) == 0
    assert frontier.bound == 0.5  # until it is known what became of them
    frontier.settled()
    assert frontier.bound == math.inf


def test_rows_stay_with_their_nodes() -> None:
    """Through thousands of pushes and pops every node keeps its own fields, like in a plain sorted list."""
    rng = np.random.default_rng(0)
    frontier = Frontier(some_nodes([0.0]))
    plain = [(0.0, 0)]
    count = 1
    for _ in range(300):
        bounds = rng.integers(0, 50, size=rng.integers(0, 30)).astype(float).tolist()
        if bounds:
            frontier.push(some_nodes(bounds, first=count))
        plain += [(b, count + i) for i, b in enumerate(bounds)]
        count += len(bounds)
        plain.sort()
        most = int(rng.integers(1, 25))
        popped = frontier.pop(most)
        expected, plain = plain[:most], plain[most:]
        assert list(zip(popped.bound.tolist(), popped["number"].tolist(), strict=True)) == expected
        assert np.array_equal(popped["box"], np.repeat(popped["number"][:, None] * 1.0, 3, axis=1))
        assert len(frontier) == len(plain)
        frontier.settled()
        assert frontier.bound == (plain[0][0] if plain else math.inf)


def test_prune_drops_what_reaches_the_cutoff() -> None:
    """Nodes at or above the cutoff go, the others stay, and their places are used again."""
    frontier = Frontier(some_nodes([5.0, 1.0, 3.0, 3.5]))
    assert sorted(frontier.prune(3.0)) == [3.0, 3.5, 5.0]
    assert len(frontier.prune(3.0)) == 0
    assert len(Frontier(some_nodes([math.nextafter(3.0, 0.0)])).prune(3.0)) == 0
    frontier.push(some_nodes([2.0, 0.0], first=20))
    assert frontier.all()["number"].tolist() == [21, 1, 20]
    assert frontier.pop(5)["number"].tolist() == [21, 1, 20]


def test_the_largest_bounds_come_first_when_asked_for() -> None:
    """Diving takes the largest bound, among equals the youngest node; the rest stays in order."""
    frontier = Frontier(some_nodes([2.0, 1.0, 2.0, 1.0, 3.0]))
    assert frontier.pop(2, best=False)["number"].tolist() == [4, 2]
    assert frontier.pop(1, best=False)["number"].tolist() == [0]
    assert frontier.pop(9)["number"].tolist() == [1, 3]


class Thing:
    """An object that a node carries."""

    def __len__(self) -> int:
        return 0


def test_nodes_that_were_taken_or_dropped_are_forgotten() -> None:
    """Nothing here keeps a settled or pruned node's objects alive, and places are given back."""
    frontier = Frontier(Nodes({"bound": np.zeros(1), "thing": np.array([Thing()])}))
    frontier.pop(1)
    things = np.array([Thing() for _ in range(100)], dtype=object)
    alive = [weakref.ref(thing) for thing in things]
    frontier.push(Nodes({"bound": np.arange(100.0), "thing": things}))
    del things
    frontier.pop(50)
    frontier.settled()
    assert sum(r() is not None for r in alive) == 50
    frontier.prune(60.0)
    assert sum(r() is not None for r in alive) == 10


def test_nodes_wait_in_their_packed_form() -> None:
    """What is stored is what the packing says; what comes out has been made whole; full goes by stored bytes."""

    class Halved:
        def packed(self, nodes: Nodes) -> Nodes:
            return Nodes({"bound": nodes.bound, "depth": nodes["depth"], "x": nodes["x"].astype(np.int8)})

        def restored(self, nodes: Nodes) -> Nodes:
            return Nodes({**nodes.fields, "x": nodes["x"].astype(np.int64)})

    nodes = Nodes({"bound": np.arange(10.0), "x": np.tile(np.arange(10)[:, None], (1, 1000))})
    frontier = Frontier(nodes, Halved(), most_bytes=9.5 * 1024)
    assert frontier.row_bytes == 1024  # 1000 bytes, bound, depth and age
    assert frontier.full
    popped = frontier.pop(1)
    assert not frontier.full
    assert popped["x"].dtype == np.int64
    assert popped["x"][0].tolist() == [0] * 1000
