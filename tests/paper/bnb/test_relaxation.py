"""The branch and bound over assignments: its closed-form bound, its relaxation, its nodes, its answers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import certmix
from brute_force import Clusterings, Node, node_around, wide_node
from certmix.kernels.candidates import packed
from certmix.kernels.contraction import contract_means
from certmix.kernels.interval import minimise, new_minorant
from certmix.kernels.propagation import propagate
from certmix.kernels.settled import rest_of, sorted_rest
from certmix.options import BRANCHING
from certmix.paper.bnb.branching import branching_rule
from certmix.paper.bnb.engine import BranchAndBound
from certmix.paper.bnb.relaxation import DOMAIN, RelaxationBound
from certmix.paper.bnb.relaxation_dual import Decomposition, Domain, Multipliers
from certmix.paper.bnb.relaxation_model import ConicModel, lower_hull
from certmix.presolve.arrays import instance_arrays
from certmix.presolve.instance import reduce
from certmix.problem import CannotLink, Covering, Packing, Problem
from certmix.search.nodes import Nodes
from certmix.status import Status
from random_instances import random_problem
from soundness import find_truth


def small_instances(first: int, count: int, max_samples: int = 6) -> Iterator[tuple[int, Clusterings]]:
    """Random feasible instances with all their clusterings."""
    seed, made = first, 0
    while made < count:
        problem = random_problem(np.random.default_rng([seed, 44]), max_samples=max_samples, max_components=3)
        instance = reduce(problem)
        seed += 1
        if instance.groups.contradiction:
            continue
        found = Clusterings(instance, instance_arrays(instance))
        if found.feasible.any():
            made += 1
            yield seed - 1, found


def as_domain(node: Node) -> Domain:
    return Domain(node.lo.copy(), node.hi.copy(), node.a.copy(), node.b.copy(), node.candidates(len(node.a)))


def as_node(domain: Domain) -> Node:
    return Node(domain.lo, domain.hi, domain.a, domain.b, packed(domain.candidates)[:, 0])


def random_multipliers(rng: np.random.Generator, parts: Decomposition) -> Multipliers:
    """Multipliers of any size; those of rows of any sign, since the evaluation clips them."""
    size = 10.0 ** rng.uniform(-2, 3)
    return Multipliers(
        rng.normal(size=parts.points.shape) * size,
        rng.normal(size=parts.points.shape[1]) * size,
        rng.normal(size=len(parts.rows)) * size,
    )


def canonical(bound: RelaxationBound, labels: np.ndarray) -> np.ndarray:
    """Which labellings (L, N) number interchangeable components by their first groups, empty ones first."""
    good = np.ones(len(labels), dtype=bool)
    classes = bound.instance.classes
    place = labels[:, bound.numbering.order]
    K = len(classes)
    held = (place[:, :, None] == np.arange(K)).any(axis=1)
    first = np.where(held, np.argmax(place[:, :, None] == np.arange(K), axis=1), -1)
    for k, m in itertools.combinations(range(K), 2):
        if classes[k] == classes[m]:
            good &= first[:, k] <= first[:, m]
    return good


# -- the closed form ---------------------------------------------------------------------------------------------
def plain_value(parts: Decomposition, domain: Domain, given: Multipliers) -> float:
    """The Lagrangian term by term, as in the formula."""
    i, w, x = parts.instance, parts.weight, parts.points
    N, K, d = x.shape
    candidate = domain.candidates
    open_groups = [g for g in range(N) if candidate[g].sum() > 1]
    lam = np.zeros((N, K, d))
    for g in open_groups:
        lam[g, candidate[g]] = given.mean[g, candidate[g]]
    rows = np.maximum(given.rows, 0.0)
    price = (parts.rows.matrix.toarray().T @ rows).reshape(N, K)

    def least(weights: list[float], centres: list[float], slope: float, low: float, high: float) -> float:
        """Minimum over [low, high] of ``sum weights/2 (centre - mu)^2 + slope mu``."""
        total = sum(weights)
        ends = [low, high]
        if total > 0:
            ends.append(
                min(
                    max((sum(a * b for a, b in zip(weights, centres, strict=True)) - slope) / total, low),
                    high,
                )
            )
        return min(
            sum(0.5 * a * (c - mu) ** 2 for a, c in zip(weights, centres, strict=True)) + slope * mu
            for mu in ends
        )

    value = -float(rows @ parts.rows.right)
    for k in range(K):
        inside = [g for g in range(N) if g not in open_groups and candidate[g, k]]
        for j in range(d):
            value += least(
                [w[g] for g in inside] + [i.prior_weight[k, j]],
                [x[g, k, j] for g in inside] + [i.prior_mean[k, j]],
                -float(lam[:, k, j].sum()),
                domain.lo[k, j],
                domain.hi[k, j],
            )
        value += min(
            i.entropy[k, m] - given.size[k] * m for m in range(int(domain.a[k]), int(domain.b[k]) + 1)
        )
    for g in range(N):
        choices = []
        for k in np.flatnonzero(candidate[g]):
            cost = parts.scatter[g, k] + w[g] * given.size[k] + price[g, k]
            if g in open_groups:
                for m, j in itertools.product(range(K), range(d)):
                    own = ([w[g]], [x[g, m, j]]) if m == k else ([], [])
                    cost += least(*own, lam[g, m, j], domain.lo[m, j], domain.hi[m, j])
            choices.append(cost)
        value += min(choices)
    return float(value)


def test_closed_form_is_the_formula() -> None:
    """The vectorised Lagrangian equals its plain twin, and is never above it."""
    for seed, found in small_instances(0, 30):
        rng = np.random.default_rng(seed)
        parts = Decomposition(found.instance)
        node = node_around(rng, found, int(rng.choice(np.flatnonzero(found.feasible))))
        given = random_multipliers(rng, parts)
        expected = plain_value(parts, as_domain(node), given)
        value = parts.evaluate(as_domain(node), given).value
        scale = 1.0 + abs(expected) + float(np.abs(given.mean).sum()) * (1.0 + found.arrays.largest)
        assert value <= expected + 1e-13 * scale, seed
        assert value == pytest.approx(expected, abs=1e-9 * scale) or math.isinf(expected), seed


def test_any_multipliers_bound_every_clustering() -> None:
    """Weak duality: good, bad and absurd multipliers give numbers below the cost of whatever the node admits."""
    for seed, found in small_instances(500, 40):
        rng = np.random.default_rng(seed)
        parts = Decomposition(found.instance)
        node = node_around(rng, found, int(rng.choice(np.flatnonzero(found.feasible))))
        inside = found.inside(node) & found.feasible
        for _ in range(5):
            value = parts.evaluate(as_domain(node), random_multipliers(rng, parts)).value
            cost = found.value_in(node)[inside]
            assert np.all(value <= cost + 1e-12 * (1.0 + np.abs(cost))), seed


def test_what_is_tightened_away_reaches_the_cutoff() -> None:
    """Removing candidates and parts of boxes keeps every clustering that beats the cutoff."""
    removed = 0
    for seed, found in small_instances(1000, 60):
        rng = np.random.default_rng(seed)
        parts = Decomposition(found.instance)
        model = ConicModel(parts)
        node = wide_node(found.instance, found.arrays)
        node.mask &= packed(random_fixing(rng, found, int(np.argmin(found.objective))))[:, 0]
        domain = as_domain(node)
        if not found.inside(node).any() or np.all(domain.candidates.sum(axis=1) == 1):
            continue
        rest = rest_of(node.words, found.arrays)
        ordered = sorted_rest(node.words, found.arrays, rest)
        contract_means(domain.lo, domain.hi, domain.a, domain.b, node.words, found.arrays, rest, ordered)
        node.lo, node.hi = domain.lo.copy(), domain.hi.copy()
        inside = found.inside(node) & found.feasible
        if not inside.any():
            continue
        cutoff = float(found.cost[inside].min() + rng.choice([1e-3, 0.1, 1.0]))
        relaxed = model.solve(domain)
        parts.tighten(domain, parts.evaluate(domain, relaxed.multipliers), cutoff)
        after = found.inside(as_node(domain), slack=1e-12)
        better = inside & (found.cost < cutoff - 1e-9 * (1.0 + abs(cutoff)))
        assert np.all(after[better]), seed
        removed += int(inside.sum() - (inside & after).sum())
    assert removed > 20, "it does remove something"


# -- the relaxation ------------------------------------------------------------------------------------------------
def test_relaxation_is_no_weaker_than_the_interval_bound() -> None:
    """The relaxation is the hull of what one group can do, so with the same boxes and chords it dominates."""
    stronger = 0
    for seed, found in small_instances(1500, 40):
        rng = np.random.default_rng(seed)
        parts = Decomposition(found.instance)
        node = node_around(rng, found, int(rng.choice(np.flatnonzero(found.feasible))))
        assert propagate(node.words, node.a, node.b, found.instance.n_samples, found.arrays)
        domain = as_domain(node)
        if np.all(domain.candidates.sum(axis=1) == 1) or not np.isfinite(found.instance.entropy).all():
            continue
        mine = parts.evaluate(domain, ConicModel(parts).solve(domain).multipliers).value
        K, d = node.lo.shape
        rest, minorant = (
            rest_of(node.words, found.arrays),
            new_minorant(len(node.mask), K, d, found.arrays.mass),
        )
        other, _ = minimise(
            node.lo, node.hi, node.a, node.b, node.words, found.arrays, rest, np.empty((K, d)), minorant
        )
        assert mine >= other - 1e-5 * (1.0 + abs(other)), seed
        stronger += mine > other + 1e-3 * (1.0 + abs(other))
    assert stronger > 5, "and it is often better"


def test_relaxation_of_one_undecided_sample_by_hand() -> None:
    """Samples 0 and 2 decided, 1 in either, equal weights: the relaxation is 3/16 above 3 log 2, the optimum 1/4."""
    problem = Problem(np.array([[0.0], [1.0], [2.0]]), 2, weights="uniform")
    instance = reduce(problem)
    bound = RelaxationBound(instance, branching_rule("most-infeasible"))
    row = bound.root().take(np.array([0]))
    domain = Domain(*(row[name][0] for name in DOMAIN))
    domain.candidates[:] = [[True, False], [True, True], [False, True]]
    visit = bound.visit(domain, math.inf)
    # mu_1 is in [0, 1/2] and mu_2 in [3/2, 2]. By symmetry z = 1/2 and mu_1 = (u + v) / 2: the middle sample sees
    # u = 1/2, which costs 1/2 (1 - u)^2 = 1/8, and v = 0 leaves mu_1 = 1/4, which costs 1/32 on either side.
    assert visit.relaxed is not None
    assert visit.relaxed.z[1] == pytest.approx([0.5, 0.5], abs=1e-3)
    assert visit.bound == pytest.approx(3 * math.log(2.0) + 3 / 16, abs=1e-5)


def test_rows_that_cannot_hold_close_the_node() -> None:
    """Three mutually apart samples and two components: the multipliers of the rows prove that there is nothing."""
    problem = Problem(
        np.arange(4.0)[:, None],
        3,
        variance=1.0,
        constraints=[CannotLink(0, 1), CannotLink(1, 2), CannotLink(0, 2)],
    )
    instance = reduce(problem)
    parts = Decomposition(instance)
    domain = as_domain(wide_node(instance, instance_arrays(instance)))
    domain.candidates[:3] = [True, True, False]
    value = parts.evaluate(domain, ConicModel(parts).solve(domain).multipliers).value
    # Half of each sample in each component satisfies every row, so this one is not seen by the relaxation ...
    assert math.isfinite(value)
    rows = [Packing([0, 1, 2, 3], 0, 1), Packing([0, 1, 2, 3], 1, 1), Covering([0, 1], 2, 1)]
    instance = reduce(Problem(np.arange(4.0)[:, None], 3, variance=1.0, constraints=rows))
    parts = Decomposition(instance)
    domain = as_domain(wide_node(instance, instance_arrays(instance)))
    domain.candidates[:3] = [True, True, False]
    # ... but three samples in two components of at most one are.
    assert parts.evaluate(domain, ConicModel(parts).solve(domain).multipliers).value > 1e3


def test_hull_lies_below_its_table_and_touches_it() -> None:
    """The lines are below every size's cost, and their maximum meets the table at its convex corners."""
    rng = np.random.default_rng(3)
    for _ in range(100):
        table = rng.normal(size=12)
        table[rng.random(12) < 0.2] = math.inf
        a, b = np.sort(rng.integers(0, 12, 2))
        if not np.isfinite(table[a : b + 1]).any():
            continue
        first, last, alpha, beta = lower_hull(table, int(a), int(b))
        sizes = np.arange(first, last + 1)
        hull = (alpha[:, None] + beta[:, None] * sizes).max(axis=0)
        assert np.all(hull <= table[sizes] + 1e-12)
        assert hull[[0, -1]] == pytest.approx(table[[first, last]])
        assert np.all(np.diff(beta) > 0)
        assert np.isclose(hull, table[sizes]).sum() >= len(beta) + (first < last)


