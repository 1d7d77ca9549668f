"""Runs with an unknown variance that go on from disk: nothing is lost, and nothing is taken for what it is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certmix
from certmix.observers.base import Silent
from certmix.options import Options
from certmix.problem import Problem
from certmix.state import State
from certmix.variance.run import VarianceRun
from certmix.variance.stored import Cut, cut_in, stored
from random_instances import random_problem
from resumed import cut_short, solved_in_pieces
from unknown_variance import truth_with_variance, with_unknown_variance


def blobs(n: int, d: int) -> np.ndarray:
    return np.random.default_rng(3).normal(size=(n, d)) + 2.0 * (np.arange(n) % 3)[:, None]


class Words(Silent):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def message(self, text: str) -> None:
        self.said.append(text)


def test_states_of_different_problems_have_different_names() -> None:
    """What is kept of a state is written once under its name, so no other solve may have that."""
    one = {"part": {"a": np.ones(1)}}
    names = set()
    for scale, squares in [(2.0, False), (2.0, True), (2.5, False), (np.array([2.0, 3.0]), False)]:
        cut = Cut(scale, squares, np.array([0, 1]), 1.5, State({}, {}, one))
        state = stored(True, (), cut)
        names |= set(state.kept)
        found = cut_in(state)
        assert found is not None
        assert found.is_at(scale, squares)
        assert (found.bound, list(found.state.kept)) == (1.5, ["part"])
        assert np.array_equal(found.labels, [0, 1])  # type: ignore[arg-type]
    assert len(names) == 4
    assert cut_in(stored(True, (), None)) is None


def test_what_is_solved_is_not_solved_again() -> None:
    """Bounds at known variances come back with their clusterings, and the run looks for no clustering again."""
    problem = Problem(blobs(8, 2), 2, variance="unknown")
    run = VarianceRun(problem, certmix.engines.engine("enumerate"))
    run.take_up(certmix.ledger.Ledger(problem, Options(gap=1e-3).tolerances), Options(restarts=1))
    run.run()
    assert len(run.solved) >= 2
    later = certmix.ledger.Ledger(problem, Options().tolerances)
    later.resumed = run.state()
    again = VarianceRun(problem, run.inner)
    again.take_up(later, Options(restarts=1))
    assert again.begun
    assert [one.entry for one in again.solved] == [one.entry for one in run.solved]
    assert again.bounds.bound == pytest.approx(run.bounds.bound, abs=1e-12)
    assert later.bound <= run.ledger.upper


@pytest.mark.parametrize(
    ("engine", "arguments"),
    [
        ("dual", {"variance": "unknown"}),
        ("sdp", {"variance": "unknown", "weights": "uniform"}),
        ("interval", {"variance": "diagonal"}),
    ],
)
def test_a_run_goes_on_from_disk(engine: str, arguments: dict[str, Any], tmp_path: Path) -> None:
    """The same optimum as at one go, a bound that does not fall, and a proof that is verified."""
    problem = Problem(blobs(14, 2), 3, **arguments)
    whole = certmix.solve(problem, engine, verify=False)
    first = cut_short(problem, tmp_path, engine, node_limit=whole.nodes // 2 or 1)
    words = Words()
    result = certmix.solve(problem, resume=tmp_path, verify=True, observers=[words])
    assert any("the engine goes on" in text for text in words.said) or first.termination == "gap"
    assert result.status == whole.status == "optimal"
    assert result.objective == pytest.approx(whole.objective, abs=1e-6)
    assert max(point.bound for point in result.trace) >= first.lower_bound
    assert result.certificate_level == "verified", result.verification


@pytest.mark.parametrize("seed", range(4))
def test_pieces_agree_with_enumeration(seed: int) -> None:
    """A run that is cut short again and again says nothing that is not so."""
    rng = np.random.default_rng([seed, 5])
    problem = with_unknown_variance(random_problem(rng, max_samples=6, max_components=3, wide=0.0), rng)
    truth = truth_with_variance(problem)
    if not np.isfinite(truth.optimum):
        return
    result = solved_in_pieces(problem, "dual", Options(time_limit=30.0), rng)
    assert result.lower_bound <= truth.optimum + 1e-8 * max(1.0, abs(truth.optimum))
    assert result.objective >= truth.optimum - 1e-8 * max(1.0, abs(truth.optimum))
