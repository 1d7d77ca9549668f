"""Questions of all kinds, against enumeration: labels, units, copies, noise, links that may bend, missing values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from certmix import CannotLink, Label, MaximumSize, MinimumSize, MustLink, Problem, solve
from certmix.sensitivity.alternatives import alternatives
from certmix.sensitivity.margins import State
from certmix.sensitivity.questions import NOBODY, NOISE, Question, Questions
from certmix.sensitivity.run import stability
from nearly_optimal import Enumerated, assert_alternatives, assert_margins

LINE = np.array([0.0, 0.3, 1.4, 2.6, 3.1, 5.0])[:, None]
PLANE = np.column_stack([LINE[:, 0], [1.0, np.nan, 0.2, 3.0, np.nan, 2.0]])
KINDS: dict[str, dict[str, Any]] = {
    "labels": {"variance": 0.4, "constraints": [Label(0, 0), Label(1, 0), Label(4, 1)]},
    "one label": {"variance": 0.4, "constraints": [Label(2, 0)], "weights": [0.3, 0.7]},
    "components that differ a little": {"variance": 0.4, "weights": [0.45, 0.55]},
    "sums of squares": {"weights": "none", "n_components": 3},
    "copies": {"variance": 0.4, "sample_weight": [1, 3, 2, 1, 2, 3]},
    "copies in sums of squares": {"weights": "none", "n_components": 3, "sample_weight": [1, 3, 2, 1, 2, 3]},
    "weights": {"weights": "none", "sample_weight": [0.5, 1.5, 2.0, 0.7, 2.5, 3.0]},
    "noise": {"variance": 0.05, "noise": 0.02},
    "trimmed": {"weights": "none", "noise": "trimmed", "constraints": [MaximumSize(1, "noise")]},
    "soft links": {
        "variance": 0.4,
        "constraints": [MustLink(2, 3, penalty=1.7), CannotLink(0, 1, penalty=0.9), CannotLink(4, 5)],
    },
    "soft links in sums of squares": {
        "weights": "none",
        "n_components": 3,
        "constraints": [MustLink(1, 2, penalty=0.1), CannotLink(3, 4, penalty=0.3)],
    },
    "missing": {"data": PLANE, "variance": 0.4, "missing": "keep"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_margins_and_alternatives_are_those_of_enumeration(kind: str) -> None:
    """Whatever the samples stand for and the objective is counted in; nothing is left undecided."""
    problem = Problem(**{"data": LINE, "n_components": 2, **KINDS[kind]})
    result, every = solve(problem, "enumerate", verify=False), Enumerated(problem)
    unit = problem.quantity.shown(0.02 * result.objective) if problem.squares else 1.0
    pairs = [(0, 5), (1, 2), (4, 5)]
    for within in (0.5 * unit, 4.0 * unit):
        found = stability(result, within, problem=problem, pairs=pairs, threads=1)
        assert_margins(every, found, pairs)
        others = alternatives(result, within, problem=problem, limit=1000, threads=1)
        assert others.complete
        assert_alternatives(every, others, 1000)
        assert all(one.labels.max() < problem.n_clusters for one in others.clusterings)
        for one in others.clusterings:  # every sample that is elsewhere once, however many it stands for
            assert len(one.moved) == np.count_nonzero(one.labels != others.clusterings[0].labels)
        extra = [one.objective - others.clusterings[0].objective for one in others.clusterings]
        assert [one.extra for one in others.clusterings] == pytest.approx(extra, abs=1e-9 * max(1.0, unit))


def least_of_opposites(problem: Problem, question: Question) -> float:
    """What the cheapest clustering costs that satisfies one of the lists of constraints."""
    forced = (
        problem.replace(constraints=[*problem.given_constraints, *one]) for one in question.opposites(problem)
    )
    return min(solve(one, "enumerate", verify=False).objective for one in forced)


@pytest.mark.parametrize("weights", ["free", [0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
def test_constraints_force_the_opposite_of_being_alone_in_any_component(weights: Any) -> None:
    """They leave all clusterings that have it, and none that has it not; copies are no company."""
    problem = Problem(LINE, 3, variance=0.4, weights=weights, sample_weight=[1, 1, 1, 1, 1, 3])
    question, every = Question(5, NOBODY, True), Enumerated(problem)
    assert least_of_opposites(problem, question) == pytest.approx(every.least(~every.alone(5)))
    questions = Questions([question], problem)
    assert not questions.differing(np.array([0, 0, 1, 1, 1, 2, 2, 2]))[0]
    assert questions.differing(np.array([0, 0, 1, 1, 2, 2, 2, 2]))[0]


@pytest.mark.parametrize("side", [-1.6, 6.6])
def test_the_only_noise_may_go_to_any_cluster(side: float) -> None:
    """Its margin is that of the nearest one, wherever that is; staying noise is no witness."""
    data = np.array([0.0, 0.1, 0.2, 5.0, 5.1, 5.2, side])[:, None]
    problem = Problem(data, 2, variance=0.05, noise=1e-4, constraints=[MinimumSize(2), Label(0, 0)])
    result = solve(problem, "enumerate", verify=False)
    assert result.labels is not None
    assert result.labels.tolist() == [0, 0, 0, 1, 1, 1, -1]
    question, every = Question(6, NOISE, True), Enumerated(problem)
    elsewhere = every.least(every.labels[:, 6] != 2)
    assert least_of_opposites(problem, question) == pytest.approx(elsewhere)
    questions = Questions([question], problem)
    assert not questions.differing(np.array([0, 0, 0, 1, 1, 2, 2]))[0]
    assert questions.differing(np.array([0, 0, 0, 1, 1, 2, 1]))[0]
    found = stability(result, 100.0, problem=problem, threads=1).samples[6]
    assert (found.state, found.goes_to) == (State.OPEN, "0" if side < 0 else "1")
    assert found.upper == pytest.approx(elsewhere - result.objective)
