"""The kernels of the interval bound against their NumPy twins and against all clusterings of small instances."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from brute_force import Clusterings, Node, node_around, wide_node
from certmix.errors import InfeasibleError
from certmix.kernels.arrays import Arrays
from certmix.kernels.contraction import box_distances, contract_means, drop_dominated, order_components
from certmix.kernels.interval import CLOSED, DECIDED, chord, explore_batch, minimise, new_minorant, tighten
from certmix.kernels.settled import Rest, rest_of, sorted_rest, unsettled
from certmix.presolve.arrays import instance_arrays
from certmix.presolve.instance import reduce
from certmix.problem import Label, MustLink, Problem
from certmix.problem.features import Feature
from masses import with_masses
from random_instances import random_problem


def small_instances(first: int, count: int, **options: object) -> Iterator[tuple[int, Clusterings]]:
    """Random feasible instances with all their clusterings; of every third values are missing or weighted."""
    seed, made = first, 0
    while made < count:
        rng = np.random.default_rng([seed, 31])
        problem = random_problem(rng, max_samples=6, max_components=3, **options)
        seed += 1
        if seed % 3 == 0:
            try:
                problem = with_masses(problem, rng)
            except InfeasibleError:
                continue
        instance = reduce(problem)
        if instance.groups.contradiction:
            continue
        found = Clusterings(instance, instance_arrays(instance))
        if found.feasible.any():
            made += 1
            yield seed - 1, found


def random_nodes(rng: np.random.Generator, found: Clusterings, count: int = 4) -> Iterator[Node]:
    for row in rng.choice(np.flatnonzero(found.feasible), size=count):
        yield node_around(rng, found, int(row))


# -- chords ------------------------------------------------------------------------------------------------------
def entropies(rng: np.random.Generator, n: int) -> tuple[np.ndarray, bool]:
    sizes = np.arange(n + 1)
    kind = rng.integers(4)
    if kind == 0:
        return -sizes * np.log(rng.uniform(0.05, 0.95)), True
    if kind == 1:
        power = sizes + rng.uniform(0.0, 5.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(power > 0, -power * np.log(power / (n + 5.0)), 0.0), True
    if kind == 2:
        return rng.normal(scale=10.0, size=n + 1), False
    table = -(sizes + 1.5) * np.log(np.maximum(sizes, 1) / n)
    table[0] = np.inf
    return table, False


def test_chord_lies_below_the_table() -> None:
    """``alpha + beta m`` is below the entropy for every whole m in the interval, also where that is not concave."""
    for seed in range(400):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 40))
        table, concave = entropies(rng, n)
        a = int(rng.integers(0, n + 1))
        b = int(rng.integers(a, n + 1))
        alpha, beta = chord(table, concave, float(a), float(b))
        m = np.arange(a, b + 1)
        if np.all(np.isinf(table[m])):
            assert alpha == np.inf, seed
            continue
        slack = 1e-12 * (1.0 + abs(alpha) + abs(beta) * n)
        assert np.all(alpha + beta * m <= table[m] + slack), seed
        assert (table[m] - (alpha + beta * m)).min() <= slack, f"{seed}: the chord touches the table"


def test_chord_of_a_concave_table_meets_both_ends() -> None:
    """With h(m) = -m log(m/10), the chord over [2, 5] goes through both ends."""
    sizes = np.arange(11)
    table = np.where(sizes > 0, -sizes * np.log(np.maximum(sizes, 1) / 10), 0.0)
    alpha, beta = chord(table, True, 2.0, 5.0)
    assert alpha + 2 * beta == pytest.approx(table[2])
    assert alpha + 5 * beta == pytest.approx(table[5])


def test_box_distances_are_those_of_the_nearest_and_farthest_point() -> None:
    """Nearest by clipping, farthest among the corners; times a mass for all coordinates, or one for each."""
    rng = np.random.default_rng(5)
    for _ in range(100):
        d = int(rng.integers(1, 4))
        lo, hi = np.sort(rng.normal(size=(2, d)), axis=0)
        x = rng.normal(scale=2.0, size=d)
        corners = np.array(np.meshgrid(*np.stack([lo, hi], axis=1))).reshape(d, -1).T
        for mass in (rng.uniform(size=1), rng.uniform(size=(1, d))):
            near, far = box_distances(x[None, None], mass, 0, 0, lo[None], hi[None], 0)
            assert near == pytest.approx((mass[0] * (x - np.clip(x, lo, hi)) ** 2).sum())
            assert far == pytest.approx((mass[0] * (x - corners) ** 2).sum(axis=1).max())


def contracted(node: Node, arrays: Arrays) -> bool:
    rest = rest_of(node.words, arrays)
    ordered = sorted_rest(node.words, arrays, rest)
    return bool(contract_means(node.lo, node.hi, node.a, node.b, node.words, arrays, rest, ordered))


# -- contraction -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("block", range(2))
def test_contracted_boxes_hold_every_reachable_mean(block: int) -> None:
    """Every mean of a labelling in the node stays in its box: weights, priors, boxes and size limits included."""
    for seed, found in small_instances(1000 * block, 40):
        rng = np.random.default_rng(seed)
        for node in random_nodes(rng, found):
            before = found.inside(node)
            alive = contracted(node, found.arrays)
            assert alive or not before.any(), seed
            assert np.all(found.inside(node)[before]), seed


def test_contraction_is_exact_on_a_line() -> None:
    """Of 0, 1, 2, 10 with 2 certain and at least two members the mean runs from 1 (with 0) to 6 (with 10)."""
    problem = Problem(np.array([0.0, 1.0, 2.0, 10.0])[:, None], 2, variance=1.0, constraints=[Label(2, 0)])
    instance = reduce(problem)
    arrays = instance_arrays(instance)
    node = wide_node(instance, arrays)
    node.a[0] = 2.0
    assert contracted(node, arrays)
    centre = problem.data.mean()
    assert node.lo[0, 0] + centre == pytest.approx(1.0)
    assert node.hi[0, 0] + centre == pytest.approx(6.0)


def test_numbering_of_components_loses_no_ordered_clustering() -> None:
    """Ordering interchangeable components by their means keeps every clustering that is numbered so."""
    for seed, found in small_instances(50, 30):
        rng = np.random.default_rng(seed)
        for node in random_nodes(rng, found):
            before = found.inside(node) & found.ordered()
            alive = order_components(node.lo, node.hi, node.b, found.arrays)
            assert alive or not before.any(), seed
            assert np.all(found.inside(node)[before]), seed


NOTHING_COUPLED = frozenset(Feature) - {
    Feature.CANNOT_LINK,
    Feature.IMPLICATION,
    Feature.COUNTING,
    Feature.WEIGHT_BOX,
    Feature.ESTIMATORS,
}


@pytest.mark.parametrize("features", [None, NOTHING_COUPLED])
def test_dominance_never_drops_a_clustering_that_no_exchange_improves(
    features: frozenset[Feature] | None,
) -> None:
    """A clustering that no single move improves, the optimal ones above all, keeps all its candidates."""
    dropped = 0
    for seed, found in small_instances(2000, 60, features=features):
        rng = np.random.default_rng(seed)
        stable = found.stable()
        assert stable.any(), f"{seed}: the optimum is stable"
        for row in rng.choice(np.flatnonzero(stable), size=5):
            node = node_around(rng, found, int(row))
            before = found.inside(node) & stable
            candidates = node.candidates(found.instance.n_components).sum()
            rest = rest_of(node.words, found.arrays)
            drop_dominated(node.lo, node.hi, node.a, node.b, node.words, found.arrays, rest)
            dropped += candidates - node.candidates(found.instance.n_components).sum()
            assert np.all(found.inside(node)[before]), seed
    assert dropped > 40, "dominance has something to say"


def test_dominance_spares_a_cluster_of_one() -> None:
    """A lone outlier far from its twin cluster keeps its own component when its mean may be there."""
    y = np.array([0.0, 0.1, 0.2, 0.3, 4.0])[:, None]
    problem = Problem(y, 2, variance=1.0)
    instance = reduce(problem)
    found = Clusterings(instance, instance_arrays(instance))
    best = found.feasible & (found.objective <= found.objective.min() + 1e-9)
    node = wide_node(instance, found.arrays)
    rest = rest_of(node.words, found.arrays)
    drop_dominated(node.lo, node.hi, node.a, node.b, node.words, found.arrays, rest)
    assert np.all(found.inside(node)[best])


@pytest.mark.parametrize("gaps", [False, True])
def test_dominance_goes_by_masses_where_they_are_no_sizes(gaps: bool) -> None:
    """A light sample beside a heavy one hardly moves the mean: leaving saves what it costs there, not twice as much."""
    y, weight = np.array([[0.0, 0.1], [1.0, 0.0], [2.2, -0.1]]), np.array([10.5, 0.25, 10.5])
    if gaps:
        y[1, 1] = np.nan
    problem = Problem(
        y, 2, variance=1.0, weights="uniform", sample_weight=weight, missing="keep" if gaps else "error"
    )
    instance = reduce(problem)
    found = Clusterings(instance, instance_arrays(instance))
    best = int(found.objective.argmin())
    assert found.labels[best][0] == found.labels[best][1] != found.labels[best][2]
    node = wide_node(instance, found.arrays)
    node.lo[:], node.hi[:] = found.means[best] - 0.01, found.means[best] + 0.01
    node.a[:], node.b[:] = 1.0, 2.0
    rest = rest_of(node.words, found.arrays)
    drop_dominated(node.lo, node.hi, node.a, node.b, node.words, found.arrays, rest)
    assert found.inside(node)[best]
    assert node.candidates(2).sum() == 3, "what is not the best is excluded"


# -- the bound ---------------------------------------------------------------------------------------------------
def numpy_bound(node: Node, found: Clusterings) -> float:
    """The formula of the bound, by NumPy: chords, t-minorants, and quadratics minimised by clipping."""
    i, arrays = found.instance, found.arrays
    K, d = node.lo.shape
    candidates = node.candidates(K)
    chords = [chord(i.entropy[k], arrays.concave[k], node.a[k], node.b[k]) for k in range(K)]
    alpha, beta = (np.array(column) for column in zip(*chords, strict=True))
    constant = alpha.sum() + 0.5 * (i.prior_weight * i.prior_mean**2).sum()
    weight, total = i.prior_weight.copy(), i.prior_weight * i.prior_mean

    def add(k: int, g: int, share: float) -> float:
        x = i.points[arrays.system[k], g]
        m = i.mass[g]
        weight[k] += share * m
        total[k] += share * m * x
        square = (m * x) @ x
        return float(share * (0.5 * square + i.weight[g] * beta[k] + i.scatter[arrays.system[k], g]))

    for g in range(i.n_groups):
        ks = np.flatnonzero(candidates[g])
        if len(ks) == 1:
            constant += add(int(ks[0]), g, 1.0)
            continue
        x = i.points[arrays.system[ks], g]
        base = i.weight[g] * beta[ks] + i.scatter[arrays.system[ks], g]
        near = np.maximum(0.0, np.maximum(node.lo[ks] - x, x - node.hi[ks]))
        far = np.maximum(node.hi[ks] - x, x - node.lo[ks])
        low = 0.5 * (i.mass[g] * near**2).sum(axis=1) + base
        high = 0.5 * (i.mass[g] * far**2).sum(axis=1) + base
        first, second = np.argsort(low, kind="stable")[:2]
        span = high[first] - low[first]
        t = 1.0 if high[first] <= low[second] else (low[second] - low[first]) / span
        constant += add(int(ks[first]), g, t) + (1.0 - t) * low[first]
    x = np.clip(np.divide(total, weight, out=np.zeros((K, d)), where=weight > 0), node.lo, node.hi)
    return float(constant + (0.5 * weight * x * x - total * x).sum())


def bound_of(node: Node, arrays: Arrays, cutoff: float = np.inf) -> float:
    centre, minorant = np.empty(node.lo.shape), new_minorant(len(node.mask), *node.lo.shape, arrays.mass)
    rest = rest_of(node.words, arrays)
    bound, error = minimise(node.lo, node.hi, node.a, node.b, node.words, arrays, rest, centre, minorant)
    if np.isfinite(cutoff - bound) and bound < cutoff:
        tighten(bound, error, cutoff, node.lo, node.hi, node.words, arrays, rest, centre, minorant)
    return float(bound)


def explored(node: Node, arrays: Arrays, cutoff: float) -> tuple[int, float]:
    """State and bound of a node that the kernel has worked on, as a batch of one."""
    rest = unsettled(arrays)
    state, kind, which, index = (np.zeros(1, dtype=np.int64) for _ in range(4))
    bound, at = np.full(1, -np.inf), np.zeros(1)
    nodes = tuple(x[None] for x in (node.lo, node.hi, node.a, node.b, node.words))
    sums = [x[None] for x in (rest.weight, rest.mass, rest.points, rest.cost)]
    settled, start = Rest(rest.groups, rest.left, *sums), np.zeros(1, dtype=np.int64)
    results = state, bound, kind, which, index, at
    explore_batch(0, 1, nodes, cutoff, arrays, start, settled, results)
    return int(state[0]), float(bound[0])


def test_bound_equals_its_formula() -> None:
    """The kernel's bound is the formula of design 3.2, lowered by no more than rounding."""
    for seed, found in small_instances(4000, 60):
        rng = np.random.default_rng(seed)
        for node in random_nodes(rng, found):
            expected = numpy_bound(node, found)
            bound = bound_of(node, found.arrays)
            if not np.isfinite(expected):
                continue
            scale = 1.0 + np.abs(found.cost[np.isfinite(found.cost)]).max()
            assert bound <= expected + 1e-14 * scale, seed
            assert bound == pytest.approx(expected, abs=1e-9 * scale), seed


