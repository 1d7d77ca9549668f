"""``--missing keep`` and weights that are not whole, through every command: what is done with them, or refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from certmix.result import Result

TABLE = "id,a,b\ns1,0,0.1\ns2,0.2,\ns3,,0.3\ns4,5,5.1\ns5,5.2,\ns6,,4.9\n"
WEIGHTS = (0.5, 1.5, 1.0, 2.25, 1.0, 0.75)
KEPT = "gaps.csv -k 2 --missing keep"


@pytest.fixture(autouse=True)
def gaps(files):
    (files / "gaps.csv").write_text(TABLE)
    head, *rows = "id,a,b\ns1,0,0.1\ns2,0.2,0.4\ns3,0.1,0.3\ns4,5,5.1\ns5,5.2,5\ns6,5.3,4.9\n".splitlines()
    lines = [f"{head},w", *(f"{row},{weight}" for row, weight in zip(rows, WEIGHTS, strict=True))]
    (files / "weights.csv").write_text("\n".join(lines) + "\n")
    return files


@pytest.mark.parametrize(("command", "objective"), [("solve --variance 0.5", "objective"), ("kmeans", "sse")])
def test_what_is_there_counts(certmix, command, objective):
    """Two features, each by the samples that have it: sums of squares that a pocket calculator gives."""
    found = certmix(f"{command} {KEPT} --json -q").json
    squares = 0.02 + 0.02 + 0.02 + 0.02  # pairs that differ by 0.2
    nats = squares / (2 * 0.5) + 6 * np.log(2.0)
    assert found[objective] == pytest.approx(squares if command == "kmeans" else nats)
    assert found["labels"] == [0, 0, 0, 1, 1, 1]
    assert (found["status"], found["sizes"]) == ("optimal", [3, 3])
    np.testing.assert_allclose(found["means"], [[0.1, 0.2], [5.1, 5.0]])


def test_files_report_and_new_samples(certmix, gaps):
    """What is written can be read, drawn, and asked about samples that have values missing."""
    asked = f"solve {KEPT} --variance 0.5 --out run --report run.html --plot run.png -q"
    assert certmix(asked).code == 0
    result = Result.load("run")
    np.testing.assert_array_equal(result.predict([[np.nan, 4.0], [0.3, np.nan]]), [1, 0])
    page = (gaps / "run.html").read_text()
    assert "s6" in page
    assert "4 of 12, not filled in" in page
    assert (gaps / "run.png").stat().st_size > 1000
    assert certmix("report run --plot again.png").code == 0


def test_without_a_word_they_are_refused(certmix):
    """The first is named, with its line; so is a sample that has none at all."""
    answer = certmix("solve gaps.csv -k 2")
    assert answer.code == 2
    assert (
        "gaps.csv, line 3: the value of sample 's2' in column 'b' is missing (4 such values in all)"
        in answer.err
    )


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (f"solve {KEPT}", "the variance must be known"),
        (f"solve {KEPT} --variance 1 --pca 1", "--pca"),
        (f"solve {KEPT} --variance 1 --noise auto", "no noise but that of k-means"),
        (f"solve {KEPT} --variance 1 --engine sdp", "engines that can: "),
        ("solve weights.csv -k 2 --weight-column w --variance 1", "--weight-column: s1 has weight 0.5"),
    ],
)
def test_what_cannot_be_is_refused_before_any_work(certmix, command, sentence):
    """In words, and with nothing on standard output."""
    answer = certmix(command)
    assert answer.code == 2
    assert answer.out == ""
    assert sentence in answer.err


def test_weights_that_are_not_whole(certmix):
    """Means and squares count them, sizes count samples; uniform weights of components, too."""
    found = certmix("kmeans weights.csv -k 2 --weight-column w --min-size 3 --json -q").json
    a, w = np.array([0.0, 0.2, 0.1]), np.array(WEIGHTS[:3])
    assert found["means"][0][0] == pytest.approx(w @ a / w.sum())
    assert found["sizes"] == [3, 3]
    uniform = certmix(
        "solve weights.csv -k 2 --weight-column w --weights uniform --variance 0.5 --json -q"
    ).json
    assert uniform["objective"] == pytest.approx(found["sse"] / (2 * 0.5) + sum(WEIGHTS) * np.log(2.0))


@pytest.mark.parametrize("data", [KEPT, "weights.csv -k 2 --weight-column w"])
def test_margins_and_alternatives(certmix, gaps, data):
    """They are proved, and the proof is verified."""
    assert certmix(f"stability {data} --weights none --out run --report run.html -q").code == 0
    found = json.loads((gaps / "run" / "stability.json").read_text())
    assert {sample["state"] for sample in found["samples"]} == {"fixed"}
    again = data.replace(" -k 2", "")
    assert certmix(f"verify run/stability-certificate.json {again} --weights none").code == 0
    others = certmix(f"alternatives {data} --weights none --within 1000 --limit 3 --json -q").json
    assert len(others["clusterings"]) == 1 + 3


def test_links_that_may_bend_and_noise_beside_them(certmix, gaps):
    """``certmix kmeans`` has them, whatever is missing."""
    (gaps / "soft.csv").write_text("type,samples,penalty\nmust-link,s1;s6,0.5\n")
    plain = certmix(f"kmeans {KEPT} --json -q").json
    bent = certmix(f"kmeans {KEPT} --constraints soft.csv --json -q").json
    assert (bent["sse"], bent["penalty"]) == (pytest.approx(plain["sse"]), 0.5)
    assert bent["objective"] == pytest.approx(plain["sse"] + 0.5)
    trimmed = certmix(f"kmeans {KEPT} --noise-max 1 --json -q").json
    assert trimmed["labels"].count(-1) == 1
    assert trimmed["sse"] < plain["sse"]
