"""The compiled local search against plain NumPy twins on random instances with every option."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from certmix.errors import CertmixError
from certmix.kernels.clustering import exchanged, linear_costs, parameters, refresh, slope
from certmix.kernels.flow import balanced_assignment
from certmix.kernels.moves import (
    along,
    attempt,
    compounds,
    fits,
    holds,
    shift,
)
from certmix.kernels.restarts import GO_ON, SPREAD_EVENLY, explore, seed_means, shake, uniform
from certmix.kernels.swaps import exchange_change, swaps
from certmix.kernels.sweeps import hartigan, lloyd, reassign
from certmix.local.assignment import satisfies
from certmix.local.moves import LocalSearch
from certmix.presolve.instance import Instance, reduce
from certmix.problem import Problem
from certmix.stopping import current
from random_instances import random_problem

Feasible = tuple[Instance, LocalSearch, np.ndarray, np.random.Generator]


def feasible_cases(count: int, first: int = 0, **options: int) -> Iterator[Feasible]:
    """Random instances, each with a random clustering that satisfies its constraints."""
    seed = first
    while count:
        seed += 1
        rng = np.random.default_rng(seed)
        try:
            instance = reduce(random_problem(rng, **options))
        except CertmixError:
            continue
        search = LocalSearch(instance)
        labels = search.assigner(rng.normal(size=instance.allowed.shape))
        if labels is None or not np.isfinite(naive_cost(search, labels)):
            continue
        count -= 1
        yield instance, search, labels, rng


def naive_cluster_cost(search: LocalSearch, k: int, members: np.ndarray) -> float:
    """``c_k(S)`` term by term, at the best mean; a centre outside the box is charged with the penalty."""
    instance, model = search.instance, search.model
    c = 0 if instance.shared else k
    w, x = instance.weight[members], instance.points[c][members]
    gamma, prior = instance.prior_weight[k], instance.prior_mean[k]
    mass = w.sum() + gamma
    with np.errstate(invalid="ignore", divide="ignore"):
        centre = np.where(mass > 0, (w @ x + gamma * prior) / mass, 0.0)
    nearest = np.clip(centre, instance.mean_lower[k], instance.mean_upper[k])
    gap = np.where(mass > 0, nearest - centre, 0.0)
    cost = float(search.model.entropy[k, w.sum()]) + instance.scatter[c][members].sum()
    cost += 0.5 * float((w[:, None] * (x - centre) ** 2).sum() + gamma @ (centre - prior) ** 2)
    return cost + 0.5 * model.penalty * float((mass * gap**2).sum())


def naive_cost(search: LocalSearch, labels: np.ndarray) -> float:
    return sum(
        naive_cluster_cost(search, k, np.flatnonzero(labels == k))
        for k in range(search.instance.n_components)
    )


def close(a: float, b: float, *scale: float) -> bool:
    return abs(a - b) <= 1e-9 * (1 + abs(a) + sum(map(abs, scale)))


def test_cost_of_a_clustering_is_the_sum_of_the_cluster_costs() -> None:
    """Two passes over the data and the plain formula agree, and agree with the evaluator."""
    for instance, search, labels, _ in feasible_cases(60):
        naive = naive_cost(search, labels)
        assert close(search.load(labels), naive)
        if instance.exact:
            assert close(naive, instance.problem.objective.best(instance.expand(labels)).value)


def test_change_of_a_move_is_the_difference_of_the_costs() -> None:
    """Removal and insertion, with the entropies, add up to the difference of two full evaluations; so after shift."""
    moved = 0
    for instance, search, labels, rng in feasible_cases(80, first=1000):
        model, state = search.model, search.state
        before = search.load(labels)
        g = int(rng.integers(instance.n_groups))
        k, target = int(labels[g]), int(rng.integers(instance.n_components))
        w, m = int(instance.weight[g]), state.size.copy()
        if k == target:
            continue
        a, b = (0, 0) if instance.shared else (k, target)
        common = model.points, model.mass, model.region, model.penalty
        change = exchanged(*common, a, g, state.load, state.centre, k, -1.0) - instance.scatter[a, g]
        change += exchanged(*common, b, g, state.load, state.centre, target, 1.0) + instance.scatter[b, g]
        change += model.entropy[k, m[k] - w] - model.entropy[k, m[k]]
        change += model.entropy[target, m[target] + w] - model.entropy[target, m[target]]
        shift(model, state, g, target)
        drifted = state.centre.copy()
        after = refresh(model, state)
        np.testing.assert_allclose(
            drifted, state.centre, rtol=1e-9, atol=1e-9 * (1 + np.abs(model.points).max())
        )
        if np.isfinite(after):
            assert close(change, after - before, before, after)
            moved += 1
    assert moved > 30


def test_a_move_fits_exactly_when_the_result_satisfies_the_constraints() -> None:
    """``fits`` before the move and ``holds`` after it agree with the plain check of all constraints."""
    yes = no = 0
    for instance, search, labels, _ in feasible_cases(60, first=2000):
        for g in range(instance.n_groups):
            for target in range(instance.n_components):
                if target == labels[g]:
                    continue
                trial = labels.copy()
                trial[g] = target
                sizes = np.bincount(trial, instance.weight, minlength=instance.n_components)
                expected = satisfies(instance, trial) and bool(np.all(sizes >= search.model.limits[0]))
                search.load(labels)
                assert fits(search.model, search.state, g, int(labels[g]), target) == expected
                search.load(trial)
                assert holds(search.model, search.state) == expected
                yes, no = yes + expected, no + (not expected)
    assert yes > 50
    assert no > 50


def test_classification_step_is_the_cheapest_component_of_every_group() -> None:
    """Without constraints ``reassign`` and ``linear_costs`` are an argmin over distances and prices."""
    rng = np.random.default_rng(0)
    for C in (1, 3):
        data = rng.normal(size=(40, 2))
        covariance = np.eye(2) if C == 1 else np.stack([np.eye(2) * v for v in (0.5, 1.0, 2.0)])
        instance = reduce(Problem(data, 3, covariance=covariance, allow_empty=True))
        search = LocalSearch(instance)
        labels = rng.integers(0, 3, 40)
        search.load(labels)
        parameters(search.model, search.state, search.mean, search.price)
        costs = np.empty((40, 3))
        for k in range(3):
            x = instance.points[0 if C == 1 else k]
            members = labels == k
            price = slope(search.model.entropy, k, int(members.sum()))
            costs[:, k] = 0.5 * ((x - x[members].mean(axis=0)) ** 2).sum(axis=1) + price
        np.testing.assert_allclose(linear_costs(search.model, search.mean, search.price), costs, rtol=1e-12)
        every = np.ones(3, dtype=np.bool_)
        changed = reassign(
            search.model, search.state, search.mean, search.price, 1, every, np.empty((3, 4), dtype=np.int32)
        )
        assert np.array_equal(search.state.label, costs.argmin(axis=1))
        assert changed == np.count_nonzero(costs.argmin(axis=1) != labels)


def test_price_of_a_sample_is_a_supergradient_of_the_entropy() -> None:
    """For free weights the chord slope keeps every table below its tangent, so that EM steps never climb."""
    search = LocalSearch(reduce(Problem(np.random.default_rng(0).normal(size=(12, 1)), 2, variance=1.0)))
    table = search.model.entropy[0]
    for m in range(1, 13):
        tangent = table[m] + slope(search.model.entropy, 0, m) * (np.arange(13) - m)
        assert np.all(table <= tangent + 1e-12)


def test_local_search_ends_where_no_single_move_helps() -> None:
    """Lloyd never climbs on concave tables; after Hartigan no feasible move of one group lowers the naive cost."""
    for instance, search, labels, _ in feasible_cases(60, first=3000):
        model, state = search.model, search.state
        start = search.load(labels)
        hartigan(model, state, 200, np.ones(instance.n_components, dtype=np.bool_), -np.inf)
        cost = refresh(model, state)
        assert satisfies(instance, state.label)
        assert cost <= start + 1e-9 * (1 + abs(start))
        best = state.label.copy()
        for g in range(instance.n_groups):
            for target in range(instance.n_components):
                trial = best.copy()
                trial[g] = target
                if satisfies(instance, trial):
                    assert naive_cost(search, trial) >= cost - 1e-8 * (1 + abs(cost))
        if not instance.problem.estimators:
            search.load(labels)
            before = np.full((len(search.price), search.mean.shape[1] + 1), np.nan)
            lloyd(model, state, search.mean, search.price, 50, before)
            assert refresh(model, state) <= start + 1e-9 * (1 + abs(start))


@pytest.mark.parametrize("force", [False, True])
def test_compound_moves_report_their_change_and_keep_the_constraints(force: bool) -> None:
    """``attempt`` with its chains changes the cost by what it says, or leaves the clustering as it was."""
    made = 0
    for instance, search, labels, rng in feasible_cases(80, first=4000):
        model, state = search.model, search.state
        size, centre = np.empty_like(state.size), np.empty_like(state.centre)
        for _ in range(5):
            search.load(labels)
            before = naive_cost(search, labels)
            g, h = rng.integers(instance.n_groups, size=2)
            a, b = rng.integers(instance.n_components, size=2)
            if g == h or a == labels[g] or b == labels[h]:
                continue
            count = along(state.pending, state.moved, g, a, 0)
            count = along(state.pending, state.moved, h, b, count)
            change = attempt(model, state, count, size, centre, force)
            assert satisfies(instance, state.label)
            assert np.all(state.pending == -1)
            after = naive_cost(search, state.label)
            assert close(after - before, change, before, after)
            if not force:
                assert change <= 0
                assert (change < 0) == (not np.array_equal(state.label, labels))
            made += not np.array_equal(state.label, labels)
    assert made > 10


def test_chains_swaps_pairs_and_shaking_keep_the_constraints() -> None:
    """Every neighbourhood ends feasible, with fresh statistics, and (shaking aside) no worse."""
    for instance, search, labels, rng in feasible_cases(80, first=5000):
        model, state = search.model, search.state
        size, centre = np.empty_like(state.size), np.empty_like(state.centre)
        cost = search.load(labels)
        tolerance = 1e-9 * (1 + abs(cost))
        compounds(model, state, size, centre, False)
        for k in range(1, instance.n_components):
            swaps(model, state, search.mean, search.price, size, centre, k, k - 1, 1000)
        compounds(model, state, size, centre, True)
        kept = state.centre.copy()
        assert satisfies(instance, state.label)
        assert refresh(model, state) <= cost + tolerance
        np.testing.assert_allclose(
            kept, state.centre, rtol=1e-8, atol=1e-8 * (1 + np.abs(model.points).max())
        )
        shake(model, state, np.array([rng.integers(2**60)], dtype=np.uint64), size, centre)
        assert satisfies(instance, state.label)


def test_change_of_a_swap_is_the_difference_of_the_costs() -> None:
    """The closed form for two groups that trade places agrees with the naive cost, for a last group as well."""
    rng = np.random.default_rng(0)
    search = LocalSearch(reduce(Problem(rng.normal(size=(7, 2)), 2, variance=1.0)))
    model, state = search.model, search.state
    for labels in (np.array([0, 0, 0, 1, 1, 1, 1]), np.array([0, 1, 1, 1, 1, 1, 1])):
        before = search.load(labels)
        common = model.points, model.scatter, model.entropy, state.size, state.centre
        change = exchange_change(*common, 0, 0, 0, 1, 5, 1) + exchange_change(*common, 1, 0, 5, 1, 0, 1)
        trial = labels.copy()
        trial[0], trial[5] = 1, 0
        assert close(change, naive_cost(search, trial) - before, before)


def test_generator_is_splitmix64() -> None:
    """The compiled generator gives the numbers of the published algorithm, computed here with whole numbers."""
    state, mask = 12345, 2**64 - 1
    rng = np.array([state], dtype=np.uint64)
    for _ in range(5):
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        assert uniform(rng) == ((z ^ (z >> 31)) >> 11) / 2**53


def test_seeds_are_groups_or_means_of_known_members() -> None:
    """A component with known members is seeded at their mean, the others on groups that may be in them."""
    rng = np.random.default_rng(0)
    for instance, search, _, _ in feasible_cases(40, first=6000):
        seed_means(search.model, np.array([rng.integers(2**60)], dtype=np.uint64), True, search.mean)
        known = instance.allowed.sum(axis=1) == 1
        for k in range(instance.n_components):
            x = instance.points[0 if instance.shared else k]
            mine = known & instance.allowed[:, k]
            options = np.average(x[mine], axis=0, weights=instance.weight[mine])[None] if mine.any() else x
            options = np.clip(options, instance.mean_lower[k], instance.mean_upper[k])
            assert np.isclose(options, search.mean[k], rtol=1e-9, atol=1e-12).all(axis=1).any()


def test_a_restart_in_pieces_is_the_same_restart() -> None:
    """How many perturbations one compiled call makes does not change what is found."""
    rng = np.random.default_rng(0)
    instance = reduce(Problem(rng.normal(size=(40, 2)), 4, variance=1.0))
    found = []
    for trials in (1, 7, 10_000):
        search = LocalSearch(instance)
        search.load(np.arange(40) % 4)
        generator, failures = np.array([7], dtype=np.uint64), np.zeros(1, dtype=np.int64)
        start = SPREAD_EVENLY
        while failures[0] >= 0:
            cost = explore(
                search.model,
                search.state,
                generator,
                search.mean,
                search.price,
                start,
                10,
                100,
                trials,
                failures,
            )
            start = GO_ON
        found.append((cost, search.state.label.copy()))
    assert found[0][0] == found[1][0] == found[2][0]
    assert np.array_equal(found[0][1], found[2][1])


def test_balanced_assignment_is_a_minimum_cost_flow() -> None:
    """Exact sizes: as the Hungarian method on copied columns. The prices prove it by complementary slackness."""
    rng = np.random.default_rng(0)
    for trial in range(30):
        n, K = int(rng.integers(4, 60)), int(rng.integers(2, 5))
        costs = rng.normal(size=(n, K)) + 2 * rng.normal(size=K)
        if trial % 3 == 0:
            costs = np.round(costs)  # ties
        sizes = np.bincount(rng.integers(0, K, n), minlength=K)
        labels, met, _ = balanced_assignment(costs, sizes, sizes, current().flag)
        columns = np.repeat(costs, sizes, axis=1)
        rows, chosen = linear_sum_assignment(columns)
        assert met
        assert np.array_equal(np.bincount(labels, minlength=K), sizes)
        assert costs[np.arange(n), labels].sum() == pytest.approx(columns[rows, chosen].sum(), abs=1e-9)

        lower, upper = np.maximum(sizes - 2, 0), sizes + 2
        labels, met, price = balanced_assignment(costs, lower, upper, current().flag)
        got = np.bincount(labels, minlength=K)
        assert met
        assert np.all((got >= lower) & (got <= upper))
        reduced = costs - price
        assert np.all(reduced[np.arange(n), labels] <= reduced.min(axis=1) + 1e-9)
        assert np.all(price[got > lower] <= 1e-9)
        assert np.all(price[got < upper] >= -1e-9)


def test_balanced_assignment_without_a_solution_says_so() -> None:
    """Forbidden components may leave too few groups for a lower limit."""
    costs = np.array([[0.0, np.inf], [0.0, np.inf], [0.0, 1.0]])
    assert not balanced_assignment(costs, np.array([0, 2]), np.array([3, 3]), current().flag)[1]
    assert balanced_assignment(costs, np.array([0, 1]), np.array([3, 3]), current().flag)[1]
