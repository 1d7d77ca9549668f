"""The interval bound as the loop sees it: roots, batches through the compiled kernel, splits."""

from __future__ import annotations

import itertools

import numpy as np

from certmix.kernels.candidates import narrowest, packed, unpacked
from certmix.kernels.interval import DECIDED, OPEN, explore_batch
from certmix.kernels.settled import Rest
from certmix.kernels.splitting import SPLIT_GROUP, SPLIT_MEAN, SPLIT_SIZE
from certmix.presolve.arrays import instance_arrays
from certmix.presolve.instance import Instance
from certmix.search.bounds.base import Explored
from certmix.search.bounds.leaves import exact_value
from certmix.search.nodes import Nodes
from certmix.search.record import NO_SPLITS, Splits
from certmix.state import State
from certmix.threads import Threads

SPLIT_FIELDS = ("kind", "which", "index", "at")


class IntervalBound:
    """Boxes for all means and intervals for all sizes (design 3.2).

    A node keeps which groups are left and sums over the settled ones (see :mod:`certmix.kernels.settled`). A candidate
    set may be narrowed by anyone; the kernel settles what has become decided.

    With an ``allowance`` nothing is lost that costs so much more than the best clustering: exchange arguments are about
    moves that save more than that.
    """

    reaches = False

    def __init__(
        self,
        instance: Instance,
        threads: Threads | None = None,
        splits: Splits = NO_SPLITS,
        allowance: float = 0.0,
    ) -> None:
        self.instance = instance
        self.threads = threads or Threads(1)
        self.splits = splits
        self.arrays = instance_arrays(instance)._replace(allowance=allowance)
        self._stored = narrowest(instance.n_components)
        self._bits = packed(np.eye(instance.n_components, dtype=bool)).astype(self._stored)

    def root(self) -> Nodes:
        """One root, or one for each choice of empty components where those are allowed."""
        instance = self.instance
        K, d, n = instance.n_components, instance.n_features, instance.n_samples
        roots = []
        for empty in _empty_choices(instance):
            a = np.maximum(instance.size_lower, 1).astype(np.float64)
            b = np.minimum(instance.size_upper, n).astype(np.float64)
            a[empty] = b[empty] = 0.0
            allowed = instance.allowed.copy()
            allowed[:, empty] = False
            roots.append((a, b, packed(allowed)))
        a, b, mask = (np.stack(column) for column in zip(*roots, strict=True))
        count = len(roots)
        fields = {
            "bound": np.full(count, -np.inf),
            "lo": np.repeat(self._finite(instance.mean_lower, -1)[None], count, axis=0),
            "hi": np.repeat(self._finite(instance.mean_upper, 1)[None], count, axis=0),
            "a": a,
            "b": b,
            "mask": mask.astype(self._stored),
            "left": np.full((count, -(-instance.n_groups // 8)), 255, dtype=np.uint8),  # all of them
            "record": self.splits.roots(count),
            "weight": np.zeros((count, K)),
            "mass": np.zeros((count, K, *self.arrays.mass.shape[1:])),
            "points": np.zeros((count, K, d)),
            "cost": np.zeros((count, K)),
        }
        return self.restored(Nodes(fields))

    def _finite(self, bound: np.ndarray, sign: int) -> np.ndarray:
        """Means lie among the points, the prior mean and the box: replace infinities by something beyond them."""
        return np.where(np.isfinite(bound), bound, sign * 2.0 * (self.arrays.largest or 1.0))

    def packed(self, nodes: Nodes) -> Nodes:
        """Without where to split, which was done, and with a bit for every group that is left."""
        fields = {name: array for name, array in nodes.fields.items() if name not in SPLIT_FIELDS}
        bits = np.zeros((len(nodes), -(-self.instance.n_groups // 8)), dtype=np.uint8)
        for i, groups in enumerate(nodes["left"]):
            left = np.zeros(self.instance.n_groups, dtype=bool)
            left[groups] = True
            bits[i] = np.packbits(left)
        return Nodes({**fields, "left": bits})

    def restored(self, nodes: Nodes) -> Nodes:
        count, N = len(nodes), self.instance.n_groups
        left = np.empty(count, dtype=object)
        for i, bits in enumerate(nodes["left"]):
            left[i] = np.flatnonzero(np.unpackbits(bits, count=N)).astype(np.int32)
        return Nodes({**nodes.fields, "left": left, **self._no_split(count)})

    def state(self) -> State:
        return self.splits.state()

    def resumed(self, state: State, nodes: Nodes) -> Nodes:
        self.splits = self.splits if self.splits is NO_SPLITS else Splits.resumed(state)
        return nodes

    def _no_split(self, count: int) -> dict[str, np.ndarray]:
        """Fields that exploring a node fills."""
        whole = {name: np.zeros(count, dtype=np.int64) for name in ("kind", "which", "index")}
        return {**whole, "at": np.zeros(count)}

    def explore(self, nodes: Nodes, cutoff: float) -> Explored:
        f = {name: array.copy() for name, array in nodes.fields.items()}
        B = len(nodes)
        state = np.empty(B, dtype=np.int64)
        mask = f["mask"].astype(np.int64)
        error = self.instance.error
        inner = f["bound"] + error  # the kernel works with the whitened cost
        count = np.array([len(groups) for groups in f["left"]], dtype=np.int64)
        start = np.cumsum(count) - count
        groups = np.concatenate(f["left"])
        columns = f["lo"], f["hi"], f["a"], f["b"], mask
        settled = Rest(groups, count, f["weight"], f["mass"], f["points"], f["cost"])
        results = state, inner, f["kind"], f["which"], f["index"], f["at"]
        told = columns, cutoff + error, self.arrays, start, settled, results
        self.threads.over(B, lambda first, last: explore_batch(first, last, *told))
        f["mask"] = mask.astype(self._stored)
        for i in range(B):
            f["left"][i] = groups[start[i] : start[i] + count[i]].copy()
        f["bound"] = np.maximum(nodes.bound, inner - error)
        found = []
        for i in np.flatnonzero(state == DECIDED).tolist():
            labels = self.instance.expand(unpacked(mask[i], self.instance.n_components).argmax(axis=1))
            found.append(labels)
            f["bound"][i] = max(f["bound"][i], self.leaf_value(labels))
        return Explored(Nodes(f), state == OPEN, found)

    def branch(self, explored: Explored) -> Nodes:
        """Two children for every node: a mean, a size or a group's component is split."""
        nodes = explored.nodes
        left = {name: array.copy() for name, array in nodes.fields.items()}
        right = {name: array.copy() for name, array in nodes.fields.items()}
        for child in (left, right):
            child["depth"] += 1
        sizes = nodes["kind"] == SPLIT_SIZE
        index = np.where(sizes, nodes["at"], nodes["index"]).astype(np.int64)
        decisions = nodes["kind"], nodes["which"], index, nodes["at"]
        left["record"], right["record"] = self.splits.split(nodes["record"], *decisions)
        for i in range(len(nodes)):
            kind, k, at = nodes["kind"][i], nodes["which"][i], nodes["at"][i]
            index = nodes["index"][i]
            if kind == SPLIT_MEAN:
                left["hi"][i, k, index] = at
                right["lo"][i, k, index] = at
            elif kind == SPLIT_SIZE:
                left["b"][i, k] = at
                right["a"][i, k] = at + 1
            elif kind == SPLIT_GROUP:
                bit = self._bits[k]
                left["mask"][i, index] = bit
                right["mask"][i, index] &= ~bit
        return Nodes.join([Nodes(left), Nodes(right)])

    def leaf_value(self, labels: np.ndarray) -> float:
        """The bound of a decided node."""
        # Exchange arguments compare costs of the instance, so what they left out may be better by its error.
        exchanged = 2.0 * self.instance.error if self.arrays.movable.any() else 0.0
        return exact_value(self.instance.problem, labels) - exchanged


def _empty_choices(instance: Instance) -> list[np.ndarray]:
    """Which components are empty: up to exchange of interchangeable ones, the first of a class are the empty ones."""
    K = instance.n_components
    may = instance.size_lower == 0
    if not may.any():
        return [np.zeros(0, dtype=np.int64)]
    choices = []
    classes = np.unique(instance.classes)
    members = [np.flatnonzero((instance.classes == c) & may) for c in classes]
    for counts in itertools.product(*[range(len(m) + 1) for m in members]):
        empty = np.concatenate([m[:count] for m, count in zip(members, counts, strict=True)]).astype(np.int64)
        if len(empty) < K:
            choices.append(empty)
    return choices
