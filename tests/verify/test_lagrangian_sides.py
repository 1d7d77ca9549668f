"""Decisions about the sides of planes: how many means are on the left, and what a bound may make of it."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from claiming import rooted

from certmix import solve
from certmix.certificate.recording import walk
from certmix.options import Options
from certmix.problem import Problem
from certmix.result import Result
from certmix.search.bounds import central
from certmix.verify import tree
from certmix.verify.check import check
from certmix.verify.domain import Domain, Side
from certmix.verify.evidence import Evidence, Rejected
from certmix.verify.lagrangian import Pricing, cells, lagrangian
from certmix.verify.root import Root
from tuned import tuned

NO_PAIRS = np.zeros((0, 2), dtype=np.int64)


def clusterings(root: Root) -> list[tuple[float, np.ndarray]]:
    """What every clustering of a k-means problem into K clusters costs, and its means."""
    x, found = root.points[0], []
    for labels in itertools.product(range(root.K), repeat=root.N):
        z = np.array(labels)
        if len(set(labels)) == root.K:
            means = np.array([x[z == k].mean(axis=0) for k in range(root.K)])
            found.append((0.5 * float(((x - means[z]) ** 2).sum()), means))
    return found


def holds(side: Side, means: np.ndarray) -> bool:
    return (int((means[:, side.axis] <= side.at).sum()) >= side.least) == side.left


def evidence(root: Root, domain: Domain, t: np.ndarray, worth: np.ndarray) -> Evidence:
    """Multipliers and prices with the trees of all cells, as far as they go."""
    arrays = {"multipliers": t, "sides": worth, "psi": np.zeros(0)}
    pricing = Pricing.of(root, domain, 0, t, NO_PAIRS)
    for c, cell in enumerate(cells(domain.sides, root.d)):
        found = walk(cell.of(pricing), math.inf, 2000)
        arrays["psi"] = np.append(arrays["psi"], found.bound - 1e-9)
        arrays[f"axis/{c}"], arrays[f"cut/{c}"] = found.axis, found.cut
    return Evidence({}, arrays)


@pytest.mark.parametrize("seed", range(12))
def test_a_bound_holds_for_what_is_on_its_side(seed: int) -> None:
    """With any prices it is below every clustering of the node; with good ones above some of the others."""
    rng = np.random.default_rng(seed)
    root = rooted(Problem(rng.normal(size=(7, 2)), 3, weights="none"))
    domain, every = Domain.of(root), clusterings(root)
    for _ in range(1 + seed % 2):
        axis = int(rng.integers(2))
        at = float(rng.choice(root.points[0, :, axis]) + 0.01 * rng.normal())
        domain.sides += (Side(axis, at, int(rng.integers(1, 4)), bool(rng.random() < 0.5)),)
    mine = [cost for cost, means in every if all(holds(side, means) for side in domain.sides)]
    t = rng.normal(scale=0.3, size=root.N) + 0.3
    signs = np.array([1.0 if side.left else -1.0 for side in domain.sides])
    for scale in (0.0, 0.3, 3.0):
        worth = scale * signs * rng.random(len(signs))
        assert lagrangian(root, domain, evidence(root, domain, t, worth), 0.0) <= min(mine, default=math.inf)


def test_the_price_of_a_side_has_its_sign() -> None:
    """Fewer components on a side cannot be worth something where at least so many are there, and the other way."""
    root = rooted(Problem(np.random.default_rng(0).normal(size=(6, 2)), 2, weights="none"))
    for left in (True, False):
        domain = replace(Domain.of(root), sides=(Side(0, 0.0, 1, left),))
        wrong = np.array([-0.1 if left else 0.1])
        with pytest.raises(Rejected, match="wrong sign"):
            lagrangian(root, domain, evidence(root, domain, np.zeros(6), wrong), 0.0)


def test_every_clustering_is_on_one_side() -> None:
    """The two sides of a decision exclude each other and leave nothing out, means on the plane included."""
    root = rooted(Problem(np.random.default_rng(1).normal(size=(6, 2)), 3, weights="none"))
    for axis, least in itertools.product(range(2), range(1, 4)):
        at = float(root.points[0, 2, axis])
        sides = [
            tree.decide(Domain.of(root), root, kind, (axis, least), at).sides[0]
            for kind in (tree.LEFT, tree.RIGHT)
        ]
        for _, means in clusterings(root):
            assert sum(holds(side, means) for side in sides) == 1


@pytest.fixture(scope="module")
def split() -> tuple[Problem, Result]:
    """A run whose root leaves a gap of 0.1 %, which planes close."""
    problem = Problem(np.random.default_rng(13).uniform(size=(80, 2)), 16, weights="none")
    with tuned(central, most_trios=0):  # which would close it
        return problem, solve(problem, "dual", options=Options(gap=1e-4, certificate=True, time_limit=60))


def test_a_gap_of_the_root_is_closed_by_planes(split: tuple[Problem, Result]) -> None:
    """The certificate has the run's tree, and the checker accepts it."""
    problem, result = split
    assert result.certificate is not None
    assert result.certificate_level == "verified"
    assert (result.certificate.arrays["tree/kind"] >= tree.LEFT).any()
    assert check(result.certificate.document, result.certificate.arrays, problem.data).verified


@pytest.mark.parametrize("damage", ["another plane", "one side only", "no planes", "other numbers", "prices"])
def test_damaged_sides_are_rejected(split: tuple[Problem, Result], damage: str) -> None:
    """Children are the sides of one plane, and prices belong to the sides of their node."""
    problem, result = split
    assert result.certificate is not None
    arrays = dict(result.certificate.arrays)
    kind, at = arrays["tree/kind"], arrays["tree/at"]
    document = dict(result.certificate.document)
    if damage == "another plane":
        arrays["tree/at"] = np.where(
            np.arange(len(kind)) == np.flatnonzero(kind == tree.LEFT)[-1], at + 1.0, at
        )
    elif damage == "one side only":
        arrays["tree/kind"] = np.where(kind == tree.RIGHT, tree.LEFT, kind)
    elif damage == "no planes":
        del arrays["tree/at"]
    elif damage == "other numbers":
        args = arrays["tree/args"].copy()
        args[np.flatnonzero(kind == tree.LEFT)[-1], 1] += 1
        arrays["tree/args"] = args
    else:
        name = next(name for name in arrays if name.endswith("/sides"))
        arrays[name] = -arrays[name]
    assert not check(document, arrays, problem.data).verified
