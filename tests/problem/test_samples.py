"""Samples: names, positions, and data that cannot be clustered."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from certmix.errors import InputError
from certmix.problem.samples import Samples

DATA = np.arange(8.0).reshape(4, 2)


def test_positions_are_names_when_there_are_none() -> None:
    """Unnamed samples are found by position and by its digits."""
    samples = Samples(DATA)
    assert not samples.named
    assert samples.names == ("0", "1", "2", "3")
    assert [samples.position(ref) for ref in (2, "2", np.int64(2), " 2 ")] == [2, 2, 2, 2]
    assert samples.sample(2) == "sample 2"


def test_names_from_an_index() -> None:
    """A DataFrame's index gives the names and its columns the features' names."""
    samples = Samples(pd.DataFrame(DATA, index=["a", "b", "c", "d"], columns=["x", "y"]))
    assert samples.named
    assert samples.position("c") == 2
    assert samples.position(2) == 2
    assert samples.sample(2) == "c"
    assert samples.feature(1) == "column 'y'"


def test_default_index_is_no_name() -> None:
    """The default index of a DataFrame counts as no names, a filtered one as names."""
    frame = pd.DataFrame(DATA)
    assert not Samples(frame).named
    kept = Samples(frame.iloc[[0, 2, 3]])
    assert kept.named
    assert kept.position(3) == 2
    assert kept.position("3") == 2
    with pytest.raises(InputError, match="no sample 1"):
        kept.position(1)


def test_whole_number_names_win_over_positions() -> None:
    """When the names are whole numbers, a whole number is a name."""
    samples = Samples(DATA, [10, 3, 2, 1])
    assert [samples.position(ref) for ref in (10, 3, 2, 1, "1")] == [0, 1, 2, 3, 3]
    with pytest.raises(InputError, match="no sample 0"):
        samples.position(0)


def test_numbers_are_positions_when_names_are_mixed() -> None:
    """With other names among them, a whole number is a position and its digits are a name."""
    samples = Samples(DATA, ["a", 3, "b", "c"])
    assert samples.position(3) == 3
    assert samples.position("3") == 1


def test_odd_names() -> None:
    """Blanks around a name do not matter where that leaves no doubt; dates, fractions and pairs are names."""
    day = datetime.date(2020, 1, 1)
    samples = Samples(DATA, [" padded", day, 0.5, ("plate", 3)])
    assert samples.position(" padded") == 0
    assert samples.position("padded") == 0
    assert samples.position("padded  ") == 0
    assert samples.position(day) == 1
    assert samples.position("2020-01-01") == 1
    assert samples.position(0.5) == 2
    assert samples.position(("plate", 3)) == 3


def test_names_that_differ_only_by_blanks() -> None:
    """Exact names win; a name that could be two samples is none."""
    samples = Samples(DATA, ["a", " a", "b ", " b"])
    assert samples.position("a") == 0
    assert samples.position(" a") == 1
    assert samples.position(" b") == 3
    with pytest.raises(InputError, match="'b'"):
        samples.position("b")


@pytest.mark.parametrize("ref", [4, -1, True, None, 1.5, "z", ("a",), float("nan")])
def test_references_that_lead_nowhere(ref: Any) -> None:
    """A reference to no sample is named in the error."""
    with pytest.raises(InputError, match="no sample"):
        Samples(DATA).position(ref)


def test_nearest_name_is_suggested() -> None:
    """A misspelt name gets the closest one."""
    with pytest.raises(InputError, match="did you mean 'TCGA-A1-A0SB'"):
        Samples(DATA, ["TCGA-A1-A0SB", "TCGA-B2", "x", "y"]).position("TCGA-A1-AOSB")


def test_the_data_are_copied_and_frozen() -> None:
    """The samples neither follow nor change the user's array."""
    mine = DATA.copy()
    samples = Samples(mine)
    mine[0, 0] = 99
    assert samples.values[0, 0] == 0
    with pytest.raises(ValueError, match="read-only"):
        samples.values[0, 0] = 1


def test_one_dimension_and_integers() -> None:
    """A sequence of numbers is one column; whole numbers become floats."""
    samples = Samples([3, 1, 2])
    assert samples.values.shape == (3, 1)
    assert samples.values.dtype == np.float64
    assert Samples(pd.Series([3.0, 1.0], index=["p", "q"])).names == ("p", "q")


def test_a_constant_column_is_no_error() -> None:
    """It cannot separate anything, but data may have one; which ones they are is known."""
    samples = Samples(pd.DataFrame({"x": [1, 2], "y": [5, 5]}))
    assert samples.constant == (1,)
    assert Samples(np.ones((3, 2))).constant == (0, 1)


def test_a_mask_that_hides_nothing() -> None:
    """A masked array without masked values is an array."""
    np.testing.assert_array_equal(Samples(np.ma.masked_array(DATA)).values, Samples(DATA).values)


def test_names_of_samples_without_names() -> None:
    """Where samples are numbered, a name is not answered with the number that looks most like it."""
    with pytest.raises(InputError, match="no sample named 'S1'; the samples have no names"):
        Samples(DATA).position("S1")


