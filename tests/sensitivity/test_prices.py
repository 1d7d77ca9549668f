"""Pairs that are settled by prices, against enumeration; what is forged is rejected."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import certmix
from certmix import Problem, stability
from certmix.certificate.draft import Unproved, as_checked
from certmix.certificate.margins import MarginPart, chained
from certmix.certificate.prices import by_prices
from certmix.engines import engine
from certmix.errors import InfeasibleError, InputError
from certmix.presolve.instance import reduce
from certmix.sensitivity.prices import _Search, applies, together_by_prices
from certmix.status import Termination
from certmix.stopping import Stop
from certmix.verify.check import check
from certmix.verify.claims.prices import torn_sets
from certmix.verify.domain import Domain
from nearly_optimal import Enumerated
from random_instances import random_problem


def overlapping(n: int = 60, d: int = 2, seed: int = 0) -> Problem:
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0] * d, [4.0] * d, [-4.0] + [4.0] * (d - 1)])
    return Problem(centres[rng.integers(3, size=n)] + rng.normal(size=(n, d)), 3, variance=1.0)


def problems(seeds: range) -> list[tuple[np.random.Generator, Problem, Enumerated]]:
    found = []
    for seed in seeds:
        rng = np.random.default_rng([seed, 7])
        try:
            problem = random_problem(rng, max_samples=7, features=engine("dual").honours)
        except (InputError, InfeasibleError):
            continue
        if applies(problem) and problem.n_samples > 2:
            every = Enumerated(problem)
            found += [(rng, problem, every)] if len(every.value) else []
    return found


def pairs_of(labels: np.ndarray) -> list[tuple[int, int]]:
    return [(i, j) for i, j in itertools.combinations(range(len(labels)), 2) if labels[i] == labels[j]]


def assert_together(every: Enumerated, part: MarginPart, target: float) -> None:
    near = every.labels[every.value < target - every.slack]
    for i, j, together in part.pairs:
        assert together == 1
        assert (near[:, i] == near[:, j]).all()


def accepted(problem: Problem, result: certmix.Result, part: MarginPart, within: float) -> bool:
    """Whether the checker takes the part, nothing being known to it."""
    unknown = replace(part, known=None)
    try:
        return chained(problem, result, within, [unknown], list(part.pairs))[1].verified
    except Unproved:
        return False


@pytest.mark.parametrize(
    "first", [0, 20, *(pytest.param(s, marks=pytest.mark.slow) for s in range(40, 1000, 20))]
)
def test_what_is_settled_is_so_in_every_clustering_below_the_target(first: int) -> None:
    """Under all constraints, from multipliers in the middle and from others, with few nodes and with many."""
    settled = 0
    for rng, problem, every in problems(range(first, first + 20)):
        labels, upper = every.labels[every.value.argmin()], float(every.value.min())
        pairs, delta = pairs_of(labels), float(rng.choice([0.1, 1.0, 5.0]))
        if not pairs:
            continue
        part = together_by_prices(
            problem, labels, pairs, upper, upper + delta, 0.1, Stop(math.inf), float(rng.choice([0.2, 1.0]))
        )
        if part is not None:
            assert_together(every, part, upper + delta)
            settled += len(part.pairs)
        instance = reduce(problem)
        search = _Search(instance, labels, instance.groups.of[np.array(pairs)], delta, Stop(math.inf))
        off = search.t + rng.normal(scale=0.3 * delta, size=len(search.t)) * search.free
        rows, most = [(i, j, 1) for i, j in pairs], int(rng.choice([0, 300]))
        try:
            part = by_prices(rows, problem, off, search.apart, upper + delta, 0.03 * delta, most)
        except Unproved:
            continue
        assert_together(every, part, upper + delta)
        settled += len(part.pairs)
    assert settled > 10


def test_who_says_that_groups_are_apart_is_not_believed() -> None:
    """A proof about groups that may be together, priced as if they were apart, is none."""
    problem = overlapping(30, d=1)
    labels = certmix.solve(problem, "hard-em").labels
    assert labels is not None
    pairs, value = pairs_of(labels), float(problem.objective.best(labels).value)
    groups = reduce(problem).groups.of[np.array(pairs)]
    search = _Search(reduce(problem), labels, groups, 1.0, Stop(math.inf))
    rows = [(i, j, 1) for i, j in pairs]
    for apart, said in (([[0, 1]], "called apart that are not"), ([[0, 1], [1, 2]], "twice")):
        with pytest.raises(Unproved, match=said):
            by_prices(rows, problem, search.t, np.array(apart), value + 1.0, 0.03, 300)


@pytest.mark.parametrize("d", [1, 3])
def test_samples_that_are_far_from_delta_need_no_run_of_their_own(d: int) -> None:
    """Their proof is checked, and what is said is what forced runs say."""
    problem = overlapping(d=d)
    found = stability(problem, 2.0, engine="dual", threads=1)
    assert found.level == "verified"
    assert found.certificate is not None
    kinds = [step["kind"] for part in found.certificate.document["parts"] for step in part["steps"]]
    assert "prices" in kinds
    slowly = stability(problem, 2.0, engine="interval", threads=1, verify=False)
    assert (found.states == slowly.states).all()


def test_labels_and_links_are_taken_into_account() -> None:
    problem = overlapping()
    truth = certmix.solve(problem, threads=1).labels
    assert truth is not None
    rules = [certmix.Label(i, int(truth[i])) for i in range(0, 60, 6)]
    rules += [certmix.CannotLink(*pair) for pair in ((1, int(np.flatnonzero(truth != truth[1])[0])),)]
    found = stability(problem.replace(constraints=rules), 2.0, engine="dual", threads=1)
    assert found.level == "verified"
    assert found.settled
    slowly = stability(problem.replace(constraints=rules), 2.0, engine="interval", threads=1, verify=False)
    assert (found.states == slowly.states).all()


def test_a_forged_part_is_rejected() -> None:
    """A larger delta, multipliers or prices that prove less, trees without leaves or of other sets."""
    problem, within = overlapping(), 2.0
    result = certmix.solve(problem, threads=1, certificate=True)
    assert result.labels is not None
    pairs, target = pairs_of(result.labels)[:40], result.objective + 1.0001 * within
    part = together_by_prices(problem, result.labels, pairs, result.objective, target, 1.0, Stop(math.inf))
    assert part is not None
    assert part.pairs
    assert accepted(problem, result, part, within)
    assert not accepted(problem, result, part, 1.01 * within)
    apart = tuple(np.flatnonzero(result.labels != result.labels[0])[:1].tolist())
    assert not accepted(problem, result, replace(part, pairs=[*part.pairs, (0, *apart, 1)]), within)
    step = part.entries["steps"][0]
    prefix = step["arrays"]

    def other(name: str, array: np.ndarray) -> MarginPart:
        return replace(part, arrays={**part.arrays, prefix + name: array})

    multipliers, psi = part.arrays[prefix + "multipliers"], part.arrays[prefix + "psi"]
    assert not accepted(problem, result, other("multipliers", multipliers + 1.0), within)
    assert not accepted(problem, result, other("psi", psi + 0.5), within)
    assert not accepted(problem, result, other("psi", psi - 0.5), within)
    assert not accepted(problem, result, other("axis/0", np.array([-1], dtype=np.int8)), within)
    alone = other("axis/0", np.array([-1], dtype=np.int8))
    alone = replace(alone, arrays={**alone.arrays, prefix + "cut/0": np.zeros(0)})
    assert not accepted(problem, result, alone, within)


def test_a_component_that_may_be_empty_costs_no_more_than_that() -> None:
    """Whatever the price of its sets: so two sets that tear a pair lack all that the target is above nothing."""
    _, root = as_checked(Problem(np.array([[0.0], [1.0], [5.0]]), 2, variance=1.0, allow_empty=True))
    no_pairs = np.zeros((0, 2), dtype=np.int64)
    given = np.zeros(3), no_pairs, np.array([3.0]), np.array([[0, 1]]), 10.0
    (torn,) = torn_sets(root, Domain.of(root), *given)
    assert torn is not None
    assert torn.excess == pytest.approx(5.0)


def test_a_flag_that_is_up_settles_nothing() -> None:
    """What a kernel says that was cut short does not count."""
    problem, stop = overlapping(), Stop(math.inf)
    stop.hoist(Termination.TIME)
    labels = certmix.solve(problem, "hard-em").labels
    assert labels is not None
    value = float(problem.objective.best(labels).value)
    assert together_by_prices(problem, labels, pairs_of(labels), value, value + 2.0, 1.0, stop) is None


def test_the_certificate_is_checked_without_what_the_run_knew() -> None:
    problem = overlapping(d=3)
    found = stability(problem, 2.0, engine="dual", threads=1)
    assert found.certificate is not None
    assert check(found.certificate.document, found.certificate.arrays, problem.data).verified
