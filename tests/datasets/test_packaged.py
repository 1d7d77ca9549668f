"""The data sets that are read from scikit-learn's files."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from certmix import datasets
from certmix.datasets.packaged import packaged
from certmix.errors import InputError


@pytest.mark.parametrize(
    ("file", "load"),
    [("iris.csv", load_iris), ("wine_data.csv", load_wine), ("breast_cancer.csv", load_breast_cancer)],
)
def test_files_hold_what_scikit_learn_loads(file, load) -> None:
    """To the last bit."""
    data, target, names = packaged(file)
    expected = load()
    np.testing.assert_array_equal(data, expected.data)
    np.testing.assert_array_equal(target, expected.target)
    assert names == tuple(expected.target_names)


def test_features_are_named_as_there() -> None:
    """The names of columns are those of scikit-learn, and brca's columns are the named ones."""
    assert datasets.load("wine").feature_names == tuple(load_wine().feature_names)
    iris = tuple(name.removesuffix(" (cm)") for name in load_iris().feature_names)
    assert datasets.load("iris").feature_names == iris
    found, brca = load_breast_cancer(), datasets.load("brca")
    columns = [list(found.feature_names).index(name) for name in brca.feature_names]
    np.testing.assert_array_equal(brca.data, found.data[:, columns])


def test_a_missing_file_is_told() -> None:
    """A scikit-learn without the file is an error in words."""
    with pytest.raises(InputError, match=r"no nothing\.csv"):
        packaged("nothing.csv")
