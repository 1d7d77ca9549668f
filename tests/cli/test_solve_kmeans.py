"""``certmix kmeans``: a mixture's options are not there, sums of squares are."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from certmix.result import Result

ANY = "kmeans data.csv -k 2 --columns a,b"


def squares(data: np.ndarray, labels: list[int]) -> float:
    z = np.array(labels)
    return sum(((data[z == k] - data[z == k].mean(axis=0)) ** 2).sum() for k in np.unique(z))


def rows(path):
    with path.open(newline="") as stream:
        return list(csv.reader(stream))


@pytest.fixture
def data(files) -> np.ndarray:
    return np.array([[float(x) for x in row[1:3]] for row in rows(files / "data.csv")[1:]])


def test_json_speaks_of_sums_of_squares(certmix, data):
    """``sse``, its bound and the gap relative to it; the objective is the same number."""
    found = certmix(f"{ANY} --json --quiet").json
    assert found["sse"] == found["objective"] == pytest.approx(squares(data, found["labels"]), rel=1e-12)
    assert found["sse_lower_bound"] <= found["sse"]
    gap = (found["sse"] - found["sse_lower_bound"]) / found["sse"]
    assert found["gap_relative"] == pytest.approx(gap, rel=1e-6, abs=1e-15)
    assert (found["status"], found["certificate"]) == ("optimal", "verified")
    assert found["trace"][-1][1] == found["sse"]


def test_log_and_summary_speak_of_sums_of_squares(certmix, data):
    """No nats, no weights, no components."""
    answer = certmix(ANY)
    assert answer.code == 0
    assert "Certified k-means clustering" in answer.out
    assert f"SSE {squares(data, [0, 0, 1, 1, 0, 1]):.6g}"[:9] in answer.out
    assert "SSE " in answer.err
    for word in ("nats", "weight", "omponent"):
        assert word not in answer.out
        assert word not in answer.err.replace("fixed weights", "weight")


def test_it_is_the_solve_of_no_weights(certmix):
    """The door is an option of ``certmix solve``; neither has a covariance."""
    own, other = (
        certmix(f"{c} data.csv -k 2 --columns a,b --json -q").json for c in ("kmeans", "solve --weights none")
    )
    assert {k: v for k, v in own.items() if k not in ("seconds", "trace", "verification")} == {
        k: v for k, v in other.items() if k not in ("seconds", "trace", "verification")
    }
    answer = certmix("solve data.csv -k 2 --columns a,b --weights none --variance 2")
    assert answer.code == 2
    assert "--variance has no place in k-means" in answer.err
    assert certmix(f"{ANY} --variance 2").code == 2


def test_files_and_their_check(certmix, files, data):
    """What is written has no weights, can be loaded again, and its certificate is verified."""
    assert certmix(f"{ANY} --min-size 3 --out run -q").code == 0
    result = Result.load("run")
    assert result.sse == pytest.approx(squares(data, result.labels.tolist()), rel=1e-12)
    np.testing.assert_allclose(result.predict_proba(data).max(axis=1), result.posterior)
    assert rows(files / "run/parameters.csv")[0] == ["component", "name", "size", "mean a", "mean b"]
    trace = rows(files / "run/trace.csv")
    assert float(trace[-1][1]) == result.sse
    np.testing.assert_array_equal(result.predict(data), result.labels)
    answer = certmix("verify run data.csv --columns a,b --weights none -k 2 --min-size 3")
    assert answer.code == 0
    assert "has SSE" in answer.out
    assert (
        certmix("verify run data.csv --columns a,b --weights uniform --variance 1 -k 2 --min-size 3").code
        == 1
    )


def test_an_infeasible_problem_has_no_sum_of_squares(certmix):
    """The object is there, its numbers are null."""
    answer = certmix(f"{ANY} --min-size 4 --json")
    assert answer.code == 4
    assert answer.json["sse"] is None
