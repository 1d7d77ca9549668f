"""The step ``boxes`` proves nothing that is not so, whatever tree it is given, and replays what a search recorded."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from claiming import rooted

import certmix
from certmix.certificate.prove import make
from certmix.problem import (
    CannotLink,
    Covering,
    GaussianPrior,
    MaximumSize,
    MinimumSize,
    MustLink,
    Packing,
    Problem,
)
from certmix.problem.masses import RealWeights
from certmix.verify.boxes import GROUP, LEAF, MEAN, SIZE, boxes, roots, split
from certmix.verify.check import check
from certmix.verify.domain import Domain
from certmix.verify.enumeration import count, enumerate_all
from certmix.verify.evidence import Evidence, Rejected
from certmix.verify.lagrangian import Pricing
from certmix.verify.narrowing import Boxes, Nodes, _least_mean
from certmix.verify.root import Root
from masses import with_masses
from random_instances import random_problem

MOST_NODES = 400


def randomsplits(root: Root, nodes: Nodes, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """A decision for every node that has an open group."""
    M = len(nodes.entry)
    kind, component, index, at = rng.integers(3, size=M), np.zeros(M, int), np.zeros(M, int), np.zeros(M)
    for i in range(M):
        k = int(rng.choice(np.flatnonzero(nodes.a[i] > 0)))
        a, b = int(nodes.a[i, k]), int(nodes.b[i, k])
        if kind[i] == MEAN:
            index[i] = rng.integers(root.d)
            at[i] = rng.uniform(*(end[i, k, index[i]] for end in (nodes.lo, nodes.hi)))
        elif kind[i] == SIZE and a < b:
            index[i] = rng.integers(a, b)
        else:
            kind[i] = GROUP
            index[i] = rng.choice(np.flatnonzero(nodes.candidates()[i] > 1))
            k = int(rng.choice(np.flatnonzero(nodes.allowed[i, :, index[i]])))
        component[i] = k
    return kind, component, index, at


@np.errstate(all="ignore")
def closes(root: Root, domain: Domain, target: float, rng: np.random.Generator) -> bool | None:
    """Whether a random tree leaves nothing below a target (of the root's cost); None when it grows too large."""
    tree = Boxes(root, target, int(rng.integers(root.d)))
    level, seen = roots(tree, domain), 0
    while len(level.entry):
        seen += len(level.entry)
        level = tree.narrow(level, 8, 0.95)
        if ((level.candidates() == 1).all(axis=1)).any():
            return False  # a clustering that is not known to cost the target
        if seen > MOST_NODES:
            return None
        level = split(root, level, level.entry, *randomsplits(root, level, rng))
    return True


def drawn(rng: np.random.Generator, masses: bool = False) -> tuple[Root, Domain, float] | None:
    """A small random problem and its least cost in the root's coordinates."""
    problem = random_problem(rng, max_samples=8, max_components=3)
    try:
        root = rooted(with_masses(problem, rng) if masses else problem)
    except certmix.InfeasibleError:
        return None
    domain = Domain.of(root)
    if not domain.propagate(root) or count(domain) > 1 << 16:
        return None
    least = enumerate_all(root, domain, Evidence({}, {}), 0.0) + root.error
    return (root, domain, least) if math.isfinite(least) else None


@pytest.mark.parametrize("part", range(6))
def test_no_tree_proves_a_bound_above_the_optimum(part: int) -> None:
    """Every option in every mixture, random splits, targets a little above the optimum: something is always left.

    In the last parts values are missing, or samples have weights.
    """
    proved = 0
    for seed in range(60 * part, 60 * part + 60):
        rng = np.random.default_rng([seed, 7])
        found = drawn(rng, masses=part > 3)
        if found is None:
            continue
        root, domain, least = found
        away = (10.0 ** rng.uniform(-8, -1) + 1e-9) * max(1.0, abs(least))
        away += 1e-12 * float((root.mass * root.points**2).sum())  # of which what is least is rounded down
        assert closes(root, domain, least + away, rng) is not True, seed
        proved += closes(root, domain, least - away, rng) is True
    assert proved > 30  # a step that proved nothing would pass as well


def crowded(seed: int) -> Problem:
    """Clusters that touch, so that the exemptions from exchange arguments matter."""
    rng = np.random.default_rng([seed, 8])
    n, K = int(rng.integers(6, 10)), int(rng.integers(2, 4))
    data = rng.normal(size=(n, int(rng.integers(1, 3)))) * 10.0 ** rng.uniform(-1, 1)
    i, j, k, m = rng.permutation(n)[:4].tolist()
    rules: list[Any] = [
        [CannotLink(i, j), CannotLink(k, m)],
        [MinimumSize(n // K)],
        [MaximumSize(n - n // 2)],
        [Packing([*range(0, n, 2)], 0, 1), Packing([*range(1, n, 2)], 1, 1)],
        [Covering([*range(0, n, 2)], 0, n // 2)],
        [MustLink(i, j), MustLink(j, k), MinimumSize(2)],
        [],
    ][int(rng.integers(7))]
    options: dict[str, Any] = {}
    if rng.random() < 0.3:
        options["prior"] = GaussianPrior(
            np.zeros(data.shape[1]), np.eye(data.shape[1]) * rng.uniform(0.5, 4.0)
        )
    return Problem(data, K, variance=1.0, constraints=rules, allow_empty=bool(rng.random() < 0.3), **options)


@pytest.mark.parametrize("part", range(4))
def test_exchange_arguments_keep_their_exemptions(part: int) -> None:
    """Small crowded problems under one constraint each: the optimum is never excluded."""
    for seed in range(80 * part, 80 * part + 80):
        rng = np.random.default_rng([seed, 9])
        try:
            root = rooted(crowded(seed))
        except certmix.InfeasibleError:
            continue
        domain = Domain.of(root)
        if not domain.propagate(root):
            continue
        least = enumerate_all(root, domain, Evidence({}, {}), 0.0) + root.error
        if math.isfinite(least):
            away = 10.0 ** rng.uniform(-7, 0) * max(1.0, abs(least))
            assert closes(root, domain, least + away, rng) is not True, seed


def test_a_light_sample_does_not_move_a_heavy_mean() -> None:
    """It stays with the nearer of two heavy ones, though by sizes it would have half of its mean."""
    weight = RealWeights(np.array([10.0, 0.1, 10.0]))
    root = rooted(
        Problem(np.array([0.0, 1.0, 2.2]), 2, variance=1.0, weights="uniform", sample_weight=weight)
    )
    domain = Domain.of(root)
    domain.propagate(root)
    least = enumerate_all(root, domain, Evidence({}, {}), 0.0) + root.error
    for seed in range(20):
        assert closes(root, domain, least + 1e-3, np.random.default_rng(seed)) is not True, seed


def recorded() -> tuple[Problem, certmix.Result]:
    rng = np.random.default_rng(3)
    data = np.array([[0.0, 0.0], [6.0, 1.0]])[rng.integers(2, size=40)] + rng.normal(size=(40, 2))
    problem = Problem(data, 2, variance=1.0)
    return problem, certmix.solve(problem, "interval", certificate=True)


def test_an_interval_search_is_its_own_certificate() -> None:
    """The tree of the run is replayed: one step, and no clustering is better than the run's own bound."""
    problem, result = recorded()
    assert result.certificate is not None
    (step,) = result.certificate.document["steps"]
    assert step["kind"] == "boxes"
    verdict = check(result.certificate.document, result.certificate.arrays, problem.data)
    assert verdict.verified
    assert verdict.bound == pytest.approx(result.objective, rel=1e-6)


@pytest.mark.parametrize(
    "change",
    [
        "the last entry is missing",
        "one entry too many",
        "a split is a leaf",
        "a mean is cut that is not there",
    ],
)
def test_a_tree_that_does_not_fit_is_rejected(change: str) -> None:
    """Structure is checked before anything is believed."""
    problem, result = recorded()
    assert result.certificate is not None
    arrays = {name: array.copy() for name, array in result.certificate.arrays.items()}
    names = [
        name for name in arrays if name.endswith(("kind", "component", "index", "at")) and "tree" not in name
    ]
    kind = next(name for name in names if name.endswith("kind"))
    if change == "the last entry is missing":
        arrays |= {name: arrays[name][:-1] for name in names}
    elif change == "one entry too many":
        arrays |= {name: np.append(arrays[name], arrays[name][-1:]) for name in names}
    elif change == "a split is a leaf":
        arrays[kind][0] = LEAF
    else:
        arrays[kind.replace("kind", "index")][arrays[kind] == MEAN] = 2
    verdict = check(result.certificate.document, arrays, problem.data)
    if (result.certificate.arrays[kind] != LEAF).any() or change.endswith(("missing", "many")):
        assert not verdict.verified


def test_a_tree_of_boxes_stands_alone() -> None:
    """It speaks of optimal clusterings only, so no other node or step may rest on it."""
    problem, result = recorded()
    assert result.certificate is not None
    document = dict(result.certificate.document)
    document["steps"] = [*document["steps"], {"node": 0, "kind": "enumerate"}]
    verdict = check(document, result.certificate.arrays, problem.data)
    assert not verdict.verified
    assert "only step" in verdict.sentence


def test_boxes_prove_no_infeasibility() -> None:
    """Exchange arguments need an optimum."""
    root = rooted(Problem(np.arange(6.0)[:, None], 2, variance=1.0))
    with pytest.raises(Rejected, match="nothing is feasible"):
        boxes(root, Domain.of(root), Evidence({"axis": 0}, leaf()), math.inf)


def leaf() -> dict[str, np.ndarray]:
    whole = {"kind": np.array([LEAF]), "component": np.zeros(1, int), "index": np.zeros(1, int)}
    return {**whole, "at": np.zeros(1)}


def test_a_run_without_a_record_is_proved_in_another_way() -> None:
    """The tree of boxes is what a run leaves behind; without it there are multipliers."""
    problem, result = recorded()
    certificate, _ = make(problem, result)
    assert {step["kind"] for step in certificate.document["steps"]} != {"boxes"}


def test_a_leaf_in_which_something_is_left_proves_nothing() -> None:
    """One leaf and no more, for a bound that no single box proves."""
    root = rooted(Problem(np.random.default_rng(0).normal(size=(12, 2)), 2, variance=1.0))
    with pytest.raises(Rejected, match="something is left"):
        boxes(root, Domain.of(root), Evidence({"axis": 0}, leaf()), 1e3)


def test_means_are_those_of_any_choice_of_candidates() -> None:
    """No choice of whole groups, within the limits of the size, has a mean below the least one; nothing has mean 0."""
    for seed in range(300):
        rng = np.random.default_rng([seed, 11])
        x, w = np.sort(rng.normal(size=4)), rng.integers(1, 5, size=4).astype(float)
        full = float(rng.integers(1, 4)) * (seed < 200)
        total = float(rng.normal()) * full
        few, many = np.sort(rng.integers(0, int(w.sum()) + 1, size=2)).astype(float)
        if full == 0:
            x, few = x + 2.0, few * rng.integers(2)
        shaped = (np.reshape(number, (1, 1, 1)) for number in (full, total, few, many))
        with np.errstate(all="ignore"):
            least = _least_mean(x[None, None], w[None, None, None], *shaped)[0, 0, 0]
        chosen = (np.arange(16)[:, None] >> np.arange(4)) & 1 == 1
        size = chosen @ w
        means = (total + chosen @ (w * x)) / np.maximum(full + size, 1e-300)
        assert least <= means[(size >= few) & (size <= many)].min(initial=math.inf) + 1e-12, seed


@pytest.mark.parametrize("seed", range(40))
def test_a_line_of_any_slope_is_below_the_entropy(seed: int) -> None:
    """Between the sizes of a node, with the slope of these or of a wider interval."""
    rng = np.random.default_rng([seed, 8])
    found = drawn(rng)
    if found is None:
        return
    root, domain, _ = found
    tree = Boxes(root, math.inf, 0)
    wide = np.sort(rng.integers(domain.low, domain.high + 1, size=(2, root.K)), axis=0)
    a, b = np.sort(rng.integers(wide[0], wide[1] + 1, size=(2, root.K)), axis=0)[:, None]
    for sizes in (None, tuple(wide[:, None])):
        with np.errstate(all="ignore"):
            alpha, beta = tree._chord(a, b, sizes)
        for k in range(root.K):
            sizes_of = np.arange(a[0, k], b[0, k] + 1)
            assert np.all(alpha[0, k] + beta[0, k] * sizes_of <= root.entropy[k, sizes_of])


def test_the_slope_of_wider_sizes_is_the_better_one_where_too_many_would_join() -> None:
    """Twelve samples near each other, all of which are worth having, and room for few: more have to be paid for."""
    points = np.random.default_rng(3).normal(size=(12, 1))
    root = rooted(Problem(points, 2, variance=1.0))
    domain = Domain.of(root)
    domain.propagate(root)
    pricing = Pricing.of(root, domain, 0, np.full(12, 2.0), np.zeros((0, 2), dtype=np.int64))
    tree, node = pricing.boxes(), pricing.node()
    node.a[:], node.b[:] = 4, 5
    values = []
    for sizes in (None, (node.a - 2, node.b)):
        node.bound[:] = -math.inf
        tree._bound(node, tree._pairs(node), sizes)
        values.append(float(node.bound[0]))
    assert values[0] < values[1]