def test_bound_is_below_random_points_of_the_node() -> None:
    """Random labels and random means of the node cost no less than the node's bound."""
    for seed, found in small_instances(5000, 60):
        rng = np.random.default_rng(seed)
        for node in random_nodes(rng, found):
            bound = bound_of(node.copy(), found.arrays)
            free = Node(
                np.full_like(node.lo, -np.inf), np.full_like(node.hi, np.inf), node.a, node.b, node.mask
            )
            rows = found.inside(free)
            best = found.value_in(node)[rows].min(initial=np.inf)
            assert bound <= best, seed
            for _ in range(5):
                means = rng.uniform(node.lo, node.hi)
                values = found.value_at(means)[rows]
                assert bound <= values.min(initial=np.inf), seed
                assert values.min(initial=np.inf) >= best - 1e-9 * (1.0 + abs(best)), f"{seed}: the twin errs"


def test_tightening_keeps_everything_better_than_the_cutoff() -> None:
    """Boxes and candidates are cut only where every clustering costs at least the cutoff."""
    removed = 0
    for seed, found in small_instances(6000, 60):
        rng = np.random.default_rng(seed)
        K = found.instance.n_components
        for node in random_nodes(rng, found):
            free = Node(
                np.full_like(node.lo, -np.inf), np.full_like(node.hi, np.inf), node.a, node.b, node.mask
            )
            rows = found.inside(free)
            values = np.where(rows, found.value_in(node), np.inf)
            means = found._means(node.lo, node.hi)
            for cutoff in np.quantile(values[rows], [0.0, 0.1, 0.5]) + rng.exponential(0.3):
                cut = node.copy()
                bound = bound_of(cut, found.arrays, float(cutoff))
                good = values < cutoff - 1e-9 * (1.0 + abs(cutoff))
                assert bound <= values.min(), seed
                removed += node.candidates(K).sum() - cut.candidates(K).sum()
                N = found.instance.n_groups
                kept = cut.candidates(K)[np.arange(N), found.labels].all(axis=1)
                room = 1e-9 * (1.0 + found.arrays.largest)
                within = ((means >= cut.lo - room) & (means <= cut.hi + room)).all(axis=(1, 2))
                assert np.all((kept & within)[good]), seed
    assert removed > 100, "reduced costs have something to say"


