"""Whole searches of the sdp engine, written down and checked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from certmix import datasets
from certmix.certificate.draft import Unproved
from certmix.certificate.semidefinite import recorded
from certmix.errors import InfeasibleError
from certmix.io.certificates import Certificate
from certmix.presolve.instance import reduce
from certmix.problem import CannotLink, Label, MinimumSize, MustLink, Problem
from certmix.search.bounds.semidefinite import record, visit
from certmix.search.bounds.semidefinite.bound import SemidefiniteBound
from certmix.search.bounds.semidefinite.record import NO_RECORD, Recorder
from certmix.status import Status
from certmix.verify.check import Verdict, check
from certmix.verify.tree import AT_LEAST, AT_MOST
from random_domains import HONOURED, merged_problem
from random_instances import random_problem
from recorded_steps import certified, searched


def verdict_on(certificate: Certificate, problem: Problem) -> Verdict:
    return check(certificate.document, certificate.arrays, problem.data)


def overlapping(
    seed: int, n: int = 30, d: int = 3, K: int = 3, spread: float = 1.5, **settings: Any
) -> Problem:
    """Clusters that overlap, so that the search has to branch."""
    rng = np.random.default_rng([seed, 97])
    centres = rng.normal(scale=spread, size=(K, d))
    data = centres[rng.integers(K, size=n)] + rng.normal(size=(n, d))
    return Problem(data, K, **{"variance": 1.0, **settings})


def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nodes give up early, for more of them."""
    monkeypatch.setattr(visit, "TUNING", visit.Tuning(iterations=4, root_rounds=1, node_rounds=1))


@pytest.mark.parametrize("first", [0, 100])
def test_every_search_that_the_checker_understands_convinces_it(first: int) -> None:
    """Random problems with all constraints, priors, gaps and limits: what is certified is verified."""
    verified = 0
    for seed in range(first, first + 10):
        rng = np.random.default_rng([seed, 98])
        problem = random_problem(rng, max_samples=8, features=HONOURED) if seed % 2 else merged_problem(rng)
        if reduce(problem).groups.contradiction or not reduce(problem).exact:
            continue  # where the checker relaxes more than the search, see below
        limit = int(rng.integers(1, 6)) if rng.random() < 0.3 else 200
        try:
            result, recorder = searched(problem, gap=float(rng.choice([1e-4, 1e-6, 1e-9])), node_limit=limit)
        except InfeasibleError:
            continue
        if result.labels is None or not math.isfinite(result.lower_bound):
            continue
        certificate = certified(problem, result, recorder)
        verdict = verdict_on(certificate, problem)
        assert verdict.verified, f"seed {seed}: {verdict.sentence}"
        assert verdict.bound <= result.lower_bound + 1e-9
        if result.status is Status.OPTIMAL:
            assert result.tolerances.closed(result.objective, verdict.bound), f"seed {seed}"
        verified += 1
    assert verified > 4


