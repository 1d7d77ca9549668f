"""Going on with a run that was cut short: the same answer, never a weaker bound, and nobody else's run."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from certmix import MustLink, Problem, Result, solve
from certmix.errors import InputError, OutputError
from certmix.observers.base import Silent
from certmix.observers.snapshot import Snapshot
from certmix.search.bounds.semidefinite.visit import Tuning

ENGINES = ["interval", "dual", "sdp", "bnb", "dynamic", "enumerate", "hard-em"]


def problem_of(n: int = 14, d: int = 2, **options: object) -> Problem:
    rng = np.random.default_rng(4)
    return Problem(rng.normal(size=(n, d)), 3, **{"variance": 0.1, **options})  # type: ignore[arg-type]


def cut_short(problem: Problem, directory: Path, engine: str, **options: object) -> Result:
    given = {"node_limit": 3, "restarts": 1, **options}
    return solve(problem, engine, observers=[Snapshot(directory, every=0.0)], **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("engine", ["interval", "dual", "sdp", "bnb"])
def test_a_resumed_run_ends_like_any_other(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same optimum, a bound no weaker than on disk, nodes and seconds of both runs, and a verified proof."""
    # Nodes that give up early, so that there is something to branch on.
    monkeypatch.setattr(
        "certmix.search.bounds.semidefinite.visit.TUNING", Tuning(root_rounds=1, node_rounds=1)
    )
    problem = problem_of(18 if engine != "bnb" else 12)
    whole = solve(problem, engine, gap=1e-7)
    first = cut_short(problem, tmp_path, engine, gap=1e-7)
    assert first.termination == "node limit"
    result = solve(problem, resume=tmp_path, gap=1e-7, verify=engine != "bnb")
    assert result.engine == engine, "auto takes the engine that the run had"
    assert result.status == "optimal"
    assert result.objective == pytest.approx(whole.objective, abs=1e-7)
    assert max(p.bound for p in result.trace) >= first.lower_bound
    assert result.trace[: len(first.trace)] == first.trace
    assert result.resumes == 1
    assert "resumed 1 time" in result.account()
    assert result.nodes > first.nodes
    assert result.seconds > first.seconds
    if engine != "bnb":
        assert result.certificate_level == "verified", result.verification


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_without_a_tree_begin_with_clustering_and_bound(engine: str, tmp_path: Path) -> None:
    """Every engine can be resumed; the result is never worse than what was there."""
    problem = problem_of(8, 1 if engine == "dynamic" else 2)
    first = cut_short(problem, tmp_path, engine, node_limit=1)
    again = solve(problem, engine, resume=tmp_path)
    assert again.objective <= first.objective
    assert max((p.bound for p in again.trace), default=-math.inf) >= first.lower_bound
    assert again.resumes == 1


def test_a_run_without_a_record_is_not_proved_by_half_of_one(tmp_path: Path) -> None:
    """The first process keeps no record: the proof is made anew, or the level stays computed."""
    for engine in ("interval", "sdp"):
        directory = tmp_path / engine
        cut_short(problem_of(18), directory, engine, verify=False)
        result = solve(problem_of(18), resume=directory, verify=True)
        assert result.status == "optimal"
        assert result.certificate_level in ("verified", "computed")


def test_limits_are_for_what_is_still_to_be_done(tmp_path: Path) -> None:
    """The same node limit again is as many nodes again."""
    problem = problem_of(30)
    first = cut_short(problem, tmp_path, "interval", node_limit=40)
    second = solve(problem, resume=tmp_path, node_limit=40)
    assert second.termination == "node limit"
    assert second.nodes >= first.nodes + 40
    assert second.lower_bound >= first.lower_bound
    third = solve(problem, resume=tmp_path, node_limit=40)
    assert third.resumes == 2


def test_a_smaller_gap_begins_anew_with_what_is_known(tmp_path: Path) -> None:
    """A tree that was searched for a wide gap is of no use for a narrow one; clustering and bound are."""
    problem = problem_of(18)
    first = cut_short(problem, tmp_path, "interval", gap=0.3, node_limit=20)
    result = solve(problem, resume=tmp_path, gap=1e-6)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(solve(problem).objective, rel=1e-6)
    assert max(p.bound for p in result.trace) >= first.lower_bound


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


def test_an_infeasible_problem_stays_infeasible(tmp_path: Path) -> None:
    """No clustering, no incumbent: a run without either can be resumed too."""
    problem = problem_of(8)
    first = solve(problem, "interval", time_limit=0.0, observers=[Snapshot(tmp_path)])
    assert first.labels is None or first.lower_bound <= first.objective
    assert solve(problem, resume=tmp_path).status == "optimal"


def test_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose state cannot be written goes on, and says once that it cannot be resumed."""
    heard: list[str] = []

    class Listener(Silent):
        def message(self, text: str) -> None:
            heard.append(text)

    def full(path: Path, content: bytes) -> None:
        raise OutputError(f"{path} cannot be written: no space left on device")

    snapshot = Snapshot(tmp_path, every=0.0)
    monkeypatch.setattr("certmix.io.states.write_atomically", full)
    result = solve(problem_of(), "interval", observers=[snapshot, Listener()])
    assert result.status == "optimal"
    assert sum("cannot be resumed" in text for text in heard) == 1