# -- nodes -----------------------------------------------------------------------------------------------------
def test_numbering_keeps_one_of_every_set_of_equal_clusterings() -> None:
    """Of the clusterings that differ by the names of interchangeable components, narrowing keeps exactly one."""
    for seed, found in small_instances(2500, 25, max_samples=5):
        bound = RelaxationBound(found.instance, branching_rule("strong"))
        kept = []
        for labels, sizes in zip(found.labels, found.sizes, strict=True):
            candidates = labels[:, None] == np.arange(found.instance.n_components)
            while bound.numbering.narrow(candidates, sizes):
                pass
            kept.append(bool(candidates.any(axis=1).all()))
        nonempty_first = np.array(kept) & canonical(bound, found.labels)
        assert np.array_equal(nonempty_first, canonical(bound, found.labels)), seed
        classes = found.instance.classes
        orbits = {tuple(_named(labels, classes)) for labels in found.labels[found.feasible]}
        assert canonical(bound, found.labels)[found.feasible].sum() == len(orbits), seed


def _named(labels: np.ndarray, classes: np.ndarray) -> list[tuple[int, ...]]:
    """A clustering without the names of its interchangeable components."""
    blocks = [(int(classes[k]), tuple(np.flatnonzero(labels == k).tolist())) for k in range(len(classes))]
    return sorted(blocks)  # type: ignore[arg-type]


