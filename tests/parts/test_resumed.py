"""A run by parts that goes on: parts that are finished are not solved again, and their proofs are still there."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from certmix import Options, Problem, Snapshot, solve
from certmix.engines import engine
from certmix.ledger import Ledger, Progress
from certmix.observers.base import Silent
from certmix.parts.account import Part
from certmix.parts.resumed import is_of_parts, parts_of, state_of
from certmix.resuming import Unfinished
from certmix.status import Termination
from resumed import through_files


def problem_of() -> Problem:
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=240)
    return Problem(rng.normal(size=(240, 2)) + 4.0 * rng.normal(size=(3, 2))[labels], 3, variance=1.0)


def test_parts_come_back(tmp_path: Path) -> None:
    """The partition, and of every part its bound, value and tries."""
    groups = np.split(np.random.default_rng(1).permutation(20), [7, 12])
    parts = [Part(np.sort(g), np.sort(g), 5.0, float(t), 4.0, tries=t) for t, g in enumerate(groups)]
    state = through_files(state_of(parts, 20), tmp_path)
    found = parts_of(state, lambda g: Part(g, g, 5.0, -np.inf, np.inf))
    assert [p.groups.tolist() for p in found] == [p.groups.tolist() for p in parts]
    assert [(p.bound, p.value, p.tries) for p in found] == [(p.bound, p.value, p.tries) for p in parts]


class AfterTwo(Silent):
    """Ends a run once two parts are proved."""

    def started(self, problem: Problem, engine: str, ledger: Ledger) -> None:
        self._ledger = ledger

    def progressed(self, progress: Progress) -> None:
        if len(self._ledger.record or ()) >= 2:
            self._ledger.stop.hoist(Termination.INTERRUPTED)


def test_finished_parts_are_kept_with_their_proofs(tmp_path: Path) -> None:
    """A run that stopped after some parts goes on with the others; the whole is verified, and no bound went down."""
    problem = problem_of()
    options = Options("parts", part_size=40, certificate=True, threads=1)
    first = solve(problem, options=options, observers=[AfterTwo(), Snapshot(tmp_path, every=0.0)])
    assert first.termination == "interrupted"
    stored = Unfinished.read(tmp_path).state
    assert 2 <= len(stored.kept) < 6
    tries = stored.arrays["tries"]
    result = solve(problem, options=options, resume=tmp_path, verify=True)
    assert max(p.bound for p in result.trace) >= first.lower_bound
    assert result.status == "optimal"
    assert result.certificate_level == "verified", result.verification
    assert tries.max() == 1
    assert result.lower_bound <= solve(problem, "dual", verify=False).objective + 1e-6


def test_a_run_that_came_to_the_whole_problem_goes_on_there(tmp_path: Path) -> None:
    """Its state is that of the engine for the whole, which takes it up with the nodes that it had explored."""
    data = np.random.default_rng(3).normal(size=(50, 5))
    problem, options = Problem(data, 3, variance=0.1), Options("parts", part_size=60, threads=1, node_limit=2)
    first = Ledger(problem, options.tolerances)
    engine("parts").run(problem, first, options)
    state = through_files(first.resumable.state(), tmp_path)
    assert not is_of_parts(state)
    explored = state.of("search").numbers["nodes"]
    second = Ledger(problem, options.tolerances)
    second.resumed = state
    engine("parts").run(problem, second, options)
    assert second.resumable.state().of("search").numbers["nodes"] > explored >= 1
    assert second.bound >= first.bound - 1e-9
