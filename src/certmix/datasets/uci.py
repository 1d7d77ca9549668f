"""Wine and Wisconsin breast cancer, prepared as in the paper."""

from __future__ import annotations

import numpy as np

from certmix.datasets.dataset import Dataset, checked_choice
from certmix.problem import estimate_precision

_DECIMALS = 6
_BRCA_FEATURES = ("worst area", "worst smoothness", "mean texture")


def wine(rounded: bool = True) -> Dataset:
    """178 wines in 13 dimensions; the precision is the inverse of the mean class covariance.

    Parameters
    ----------
    rounded : bool
        Round the precision to six decimals, which reproduces the paper's value.
    """
    from sklearn.datasets import load_wine

    checked_choice(rounded, "the option rounded", (True, False))
    found = load_wine()
    precision = estimate_precision(found.data, found.target.tolist(), "mean-covariance")
    return Dataset(
        name="wine",
        description="wine, precision = inverse of the mean class covariance" + _rounded(rounded),
        data=found.data,
        feature_names=tuple(map(str, found.feature_names)),
        n_components=3,
        target=found.target,
        target_names=tuple(map(str, found.target_names)),
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
    from sklearn.datasets import load_breast_cancer

    checked_choice(rounded, "the option rounded", (True, False))
    found = load_breast_cancer()
    columns = [list(found.feature_names).index(name) for name in _BRCA_FEATURES]
    data = found.data[:, columns]
    precision = estimate_precision(data, found.target.tolist(), "mean-precision")
    return Dataset(
        name="brca",
        description="Wisconsin breast cancer, precision = mean of the class precisions" + _rounded(rounded),
        data=data,
        feature_names=_BRCA_FEATURES,
        n_components=2,
        target=found.target,
        target_names=tuple(map(str, found.target_names)),
        precision=np.round(precision, _DECIMALS) if rounded else precision,
    )


def _rounded(rounded: bool) -> str:
    return f", rounded to {_DECIMALS} decimals" if rounded else ""