@pytest.mark.parametrize(
    "constraints",
    [
        [],
        [CannotLink(0, 1), CannotLink(1, 2), MustLink(3, 4)],
        [Label(0, 0), Label(1, 1), MinimumSize(4)],
    ],
    ids=["free", "links", "labels"],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_trees_are_certified_whatever_the_number_of_threads(
    constraints: list[Any], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Searches with many nodes, because each gives up early, several of them visited at once."""
    hurry(monkeypatch)
    problem = overlapping(5, n=16, spread=0.7, constraints=constraints)
    result, recorder = searched(problem, threads=threads)
    assert result.status is Status.OPTIMAL
    verdict = verdict_on(certified(problem, result, recorder), problem)
    assert verdict.verified, verdict.sentence
    assert len(recorder.entries) > 4


def test_a_certificate_is_the_same_from_steps_that_waited_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large steps take no memory; nothing of them is lost, and what is shared by leaves stays shared."""
    hurry(monkeypatch)
    problem = overlapping(2, n=16, spread=0.7)
    made = []
    for large in (0, record.LARGE):
        monkeypatch.setattr(record, "LARGE", large)
        result, recorder = searched(problem, node_limit=6)
        steps = [
            step for entry in recorder.entries for step in (*entry.steps, entry.best) if step is not None
        ]
        assert steps
        assert all(isinstance(step.arrays, dict) == bool(large) for step in steps)
        made.append(certified(problem, result, recorder))
    assert made[0].arrays.keys() == made[1].arrays.keys()
    assert all(np.array_equal(made[0].arrays[name], made[1].arrays[name]) for name in made[0].arrays)
    assert verdict_on(made[0], problem).verified


def test_components_that_may_be_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    """One root holds every choice of empty components; split by the smallest size, both sides are needed."""
    problem = overlapping(2, n=24, spread=2.0, allow_empty=True)
    assert verdict_on(certified(problem, *searched(problem)), problem).verified
    monkeypatch.setitem(SemidefiniteBound.__init__.__kwdefaults__, "split_from", 1)
    result, recorder = searched(problem)
    assert sum(entry.parent < 0 for entry in recorder.entries) == 1
    certificate = certified(problem, result, recorder)
    verdict = verdict_on(certificate, problem)
    assert verdict.verified, verdict.sentence
    kind, args = certificate.arrays["tree/kind"], certificate.arrays["tree/args"]
    assert (kind[1:3] == [AT_MOST, AT_LEAST]).all()
    for tampered in (
        {"tree/args": np.where((kind == AT_MOST)[:, None], args + np.array([1, 0, 0]), args)},
        {"tree/args": np.where((kind == AT_LEAST)[:, None], args + np.array([0, 1, 0]), args)},
        {"tree/kind": np.where(kind == AT_MOST, AT_LEAST, kind)},
    ):
        assert not verdict_on(
            Certificate(certificate.document, {**certificate.arrays, **tampered}), problem
        ).verified


def test_a_search_that_was_stopped_is_certified_as_far_as_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    """With open nodes left, the bound of the result is what is verified."""
    hurry(monkeypatch)
    problem = overlapping(2, n=16, spread=0.7)
    result, recorder = searched(problem, node_limit=3, gap=1e-9)
    assert result.status is Status.FEASIBLE
    verdict = verdict_on(certified(problem, result, recorder), problem)
    assert verdict.verified, verdict.sentence
    assert verdict.bound == pytest.approx(result.lower_bound, rel=1e-8)


@pytest.mark.parametrize("hurried", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_the_search_is_the_same_with_and_without_a_record(
    seed: int, hurried: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same nodes, the same clustering and the same bound to the last digit, whether the proof is kept or not."""
    if hurried:
        hurry(monkeypatch)
    links: list[Any] = [CannotLink(0, 1), MustLink(3, 4), MinimumSize(3)] if seed % 2 else []
    problem = overlapping(seed, n=20, d=5, K=3, spread=0.7, constraints=links)
    with_record, recorder = searched(problem)
    without, nothing = searched(problem, recorder=NO_RECORD)
    assert len(recorder.entries) > 0
    assert len(nothing.entries) == 0
    assert with_record.nodes == without.nodes
    assert with_record.lower_bound == without.lower_bound
    assert np.array_equal(with_record.labels, without.labels)
    assert with_record.status is without.status is Status.OPTIMAL


def test_a_record_that_grows_too_large_is_dropped() -> None:
    """Beyond its limit the record holds nothing any more, the search goes on, and there is no certificate."""
    problem = overlapping(1)
    result, recorder = searched(problem, recorder=Recorder(most_bytes=10_000))
    assert result.status is Status.OPTIMAL
    assert recorder.full
    assert not any(entry.steps or entry.best for entry in recorder.entries)
    with pytest.raises(Unproved, match="MB"):
        recorded(problem, result, recorder)


def test_what_the_checker_relaxes_gets_no_certificate_unless_it_is_convinced() -> None:
    """Bounds on the weights are relaxed by the checker: it is convinced all the same, or nothing is handed out."""
    made = refused = 0
    for seed in range(5):
        problem = overlapping(seed, n=8, K=2, weight_bounds=(0.3, 0.7))
        result, recorder = searched(problem)
        try:
            certificate, _ = recorded(problem, result, recorder)
        except Unproved:
            refused += 1
            continue
        assert verdict_on(certificate, problem).verified
        made += 1
    assert made + refused == 5


# -- tampering with a whole certificate ------------------------------------------------------------------------
@pytest.fixture(scope="module")
def honest() -> tuple[Problem, Certificate]:
    problem = overlapping(1, n=20, spread=1.0, constraints=[CannotLink(0, 1)])
    result, recorder = searched(problem)
    return problem, certified(problem, result, recorder)


def test_a_certificate_without_one_of_its_steps_is_rejected(honest: tuple[Problem, Certificate]) -> None:
    """Steps that close a leaf cannot be left out; a step in between may be, if later ones do not rest on it."""
    problem, certificate = honest
    steps = certificate.document["steps"]
    parents = set(certificate.arrays["tree/parent"].tolist())
    last = {step["node"]: i for i, step in enumerate(steps)}
    closing = [i for node, i in last.items() if node not in parents and steps[i]["kind"] == "semidefinite"]
    assert closing
    for i in closing:
        document = {**certificate.document, "steps": steps[:i] + steps[i + 1 :]}
        assert not verdict_on(Certificate(document, certificate.arrays), problem).verified


def test_steps_of_other_nodes_or_in_another_order_prove_nothing_false(
    honest: tuple[Problem, Certificate],
) -> None:
    """Steps reversed, moved to other nodes or exchanged: rejected, or as true as before."""
    problem, certificate = honest
    steps = certificate.document["steps"]
    nodes = len(certificate.arrays["tree/parent"])
    moved = [{**step, "node": (step["node"] + 1) % nodes} for step in steps]
    count = sum(step["kind"] == "semidefinite" for step in steps)
    exchanged = [{**s, "at": count - 1 - s["at"]} if "at" in s else s for s in steps]
    for tampered in (steps[::-1], moved, exchanged):
        document = {**certificate.document, "steps": tampered}
        verdict = verdict_on(Certificate(document, certificate.arrays), problem)
        assert not verdict.verified or verdict.bound <= certificate.objective


def test_a_raised_claim_is_rejected(honest: tuple[Problem, Certificate]) -> None:
    """A bound above the optimum, or above what the steps prove, is not verified."""
    problem, certificate = honest
    for more in (1e-3, 1.0, 100.0):
        document = {**certificate.document, "bound": certificate.objective + more}
        assert not verdict_on(Certificate(document, certificate.arrays), problem).verified


@pytest.mark.slow
def test_wine() -> None:
    """The paper's instance: certified, verified, in less than a megabyte."""
    problem = datasets.load("wine").problem()
    result, recorder = searched(problem)
    certificate = certified(problem, result, recorder)
    verdict = verdict_on(certificate, problem)
    assert verdict.verified, verdict.sentence
    assert result.tolerances.closed(result.objective, verdict.bound)
    assert len(certificate.packed()) < 2**20
