"""Ordinary tables through the command line: what is said, what is recorded, and that verify can repeat it."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest

GENES = "gene,1000,1001,1002,1003,1004,1005\n" + "\n".join(
    f"G{j}," + ",".join(map(str, row))
    for j, row in enumerate(np.random.default_rng(1).normal(size=(3, 6)).round(3))
)
GAPS = """id;a;b;kind
s1;0,0;0,1;x
s2;0,2;;x
s3;4,0;4,0;y
s4;4,1;4,2;y
s5;0,1;0,3;x
s6;NA;4,3;
"""
SOLVE = "gaps.csv -k 2 --variance 1 --decimal ,"


@pytest.fixture
def tables(files):
    """Files as people have them."""
    (files / "genes.csv").write_text(GENES)
    (files / "gaps.csv").write_text(GAPS)
    (files / "rules.csv").write_text("type,samples,component,limit\nmust-link,s1;s2,,\n")
    return files


@pytest.mark.usefixtures("tables")
def test_numbers_that_are_names_are_no_feature(certmix):
    """The reproducer: three genes are three features, whatever the samples are called."""
    answer = certmix("solve genes.csv -k 2 --variance 1 --transpose --json")
    assert answer.json["n_features"] == 3
    assert answer.json["names"] == ["1000", "1001", "1002", "1003", "1004", "1005"]
    assert "note: the first row names the samples" in answer.err
    assert "note: features: G0, G1, G2" in answer.err


@pytest.mark.parametrize("policy", ["drop-samples", "drop-features", "mean", "median"])
@pytest.mark.usefixtures("tables")
def test_missing_values_are_counted_recorded_and_repeated(certmix, policy):
    """The log counts them, result.json records what was done, and verify repeats it with the same options."""
    options = ["--decimal", ",", "--missing", policy]
    columns = ["--columns", "b"] if policy == "drop-features" else []
    if policy == "drop-features":
        answer = certmix("solve", "gaps.csv", "-k", "2", "--variance", "1", *options)
        assert answer.code == 2
        assert "every column has a missing value" in answer.err
        options[-1] = "drop-samples"
    answer = certmix("solve", "gaps.csv", "-k", "2", "--variance", "1", *options, *columns, "--out", "out")
    assert answer.code == 0
    assert "missing value" in answer.err
    assert "decimal comma" in answer.err
    document = json.loads(Path("out/result.json").read_text())
    assert document["preprocessing"]["missing"]["policy"] == options[-1]
    assert document["preprocessing"]["reading"] == {"decimal": ","}
    answer = certmix("verify", "out", "gaps.csv", *options, *columns)
    assert answer.code == 0
    other = "median" if policy == "drop-samples" else "drop-samples"
    if policy in ("mean", "drop-samples"):
        answer = certmix("verify", "out", "gaps.csv", "--decimal", ",", "--missing", other)
        assert answer.code == 1


@pytest.mark.usefixtures("tables")
def test_dropped_samples_are_dropped_everywhere(certmix):
    """Label columns lose them too; a constraint that names one says why it is not there."""
    answer = certmix(f"solve {SOLVE} --missing drop-samples --label-column kind --json")
    assert answer.code == 0
    assert answer.json["names"] == ["s1", "s3", "s4", "s5"]
    assert answer.json["labels"] == [0, 1, 1, 0]
    estimated = "--columns a --precision-from pooled --class-column kind"
    answer = certmix(f"solve gaps.csv -k 2 --decimal , --missing drop-samples {estimated}")
    assert answer.code == 0
    answer = certmix(f"solve {SOLVE} --missing drop-samples --constraints rules.csv")
    assert answer.code == 2
    assert "sample 's2' was left out because a value of it is missing (--missing drop-samples)" in answer.err


@pytest.mark.usefixtures("tables")
def test_numbers_of_samples_do_not_shift(certmix, tables):
    """Where samples have no names, a rule about sample 3 is about sample 3 of the file, dropped ones or not."""
    (tables / "plain.csv").write_text("a,b\n0.5,1\n,2\n0.1,1.5\n9.0,1.1\n")
    for name, text in (("r.csv", "type,samples\ncannot-link,0;2\n"), ("r.toml", "cannot-link = [[0, 2]]\n")):
        (tables / name).write_text(text)
        answer = certmix(
            f"solve plain.csv -k 2 --variance 1 --missing drop-samples --constraints {name} --json"
        )
        assert answer.code == 0
        assert answer.json["names"] == ["0", "2", "3"]
        labels = answer.json["labels"]
        assert labels[0] != labels[1]


@pytest.mark.usefixtures("tables")
def test_compressed_and_standard_input(certmix, tables, monkeypatch):
    """The same table, compressed and through a pipe, gives the same value."""
    plain = certmix(f"solve {SOLVE} --missing mean --json").json["objective"]
    (tables / "gaps.csv.gz").write_bytes(gzip.compress(GAPS.encode()))
    packed = certmix(f"solve {SOLVE.replace('.csv', '.csv.gz')} --missing mean --json").json["objective"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(GAPS.encode())))
    piped = certmix(f"solve {SOLVE.replace('gaps.csv', '-')} --missing mean --sep ; --json").json
    assert plain == packed == piped["objective"]
    assert piped["preprocessing"]["reading"] == {"sep": ";", "decimal": ","}


@pytest.mark.usefixtures("tables")
def test_constant_columns_are_a_note(certmix):
    """A constant column is named and costs nothing, standardised or not."""
    answer = certmix("solve data.csv -k 2 --variance 1 --columns a,flat --json")
    assert answer.code == 0
    assert "note: column 'flat' is constant and cannot separate anything" in answer.err
    alone = certmix("solve data.csv -k 2 --variance 1 --columns a --json").json["objective"]
    assert answer.json["objective"] == pytest.approx(alone)
    assert certmix("solve data.csv -k 2 --variance 1 --columns a,flat --standardize").code == 0


@pytest.mark.usefixtures("tables")
def test_a_feature_that_dominates(certmix, tables):
    """Without covariance and scaling the log names a column that has nearly all of the variance."""
    (tables / "batch.csv").write_text("batch,a\n100,0.1\n100,0.2\n900,0.3\n900,5\n")
    answer = certmix("solve batch.csv -k 2")
    assert "column 'batch' has 100.0 % of the variance" in answer.err
    assert "look like codes" in answer.err
    assert "of the variance" not in certmix("solve batch.csv -k 2 --standardize").err
    assert "of the variance" not in certmix("solve batch.csv -k 2 --variance 1").err


@pytest.mark.usefixtures("tables")
def test_a_result_with_a_record_can_be_loaded(certmix):
    """What was done about missing values stands beside the map of standardising, and does not hinder loading."""
    from certmix import Result

    options = "--decimal , --missing mean -k 2 --variance 1"
    for preparation in ("", "--standardize"):
        out = f"out{len(preparation)}"
        assert certmix(f"solve gaps.csv {options} {preparation} --out {out}").code == 0
        result = Result.load(out)
        assert (result.transform is None) == (not preparation)
