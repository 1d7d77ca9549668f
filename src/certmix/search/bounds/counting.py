"""Nodes by how many means lie on the sides of planes: what closes the gap of a root with many components."""

from __future__ import annotations

import math

import numpy as np

from certmix.search.bounds.base import Explored
from certmix.search.bounds.central import CentralAscent, FoundSet
from certmix.search.bounds.dual import DualBound
from certmix.search.bounds.planes import best_plane
from certmix.search.bounds.sides import Side, Sides
from certmix.search.bounds.trios import NO_TRIOS, TrioPrices
from certmix.search.nodes import Nodes
from certmix.threads import Threads

MOST_SIDES = 24
ITERATIONS = 400  # of an ascent: it ends by itself, and cut short it leaves a leaf that no plane splits
BUDGET = 4  # times the limit of one pricing


class CountingBound:
    """The dual bound of nodes that know how many means are on which side of some planes.

    A node's children have at least so many on the left of one more plane, or fewer: the plane is one that the master
    program of the node has a fraction of a component on the left of. A node without such a plane is a leaf, with the
    bound that it has. Sets that one node has found serve those that come after it, so only a few are looked at side
    by side: all but the sets that no better clustering of a node has.
    """

    reaches = True

    def __init__(self, dual: DualBound) -> None:
        self.dual = dual
        ascent = dual.root_ascent
        self.sets: list[FoundSet] = ascent.sets() if isinstance(ascent, CentralAscent) else []
        self.seen = {(each.owner, each.members.tobytes()) for each in self.sets}
        # What was proved of a node, or how it was split: a certificate follows it.
        self.proved: dict[Sides, tuple[np.ndarray, np.ndarray]] = {}
        self.trios: dict[Sides, TrioPrices] = {}  # of the nodes so far, for their children
        self.split: dict[Sides, Side] = {}

    def root(self) -> Nodes:
        shape = (1, MOST_SIDES)
        return Nodes(
            {
                "bound": np.array([self.dual.root_bound]),
                "depth": np.zeros(1, dtype=np.int32),
                "axis": np.full(shape, -1, dtype=np.int8),
                "at": np.zeros(shape),
                "least": np.zeros(shape, dtype=np.int32),
                "left": np.zeros(shape, dtype=bool),
                "prices": np.zeros(shape),
                "multipliers": self.dual.root()["multipliers"][:1],
            }
        )

    def explore(self, nodes: Nodes, cutoff: float) -> Explored:
        fields = {name: array.copy() for name, array in nodes.fields.items()}
        opened = np.zeros(len(nodes), dtype=bool)
        found: list[tuple[CentralAscent, Side | None] | None] = [None] * len(nodes)
        threads = self.dual.threads if len(nodes) == 1 else Threads(1)

        def work(first: int, last: int) -> None:
            for i in range(first, last):
                if not self.dual.should_stop():
                    found[i] = self._look(nodes, i, cutoff, threads)

        self.dual.threads.over(len(nodes), work)
        clusterings = []
        for i, answer in enumerate(found):
            if answer is None:
                opened[i] = True  # nothing is known of it that was not before
                continue
            (ascent, plane), sides = answer, sides_of(nodes, i)
            self._keep(ascent)
            self.trios[sides] = ascent.best_trios
            fields["bound"][i] = max(fields["bound"][i], ascent.best + self.dual.shift)
            fields["multipliers"][i] = ascent.best_t
            fields["prices"][i, : len(sides)] = ascent.best_prices
            clusterings += self.dual.labels_of(ascent.partitions)
            if fields["bound"][i] >= cutoff:
                self.proved[sides] = ascent.best_t, ascent.best_prices
            elif plane is not None:
                self.split[sides] = plane
                opened[i] = True
        return Explored(Nodes(fields), opened, clusterings)

    def _look(
        self, nodes: Nodes, i: int, cutoff: float, threads: Threads
    ) -> tuple[CentralAscent, Side | None]:
        """The ascent of a node, and the plane to split it by if that is worth it."""
        sides, ascent = sides_of(nodes, i), self.dual.root_ascent
        if len(sides) or not isinstance(ascent, CentralAscent):
            prices = nodes["prices"][i, : len(sides)]
            ascent = self.ascent(
                sides, nodes["multipliers"][i], prices, cutoff, float(nodes.bound[i]), threads
            )
        bound = max(float(nodes.bound[i]), ascent.best + self.dual.shift)
        if bound >= cutoff or len(sides) >= MOST_SIDES:
            return ascent, None
        return ascent, best_plane(ascent, cutoff - bound)

    def ascent(
        self,
        sides: Sides,
        multipliers: np.ndarray,
        prices: np.ndarray,
        cutoff: float,
        known: float = -math.inf,
        threads: Threads | None = None,
    ) -> CentralAscent:
        """The ascent of a node, to its end."""
        dual = self.dual
        limit = dual.node_limit(True)
        ascent = CentralAscent(
            dual.pricer,
            dual.root_classes(),
            dual.scale,
            first=multipliers if np.any(multipliers) else None,
            prices=prices,
            sets=self._near(sides, multipliers, prices, cutoff - known),
            trios=self._told(sides),
            known=known - dual.shift,
            sides=sides,
            seed=dual.seed + len(sides),
            resolution=dual.resolution,
            threads=threads or dual.threads,
            should_stop=dual.should_stop,
        )
        ascent.begin(dual.partition, cutoff - dual.shift, limit)
        ascent.advance(cutoff - dual.shift, ITERATIONS, limit, BUDGET * limit)
        dual.count(ascent.nodes)
        return ascent

    def _told(self, sides: Sides) -> TrioPrices:
        """The trios of a node, or else of the nearest one above it that is known: those that cost something."""
        for depth in range(len(sides), -1, -1):
            if (above := Sides(sides.all[:depth])) in self.trios:
                return self.trios[above].paid()
        ascent = self.dual.root_ascent
        return NO_TRIOS if ascent is None else ascent.best_trios.paid()

    def _near(
        self, sides: Sides, multipliers: np.ndarray, prices: np.ndarray, lacking: float
    ) -> list[FoundSet]:
        """The sets whose reduced cost, at the multipliers of a node's parent, is no more than what is lacking there."""
        if not self.sets or not math.isfinite(lacking):
            return self.sets
        members, means = np.array([s.members for s in self.sets]), np.array([s.mean for s in self.sets])
        trios = self._told(sides)
        reduced = np.array([each.cost for each in self.sets]) - members @ multipliers
        reduced += trios.held(members) @ trios.prices
        for side, price in zip(sides.all, prices, strict=True):
            reduced -= price * (means[:, side.axis] <= side.at)
        for owner in {each.owner for each in self.sets}:
            mine = np.array([each.owner == owner for each in self.sets])
            reduced[mine] -= reduced[mine].min()
        return [each for each, over in zip(self.sets, reduced, strict=True) if over <= lacking]

    def _keep(self, ascent: CentralAscent) -> None:
        """The sets of a node, for all that come after it."""
        for found in ascent.sets():
            key = found.owner, found.members.tobytes()
            if key not in self.seen:
                self.seen.add(key)
                self.sets.append(found)

    def branch(self, explored: Explored) -> Nodes:
        nodes = explored.nodes
        known = [sides_of(nodes, i) for i in range(len(nodes))]
        # Those that were not looked at stay as they are.
        children = [
            (i, left)
            for i, sides in enumerate(known)
            for left in (True, False)
            if left or sides in self.split
        ]
        fields = nodes.take(np.array([i for i, _ in children], dtype=np.int64)).fields
        for child, (i, left) in enumerate(children):
            if known[i] in self.split:
                plane, depth = self.split[known[i]], len(known[i])
                fields["depth"][child] = depth + 1
                fields["axis"][child, depth], fields["at"][child, depth] = plane.axis, plane.at
                fields["least"][child, depth], fields["left"][child, depth] = plane.least, left
        return Nodes(fields)


def sides_of(nodes: Nodes, i: int) -> Sides:
    """The sides that a node knows."""
    depth = int(nodes["depth"][i])
    columns = (nodes[name][i, :depth].tolist() for name in ("axis", "at", "least", "left"))
    return Sides(tuple(Side(*side) for side in zip(*columns, strict=True)))
