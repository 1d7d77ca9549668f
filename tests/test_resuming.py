"""Going on with a run that was cut short: the same answer, never a weaker bound, and nobody else's run."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import numpy as np
import pytest

from certmix import Problem, proving, solve
from certmix.errors import OutputError
from certmix.observers.base import Silent
from certmix.observers.snapshot import Pace, Snapshot
from certmix.options import Options
from certmix.resuming import identity
from certmix.search.bounds.semidefinite.record import Recorder
from certmix.search.bounds.semidefinite.visit import Tuning
from resumed import cut_short

ENGINES = ["interval", "dual", "sdp", "race", "bnb", "dynamic", "enumerate", "hard-em"]


def problem_of(n: int = 14, d: int = 2) -> Problem:
    return Problem(np.random.default_rng(4).normal(size=(n, d)), 3, variance=0.1)


@pytest.mark.parametrize("engine", ["interval", "dual", "sdp", "race", "bnb"])
def test_a_resumed_run_ends_like_any_other(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same optimum, a bound no weaker than on disk, nodes and seconds of both runs, and a verified proof."""
    # Nodes that give up early, so that there is something to branch on.
    monkeypatch.setattr(
        "certmix.search.bounds.semidefinite.visit.TUNING", Tuning(root_rounds=1, node_rounds=1, iterations=3)
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
    for engine in ("interval", "sdp", "race"):
        directory = tmp_path / engine
        cut_short(problem_of(18), directory, engine, verify=False)
        result = solve(problem_of(18), resume=directory, verify=True)
        assert result.status == "optimal"
        assert result.certificate_level in ("verified", "computed")


@pytest.mark.parametrize("engine", ["sdp", "race"])
def test_a_record_that_grew_too_large_is_not_gone_on_with(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tree goes on without one; the numbers that its open nodes had in the record mean nothing any more."""
    monkeypatch.setattr(
        "certmix.search.bounds.semidefinite.visit.TUNING", Tuning(root_rounds=1, node_rounds=1, iterations=3)
    )
    monkeypatch.setattr(Recorder.__init__, "__defaults__", (0,))
    first = cut_short(problem_of(24), tmp_path, engine, node_limit=4, verify=False, certificate=True)
    assert first.status == "feasible"
    result = solve(problem_of(24), resume=tmp_path, verify=False, certificate=True)
    assert result.status == "optimal"
    assert result.nodes > first.nodes


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


def test_another_cluster_may_go_on() -> None:
    """Who does the work is no part of whose run it is: a client is no number, and goes nowhere."""
    alone = identity(problem_of(), "sdp", Options())
    assert identity(problem_of(), "sdp", Options(client=object())) == alone
    assert identity(problem_of(), "sdp", Options(workers=2)) == alone
    assert identity(problem_of(), "dual", Options()) != alone


def test_a_smaller_gap_begins_anew_with_what_is_known(tmp_path: Path) -> None:
    """A tree that was searched for a wide gap is of no use for a narrow one; clustering and bound are."""
    problem = problem_of(18)
    first = cut_short(problem, tmp_path, "interval", gap=0.3, node_limit=20)
    result = solve(problem, resume=tmp_path, gap=1e-6)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(solve(problem).objective, rel=1e-6)
    assert max(p.bound for p in result.trace) >= first.lower_bound


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


def test_a_run_that_is_killed_while_it_is_proved_is_proved_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound on disk is newer than the state: a run that began with a closed gap could not prove its tree."""
    monkeypatch.setattr(
        "certmix.search.bounds.semidefinite.visit.TUNING", Tuning(root_rounds=1, node_rounds=1, iterations=3)
    )
    problem, running, killed = problem_of(18), tmp_path / "running", tmp_path / "killed"

    def proved(*given):
        shutil.copytree(running, killed)
        return proving.proved(*given)

    monkeypatch.setattr("certmix.solving.proved", proved)
    snapshot = Snapshot(running, every=0.0, share=math.inf)
    snapshot._state_pace = Pace(math.inf, math.inf)
    whole = solve(problem, "sdp", gap=1e-7, verify=True, observers=[snapshot])
    monkeypatch.undo()
    result = solve(problem, resume=killed, gap=1e-7, verify=True)
    assert result.objective == pytest.approx(whole.objective)
    assert whole.certificate_level == result.certificate_level == "verified"
    assert [p.bound for p in result.trace] == sorted(p.bound for p in result.trace)
