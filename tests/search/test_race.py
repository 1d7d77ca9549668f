"""The race of ``dual`` and ``sdp``: whoever wins, the same answer, and the winner's proof."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from certmix import CannotLink, Problem, solve
from certmix.observers.base import Silent
from certmix.result import Result
from certmix.search import engines, race
from certmix.status import Status, Termination


class Listening(Silent):
    """What is said."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def message(self, text: str) -> None:
        self.texts.append(text)


def clusters(n: int, d: int, K: int, apart: float = 2.5, **settings: Any) -> Problem:
    rng = np.random.default_rng([n, d, K])
    data = rng.normal(scale=apart, size=(K, d))[rng.integers(K, size=n)] + rng.normal(size=(n, d))
    return Problem(data, K, variance=1.0, **settings)


def steps(result: Result) -> set[str]:
    """The kinds of proofs in the certificate."""
    assert result.certificate is not None
    return {step["kind"] for step in result.certificate.document["steps"]}


@pytest.fixture
def short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """So short that small problems take several."""
    monkeypatch.setattr(engines, "TUNING", replace(engines.TUNING, first_nodes=2))


@pytest.mark.parametrize(
    ("entry", "kinds", "winner"),
    [(1e-9, {"semidefinite"}, "the semidefinite relaxation"), (1e9, {"lagrangian"}, "boxes and multipliers")],
)
def test_the_proof_is_that_of_the_winner(
    monkeypatch: pytest.MonkeyPatch, short_turns: None, entry: float, kinds: set[str], winner: str
) -> None:
    """Whoever is let win by what its work is said to cost: the same clustering, its own kind of proof, and a word."""
    monkeypatch.setattr(race, "TUNING", replace(race.TUNING, entry_work=entry))
    problem, heard = clusters(60, 4, 3, 1.0), Listening()
    result = solve(problem, "race", observers=[heard], certificate=True, gap=1e-4)
    assert (result.status, result.certificate_level) == (Status.OPTIMAL, "verified")
    assert steps(result) == kinds
    assert f"better bound by {winner}" in heard.texts[-1]
    assert result.objective == pytest.approx(solve(problem, "dual").objective, rel=1e-4)


@pytest.mark.parametrize("threads", [1, 2])
def test_work_is_counted_and_not_timed(short_turns: None, threads: int) -> None:
    """The same seed, node limit and number of threads give the same answer, to the last bit."""
    links = [CannotLink(i, i + 1) for i in range(0, 30, 3)]
    problem = clusters(50, 3, 4, 1.0, constraints=links)
    runs = [solve(problem, "race", node_limit=60, threads=threads, verify=False) for _ in range(2)]
    assert runs[0].termination in (Termination.NODES, Termination.GAP)
    for field in ("nodes", "lower_bound", "objective"):
        assert getattr(runs[0], field) == getattr(runs[1], field)
    assert [(p.incumbent, p.bound) for p in runs[0].trace] == [(p.incumbent, p.bound) for p in runs[1].trace]
