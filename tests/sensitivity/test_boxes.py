"""Searches by boxes at a cutoff above the optimum, against enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import certmix
from certmix import Problem
from certmix.engines import engine, why_not
from certmix.errors import InfeasibleError, InputError
from certmix.search.record import NO_SPLITS
from certmix.sensitivity.boxes import together_in_boxes
from certmix.sensitivity.witnesses import value_of
from certmix.stopping import Stop
from nearly_optimal import Enumerated
from random_instances import random_problem


def together(problem: Problem, pairs: np.ndarray, target: float, lower: float, nodes: int) -> np.ndarray:
    def told(labels: np.ndarray) -> float:
        return value_of(problem, labels)

    return together_in_boxes(problem, pairs, target, lower, told, nodes, Stop(math.inf), NO_SPLITS).together


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_what_is_settled_is_so_in_every_clustering_below_the_target(first: int) -> None:
    """Under all constraints, from good and bad bounds; and with enough nodes everything that is so is settled."""
    settled = 0
    for seed in range(first, first + 20):
        rng = np.random.default_rng([seed, 5])
        try:
            problem = random_problem(rng, max_samples=6, features=engine("interval").honours)
        except (InputError, InfeasibleError):
            continue
        every = Enumerated(problem)
        if problem.n_samples < 2 or len(every.value) == 0 or why_not(engine("interval"), problem) is not None:
            continue
        pairs = np.array(list(itertools.combinations(range(problem.n_samples), 2)))
        optimum, delta = float(every.value.min()), float(rng.choice([0.1, 1.0, 5.0]))
        lower = optimum - float(rng.choice([1e-9, 0.5]))
        for nodes in (3, 100_000):
            found = together(problem, pairs, optimum + delta, lower, nodes)
            near = every.labels[every.value < optimum + delta - every.slack]
            for (i, j), yes in zip(pairs, found, strict=True):
                assert not yes or (near[:, i] == near[:, j]).all()
            settled += int(found.sum())
        near = every.labels[every.value < optimum + delta + every.slack]
        truth = [(near[:, i] == near[:, j]).all() for i, j in pairs]
        assert (found >= truth).all(), "a pair that is together everywhere is not settled"
    assert settled > 10


def test_a_flag_that_is_up_settles_nothing() -> None:
    """What a kernel says that was cut short does not count."""
    problem = Problem(np.array([[0.0], [0.1], [9.0]]), 2, variance=1.0)
    stop = Stop(math.inf)
    stop.hoist(certmix.status.Termination.TIME)
    pairs = np.array([[0, 1]])
    found = together_in_boxes(problem, pairs, 100.0, 0.0, lambda _: math.inf, 100, stop, NO_SPLITS)
    assert not found.together.any()
