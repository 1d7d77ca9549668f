"""The semidefinite bound as the loop sees it."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np

from certmix import memory
from certmix.local.moves import LocalSearch
from certmix.presolve.arrays import instance_arrays
from certmix.presolve.instance import Instance
from certmix.search.bounds.base import Explored
from certmix.search.bounds.scale import Scale
from certmix.search.bounds.semidefinite.contraction import Region
from certmix.search.bounds.semidefinite.pools import MOST_BLOCKS, most_entries
from certmix.search.bounds.semidefinite.record import NO_RECORD, SILENT_NOTE, Note, Recorder
from certmix.search.bounds.semidefinite.sizes import LEAST_SPLIT, smallest_size
from certmix.search.bounds.semidefinite.states import Multipliers, Warm, WarmStore
from certmix.search.bounds.semidefinite.steps import MARGIN
from certmix.search.bounds.semidefinite.visit import NodeVisit, Surroundings, VisitedNode
from certmix.search.bounds.semidefinite.warm import soft_minimum
from certmix.search.nodes import Nodes
from certmix.state import State
from certmix.threads import Threads

SPLIT_FROM = 250  # groups: with fewer, all sizes stay in one root


class SemidefiniteBound:
    """Size blocks of positive semidefinite matrices with shared multipliers (see :mod:`.admm`), on candidate sets.

    Parameters
    ----------
    labels : (n,), of a good clustering to start from, if one is known
    should_stop, on_root_bound : asked between rounds; told about every bound that the root proves
    recorder : writes the proof down, if it does; the search is the same with any
    split_from : from so many groups on the root is split by the smallest size
    entries : how many the blocks of a node may have, one matrix of each; by default :func:`.pools.most_entries`
    """

    reaches = True

    def __init__(
        self,
        instance: Instance,
        labels: np.ndarray | None,
        *,
        threads: Threads | None = None,
        should_stop: Callable[[], bool] = lambda: False,
        on_root_bound: Callable[[float], None] = lambda bound: None,
        recorder: Recorder = NO_RECORD,
        split_from: int = SPLIT_FROM,
        entries: float | None = None,
    ) -> None:
        self.instance, self.recorder, self.split_from = instance, recorder, split_from
        self.arrays = instance_arrays(instance)
        # Without a clustering, any split of the groups says where to look for pairs that are apart.
        self.labels = _any_labels(instance) if labels is None else instance.contract(labels)
        scale = Scale.of(instance, self.labels)
        self.T = soft_minimum(instance, self.labels, scale.cost)
        self.threads = threads or Threads(1)
        self.should_stop, self.on_root_bound = should_stop, on_root_bound
        self._proved = np.full(1, -np.inf)
        self._interrupted = False
        self._warm = WarmStore()
        self._local = LocalSearch(instance)
        self._improving = Lock()
        self._counting = Lock()
        self.work = 0  # entries of matrices, in every round anew
        self._around = Surroundings(
            instance,
            self.arrays,
            self.labels,
            self.T,
            scale.cost,
            most_entries(instance) if entries is None else entries,
            lambda: self._interrupted or self.should_stop(),
            self._improved,
            self._count,
        )

    def root(self) -> Nodes:
        """One root, for components that may be empty too, or two: a large one is split by the smallest size."""
        instance, N = self.instance, self.instance.n_groups
        memory.require(4.0 * N * N, f"pairs of {N:,} samples")
        apart = np.zeros((N, N), dtype=bool)
        pairs = instance.conflicts
        apart[pairs[:, 0], pairs[:, 1]] = apart[pairs[:, 1], pairs[:, 0]] = True
        root = {
            "allowed": instance.allowed,
            "a": instance.size_lower.astype(np.float64),
            "b": np.minimum(instance.size_upper, instance.n_samples).astype(np.float64),
            "record": self.recorder.add(),
            "bound": -math.inf,
            "warm": None,
        }
        roots = self._by_smallest(root, apart)
        objects = np.empty((2, len(roots)), dtype=object)
        for i, one in enumerate(roots):
            objects[0, i], objects[1, i] = apart, one["warm"]
        self._proved = np.array([r["bound"] for r in roots])
        return Nodes(
            {
                "bound": self._proved.copy(),
                **{name: np.stack([r[name] for r in roots]) for name in ("allowed", "a", "b")},
                "apart": objects[0],
                "warm": objects[1],
                "group": np.full(len(roots), -1),
                "component": np.full(len(roots), -1),
                "record": np.array([r["record"] for r in roots]),
                "root": np.arange(len(roots)),
            }
        )

    def _by_smallest(self, root: dict[str, Any], apart: np.ndarray) -> list[dict[str, Any]]:
        """Split a large root: a component is much smaller than the incumbent's smallest, or none is."""
        region = Region(root["allowed"], root["a"], root["b"], apart)
        found = None
        if self.instance.n_groups >= self.split_from and np.all(root["b"] > 0):
            fewest = min(LEAST_SPLIT, self.split_from)
            found = smallest_size(region, self.instance, self.labels, self._around.unit, fewest)
        if found is None:
            return [root]
        alike, size = found
        children: list[dict[str, Any]] = [
            {**root, "a": root["a"].copy(), "b": root["b"].copy()} for _ in range(2)
        ]
        for child, inside in zip(children, (True, False), strict=True):
            if inside:
                child["b"][alike[0]] = size
            else:
                child["a"][alike] = size + 1
            child["record"] = self.recorder.add(
                root["record"], component=int(alike[0]), size=size, inside=inside
            )
            if not self._around.stop():  # a first bound of each, before one of them has all the time
                region = Region(child["allowed"], child["a"], child["b"], apart).copy()
                note = self.recorder.begin(child["record"])
                visit = NodeVisit(self._around, region, None, -math.inf, math.inf, self.threads, note)
                child["bound"], child["warm"] = visit.glance()
        return children

    def packed(self, nodes: Nodes) -> Nodes:
        """Candidates as bits, pairs apart as compressed ones, of the method's state the multipliers.

        The matrices that the method starts from are kept aside, for as many nodes as there is room for.
        """
        starts = [Multipliers.of(w, self.instance.weight) for w in nodes["warm"]]
        apart = np.empty(len(nodes), dtype=object)
        for i, pairs in enumerate(nodes["apart"]):
            apart[i] = zlib.compress(np.packbits(pairs).tobytes(), 1)
        return Nodes(
            {
                **nodes.fields,
                "allowed": np.packbits(nodes["allowed"], axis=-1),
                "apart": apart,
                "warm": self._warm.put(nodes["warm"], nodes.bound),
                "T": np.stack([s.T for s in starts]),
                "sigma": np.array([s.sigma for s in starts]),
            }
        )

    def restored(self, nodes: Nodes) -> Nodes:
        N = self.instance.n_groups
        fields = {name: array for name, array in nodes.fields.items() if name not in ("T", "sigma")}
        fields["allowed"] = np.unpackbits(nodes["allowed"], axis=-1, count=self.instance.n_components).astype(
            bool
        )
        fields["apart"], fields["warm"] = np.empty((2, len(nodes)), dtype=object)
        for i, pairs in enumerate(nodes["apart"]):
            bits = np.frombuffer(zlib.decompress(pairs), dtype=np.uint8)
            fields["apart"][i] = np.unpackbits(bits, count=N * N).reshape(N, N).astype(bool)
            start: Warm | Multipliers | None = self._warm.take(int(nodes["warm"][i]))
            if start is None and nodes["sigma"][i] > 0.0:
                start = Multipliers(nodes["T"][i], float(nodes["sigma"][i]))
            fields["warm"][i] = start
        return Nodes(fields)

    def state(self) -> State:
        return State.joined(own=State({"roots": len(self._proved)}), record=self.recorder.state())

    def resumed(self, state: State, nodes: Nodes) -> Nodes:
        """Without the matrices that nodes started from, and without what was told of single roots."""
        self._proved = np.full(state.of("own").numbers["roots"], -np.inf)
        if record := state.of("record"):
            self.recorder.go_on(record, nodes["record"])
        else:  # it kept none, and half of one is none
            self.recorder = NO_RECORD
        return Nodes({**nodes.fields, "warm": np.full(len(nodes), -1, dtype=nodes["warm"].dtype)})

    def explore(self, nodes: Nodes, cutoff: float) -> Explored:
        visits: list[VisitedNode] = [None] * len(nodes)  # type: ignore[list-item]
        alone = len(nodes) == 1 or self._entries(nodes) > self._around.most_entries
        if math.isfinite(cutoff):
            cutoff += MARGIN * max(1.0, abs(cutoff))

        def taken(i: int) -> Warm | Multipliers | None:
            """Where a node starts. Its matrices are the visit's alone, which gives them up as soon as it has begun."""
            start = nodes["warm"][i]
            nodes["warm"][i] = Multipliers.of(start, self.instance.weight)
            return start

        def work(first: int, last: int) -> None:
            for i in range(first, last):
                region = region_of(nodes, i).copy()
                visits[i] = self.visit(
                    region,
                    taken(i),
                    float(nodes.bound[i]),
                    cutoff,
                    self.threads if alone else Threads(1),
                    int(nodes["root"][i]) if nodes["depth"][i] == 0 else -1,
                    self.recorder.begin(int(nodes["record"][i])),
                )

        try:
            if alone:
                work(0, len(nodes))
            else:
                self.threads.over(len(nodes), work)
        except KeyboardInterrupt:
            self._interrupted = True  # visits in other threads end after their round
            raise
        fields = {name: array.copy() for name, array in nodes.fields.items()}
        for i, v in enumerate(visits):
            fields["bound"][i] = max(fields["bound"][i], v.bound)
            if nodes["depth"][i] == 0:
                self._proved[nodes["root"][i]] = min(float(fields["bound"][i]), cutoff)
            fields["allowed"][i], fields["a"][i], fields["b"][i] = v.region.allowed, v.region.a, v.region.b
            fields["apart"][i], fields["warm"][i] = v.region.apart, v.warm
            fields["group"][i], fields["component"][i] = v.group, v.component
            if not v.open:
                self.recorder.settled(int(nodes["record"][i]))
        found = [self.instance.expand(v.found) for v in visits if v.found is not None]
        return Explored(Nodes(fields), np.array([v.open for v in visits]), found)

    def _entries(self, nodes: Nodes) -> float:
        """How many entries the blocks of nodes are likely to have at most."""
        points = (np.count_nonzero(nodes["allowed"], axis=2) > 1).sum(axis=1) + self.instance.n_components
        return float(MOST_BLOCKS * self.instance.n_components * (points**2).sum())

    def branch(self, explored: Explored) -> Nodes:
        """A group is in a component, or it is not.

        Among components that can still be exchanged the first stands for all: in the other child the group is in none
        of them.
        """
        nodes = explored.nodes
        children = []
        for i in range(len(nodes)):
            row = nodes.take(np.array([i]))
            group, k = int(row["group"][0]), int(row["component"][0])
            same = next(ks for ks in region_of(row, 0).untouched(self.instance) if k in ks)
            components = np.arange(self.instance.n_components)
            for inside, left in (
                (True, components == same[0]),
                (False, row["allowed"][0, group] & ~np.isin(components, same)),
            ):
                if not left.any():
                    continue
                child = row.take(np.array([0]))
                child["allowed"][0, group] = left
                child["depth"][0] += 1
                child["record"][0] = self.recorder.add(
                    int(row["record"][0]), group=group, component=int(same[0]), inside=inside
                )
                children.append(child)
        return Nodes.join(children) if children else nodes.take(np.zeros(0, dtype=np.int64))

    def visit(
        self,
        region: Region,
        warm: Warm | Multipliers | None,
        bound: float,
        cutoff: float,
        threads: Threads,
        root: int = -1,
        note: Note = SILENT_NOTE,
    ) -> VisitedNode:
        """Contract and bound one node until it is closed or stalls; ``root`` is its number if it is one."""

        def proved(value: float) -> None:
            self._proved[root] = value
            self.on_root_bound(float(self._proved.min()))

        told = proved if root >= 0 else None
        node = NodeVisit(self._around, region, warm, bound, cutoff, threads, note, told)
        del warm
        return node.run()

    def _count(self, entries: int) -> None:
        with self._counting:
            self.work += entries

    def _improved(self, means: np.ndarray) -> np.ndarray | None:
        """A clustering of the groups by local search."""
        with self._improving:
            found = self._local.from_means(means)
        return None if found is None else found[0]


def region_of(nodes: Nodes, i: int) -> Region:
    """What is possible in one of the nodes."""
    return Region(*(nodes[name][i] for name in ("allowed", "a", "b", "apart")))


def _any_labels(instance: Instance) -> np.ndarray:
    """Labels of the groups that respect their candidates, for want of better ones."""
    start = np.arange(instance.n_groups) % instance.n_components
    allowed = np.where(instance.allowed.any(axis=1, keepdims=True), instance.allowed, True)
    return np.array([k if allowed[g, k] else int(np.argmax(allowed[g])) for g, k in enumerate(start)])
