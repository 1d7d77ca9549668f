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
from certmix.kernels.violated import broken_fives, violated

WIDTH = 5  # groups of a trio, at most


@dataclass(frozen=True)
class Tuning:
    """Which trios get a price."""

    violation: float = 0.02  # of what a trio may have, that is worth a price
    most_each: int = 3  # new trios for a group
    least_share: float = 1e-3  # of a set that counts
    walks: int = 3  # from every group, in search of five


TUNING = Tuning()


@dataclass(frozen=True)
class TrioPrices:
    """Rows of three or five groups, filled up by -1, and what a set pays that holds two of them."""

    groups: np.ndarray = field(default_factory=lambda: np.zeros((0, WIDTH), dtype=np.int64))
    prices: np.ndarray = field(default_factory=lambda: np.zeros(0))

    def __len__(self) -> int:
        return len(self.prices)

    @property
    def limits(self) -> np.ndarray:
        """How many sets of a clustering hold two or more at most."""
        return limits(self.groups)

    def paid(self) -> TrioPrices:
        """Those that cost something."""
        return TrioPrices(self.groups[self.prices > 0], self.prices[self.prices > 0])

    def paid_with(self, status: np.ndarray) -> TrioPrices:
        """Those that cost something where some groups have to be in (status 1): not those of such groups.

        To leave a trio out makes sets cheaper, so what is proved of them stays true.
        """
        kept = (self.prices > 0) & ~(np.append(status, 0)[self.groups] == 1).any(axis=1)
        return TrioPrices(self.groups[kept], self.prices[kept])

    def among(self, free: np.ndarray) -> Trios:
        """For a kernel that sees some of the groups only; the others are out."""
        position = np.full(len(free), -1)
        position[free] = np.arange(int(free.sum()))
        return trios_of(self.groups, self.prices, position, int(free.sum()))

    def held(self, members: np.ndarray) -> np.ndarray:
        """(sets, trios): which of the sets, rows of members, hold two groups."""
        return held(members, self.groups)


def limits(groups: np.ndarray) -> np.ndarray:
    """Of 2 m + 1 groups m: so many sets of a clustering hold two or more of them at most."""
    return np.asarray((groups >= 0).sum(axis=1) // 2, dtype=np.float64)


def held(members: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """(sets, trios): which of the sets, rows of members, hold two of the groups of a trio."""
    nobody = np.zeros((len(members), 1), dtype=bool)  # what a row is filled up with
    return np.asarray(np.hstack([members, nobody])[:, groups].sum(axis=2) >= 2)


NO_TRIOS = TrioPrices()


def violated_trios(members: np.ndarray, shares: np.ndarray, known: np.ndarray, most: int) -> np.ndarray:
    """Trios that these shares of sets break, the worst first; at most so many, and none that is known.

    Groups that are in the same sets are one here: a trio has the first of them.
    """
    used = shares > TUNING.least_share
    members, shares = members[used], shares[used]
    if not len(members):
        return np.zeros((0, WIDTH), dtype=np.int64)
    some = members.any(axis=0)
    _, first = np.unique(np.packbits(members[:, some], axis=0), axis=1, return_index=True)
    first = np.flatnonzero(some)[first]
    holds = np.ascontiguousarray(members[:, first].T)
    rows = csr_matrix(holds.astype(np.float64))
    both = (rows @ (rows.multiply(shares)).T).tocsr()
    both.sort_indices()
    least = TUNING.violation
    three, by = violated(
        both.indptr, both.indices, both.data, rows.indptr, rows.indices, shares, holds, least
    )
    across, rng = rows.T.tocsr(), np.zeros(1, dtype=np.uint64)
    links = rows.indptr, rows.indices, across.indptr, across.indices
    five, by_five = broken_fives(*links, shares, rng, TUNING.walks, least)
    found = np.full((len(three) + len(five), WIDTH), -1)
    found[: len(three), :3], found[len(three) :] = first[three], first[five]
    order = np.argsort(-np.concatenate([by, by_five]), kind="stable")
    seen = {tuple(sorted(row)) for row in known.tolist()}
    uses: dict[int, int] = {}
    kept: list[list[int]] = []
    for row in found[order].tolist():
        own = tuple(sorted(row))
        groups = [g for g in row if g >= 0]
        if len(kept) == most:
            break
        if own in seen or any(uses.get(g, 0) >= TUNING.most_each for g in groups):
            continue
        seen.add(own)
        for g in groups:
            uses[g] = uses.get(g, 0) + 1
        kept.append([*sorted(groups), *[-1] * (WIDTH - len(groups))])
    return np.array(kept, dtype=np.int64).reshape(-1, WIDTH)
