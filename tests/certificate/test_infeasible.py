"""Certificates of contradictory constraints, from the maker to the files of the command line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import certmix
from certmix.certificate import infeasible
from certmix.certificate.prove import Unproved, make
from certmix.cli.main import run
from certmix.errors import InfeasibleError
from certmix.io.certificates import Certificate
from certmix.problem import CannotLink, Implication, Label, MaximumSize, MustLink, Packing, Problem
from certmix.problem.features import EVERY_FEATURE, Feature
from certmix.status import Status
from certmix.verifying import checked
from random_instances import random_problem


def points(n: int, d: int = 2) -> np.ndarray:
    return np.random.default_rng(5).normal(size=(n, d))


def clique(samples: range) -> list[CannotLink]:
    return [CannotLink(i, j) for j in samples for i in samples if i < j]


CONTRADICTIONS = {
    "labels": (3, [Label(0, 1), Label(1, 1), CannotLink(0, 1)]),
    "six apart": (5, clique(range(3, 9))),
    "odd ring": (2, [CannotLink(i, (i + 1) % 7) for i in range(7)]),
    "ring beside labels": (3, [*clique(range(4)), Label(10, 0), Label(11, 2)]),
    "sizes": (2, [*(MustLink(i, i + 1) for i in range(29) if i % 10 < 9), MaximumSize(19)]),
    "counts": (3, [Packing(range(10), 0, 3), Packing(range(10), 1, 3), Packing(range(10), 2, 3)]),
    "implied": (2, [Implication(0, 1), Implication(1, 2), CannotLink(0, 2)]),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_contradictions_are_certified(name: str) -> None:
    """Whatever the contradiction, the certificate is made, small, and lifts the level to verified."""
    K, rules = CONTRADICTIONS[name]
    problem = Problem(points(30), K, variance=1.0, constraints=rules)
    result = certmix.solve(problem, certificate=True)
    assert result.status is Status.INFEASIBLE
    assert result.certificate is not None
    assert result.certificate.infeasible
    assert len(result.certificate.arrays["tree/parent"]) < 500
    again, verdict = checked(result, problem)
    assert verdict.sentence == "Verified: no clustering meets the constraints."
    assert again.certificate_level == "verified"
    assert result.certificate_level == "verified"  # the maker has checked it


def test_random_contradictions_are_certified_and_nothing_else_is() -> None:
    """Random problems: the infeasible ones get a certificate, and no feasible one can be refuted.

    Without a Dirichlet prior, under which the objective of tied weights may be infinite, though nothing is forbidden:
    such problems are called infeasible as well, but not by a certificate.
    """
    use = EVERY_FEATURE - {Feature.DIRICHLET}
    refuted = 0
    for seed in range(250):
        rng = np.random.default_rng(seed)
        try:
            problem = random_problem(rng, max_samples=8, features=use)
        except InfeasibleError:
            continue
        result = certmix.solve(problem, "enumerate")
        if result.status is Status.INFEASIBLE:
            assert certmix.verify(make(problem, result)[0], problem).verified, seed
            refuted += 1
        elif seed < 100:
            lie = replace(result, status=Status.INFEASIBLE, labels=None)
            with pytest.raises(Unproved):
                make(problem, lie)
    assert refuted > 5


def test_decisions_alone_refute_without_enumeration(monkeypatch: pytest.MonkeyPatch) -> None:
    """With nothing enumerated the tree itself has to go down to where conclusions contradict each other."""
    monkeypatch.setattr(infeasible, "FEW_CLUSTERINGS", 0)
    for name in ("odd ring", "ring beside labels", "sizes", "counts"):
        K, rules = CONTRADICTIONS[name]
        problem = Problem(points(30), K, variance=1.0, constraints=rules)
        certificate, _ = make(problem, certmix.solve(problem))
        assert not certificate.document["steps"]
        assert certmix.verify(certificate, problem).verified


def test_trees_that_grow_too_large_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit on nodes, and one on time; the reason is one sentence."""
    problem = Problem(
        points(30), 3, variance=1.0, constraints=[*clique(range(4)), Label(10, 0), Label(11, 2)]
    )
    result = certmix.solve(problem)
    with pytest.raises(Unproved, match="in time"):
        make(problem, result, time_limit=0.0)
    monkeypatch.setattr(infeasible, "MOST_NODES", 0)
    with pytest.raises(Unproved, match="nodes did not suffice"):
        make(problem, result)


@pytest.mark.parametrize("n", [10, 20])
def test_boxes_of_tied_means_are_refuted_where_every_clustering_can_be_looked_at(n: int) -> None:
    """Conclusions do not look at bounds on the means; of many samples such an infeasibility has no certificate."""
    problem = Problem(
        points(n),
        2,
        variance=1.0,
        estimators=["means"],
        mean_bounds=(np.full((2, 2), 50.0), np.full((2, 2), 60.0)),
    )
    result = certmix.solve(problem, certificate=True)
    assert result.status is Status.INFEASIBLE
    assert result.certificate_level == ("verified" if n == 10 else "computed")


def test_the_command_line_writes_and_verifies_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 4 as ever, and a certificate that certmix verify accepts."""
    np.save(tmp_path / "data.npy", points(12))
    (tmp_path / "rules.csv").write_text("type,samples\ncannot-link,0;1;2\n")
    data, rules, out = (str(tmp_path / name) for name in ("data.npy", "rules.csv", "out"))
    assert run(["solve", data, "-k", "2", "--constraints", rules, "--out", out, "--verify"]) == 4
    assert "no clustering meets the constraints" in capsys.readouterr().err
    assert Certificate.load(out).infeasible
    assert run(["verify", out, data, "--constraints", rules]) == 0
    assert "no clustering meets the constraints" in capsys.readouterr().out
