"""``certmix path``, end to end."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from certmix import proving


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proofs have their time, however busy the machine is."""
    monkeypatch.setattr(proving, "LEAST_BUDGET", 600.0)


def test_a_table_and_a_sentence(certmix) -> None:
    """Two groups of three samples: two components are proved the best, on standard output; the log is elsewhere."""
    answer = certmix("path data.csv --columns a,b --variance 0.1 --k 1:4")
    assert answer.code == 0
    assert "Of 1 to 4 components, 2 is proved to have the smallest ICL" in answer.out
    assert "not certified" in answer.out
    assert answer.out.count("ruled out") == 3
    assert "still possible" in answer.err


def test_json_has_the_agreed_entries(certmix) -> None:
    answer = certmix("path data.csv --columns a,b --variance 0.1 -k 1:3 --json --quiet")
    found = answer.json
    assert found["criterion"] == "icl"
    assert found["best"] == 2
    assert found["proved"] is True
    assert found["certificate"] == "verified"
    for k, row in enumerate(found["rows"], start=1):
        assert row["k"] == k
        assert row["lower_bound"] <= row["objective"]
        assert row["icl_lower_bound"] <= row["icl"]
        assert row["status"] in ("optimal", "feasible")
    assert answer.err == ""


def test_what_is_known_is_written_at_every_turn(
    certmix, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that is killed leaves the clusterings that it had, with every number."""
    from certmix.cli import comparing

    def killed(*_: object) -> None:
        raise MemoryError("as a killed run ends")

    monkeypatch.setattr(comparing, "_write", killed)
    with pytest.raises(MemoryError):
        certmix("path data.csv --columns a,b --variance 0.1 -k 1:3 --out found --quiet")
    for k in (1, 2, 3):
        with open(files / "found" / f"k{k}" / "assignments.csv") as file:
            assert len({row["component"] for row in csv.DictReader(file)}) == k
    assert json.loads((files / "found" / "path.json").read_text())["best"] == 2


def test_k_means_from_one_cluster_on(certmix) -> None:
    """Sums of squares that fall, each verified, and a certificate of all."""
    found = certmix("path data.csv --columns a,b -k 1:3 --weights none --json --quiet").json
    assert found["criterion"] == "sse"
    squares = [row["sse"] for row in found["rows"]]
    assert squares == sorted(squares, reverse=True)
    assert [row["certificate"] for row in found["rows"]] == ["verified"] * 3
    assert found["rows"][0]["explained"] == pytest.approx(0.0)
    assert [row["objective"] for row in found["rows"]] == pytest.approx(squares)


def test_samples_with_weights_are_copies(certmix, files: Path) -> None:
    """Each number has the objective of as many samples as the weights say."""
    rows = [(0.0, 2), (0.3, 1), (5.0, 3), (5.4, 2), (9.0, 1), (9.3, 2)]
    (files / "weighted.csv").write_text("a,w\n" + "".join(f"{a},{w}\n" for a, w in rows))
    (files / "copies.csv").write_text("a\n" + "".join(f"{a}\n" * w for a, w in rows))
    run = "-k 1:3 --variance 0.2 --json --quiet"
    weighted = certmix(f"path weighted.csv --weight-column w {run}").json
    copies = certmix(f"path copies.csv {run}").json
    for one, other in zip(weighted["rows"], copies["rows"], strict=True):
        assert one["objective"] == pytest.approx(other["objective"])
        assert one["icl"] == pytest.approx(other["icl"])
    assert (weighted["best"], weighted["proved"]) == (copies["best"], True)


def test_missing_values_and_weights(certmix, files: Path) -> None:
    """The number is proved the best by what is there; by hand, for one component."""
    (files / "gaps.csv").write_text("a,b\n0,0\n0.1,\n,0.2\n9,9\n9.1,\n,9.2\n")
    found = certmix("path gaps.csv -k 1:3 --missing keep --variance 0.5 --json --quiet").json
    assert found["best"] == 2
    assert found["proved"]
    a, b = np.array([0, 0.1, 9, 9.1]), np.array([0, 0.2, 9, 9.2])
    squares = sum(((x - x.mean()) ** 2).sum() for x in (a, b))
    icl = squares / 0.5 + 8 * np.log(2 * np.pi * 0.5) + 2 * np.log(6)
    assert found["rows"][0]["icl"] == pytest.approx(icl)
    (files / "weights.csv").write_text("a,w\n0,0.5\n0.1,1.5\n9,2.5\n9.1,1\n")
    kmeans = certmix("path weights.csv -k 1:2 --weight-column w --weights none --json --quiet").json
    assert kmeans["rows"][1]["explained"] == pytest.approx(1.0, abs=1e-3)
    uniform = certmix(
        "path weights.csv -k 1:2 --weight-column w --weights uniform --variance 1 --json --quiet"
    ).json
    for one, other in zip(kmeans["rows"], uniform["rows"], strict=True):
        assert one["sse"] == pytest.approx(other["sse"])
        assert one["explained"] == pytest.approx(other["explained"], abs=1e-12)


def test_files_and_their_certificate(certmix, files: Path) -> None:
    """``--out`` has every number's files, the table, a picture and a certificate that ``verify`` confirms."""
    options = "data.csv --columns a,b --variance 0.1 --min-size 2"
    answer = certmix(f"path {options} --k 1:4 --out found --plot found.png --quiet")
    assert answer.code == 0
    assert (files / "found.png").stat().st_size > 1000
    with open(files / "found" / "path.csv") as file:
        rows = list(csv.DictReader(file))
    assert [row["k"] for row in rows] == ["1", "2", "3", "4"]
    assert rows[3]["status"] == "infeasible"
    assert json.loads((files / "found" / "path.json").read_text())["best"] == 2
    assert (files / "found" / "k2" / "assignments.csv").exists()
    for what in (f"found {options}", f"found/k2 {options}"):
        assert certmix(f"verify {what}").code == 0
    told = certmix("verify found data.csv --columns a,b")
    assert told.code == 0
    assert "Taken from the certificate, not compared: variance 0.1" in told.out
    other = certmix("verify found data.csv --columns a,b --variance 0.2")
    assert other.code == 1
    assert "it differs in covariance" in other.out
    assert certmix(f"verify found {options} -k 2").code == 1
    assert "path.json" in certmix(f"path {options} --k 1:2 --out found").err


def test_a_tampered_bound_and_a_dropped_number_are_rejected(certmix, files: Path) -> None:
    options = "data.csv --columns a,b --variance 0.1"
    assert certmix(f"path {options} --k 1:3 --out found --quiet").code == 0
    file = files / "found" / "certificate.json"
    document = json.loads(file.read_text())

    def rejected(change) -> bool:
        changed = json.loads(json.dumps(document))
        change(changed)
        file.write_text(json.dumps(changed))
        return certmix(f"verify found {options}").code == 1

    assert not rejected(lambda d: None)
    assert rejected(lambda d: d["parts"][0].update(bound=d["parts"][0]["bound"] + 1.0))
    assert rejected(lambda d: d["parts"].pop(0))
    assert rejected(lambda d: d.update(best=0))
    assert rejected(lambda d: d.update(components=[2, 3, 4]))


def test_k_means_has_sums_of_squares(certmix) -> None:
    answer = certmix("path data.csv --columns a,b --weights uniform --k 1:3 --json --quiet")
    assert answer.code == 0
    assert answer.json["criterion"] == "sse"
    assert answer.json["best"] is None
    assert answer.json["rows"][2]["explained"] > answer.json["rows"][1]["explained"] > 0.9
    assert "explained" in certmix("path data.csv --columns a,b --weights uniform --k 1:3 -q").out


def test_labels_name_the_same_components_in_all_problems(certmix) -> None:
    """The label column has two values, so that two components are the fewest; more have names too."""
    options = "path data.csv --columns a,b --variance 0.1 --label-column label"
    assert certmix(f"{options} --k 2:3 --quiet").code == 0
    answer = certmix(f"{options} --k 1:3")
    assert answer.code == 2
    assert "2 different values" in answer.err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--k 5:2", "did you mean 2:5"),
        ("--k 0:2", "holds 0"),
        ("--k x", "give a range"),
        ("--k 1:7", "with 7 components: -k is 7 but there are only 6 samples"),
        ("--k 1:2 --weights 0.5,0.5", "with 1 component"),
        ("--k 1:2 --plot found.jpeg", "must end with"),
        ("--k 1:2 --start data.csv", "--start"),
    ],
)
def test_wrong_input_is_said_before_any_work(certmix, options: str, says: str) -> None:
    answer = certmix(f"path data.csv --columns a,b --variance 0.1 {options}")
    assert answer.code == 2
    assert says in answer.err
    assert answer.err.count("\n") == 1


