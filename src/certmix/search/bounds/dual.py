"""The dual bound as the loop sees it: interval nodes, bounded by multipliers and exact pricing (design 3.1 and 3.5).

A node is the same as an interval node (boxes, size intervals, candidate sets), so both bounds apply to it and the
better one counts. Splits are the interval bound's: a mean, a size, or the component of a group.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from certmix.kernels.candidates import packed, undecided
from certmix.presolve.instance import Instance
from certmix.search.bounds.ascent import Ascent
from certmix.search.bounds.base import Explored
from certmix.search.bounds.central import CentralAscent
from certmix.search.bounds.classes import admissible, all_decided, candidates, classes_of, deserted
from certmix.search.bounds.completing import Completion
from certmix.search.bounds.interval import IntervalBound
from certmix.search.bounds.lagrangian import Lagrangian
from certmix.search.bounds.multipliers import features
from certmix.search.bounds.pricer import Pricer, PricingClass
from certmix.search.bounds.samples import Known, samples
from certmix.search.bounds.scale import Scale
from certmix.search.nodes import Nodes
from certmix.state import State
from certmix.threads import Threads


@dataclass(frozen=True)
class Tuning:
    """How long multipliers are worked on, and where."""

    root_iterations: int = 400
    node_iterations: int = 40
    sample_iterations: int = 100  # with some of the groups ...
    sample_gap: float = 0.5  # ... where that share of the gap is good enough
    pricing_work: float = 4e9  # triples (node, group, coordinate) of one exact pricing before it gives up ...
    fewest_pricing_nodes: int = 100_000  # ... but no fewer nodes
    most_pricing_nodes: int = 2_000_000  # ... and no more
    open_groups: int = 12  # with fewer, splitting is cheaper than multipliers
    most_groups: int = 20_000  # with no more, every group has a multiplier of its own from the start
    price_share: float = 0.02  # of the gap that is good enough, for each component: prices are so exact ...
    finest: float = 1e-9  # ... but no more exact than that, in units of the scale


TUNING = Tuning()


class DualBound:
    """Lagrangian bound with restricted multipliers on top of interval nodes.

    The features of multipliers are built around ``labels``, a good clustering of the samples. Prices are computed to a
    fraction of ``allowed``, the absolute gap that is good enough. With fewer open groups than ``fewest`` a node has the
    interval bound only. ``should_stop`` is asked between steps, ``on_root_bound`` hears of every bound that the root
    proves.
    """

    reaches = True

    def __init__(
        self,
        instance: Instance,
        labels: np.ndarray,
        *,
        allowed: float,
        seed: int = 0,
        fewest: int = TUNING.open_groups,
        threads: Threads | None = None,
        should_stop: Callable[[], bool] = lambda: False,
        on_root_bound: Callable[[float], None] = lambda bound: None,
    ) -> None:
        self.instance = instance
        self.threads = threads or Threads(1)
        self.interval = IntervalBound(instance, self.threads)
        # What is stored of nodes and how they are split: multipliers change neither.
        self.packed, self.restored = self.interval.packed, self.interval.restored
        self.branch = self.interval.branch
        self.arrays = self.interval.arrays
        self.pricer = Pricer(self.arrays)
        self.seed = seed
        self.fewest = fewest
        self.scale = Scale.of(instance, instance.contract(labels))
        self.resolution = self.resolution_for(allowed)
        self.should_stop = should_stop
        self.on_root_bound = on_root_bound
        # With several roots (one for each choice of empty components) none of them is the whole problem.
        self.only_root = len(self.interval.root()) == 1
        self.work = 0  # (pricing node, group, coordinate) triples looked at so far
        self._counting = Lock()
        self._completed = Completion(instance, self.arrays)
        self.root_ascent: Ascent | None = None
        self.labels = labels
        self.partition = [instance.contract(labels) == k for k in range(instance.n_components)]
        self.first = np.zeros(instance.n_groups)  # where the root starts; zeros stand for nowhere
        work = instance.n_groups * max(1, instance.n_features)
        nodes = max(TUNING.fewest_pricing_nodes, TUNING.pricing_work / work)
        self.pricing_nodes = int(min(nodes, TUNING.most_pricing_nodes))

    def resolution_for(self, gap: float) -> float:
        """How exactly prices are computed, where so large a gap is good enough."""
        return max(TUNING.price_share * gap / self.instance.n_components, TUNING.finest * self.scale.cost)

    @cached_property
    def phi(self) -> np.ndarray:
        """Features of the groups."""
        return features(self.instance, self.labels, self.scale)

    def root(self) -> Nodes:
        nodes, ascent = self.interval.root(), self.root_ascent
        first = self.first if ascent is None else ascent.best_t
        return Nodes({**nodes.fields, "multipliers": np.repeat(first[None], len(nodes), axis=0)})

    def _whole(self) -> Nodes:
        """All roots as one node, in which components may be empty: multipliers can bound that, boxes cannot."""
        fields = self.root().take(np.zeros(1, dtype=np.int64)).fields
        n, low = self.instance.n_samples, self.instance.size_lower
        mask = packed(self.instance.allowed)
        limits = {"a": low, "b": np.minimum(self.instance.size_upper, n), "mask": mask}
        return Nodes({**fields, **{name: x.astype(fields[name].dtype)[None] for name, x in limits.items()}})

    def state(self) -> State:
        """The best multipliers of the root: a start for the root of a later run, which proves their bound anew."""
        ascent = self.root_ascent
        return State(arrays={"root": self.first if ascent is None else ascent.best_t.copy()})

    def resumed(self, state: State, nodes: Nodes) -> Nodes:
        self.begin_from(state)
        return nodes

    def begin_from(self, state: State) -> None:
        """Begin the root with the multipliers of a state."""
        self.first = state.arrays.get("root", self.first)

    def explore(self, nodes: Nodes, cutoff: float) -> Explored:
        at_root = self.only_root and bool(np.all(nodes["depth"] == 0))
        if at_root:
            # The interval kernel would break the symmetry between components for little gain: only propagate.
            explored = self._root_explored(nodes)
        else:
            explored = self.interval.explore(nodes, cutoff)
        fields = {name: array.copy() for name, array in explored.nodes.fields.items()}
        loose = undecided(fields["mask"]).sum(axis=1)
        still = np.flatnonzero(explored.open & (fields["bound"] < cutoff) & (loose >= self.fewest))
        clusterings = list(explored.clusterings)
        results: list[tuple[float, np.ndarray, list[np.ndarray]] | None] = [None] * len(still)

        def work(first: int, last: int) -> None:
            for r in range(first, last):
                results[r] = self._lagrangian(explored.nodes, int(still[r]), cutoff, at_root)

        self.threads.over(len(still), work)
        for r, i in enumerate(still):
            found = results[r]
            if found is None:
                continue
            bound, multipliers, labels = found
            fields["bound"][i] = max(fields["bound"][i], bound)
            fields["multipliers"][i] = multipliers
            clusterings += labels
        opened = explored.open & (fields["bound"] < cutoff)
        if at_root and opened.any():
            # Where to split is the interval kernel's to say.
            again = self.interval.explore(Nodes(fields), cutoff)
            return Explored(again.nodes, again.open, [*clusterings, *again.clusterings])
        return Explored(Nodes(fields), opened, clusterings)

    def _root_explored(self, nodes: Nodes) -> Explored:
        from certmix.kernels.propagation import propagate

        fields = {name: array.copy() for name, array in nodes.fields.items()}
        mask = fields["mask"][0].astype(np.int64)
        alive = propagate(mask, fields["a"][0], fields["b"][0], self.instance.n_samples, self.arrays)
        fields["mask"][0] = mask
        if not alive:
            fields["bound"][0] = np.inf
        return Explored(Nodes(fields), np.array([alive]))

    def _ascent(self, nodes: Nodes, i: int, cutoff: float, at_root: bool) -> Ascent:
        """The ascent for one node, begun."""
        shift = self._shift(nodes, i)
        return self.begun(
            classes_of(self.instance, self.arrays, nodes, i),
            nodes["multipliers"][i],
            cutoff - shift,
            self.node_limit(at_root),
            seed=self.seed + int(nodes["depth"][i]),
            resolution=self.resolution,
            threads=self.threads if at_root else Threads(1),
            should_stop=self.should_stop,
            report=(lambda bound: self.on_root_bound(bound + shift)) if at_root else (lambda bound: None),
        )

    def begun(
        self,
        classes: list[PricingClass],
        multipliers: np.ndarray,
        aim: float,
        node_limit: int,
        **settings: Any,
    ) -> Ascent:
        """An ascent at the multipliers of a parent, or at the features of the problem where they are zero."""
        first = multipliers if np.any(multipliers) else None
        sets = self.partition if admissible(classes, self.partition) else None
        if self.instance.n_groups <= TUNING.most_groups and sets is not None and not all_decided(classes):
            central = CentralAscent(self.pricer, classes, self.scale, first=first, **settings)
            central.begin(sets, aim, node_limit)
            return central
        phi = self.phi
        if first is not None:
            weight = self.arrays.weight
            parent = (multipliers - self.scale.offset(self.arrays.scatter[0], weight)) / weight
            phi = np.column_stack([parent / self.scale.cost, phi])
        ascent = Lagrangian(self.pricer, classes, phi, self.scale, **settings)
        ascent.begin(sets, aim, node_limit)
        if first is None and sets is not None and ascent.best < aim:
            settings["report"] = lambda bound: None  # of other groups
            known = self._from_samples(classes, sets, aim, node_limit, **settings)
            if known is not None:
                ascent.take_up(known, aim, node_limit)
        return ascent

    def _from_samples(
        self,
        classes: list[PricingClass],
        sets: list[np.ndarray],
        aim: float,
        node_limit: int,
        **settings: Any,
    ) -> Known | None:
        """What some of the groups tell of the multipliers of all, where there are many."""
        known = None
        gap = self._cost(self.pricer, classes, sets) - aim
        for sample in samples(self.arrays):
            pricer, fewer = Pricer(sample.arrays(self.arrays)), sample.classes(classes)
            some = [members[sample.groups] for members in sets]
            there = self._cost(pricer, fewer, some) - TUNING.sample_gap * gap
            phi = self.phi[sample.groups]
            ascent = Lagrangian(pricer, fewer, phi, self.scale, further=False, **settings)
            ascent.begin(some, there, node_limit)
            if known is not None:
                ascent.take_up(known, there, node_limit)
            ascent.advance(there, TUNING.sample_iterations, node_limit)
            self.count(ascent.nodes, len(sample.groups))
            known = ascent.found()
        return known

    @staticmethod
    def _cost(pricer: Pricer, classes: list[PricingClass], sets: list[np.ndarray]) -> float:
        """Of a clustering."""
        return math.fsum(
            pricer.full_cost(c, sets[k]) if sets[k].any() else c.empty for c in classes for k in c.members
        )

    def _shift(self, nodes: Nodes, i: int) -> float:
        """What is added to the multipliers' bound: rounding, and empty components, which no set is priced for."""
        return float(self.arrays.entropy[nodes["b"][i] <= 0, 0].sum()) - self.instance.error

    def node_limit(self, at_root: bool) -> int:
        return self.pricing_nodes if at_root else self.pricing_nodes // 10

    def resume(self, should_stop: Callable[[], bool], threads: Threads) -> None:
        """Go on after the run whose clock and threads these bounds had."""
        self.should_stop, self.threads = should_stop, threads
        if self.root_ascent is not None:
            self.root_ascent.should_stop, self.root_ascent.threads = should_stop, threads

    @property
    def counts(self) -> bool:
        """Whether nodes may be told apart by how many means are on the sides of planes."""
        return isinstance(self.root_ascent, CentralAscent)

    @property
    def root_bound(self) -> float:
        """What the multipliers of the root have proved."""
        ascent = self.root_ascent
        return -math.inf if ascent is None else ascent.best + self.shift

    def advance_root(self, cutoff: float, work: float) -> bool:
        """Work on the root's multipliers for a while; True when nothing more is to be had from them."""
        if self.root_ascent is None:
            explored = self._root_explored(self._whole())
            if not explored.open[0]:
                return True
            self.root_ascent = self._ascent(explored.nodes, 0, cutoff, at_root=True)
        before = self.root_ascent.nodes
        budget = max(0.0, work / (self.instance.n_groups * self.instance.n_features))
        done = self.root_ascent.advance(
            cutoff + self.instance.error, TUNING.root_iterations, self.node_limit(True), budget
        )
        self.count(self.root_ascent.nodes - before)
        return done

    def count(self, nodes: int, groups: int | None = None) -> None:
        """Pricing nodes that were looked at, over all groups or so many."""
        with self._counting:
            self.work += nodes * (groups or self.instance.n_groups) * self.instance.n_features

    def _lagrangian(
        self, nodes: Nodes, i: int, cutoff: float, at_root: bool
    ) -> tuple[float, np.ndarray, list[np.ndarray]] | None:
        if self.should_stop():
            return None
        if deserted(self.instance, nodes, i):
            return math.inf, nodes["multipliers"][i], []
        shift = self._shift(nodes, i)
        if at_root:
            self.advance_root(cutoff, math.inf)
            assert self.root_ascent is not None
            ascent = self.root_ascent
        else:
            ascent = self._ascent(nodes, i, cutoff, at_root)
            ascent.advance(
                cutoff - shift, TUNING.node_iterations, self.node_limit(at_root), 4 * self.node_limit(at_root)
            )
            self.count(ascent.nodes)
        return ascent.best + shift, ascent.best_t, self._labels(ascent.partitions, nodes, i)

    def _labels(
        self, partitions: list[list[tuple[np.ndarray, int]]], nodes: Nodes, i: int
    ) -> list[np.ndarray]:
        """The clusterings that some nearly disjoint sets make in a node."""
        allowed = candidates(self.instance, nodes, i)
        labels = [self._completed(sets, allowed) for sets in partitions]
        return [x for x in labels if x is not None]

    def cover(self, cutoff: float) -> None:
        """Look for a better clustering among the sets that the root's multipliers have brought up."""
        if self.root_ascent is not None:
            self.root_ascent.cover(cutoff + self.instance.error)

    def clusterings(self) -> list[np.ndarray]:
        """Clusterings that the root's master suggests."""
        return [] if self.root_ascent is None else self.labels_of(self.root_ascent.partitions)

    def labels_of(self, partitions: list[list[tuple[np.ndarray, int]]]) -> list[np.ndarray]:
        """The clusterings that some nearly disjoint sets of the root make."""
        return self._labels(partitions, self._root_explored(self._whole()).nodes, 0)

    def root_classes(self) -> list[PricingClass]:
        """Those of the whole problem."""
        return classes_of(self.instance, self.arrays, self._root_explored(self._whole()).nodes, 0)

    @property
    def shift(self) -> float:
        """What is added to the multipliers' bound of the whole problem."""
        return self._shift(self._whole(), 0)
