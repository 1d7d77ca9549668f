"""The plane of a clustering."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from plotted_results import solved

from certmix.errors import InputError
from certmix.plotting.plane import plane


def test_principal_components_are_in_units_of_the_covariance():
    """A feature of large numbers and a covariance to match does not decide the plane."""
    result = solved(d=3, rules=False)
    scale = np.array([1000.0, 1.0, 0.01])
    scaled = replace(
        result, data=result.data * scale, means=result.means * scale, precision=np.diag(scale**-2.0)[None]
    )
    one, other = plane(result), plane(scaled)
    np.testing.assert_allclose(one.points, other.points, atol=1e-9)
    np.testing.assert_allclose(one.means, other.means, atol=1e-9)
    assert one.principal


@pytest.mark.parametrize("size", [(60, 5), (250, 220)])
def test_principal_components_are_those_of_the_singular_values(size):
    """Few or many rows: the plane is that of a full decomposition, and distances to means are kept."""
    result = solved(n=size[0], d=size[1], rules=False)
    away = result.data - result.data.mean(axis=0)
    values = np.linalg.svd(away, compute_uv=False)[:2]
    shown = plane(result)
    np.testing.assert_allclose(np.linalg.norm(shown.points, axis=0), values, rtol=1e-6)
    inside = shown.points[result.labels == 0].mean(axis=0)
    np.testing.assert_allclose(shown.means[0], inside, atol=1e-8)


def test_a_full_precision_whitens():
    """With a full matrix, squared distances in all dimensions are the model's."""
    result = solved(d=3, rules=False)
    root = np.array([[1.0, 0.0, 0.0], [0.5, 2.0, 0.0], [0.1, 0.3, 0.7]])
    moved = replace(result, data=result.data @ np.linalg.inv(root), means=result.means @ np.linalg.inv(root))
    moved = replace(moved, precision=(root @ root.T)[None])
    np.testing.assert_allclose(np.abs(plane(moved).points), np.abs(plane(result).points), atol=1e-8)


def test_what_is_missing_is_said():
    """Without samples there is no plane, and the error says what to give."""
    with pytest.raises(InputError, match="give them"):
        plane(replace(solved(), data=None))
