"""What is known of questions: what counts as fixed or open, and what later proofs may rest on."""

from __future__ import annotations

import numpy as np
import pytest

import certmix
from certmix import Problem
from certmix.options import Options
from certmix.sensitivity.known import Known
from certmix.sensitivity.margins import State

RNG = np.random.default_rng(3)
TWO = np.concatenate([RNG.normal(size=(4, 2)), RNG.normal(5.0, size=(4, 2))])


@pytest.fixture
def known() -> Known:
    result = certmix.solve(Problem(TWO, 2, variance=1.0), "enumerate", verify=False)
    return Known(result.problem, result, 2.0, (), Options())


def test_a_question_is_fixed_beyond_delta_and_open_within(known: Known) -> None:
    """A bound above the objective alone says nothing; a clustering within delta decides, whatever a bound says."""
    for bound, state in (
        (known.upper, State.UNDECIDED),
        (known.cutoff, State.UNDECIDED),
        (known.proved, State.FIXED),
    ):
        known.settle([known.questions.all[0]], bound)
        assert known.state_of(0) is state
    known.value[0] = known.cutoff
    assert known.state_of(0) is State.OPEN


def test_bounds_never_fall_and_witnesses_never_rise(known: Known) -> None:
    known.settle([known.questions.all[0]], 7.0)
    known.settle([known.questions.all[0]], 6.0)
    assert known.bound[0] == 7.0
    other = known.labels.copy()
    other[known.questions.all[0].first] = 1 - other[known.questions.all[0].first]
    known.learn(other, 9.0)
    known.learn(other, 11.0)
    assert known.value[0] == known.better == 9.0
    assert np.isinf(known.value[~known.questions.differing(other)]).all()


def test_what_was_found_under_links_is_no_better_than_the_links(known: Known) -> None:
    """A clustering without a link costs what the link's own proof says, be that less than the target."""
    first, second = [i for i, q in enumerate(known.questions.all) if q.second >= 0][:2]
    assert known.linked() is known.problem
    assert known.beyond_links() == known.proved
    known.bound[first] = 0.5 * (known.cutoff + known.proved)
    assert known.beyond_links() == known.bound[first]
    known.bound[second] = known.target
    assert known.beyond_links() == known.bound[first]
    assert len(known.links()) == 2
