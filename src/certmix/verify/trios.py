"""Prices of trios: three groups, of which one set of a clustering at most holds two or more."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from certmix.verify.evidence import Evidence, Rejected, room
from certmix.verify.root import Root
from certmix.verify.rounding import Array, gamma


@dataclass(frozen=True)
class Trios:
    """Rows of three groups, -1 for one that is surely out, and what a set pays that holds two of them."""

    groups: Array = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int64))
    prices: Array = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def read(cls, root: Root, evidence: Evidence) -> Trios:
        """Those of a step, if it has any."""
        if evidence.full("trios") not in evidence.arrays:
            return cls()
        groups = evidence.integers("trios", None, 3, low=0, high=root.N - 1)
        prices = evidence.floats("trio_prices", len(groups))
        room(3 * len(groups), 4)  # of every node
        first, second, third = groups.T
        if ((first == second) | (first == third) | (second == third)).any():
            raise Rejected("a trio has a group twice")
        if not (prices >= 0).all():
            raise Rejected("the price of a trio is below zero")
        return cls(groups, prices)

    def among(self, position: Array) -> Trios:
        """With groups by their place among candidates."""
        return Trios(position[self.groups], self.prices)

    def due(self, allowed: Array) -> Array:
        """(M,): what is paid in nodes with these candidates, (M, 2, N), whatever the open groups do."""
        inside, _ = self._counts(allowed)
        return (inside >= 2) @ self.prices * (1 - self._lost)

    def shares(self, allowed: Array) -> tuple[Array, Array, Array]:
        """(M, N) each: what a group pays at most when it joins, at least, and its share in what the open ones pay.

        A trio with one group in, and two open ones, costs its price once one of these is in: half of it for each.
        """
        inside, outside = self._counts(allowed)
        open_ = np.where((inside < 2) & (outside < 2), self.prices, 0.0)
        last = np.where((inside == 1) & (outside == 1), open_, 0.0)
        half = np.where((inside == 1) & (outside == 0), 0.5 * open_, last)
        more, less = 1 + self._lost, 1 - self._lost
        return self._of(allowed, open_) * more, self._of(allowed, last) * less, self._of(allowed, half) * less

    @property
    def _lost(self) -> float:
        return gamma(len(self.prices) + 4)

    def _counts(self, allowed: Array) -> tuple[Array, Array]:
        """(M, trios) each: how many groups are in, and how many are out."""
        may = allowed[:, 0][:, self.groups] & (self.groups >= 0)
        must = may & ~allowed[:, 1][:, self.groups]
        return must.sum(axis=2), 3 - may.sum(axis=2)

    def _of(self, allowed: Array, values: Array) -> Array:
        """(M, N): the sums over the trios of every group."""
        M, _, N = allowed.shape
        place = np.arange(M)[:, None, None] * (N + 1) + np.where(self.groups >= 0, self.groups, N)
        each = np.broadcast_to(values[:, :, None], place.shape)
        return np.bincount(place.ravel(), each.ravel(), M * (N + 1)).reshape(M, N + 1)[:, :N]