def check_node(
    seed: int, found: Clusterings, bound: RelaxationBound, fixing: np.ndarray, cutoff: float
) -> None:
    """A node's bound, its children's bounds and what they hold, against every completion of a partial fixing."""
    instance = found.instance
    roots = bound.root()
    held = np.zeros(len(found.labels), dtype=bool)
    wanted = found.feasible & canonical(bound, found.labels)
    wanted &= found.objective < cutoff - 1e-9 * (1.0 + abs(cutoff))
    wanted &= fixing[np.arange(instance.n_groups), found.labels].all(axis=1)
    for r in range(len(roots)):
        nodes = roots.take(np.array([r]))
        nodes["candidates"][0] &= fixing
        here = wanted & _inside(found, nodes, 0)
        held |= here
        explored = bound.explore(nodes, cutoff)
        value = float(explored.nodes.bound[0])
        best = float(found.objective[here].min(initial=math.inf))
        assert value <= best + 1e-12 * (1.0 + abs(best)) or math.isinf(best), f"seed {seed}: {value} > {best}"
        if not explored.open[0]:
            continue
        children = bound.branch(explored)
        assert np.all(children.bound == value), "a child starts with its parent's bound"
        after = bound.explore(children, cutoff)
        assert np.all(after.nodes.bound >= value), f"seed {seed}: a child is weaker than its parent"
        covered = _inside(found, children, 0) | _inside(found, children, 1)
        assert np.all(covered[here]), f"seed {seed}: a clustering is in no child"
    assert np.all(held[wanted]), f"seed {seed}: a clustering is in no root"
    assert instance.n_groups == len(fixing)


