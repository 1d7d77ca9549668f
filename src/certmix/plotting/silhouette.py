"""How well every sample lies in its component."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from certmix.errors import InputError
from certmix.plotting.plane import samples_of
from certmix.problem.symmetric_matrices import Matrices

if TYPE_CHECKING:
    from certmix.result import Result


def silhouettes(result: Result, *, data: Any = None) -> np.ndarray:
    """The silhouette of every sample, from its distances to the means.

    With a the distance to the mean of its own component and b that to the nearest other one, in the metric of the
    known covariance, ``(b - a) / max(a, b)``: 1 at the mean, 0 half-way, negative where another mean is nearer. (The
    silhouette of Rousseeuw takes mean distances to all members instead, which many samples do not allow.) Noise has
    none: it counts as half-way.
    """
    samples = samples_of(result, data)
    if result.precision is None or result.n_clusters < 2:
        raise InputError("silhouettes need two components and a known covariance")
    matrices = Matrices(result.precision)
    distances = np.empty((len(samples), result.n_clusters))
    for k, mean in enumerate(np.asarray(result.means)):
        away = samples - mean
        distances[:, k] = np.sqrt((matrices.times(min(k, len(matrices) - 1), away) * away).sum(axis=1))
    labels = np.asarray(result.labels)
    rows = np.arange(len(samples))
    own = distances[rows, labels]
    distances[rows, labels] = np.inf
    other = distances.min(axis=1)
    most = np.maximum(own, other)
    inside = (most > 0.0) & (labels >= 0)
    return np.divide(other - own, most, out=np.zeros(len(samples)), where=inside)
