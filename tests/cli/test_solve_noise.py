"""``--noise``: samples that are in no cluster have the label -1."""

from __future__ import annotations

import csv

import pytest

FAR = "s7,30.0,-20.0,,,1\n"
ANY = "solve data.csv -k 2 --columns a,b --variance 0.1"


@pytest.fixture
def far(files):
    """One more sample, far from the others."""
    with (files / "data.csv").open("a") as stream:
        stream.write(FAR)
    return files


def rows(path):
    with path.open(newline="") as stream:
        return list(csv.reader(stream))


def test_labels_of_noise(certmix, far):
    """-1 in JSON and in assignments.csv; in parameters.csv noise has no mean."""
    found = certmix(f"{ANY} --noise auto --json --quiet --out out").json
    assert found["labels"] == [0, 0, 1, 1, 0, 1, -1]
    assert found["sizes"] == [3, 3, 1]
    assert found["component_names"] == ["0", "1", "noise"]
    assert (len(found["means"]), len(found["weights"])) == (2, 3)
    assert (found["status"], found["certificate"]) == ("optimal", "verified")
    assert rows(far / "out" / "assignments.csv")[-1][:3] == ["s7", "-1", "noise"]
    assert rows(far / "out" / "parameters.csv")[-1] == ["-1", "noise", "1", repr(1 / 7), "", ""]


def test_density_and_limits(certmix, far):
    """A number, at most and at least so many samples."""
    assert certmix(f"{ANY} --noise 1e-9 --json -q").json["labels"][-1] == -1
    assert certmix(f"{ANY} --noise 1e-9 --noise-max 0 --json -q").json["sizes"][-1] == 0
    assert certmix(f"{ANY} --noise 0.01 --noise-min 3 --json -q").json["sizes"][-1] == 3


def test_the_certificate_is_checked_against_the_options(certmix, far):
    """The same density, and the same limit."""
    assert certmix(f"{ANY} --noise auto --noise-max 2 --certificate -q --out out").code == 0
    data = "out data.csv -k 2 --columns a,b --variance 0.1"
    assert certmix(f"verify {data} --noise auto --noise-max 2").code == 0
    assert "covariance" in certmix(f"verify {data} --noise 0.5 --noise-max 2").out
    assert "side constraints" in certmix(f"verify {data} --noise auto --noise-max 1").out
    taken = certmix("verify out data.csv --columns a,b").out
    assert "2 components and noise" in taken
    assert "no empty components, 1 side constraint" in taken


def test_trimmed_k_means(certmix, far):
    """The sum of squares is that of the others."""
    found = certmix("kmeans data.csv -k 2 --columns a,b --noise-max 1 --json -q").json
    plain = certmix("kmeans data.csv -k 2 --columns a,b --json -q").json
    assert found["labels"] == [0, 0, 1, 1, 0, 1, -1]
    assert found["sse"] < 0.01 * plain["sse"]
    assert (found["status"], found["certificate"]) == ("optimal", "verified")


def test_a_label_column_may_say_noise(certmix, far):
    """It is no name of a cluster then."""
    text = (far / "data.csv").read_text().replace("s2,0.2,0.0,x,,1", "s2,0.2,0.0,x,noise,1")
    (far / "data.csv").write_text(text)
    found = certmix(f"{ANY} --noise auto --label-column label --json -q").json
    assert found["labels"][1] == -1
    assert found["component_names"] == ["p", "q", "noise"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("solve data.csv -k 2 --columns a,b --noise auto", "--noise: with noise the variance must be known"),
        (f"{ANY} --noise lots", "'lots' is not a number"),
        (f"{ANY} --noise-max 3", "--noise-max is about noise, and there is none: add --noise auto"),
        (f"{ANY} --noise 0.1 --engine em", "does not handle noise"),
        (f"{ANY},0.2 --weights none --noise 0.1", "has no place in k-means"),
        ("kmeans data.csv -k 2 --columns a,b --noise-min 1", "say how many samples it may have"),
        ("path data.csv --k 1:2 --columns a,b --variance 0.1 --noise auto", "noise"),
    ],
)
def test_what_is_refused(certmix, far, options, message):
    """Before any work, in words."""
    answer = certmix(options)
    assert answer.code == 2
    assert message in answer.err
