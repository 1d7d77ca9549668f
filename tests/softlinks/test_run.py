"""Soft links: the objective counts what is broken, and every engine proves the best clustering of all."""

from __future__ import annotations

import numpy as np
import pytest

import certmix
from certmix import CannotLink, MaximumSize, MustLink, Problem, solve
from certmix.errors import UnsupportedError
from certmix.observers.base import Silent
from certmix.status import Status
from soft_links import random_soft_links, truth_with_penalties

LINE = np.array([0.0, 0.2, 0.4, 3.0, 3.2, 3.4])[:, None]
ENGINES = ("enumerate", "interval", "dual", "sdp", "parts", "auto")


def pulled(penalty: float, **given: object) -> Problem:
    """Two clusters of three; a soft link wants a sample of one in the other."""
    given = {"variance": 0.25, "weights": "uniform", **given}
    return Problem(LINE, 2, constraints=[MustLink(2, 3, penalty=penalty)], **given)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_link_is_broken_when_that_is_cheaper(engine: str) -> None:
    """Below the price of keeping the link the clustering breaks it and costs the penalty more; above, it is kept."""
    free, held = pulled(0.0), Problem(LINE, 2, variance=0.25, weights="uniform", constraints=[MustLink(2, 3)])
    price = solve(held, "enumerate").objective - solve(free, "enumerate").objective
    assert price > 1.0
    cheap = solve(pulled(0.5 * price), engine, verify=True)
    assert cheap.status is Status.OPTIMAL
    assert cheap.objective == pytest.approx(solve(free, "enumerate").objective + 0.5 * price)
    assert not cheap.constraints[0].satisfied
    assert cheap.penalty == pytest.approx(0.5 * price)
    dear = solve(pulled(2.0 * price), engine, verify=True)
    assert dear.objective == pytest.approx(solve(held, "enumerate").objective)
    assert dear.constraints[0].satisfied
    assert dear.penalty == 0.0
    assert dear.certificate_level == cheap.certificate_level == "verified"


@pytest.mark.parametrize("seed", range(12))
def test_bound_and_clustering_agree_with_every_clustering(seed: int) -> None:
    """Whatever links there are, contradictory ones too, the result is the best of all clusterings."""
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(7, 2)) + 1.5 * (np.arange(7) > 3)[:, None]
    problem = Problem(data, 3, variance=1.0, constraints=[*random_soft_links(7, rng, 2.0), MaximumSize(4)])
    truth = truth_with_penalties(problem)
    for engine in ("interval", "sdp"):
        result = solve(problem, engine, verify=False)
        assert result.status is Status.OPTIMAL
        assert result.objective == pytest.approx(truth.optimum, rel=1e-6)
        assert result.lower_bound <= truth.optimum + 1e-9


def test_soft_links_that_contradict_each_other_are_no_contradiction() -> None:
    """Together and apart: the cheaper one is broken."""
    links = [MustLink(0, 1, penalty=3.0), CannotLink(0, 1, penalty=1.0), CannotLink(0, 1, 2, penalty=0.5)]
    result = solve(Problem(LINE, 2, variance=0.25, constraints=links), verify=True)
    assert result.status is Status.OPTIMAL
    assert [c.satisfied for c in result.constraints] == [True, False, False]
    assert result.penalty == pytest.approx(1.5)


def test_an_unknown_variance_has_penalties_in_nats() -> None:
    """Penalties are added at any variance, so the price of a link is a difference of the objective."""
    rng = np.random.default_rng(3)
    data = rng.normal(size=(8, 2)) + 2.0 * (np.arange(8) > 3)[:, None]
    links = [MustLink(0, 7, penalty=1.0), CannotLink(1, 2, penalty=0.4)]
    problem = Problem(data, 2, variance="unknown", constraints=links)
    truth = truth_with_penalties(problem)
    result = solve(problem, "sdp", certificate=True)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(truth.optimum, rel=1e-6)
    assert result.certificate_level == "verified"
    assert certmix.verify(result.certificate, problem).verified


