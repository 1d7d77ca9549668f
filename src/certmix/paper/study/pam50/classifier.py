"""The PAM classifier: the nearest centroid under Spearman's rank correlation."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata


def median_centred(matrix: np.ndarray) -> np.ndarray:
    """Every gene minus its median over the samples, as the published program prepares its input; NaN stay."""
    return np.asarray(matrix - np.nanmedian(matrix, axis=0))


def centroids_of(matrix: np.ndarray, target: np.ndarray, n_subtypes: int) -> np.ndarray:
    """Average profile of the samples known to be of each subtype, (subtypes, genes); missing values are left out."""
    return np.stack([np.nanmean(matrix[target == k], axis=0) for k in range(n_subtypes)])


def correlations(matrix: np.ndarray, centroids: np.ndarray) -> np.ndarray:
    """Spearman's correlation of every sample with every centroid, (n, subtypes), over the genes that both have."""
    found = np.empty((len(matrix), len(centroids)))
    for i, sample in enumerate(matrix):
        for k, centroid in enumerate(centroids):
            there = ~(np.isnan(sample) | np.isnan(centroid))
            a, b = rankdata(sample[there]), rankdata(centroid[there])
            a, b = a - a.mean(), b - b.mean()
            found[i, k] = (a @ b) / np.sqrt((a @ a) * (b @ b))
    return found


def classified(matrix: np.ndarray, centroids: np.ndarray) -> np.ndarray:
    """The subtype of every sample: that of the centroid it correlates with most."""
    return np.asarray(correlations(matrix, centroids).argmax(axis=1))
