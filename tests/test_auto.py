"""What ``engine="auto"`` chooses."""

from __future__ import annotations

import numpy as np
import pytest

from certmix import CannotLink, MaximumSize, MinimumSize, Problem
from certmix.auto import choose
from certmix.engines import engine, why_not
from certmix.options import Options


def samples(n: int, d: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, d))


@pytest.mark.parametrize(
    ("problem", "options", "name"),
    [
        (Problem(samples(100, 1), 3, variance=1.0), {}, "dynamic"),
        (Problem(samples(100, 1), 3, variance=1.0, constraints=[CannotLink(0, 1)]), {}, "dual"),
        (Problem(samples(8, 3), 3, variance=1.0), {}, "enumerate"),
        (Problem(samples(8, 20), 3, variance=1.0, constraints=[CannotLink(0, 1)]), {}, "enumerate"),
        (Problem(samples(40, 2), 3, variance=1.0), {}, "dual"),
        (Problem(samples(40, 4), 3, variance=1.0), {}, "dual"),
        (Problem(samples(40, 2), 3, variance=1.0, weights="uniform"), {}, "dual"),
        (Problem(samples(40, 3), 3, variance=1.0, weights="uniform"), {}, "race"),
        (Problem(samples(40, 4), 3, weights="none"), {}, "race"),
        (Problem(samples(40, 6), 3, weights="none"), {}, "race"),
        (Problem(samples(40, 7), 3, weights="none"), {}, "sdp"),
        (Problem(samples(40, 4), 3, weights="none"), {"workers": 2}, "sdp"),
        (Problem(samples(500, 4), 3, weights="none"), {}, "dual"),
        (Problem(samples(40, 4), 3, variance=1.0, mean_bounds=(-1.0, None)), {}, "dual"),
        (Problem(samples(40, 2), 3, variance=1.0, constraints=[CannotLink(0, 1)]), {}, "race"),
        (Problem(samples(500, 2), 3, variance=1.0, constraints=[CannotLink(0, 1)]), {}, "dual"),
        (Problem(samples(40, 5), 3, variance=1.0), {}, "sdp"),
        (Problem(samples(40, 6), 3, variance=1.0), {"time_limit": 5.0}, "sdp"),
        (Problem(samples(900, 6), 3, variance=1.0), {}, "sdp"),
        (Problem(samples(1000, 6), 3, variance=1.0), {}, "parts"),
        (Problem(samples(4000, 6), 3, variance=1.0), {}, "parts"),
        (Problem(samples(4000, 6), 3, variance=1.0), {"time_limit": 5.0}, "parts"),
        (Problem(samples(4000, 6), 3, variance=1.0, prior="jeffreys"), {}, "hard-em"),
        (Problem(samples(4000, 6), 3, variance=1.0, prior="jeffreys"), {"time_limit": 5.0}, "dual"),
        (Problem(samples(40, 6), 3, variance=1.0, mean_bounds=(-1.0, None)), {"node_limit": 100}, "dual"),
        (Problem(samples(200_000, 1), 3, variance=1.0), {}, "interval"),
        (Problem(samples(70, 2), 63, variance=1.0), {}, "dual"),
    ],
)
def test_choice(problem, options, name):
    """By dimensions, samples, constraints and limits; the engine can take the problem, and there is a reason."""
    chosen, reason = choose(problem, Options(**options))
    assert chosen == name
    assert why_not(engine(chosen), problem) is None
    assert reason


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        ([MinimumSize(30), MaximumSize(30)], "sdp"),  # fixed
        ([MinimumSize(15)], "sdp"),  # clusters of 20 come near
        ([MaximumSize(45)], "sdp"),  # the cluster of 50 is too large
        ([MinimumSize(3)], "dual"),  # never felt
        ([MaximumSize(80)], "dual"),
    ],
)
def test_limits_on_sizes_that_are_felt(limits, name):
    """Where clusters come near the limits, multipliers do not know of them: that is for the semidefinite bound."""
    data = samples(90, 2) + 12.0 * np.repeat([0, 1, 2], [20, 20, 50])[:, None]
    assert choose(Problem(data, 3, variance=1.0, constraints=limits), Options())[0] == name


def test_any_number_of_components():
    """Nothing depends on it."""
    assert choose(Problem(samples(90, 2), 63, variance=1.0), Options())[0] == "dual"
    assert choose(Problem(samples(90, 6), 63, variance=1.0), Options())[0] == "sdp"
    assert choose(Problem(samples(2000, 6), 100, variance=1.0), Options())[0] == "parts"


def test_a_part_is_not_partitioned_again():
    """What works on a part is an engine for a whole problem."""
    assert choose(Problem(samples(2000, 6), 3, variance=1.0), Options(), partition=False)[0] == "sdp"
