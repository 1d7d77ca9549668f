"""Contraction: what is linked is together in every clustering that is better than the incumbent."""

from __future__ import annotations

import itertools
import math

import numpy as np

from certmix import Problem
from certmix.engines import Outcome
from certmix.errors import InfeasibleError
from certmix.ledger import Ledger
from certmix.options import Options
from certmix.parts.contraction import Bridge, TogetherTask, common, cutoffs, linked
from certmix.presolve.groups import group_samples
from certmix.problem import CannotLink, MustLink, is_feasible
from certmix.problem.restriction import Restriction, partition_refusal
from certmix.status import Termination
from claims import find_truth
from random_instances import random_problem


def value(problem: Problem, labels: np.ndarray) -> float:
    try:
        return float(problem.objective.best(labels).value) if is_feasible(problem, labels) else math.inf
    except InfeasibleError:
        return math.inf


def better(problem: Problem, upper: float) -> list[np.ndarray]:
    """Every clustering that is better, by enumeration."""
    of = group_samples(problem).of
    every = itertools.product(range(problem.n_components), repeat=int(of.max()) + 1)
    found = (np.array(labels)[of] for labels in every)
    return [labels for labels in found if value(problem, labels) < upper]


def test_no_better_clustering_is_cut_off() -> None:
    """Random problems in random parts, with bounds and an incumbent that leave a gap; much is linked nevertheless."""
    rng = np.random.default_rng(81)
    problems = links = 0
    while problems < 60:
        problem = random_problem(rng, max_samples=7)
        if rng.random() < 0.7:  # clusters that are well apart
            problem = problem.replace(data=5.0 * problem.data)
        truth = find_truth(problem)
        if truth.infeasible or partition_refusal(problem):
            continue
        of = group_samples(problem).of
        part = rng.integers(0, 2, of.max() + 1)[of]
        pieces = [np.flatnonzero(part == t) for t in np.unique(part)]
        restriction = Restriction(problem)
        parts = [restriction.part(samples) for samples in pieces]
        optima = np.array([find_truth(p).optimum for p in parts])
        bounds = optima - rng.choice([0.0, 0.1, 1.0]) * rng.random(len(parts))
        upper = truth.optimum + float(rng.choice([1e-6, 0.3, 1.0]))
        found = [
            (samples, TogetherTask(p, truth.labels[samples], cutoff)())
            for samples, p, cutoff in zip(pieces, parts, cutoffs(bounds, upper), strict=True)
        ]
        smaller = linked(problem, found)
        assert all(is_feasible(smaller, labels) for labels in better(problem, upper))
        problems += 1
        links += sum(len(np.unique(of[samples])) - len(np.unique(numbers)) for samples, numbers in found)
    assert links > 30


def test_links_are_about_positions() -> None:
    """Samples whose names are numbers, and samples with weights, are linked by where they stand."""
    data = np.arange(4.0)[:, None]
    numbers = np.array([0, 0, 1, 2])
    named = Problem(data, 2, variance=1.0, names=[3, 2, 1, 0])
    found = group_samples(linked(named, [(np.arange(4), numbers)])).of
    np.testing.assert_array_equal(found, [0, 0, 1, 2])
    weighted = Problem(data, 2, variance=1.0, sample_weight=[1, 2, 1, 1])
    found = group_samples(linked(weighted, [(np.arange(5), np.array([0, 0, 0, 1, 2]))])).of
    np.testing.assert_array_equal(found, [0, 0, 0, 1, 2])


def test_what_one_region_separates_is_not_together() -> None:
    """Groups are together if each region has them in one component; open groups are together with nobody."""
    one, other = np.array([0, 0, 0, 1, -1, -1]), np.array([2, 2, 1, 0, 0, -1])
    numbers = common([one, other], 6)
    assert numbers[0] == numbers[1]
    assert len(np.unique(numbers)) == 5
    assert len(np.unique(common([], 6))) == 1, "where nothing is left, everything is true"


def two(n: int, d: int = 5) -> Problem:
    rng = np.random.default_rng(82)
    data = rng.normal(size=(n, d))
    data[:, 0] += 3.2 * rng.integers(2, size=n)
    return Problem(data, 2, variance=1.0)


def test_the_bound_is_no_better_than_the_incumbent_that_the_links_rest_on() -> None:
    """What was cut off costs that much or more; what costs less may come up later."""
    problem = two(20)
    ledger = Ledger(problem, Options().tolerances)
    ledger.offer(np.arange(20) % 2, "poor")
    upper = ledger.upper
    smaller = Ledger(problem.replace(constraints=[MustLink(0, 1), CannotLink(0, 1)]), Options().tolerances)
    bridge = Bridge(ledger, smaller)
    smaller.raise_bound(math.inf)
    assert ledger.bound == upper
    bridge.ended(Outcome(Termination.EXHAUSTED, infeasible=True))
    assert ledger.bound == upper
    assert ledger.upper == upper
