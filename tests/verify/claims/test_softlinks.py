"""The checker and soft links: a tree that leaves anything out, or counts a penalty that is not due, is rejected."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from certmix import CannotLink, MustLink, Problem, solve
from certmix.verify.check import Verdict, check
from certmix.verify.claims.softlinks import hardened
from certmix.verify.evidence import Rejected
from certmix.verify.statement import digest, penalty, read

DATA = np.array([0.0, 0.2, 0.4, 3.0, 3.2, 3.4])[:, None]
LINKS = [MustLink(2, 3, penalty=1.0), CannotLink(0, 1, penalty=0.5), MustLink(0, 5, penalty=40.0)]
PROBLEM = Problem(DATA, 2, variance=0.25, constraints=LINKS)


@pytest.fixture(scope="module")
def found() -> Any:
    return solve(PROBLEM, "interval", certificate=True).certificate


def judged(found: Any, **changes: Any) -> Verdict:
    return check({**copy.deepcopy(dict(found.document)), **changes}, found.arrays, DATA)


def test_an_honest_certificate_is_verified(found: Any) -> None:
    """It is one about the problem with penalties, and says how it was proved."""
    assert found is not None
    assert found.document["claim"] == "soft"
    verdict = judged(found)
    assert verdict.verified, verdict.sentence
    assert "soft links" in verdict.sentence
    assert verdict.value == pytest.approx(
        PROBLEM.objective.best(found.arrays["incumbent/labels"].astype(int)).value
    )


def test_penalties_are_those_of_broken_links() -> None:
    """A link that should be together costs where it is not, one that should be apart where two are together."""
    s = read(found_statement())
    assert sorted(penalty(s, np.array([0, 0, 0, 1, 1, 1]))) == [0.5, 1.0, 40.0]
    assert penalty(s, np.array([0, 1, 1, 1, 0, 0])) == []


def found_statement() -> Any:
    from certmix.certificate.statement import state

    return state(PROBLEM)


def test_no_more_is_proved_than_every_leaf_reaches(found: Any) -> None:
    """A bound that is higher, by however little more than rounding, is not."""
    bound, objective = found.document["bound"], found.document["objective"]
    for more in (1e-6, 1e-3, 0.1):
        assert not judged(found, bound=bound + more, objective=objective).verified


def test_a_part_bounds_only_nodes_that_keep_its_links(found: Any) -> None:
    """Where a link is broken, the problem in which it has to hold says nothing."""
    parts, nodes = found.document["parts"], found.document["nodes"]
    most = max(range(len(parts)), key=lambda t: len(parts[t]["kept"]))
    assert parts[most]["kept"], "some part keeps a link"
    verdict = judged(found, nodes=[[most] if len(node) == 1 else node for node in nodes])
    assert not verdict.verified
    assert "have to hold" in verdict.sentence
    forged = [{**part, "kept": []} for part in parts]
    assert not judged(found, parts=forged).verified


def test_a_tree_decides_every_link_once_and_leaves_nothing_out(found: Any) -> None:
    """A link that is decided twice would be paid twice; a branch that is missing would not be proved."""
    free = next(t for t, part in enumerate(found.document["parts"]) if not part["kept"])
    twice = [[1, 1, 2], [free], [1, 3, 4], [free], [free]]
    for nodes in (
        twice,
        [],
        [[0, 1, 1], [free]],
        [[0, 0, 0]],
        [[7, 1, 2], [free], [free]],
        [[-1]],
        [["0"]],
        None,
    ):
        assert not judged(found, nodes=nodes, bound=-100.0).verified, nodes
    assert judged(found, nodes=[[free]], bound=found.document["parts"][free]["bound"]).verified


def test_a_link_that_is_kept_costs_nothing(found: Any) -> None:
    """Only the broken side of a decision has the penalty more."""
    free = next(t for t, part in enumerate(found.document["parts"]) if not part["kept"])
    least, soft = found.document["parts"][free]["bound"], found.document["statement"]["soft"]
    dearest = max(range(len(soft)), key=lambda i: soft[i][1])
    nodes = [[dearest, 1, 2], [free], [free]]
    assert judged(found, nodes=nodes, bound=least).verified
    assert not judged(found, nodes=nodes, bound=least + 0.1).verified


def test_a_problem_is_not_infeasible_because_a_part_says_so(found: Any) -> None:
    """A part without a bound has to prove that nothing is feasible."""
    parts = [{**part, "bound": None} for part in found.document["parts"]]
    assert not judged(found, parts=parts).verified


def test_what_cannot_be_stated_is_rejected(found: Any) -> None:
    """No penalty is negative, no link is of one sample, and no other claim is about soft links."""
    free = next(t for t, part in enumerate(found.document["parts"]) if not part["kept"])
    labels = found.arrays["incumbent/labels"].astype(int)
    plain = found.document["objective"] - PROBLEM.objective.penalty(labels)
    alone = {"parts": [found.document["parts"][free]], "nodes": [[0]], "bound": -100.0}
    arrays = {name.replace(f"parts/{free}/", "parts/0/"): a for name, a in found.arrays.items()}

    def with_links(soft: list[Any], objective: float) -> Verdict:
        stated = {**found.document["statement"], "soft": soft}
        digests = {**found.document["digests"], "statement": digest(stated)}
        changes = {**alone, "statement": stated, "digests": digests, "objective": objective}
        return check({**found.document, **changes}, arrays, DATA)

    i, j = (int(np.flatnonzero(labels == k)[0]) for k in (0, 1))
    assert with_links([[1, 1.0, [i, j]]], plain + 1.0).verified
    assert not with_links([[1, -1.0, [i, j]]], plain - 1.0).verified
    for soft in ([[1, 1.0, [0]]], [[1, 1.0, [0, 0]]], [[2, 1.0, [i, j]]], [[1, 1.0, [i, 9]]]):
        assert not any(with_links(soft, plain + more).verified for more in (0.0, 1.0)), soft
    assert "those of 'soft'" in judged(found, claim="bound").sentence


def test_links_of_many_samples_are_not_written_out() -> None:
    """A short list of samples is a long list of pairs."""
    entry = {**found_statement(), "soft": [[1, 1.0, list(range(6))]]}
    s = read(entry)
    s.soft[0] = (True, 1.0, np.arange(10_000))
    with pytest.raises(Rejected, match="at a time"):
        hardened(entry, s, frozenset([0]))
