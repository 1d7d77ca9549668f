"""The engines ``minlp`` and ``miqp`` with SCIP, against enumeration."""

from __future__ import annotations

import json
import math
import signal
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import numpy as np
import pytest

import certmix
from certmix import solve
from certmix.cli.main import run
from certmix.datasets import load
from certmix.engines import engine
from certmix.errors import InputError, UnsupportedError
from certmix.ledger import Ledger
from certmix.observers.base import Silent
from certmix.observers.snapshot import NAME as SNAPSHOT
from certmix.observers.snapshot import Snapshot
from certmix.options import Options
from certmix.paper.formulation.solvers import require_solver
from certmix.problem import CannotLink, MinimumSize, Problem
from certmix.result import Result
from certmix.status import Status, Termination
from random_instances import random_problem
from soundness import Truth, find_truth

IRIS45 = 194.945547  # proved by dynamic programming, see tests/datasets


def check(problem: Problem, truth: Truth, result: Result, gap: float) -> None:
    """What is claimed agrees with enumeration."""
    if truth.infeasible:
        assert result.status is Status.INFEASIBLE
        return
    assert result.status is not Status.INFEASIBLE
    assert result.lower_bound <= truth.optimum + truth.slack
    assert result.objective >= truth.optimum - truth.slack
    if result.status is Status.OPTIMAL:
        assert result.objective <= truth.optimum + gap * max(1.0, abs(truth.optimum)) + truth.slack
    assert result.certificate_level == "attested by SCIP 10.0" or not math.isfinite(result.lower_bound)


@pytest.mark.parametrize("name", ["minlp", "miqp"])
def test_small_random_problems_against_enumeration(name: str) -> None:
    """Under every option no bound exceeds the optimum, and most runs close their gap."""
    few = {"breakpoints": 6} if name == "miqp" else {}
    closed = 0
    for number in range(16):
        problem = random_problem(np.random.default_rng([number, 31]), max_samples=5)
        result = solve(problem, name, gap=1e-4, time_limit=5, threads=1, restarts=1, **few)
        check(problem, find_truth(problem), result, 1e-4)
        closed += result.status in (Status.OPTIMAL, Status.INFEASIBLE)
    assert closed >= 14


@pytest.mark.slow
@pytest.mark.parametrize("name", ["minlp", "miqp"])
@pytest.mark.parametrize("part", range(6))
def test_hundreds_of_random_problems_against_enumeration(name: str, part: int) -> None:
    """n <= 9, K <= 3, every option, gap 1e-6: no bound above the optimum, nearly every run closes."""
    open_runs = 0
    for number in range(60 * part, 60 * (part + 1)):
        problem = random_problem(np.random.default_rng([number, 32]))
        truth = find_truth(problem)
        result = solve(problem, name, time_limit=20, threads=1, restarts=1, seed=number)
        check(problem, truth, result, 1e-6)
        open_runs += result.status is Status.FEASIBLE
    assert open_runs <= 6


@pytest.mark.parametrize("name", ["minlp", "miqp"])
def test_an_optimum_that_scip_once_cut_off(name: str) -> None:
    """Without a first incumbent SCIP 10.0, left to its own settings, ended at 4.90 where the optimum is 3.33."""
    problem = random_problem(np.random.default_rng([384, 77]))
    truth = find_truth(problem)
    check(problem, truth, solve(problem, name, warm_start=False, threads=1, time_limit=20), 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["minlp", "miqp"])
