"""Sweeps that leave out what cannot change anything end where sweeps over everything end."""

from __future__ import annotations

import numpy as np
import pytest

from certmix.kernels.clustering import accumulate, linear_costs, parameters, refresh
from certmix.kernels.sweeps import compared, hartigan, lloyd, reassign
from certmix.local.moves import LocalSearch
from certmix.presolve.instance import reduce
from certmix.problem import MustLink, Problem

K = 25


def places(seed: int, **options: object) -> tuple[LocalSearch, np.ndarray, np.random.Generator]:
    """Crowds of very different sizes in a plane, and some clustering of them."""
    rng = np.random.default_rng(seed)
    crowd = rng.choice(30, size=240, p=rng.dirichlet(np.full(30, 0.7)))
    data = rng.uniform(0.0, 30.0, size=(30, 2))[crowd] + rng.normal(size=(240, 2))
    search = LocalSearch(reduce(Problem(data, K, **{"variance": 1.0, **options})))
    labels = rng.permutation(np.arange(search.instance.n_groups) % K)
    return search, labels, rng


def everything() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.ones(K, dtype=np.bool_), np.full((K, 3), np.nan), np.empty((K, K + 1), dtype=np.int32)


@pytest.mark.parametrize("weights", ["free", "uniform"])
def test_a_step_after_a_change_is_the_step_over_all_components(weights: str) -> None:
    """Some means and prices move; groups that look at these only find the cheapest component all the same."""
    for seed in range(20):
        search, labels, rng = places(seed, weights=weights, allow_empty=True)  # or a last group would stay
        model, state, mean, price = search.model, search.state, search.mean, search.price
        active, before, near = everything()
        search.load(labels)
        lloyd(model, state, mean, price, 200, before)
        accumulate(model, state)
        parameters(model, state, mean, price)
        compared(mean, price, before, active)
        moved = rng.choice(K, size=3, replace=False)
        mean[moved] += rng.normal(scale=5.0, size=(3, 2))
        price[moved] += rng.normal(size=3) * (weights == "free")
        compared(mean, price, before, active)
        assert np.flatnonzero(active).tolist() == sorted(moved.tolist())
        costs = linear_costs(model, mean, price)
        reassign(model, state, mean, price, 1, active, near)
        least = costs.min(axis=1)
        assert np.all(costs[np.arange(len(costs)), state.label] <= least + 1e-9 * (1.0 + np.abs(least)))


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("weights", ["free", "uniform"])
def test_single_moves_end_where_none_of_all_pays(weights: str, linked: bool) -> None:
    """From anywhere, and from an optimum that was disturbed in two components, with groups of one size or several."""
    links = [MustLink(i, i + 1) for i in range(0, 20, 2)] if linked else []
    for seed in range(8):
        search, labels, rng = places(seed, weights=weights, constraints=links)
        search.load(labels)
        hartigan(search.model, search.state, 500, everything()[0], -np.inf)
        assert no_single_move_pays(search)
        kept = search.state.label.copy()
        some = rng.choice(np.flatnonzero(np.isin(kept, rng.choice(K, size=2, replace=False))), size=1)
        target = int(rng.integers(K))
        if np.count_nonzero(kept == kept[some[0]]) < 2:
            continue
        search.state.label[some] = target
        active = np.zeros(K, dtype=np.bool_)
        active[kept[some]] = active[target] = True
        hartigan(search.model, search.state, 500, active, -np.inf)
        assert no_single_move_pays(search)


def no_single_move_pays(search: LocalSearch) -> bool:
    """By the cost of every neighbour."""
    labels = search.state.label.copy()
    cost = refresh(search.model, search.state)
    for g in range(0, len(labels), 3):
        for k in range(K):
            if k == labels[g] or np.count_nonzero(labels == labels[g]) < 2:
                continue
            search.state.label[g] = k
            if refresh(search.model, search.state) < cost - 1e-9 * (1.0 + abs(cost)):
                return False
        search.state.label[g] = labels[g]
    refresh(search.model, search.state)
    return True
