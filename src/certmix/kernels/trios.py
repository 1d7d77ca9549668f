"""Trios: of three groups no two sets of a clustering can each hold two or more, so sets that do may have a price.

So it is with any odd number of groups: of 2 m + 1 at most m sets hold two or more. What is called a trio here may have
five groups. Its price is paid by every set that holds two of its groups or more. The functions here keep count of the
groups of trios while a pricing search decides about them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certmix.kernels.compiled import njit


class Trios(NamedTuple):
    """M trios over N groups."""

    price: np.ndarray  # (M,) what a set with two of the groups pays, not negative
    size: np.ndarray  # (M,) how many groups a trio has, odd
    start: np.ndarray  # (N + 1,) where the trios of a group begin in ``of``
    of: np.ndarray
    missing: np.ndarray  # (M,) how many of its groups are not among the N, which is to say out
    tied: int  # how many groups are in trios,
    place: np.ndarray  # (N,) and which of them a group is, -1 for none


def trios_of(groups: np.ndarray, price: np.ndarray, position: np.ndarray, count: int) -> Trios:
    """Of rows of groups, filled up by -1; ``position`` says which of ``count`` groups each is, -1 for none of them."""
    trio = np.repeat(np.arange(len(groups)), groups.shape[1])
    where = np.where(groups >= 0, position[groups], -1)
    flat = where.ravel()
    order = np.argsort(flat, kind="stable")
    order = order[flat[order] >= 0]
    start = np.searchsorted(flat[order], np.arange(count + 1))
    has = np.diff(start) > 0
    place = np.where(has, np.cumsum(has) - 1, -1)
    size = (groups >= 0).sum(axis=1)
    missing = size - (where >= 0).sum(axis=1)
    own = np.ascontiguousarray(price, dtype=np.float64)
    return Trios(
        own, size.astype(np.int8), start, trio[order], missing.astype(np.int8), int(has.sum()), place
    )


def no_trios(count: int) -> Trios:
    """None over so many groups."""
    return trios_of(np.zeros((0, 3), dtype=np.int64), np.zeros(0), np.zeros(0, dtype=np.int64), count)


@njit()
def joins(trios, g, inside):
    """A group is in: its trios count it, and what they cost from now on whatever else is in."""
    due = 0.0
    for p in range(trios.start[g], trios.start[g + 1]):
        trio = trios.of[p]
        inside[trio] += 1
        if inside[trio] == 2:
            due += trios.price[trio]
    return due


@njit()
def stays_out(trios, g, outside):
    """A group is out."""
    for p in range(trios.start[g], trios.start[g + 1]):
        outside[trios.of[p]] += 1


@njit()
def joining(trios, g, inside, outside):
    """Of an open group: what it costs at most that it is in, at least, and its share in what the open ones cost.

    A trio with one group in costs its price once one of the open ones is in: an equal part of it for each of them.
    """
    most = 0.0
    least = 0.0
    share = 0.0
    for p in range(trios.start[g], trios.start[g + 1]):
        trio = trios.of[p]
        possible = trios.size[trio] - outside[trio]
        if inside[trio] > 1 or possible < 2:
            continue
        most += trios.price[trio]
        if inside[trio] == 1:
            share += trios.price[trio] / (possible - 1)
            if possible == 2:
                least += trios.price[trio]
    return most, least, share


@njit()
def owed(trios, g, inside, taken):
    """What a set that takes some open groups pays for those trios of one of them which nothing is due for yet."""
    due = 0.0
    for p in range(trios.start[g], trios.start[g + 1]):
        trio = trios.of[p]
        if inside[trio] < 2 <= taken[trio]:
            due += trios.price[trio]
    return due


@njit()
def tied_cells(trios, cells):
    """Which cells have groups of trios."""
    found = np.zeros(cells.child.shape[0], dtype=np.bool_)
    if trios.price.shape[0] == 0:
        return found
    for c in range(len(found) - 1, -1, -1):  # children come after their parents
        if cells.children[c] == 0:
            found[c] = trios.start[cells.group[c]] < trios.start[cells.group[c] + 1]
        for child in range(cells.child[c], cells.child[c] + cells.children[c]):
            found[c] |= found[child]
    return found


@njit()
def due(trios, g, counted, member):
    """What a set, whose groups are counted, pays because of one of its groups, or would if it joined."""
    found = 0.0
    for p in range(trios.start[g], trios.start[g + 1]):
        if counted[trios.of[p]] == (2 if member else 1):
            found += trios.price[trios.of[p]]
    return found
