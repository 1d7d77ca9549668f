"""The semidefinite bound as the loop sees it."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from certmix import memory
from certmix.local.moves import LocalSearch
from certmix.presolve.arrays import instance_arrays
from certmix.presolve.instance import Instance
from certmix.search.bounds.base import Explored
from certmix.search.bounds.interval import IntervalBound
from certmix.search.bounds.leaves import exact_value
from certmix.search.bounds.semidefinite.admm import Method
from certmix.search.bounds.semidefinite.contraction import Contraction, Domain, contract
from certmix.search.bounds.semidefinite.fixing import (
    exclude_members,
    exclude_sizes,
    find_pairs_apart,
    margins,
)
from certmix.search.bounds.semidefinite.geometry import Geometry
from certmix.search.bounds.semidefinite.pools import pools_of
from certmix.search.bounds.semidefinite.record import MARGIN, Note, Recorder, grain_for
from certmix.search.bounds.semidefinite.refining import refine, separate
from certmix.search.bounds.semidefinite.safe import prove
from certmix.search.bounds.semidefinite.sizes import FEWEST, smallest_size
from certmix.search.bounds.semidefinite.warm import (
    Multipliers,
    Warm,
    WarmStore,
    cold_start,
    keep,
    soft_minimum,
    warm_start,
)
from certmix.search.nodes import Nodes
from certmix.search.threads import Threads

SIGMA = 2.0  # the penalty at first, per sample
ROUND = 10  # iterations between two proofs
PATIENCE, RATE = 3, 0.1  # a node stalls when so many rounds close less than this share of the gap
MOST_PAIRED = 200  # with named components and more super-points, pairs are not worth looking at
HASTE = 2, 0.3  # likewise, for narrower blocks
ROOT_ROUNDS = 60
NODE_ROUNDS = 30
SPLIT_FROM = 250  # groups: with fewer, all sizes stay in one root


@dataclass
class Visit:
    """A node after bounding."""

    domain: Domain
    bound: float
    open: bool
    warm: Warm | None = None
    group: int = -1
    component: int = -1
    found: np.ndarray | None = None


class SemidefiniteBound:
    """Size blocks of positive semidefinite matrices with shared multipliers (see :mod:`.admm`), on candidate sets.

    Parameters
    ----------
    instance : Instance
    labels : ndarray of n labels, optional
        A good clustering, to start from.
    should_stop, on_root_bound : callables
        Asked between rounds; told about every bound that the root proves.
    recorder : Recorder, optional
        Writes the proof down.
    split_from : int
        From so many groups on the root is split by the smallest size.
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
        recorder: Recorder | None = None,
        split_from: int = SPLIT_FROM,
    ) -> None:
        self.instance, self.recorder, self.split_from = instance, recorder, split_from
        self.arrays = instance_arrays(instance)
        # Without a clustering, any split of the groups says where to look for pairs that are apart.
        self.labels = _any_labels(instance) if labels is None else instance.contract(labels)
        self.T = soft_minimum(instance, self.labels)
        self.threads = threads or Threads(1)
        self.should_stop, self.on_root_bound = should_stop, on_root_bound
        self._roots = IntervalBound(instance).root()
        self._proved = np.full(len(self._roots), -np.inf)
        self._interrupted = False
        self._warm = WarmStore()
        # A checker of the record knows nothing of exchange arguments.
        self._geometry = Geometry(instance) if recorder is None else None
        self._local = LocalSearch(instance)
        self._improving = Lock()

    def root(self) -> Nodes:
        """The roots: one for each choice of empty components, some of them split by the smallest size."""
        nodes, N = self._roots, self.instance.n_groups
        memory.require(4.0 * N * N, f"pairs of {N:,} samples")
        apart = np.zeros((N, N), dtype=bool)
        pairs = self.instance.conflicts
        apart[pairs[:, 0], pairs[:, 1]] = apart[pairs[:, 1], pairs[:, 0]] = True
        roots = []
        for i in range(len(nodes)):
            record = -1 if self.recorder is None else self.recorder.add_root(nodes["b"][i])
            mask = nodes["mask"][i].astype(np.int64)
            root = {"mask": mask, "a": nodes["a"][i], "b": nodes["b"][i], "record": record}
            roots += self._by_smallest(root, apart)
        objects = np.empty((2, len(roots)), dtype=object)
        for i in range(len(roots)):
            objects[0, i] = apart
        self._proved = np.full(len(roots), -np.inf)
        return Nodes(
            {
                "bound": np.full(len(roots), -np.inf),
                **{name: np.stack([r[name] for r in roots]) for name in ("mask", "a", "b")},
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
        domain = Domain(root["mask"], root["a"], root["b"], apart)
        found = None
        if self.instance.n_groups >= self.split_from:
            found = smallest_size(domain, self.instance, self.labels, min(FEWEST, self.split_from))
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
            if self.recorder is not None:
                child["record"] = self.recorder.add_size(root["record"], int(alike[0]), size, inside)
        return children

    def packed(self, nodes: Nodes) -> Nodes:
        """Candidates in few bytes, pairs apart as compressed bits, of the method's state the multipliers.

        The matrices that the method starts from are kept aside, for as many nodes as there is room for.
        """
        starts = [Multipliers.of(w, self.instance.weight) for w in nodes["warm"]]
        apart = np.empty(len(nodes), dtype=object)
        for i, pairs in enumerate(nodes["apart"]):
            apart[i] = zlib.compress(np.packbits(pairs).tobytes(), 1)
        return Nodes(
            {
                **nodes.fields,
                "mask": nodes["mask"].astype(self._roots["mask"].dtype),
                "apart": apart,
                "warm": self._warm.put(nodes["warm"], nodes.bound),
                "T": np.stack([s.T for s in starts]),
                "sigma": np.array([s.sigma for s in starts]),
            }
        )

    def restored(self, nodes: Nodes) -> Nodes:
        N = self.instance.n_groups
        fields = {name: array for name, array in nodes.fields.items() if name not in ("T", "sigma")}
        fields["mask"] = nodes["mask"].astype(np.int64)
        fields["apart"], fields["warm"] = np.empty((2, len(nodes)), dtype=object)
        for i, pairs in enumerate(nodes["apart"]):
            bits = np.frombuffer(zlib.decompress(pairs), dtype=np.uint8)
            fields["apart"][i] = np.unpackbits(bits, count=N * N).reshape(N, N).astype(bool)
            start: Warm | Multipliers | None = self._warm.take(int(nodes["warm"][i]))
            if start is None and nodes["sigma"][i] > 0.0:
                start = Multipliers(nodes["T"][i], float(nodes["sigma"][i]))
            fields["warm"][i] = start
        return Nodes(fields)

    def explore(self, nodes: Nodes, cutoff: float) -> Explored:
        memory.give_back()  # the matrices of earlier nodes
        visits: list[Visit] = [None] * len(nodes)  # type: ignore[list-item]
        alone = len(nodes) == 1
        if self.recorder is not None and math.isfinite(cutoff):
            cutoff += MARGIN * max(1.0, abs(cutoff))

        def work(first: int, last: int) -> None:
            for i in range(first, last):
                domain = Domain(nodes["mask"][i], nodes["a"][i], nodes["b"][i], nodes["apart"][i]).copy()
                visits[i] = self.visit(
                    domain,
                    nodes["warm"][i],
                    float(nodes.bound[i]),
                    cutoff,
                    self.threads if alone else Threads(1),
                    int(nodes["root"][i]) if nodes["depth"][i] == 0 else -1,
                    None if self.recorder is None else self.recorder.begin(int(nodes["record"][i])),
                )

        try:
            if alone:
                work(0, 1)
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
            fields["mask"][i], fields["a"][i], fields["b"][i] = v.domain.mask, v.domain.a, v.domain.b
            fields["apart"][i], fields["warm"][i] = v.domain.apart, v.warm
            fields["group"][i], fields["component"][i] = v.group, v.component
            if self.recorder is not None and not v.open:
                self.recorder.settled(int(nodes["record"][i]))
        found = [self.instance.expand(v.found) for v in visits if v.found is not None]
        return Explored(Nodes(fields), np.array([v.open for v in visits]), found)

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
            domain = Domain(row["mask"][0], row["a"][0], row["b"][0], row["apart"][0])
            same = next(ks for ks in domain.untouched(self.instance) if k in ks)
            bits = np.bitwise_or.reduce(np.int64(1) << same.astype(np.int64))
            for inside, left in (
                (True, np.int64(1) << np.int64(same[0])),
                (False, row["mask"][0, group] & ~bits),
            ):
                if left == 0:
                    continue
                child = row.take(np.array([0]))
                child["mask"][0, group] = left
                child["depth"][0] += 1
                if self.recorder is not None:
                    child["record"][0] = self.recorder.add(int(row["record"][0]), group, int(same[0]), inside)
                children.append(child)
        return Nodes.join(children) if children else nodes.take(np.zeros(0, dtype=np.int64))

    def visit(
        self,
        domain: Domain,
        warm: Warm | Multipliers | None,
        bound: float,
        cutoff: float,
        threads: Threads,
        root: int = -1,
        note: Note | None = None,
    ) -> Visit:
        """Contract and bound one node until it is closed or stalls; what is used of the proofs goes into the note.

        ``root`` is the number of the root that it is, -1 for any other node.
        """
        instance = self.instance
        rounds, history = 0, [bound]
        paired = math.inf  # the gap when pairs were last looked at
        while True:
            if not domain.propagate(instance, self.arrays):
                return Visit(domain, math.inf, open=False)
            if self._anchored(domain, note):
                continue
            if self._geometry is not None:
                wide = domain.mask.copy()
                proved, only = self._geometry.narrow(domain, cutoff)
                if only is not None or proved >= cutoff:
                    return Visit(domain, max(bound, proved), open=False, found=only)
                bound = max(bound, proved)
                if not np.array_equal(wide, domain.mask):
                    continue
            where = domain.decided()
            if np.all(where >= 0):
                labels = instance.expand(where)
                if self._geometry is None:
                    value = exact_value(instance.problem, labels)
                else:
                    value = self._geometry.leaf_value(labels)
                return Visit(domain, value, open=False, found=where)
            shape = contract(domain, instance)
            pools = pools_of(domain, shape, instance)
            if any(not p.sizes.any() or len(p.index) == 0 for p in pools):
                return Visit(domain, math.inf, open=False)
            if isinstance(warm, Warm):
                method = warm_start(shape, pools, warm, threads)
            else:
                T, sigma = (self.T, SIGMA * instance.n_samples) if warm is None else (warm.T, warm.sigma)
                method = cold_start(shape, pools, T, self.labels, sigma, threads)
            warm = None  # its matrices are as large as the method's own
            method.threads = threads
            if len({b.pool for b in method.blocks}) < len(pools):
                # Every size that is left for some pool was ruled out in a parent, against the cutoff.
                return Visit(domain, math.inf, open=False)
            constant = float(instance.entropy[domain.b <= 0, 0].sum())
            if constant == math.inf:
                return Visit(domain, math.inf, open=False)  # a component that cannot be empty
            while True:
                if self._interrupted or self.should_stop():
                    return self._stalled(domain, shape, method, bound, note)
                method.run(ROUND)
                rounds += 1
                terms, grain = instance.n_groups + instance.n_features, 0.0
                if note is not None:
                    grain = grain_for(cutoff - bound, cutoff, instance.n_components, len(shape.root))
                proof = prove(method, constant, instance.error, terms, grain)
                draft = None if note is None else note.draft(shape, method, proof)
                bound = max(bound, proof.bound)
                history.append(bound)
                if root >= 0:
                    # What was ruled out was compared with the cutoff, so no more than that is proved.
                    self._proved[root] = min(bound, cutoff)
                    self.on_root_bound(float(self._proved.min()))
                if bound >= cutoff:
                    if note is not None and draft is not None:
                        note.closed(draft)
                    return Visit(domain, bound, open=False)
                if not math.isfinite(cutoff):
                    if self._stalls(history, cutoff, rounds, root >= 0):
                        return self._stalled(domain, shape, method, bound, note)
                    continue
                if note is not None:
                    note.before(domain, shape, method)
                if not exclude_sizes(domain, method, proof, cutoff):
                    if note is not None and draft is not None:
                        note.closed(draft)
                    return Visit(domain, math.inf, open=False)
                before = domain.mask.copy()
                exclude_members(domain, shape, method, proof, cutoff, threads)
                named, found = all(pool.count == 1 for pool in method.pools), 0
                if cutoff - bound < 0.8 * paired and not (named and len(shape.root) > MOST_PAIRED):
                    paired = cutoff - bound
                    found = find_pairs_apart(domain, shape, method, proof, cutoff, self.labels, threads)
                if note is not None and draft is not None:
                    last = self._stalls(history, cutoff, rounds, root >= 0)
                    last &= not np.array_equal(before, domain.mask)
                    names = found > 0 and domain.copy().anchor(instance, self.labels)
                    if not note.kept(draft, domain, shape, method, needed=last or names):
                        found = 0
                if found and self._anchored(domain, note):
                    warm = Warm(shape, method)
                    break
                if not np.array_equal(before, domain.mask):
                    warm = Warm(shape, method)
                    break
                separate(method)
                if _slow(history, cutoff, *HASTE) and refine(method, cutoff - bound):
                    history = history[-1:]
                elif self._stalls(history, cutoff, rounds, root >= 0):
                    return self._stalled(domain, shape, method, bound, note)

    def _stalls(self, history: list[float], cutoff: float, rounds: int, at_root: bool) -> bool:
        """Whether going on would not close the node soon."""
        if rounds >= (ROOT_ROUNDS if at_root else NODE_ROUNDS):
            return True
        return _slow(history, cutoff, PATIENCE, RATE)

    def _anchored(self, domain: Domain, note: Note | None) -> bool:
        before = domain.mask.copy()
        named = domain.anchor(self.instance, self.labels)
        if named and note is not None:
            note.named(before, domain.mask)
        return named

    def _stalled(
        self, domain: Domain, shape: Contraction, method: Method, bound: float, note: Note | None
    ) -> Visit:
        if note is not None:
            note.stalled()
        group, component = self._choose(shape, method)
        return Visit(domain, bound, True, keep(shape, method), group, component, self._rounded(shape, method))

    def _rounded(self, shape: Contraction, method: Method) -> np.ndarray | None:
        """A clustering of the groups by local search from the means of what the named components hold."""
        if any(pool.count > 1 for pool in method.pools):
            return None
        means = np.zeros((self.instance.n_components, self.instance.n_features))
        share = method.coverage() * shape.weight[:, None]
        for p, pool in enumerate(method.pools):
            k = int(pool.components[0])
            if share[:, p].sum() <= 0.0:
                return None
            means[k] = np.average(shape.points[0 if self.instance.shared else k], axis=0, weights=share[:, p])
        with self._improving:
            found = self._local.from_means(means)
        return None if found is None else found[0]

    def _choose(self, shape: Contraction, method: Method) -> tuple[int, int]:
        """The group and component to branch on."""
        undecided = np.flatnonzero((shape.mask & (shape.mask - 1)) != 0)
        cover = method.coverage()
        shared = [p for p, pool in enumerate(method.pools) if pool.count > 1]
        if shared:
            # Name a component: by a group far from all clusters but its own, which no named component holds yet.
            p = shared[0]
            pool = method.pools[p]
            inside = np.intersect1d(undecided, pool.index)
            by_point = self.labels[shape.first]
            held = {int(by_point[q.index[q.must]]) for q in method.pools if q.must >= 0}
            fresh = np.array([s for s in inside if int(by_point[s]) not in held], dtype=np.int64)
            pick = fresh if len(fresh) else inside
            s = int(pick[np.argmax(margins(shape, by_point)[pick])])
            return int(shape.first[s]), int(pool.components[0])
        share = cover[undecided]
        top = np.argsort(share, axis=1)[:, ::-1]
        rows = np.arange(len(undecided))
        doubt = np.minimum(share[rows, top[:, 0]], 1.0 - share[rows, top[:, 0]]) * shape.weight[undecided]
        i = int(np.argmax(doubt))
        s = int(undecided[i])
        for p in top[i]:
            k = int(method.pools[p].components[0])
            if shape.mask[s] & (np.int64(1) << k):
                return int(shape.first[s]), k
        raise AssertionError("an undecided super-point has no candidate")


def _slow(history: list[float], cutoff: float, rounds: int, rate: float) -> bool:
    """Whether the last rounds closed less than the given share of the gap."""
    if len(history) < rounds + 2:
        return False
    gain = history[-1] - history[-1 - rounds]
    if not math.isfinite(cutoff):
        return gain < 1e-3 * max(1.0, abs(history[-1]))
    return gain < rate * (cutoff - history[-1])


def _any_labels(instance: Instance) -> np.ndarray:
    """Labels of the groups that respect their candidates, for want of better ones."""
    start = np.arange(instance.n_groups) % instance.n_components
    allowed = np.where(instance.allowed.any(axis=1, keepdims=True), instance.allowed, True)
    return np.array([k if allowed[g, k] else int(np.argmax(allowed[g])) for g, k in enumerate(start)])
