"""``certmix verify``: exit codes and sentences."""

from __future__ import annotations

import json

import numpy as np
import pytest

SOLVE = "solve data.csv -k 2 --columns a,b --variance 0.5 --out out --quiet"
DATA = "--columns a,b"


@pytest.fixture
def solved(certmix, files):
    """A run in ``out`` under a constraints file that separates two samples."""
    (files / "rules.csv").write_text("type,samples\ncannot-link,s1;s3\n")
    answer = certmix(f"{SOLVE} --constraints rules.csv")
    assert answer.code == 0, answer.err
    return certmix


def test_a_good_certificate_is_verified(solved):
    """Exit code 0, one sentence and the level; the directory may stand for the file."""
    for what in ("out", "out/certificate.json"):
        answer = solved(f"verify {what} data.csv {DATA} --constraints rules.csv")
        assert answer.code == 0, answer.out + answer.err
        assert answer.out.startswith("Verified: the clustering has objective")
        assert answer.out.endswith("level: verified\n")


def test_constraints_that_were_not_compared_are_mentioned(solved):
    """Without --constraints the claim holds for the constraints in the certificate, and the sentence says so."""
    answer = solved(f"verify out data.csv {DATA}")
    assert answer.code == 0
    assert "taken from the certificate" in answer.out


def test_other_constraints_are_rejected(solved, files):
    """A dropped, added or changed constraint is not the one that was certified."""
    for text in ("type,samples\nmust-link,s1;s2\n", "type,samples\ncannot-link,s1;s4\n"):
        (files / "other.csv").write_text(text)
        answer = solved(f"verify out data.csv {DATA} --constraints other.csv")
        assert answer.code == 1
        assert "constraints are not those" in answer.out
    assert solved(f"verify out data.csv {DATA} --constraints rules.csv --min-size 2").code == 1


def test_other_data_are_rejected(solved, files):
    """One changed digit in the data, or other columns, and the certificate is not about them."""
    text = (files / "data.csv").read_text()
    (files / "changed.csv").write_text(text.replace("4.1", "4.11"))
    answer = solved(f"verify out changed.csv {DATA}")
    assert answer.code == 1
    assert "digest differs" in answer.out
    assert solved("verify out data.csv --columns a").code == 1


def test_a_raised_bound_is_rejected(solved, files):
    """The sentence says why."""
    path = files / "out" / "certificate.json"
    document = json.loads(path.read_text())
    document["bound"] += 1e-3
    path.write_text(json.dumps(document))
    answer = solved(f"verify out data.csv {DATA}")
    assert answer.code == 1
    assert "lies above the objective" in answer.out
    told = solved(f"verify out data.csv {DATA} --json").json
    assert told["verified"] is False
    assert told["level"] == "rejected"


def test_arrays_of_another_certificate_are_rejected(solved, files):
    """A pair of files that do not belong together is rejected, as is a file that is no certificate."""
    np.savez(files / "out" / "certificate.npz", x=np.zeros(3))
    assert solved(f"verify out data.csv {DATA}").code == 1
    (files / "out" / "certificate.json").write_text("{}")
    assert solved(f"verify out data.csv {DATA}").code == 1


@pytest.mark.parametrize(
    "arguments", ["nowhere data.csv", "out nothing.csv", "out data.csv --columns zzz", "out"]
)
def test_bad_input_is_code_2(solved, arguments):
    """What is not there cannot be checked."""
    answer = solved(f"verify {arguments}")
    assert answer.code == 2
    assert answer.err.startswith("certmix: error:")


def test_no_certificate_when_none_is_wanted(certmix, files):
    """--no-certificate leaves none, and removes that of an earlier run."""
    certmix(SOLVE)
    assert (files / "out" / "certificate.json").exists()
    assert certmix(f"{SOLVE} --no-certificate --overwrite").code == 0
    assert not (files / "out" / "certificate.json").exists()
    assert not (files / "out" / "certificate.npz").exists()


def test_solve_verify_lifts_the_level(certmix):
    """With --verify the result says verified, without it computed."""
    assert (
        certmix("solve data.csv -k 2 --columns a,b --variance 0.5 --json --quiet").json["certificate"]
        == "computed"
    )
    answer = certmix("solve data.csv -k 2 --columns a,b --variance 0.5 --json --quiet --verify")
    assert answer.json["certificate"] == "verified"
    assert "Verified" in answer.err


def test_a_local_search_has_nothing_to_verify(certmix):
    """Where nothing is proved the level stays none, and the log says why."""
    answer = certmix("solve data.csv -k 2 --columns a,b --variance 0.5 --engine hard-em --json --verify")
    assert answer.json["certificate"] == "none"
    assert "no certificate" in answer.err