@pytest.mark.parametrize("block", range(2))
def test_explored_node_keeps_every_clustering_worth_keeping(block: int) -> None:
    """Of a node's clusterings all survive but those above the cutoff, out of order, or improved by an exchange.

    Those that survive cost at least the bound; a closed node has none.
    """
    states = set()
    for seed, found in small_instances(7000 + 1000 * block, 60):
        rng = np.random.default_rng(seed)
        keep = found.stable() & found.ordered()
        for row in rng.choice(np.flatnonzero(keep), size=4):
            node = node_around(rng, found, int(row))
            inside = found.inside(node) & keep
            cutoff = float(found.cost[row] + rng.choice([np.inf, 1e-3, 1.0, 0.0, -1.0]))
            state, bound = explored(node, found.arrays, cutoff)
            states.add(state)
            good = inside & (found.cost < cutoff - 1e-9 * (1.0 + abs(cutoff)))
            assert np.all(found.cost[good] >= bound), seed
            if state == CLOSED:
                assert not good.any(), seed
            else:
                assert np.all(found.inside(node, slack=1e-9)[good]), seed
            if state == DECIDED:
                assert good.sum() <= 1, seed
    assert states == {0, 1, 2}


def test_whole_groups_are_bounded_like_their_samples() -> None:
    """Must-linked samples cost their scatter wherever they go: the bound of a decided node is its exact cost."""
    y = np.array([[0.0, 0.0], [2.0, 0.0], [5.0, 1.0], [5.0, 3.0]])
    problem = Problem(
        y, 2, variance=1.0, constraints=[MustLink(0, 1), Label(0, 0), MustLink(2, 3), Label(2, 1)]
    )
    instance = reduce(problem)
    arrays = instance_arrays(instance)
    node = wide_node(instance, arrays)
    node.a[:] = node.b[:] = 2.0
    expected = 1.0 + 1.0 + 4 * np.log(2.0)  # two pairs at distance 2, weights 1/2
    assert bound_of(node, arrays) == pytest.approx(expected, abs=1e-10)
