"""Multipliers for a whole problem whose components may be empty."""

from __future__ import annotations

import math

import numpy as np

from certmix import Problem
from certmix.presolve.instance import reduce
from certmix.search.bounds.dual import DualBound
from claims import find_truth
from random_instances import random_problem


def test_one_root_speaks_for_every_choice_of_empty_components() -> None:
    """Its bound is never above the optimum by enumeration, whichever components are empty there."""
    rng, empty, tight = np.random.default_rng(71), 0, 0
    while empty < 40:
        problem = random_problem(rng, max_samples=7)
        if not np.any(problem.size_lower == 0):
            continue
        truth = find_truth(problem)
        if truth.infeasible:
            continue
        start = truth.labels if rng.random() < 0.5 else np.zeros_like(truth.labels)
        bound = DualBound(reduce(problem), start, allowed=1e-6)
        bound.advance_root(math.inf, math.inf)
        assert bound.root_bound <= truth.optimum + truth.slack
        empty += len(np.unique(truth.labels)) < problem.n_components
        tight += bound.root_bound > truth.optimum - 1e-3 * max(1.0, abs(truth.optimum))
    assert tight > 20


def test_a_component_that_is_better_empty_costs_nothing() -> None:
    """Three samples in one place and three components: one holds them all, and the root knows it."""
    problem = Problem([[0.0], [0.01], [0.02]], 3, variance=1.0, allow_empty=True)
    truth = find_truth(problem)
    bound = DualBound(reduce(problem), truth.labels, allowed=1e-6)
    bound.advance_root(truth.optimum + 1e-7, math.inf)
    assert len(np.unique(truth.labels)) == 1
    assert truth.optimum - 1e-6 <= bound.root_bound <= truth.optimum + truth.slack
