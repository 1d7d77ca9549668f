"""Runs that are not resumed: other problems, other engines, folders without one; and none is lost unasked."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from certmix import MustLink, Problem, solve
from certmix.errors import InputError
from certmix.observers.snapshot import Snapshot
from resumed import cut_short


def problem_of(n: int = 14, **options: object) -> Problem:
    data = np.random.default_rng(4).normal(size=(n, 2))
    return Problem(data, 3, **{"variance": 0.1, **options})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (problem_of(15), "data"),
        (problem_of(variance=0.2), "covariance"),
        (problem_of(weights="uniform"), "weights"),
        (problem_of(constraints=[MustLink(0, 1)]), "side constraints"),
        (problem_of(allow_empty=True), "empty components"),
    ],
)
def test_another_problem_is_refused(changed: Problem, words: str, tmp_path: Path) -> None:
    """What differs is named, and the folder is left as it is."""
    cut_short(problem_of(), tmp_path, "interval")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(InputError, match=f"cannot be resumed: it differs in .*{words}"):
        solve(changed, "interval", resume=tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_moved_sample_is_another_problem(tmp_path: Path) -> None:
    """One number that differs in its last digit is enough."""
    problem = problem_of()
    cut_short(problem, tmp_path, "interval")
    data = np.array(problem.data)
    data[3, 1] = np.nextafter(data[3, 1], 1.0)
    with pytest.raises(InputError, match="differs in data"):
        solve(problem.replace(data=data), "interval", resume=tmp_path)


def test_another_engine_or_rule_or_program_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state of one engine is nothing to another."""
    cut_short(problem_of(12), tmp_path, "bnb")
    with pytest.raises(InputError, match=r"engine \('bnb' there, 'sdp' here\)"):
        solve(problem_of(12), "sdp", resume=tmp_path)
    with pytest.raises(InputError, match="options"):
        solve(problem_of(12), "bnb", resume=tmp_path, branching="strong")
    monkeypatch.setattr("certmix.resuming.__version__", "0.0.0")
    with pytest.raises(InputError, match="certmix"):
        solve(problem_of(12), resume=tmp_path)


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    """Nothing there, a finished run, a damaged file: each is said in words."""
    with pytest.raises(InputError, match="nothing to resume"):
        solve(problem_of(), resume=tmp_path / "nowhere")
    (tmp_path / "result.json").write_text("{}")
    with pytest.raises(InputError, match="its run is finished"):
        solve(problem_of(), resume=tmp_path)
    (tmp_path / "snapshot.json").write_text("{")
    with pytest.raises(InputError, match="damaged"):
        solve(problem_of(), resume=tmp_path)


def test_a_bound_of_another_run_is_not_taken(tmp_path: Path) -> None:
    """A snapshot that was put beside the digests of another problem is refused with them."""
    cut_short(problem_of(), tmp_path / "one", "interval")
    cut_short(problem_of(variance=0.01), tmp_path / "other", "interval")
    document = json.loads((tmp_path / "other" / "snapshot.json").read_text())
    document["run"]["problem"] = json.loads((tmp_path / "one" / "snapshot.json").read_text())["run"][
        "problem"
    ]
    (tmp_path / "other" / "snapshot.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match="cannot be resumed"):
        solve(problem_of(), "interval", resume=tmp_path / "other")


def test_an_unfinished_run_is_not_overwritten_unasked(tmp_path: Path) -> None:
    """A snapshot of a run that was cut short is refused as a place for another; that of a finished one is not."""
    cut_short(problem_of(), tmp_path, "interval")
    with pytest.raises(InputError, match="--resume"):
        Snapshot(tmp_path)
    solve(problem_of(), resume=tmp_path)
    Snapshot(tmp_path)
    cut_short(problem_of(), tmp_path, "interval")
    Snapshot(tmp_path, overwrite=True)
