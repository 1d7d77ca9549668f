"""A sample of the soundness program's problems; `make soundness` runs many more."""

from __future__ import annotations

import math

import numpy as np
import pytest

from certmix.ledger import TracePoint
from certmix.options import Options
from certmix.problem import Problem
from certmix.status import Status, Termination
from soundness import Claim, Summary, Truth, draw, examine, find_truth, violations
from ways import BY_CLOCK, NAMES, WAYS


def assert_sound(first: int, count: int) -> Summary:
    summary = Summary()
    for seed in range(first, first + count):
        summary.add(examine(seed, seconds=2.0))
    assert not summary.violations, "\n".join(summary.violations)
    return summary


@pytest.mark.parametrize("block", range(4))
def test_no_claim_contradicts_enumeration(block: int) -> None:
    """Bounds, optima, infeasibility and traces of every certified engine agree with exhaustive enumeration."""
    summary = assert_sound(50 * block, 30)
    closed = {way: counts["closed"] for way, counts in summary.counts.items()}
    assert closed["interval"] + closed["dual"] + closed["interval loop"] > 20, "the engines do close problems"


@pytest.mark.slow
@pytest.mark.parametrize("block", range(8))
def test_no_claim_contradicts_enumeration_on_many_problems(block: int) -> None:
    """The same on a few thousand problems, every way being taken."""
    summary = assert_sound(100_000 + 400 * block, 400)
    rare = {way.name for way in WAYS if way.often < 0.05}
    assert summary.counts.keys() >= set(NAMES) - rare


# -- the program notices what it is there to notice ----------------------------------------------------------------
def honest_claim(**changes: object) -> tuple[Problem, Truth, Claim]:
    problem = Problem(np.array([0.0, 0.1, 3.0, 3.1])[:, None], 2, variance=1.0)
    truth = find_truth(problem)
    fields: dict[str, object] = {
        "way": "test",
        "upper": truth.optimum,
        "lower": truth.optimum - 1e-9,
        "labels": truth.labels,
        "status": Status.OPTIMAL,
        "termination": Termination.GAP,
        "trace": (TracePoint(0.0, truth.optimum + 1, -math.inf), TracePoint(0.1, truth.optimum, 0.0)),
        "options": Options(gap=1e-6),
        "seconds": 0.1,
    }
    fields.update(changes)
    return problem, truth, Claim(**fields)  # type: ignore[arg-type]


def test_an_honest_claim_passes() -> None:
    """The truth itself is no violation."""
    assert list(violations(*honest_claim())) == []


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"lower": 100.0, "upper": 100.0}, "above the optimum"),
        ({"status": Status.OPTIMAL, "lower": -5.0}, "with a gap"),
        ({"status": Status.INFEASIBLE, "labels": None, "upper": math.inf}, "called infeasible"),
        ({"labels": np.array([0, 0, 0, 0])}, "violates a constraint"),
        ({"labels": np.array([0, 1, 0, 1])}, "value is"),
        ({"upper": 0.0, "lower": 0.0}, "value is"),
        ({"lower": math.nan}, "not a number"),
        ({"certified": False}, "a local method"),
        ({"status": Status.FEASIBLE, "termination": Termination.EXHAUSTED, "lower": -5.0}, "exhausted"),
        ({"trace": (TracePoint(0.0, 1.0, 0.5), TracePoint(0.1, 1.0, 0.4))}, "turns back"),
        ({"trace": (TracePoint(0.0, 1.0, 0.5), TracePoint(0.1, 1.5, 0.5))}, "turns back"),
    ],
)
def test_a_false_claim_is_noticed(changes: dict[str, object], word: str) -> None:
    """Every kind of wrong claim is reported in words."""
    problem, truth, claim = honest_claim(**changes)
    assert any(word in text for text in violations(problem, truth, claim)), list(
        violations(problem, truth, claim)
    )


def test_the_same_seed_draws_the_same_problem() -> None:
    """A violation can be reproduced from its seed."""
    for seed in range(20):
        one, other = draw(seed), draw(seed)
        assert np.array_equal(one.data, other.data)
        assert one.constraints == other.constraints


def test_the_same_seed_is_solved_in_the_same_ways() -> None:
    """Ways, outcomes and bounds of a seed do not depend on what ran before it; only some are stopped by the clock."""

    def solved(seed: int) -> list[tuple[str, str, float]]:
        return [claim[:3] for claim in examine(seed).claims if claim[0] not in BY_CLOCK]

    first = {seed: solved(seed) for seed in (3, 11, 19)}
    assert all(first.values())
    for seed in (19, 3, 11):
        assert solved(seed) == first[seed]


def test_a_single_way_repeats_what_it_did_among_others() -> None:
    """A finding can be repeated with its way alone."""
    among = {c[0]: c[:3] for c in examine(17, only=NAMES[:6]).claims}
    for way in NAMES[:6]:
        alone = {c[0]: c[:3] for c in examine(17, only=[way]).claims}
        assert alone.get(way) == among.get(way)
