"""The plane in which a clustering is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from certmix.errors import InputError
from certmix.problem.symmetric_matrices import Matrices

if TYPE_CHECKING:
    from certmix.result import Result

_SMALL = 200  # so many rows or columns are decomposed in full


@dataclass(frozen=True)
class Plane:
    """Samples and means in two dimensions.

    Attributes
    ----------
    points, means : ndarrays of shape (n, 2) and (K, 2)
    names : what the two axes are
    principal : whether they are principal components
    """

    points: np.ndarray
    means: np.ndarray
    names: tuple[str, str]
    principal: bool = False


def samples_of(result: Result, data: Any = None) -> np.ndarray:
    """The samples of a result, or those given in their place; what is missing or does not fit is said in words."""
    if result.labels is None or result.means is None:
        raise InputError("there is no clustering to plot: " + result.sentence())
    samples = result.data if data is None else np.asarray(data, dtype=float)
    if samples is None:
        raise InputError("the result does not hold its samples; give them: data=...")
    expected = (len(result.labels), len(result.feature_names))
    if samples.shape != expected:
        raise InputError(
            f"the result is about {expected[0]} samples x {expected[1]} features, not {samples.shape}"
        )
    return samples


def plane(result: Result, *, data: Any = None, features: tuple[int, int] | None = None) -> Plane:
    """The plane of two features, of the only two, or of the first two principal components.

    Principal components are those of the samples in units of the known covariance: distances are then the model's.
    A single feature is shown against the components.
    """
    samples = samples_of(result, data)
    means = np.asarray(result.means)
    d = samples.shape[1]
    if d == 1 and features is None:
        rows, at = np.asarray(result.positions, dtype=float), np.arange(len(means), dtype=float)
        return Plane(
            np.column_stack([samples[:, 0], rows]),
            np.column_stack([means[:, 0], at]),
            (result.feature_names[0], "component"),
        )
    if features is None and d > 2:
        return _principal(samples, means, result.precision)
    i, j = (0, 1) if features is None else features
    if not (0 <= i < d and 0 <= j < d):
        raise InputError(f"features {(i, j)} do not lie in 0 .. {d - 1}")
    names = result.feature_names[i], result.feature_names[j]
    return Plane(samples[:, [i, j]], means[:, [i, j]], names)


def _principal(samples: np.ndarray, means: np.ndarray, precision: np.ndarray | None) -> Plane:
    centre = samples.mean(axis=0)
    whiten = _whitening(precision, samples.shape[1])
    away, off = whiten(samples - centre), whiten(means - centre)
    axes = _directions(away)
    axes = axes * np.where(axes[np.abs(axes).argmax(axis=0), [0, 1]] < 0.0, -1.0, 1.0)
    points = away @ axes
    total = float((away * away).sum())
    shares = (points * points).sum(axis=0) / total if total > 0.0 else np.zeros(2)
    first, second = (f"{100 * share:.0f} % of the variance" for share in shares)
    names = f"first principal component ({first})", f"second principal component ({second})"
    return Plane(points, off @ axes, names, principal=True)


def _whitening(precision: np.ndarray | None, d: int) -> Any:
    """Coordinates in which the covariance, or the mean of several, is the identity."""
    if precision is None:
        return lambda rows: rows
    shared = Matrices(np.asarray(precision).mean(axis=0, keepdims=True))
    if shared.diagonal:
        return lambda rows: rows * np.sqrt(shared.entries[0])
    root = np.linalg.cholesky(shared.entries[0])
    return lambda rows: rows @ root


def _directions(rows: np.ndarray) -> np.ndarray:
    """The first two right singular vectors, (d, 2)."""
    if min(rows.shape) <= _SMALL:
        found = np.linalg.svd(rows, full_matrices=False)[2][:2].T
        return np.asarray(found if found.shape[1] == 2 else np.eye(rows.shape[1])[:, :2])
    from scipy.sparse.linalg import svds

    start = np.ones(min(rows.shape))
    _, values, vectors = svds(rows, k=2, v0=start)
    return np.asarray(vectors[np.argsort(-values)].T)
