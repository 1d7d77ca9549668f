"""Aligning components with classes: as good as trying every permutation."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from certmix.paper.study.alignment import aligned, reordered


@pytest.mark.parametrize("seed", range(40))
def test_as_good_as_every_permutation(seed):
    """No permutation keeps more samples in their class; unknown samples do not count."""
    rng = np.random.default_rng(seed)
    K, n = int(rng.integers(1, 6)), int(rng.integers(1, 30))
    labels, target = rng.integers(0, K, n), rng.integers(-1, K, n)
    known = target >= 0
    found = aligned(labels, target, K)
    assert sorted(found) == list(range(K))
    kept = int((found[labels] == target)[known].sum())
    assert kept == max(int((np.array(p)[labels] == target)[known].sum()) for p in permutations(range(K)))


def test_rows_follow_their_components():
    """When component 0 is class 2, its mean stands in row 2."""
    labels, target = np.array([0, 0, 1, 1, 2]), np.array([2, 2, 0, 0, 1])
    order = aligned(labels, target, 3)
    assert order.tolist() == [2, 0, 1]
    assert reordered(np.array([20.0, 0.0, 10.0]), order).tolist() == [0.0, 10.0, 20.0]
