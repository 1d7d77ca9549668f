"""Certificates of problems in which conflicts matter: the run's own boxes, or a semidefinite search."""

from __future__ import annotations

import json

import numpy as np
import pytest

import certmix
from certmix.certificate import draft, prove
from certmix.certificate.boxes import boxes_of, refined
from certmix.certificate.prove import Unproved, make
from certmix.certificate.statement import state
from certmix.concluding import build_result
from certmix.engines import engine
from certmix.ledger import Ledger
from certmix.options import Options
from certmix.problem import CannotLink, Label, MaximumSize, MinimumSize, Problem
from certmix.result import Result
from certmix.search.loop import Search
from certmix.verify import statement
from certmix.verify.boxes import roots
from certmix.verify.check import Verdict, check
from certmix.verify.root import Root
from tuned import tuned


def entangled(seed: int, n: int, K: int, links: int, spread: float = 1.5) -> Problem:
    """Overlapping clusters with limits on their sizes, and cannot-links drawn from the labels they came from."""
    rng = np.random.default_rng([seed, 40])
    labels = np.arange(n) % K
    data = rng.normal(scale=spread, size=(K, 2))[labels] + rng.normal(size=(n, 2))
    rules: list[CannotLink | MinimumSize | MaximumSize] = [
        MinimumSize(n // (2 * K)),
        MaximumSize(n - n // (2 * K)),
    ]
    while len(rules) < links + 2:
        i, j = (int(x) for x in rng.choice(n, 2, replace=False))
        if labels[i] != labels[j]:
            rules.append(CannotLink(i, j))
    return Problem(data, K, variance=1.0, constraints=rules)


def verdict_on(problem: Problem, result: Result) -> tuple[set[str], int, Verdict]:
    """Kinds of steps, nodes, and what the checker says."""
    certificate, _ = make(problem, result, time_limit=600.0)
    kinds = {step["kind"] for step in certificate.document["steps"]}
    verdict = check(certificate.document, certificate.arrays, problem.data)
    return kinds, len(certificate.arrays["tree/parent"]), verdict


def labelled(seed: int, n: int, K: int) -> Problem:
    """Overlapping clusters in space, one sample of each known: no two components are interchangeable."""
    rng = np.random.default_rng([seed, 41])
    data = rng.normal(scale=1.5, size=(K, 3))[np.arange(n) % K] + rng.normal(size=(n, 3))
    return Problem(data, K, weights="none", constraints=[Label(k, k) for k in range(K)])


def searched_over_boxes(problem: Problem) -> tuple[Result, Root, Search]:
    """What the interval engine finds, the problem as the checker has it, and the search with its tree."""
    options = Options(certificate=True)
    ledger = Ledger(problem, options.tolerances)
    outcome = engine("interval").run(problem, ledger, options)
    level = outcome.certificate_level
    result = build_result(
        problem, ledger, engine="interval", termination=outcome.termination, certificate_level=level
    )
    root = Root(statement.read(json.loads(json.dumps(state(problem)))), problem.data)
    return result, root, ledger.record.boxes


@pytest.mark.parametrize("seed", [0, 1])
def test_a_search_over_boxes_proves_what_conflicts_cost(seed: int) -> None:
    """Whatever conflicts there are, the tree of the run is the proof."""
    problem = entangled(seed, 36, 2, 12)
    result = certmix.solve(problem, "interval", verify=True, certificate=True)
    assert result.certificate is not None
    assert result.certificate_level == "verified"
    assert {step["kind"] for step in result.certificate.document["steps"]} == {"boxes"}


def test_leaves_that_the_checker_does_not_close_are_split(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a run concludes in a leaf and the checker does not is decided there, group by group."""
    problem = entangled(1, 30, 2, 10)
    result, root, search = searched_over_boxes(problem)
    target = result.tolerances.cutoff(result.objective)
    as_it_is, _ = boxes_of(search, root, target)
    entries = len(as_it_is.arrays["0/kind"])
    found = as_it_is.certificate(problem, result, target)
    assert "something is left" in check(found.document, found.arrays, problem.data).sentence
    finer = refined(search, root, target, lambda: False)
    assert entries < len(finer.arrays["0/kind"]) < 2 * entries
    found = finer.certificate(problem, result, target)
    assert check(found.document, found.arrays, problem.data).verified
    with pytest.raises(Unproved, match="not known to cost the bound"):
        refined(search, root, result.objective + 0.1, lambda: False)
    twice = np.zeros(2, dtype=np.int64)
    monkeypatch.setattr("certmix.certificate.boxes.roots", lambda *known: roots(*known).take(twice))
    with pytest.raises(Unproved, match="ends before its leaves"):  # not with an error that nobody expects
        refined(search, root, target, lambda: False)


@pytest.mark.parametrize(
    "problem",
    [entangled(3, 21, 3, 6), labelled(0, 45, 3), labelled(5, 45, 3)],
    ids=["linked", "known", "known too"],
)
def test_a_leaf_that_is_split_is_known_to_the_checker_as_a_node(problem: Problem) -> None:
    """The checker narrows leaves longer than nodes: what it knew of a leaf may not be taken for granted below it."""
    result, root, search = searched_over_boxes(problem)
    target = result.tolerances.needed(result.objective)
    as_it_is, _ = boxes_of(search, root, target)
    found = as_it_is.certificate(problem, result, target)
    assert "something is left" in check(found.document, found.arrays, problem.data).sentence
    found = refined(search, root, target, lambda: False).certificate(problem, result, target)
    assert check(found.document, found.arrays, problem.data).verified


@pytest.mark.parametrize("seed", [0, 2])
def test_few_groups_with_conflicts_get_a_semidefinite_proof(seed: int) -> None:
    """Whoever solved it: where conflicts matter and groups are few, the maker searches by itself."""
    problem = entangled(seed, 26, 3, 10)
    result = certmix.solve(problem, "interval")
    kinds, _, verdict = verdict_on(problem, result)
    assert verdict.verified, verdict.sentence
    assert kinds == {"semidefinite"}
    assert result.tolerances.closed(result.objective, verdict.bound)


def test_an_unfinished_run_gets_a_semidefinite_proof_of_its_bound() -> None:
    """The maker's search stops at the bound that the run had; no more is claimed than it proves."""
    problem = entangled(0, 26, 3, 10)
    result = certmix.solve(problem, "interval", node_limit=40)
    assert result.status == "feasible"
    certificate, _ = make(problem, result, time_limit=600.0)
    assert result.lower_bound - 1e-8 * abs(result.lower_bound) <= certificate.bound
    assert certificate.bound <= certmix.solve(problem, "interval").objective
    assert check(certificate.document, certificate.arrays, problem.data).verified


def test_a_proof_that_the_checker_rejects_is_not_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The maker checks what it made, unless that would take too long."""
    rng = np.random.default_rng(3)
    problem = Problem(rng.normal(size=(40, 2)) + 6.0 * rng.integers(3, size=(40, 1)), 3, variance=1.0)
    result = certmix.solve(problem, "interval")
    rejected = Verdict(False, "rejected", "Rejected: a test says so.")
    monkeypatch.setattr(draft, "check", lambda *_: rejected)
    with tuned(prove, dense_groups=0), pytest.raises(Unproved, match="a test says so"):
        make(problem, result)
    with tuned(prove, dense_groups=0, check_share=0.0):
        assert make(problem, result)[0].bound <= result.objective