def test_the_dominating_feature() -> None:
    """A feature with nearly all of the variance is found; constant ones do not make another one dominate."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=(20, 3)) * [1, 30, 1]
    found = Samples(y).dominating
    assert found is not None
    assert found[0] == 1
    assert Samples(y / [1, 30, 1]).dominating is None
    assert Samples(y[:, 1:2] * [1, 0]).dominating is None


NAN = float("nan")
BAD: dict[str, tuple[Any, Any, list[str]]] = {
    "not a number": ([[1, 2], [NAN, 4]], ["a", "b"], ["b", "column 0", "nan"]),
    "several not numbers": ([[NAN, 2], [NAN, 4]], None, ["sample 0", "2 such values"]),
    "infinite": (
        pd.DataFrame({"x": [1.0, 2.0], "y": [np.inf, 1.0]}, index=["p", "q"]),
        None,
        ["p", "'y'", "inf"],
    ),
    "missing in pandas": (pd.DataFrame({"x": pd.array([1, None], dtype="Int64")}), None, ["column 'x'"]),
    "text": (pd.DataFrame({"x": [1.0, 2.0], "y": ["3", "tall"]}), None, ["sample 1", "'y'", "'tall'"]),
    "text in a list": ([["a"], ["b"]], None, ["sample 0", "'a'", "not a number"]),
    "complex": (np.array([[1j], [2]]), None, ["complex"]),
    "ragged": ([[1, 2], [3]], None, ["same length"]),
    "three dimensions": (np.zeros((2, 2, 2)), None, ["3 dimensions"]),
    "a number": (3.0, None, ["dimensions"]),
    "no samples": (np.zeros((0, 2)), None, ["empty", "0 samples"]),
    "no columns": (np.zeros((3, 0)), None, ["empty", "0 features"]),
    "sparse": (csr_matrix(np.eye(3)), None, ["sparse"]),
    "masked": (np.ma.masked_greater(DATA, 3), None, ["masked array", "masked value"]),
    "dates": (
        pd.DataFrame({"x": [1, 2], "t": pd.to_datetime(["2020-01-01", "2021-01-01"])}),
        None,
        ["'t'", "dates"],
    ),
    "dates with a zone": (
        pd.DataFrame({"t": pd.to_datetime(["2020-01-01", "2021-01-01"], utc=True)}),
        None,
        ["'t'", "dates"],
    ),
    "an array of dates": (np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]"), None, ["dates"]),
    "time spans": (pd.DataFrame({"t": pd.to_timedelta([1, 2], unit="s")}), None, ["'t'", "time spans"]),
    "time spans as objects": (np.array([np.timedelta64(1, "s")] * 2, dtype=object), None, ["number"]),
    "categories": (pd.DataFrame({"x": pd.Categorical([1, 2])}), None, ["'x'", "categories"]),
    "truth values": (np.array([[True, False], [False, True]]), None, ["truth values"]),
    "a column of truth values": (
        pd.DataFrame({"x": [1.0, 2.0], "b": [True, False]}),
        None,
        ["'b'", "truth values"],
    ),
    "a list of truth values": ([[True], [False]], None, ["truth values"]),
    "digits": (np.array([["1", "2"], ["3", "4"]]), None, ["texts", "astype(float)"]),
    "a column of digits": (pd.DataFrame({"x": [1, 2], "s": ["1", "2"]}), None, ["'s'", "texts"]),
    "digits among numbers": (np.array([[1.0, "2"], [3, 4]], dtype=object), None, ["texts"]),
    "bytes": (np.array([b"1", b"2"]), None, ["bytes"]),
    "records": (np.array([(1.0, 2)], dtype=[("a", float), ("b", int)]), None, ["records"]),
    "nothing": (np.array([[None, 1.0], [2.0, 3.0]], dtype=object), None, ["sample 0", "column 0", "nan"]),
    "a column of lists": (pd.Series([[1, 2], [3, 4]]), None, ["[1, 2]", "not a number"]),
    "complex objects": (np.array([1j, 2], dtype=object), None, ["number"]),
    "huge": ([[1e200], [0]], None, ["1e+200", "rescale"]),
    "too few names": (DATA, ["a", "b"], ["2 sample names", "4 samples"]),
    "name twice": (DATA, ["a", "b", "a", "c"], ["'a'", "twice", "0 and 2"]),
    "name twice as text": (DATA, [1, "1", 2, 3], ["'1'", "twice"]),
    "blank name": (DATA, ["a", " ", "b", "c"], ["position 1", "blank"]),
    "no name": (DATA, ["a", None, "b", "c"], ["position 1", "blank"]),
    "name not a number": (DATA, ["a", "b", NAN, "c"], ["position 2", "blank"]),
    "name missing in pandas": (DATA, ["a", "b", "c", pd.NA], ["position 3", "blank"]),
    "no time": (DATA, [pd.NaT, "b", "c", "d"], ["position 0", "blank"]),
}


@pytest.mark.parametrize(("data", "names", "words"), BAD.values(), ids=BAD.keys())
def test_bad_data_name_the_culprit(data: Any, names: Any, words: list[str]) -> None:
    """Data that cannot be clustered are refused with the sample, the column or the name that is wrong."""
    with pytest.raises(InputError) as error:
        Samples(data, names)
    for word in words:
        assert word in str(error.value)


class Foreign:
    """A frame of another library, such as polars: types that are not NumPy's, columns by name, no ``iloc``."""

    def __init__(self, **columns: list[object]) -> None:
        self.held, self.columns, self.dtypes = columns, list(columns), [object() for _ in columns]

    def __getitem__(self, name: str) -> list[object]:
        return self.held[name]

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        return np.array(list(self.held.values()), dtype=dtype).T  # type: ignore[call-overload]


def test_frames_of_other_libraries_are_taken() -> None:
    """With the names of their features; what is no measurement is refused as elsewhere."""
    samples = Samples(Foreign(a=[1.0, 2.0, 4.0], b=[0.0, 1.0, 1.0]))
    assert samples.columns == ("a", "b")
    assert samples.values.tolist() == [[1.0, 0.0], [2.0, 1.0], [4.0, 1.0]]
    with pytest.raises(InputError, match="column 'b' holds truth values"):
        Samples(Foreign(a=[1.0, 2.0], b=[True, False]))
