"""Runs with an unknown variance that are taken up again: they go on, and nothing is taken for what it is not."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import certmix
from certmix import proving
from certmix.ledger import Ledger, Progress
from certmix.observers.base import Silent
from certmix.options import Options
from certmix.problem import Problem
from certmix.solving import Run
from certmix.state import State
from certmix.status import Status, Termination
from certmix.variance import inner, run
from certmix.variance.inner import Inner
from certmix.variance.run import VarianceRun
from certmix.variance.stored import Cut


def test_what_was_cut_short_goes_on_at_its_own_variance_only() -> None:
    """What was proved at one variance, or of the sum of squares, says nothing of another problem."""
    cut = Cut(2.0, False, None, 1.0, State())
    assert cut.is_at(2.0, False)
    assert not cut.is_at(2.0, True)
    assert not cut.is_at(2.5, False)
    each = Cut(np.array([2.0, 3.0]), False, None, 1.0, State())
    assert each.is_at(np.array([2.0, 3.0]), False)
    assert not each.is_at(np.array([2.0, 4.0]), False)


class Clock(Silent):
    """Says that the time is over as soon as a solve at a known variance has ended, or has explored so many nodes."""

    def __init__(self, nodes: float = math.inf) -> None:
        self.nodes = nodes

    def started(self, problem: Problem, engine: str, ledger: Ledger) -> None:
        self.ledger = ledger

    def message(self, text: str) -> None:
        if math.isinf(self.nodes) and text.startswith(("variance", "least sum")):
            self.ledger.stop.hoist(Termination.TIME)

    def progressed(self, progress: Progress) -> None:
        if progress.nodes >= self.nodes:
            self.ledger.stop.hoist(Termination.TIME)


def test_a_run_that_is_taken_up_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """In turns it solves at no more known variances than at one go, looks for clusterings once, and is verified."""
    searched: list[int] = []
    real = VarianceRun.local_search
    monkeypatch.setattr(VarianceRun, "local_search", lambda run: (searched.append(0), real(run))[1])
    monkeypatch.setattr(proving, "LEAST_BUDGET", 600.0)
    data = np.random.default_rng(3).normal(size=(40, 2)) + 3.0 * (np.arange(40) % 2)[:, None]
    problem, options = Problem(data, 2, variance="unknown"), Options(engine="dual", certificate=True)
    whole = certmix.solve(problem, options=options)
    searched.clear()
    run, found = Run(problem, options, [Clock()]), None
    for turn in range(20):
        if turn:
            run.take_up(options)
        found = run.search(options)
        if found.status is Status.OPTIMAL:
            break
        assert found.lower_bound <= whole.objective
    assert turn > 1
    assert searched == [0]
    assert found is not None
    assert found.objective == pytest.approx(whole.objective, abs=1e-9)
    assert found.envelope is not None
    assert whole.envelope is not None
    assert len(found.envelope) == len(whole.envelope)
    assert run.closed(run.proved(found, options)).certificate_level == "verified"


def test_a_solve_that_was_cut_short_goes_on() -> None:
    """The next turn begins at the same known variance, with the state of the engine and what was proved there."""
    data = np.random.default_rng(5).normal(size=(60, 3)) + 1.5 * (np.arange(60) % 3)[:, None]
    problem, options = Problem(data, 3, variance="unknown"), Options(engine="interval", gap=0.3)
    whole = certmix.solve(problem, options=options, verify=False)
    exactly = replace(options, gap=1e-9)
    run = Run(problem, exactly, [Clock(nodes=1)])
    run.search(exactly)
    around = run.ledger.kept
    assert isinstance(around, VarianceRun)
    cut, nodes = around.cut, run.ledger.nodes
    assert cut is not None
    run.take_up(options)
    run.ledger.observers = ()
    found = run.search(options)
    assert run.ledger.kept is around
    assert found.nodes > nodes
    assert found.lower_bound <= whole.objective + 1e-9
    assert whole.lower_bound <= found.objective + 1e-9


class Words(Silent):
    """Keeps what is said of solves at known variances."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def message(self, text: str) -> None:
        if text.startswith("variance "):
            self.said.append(text.split(" (")[0])


def test_what_is_slow_waits_until_less_is_missing_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solve is set aside for other variances, goes on where it stopped, and the optimum is the same; seconds are
    nodes here.
    """
    engine, data = "interval", np.random.default_rng(1).normal(size=(24, 2))
    problem = Problem(data, 3, variance="unknown")
    whole = certmix.solve(problem, engine, verify=False)
    monkeypatch.setattr(Inner, "seconds", property(lambda ledger: float(ledger.nodes)))
    monkeypatch.setattr(inner, "AGAIN", 1.0)
    monkeypatch.setattr(run, "LOOSE", 10.0)
    words = Words()
    found = certmix.solve(problem, engine, verify=True, observers=[words])
    assert len(set(words.said)) < len(words.said)
    assert found.status is whole.status is Status.OPTIMAL
    assert found.objective == pytest.approx(whole.objective, abs=1e-6)
    assert found.lower_bound <= whole.objective + 1e-9
    assert found.certificate_level == "verified", found.verification


def test_a_bound_with_a_gap_is_verified_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof may lose a hair where a gap is open anyway; the bound that is reported is the one that was checked.

    In these units the objective is small beside those at known variances, whose proofs lose a hair of theirs.
    """
    monkeypatch.setattr(proving, "LEAST_BUDGET", 600.0)
    data = np.random.default_rng(0).normal(size=(60, 6)) + 1.5 * (np.arange(60) % 3)[:, None]
    options = Options(engine="sdp", certificate=True)
    run = Run(Problem(math.exp(-0.6) * data, 3, variance="unknown"), options, [Clock()])
    run.search(options)
    run.take_up(options)
    found = run.search(options)
    assert found.status is Status.FEASIBLE
    judged = run.closed(run.proved(found, options))
    assert judged.certificate_level == "verified"
    assert judged.verdict is not None
    assert judged.lower_bound == judged.verdict.bound < found.lower_bound
