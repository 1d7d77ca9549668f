"""What a run leaves behind is enough: to load, to predict, to plot, to start from."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import certmix
from certmix import CannotLink, InputError, Label, MustLink, Problem, Result
from certmix.cli.main import run
from certmix.plotting import plot_clusters

TABLE = "name,a,b,c\nS1,0,1,4\nS2,0.1,1.2,3\nS3,5,5,2\nS4,5.1,5.2,1\nS5,9,1,0\nS6,8.7,1,0.3\n"
RULES = "type,samples,component,limit\nlabel,S1,A,\nmust-link,S1;S2,,\nlabel,S5,B,\n"
OPTIONS = [
    "-k",
    "3",
    "--variance",
    "1",
    "--standardize",
    "--pca",
    "2",
    "--constraints",
    "rules.csv",
    "--quiet",
]


@pytest.fixture
def folder(tmp_path, monkeypatch, capsys):
    """A folder with data, rules and the directory `out` of a run; the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text(TABLE)
    (tmp_path / "rules.csv").write_text(RULES)
    assert run(["solve", "data.csv", *OPTIONS, "--out", "out"]) == 0
    capsys.readouterr()
    return tmp_path


def test_a_directory_of_out_can_be_loaded(folder):
    """Directory and file give the same result, with the certificate that lies beside it."""
    result = Result.load("out")
    assert result.objective == Result.load("out/result.json").objective
    assert result.certificate is not None
    assert certmix.verify(result.certificate, np.asarray(result.data)).bound <= result.objective


def test_a_certificate_of_another_run_is_left_alone(folder):
    """A certificate about other labels does not become the result's."""
    document = json.loads((folder / "out" / "certificate.json").read_text())
    (folder / "out" / "certificate.json").write_text(json.dumps({**document, "arrays": {"sha256": "0"}}))
    assert Result.load("out").certificate is None


def test_a_directory_without_a_result_is_said(tmp_path):
    """An empty directory is an error in words."""
    with pytest.raises(InputError, match="directory without a result"):
        Result.load(tmp_path)


def test_a_loaded_result_predicts_raw_rows(folder):
    """Rows in original coordinates are prepared as the data were; columns are found by name."""
    result = Result.load("out")
    frame = pd.read_csv("data.csv", index_col="name")
    np.testing.assert_array_equal(result.predict(frame), result.labels)
    np.testing.assert_array_equal(result.predict(frame[["c", "a", "b"]]), result.labels)
    np.testing.assert_array_equal(result.predict(frame.to_numpy()), result.labels)
    shares = result.predict_proba(frame)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    free = ~np.asarray(result.fixed)
    expected = shares[np.arange(6), result.labels]
    np.testing.assert_allclose(expected[free], np.asarray(result.posterior)[free])
    with pytest.raises(InputError, match="no column 'c'"):
        result.predict(frame[["a", "b"]])
    with pytest.raises(InputError, match="2 features where 3"):
        result.predict([[0.0, 1.0]])


def test_a_loaded_result_can_be_plotted(folder):
    """No problem is needed."""
    axes = plot_clusters(Result.load("out"))
    assert axes.get_xlabel() == "PC1"


def test_fixed_samples_are_those_that_constraints_decide():
    """Labels fix, and what follows from them; a fixed sample has posterior 1 and no runner-up."""
    rules = [Label(0, 0), MustLink(0, 5), CannotLink(0, 1), Label(2, 1)]
    result = certmix.solve(
        Problem([[0.0], [0.1], [4.0], [4.2], [0.3], [4.1]], 2, variance=1, constraints=rules)
    )
    assert result.fixed is not None
    assert result.fixed.tolist() == [True, True, True, False, False, True]
    assert np.all(np.asarray(result.posterior)[result.fixed] == 1.0)
    assert np.all(np.asarray(result.runner_up)[result.fixed] == -1)
    assert result.to_pandas()["fixed"].tolist() == result.fixed.tolist()
    assert not certmix.solve(Problem([[0.0], [1.0]], 1, variance=1)).fixed.any()  # type: ignore[union-attr]


def test_assignments_say_what_is_fixed(folder):
    """The column `fixed` of assignments.csv."""
    table = pd.read_csv("out/assignments.csv", index_col="sample")
    assert table["fixed"].tolist() == ["yes", "yes", "no", "no", "yes", "no"]
    assert table["posterior"]["S1"] == 1.0
    assert table["runner_up"].isna()["S1"]


def test_a_run_starts_from_an_earlier_one(folder, capsys):
    """assignments.csv, a result and labels are the same start."""
    assert run(["solve", "data.csv", *OPTIONS, "--start", "out/assignments.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["source"] == "start"
    result = Result.load("out")
    problem = Problem(result.data, 3, variance=1, names=result.names)
    for start in ("out/assignments.csv", result, result.labels):
        assert certmix.solve(problem, "hard-em", start=start).objective <= result.objective + 1e-9


def test_rows_without_names_are_in_order(tmp_path):
    """One column of labels is a start, in the order of the samples."""
    (tmp_path / "start.csv").write_text("label\n0\n0\n1\n1\n")
    problem = Problem([[0.0], [0.1], [4.0], [4.2]], 2, variance=1)
    assert certmix.solve(problem, start=tmp_path / "start.csv").source == "start"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("sample,label\nS1,0\nS2,0\nS3,1\n", "start.csv has no label for S4, S5, S6"),
        ("sample,label\nS1,0\nS9,0\n", "start.csv, line 3: there is no sample named 'S9'"),
        ("sample,label\nS1,0\nS1,0\n", "start.csv, line 3: S1 stands there twice"),
        ("sample,label\nS1,7\n", "start.csv, line 2: there is no component 7"),
        ("sample,kind\nS1,7\n", "no column is called component or label or cluster"),
        ("label\n" + 7 * "0\n", "start.csv, line 8: more rows than the 6 samples"),
        ("label,sample\n0\n", "start.csv, line 2: 1 cells, but the header has 2"),
        ("", "start.csv is empty"),
        (
            "sample,component\nS1,B\nS2,B\nS3,A\nS4,A\nS5,B\nS6,2\n",
            "the clustering given as start violates a constraint: S1 is in component A (line 2)",
        ),
        (
            "sample,component\nS1,A\nS2,A\nS3,A\nS4,A\nS5,B\nS6,B\n",
            "the clustering given as start violates a constraint: component component 2 has 0 samples",
        ),
    ],
)
def test_a_start_that_does_not_fit_is_refused(folder, capsys, text, sentence):
    """The message names the file, the line, the sample or the constraint."""
    (folder / "start.csv").write_text(text)
    assert run(["solve", "data.csv", *OPTIONS, "--start", "start.csv"]) == 2
    assert sentence in capsys.readouterr().err


def test_one_bound_is_shown_everywhere(folder, capsys):
    """The last line of the log, the summary, the JSON and the trace end with the same bound."""
    assert run(["solve", "mixture:n=60,d=2,k=3", "--out", "more", "--no-verify", "--no-certificate"]) == 0
    captured = capsys.readouterr()
    result = Result.load("more")
    assert result.gap_relative < 1e-9  # more was proved than was asked for, and it is said
    shown = f"{result.lower_bound:.10g}"
    last = captured.err.splitlines()[-2]  # above the sentence
    assert shown in last.split()
    assert shown in captured.out
    assert result.trace[-1].bound == result.lower_bound
    assert (folder / "more" / "trace.csv").read_text().splitlines()[-1].endswith(repr(result.lower_bound))
