"""A node's domain: which components every group may take, and which sizes every component may have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from certmix.verify.evidence import room
from certmix.verify.root import Root
from certmix.verify.rounding import Array


@dataclass
class Domain:
    """The clusterings of a node.

    Attributes
    ----------
    allowed : (N, K) bool, the components that a group may take
    low, high : (K,), smallest and largest number of samples in a component
    apart : (N, N) bool, pairs of groups that do not share a component; None stands for the conflicts of the problem
    sizes : (K, n + 1) bool, the sizes that no step has excluded; None stands for all
    """

    allowed: Array
    low: Array
    high: Array
    apart: Array | None = None
    sizes: Array | None = None

    @classmethod
    def of(cls, root: Root) -> Domain:
        """Everything that the statement allows at first sight."""
        return cls(root.allowed.copy(), root.size_lower.copy(), root.size_upper.copy())

    @property
    def bytes(self) -> int:
        arrays = (self.allowed, self.apart, self.sizes)
        return sum(0 if array is None else array.nbytes for array in arrays)

    def copy(self) -> Domain:
        apart = None if self.apart is None else self.apart.copy()
        sizes = None if self.sizes is None else self.sizes.copy()
        return Domain(self.allowed.copy(), self.low.copy(), self.high.copy(), apart, sizes)

    @property
    def decided(self) -> Array:
        """(N,) bool: groups with one candidate left."""
        return np.asarray(self.allowed.sum(axis=1) == 1)

    def inside(self) -> Array:
        """(N, K) bool: groups that are surely in a component."""
        return self.allowed & self.decided[:, None]

    def need_apart(self, root: Root) -> Array:
        """The matrix of pairs apart, made from the problem's conflicts if it is not there yet."""
        if self.apart is None:
            room(root.N, root.N, each=6)
            self.apart = np.zeros((root.N, root.N), dtype=bool)
            i, j = root.conflicts.T
            self.apart[i, j] = self.apart[j, i] = True
        return self.apart

    def possible_sizes(self, root: Root) -> Array:
        """(K, n + 1) bool: the sizes within the limits that no step has excluded."""
        sizes = np.arange(root.n + 1)
        within = (sizes >= self.low[:, None]) & (sizes <= self.high[:, None])
        return within if self.sizes is None else within & self.sizes

    def put(self, group: int, component: int) -> None:
        """Keep a group in one component (or nowhere, if that is not among its candidates)."""
        keep = self.allowed[group, component]
        self.allowed[group] = False
        self.allowed[group, component] = keep

    def propagate(self, root: Root) -> bool:
        """Draw conclusions until there are none left; False when no clustering is left.

        Every conclusion removes only what no clustering in the domain has.
        """
        while self.allowed.any(axis=1).all():
            before = (self.allowed.sum(), self.low.sum(), self.high.sum())
            self._conflicts(root)
            self._implications(root)
            if not (self._counts(root) and self._sizes(root)):
                return False
            if (self.allowed.sum(), self.low.sum(), self.high.sum()) == before:
                return True
        return False

    def _conflicts(self, root: Root) -> None:
        """A group is not in a component that holds a group it is apart from."""
        inside = self.inside()
        if self.apart is not None:
            self.allowed &= ~(self.apart.astype(np.float32) @ inside.astype(np.float32) > 0)
        elif len(root.conflicts):
            i, j = root.conflicts.T
            blocked = np.zeros_like(self.allowed)
            np.logical_or.at(blocked, j, inside[i])
            np.logical_or.at(blocked, i, inside[j])
            self.allowed &= ~blocked

    def _implications(self, root: Root) -> None:
        for g, then, k in root.implications.tolist():
            if not self.allowed[then, k]:
                self.allowed[g, k] = False
            if self.allowed[g, k] and self.allowed[g].sum() == 1:
                self.put(then, k)

    def _counts(self, root: Root) -> bool:
        """What is surely in counts at least, what may be in at most; a group that would pass a limit is out, or in."""
        for groups, coefficient, k, low, high in root.counts:
            allowed = self.allowed[groups, k]
            inside = allowed & (self.allowed[groups].sum(axis=1) == 1)
            least, most = int(coefficient[inside].sum()), int(coefficient[allowed].sum())
            if least > high or most < low:
                return False
            free = allowed & ~inside
            self.allowed[groups[free & (least + coefficient > high)], k] = False
            for g in groups[free & (most - coefficient < low)]:
                self.put(int(g), k)
        return True

    def _sizes(self, root: Root) -> bool:
        """The same for sizes, which add up to n besides."""
        inside = self.inside()
        least, most = root.weight @ inside, root.weight @ self.allowed
        low, high = np.maximum(self.low, least), np.minimum(self.high, most)
        self.low = np.maximum(low, root.n - (high.sum() - high))
        self.high = np.minimum(high, root.n - (low.sum() - low))
        if (self.low > self.high).any():
            return False
        if self.sizes is not None:
            self.sizes = self.possible_sizes(root)
            if not self.sizes.any(axis=1).all():
                return False
            self.low = self.sizes.argmax(axis=1)
            self.high = root.n - self.sizes[:, ::-1].argmax(axis=1)
        free, w = self.allowed & ~inside, root.weight[:, None]
        needed = free & (most - w < self.low)
        self.allowed &= ~(free & (least + w > self.high))
        for g, k in np.argwhere(needed).tolist():
            self.put(g, k)
        return True

    def exchangeable(self, root: Root) -> list[Array]:
        """The components in sets whose members nothing in the domain tells apart, each in increasing order."""
        sets: dict[tuple[object, ...], list[int]] = {}
        for k in range(root.K):
            sizes = b"" if self.sizes is None else self.sizes[k].tobytes()
            limits = int(root.classes[k]), int(self.low[k]), int(self.high[k])
            sets.setdefault((limits, self.allowed[:, k].tobytes(), sizes), []).append(k)
        return [np.array(members) for members in sets.values()]