def _inside(found: Clusterings, nodes: Nodes, row: int) -> np.ndarray:
    return found.inside(as_node(Domain(*(nodes[name][row] for name in DOMAIN))), slack=1e-9)


def random_fixing(rng: np.random.Generator, found: Clusterings, row: int) -> np.ndarray:
    """Some assignments ruled out or decided, in agreement with one clustering."""
    N, K = found.instance.n_groups, found.instance.n_components
    keep = rng.random((N, K)) < rng.choice([0.3, 0.7, 1.0])
    keep[np.arange(N), found.labels[row]] = True
    return keep


def check_random_nodes(first: int, count: int) -> None:
    for seed, found in small_instances(first, count):
        rng = np.random.default_rng(seed)
        bound = RelaxationBound(found.instance, branching_rule(BRANCHING[seed % len(BRANCHING)]))
        for row in rng.choice(np.flatnonzero(found.feasible), size=2):
            cutoff = float(found.objective[row] + rng.choice([math.inf, 1e-3, 0.5, 5.0]))
            check_node(seed, found, bound, random_fixing(rng, found, int(row)), cutoff)


def test_node_bounds_are_below_every_completion() -> None:
    """On random partial fixings, with and without a cutoff."""
    check_random_nodes(3000, 30)


@pytest.mark.slow
def test_node_bounds_are_below_every_completion_on_many_nodes() -> None:
    """The same on hundreds of instances."""
    check_random_nodes(20_000, 600)


