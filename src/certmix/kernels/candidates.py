"""Candidate sets of groups: bit k of row g says that group g may be in component k.

A row has as many 64-bit words as the components need, so there is no limit to their number. Words are signed, because
compiled code makes floats of signed and unsigned numbers together; bits are the same in both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from certmix.kernels.compiled import njit

WORD = 64  # bits
SHIFT, REST = 6, 63  # of a component: its word, its bit
NONE, ONE, SEVERAL = 0, 1, 2


def packed(allowed: np.ndarray) -> np.ndarray:
    """Sets of shape (..., K), as booleans, to words of shape (..., words)."""
    K = allowed.shape[-1]
    bits = np.zeros((*allowed.shape[:-1], -(-K // WORD) * WORD), dtype=bool)
    bits[..., :K] = allowed
    words = np.packbits(bits, axis=-1, bitorder="little").view("<i8")
    return np.ascontiguousarray(words, dtype=np.int64)


def unpacked(words: np.ndarray, K: int) -> np.ndarray:
    """The other way round: booleans of shape (..., K)."""
    numbers = np.ascontiguousarray(words, dtype="<i8")
    return np.unpackbits(numbers.view(np.uint8), axis=-1, count=K, bitorder="little").astype(bool)


def narrowest(K: int) -> type[np.signedinteger[Any]]:
    """The smallest whole numbers in which words of so many components can be stored."""
    fit = (t for t, bits in ((np.int8, 7), (np.int16, 15), (np.int32, 31)) if bits >= K)
    return next(fit, np.int64)


def undecided(words: np.ndarray) -> np.ndarray:
    """Which sets have several members, of shape (...)."""
    return np.asarray((words & (words - 1) != 0).any(axis=-1) | ((words != 0).sum(axis=-1) > 1))


@njit()
def holds(mask, g, k):
    """Whether group g may be in component k."""
    return (mask[g, k >> SHIFT] >> (k & REST)) & 1 != 0


@njit()
def forbid(mask, g, k):
    """Take component k from the candidates of group g."""
    mask[g, k >> SHIFT] &= ~(np.int64(1) << (k & REST))


@njit()
def assign(mask, g, k):
    """Leave component k to group g, and no other."""
    for word in range(mask.shape[1]):
        mask[g, word] = 0
    mask[g, k >> SHIFT] = np.int64(1) << (k & REST)


@njit()
def candidates(mask, g):
    """How many components a group may be in: NONE, ONE or SEVERAL."""
    count = NONE
    for word in range(mask.shape[1]):
        bits = mask[g, word]
        if bits != 0:
            count = SEVERAL if count == ONE or bits & (bits - 1) else ONE
            if count == SEVERAL:
                break
    return count


@njit()
def component_of(mask, g):
    """The first candidate of a group: its component, if it is decided."""
    k = 0
    while not holds(mask, g, k):
        k += 1
    return k
