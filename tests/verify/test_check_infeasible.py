"""Claims that no clustering meets the constraints: verified when true, and nothing makes a false one true."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import numpy as np
import pytest
from claiming import Tree, claim

import certmix
from certmix.io.certificates import Certificate
from certmix.problem import CannotLink, Label, MaximumSize, MustLink, Packing, Problem, is_feasible
from certmix.problem.features import EVERY_FEATURE, Feature
from certmix.verify.check import Verdict, check
from certmix.verify.tree import IN, OUT
from random_instances import random_problem


def verdict(problem: Problem, *args: Any) -> Verdict:
    return check(*claim(problem, *args), problem.data)


def apart(count: int, K: int, n: int = 8) -> Problem:
    """The first ``count`` samples pairwise apart."""
    data = np.random.default_rng(0).normal(size=(n, 2))
    return Problem(
        data, K, variance=1.0, constraints=[CannotLink(i, j) for j in range(count) for i in range(j)]
    )


PIGEONS: Tree = [(0, IN, 0, 0), (1, IN, 1, 1)]  # four samples for three exchangeable components


def test_a_contradiction_that_conclusions_find() -> None:
    """Labels against a cannot-link: the root alone is a proof, and the sentence says so."""
    problem = apart(2, 2).replace(constraints=[CannotLink(0, 1), Label(0, 1), Label(1, 1)])
    found = verdict(problem)
    assert found.verified
    assert found.level == "verified"
    assert found.sentence.startswith("Verified: no clustering meets the constraints.")
    assert found.bound == np.inf


def test_pigeons_whatever_their_holes_are_called() -> None:
    """Four samples pairwise apart do not fit into three components; the other sides are empty by symmetry."""
    for tree in (PIGEONS, [(0, IN, 0, 2), (1, IN, 1, 0)]):
        found = verdict(apart(4, 3), tree)
        assert found.verified, found.sentence
    assert not verdict(
        apart(4, 3), [(0, IN, 0, 2), (1, IN, 1, 2)]
    ).verified  # ... but for names that are taken


def test_sizes_that_do_not_add_up_by_enumeration() -> None:
    """Three groups of three samples do not fit into two components of at most five."""
    links = [MustLink(i, i + 1) for i in (0, 1, 3, 4, 6, 7)]
    problem = Problem(np.arange(10.0), 2, variance=1.0, constraints=[*links, MaximumSize(5)])
    assert not verdict(problem).verified
    assert verdict(problem, [], [(0, "enumerate")]).verified
    assert not verdict(
        Problem(np.arange(10.0), 2, variance=1.0, constraints=links), [], [(0, "enumerate")]
    ).verified


def test_an_infinite_objective_is_not_infeasible() -> None:
    """Weights tied to shares and a Dirichlet prior make an empty component infinitely dear, but not forbidden."""
    problem = Problem(
        np.arange(4.0),
        2,
        variance=1.0,
        estimators=["weights"],
        prior=[certmix.DirichletPrior(2.0)],
        allow_empty=True,
        constraints=[Label(i, 0) for i in range(4)],
    )
    assert not verdict(problem).verified
    assert not verdict(problem, [], [(0, "enumerate")]).verified


@pytest.mark.parametrize("kind", ["dynamic", "lagrangian", "semidefinite"])
def test_no_number_decides_about_feasibility(kind: str) -> None:
    """One sample, two components that may be empty: one always is, at an infinite price, which a shortest path finds.

    Weights are tied to shares, and a Dirichlet prior gives the empty component's weight of zero a power.
    """
    problem = Problem(
        np.zeros((1, 1)),
        2,
        variance=1.0,
        estimators=["weights"],
        prior=[certmix.DirichletPrior(2.0)],
        allow_empty=True,
    )
    assert is_feasible(problem, np.array([0]))
    document, arrays = claim(problem)
    document["steps"] = [{"node": 0, "kind": kind, "arrays": "0/"}]
    arrays |= {"0/multipliers": np.zeros(1), "0/axis/0": np.array([-1]), "0/cut/0": np.zeros(0, dtype=int)}
    found = check(document, arrays, problem.data)
    assert not found.verified
    assert f"there is no kind of step {kind!r}" in found.sentence


def test_random_problems_are_called_infeasible_when_they_are() -> None:
    """Enumeration and the claim agree, whatever the constraints."""
    use = EVERY_FEATURE - {Feature.MEAN_BOX}
    outcomes = []
    for seed in range(120):
        problem = random_problem(np.random.default_rng(seed), max_samples=6, features=use)
        every = itertools.product(range(problem.n_components), repeat=problem.n_samples)
        infeasible = not any(is_feasible(problem, np.array(labels)) for labels in every)
        outcomes.append(infeasible)
        assert verdict(problem, [], [(0, "enumerate")]).verified == infeasible, seed
        if not infeasible:
            assert not verdict(problem).verified
            tree = [(0, IN, 0, 0), (0, OUT, 0, 0)]
            assert not verdict(problem, tree, [(1, "enumerate"), (2, "enumerate")]).verified
    assert 4 < sum(outcomes) < len(outcomes) - 10


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("version", 1),
        ("version", 3),
        ("version", True),
        ("version", "4"),
        ("version", 4.0),
        ("version", 2),
        ("claim", "bound"),
        ("claim", None),
        ("claim", True),
        ("claim", ["infeasible"]),
        ("claim", "Infeasible"),
        ("objective", 0.0),
        ("objective", False),
        ("bound", float("inf")),
        ("bound", 1.0),
        ("steps", [{"node": 0, "kind": "lagrangian"}]),
        ("steps", [{"node": 1, "kind": "dynamic"}]),
        ("steps", None),
        ("digests", {}),
    ],
)
def test_entries_are_what_they_must_be(entry: str, value: Any) -> None:
    """A true claim with an entry changed, or without it, is rejected."""
    problem = apart(4, 3)
    document, arrays = claim(problem, PIGEONS)
    assert not check({**document, entry: value}, arrays, problem.data).verified
    del document[entry]
    assert not check(document, arrays, problem.data).verified


def test_a_clustering_or_other_data_do_not_belong_to_it() -> None:
    """No clustering beside the claim that there is none; data and constraints are those of the digests."""
    problem = apart(4, 3)
    document, arrays = claim(problem, PIGEONS)
    labels = {"incumbent/labels": np.zeros(8, dtype=np.int8)}
    assert not check(document, {**arrays, **labels}, problem.data).verified
    assert not check(document, arrays, problem.data + 1.0).verified
    statement = copy.deepcopy(document["statement"])
    statement["apart"] = statement["apart"][:-1]
    assert not check({**document, "statement": statement}, arrays, problem.data).verified


@pytest.mark.parametrize("count", [0, 2, 3])
def test_trees_that_prove_pigeons_prove_nothing_of_fewer(count: int) -> None:
    """The proof for four samples apart, and parts of it, against problems that can be solved."""
    steps = ([], [(0, "enumerate")], [(1, "enumerate")], [(2, "enumerate")])
    trees: list[Tree] = [PIGEONS, PIGEONS[:1], [], [(0, OUT, 0, 0)], [(0, IN, 0, 0), (0, OUT, 0, 0)]]
    for tree in trees:
        for some in steps:
            if all(node <= len(tree) for node, _ in some):
                assert not verdict(apart(count, 3), tree, some).verified


def test_no_certificate_of_a_bound_becomes_one_of_infeasibility() -> None:
    """Certificates of feasible problems, dressed as claims of infeasibility, are rejected."""
    rng = np.random.default_rng(3)
    data = np.concatenate([rng.normal(size=(12, 2)), rng.normal(size=(12, 2)) + 4])
    rules = [CannotLink(0, 13), CannotLink(1, 2), Packing([3, 4, 5], 0, 2)]
    cases = [
        Problem(data, 2, variance=1.0, constraints=rules),
        Problem(data[:, :1], 3, variance=1.0),
        Problem(data[8:16], 2, variance=1.0),
    ]
    cases.append(Problem(rng.normal(size=(9, 7)), 2, variance=1.0))
    for problem in cases:
        certificate = certmix.solve(problem, certificate=True).certificate
        assert certificate is not None
        document = {**certificate.document, "claim": "bound"}
        assert check(document, certificate.arrays, problem.data).verified
        document |= {"claim": "infeasible", "objective": None, "bound": None}
        arrays = {k: v for k, v in certificate.arrays.items() if not k.startswith("incumbent/")}
        assert not check(document, arrays, problem.data).verified
        assert not check({**document, "steps": []}, arrays, problem.data).verified
        every = [{**step, "kind": "enumerate"} for step in document["steps"]]
        assert not check({**document, "steps": every}, arrays, problem.data).verified
        assert not check({**document, "claim": "bound"}, certificate.arrays, problem.data).verified


def test_it_is_saved_loaded_and_verified_with_its_constraints(tmp_path: Any) -> None:
    """The files come back; constraints are compared; others are rejected."""
    problem = apart(4, 3)
    path = Certificate(*claim(problem, PIGEONS)).save(tmp_path / "certificate")
    again = Certificate.load(path)
    assert again.infeasible
    assert again.bound == again.objective == np.inf
    assert certmix.verify(path, problem).verified
    found = certmix.verify(path, problem.data, problem.constraints)
    assert found.sentence.startswith("Verified: no clustering meets the constraints.")
    assert not certmix.verify(path, problem.data, problem.constraints[1:]).verified
    assert not certmix.verify(path, apart(3, 3)).verified
