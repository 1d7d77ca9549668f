"""``certmix alternatives``, end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

RUN = "alternatives data.csv --columns a,b --variance 0.1 -k 2"


def test_a_listing_and_a_sentence(certmix) -> None:
    """Two groups of three samples far from each other: there is nothing else."""
    answer = certmix(RUN)
    assert answer.code == 0
    assert "This is all: it is proved that there are no others." in " ".join(answer.out.split())


@pytest.mark.parametrize(
    ("option", "says"), [("--limit 0", "--limit must be"), ("--within -1", "--within must be")]
)
def test_what_is_wrong_is_said_before_any_work(certmix, option, says) -> None:
    answer = certmix(f"{RUN} {option}")
    assert answer.code == 2
    assert answer.err.startswith(f"certmix: error: {says}")


def test_more_than_the_limit_are_not_all(certmix) -> None:
    answer = certmix(f"{RUN} --within 1000 --limit 2 --json --quiet")
    assert answer.code == 3
    assert len(answer.json["clusterings"]) == 3
    assert not answer.json["complete"]


def test_files(certmix, files: Path) -> None:
    """Beside those of stability."""
    assert certmix(f"{RUN} --within 1000 --limit 3 --out found --plot seen.svg --quiet").code == 3
    assert "extra cost (nats)" in (files / "seen.svg").read_text()
    found = json.loads((files / "found" / "alternatives.json").read_text())
    assert list(found) == ["within", "objective", "complete", "clusterings"]
    extra = [one["extra"] for one in found["clusterings"]]
    assert extra == sorted(extra)
    assert found["clusterings"][1]["words"]
    assert (files / "found" / "stability.json").exists()
