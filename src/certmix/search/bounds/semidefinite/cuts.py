"""The cuts of a block (see :mod:`certmix.kernels.cuts`): which ones, and their multipliers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from certmix.kernels.cuts import violated

CUTS_PER_POINT = 8  # that are added at a time
TRIANGLES_PER_PAIR = 12  # of super-points, looked at


@dataclass
class Cuts:
    """Cuts with their multipliers, divided by the penalty, and what these take from every entry of the matrix."""

    ends: np.ndarray  # (c, 4, 2)
    signs: np.ndarray  # (c, 4)
    multiplier: np.ndarray  # (c,)
    force: np.ndarray  # (P, P)
    turn: int = 0  # how often cuts were looked for

    @classmethod
    def of_anchor(cls, n: int, must: int) -> Cuts:
        """The cuts to begin with: where a super-point is in the cluster anyway, Z_jj <= Z_aj for all others."""
        others = np.delete(np.arange(n), must) if must >= 0 else np.zeros(0, dtype=np.int64)
        ends = np.zeros((len(others), 4, 2), dtype=np.int64)
        ends[:, 0, 0] = ends[:, 0, 1] = ends[:, 1, 1] = others
        ends[:, 1, 0] = must
        signs = np.zeros((len(others), 4))
        signs[:, 0], signs[:, 1] = 1.0, -1.0
        return cls(ends, signs, np.zeros(len(others)), np.zeros((n, n)))

    def exact(self, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What the cuts take, added up afresh, and the sum of absolute values for the rounding."""
        n, (s, t) = len(r), np.moveaxis(self.ends, 2, 0)
        value = self.multiplier[:, None] * self.signs / (r[s] * r[t]) * np.where(s == t, 1.0, 0.5)
        place = (np.maximum(s, t) * n + np.minimum(s, t)).ravel()

        def symmetric(entries: np.ndarray) -> np.ndarray:
            lower = np.zeros(n * n)
            np.add.at(lower, place, entries.ravel())
            return lower.reshape(n, n) + np.tril(lower.reshape(n, n), -1).T

        return symmetric(value), symmetric(np.abs(value))

    def moved(self, to: np.ndarray, r: np.ndarray, must: int) -> Cuts:
        """The cuts after super-points were merged or dropped: position i becomes ``to[i]`` (-1: dropped).

        Z does not change when super-points merge, so multipliers stay as they are; a cut whose entries coincide or are
        lost is dropped.
        """
        ends = to[self.ends]
        used = self.signs != 0.0
        alive = np.all((ends >= 0).all(axis=2) | ~used, axis=1)
        s, t = ends[:, :, 0], ends[:, :, 1]
        # An off-diagonal entry must stay one, and no two entries may become the same.
        off = (self.ends[:, :, 0] != self.ends[:, :, 1]) & used
        alive &= np.all((s != t) | ~off, axis=1)
        key = np.where(used, np.minimum(s, t) * (len(r) + 1) + np.maximum(s, t), -1 - np.arange(4))
        key.sort(axis=1)
        alive &= np.all(np.diff(key, axis=1) != 0, axis=1)
        kept = Cuts(
            np.where(used[alive][:, :, None], ends[alive], 0),
            self.signs[alive].astype(np.float64),
            self.multiplier[alive],
            np.zeros((len(r), len(r))),
        )
        if must >= 0:
            fresh = Cuts.of_anchor(len(r), must)
            known = np.zeros(len(r), dtype=bool)
            old = kept.are_of_anchor() & (kept.ends[:, 1, 0] == must)
            known[kept.ends[old, 0, 0]] = True
            new = ~known[fresh.ends[:, 0, 0]]
            kept = kept.joined(fresh.ends[new], fresh.signs[new])
        kept.force = kept.exact(r)[0]
        return kept

    def joined(self, ends: np.ndarray, signs: np.ndarray) -> Cuts:
        return Cuts(
            np.concatenate([self.ends, ends]),
            np.concatenate([self.signs, signs]),
            np.concatenate([self.multiplier, np.zeros(len(ends))]),
            self.force,
        )

    def separate(self, x: np.ndarray, r: np.ndarray, most: int) -> int:
        """Add the most violated pairs and triangles and drop cuts that do nothing; returns how many were added."""
        n = len(r)
        found, values = np.empty((n * CUTS_PER_POINT, 3), dtype=np.int64), np.empty(n * CUTS_PER_POINT)
        least = 1e-3 * float((np.diag(x) / (r * r)).max(initial=0.0))
        if least <= 0.0:
            return 0
        count = int(violated(x, r, least, CUTS_PER_POINT, TRIANGLES_PER_PAIR, self.turn, found, values))
        self.turn += 1
        order = np.argsort(-values[:count], kind="stable")[:most]
        triples = found[order]
        ends, signs = np.zeros((len(triples), 4, 2), dtype=np.int64), np.zeros((len(triples), 4))
        i, j, k = triples.T
        pair = k < 0
        ends[:, 0, 0], ends[:, 0, 1], signs[:, 0] = i, j, 1.0
        ends[:, 1, 0], ends[:, 1, 1], signs[:, 1] = i, i, -1.0
        ends[:, 2, 0], ends[:, 2, 1], signs[:, 2] = i, np.where(pair, 0, k), np.where(pair, 0.0, 1.0)
        ends[:, 3, 0], ends[:, 3, 1], signs[:, 3] = j, np.where(pair, 0, k), np.where(pair, 0.0, -1.0)
        ends[pair, 2:] = 0
        useful = (self.multiplier > 0.0) | self.are_of_anchor()
        kept = Cuts(self.ends[useful], self.signs[useful], self.multiplier[useful], self.force)
        found_now = Cuts(ends, signs, np.zeros(len(ends)), self.force)
        new = ~np.isin(found_now.keys(), kept.keys())
        joined = kept.joined(ends[new], signs[new])
        self.ends, self.signs, self.multiplier = joined.ends, joined.signs, joined.multiplier
        return int(new.sum())

    def are_of_anchor(self) -> np.ndarray:
        """Which cuts are of the form Z_jj <= Z_aj?"""
        return (self.signs[:, 0] > 0.0) & (self.ends[:, 0, 0] == self.ends[:, 0, 1])

    def keys(self) -> np.ndarray:
        """A number for every cut that tells it from the others: its entries and how many there are."""
        n = np.int64(len(self.force)) + 1
        key = (self.signs != 0.0).sum(axis=1).astype(np.int64)
        for s, t in ((self.ends[:, e, 0], self.ends[:, e, 1]) for e in (0, 1)):
            key = (key * n + s) * n + t
        return key * n + np.where(self.signs[:, 2] != 0.0, self.ends[:, 2, 1], 0)
