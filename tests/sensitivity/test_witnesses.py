"""Clusterings that cost little more and differ much; runs that end with one, or without a proof."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import certmix
import certmix.sensitivity.run as module
from certmix import CannotLink, MinimumSize, MustLink, Problem, stability
from certmix.problem import is_feasible
from certmix.sensitivity.forced import Enough, forced
from certmix.sensitivity.witnesses import local_optima
from certmix.status import Termination


def square(each: int = 15, side: float = 4.05, **given: Any) -> Problem:
    """Four heaps at the corners of what is nearly a square, for two components: it may be cut either way."""
    rng = np.random.default_rng(3)
    corners = np.array([[0.0, 0.0], [0.0, 4.0], [side, 0.0], [side, 4.0]])
    heap = rng.normal(scale=0.5, size=(each, 2))
    return Problem((corners[:, None] + heap - heap.mean(axis=0)).reshape(-1, 2), 2, variance=1.0, **given)


def optima(problem: Problem, labels: np.ndarray, cutoff: float) -> list[tuple[np.ndarray, float]]:
    return list(local_optima(problem, labels, 0, cutoff, lambda: False))


@pytest.mark.parametrize(
    "constraints", [(), (MustLink(0, 1), CannotLink(0, 45), MinimumSize(20)), (MustLink(0, 30),)]
)
def test_local_optima_are_near_and_keep_all_rules(constraints: tuple[Any, ...]) -> None:
    problem = square(constraints=constraints)
    result = certmix.solve(problem, threads=1)
    assert result.labels is not None
    cutoff = result.objective + 10.0
    found = optima(problem, result.labels, cutoff)
    for labels, value in found:
        assert is_feasible(problem, labels)
        assert value == problem.objective.best(labels).value
        assert value <= cutoff
    assert len({labels.tobytes() for labels, _ in found}) == len(found)
    again = optima(problem, result.labels, cutoff)
    assert [labels.tolist() for labels, _ in found] == [labels.tolist() for labels, _ in again]


def test_the_other_cut_of_a_square_is_found_before_anything_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """No single move leads there, and half of the samples are open."""
    problem = square()
    result = certmix.solve(problem, threads=1)
    assert result.labels is not None
    other = np.repeat([0, 1, 0, 1] if result.labels[0] == result.labels[15] else [0, 0, 1, 1], 15)
    extra = problem.objective.best(other).value - result.objective
    monkeypatch.setattr(module, "WAYS", ())
    monkeypatch.setattr(module.Run, "_waiting", lambda self: [])
    found = stability(result, 1.1 * extra, threads=1)
    upper = np.array([sample.upper for sample in found.samples])
    assert np.isclose(upper, extra, atol=1e-6).sum() >= 28
    assert found.count("open") >= 28


def test_a_run_that_ends_with_a_witness_proves_nothing() -> None:
    """Its clustering is what was asked for."""
    problem = square()
    found = certmix.solve(problem, observers=[Enough(1e9)], threads=1, certificate=True)
    assert found.labels is not None
    assert found.certificate is None
    assert "nobody waits" in (found.verification or "")


@pytest.mark.parametrize("first", [1, 100])
def test_what_a_short_turn_leaves_without_a_proof_gets_a_longer_one(
    monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    """And where that does not help, it counts without one."""
    problem, runs = square(each=5, side=5.0), list[Any]()

    def without(*given: Any) -> certmix.Result:
        found = forced(*given)
        if len(runs) >= first or found.termination is not Termination.TARGET or found.certificate is None:
            return found
        runs.append(given[0].constraints)
        return replace(found, certificate=None, verdict=None, verification="no certificate: too short")

    result = certmix.solve(problem, threads=1)
    whole = stability(result, 2.0, threads=1, certificate=True)
    assert whole.level == "verified"
    monkeypatch.setattr(module, "WAYS", ())
    monkeypatch.setattr(module, "forced", without)
    monkeypatch.setattr(module, "TURNS", replace(module.TURNS, patient=2.0, longer=8.0))
    monkeypatch.setattr(module, "single_moves", lambda *_: None)
    found = stability(result, 2.0, threads=1, certificate=True, time_limit=60.0 if first == 100 else None)
    assert (found.states == whole.states).all()
    if first == 1:
        assert found.level == "verified"
        assert len(runs) == 1
    else:
        assert len(set(runs)) < len(runs)
        assert found.certificate is None


def test_what_was_settled_without_a_proof_counts_when_the_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem, runs = square(each=5, side=5.0), list[Any]()

    def without(*given: Any) -> certmix.Result:
        found = forced(*given)
        runs.append(found.termination)
        return replace(found, certificate=None, verdict=None, verification="no certificate: too short")

    result = certmix.solve(problem, threads=1)
    monkeypatch.setattr(module, "WAYS", ())
    monkeypatch.setattr(module, "forced", without)
    monkeypatch.setattr(module.Run, "late", property(lambda _: bool(runs)))
    found = stability(result, 2.0, threads=1, certificate=True)
    assert runs == [Termination.TARGET]
    assert found.count("fixed") == 1
    assert found.certificate is None
    assert any("too short" in note for note in found.notes)