@pytest.mark.parametrize("part", range(2))
def test_cold_starts_against_enumeration(name: str, part: int) -> None:
    """Without a first incumbent the bound has nothing to lean on."""
    for number in range(60 * part, 60 * (part + 1)):
        problem = random_problem(np.random.default_rng([number, 34]), max_samples=8)
        truth = find_truth(problem)
        result = solve(problem, name, time_limit=10, threads=1, warm_start=False)
        if result.labels is None and not truth.infeasible:
            assert result.lower_bound <= truth.optimum
            continue
        check(problem, truth, result, 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_other_ways_of_the_miqp_against_enumeration(part: int) -> None:
    """Chords, regular refinement and a cold start give bounds that hold as well."""
    for number in range(30 * part, 30 * (part + 1)):
        problem = random_problem(np.random.default_rng([number, 33]), max_samples=7)
        truth = find_truth(problem)
        for options in (
            {"logarithm": "chord", "breakpoints": 4},
            {"logarithm": "chord", "breakpoints": 8, "adaptive": False},
            {"adaptive": False, "breakpoints": 4},
            {"warm_start": False},
        ):
            result = solve(problem, "miqp", gap=1e-4, time_limit=10, threads=1, restarts=1, **options)  # type: ignore[arg-type]
            check(problem, truth, result, 1e-4)


def test_few_breakpoints_are_refined_until_the_gap_is_met() -> None:
    """Two breakpoints a component do not suffice: the model is solved again with more, and says how far it is off."""
    problem = Problem(np.array([0.0, 0.3, 0.5, 4.0, 4.4, 9.0, 9.1]), 3, variance=0.5)
    log = Log()
    result = solve(problem, "miqp", gap=1e-5, breakpoints=2, observers=[log], threads=1)
    assert result.status is Status.OPTIMAL
    rounds = [text for text in log.messages if text.startswith("piecewise-linear logarithm (tangent)")]
    assert len(rounds) > 1
    assert all("nats" in text for text in rounds)


def test_the_bound_of_chords_is_lowered_by_their_error() -> None:
    """Chords alone would put the bound above the optimum; what is reported holds for the exact problem."""
    problem = Problem(np.array([0.0, 0.3, 0.5, 4.0, 4.4, 9.0, 9.1]), 3, variance=0.5)
    optimum = solve(problem, "enumerate").objective
    log = Log()
    result = solve(
        problem,
        "miqp",
        gap=1e-5,
        logarithm="chord",
        breakpoints=2,
        observers=[log],
        threads=1,
        node_limit=10_000,
    )
    assert result.lower_bound <= optimum + 1e-9
    assert result.status is Status.OPTIMAL
    assert any("lowered" in text for text in log.messages)


def test_a_cold_start_begins_without_an_incumbent() -> None:
    """The paper's protocol: the first clustering comes from the solver."""
    problem = Problem(np.array([0.0, 0.3, 4.0, 4.4, 9.0]), 2, variance=1.0, constraints=[CannotLink(0, 4)])
    log = Log()
    result = solve(problem, "minlp", warm_start=False, observers=[log], threads=1)
    assert result.source == "SCIP"
    assert set(log.sources) == {"SCIP"}
    assert result.status is Status.OPTIMAL


@pytest.mark.parametrize("name", ["minlp", "miqp"])
def test_trace_on_the_papers_instance(name: str) -> None:
    """iris1d, n = 45, a few seconds: bounds rise, incumbents fall, and the bound stays below the optimum."""
    problem = load("iris1d", n=45, sigma=0.2).problem()
    result = solve(problem, name, time_limit=4, threads=1, warm_start=False, restarts=1)
    bounds = [point.bound for point in result.trace]
    incumbents = [point.incumbent for point in result.trace]
    assert math.isfinite(bounds[0])  # a first bound before the solver has one
    assert bounds == sorted(bounds)
    assert incumbents == sorted(incumbents, reverse=True)
    assert result.lower_bound <= IRIS45 + 1e-6
    assert result.termination is Termination.TIME
    assert result.certificate_level == "attested by SCIP 10.0"


def test_ctrl_c_returns_the_incumbent_and_the_bound() -> None:
    """An interrupted run keeps what it had, and its bound is attested, not computed."""
    problem = load("iris1d", n=45, sigma=0.2).problem()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    watcher = _Interrupt()
    try:
        result = solve(problem, "miqp", threads=1, restarts=1, observers=[watcher], time_limit=60)
    finally:
        signal.signal(signal.SIGINT, before)
    assert result.termination is Termination.INTERRUPTED
    assert result.labels is not None
    assert math.isfinite(result.lower_bound)
    assert result.certificate_level == "attested by SCIP 10.0"
    assert result.seconds < 50


def test_the_snapshot_of_a_running_solver_is_attested_too(tmp_path: Path) -> None:
    """What a killed run leaves behind does not claim more than the run would have."""
    problem = load("iris1d", n=45, sigma=0.2).problem()
    snapshot = Snapshot(tmp_path)
    solve(problem, "minlp", time_limit=2, threads=1, restarts=1, observers=[snapshot])
    snapshot.write()
    found = json.loads((tmp_path / SNAPSHOT).read_text())
    assert found["lower_bound"] is not None
    assert found["certificate"] == "attested by SCIP 10.0"


class _Interrupt(Silent):
    """Presses Ctrl-C once there are an incumbent and a bound."""

    def __init__(self) -> None:
        self._pressed = False

    def progressed(self, progress: object) -> None:
        if not self._pressed and math.isfinite(progress.incumbent) and math.isfinite(progress.bound):  # type: ignore[attr-defined]
            self._pressed = True
            threading.Thread(target=self._press).start()

    @staticmethod
    def _press() -> None:
        time.sleep(0.2)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


class Log(Silent):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.sources: list[str] = []

    def message(self, text: str) -> None:
        self.messages.append(text)

    def progressed(self, progress: object) -> None:
        source: str = progress.source  # type: ignore[attr-defined]
        if source:
            self.sources.append(source)


@pytest.mark.parametrize("name", ["minlp", "miqp"])
def test_contradictory_boxes_are_infeasible(name: str) -> None:
    """Averages that no box admits: the solver says so, and it is attested (``solve`` would have found out before)."""
    problem = Problem(
        np.array([0.0, 1.0, 2.0]),
        2,
        variance=1.0,
        estimators=["means"],
        mean_bounds=([[5.0], [5.0]], [[6.0], [6.0]]),
    )
    options = Options(threads=1)
    outcome = engine(name).run(problem, Ledger(problem, options.tolerances), options)
    assert outcome.infeasible
    assert outcome.certificate_level == "attested by SCIP 10.0"


def test_limits_are_kept() -> None:
    """A node limit of one stops at the root, a time limit of zero before it."""
    problem = load("iris1d", n=45, sigma=0.2).problem()
    assert solve(problem, "miqp", node_limit=1, restarts=1, threads=1).termination is Termination.NODES
    assert solve(problem, "minlp", time_limit=0, restarts=1, threads=1).termination is Termination.TIME


def test_bad_options_are_refused() -> None:
    """One sentence for each."""
    problem = Problem(np.arange(4.0), 2, variance=1.0)
    with pytest.raises(InputError, match="unknown logarithm 'spline'"):
        solve(problem, "miqp", logarithm="spline")
    with pytest.raises(InputError, match="unknown solver 'simplex'; choose from scip"):
        solve(problem, "miqp", solver="simplex")
    with pytest.raises(InputError, match="breakpoints must be a whole number >= 2"):
        solve(problem, "miqp", breakpoints=1)
    with pytest.raises(InputError, match="unknown engine option 'sover'"):
        certmix.CertifiedGaussianMixture(2, engine_options={"sover": "scip"}).fit(np.arange(4.0)[:, None])


def test_the_estimator_takes_engine_options() -> None:
    """The third way in."""
    model = certmix.CertifiedGaussianMixture(
        2, variance=0.1, engine="miqp", engine_options={"solver": "scip", "breakpoints": 4}
    )
    model.fit(np.array([[0.0], [0.2], [4.0], [4.1]]), constraints=[MinimumSize(2)])
    assert model.result_.status is Status.OPTIMAL
    assert model.result_.certificate_level == "attested by SCIP 10.0"
    assert model.labels_.tolist() == [0, 0, 1, 1]


def test_a_missing_solver_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package: one sentence, before any work."""
    import certmix.paper.formulation.solvers as solvers

    monkeypatch.setattr(solvers, "find_spec", lambda name: None)
    with pytest.raises(
        UnsupportedError, match="needs the Python package pyscipopt, which is not installed: pip install"
    ):
        solve(Problem(np.arange(4.0), 2, variance=1.0), "minlp", solver="scip")


@pytest.mark.parametrize(
    ("solver", "package"), [("gurobi", "gurobipy"), ("copt", "coptpy"), ("baron", "gamspy_base")]
)
def test_asking_for_a_solver_that_is_not_there(
    solver: str, package: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence that says what to install, and exit code 2."""
    if find_spec(package) is not None or (solver == "baron" and which("gams")):
        pytest.skip(f"{solver} is installed")
    assert run(["solve", "iris1d:n=9", "--engine", "miqp", "--solver", solver]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    (error,) = [line for line in told.err.splitlines() if not line.startswith("note: ")]
    assert f"the solver {solver} needs the Python package {package}" in error
    assert "pip install" in told.err


@pytest.mark.parametrize("solver", ["gurobi", "copt", "baron"])
@pytest.mark.parametrize("name", ["minlp", "miqp"])
def test_other_solvers_where_they_are_installed(name: str, solver: str) -> None:
    """The same optimum, attested by another solver; what a licence does not allow is refused in words."""
    try:
        require_solver(solver, name)
    except UnsupportedError as error:
        pytest.skip(str(error))
    problem = Problem(np.array([0.0, 0.3, 4.0, 4.4]), 2, variance=1.0, constraints=[CannotLink(0, 3)])
    few = {"breakpoints": 3} if name == "miqp" else {}
    try:
        result = solve(problem, name, solver=solver, gap=1e-5, threads=1, **few)
    except UnsupportedError as error:
        if "licen" not in str(error):
            raise
        pytest.skip(str(error))
    optimum = solve(problem, "enumerate").objective
    assert result.lower_bound <= optimum <= result.lower_bound + 1e-4
    assert result.certificate_level.lower().startswith(f"attested by {solver}")
