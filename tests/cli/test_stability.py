"""``certmix stability``, end to end."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

RUN = "stability data.csv --columns a,b --variance 0.1 -k 2"


def test_a_sentence_and_a_table(certmix) -> None:
    """Two groups of three samples far from each other: everybody is fixed."""
    answer = certmix(RUN)
    assert answer.code == 0
    assert "Of 6 samples, 6 are with their representative in every clustering within 2 nats" in " ".join(
        answer.out.split()
    )
    assert "6 fixed, 0 open, 0 undecided" in answer.err


def test_json_has_the_agreed_entries(certmix) -> None:
    found = certmix(f"{RUN} --within 1.5 --json --quiet").json
    assert list(found) == ["within", "objective", "samples"]
    assert found["within"] == 1.5
    keys = {"name", "component", "representative", "state", "margin_lower", "margin_upper", "goes_to"}
    assert all(set(sample) == keys for sample in found["samples"])
    assert {sample["state"] for sample in found["samples"]} == {"fixed"}


def test_files(certmix, files: Path) -> None:
    """The margins are in a file of their own and in assignments.csv; a run without them takes them away again."""
    assert certmix(f"{RUN} --within 1.5 --out found --quiet").code == 0
    found = json.loads((files / "found" / "stability.json").read_text())
    with open(files / "found" / "assignments.csv") as file:
        rows = list(csv.DictReader(file))
    assert [row["sample"] for row in rows] == [sample["name"] for sample in found["samples"]]
    assert [row["state"] for row in rows] == [sample["state"] for sample in found["samples"]]
    assert float(rows[0]["margin_lower"]) == found["samples"][0]["margin_lower"]
    again = json.loads((files / "found" / "result.json").read_text())["command"]
    assert again == "certmix stability data.csv --components 2 --columns a,b --variance 0.1 --within 1.5"
    options = "data.csv --columns a,b --variance 0.1 -k 2"
    verdict = certmix(f"verify found/stability-certificate.json {options}")
    assert verdict.code == 0
    assert (
        "in every clustering within 1.5 nats of it 6 pairs of samples are together"
        in verdict.out + verdict.err
    )
    assert (
        certmix("verify found/stability-certificate.json data.csv --columns a,b --variance 0.2 -k 2").code
        == 1
    )
    assert (
        certmix("solve data.csv --columns a,b --variance 0.1 -k 2 --out found --overwrite --quiet").code == 0
    )
    assert not (files / "found" / "stability.json").exists()


@pytest.mark.parametrize("kind", ["stability", "alternatives"])
def test_a_run_that_has_its_clustering_goes_on_from_there(certmix, files: Path, kind: str) -> None:
    """Nothing is solved again; other data are refused; a folder without a run holds nothing to go on with."""
    run = RUN.replace("stability", kind)
    assert certmix(f"{run} --out found --quiet").code == 0
    again = certmix(f"{run} --resume found")
    assert again.code == 0
    assert "engine" not in again.err
    assert certmix(f"{run} --resume nowhere").code == 2
    other = certmix(f"{run.replace('0.1', '0.2')} --resume found")
    assert other.code == 2
    assert "cannot be resumed" in other.err


def test_the_clustering_is_written_before_its_margins(certmix, files: Path, monkeypatch) -> None:
    """A run that is killed while it looks for margins leaves the result, with its certificate."""
    from certmix.cli import margins

    def killed(*_: object) -> None:
        raise MemoryError("as a killed run ends")

    monkeypatch.setattr(margins, "_found", killed)
    with pytest.raises(MemoryError):
        certmix(f"{RUN} --out found --quiet")
    assert certmix("verify found data.csv --columns a,b").code == 0
    assert (files / "found" / "assignments.csv").exists()


def test_a_disk_that_is_full_on_the_way_is_told_at_the_end(certmix, files: Path, monkeypatch) -> None:
    """What cannot be written while the run goes on does not end it: the margins are shown, and then it is said."""
    from certmix.cli import margins
    from certmix.errors import OutputError

    def full(*_: object) -> None:
        raise OutputError("no space left")

    monkeypatch.setattr(margins, "write_text", full)
    monkeypatch.setattr(margins, "write_certificate", full)
    answer = certmix(f"{RUN} --out found")
    assert answer.code == 5
    assert "Of 6 samples, 6 are" in answer.out
    assert "no space left" in answer.err


def test_pairs_of_interest(certmix, files: Path) -> None:
    """By name, a line each."""
    names = [sample["name"] for sample in certmix(f"{RUN} --json --quiet").json["samples"]]
    (files / "pairs.csv").write_text(f"first,second\n{names[0]},{names[1]}\n\n{names[0]},{names[-1]}\n")
    found = certmix(f"{RUN} --pairs pairs.csv --json --quiet").json
    assert [pair["state"] for pair in found["pairs"]] == ["together", "apart"]
    assert "together" in certmix(f"{RUN} --pairs pairs.csv --quiet").out


def test_what_is_wrong_with_a_pair_is_told_with_its_line(certmix, files: Path) -> None:
    (files / "pairs.csv").write_text("nobody,either\n")
    answer = certmix(f"{RUN} --pairs pairs.csv")
    assert answer.code == 2
    assert "line 1" in answer.err
    (files / "pairs.csv").write_text("one\n")
    assert "two samples are expected" in certmix(f"{RUN} --pairs pairs.csv").err
    assert "cannot be read" in certmix(f"{RUN} --pairs nothing.csv").err


def test_without_time_the_exit_code_says_so(certmix) -> None:
    """What is not settled is undecided, and that is no success."""
    answer = certmix("stability iris --time-limit 0 --json --quiet")
    assert answer.code == 3


def test_a_negative_distance_is_refused(certmix) -> None:
    answer = certmix(f"{RUN} --within -1")
    assert answer.code == 2
    assert "within" in answer.err
