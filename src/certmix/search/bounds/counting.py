"""Nodes by how many means lie on the sides of planes: what closes the gap of a root with many components."""

from __future__ import annotations

import numpy as np

from certmix.search.bounds.base import Explored
from certmix.search.bounds.central import CentralAscent, FoundSet
from certmix.search.bounds.dual import DualBound
from certmix.search.bounds.planes import best_plane
from certmix.search.bounds.sides import Side, Sides
from certmix.search.nodes import Nodes

MOST_SIDES = 24
ITERATIONS = 100
RISE = 0.05  # a node whose bound rose by less of what is lacking is not split again
BUDGET = 4  # times the limit of one pricing


class CountingBound:
    """The dual bound of nodes that know how many means are on which side of some planes.

    A node's children have at least so many on the left of one more plane, or fewer: the plane is one that the master
    program of the node has a fraction of a component on the left of. A node without such a plane is a leaf, with the
    bound that it has. Sets that one node has found serve all that come after it, so nodes are looked at one by one.
    """

    reaches = True

    def __init__(self, dual: DualBound) -> None:
        self.dual = dual
        ascent = dual.root_ascent
        self.sets: list[FoundSet] = ascent.sets() if isinstance(ascent, CentralAscent) else []
        self.seen = {(c, members.tobytes()) for members, c, _ in self.sets}
        # What was proved of a node, or how it was split: a certificate follows it.
        self.proved: dict[Sides, tuple[np.ndarray, np.ndarray]] = {}
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
        opened, clusterings = np.zeros(len(nodes), dtype=bool), []
        for i in range(len(nodes)):
            if self.dual.should_stop():
                opened[i] = True  # nothing is known of it that was not before
                continue
            sides = sides_of(nodes, i)
            ascent = self.dual.root_ascent
            if len(sides) or not isinstance(ascent, CentralAscent):
                ascent = self.ascent(sides, nodes["multipliers"][i], nodes["prices"][i, : len(sides)], cutoff)
            fields["bound"][i] = max(fields["bound"][i], ascent.best + self.dual.shift)
            fields["multipliers"][i] = ascent.best_t
            fields["prices"][i, : len(sides)] = ascent.best_prices
            clusterings += self.dual.labels_of(ascent.partitions)
            if fields["bound"][i] >= cutoff:
                self.proved[sides] = ascent.best_t, ascent.best_prices
                continue
            lacking = cutoff - fields["bound"][i]
            rose = len(sides) == 0 or fields["bound"][i] - nodes.bound[i] > RISE * lacking
            plane = best_plane(ascent, lacking) if rose and len(sides) < MOST_SIDES else None
            if plane is not None:
                self.split[sides] = plane
                opened[i] = True
        return Explored(Nodes(fields), opened, clusterings)

    def ascent(
        self, sides: Sides, multipliers: np.ndarray, prices: np.ndarray, cutoff: float
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
            sets=self.sets,
            sides=sides,
            seed=dual.seed + len(sides),
            resolution=dual.resolution,
            threads=dual.threads,
            should_stop=dual.should_stop,
        )
        ascent.begin(dual.partition, cutoff - dual.shift, limit)
        ascent.advance(cutoff - dual.shift, ITERATIONS, limit, BUDGET * limit)
        dual.count(ascent.nodes)
        for members, c, slope in ascent.sets():
            key = c, members.tobytes()
            if key not in self.seen:
                self.seen.add(key)
                self.sets.append((members, c, slope))
        return ascent

    def branch(self, explored: Explored) -> Nodes:
        children: list[dict[str, np.ndarray]] = []
        for i in range(len(explored.nodes)):
            sides = sides_of(explored.nodes, i)
            own = explored.nodes.take(np.array([i])).fields
            if sides not in self.split:  # it was not looked at
                children.append(own)
                continue
            plane, depth = self.split[sides], len(sides)
            for left in (True, False):
                child = {name: array.copy() for name, array in own.items()}
                child["depth"][0] = depth + 1
                for name, value in zip(
                    ("axis", "at", "least", "left"), (plane.axis, plane.at, plane.least, left), strict=True
                ):
                    child[name][0, depth] = value
                children.append(child)
        if not children:
            return explored.nodes.take(np.zeros(0, dtype=np.int64))
        return Nodes({name: np.concatenate([c[name] for c in children]) for name in children[0]})


def sides_of(nodes: Nodes, i: int) -> Sides:
    """The sides that a node knows."""
    depth = int(nodes["depth"][i])
    columns = (nodes[name][i, :depth].tolist() for name in ("axis", "at", "least", "left"))
    return Sides(tuple(Side(*side) for side in zip(*columns, strict=True)))
