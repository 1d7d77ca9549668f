"""A node's domain: which components every group may take, and which sizes every component may have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from certmix.verify.root import Root


@dataclass
class Domain:
    """The clusterings of a node.

    Attributes
    ----------
    allowed : (N, K) bool, the components that a group may take
    low, high : (K,), smallest and largest number of samples in a component
    apart : (N, N) bool, pairs of groups that do not share a component; None until a step has found such pairs
        beyond the conflicts of the problem
    sizes : (K, n + 1) bool, the sizes that no step has excluded; None until a step excludes some
    """

    allowed: np.ndarray
    low: np.ndarray
    high: np.ndarray
    apart: np.ndarray | None = None
    sizes: np.ndarray | None = None

    @classmethod
    def of(cls, root: Root) -> Domain:
        """Everything that the statement allows at first sight."""
        return cls(root.allowed.copy(), root.size_lower.copy(), root.size_upper.copy())

    def copy(self) -> Domain:
        apart = None if self.apart is None else self.apart.copy()
        sizes = None if self.sizes is None else self.sizes.copy()
        return Domain(self.allowed.copy(), self.low.copy(), self.high.copy(), apart, sizes)

    @property
    def decided(self) -> np.ndarray:
        """(N,) bool: groups with one candidate left."""
        return np.asarray(self.allowed.sum(axis=1) == 1)

    def inside(self) -> np.ndarray:
        """(N, K) bool: groups that are surely in a component."""
        return self.allowed & self.decided[:, None]

    def need_apart(self, root: Root) -> np.ndarray:
        """The matrix of pairs apart, made from the problem's conflicts if it is not there yet."""
        if self.apart is None:
            self.apart = np.zeros((root.N, root.N), dtype=bool)
            i, j = root.conflicts.T
            self.apart[i, j] = self.apart[j, i] = True
        return self.apart

    def possible_sizes(self, root: Root) -> np.ndarray:
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
        while True:
            before = (self.allowed.sum(), self.low.sum(), self.high.sum())
            if not self.allowed.any(axis=1).all():
                return False
            self._conflicts(root)
            self._implications(root)
            if not (self._counts(root) and self._sizes(root)):
                return False
            if (self.allowed.sum(), self.low.sum(), self.high.sum()) == before:
                return bool(self.allowed.any(axis=1).all())

    def _conflicts(self, root: Root) -> None:
        inside = self.inside()
        if self.apart is not None:
            # (N, K): groups apart from some decided member of the component
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
        inside = self.inside()
        least, most = root.weight @ inside, root.weight @ self.allowed
        self.low = np.maximum(self.low, least)
        self.high = np.minimum(self.high, most)
        low, high = self.low, self.high
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
        free = self.allowed & ~inside
        w = root.weight[:, None]
        needed = free & (most - w < self.low)
        self.allowed &= ~(free & (least + w > self.high))
        for g, k in np.argwhere(needed & self.allowed).tolist():
            self.put(g, k)
        return True

    def exchangeable(self, root: Root) -> list[np.ndarray]:
        """The components in sets whose members nothing in the domain tells apart, each in increasing order."""
        sets: dict[tuple[int, int, int, bytes, bytes], list[int]] = {}
        for k in range(root.K):
            said = (
                int(root.classes[k]),
                int(self.low[k]),
                int(self.high[k]),
                np.ascontiguousarray(self.allowed[:, k]).tobytes(),
                b"" if self.sizes is None else self.sizes[k].tobytes(),
            )
            sets.setdefault(said, []).append(k)
        return [np.array(members) for members in sets.values()]
