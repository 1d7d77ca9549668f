"""A local search that looks at some components only knows as much of all of them as one that looks everywhere."""

from __future__ import annotations

import numpy as np
import pytest

from certmix.kernels.clustering import accumulate, refresh
from certmix.kernels.looking import everything, look_at, look_everywhere, look_nowhere, remember
from certmix.kernels.restarts import AT_LABELS, GO_ON, SPREAD_EVENLY, explore
from certmix.kernels.sweeps import farthest, hartigan
from certmix.local.moves import SWAP_LIMIT, LocalSearch
from certmix.presolve.instance import reduce
from certmix.problem import MustLink, Problem

K = 12


def places(seed: int, **options: object) -> tuple[LocalSearch, np.random.Generator]:
    """Points in a square in some clustering, known everywhere."""
    rng = np.random.default_rng(seed)
    problem = Problem(rng.uniform(0.0, 9.0, size=(150, 2)), K, **{"variance": 1.0, **options})
    search = LocalSearch(reduce(problem))
    search.load(rng.permutation(np.arange(search.instance.n_groups) % K))
    return search, rng


def known(search: LocalSearch) -> None:
    """What local search remembers of a clustering."""
    state, nothing = search.state, np.zeros(K, dtype=np.bool_)
    refresh(search.model, state)
    farthest(search.model, state, state.centre, nothing, state.look.reach)
    remember(state.look, state.label)


def test_components_that_are_opened_bring_their_groups_once() -> None:
    """The blocks are the groups of every component in order; opening one twice adds nothing."""
    label, look = np.array([2, 0, 1, 0, 2, 2]), everything(6, 4)
    remember(look, label)
    look_nowhere(look)
    for k in (2, 3, 2, 0):
        look_at(look, k)
    assert look.groups[: look.looked[0]].tolist() == [0, 4, 5, 1, 3]
    assert look.opened.tolist() == [True, False, True, True]
    look_everywhere(look)
    assert look.groups.tolist() == list(range(6))
    assert look.looked[0] == 6


@pytest.mark.parametrize(
    "options", [{}, {"weights": "uniform"}, {"constraints": [MustLink(0, 1), MustLink(2, 3)]}]
)
def test_statistics_and_costs_of_some_components_are_those_of_all(options: dict[str, object]) -> None:
    """Groups move between opened components: sizes, centres, reaches and the cost are as a look everywhere says."""
    for seed in range(10):
        search, rng = places(seed, **options)
        model, state, look = search.model, search.state, search.state.look
        known(search)
        look_nowhere(look)
        some = rng.choice(K, size=3, replace=False)
        for k in some:
            look_at(look, k)
        inside = np.flatnonzero(np.isin(state.label, some))
        moved = rng.choice(inside, size=len(inside) // 3, replace=False)
        state.label[moved] = rng.choice(some, size=len(moved))
        cost, reach = refresh(model, state), np.empty(K)
        farthest(model, state, state.centre, np.zeros(K, dtype=np.bool_), reach)
        size, centre = state.size.copy(), state.centre.copy()
        look_everywhere(look)
        accumulate(model, state)
        assert np.array_equal(size, state.size)
        np.testing.assert_allclose(centre, state.centre, atol=1e-12)
        assert cost == pytest.approx(refresh(model, state), rel=1e-12)
        away = np.sqrt(((search.instance.points[0] - state.centre[state.label]) ** 2).sum(axis=1))
        np.testing.assert_allclose(
            reach, [away[state.label == k].max(initial=0.0) for k in range(K)], atol=1e-12
        )


@pytest.mark.parametrize("options", [{}, {"weights": "uniform"}, {"weights": "free", "allow_empty": True}])
def test_the_cost_after_many_perturbations_is_that_of_the_labels(options: dict[str, object]) -> None:
    """Perturbations that are kept and taken back leave nothing behind: no cost falls below the one of its labels."""
    for seed in range(6):
        search, _ = places(seed, **options)
        place = search.model, search.state, search.rng, search.mean, search.price
        failures = np.zeros(1, dtype=np.int64)
        best = explore(*place, SPREAD_EVENLY, 10**6, SWAP_LIMIT, 0, failures)
        for _ in range(5):
            cost = explore(*place, GO_ON, 10**6, SWAP_LIMIT, 40, failures)
            labels, size = search.state.label.copy(), search.state.size.copy()
            assert cost <= best * (1.0 + 1e-12)
            assert cost == pytest.approx(refresh(search.model, search.state), rel=1e-12)
            assert np.array_equal(size, np.bincount(labels, weights=search.model.weight, minlength=K))
            best = cost
        again = explore(*place, AT_LABELS, 10**6, SWAP_LIMIT, 0, failures)
        assert again <= best * (1.0 + 1e-12)


def test_moves_that_bring_too_little_end() -> None:
    """Far short of what they have to bring they end after a sweep or two; with any gain wanted they go to the end."""
    fewer = 0
    for seed in range(6):
        search, _ = places(seed)
        labels = search.state.label.copy()
        costs = []
        for short in (-np.inf, 1e6):
            search.load(labels)
            hartigan(search.model, search.state, 500, np.ones(K, dtype=np.bool_), short)
            costs.append(refresh(search.model, search.state))
        assert costs[0] <= costs[1]
        fewer += costs[0] < costs[1]
    assert fewer == 6