def test_exit_codes(certmix, files: Path) -> None:
    """3 when nothing is proved, 4 when no number has a feasible clustering."""
    assert certmix("path data.csv --columns a,b --variance 0.1 --k 1:3 --engine hard-em -q").code == 3
    assert certmix("path data.csv --columns a,b --variance 0.1 --k 3:4 --min-size 4 -q").code == 4
    np.save(files / "hard.npy", np.random.default_rng(0).normal(size=(300, 8)))
    answer = certmix("path hard.npy --variance 1 --k 2:6 --time-limit 1 --json -q")
    assert answer.code == 3
    assert not answer.json["proved"]
    assert answer.json["best"] in answer.json["possible"]


def test_a_comparison_goes_on(certmix, files):
    """Runs that were cut short stay in the folders of their numbers, and end there."""
    run = "path data.csv --columns a,b --variance 0.1 --k 1:3"
    assert certmix(f"{run} --engine interval --node-limit 1 --out found --quiet").code in (0, 3)
    (files / "found" / "path.json").unlink()
    again = certmix(f"{run} --resume found --json -q")
    assert again.code == 0
    assert again.json["proved"]
    assert (files / "found" / "path.json").exists()
    assert not list(files.glob("found/k*/snapshot.json"))
    assert "leave --out" in certmix(f"{run} --resume found --out other").err
    assert "nothing to resume" in certmix(f"{run} --resume nowhere").err