def test_a_penalty_counts_once_and_samples_with_weights_once() -> None:
    """A link of three samples that are all apart costs its penalty, and so does one of samples that stand for many."""
    three = Problem(LINE, 3, variance=0.25, constraints=[MustLink(0, 1, 2, penalty=1.5)])
    labels = np.array([0, 1, 2, 0, 1, 2])
    assert three.objective.penalty(labels) == 1.5
    many = three.replace(sample_weight=[3, 1, 1, 1, 1, 2])
    assert many.objective.penalty(many.samples.expand(labels)) == 1.5


@pytest.mark.parametrize("seed", range(6))
def test_hard_em_counts_penalties(seed: int) -> None:
    """Local search offers no clustering that a sample of a soft link would leave for a better one."""
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(30, 2)) + 5.0 * (np.arange(30) % 2)[:, None]
    links = [MustLink(0, 1, penalty=0.1), MustLink(2, 5, penalty=50.0), CannotLink(0, 2, penalty=50.0)]
    result = solve(Problem(data, 2, variance=1.0, constraints=links), "hard-em")
    assert result.certificate_level == "none"
    assert [c.satisfied for c in result.constraints] == [False, True, True]


def test_hard_constraints_that_cannot_be_met_are_said() -> None:
    """Soft links never make a problem infeasible; others do, with a proof."""
    links = [MustLink(0, 1), CannotLink(0, 1), MustLink(2, 3, penalty=1.0)]
    result = solve(Problem(LINE, 2, variance=0.25, constraints=links), verify=True)
    assert result.status is Status.INFEASIBLE
    assert result.certificate_level == "verified"


def test_a_start_may_break_soft_links() -> None:
    """Only what has to hold is held against it."""
    start = np.array([0, 0, 0, 1, 1, 1])
    assert solve(pulled(1.0), "interval", start=start).status is Status.OPTIMAL


def test_a_limit_leaves_a_bound_that_holds() -> None:
    """A run that is cut short claims no more than it has proved."""
    rng = np.random.default_rng(1)
    problem = Problem(rng.normal(size=(9, 2)), 3, variance=0.3, constraints=random_soft_links(9, rng, 1.0))
    truth = truth_with_penalties(problem)
    for nodes in (0, 1, 3, 10):
        result = solve(problem, "interval", node_limit=nodes)
        assert result.lower_bound <= truth.optimum + 1e-9
        assert result.objective >= truth.optimum - 1e-9


def test_what_cannot_be_done_is_refused_before_any_work() -> None:
    """Engines without links say so."""
    with pytest.raises(UnsupportedError, match="must-link"):
        solve(pulled(1.0), "dynamic")


def test_summary_and_saved_result_say_what_is_broken(tmp_path: object) -> None:
    """Which link, and at what cost; also after saving."""
    result = solve(pulled(0.5))
    text = result.summary()
    assert "1 broken for 0.5" in text
    assert "sample 2 and sample 3 should be together, or it costs 0.5" in text
    saved = certmix.Result.load(result.save(f"{tmp_path}/run"))
    assert saved.penalty == 0.5
    assert not saved.constraints[0].satisfied


class Listening(Silent):
    """What is said."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def message(self, text: str) -> None:
        self.texts.append(text)


def test_bounds_of_nodes_are_told_as_everything_else_is() -> None:
    """The first node of k-means, without its links, is bounded by a sum of squares: here that of the result."""
    heard = Listening()
    problem = Problem(LINE, 2, weights="none", constraints=[MustLink(2, 3, penalty=0.5)])
    result = solve(problem, "dual", observers=[heard])
    assert heard.texts[0].startswith("soft links: 0 kept, 0 broken: bound ")
    assert float(heard.texts[0].split("bound ")[1].split(",")[0]) == pytest.approx(result.sse, rel=1e-5)
