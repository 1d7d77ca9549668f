"""Fisher's iris: four measurements, and the one-dimensional projection of the paper."""

from __future__ import annotations

import numpy as np

from certmix.datasets.dataset import Dataset, checked_choice, checked_number, principal_scores
from certmix.datasets.packaged import packaged
from certmix.errors import InputError
from certmix.problem import estimate_precision

VARIANTS = ("uci", "sklearn")
# Rows 35 and 38 (from 1) of the UCI file; scikit-learn's copy corrects them after Fisher's paper.
_UCI_ROWS = {34: (4.9, 3.1, 1.5, 0.1), 37: (4.9, 3.1, 1.5, 0.1)}
_PER_CLASS = 50
_FEATURES = ("sepal length", "sepal width", "petal length", "petal width")


def _load(variant: str) -> tuple[np.ndarray, np.ndarray, tuple[str, ...], tuple[str, ...]]:
    checked_choice(variant, "the variant of iris", VARIANTS)
    data, target, names = packaged("iris.csv")
    if variant == "uci":
        for row, values in _UCI_ROWS.items():
            data[row] = values
    return data, target, _FEATURES, names


def iris1d(n: int = 150, sigma: float | None = None, variant: str = "uci") -> Dataset:
    """The first principal component of iris.

    Parameters
    ----------
    n : int
        Take the first n/3 samples of every class; the projection is that of all 150.
    sigma : float, optional
        Known standard deviation. Default: 0.4, and 0.2 for n = 45, as in the paper.
    variant : {"uci", "sklearn"}
        The UCI file, which the paper used, and scikit-learn's copy differ in two rows.
    """
    checked_number(n, "the number of samples of iris1d", 3)
    if n % 3 or n > 3 * _PER_CLASS:
        raise InputError(f"the number of samples of iris1d must be a multiple of 3 up to 150, not {n}")
    sigma = (0.2 if n == 45 else 0.4) if sigma is None else float(sigma)
    if not 0 < sigma < np.inf:
        raise InputError(f"sigma must be a positive number, not {sigma:g}")
    data, target, _, names = _load(variant)
    scores, explained = principal_scores(data, 1)
    rows = np.concatenate([np.flatnonzero(target == c)[: n // 3] for c in range(3)])
    return Dataset(
        name="iris1d",
        description=f"first principal component of iris ({variant}), sigma = {sigma:g}",
        data=scores[rows],
        feature_names=("PC1",),
        n_components=3,
        target=target[rows],
        target_names=names,
        variance=sigma**2,
        explained_variance=explained,
    )


def iris(variant: str = "sklearn") -> Dataset:
    """All four measurements, with the mean of the three class precision matrices."""
    data, target, features, names = _load(variant)
    return Dataset(
        name="iris",
        description=f"iris ({variant}), precision = mean of the class precisions",
        data=data,
        feature_names=features,
        n_components=3,
        target=target,
        target_names=names,
        precision=estimate_precision(data, target.tolist(), "mean-precision"),
    )
