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
    assert "Taken from the certificate, not compared: " in answer.out
    assert "1 side constraint" in answer.out


def test_other_constraints_are_rejected(solved, files):
    """A dropped, added or changed constraint is not the one that was certified."""
    for text in ("type,samples\nmust-link,s1;s2\n", "type,samples\ncannot-link,s1;s4\n"):
        (files / "other.csv").write_text(text)
        answer = solved(f"verify out data.csv {DATA} --constraints other.csv")
        assert answer.code == 1
        assert "differs in side constraints" in answer.out
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


def test_the_level_is_apart_from_the_file(certmix, files, monkeypatch):
    """By default a run is verified; the file is there or not, as asked, and so is the check."""
    from certmix import proving

    monkeypatch.setattr(proving, "LEAST_BUDGET", 60.0)  # a busy machine
    plain = "solve data.csv -k 2 --columns a,b --variance 0.5 --json --quiet"
    assert certmix(plain).json["certificate"] == "verified"
    assert certmix(f"{plain} --no-certificate --out none").json["certificate"] == "verified"
    assert not (files / "none" / "certificate.json").exists()
    assert certmix(f"{plain} --no-verify --out both").json["certificate"] == "computed"
    assert certmix("verify both data.csv --columns a,b --variance 0.5").code == 0


def test_solve_verify_lifts_the_level(certmix):
    """With --verify the result says verified and the verdict is told, with --no-verify it says computed."""
    solve = "solve data.csv -k 2 --columns a,b --variance 0.5 --json --quiet"
    assert certmix(f"{solve} --no-verify").json["certificate"] == "computed"
    answer = certmix(f"{solve} --verify")
    assert answer.json["certificate"] == "verified"
    assert "Verified" in answer.err


def test_a_local_search_has_nothing_to_verify(certmix):
    """Where nothing is proved the level stays none, and the log says why."""
    answer = certmix("solve data.csv -k 2 --columns a,b --variance 0.5 --engine hard-em --json --verify")
    assert answer.json["certificate"] == "none"
    assert "no certificate" in answer.err


FULL = f"{DATA} -k 2 --variance 0.5 --weights free --prior flat --constraints rules.csv"


def test_whatever_is_given_is_compared(solved, files):
    """Every problem option of solve is an option of verify; one that differs from the run's is told by its part."""
    answer = solved(f"verify out data.csv {FULL} --json")
    assert answer.code == 0, answer.out + answer.err
    assert answer.json["taken_from_certificate"] == []
    for change, part in {
        "-k 3": "components",
        "--variance 0.6": "covariance",
        "--precision precision.csv": "",
        "--weights uniform": "weights",
        "--weights 0.3,0.7": "weights",
        "--prior dirichlet=2": "prior",
        "--prior gaussian=4": "prior",
        "--max-size 4": "side constraints",
        "--label-column label": "side constraints",
    }.items():
        answer = solved(f"verify out data.csv {DATA} {change}")
        assert answer.code == (1 if part else 0), change
        assert not part or f"differs in {part}" in answer.out, change


def test_what_was_taken_from_the_certificate_is_named(solved):
    """In the sentence and in the JSON, as far as no option spoke of it."""
    answer = solved(f"verify out data.csv {DATA} --variance 0.5 --json")
    taken = ["2 components", "free weights", "no prior", "1 side constraint"]
    assert answer.json["taken_from_certificate"] == taken
    assert ", ".join(taken) in answer.json["sentence"]


def test_a_model_that_does_not_fit_is_rejected_not_bad_input(solved):
    """Three weights for a certificate of two components: it is about another problem."""
    answer = solved(f"verify out data.csv {DATA} --weights 0.2,0.3,0.5")
    assert answer.code == 1
    assert "does not fit" in answer.out


def test_other_preparation_comes_with_a_hint(solved, certmix):
    """The run's own options are in the certificate, so the sentence can say what to give."""
    answer = solved("verify out data.csv --columns a,b --standardize --variance 0.5")
    assert answer.code == 1
    assert "digest differs" in answer.out
    assert "--components 2 --columns a,b --variance 0.5 --constraints rules.csv" in answer.out
    assert certmix("solve data.csv -k 2 --columns a,b --pca 1 --no-header --out other --quiet").code == 2
    assert certmix("solve data.csv -k 2 --columns a,b --header --pca 1 --out other --quiet").code == 0
    assert "--header --pca 1" in certmix("verify other data.csv --columns a,b").out


def test_a_hidden_model_of_a_built_in_set_is_rejected(certmix):
    """Another K or covariance than the set's own is another problem unless the same option is given."""
    assert certmix("solve iris1d -k 1 --variance 5 --out out --quiet").code == 0
    answer = certmix("verify out iris1d")
    assert answer.code == 1
    assert "differs in components, covariance" in answer.out
    assert "says the certificate: --components 1 --variance 5." in answer.out
    assert certmix("verify out iris1d -k 1").code == 1
    answer = certmix("verify out iris1d -k 1 --variance 5")
    assert answer.code == 0
    assert "Taken" not in answer.out


def test_the_bound_of_a_verified_result_is_the_verified_one(certmix, files):
    """In result.json, the summary and the sentence; the maker's check is the only one."""
    import certmix as package
    from certmix.certificate import draft

    calls, check = [], draft.check
    draft.check = lambda *args: calls.append(1) or check(*args)
    try:
        answer = certmix("solve data.csv -k 2 --columns a,b --variance 0.5 --out out --verify")
    finally:
        draft.check = check
    assert len(calls) == 1
    assert answer.err.count("Verified") == 1
    written = json.loads((files / "out" / "result.json").read_text())
    stated = json.loads((files / "out" / "certificate.json").read_text())
    assert written["certificate"] == "verified"
    assert written["lower_bound"] == min(stated["bound"], written["objective"])
    assert package.verify("out", "data.csv").verified is False  # other columns


def test_a_model_that_cannot_be_made_comes_with_a_hint(certmix, files):
    """Weights that are not whole numbers need those of components: the sentence says with which options it was run."""
    text = files.joinpath("data.csv").read_text(encoding="utf-8").splitlines()
    rows = [f"{text[0]},w", *(f"{line},{0.5 + 0.1 * i}" for i, line in enumerate(text[1:]))]
    files.joinpath("weighted.csv").write_text("\n".join(rows), encoding="utf-8")
    given = "weighted.csv --columns a,b --weight-column w"
    assert certmix(f"kmeans {given} -k 2 --out out --quiet").code == 0
    answer = certmix(f"verify out {given}")
    assert answer.code == 1
    assert f"says the certificate: --components 2 {given.partition(' ')[2]} --weights none." in answer.out
    assert certmix(f"verify out {given} --weights none").code == 0
