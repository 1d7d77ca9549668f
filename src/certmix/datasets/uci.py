"""Wine and Wisconsin breast cancer, prepared as in the paper."""

from __future__ import annotations

import numpy as np

from certmix.datasets.dataset import Dataset, checked_choice
from certmix.datasets.packaged import packaged
from certmix.problem import estimate_precision

_DECIMALS = 6
_WINE_FEATURES = (
    "alcohol",
    "malic_acid",
    "ash",
    "alcalinity_of_ash",
    "magnesium",
    "total_phenols",
    "flavanoids",
    "nonflavanoid_phenols",
    "proanthocyanins",
    "color_intensity",
    "hue",
    "od280/od315_of_diluted_wines",
    "proline",
)
_BRCA_FEATURES = {"worst area": 23, "worst smoothness": 24, "mean texture": 1}  # and their columns


def wine(rounded: bool = True) -> Dataset:
    """178 wines in 13 dimensions; the precision is the inverse of the mean class covariance.

    Parameters
    ----------
    rounded : bool
        Round the precision to six decimals, which reproduces the paper's value.
    """
    checked_choice(rounded, "the option rounded", (True, False))
    data, target, names = packaged("wine_data.csv")
    precision = estimate_precision(data, target.tolist(), "mean-covariance")
    return Dataset(
        name="wine",
        description="wine, precision = inverse of the mean class covariance" + _rounded(rounded),
        data=data,
        feature_names=_WINE_FEATURES,
        n_components=3,
        target=target,
        target_names=names,
        precision=np.round(precision, _DECIMALS) if rounded else precision,
    )


def brca(rounded: bool = True) -> Dataset:
    """569 breast cancer samples in the paper's three features; the precision is the mean of the class
    precisions.

    Parameters
    ----------
    rounded : bool
        Round the precision to six decimals, which reproduces the paper's value.
    """
    checked_choice(rounded, "the option rounded", (True, False))
    data, target, names = packaged("breast_cancer.csv")
    data = data[:, list(_BRCA_FEATURES.values())]
    precision = estimate_precision(data, target.tolist(), "mean-precision")
    return Dataset(
        name="brca",
        description="Wisconsin breast cancer, precision = mean of the class precisions" + _rounded(rounded),
        data=data,
        feature_names=tuple(_BRCA_FEATURES),
        n_components=2,
        target=target,
        target_names=names,
        precision=np.round(precision, _DECIMALS) if rounded else precision,
    )


def _rounded(rounded: bool) -> str:
    return f", rounded to {_DECIMALS} decimals" if rounded else ""
