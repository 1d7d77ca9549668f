"""Trios of groups: what is violated where a master program takes fractions of sets, and the prices that mend it.

Of three groups at most one set of a clustering holds two or more. A master program that takes half of three sets, each
with another pair of the three, breaks that. These are the subset-row inequalities of vehicle routing (Jepsen, Petersen,
Spoorendonk and Pisinger, Operations Research 56, 2008); with prices for some of them multipliers come much nearer to
the optimum.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_matrix

from certmix.kernels.trios import Trios, trios_of
from certmix.kernels.violated import violated


@dataclass(frozen=True)
class Tuning:
    """Which trios get a price."""

    violation: float = 0.02  # of what a trio may have, that is worth a price
    most_each: int = 3  # new trios for a group
    least_share: float = 1e-3  # of a set that counts


TUNING = Tuning()


@dataclass(frozen=True)
class TrioPrices:
    """Rows of three groups, and what a set pays that holds two of them."""

    groups: np.ndarray = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int64))
    prices: np.ndarray = field(default_factory=lambda: np.zeros(0))

    def __len__(self) -> int:
        return len(self.prices)

    def paid(self) -> TrioPrices:
        """Those that cost something."""
        return TrioPrices(self.groups[self.prices > 0], self.prices[self.prices > 0])

    def paid_with(self, status: np.ndarray) -> TrioPrices:
        """Those that cost something where some groups have to be in (status 1): not those of such groups.

        To leave a trio out makes sets cheaper, so what is proved of them stays true.
        """
        kept = (self.prices > 0) & ~(status[self.groups] == 1).any(axis=1)
        return TrioPrices(self.groups[kept], self.prices[kept])

    def among(self, free: np.ndarray) -> Trios:
        """For a kernel that sees some of the groups only; the others are out."""
        position = np.full(len(free), -1)
        position[free] = np.arange(int(free.sum()))
        return trios_of(self.groups, self.prices, position, int(free.sum()))

    def held(self, members: np.ndarray) -> np.ndarray:
        """(sets, trios): which of the sets, rows of members, hold two groups."""
        return np.asarray(members[:, self.groups].sum(axis=2) >= 2)


NO_TRIOS = TrioPrices()


def violated_trios(members: np.ndarray, shares: np.ndarray, known: np.ndarray, most: int) -> np.ndarray:
    """Trios that these shares of sets break, the worst first; at most so many, and none that is known.

    Groups that are in the same sets are one here: a trio has the first of them.
    """
    used = shares > TUNING.least_share
    members, shares = members[used], shares[used]
    if not len(members):
        return np.zeros((0, 3), dtype=np.int64)
    _, first = np.unique(np.packbits(members, axis=0), axis=1, return_index=True)
    holds = np.ascontiguousarray(members[:, first].T)
    rows = csr_matrix(holds.astype(np.float64))
    both = (rows @ (rows.multiply(shares)).T).tocsr()
    both.sort_indices()
    found, by = violated(
        both.indptr, both.indices, both.data, rows.indptr, rows.indices, shares, holds, TUNING.violation
    )
    found, order = first[found], np.argsort(-by, kind="stable")
    seen = {tuple(sorted(row)) for row in known.tolist()}
    uses: dict[int, int] = {}
    kept: list[list[int]] = []
    for row in found[order].tolist():
        if len(kept) == most:
            break
        if tuple(sorted(row)) in seen or any(uses.get(g, 0) >= TUNING.most_each for g in row):
            continue
        for g in row:
            uses[g] = uses.get(g, 0) + 1
        kept.append(sorted(row))
    return np.array(kept, dtype=np.int64).reshape(-1, 3)