# -- answers -----------------------------------------------------------------------------------------------------
def check_answer(seed: int, rules: tuple[str, ...], gap: float = 1e-6) -> None:
    """Runs to the end agree with enumeration within the gap, and no bound is above the optimum."""
    problem = random_problem(np.random.default_rng([seed, 45]), max_samples=9, max_components=3)
    truth = find_truth(problem)
    for rule in rules:
        result = certmix.solve(problem, "bnb", branching=rule, gap=gap, threads=1, restarts=1)
        if truth.infeasible:
            assert result.status is Status.INFEASIBLE, seed
            continue
        assert result.status is Status.OPTIMAL, f"seed {seed}, {rule}"
        assert result.lower_bound <= truth.optimum + truth.slack, f"seed {seed}, {rule}"
        room = gap * max(1.0, abs(truth.optimum)) + truth.slack
        assert truth.optimum - truth.slack <= result.objective <= truth.optimum + room, f"seed {seed}, {rule}"


@pytest.mark.parametrize("block", range(3))
def test_answers_agree_with_enumeration(block: int) -> None:
    """Random problems with every option and constraint, one rule each."""
    for seed in range(15 * block, 15 * block + 15):
        check_answer(seed, (BRANCHING[seed % len(BRANCHING)],))


@pytest.mark.slow
@pytest.mark.parametrize("block", range(4))
def test_all_rules_agree_with_enumeration_on_many_problems(block: int) -> None:
    """Hundreds of problems, all four rules."""
    for seed in range(10_000 + 100 * block, 10_000 + 100 * block + 100):
        check_answer(seed, BRANCHING)


def test_large_problems_are_refused() -> None:
    """Two thousand samples in ten dimensions are too many for a relaxation at every node; two hundred are not."""
    rng = np.random.default_rng(0)
    assert "small problems" in str(
        BranchAndBound().refusal(Problem(rng.normal(size=(2000, 10)), 3, variance=1.0))
    )
    assert BranchAndBound().refusal(Problem(rng.normal(size=(200, 10)), 3, variance=1.0)) is None


def test_instance_error_is_subtracted() -> None:
    """A relaxed node's bound is a bound on the objective: lower than that on the instance's cost by its error."""
    instance = reduce(Problem(np.array([0.0, 0.1, 1.0, 3.0, 3.1])[:, None], 2, variance=1.0))
    values = []
    for error in (0.0, 0.25):
        changed = replace(instance, error=error)
        bound = RelaxationBound(changed, branching_rule("most-integral"))
        values.append(float(bound.explore(bound.root(), math.inf).nodes.bound[0]))
    assert values[1] == pytest.approx(values[0] - 0.25)
