"""Standardising and principal components, recorded so that means can be mapped back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from certmix.errors import InputError
from certmix.problem.samples import LARGEST


@dataclass(frozen=True)
class Transform:
    """``x = components (y - centre) / scale``; without principal components, ``components`` is the identity.

    Attributes
    ----------
    columns : names of the original columns
    centre, scale : ndarrays of shape (d,)
    components : ndarray of shape (D, d) with orthonormal rows, or None
    standardized : bool
    explained : share of the variance that the kept components explain (1 when there are none)
    """

    columns: tuple[str, ...]
    centre: np.ndarray
    scale: np.ndarray
    components: np.ndarray | None = None
    standardized: bool = False
    explained: float = 1.0

    def apply(self, data: np.ndarray) -> np.ndarray:
        """Original coordinates to those that are clustered."""
        moved = (data - self.centre) / self.scale
        return np.asarray(moved if self.components is None else moved @ self.components.T)

    def invert(self, means: np.ndarray) -> np.ndarray:
        """Means back in original coordinates (for principal components: the point in their plane)."""
        full = means if self.components is None else means @ self.components
        return np.asarray(full * self.scale + self.centre)

    def names(self) -> tuple[str, ...]:
        """What the new coordinates are called."""
        if self.components is None:
            return self.columns
        return tuple(f"PC{j + 1}" for j in range(len(self.components)))

    @staticmethod
    def from_dict(entry: Mapping[str, Any]) -> Transform:
        """What :meth:`as_dict` gave."""
        columns = tuple(str(name) for name in entry["columns"])
        components = entry["components"]
        found = Transform(
            columns,
            np.array(entry["centre"], dtype=np.float64),
            np.array(entry["scale"], dtype=np.float64),
            None if components is None else np.array(components, dtype=np.float64),
            bool(entry["standardized"]),
            float(entry["explained_variance"]),
        )
        d = len(columns)
        if found.centre.shape != (d,) or found.scale.shape != (d,):
            raise InputError("its preprocessing does not fit its columns")
        if found.components is not None and found.components.shape[1:] != (d,):
            raise InputError("its preprocessing does not fit its columns")
        return found

    def as_dict(self) -> dict[str, Any]:
        return {
            "columns": list(self.columns),
            "standardized": self.standardized,
            "centre": self.centre.tolist(),
            "scale": self.scale.tolist(),
            "components": None if self.components is None else self.components.tolist(),
            "explained_variance": self.explained,
        }


def fit_transform(
    data: np.ndarray, columns: tuple[str, ...], *, standardize: bool = False, pca: int | None = None
) -> tuple[np.ndarray, Transform | None]:
    """Standardise (population standard deviation; a constant column becomes zeros) and/or keep the first principal
    components. What is missing stays so; principal components need every value.

    The sign of a principal component is chosen so that its largest loading is positive.
    """
    if not standardize and pca is None:
        return data, None
    n, d = data.shape
    largest = np.nanmax(np.abs(data), axis=0, initial=0.0)
    if (large := largest > LARGEST).any():
        j = int(large.argmax())
        raise InputError(f"column {columns[j]!r} holds a value of size {largest[j]:.3g}; rescale it first")
    if (empty := np.isnan(data).all(axis=0)).any():
        raise InputError(f"column {columns[int(empty.argmax())]!r} has no value at all; leave it out")
    centre = np.nanmean(data, axis=0)
    scale = np.ones(d)
    if standardize:
        scale = np.nanstd(data, axis=0)
        scale[np.nanmin(data, axis=0) == np.nanmax(data, axis=0)] = 1.0  # a constant column becomes zeros
        if not scale.min() > 1e-100:
            j = int(scale.argmin())
            raise InputError(f"column {columns[j]!r} hardly varies (by {scale[j]:.3g}); rescale it first")
    transform = Transform(columns, centre, scale, standardized=standardize)
    if pca is not None:
        if not 1 <= pca <= min(n, d):
            raise InputError(
                f"--pca {pca}: the number of principal components must lie between 1 and {min(n, d)}"
            )
        _, singular, rows = np.linalg.svd(transform.apply(data), full_matrices=False)
        rank = int(np.count_nonzero(singular > singular[0] * max(n, d) * np.finfo(float).eps))
        if pca > rank:
            raise InputError(f"--pca {pca}: the data span only {rank} independent directions")
        kept = rows[:pca]
        sign = np.sign(kept[np.arange(pca), np.abs(kept).argmax(axis=1)])
        share = float((singular[:pca] ** 2).sum() / (singular**2).sum())
        transform = Transform(columns, centre, scale, kept * sign[:, None], standardize, share)
    return transform.apply(data), transform
