"""Silhouettes by distances to means."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from plotted_results import solved

from certmix.errors import InputError
from certmix.plotting.silhouette import silhouettes


def test_silhouettes_by_hand():
    """1 at the mean, 0 half-way, negative beyond, in the metric of the precision."""
    result = solved(d=2, rules=False)
    means = np.array([[0.0, 0.0], [4.0, 0.0]])
    data = np.array([[0.0, 0.0], [2.0, 5.0], [3.0, 0.0], [4.0, 1.0]])
    small = replace(
        result,
        data=data,
        means=means,
        labels=np.array([0, 0, 0, 1]),
        precision=np.array([np.diag([1.0, 9.0])]),
    )
    np.testing.assert_allclose(silhouettes(small), [1.0, 0.0, (1 - 3) / 3, (5 - 3) / 5])


def test_one_component_has_none():
    """There is no other mean to compare with."""
    with pytest.raises(InputError, match="two components"):
        silhouettes(solved(K=1, rules=False))
