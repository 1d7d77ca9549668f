"""Candidate sets as words of bits, against Python's sets."""

from __future__ import annotations

import numpy as np
import pytest

from certmix.kernels.arrays import Arrays
from certmix.kernels.candidates import (
    NONE,
    ONE,
    SEVERAL,
    assign,
    candidates,
    component_of,
    forbid,
    holds,
    packed,
    undecided,
    unpacked,
)
from certmix.kernels.propagation import propagate
from certmix.presolve.arrays import instance_arrays
from certmix.presolve.instance import reduce
from random_instances import random_problem

SIZES = (1, 2, 7, 8, 31, 62, 63, 64, 65, 128, 129, 200)


@pytest.mark.parametrize("K", SIZES)
def test_sets_to_words_and_back(K: int) -> None:
    """Every set survives, the empty one and those of a single component in any place included."""
    rng = np.random.default_rng([K, 1])
    allowed = rng.random((2, 9, K)) < 0.5
    allowed[0, 0], allowed[0, 1] = False, True
    words = packed(allowed)
    assert words.shape == (2, 9, (K + 63) // 64)
    assert words.dtype == np.int64
    np.testing.assert_array_equal(unpacked(words, K), allowed)
    np.testing.assert_array_equal(undecided(words), allowed.sum(axis=-1) > 1)
    np.testing.assert_array_equal(unpacked(packed(np.eye(K, dtype=bool)), K).argmax(axis=1), np.arange(K))


@pytest.mark.parametrize("K", SIZES)
def test_the_kernels_operations_are_those_of_sets(K: int) -> None:
    """Asking, taking away and deciding, in whatever word a component is."""
    rng = np.random.default_rng([K, 2])
    sets = [set(np.flatnonzero(row).tolist()) for row in rng.random((6, K)) < rng.choice([0.03, 0.5])]
    words = packed(np.array([[k in mine for k in range(K)] for mine in sets]))
    for _ in range(60):
        g, k = int(rng.integers(len(sets))), int(rng.integers(K))
        if rng.random() < 0.7:
            forbid(words, g, k)
            sets[g].discard(k)
        else:
            assign(words, g, k)
            sets[g] = {k}
        assert [holds(words, g, j) for j in range(K)] == [j in sets[g] for j in range(K)]
        assert candidates(words, g) == (NONE, ONE, SEVERAL)[min(len(sets[g]), 2)]
        if sets[g]:
            assert component_of(words, g) == min(sets[g])


def spread(arrays: Arrays, place: np.ndarray, K: int) -> Arrays:
    """The same constraints, with component k called ``place[k]`` of K."""
    implications = arrays.implications.copy()
    named = implications[:, 2] >= 0
    implications[named, 2] = place[implications[named, 2]]
    return arrays._replace(implications=implications, count_component=place[arrays.count_component])


def test_propagation_does_not_mind_the_word() -> None:
    """Components far apart, in words of their own, have the same consequences as those with the first numbers."""
    compared = 0
    for seed in range(150):
        rng = np.random.default_rng([seed, 3])
        instance = reduce(random_problem(rng, max_samples=9))
        arrays, n, few = instance_arrays(instance), instance.n_samples, instance.n_components
        K = 150
        place = np.sort(rng.choice(K, few, replace=False))
        allowed = instance.allowed & (rng.random(instance.allowed.shape) < 0.8)
        far = np.zeros((len(allowed), K), dtype=bool)
        far[:, place] = allowed
        near_sizes = instance.size_lower.astype(float), np.minimum(instance.size_upper, n).astype(float)
        far_sizes = np.zeros(K), np.zeros(K)
        for mine, theirs in zip(far_sizes, near_sizes, strict=True):
            mine[place] = theirs
        near_words, far_words = packed(allowed), packed(far)
        alive = propagate(near_words, *near_sizes, n, arrays)
        assert alive == propagate(far_words, *far_sizes, n, spread(arrays, place, K)), seed
        if alive:
            compared += 1
            np.testing.assert_array_equal(unpacked(far_words, K)[:, place], unpacked(near_words, few))
            for mine, theirs in zip(far_sizes, near_sizes, strict=True):
                np.testing.assert_array_equal(mine[place], theirs)
    assert compared > 30
