"""A node's domain: which components every group may take, and which sizes every component may have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from certmix.verify.root import Root
from certmix.verify.rounding import Array


def both_ways(pairs: Array) -> Array:
    """Every pair and its opposite, in the order of their first entries."""
    both = np.concatenate([pairs, pairs[:, ::-1]])
    return both[both[:, 0].argsort(kind="stable")]


def conclude(rules: Any, apart: Array, allowed: Array, low: Array, high: Array) -> Array:
    """Remove, in place, from M domains what no clustering in them has; (M,) bool: those that may hold one still.

    Parameters
    ----------
    rules : a :class:`.Root`, or whatever has its rules: ``K``, ``n``, ``weight``, ``implications``, ``counts``
    apart : pairs of groups that do not share a component, :func:`both_ways`
    allowed : (M, K, N) bool, or (M, K + 1, N) if groups may be in no component, which then is the last one
    low, high : (M, K), sizes; without groups outside they add up to n
    """
    K, n, w = rules.K, rules.n, rules.weight.astype(np.float64)
    alive = np.asarray((low <= high).all(axis=1))
    named, first = np.unique(apart[:, 0], return_index=True)
    while True:
        before = np.count_nonzero(allowed), low.sum(), high.sum()
        alive &= (candidates(allowed) > 0).all(axis=1)
        if len(apart):
            inside = allowed[:, :K] & (candidates(allowed) == 1)[:, None]
            allowed[:, :K, named] &= ~np.logical_or.reduceat(inside[:, :, apart[:, 1]], first, axis=2)
        for g, then, k in rules.implications.tolist():
            allowed[:, k, g] &= allowed[:, k, then]
            only = allowed[:, k, g] & (allowed[:, :, g].sum(axis=1) == 1)
            allowed[:, :, then] &= ~only[:, None] | (np.arange(allowed.shape[1]) == k)
        for groups, coefficient, k, least, most in rules.counts:
            part = allowed[:, :, groups]
            low_k, high_k = (np.full((len(allowed), 1), end) for end in (least, most))
            alive &= _limit(part, slice(k, k + 1), coefficient, low_k, high_k)
            allowed[:, :, groups] = part
        alive &= _limit(allowed, slice(K), w, low, high, n if allowed.shape[1] == K else None)
        if (np.count_nonzero(allowed), low.sum(), high.sum()) == before:
            return alive


def candidates(allowed: Array) -> Array:
    """(M, N): how many components every group may take."""
    return np.add.reduce(
        allowed.view(np.uint8), axis=1, dtype=np.uint8 if allowed.shape[1] < 256 else np.int64
    )


def _limit(
    allowed: Array, these: slice, weight: Array, low: Array, high: Array, total: int | None = None
) -> Array:
    """Each of these components has ``low .. high`` of the groups, counted so; (M,) bool: where that can be.

    What is surely in counts at least, what may be in at most; a group that would pass a limit is out, or in. Numbers
    that add up to a total are narrowed first.
    """
    here = allowed[:, these]
    free = here & (candidates(allowed) > 1)[:, None]
    most = (here @ weight).astype(np.int64)
    least = most - (free @ weight).astype(np.int64)
    a, b = np.maximum(low, least), np.minimum(high, most)
    if total is not None:
        rest_a, rest_b = (end.sum(axis=1, keepdims=True) - end for end in (a, b))
        a, b = np.maximum(a, total - rest_b), np.minimum(b, total - rest_a)
    possible = (a <= b).all(axis=1)
    low[possible], high[possible] = a[possible], b[possible]
    needed = free & (weight > (most - low)[:, :, None])
    here &= ~(free & (weight > (high - least)[:, :, None]))
    if needed.any():
        places = needed.sum(axis=1)
        full = here & needed
        allowed &= (places == 0)[:, None]
        here |= full
        possible &= (places <= 1).all(axis=1)
    return possible


@dataclass(frozen=True)
class Side:
    """Of the components that are not empty, ``least`` or more have a best mean with a coordinate ``axis`` of ``at`` or
    less; or fewer, if not ``left``."""

    axis: int
    at: float
    least: int
    left: bool


@dataclass
class Domain:
    """The clusterings of a node.

    Attributes
    ----------
    allowed : (N, K) bool, the components that a group may take
    low, high : (K,), smallest and largest number of samples in a component
    apart : pairs of groups that do not share a component, :func:`both_ways`; replaced, never changed
    sizes : (K, n + 1) bool, the sizes that no step has excluded
    sides : how many means are on the left of planes
    """

    allowed: Array
    low: Array
    high: Array
    apart: Array
    sizes: Array
    sides: tuple[Side, ...] = ()

    @classmethod
    def of(cls, root: Root) -> Domain:
        """Everything that the statement allows at first sight."""
        limits = root.size_lower.copy(), root.size_upper.copy()
        sizes = np.ones(root.entropy.shape, dtype=bool)
        return cls(root.allowed.copy(), *limits, both_ways(root.conflicts), sizes)

    @property
    def bytes(self) -> int:
        return self.allowed.nbytes + self.apart.nbytes + self.sizes.nbytes

    def copy(self) -> Domain:
        allowed, low, high = self.allowed.copy(), self.low.copy(), self.high.copy()
        return Domain(allowed, low, high, self.apart, self.sizes.copy(), self.sides)

    @property
    def decided(self) -> Array:
        """(N,) bool: groups with one candidate left."""
        return np.asarray(self.allowed.sum(axis=1) == 1)

    def inside(self) -> Array:
        """(N, K) bool: groups that are surely in a component."""
        return self.allowed & self.decided[:, None]

    def possible_sizes(self, root: Root) -> Array:
        """(K, n + 1) bool: the sizes within the limits that no step has excluded."""
        sizes = np.arange(root.n + 1)
        return self.sizes & (sizes >= self.low[:, None]) & (sizes <= self.high[:, None])

    def propagate(self, root: Root) -> bool:
        """Draw conclusions until there are none left; False when no clustering is left.

        Every conclusion removes only what no clustering in the domain has.
        """
        while conclude(root, self.apart, self.allowed.T[None], self.low[None], self.high[None])[0]:
            self.sizes = self.possible_sizes(root)
            if not self.sizes.any(axis=1).all():
                return False
            low, high = self.sizes.argmax(axis=1), root.n - self.sizes[:, ::-1].argmax(axis=1)
            if (low == self.low).all() and (high == self.high).all():
                return True
            self.low, self.high = low, high
        return False

    def exchangeable(self, root: Root) -> list[Array]:
        """The components in sets whose members nothing in the domain tells apart, each in increasing order."""
        sets: dict[tuple[object, ...], list[int]] = {}
        for k in range(root.K):
            limits = int(root.classes[k]), int(self.low[k]), int(self.high[k])
            possible = self.allowed[:, k].tobytes(), self.sizes[k].tobytes()
            sets.setdefault((limits, *possible), []).append(k)
        return [np.array(members) for members in sets.values()]
