"""Sums of weighted products of 0-1 rows with themselves, into the rows of an envelope."""

from __future__ import annotations

from certmix.kernels.compiled import njit


@njit()
def add_products(starts, places, weight, row, flat):
    """Add ``weight_s`` to ``flat[row[q] + p]`` for all pairs p <= q of places of every set s.

    The places of set s are ``places[starts[s]:starts[s + 1]]``, ascending.
    """
    for s in range(len(weight)):
        w = weight[s]
        for j in range(starts[s], starts[s + 1]):
            base = row[places[j]]
            for i in range(starts[s], j + 1):
                flat[base + places[i]] += w
