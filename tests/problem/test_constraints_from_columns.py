"""Columns as constraints: one entry for each sample, whatever the samples are called."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

from certmix import CertifiedGaussianMixture
from certmix.errors import CovarianceWarning, InputError
from certmix.problem import MustLink, Problem, labels_from, same_value
from certmix.problem.constraints import Row

DATA = np.array([[0.0, 1.0], [0.2, 1.1], [4.0, 1.3], [4.1, 0.8]])


@pytest.mark.parametrize("values", [["a", "b"], ["a", None, None, None, "b"]])
def test_a_column_of_the_wrong_length(values):
    """Labels from a column that is too short or too long are refused with both numbers."""
    rules = labels_from(values, name="type")
    with pytest.raises(
        InputError, match=rf"type, sample 0.*has {len(values)} values, but there are 4 samples"
    ):
        Problem(DATA, 2, variance=1.0, constraints=rules, component_names=["a", "b"])
    with pytest.raises(InputError, match="has 3 values, but there are 4 samples"):
        Problem(DATA, 2, variance=1.0, constraints=same_value(["x", "x", "y"]))


def test_a_column_of_a_shuffled_frame():
    """A column is read by position also where samples are named by whole numbers in another order."""
    frame = pd.DataFrame(DATA, index=[2, 0, 3, 1])
    problem = Problem(frame, 2, variance=1.0, constraints=labels_from([0, None, 1, None]))
    assert [(r.sample, r.component) for r in problem.rules.labels] == [(0, 0), (2, 1)]
    problem = Problem(frame, 2, variance=1.0, constraints=same_value(["u", "u", "v", "w"]))
    assert [(r.i, r.j) for r in problem.rules.together] == [(0, 1)]


def test_a_row_survives_copies():
    """A row is a whole number that remembers its column's length, also after pickling."""
    row = Row(3, 7)
    for again in (copy.deepcopy(row), pickle.loads(pickle.dumps(row))):
        assert again == 3
        assert again.total == 7


def test_no_covariance_and_a_feature_that_dominates_is_a_warning():
    """Without a covariance Python names a feature that dominates, as the command line does."""
    uneven = pd.DataFrame(DATA * [1e4, 1], columns=["batch", "x"])
    with pytest.warns(CovarianceWarning, match="column 'batch' has 100.0 % of the variance"):
        Problem(uneven, 2)
    with pytest.warns(CovarianceWarning):
        CertifiedGaussianMixture(2).fit(uneven)


@pytest.mark.filterwarnings("error")
def test_a_covariance_is_no_warning():
    """Whoever gives one is not warned, not even by a changed copy of the problem."""
    Problem(DATA, 2, variance=1.0).replace(n_components=3)


def test_names_that_stand_twice_in_an_index():
    """Two samples of one name: refused where rules may name them, numbered with a warning where there are none."""
    frame = pd.DataFrame(DATA, index=["S1", "S2", "S1", "S3"], columns=["a", "b"])
    model = CertifiedGaussianMixture(2, variance=1.0)
    with pytest.raises(InputError, match="'S1' stands twice"):
        model.fit(frame, constraints=[MustLink("S1", "S2")])
    with pytest.warns(UserWarning, match="'S1' twice"):
        model.fit(frame)
    assert model.result_.names == ("0", "1", "2", "3")


def test_masks_and_dates_in_the_estimator():
    """What a problem refuses, the estimator does not turn into numbers first."""
    model = CertifiedGaussianMixture(2, variance=1.0)
    with pytest.raises(InputError, match="masked array with 2 masked values"):
        model.fit(np.ma.masked_greater(DATA, 3))
    with pytest.raises(InputError, match="dates"):
        model.fit(pd.DataFrame({"t": pd.to_datetime(["2020-01-01", "2021-01-01", "2022-01-01"])}))
