"""Prices of trios: three groups, of which one set of a clustering at most holds two or more.

Or any odd number of groups: of 2 m + 1 at most m sets hold two or more, for these have no group in common.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from certmix.verify.evidence import Evidence, Rejected, room
from certmix.verify.root import Root
from certmix.verify.rounding import Array, gamma


@dataclass(frozen=True)
class Trios:
    """Rows of groups, -1 for none and for one that is surely out, and what a set pays that holds two of them."""

    groups: Array = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int64))
    prices: Array = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def read(cls, root: Root, evidence: Evidence) -> Trios:
        """Those of a step, if it has any."""
        if evidence.full("trios") not in evidence.arrays:
            return cls()
        groups = evidence.integers("trios", None, None, low=-1, high=root.N - 1)
        prices = evidence.floats("trio_prices", len(groups))
        room(groups.size, 4)  # of every node
        ordered = np.sort(groups, axis=1)
        if ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any():
            raise Rejected("a trio has a group twice")
        if not (prices >= 0).all():
            raise Rejected("the price of a trio is below zero")
        return cls(groups, prices)

    @property
    def limits(self) -> Array:
        """How many sets of a clustering hold two groups of a row at most."""
        return (self.groups >= 0).sum(axis=1) // 2

    def among(self, position: Array) -> Trios:
        """With groups by their place among candidates."""
        return Trios(np.where(self.groups >= 0, position[self.groups], -1), self.prices)

    def due(self, allowed: Array) -> Array:
        """(M,): what is paid in nodes with these candidates, (M, 2, N), whatever the open groups do."""
        inside, _ = self._counts(allowed)
        return (inside >= 2) @ self.prices * (1 - self._lost)

    def shares(self, allowed: Array) -> tuple[Array, Array, Array]:
        """(M, N) each: what a group pays at most when it joins, at least, and its share in what the open ones pay.

        A trio with one group in costs its price once one of the open ones is in: an equal part of it for each of them.
        """
        inside, left = self._counts(allowed)
        open_ = np.where((inside < 2) & (inside + left >= 2), self.prices, 0.0)
        last = np.where((inside == 1) & (left == 1), open_, 0.0)
        part = np.where(inside == 1, open_, 0.0) / np.maximum(left, 1)
        more, less = 1 + self._lost, 1 - self._lost
        return self._of(allowed, open_) * more, self._of(allowed, last) * less, self._of(allowed, part) * less

    @property
    def _lost(self) -> float:
        return gamma(len(self.prices) + 4)

    def _counts(self, allowed: Array) -> tuple[Array, Array]:
        """(M, trios) each: how many groups are in, and how many are open."""
        may = allowed[:, 0][:, self.groups] & (self.groups >= 0)
        must = may & ~allowed[:, 1][:, self.groups]
        return must.sum(axis=2), (may & ~must).sum(axis=2)

    def _of(self, allowed: Array, values: Array) -> Array:
        """(M, N): the sums over the trios of every group."""
        M, _, N = allowed.shape
        place = np.arange(M)[:, None, None] * (N + 1) + np.where(self.groups >= 0, self.groups, N)
        each = np.broadcast_to(values[:, :, None], place.shape)
        return np.bincount(place.ravel(), each.ravel(), M * (N + 1)).reshape(M, N + 1)[:, :N]
