"""Sets that clusters of allowed sizes cannot hold apart: what they share with others, against all clusterings."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from certmix import MaximumSize, MinimumSize, Problem, solve
from certmix.presolve.instance import reduce
from certmix.search.bounds.semidefinite.contraction import contract
from certmix.search.bounds.semidefinite.crossings import Crossing, carried, least_crossings
from certmix.search.bounds.semidefinite.pools import pools_of
from random_domains import root_domain


def shared(labels: np.ndarray, inside: np.ndarray) -> float:
    """What a set shares with others in a clustering, by its definition."""
    total = 0.0
    for k in np.unique(labels):
        mine = labels == k
        total += (mine & inside).sum() * (mine & ~inside).sum() / mine.sum()
    return total


@pytest.mark.parametrize("limits", [(1, 7), (2, 4), (3, 4), (2, 3)])
def test_no_clustering_shares_less(limits: tuple[int, int]) -> None:
    """Of all clusterings with such sizes, and all numbers of samples in the set; for some it is the least."""
    low, high = limits
    data = np.random.default_rng(0).normal(size=(7, 2))
    rules = [MinimumSize(low), MaximumSize(high)]
    instance = reduce(Problem(data, 3 if low < 3 else 2, variance=1.0, constraints=rules))
    region = root_domain(instance, np.zeros(instance.n_components, dtype=bool))
    least = least_crossings(pools_of(region, contract(region, instance), instance))
    reached = 0
    every = np.array(list(itertools.product(range(instance.n_components), repeat=7)))
    counts = np.stack([(every == k).sum(axis=1) for k in range(instance.n_components)])
    for w in range(8):
        inside = np.arange(7) < w
        found = [shared(z, inside) for z in every[((counts >= low) & (counts <= high)).all(axis=0)]]
        assert least[w] <= min(found) + 1e-12
        reached += least[w] >= min(found) - 1e-12
    assert reached >= 4


def test_a_set_that_a_merged_point_cuts_is_given_up() -> None:
    """The others are about the merged points."""
    kept, lost = np.array([True, True, False, False]), np.array([True, False, True, False])
    found = carried([Crossing(kept, 2.0), Crossing(lost, 3.0)], np.array([0, 0, 1, 2]), 3)
    assert [each.inside.tolist() for each in found] == [[True, False, False]]
    assert found[0].price == 2.0


def blobs() -> np.ndarray:
    """Three groups of ten samples, far apart."""
    rng = np.random.default_rng(1)
    return rng.normal(size=(30, 2)) + np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 10, axis=0)


def test_sizes_that_cut_through_groups_are_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four clusters of seven or eight have to mix groups of ten: with prices the root knows, and it is verified."""
    problem = Problem(blobs(), 4, weights="none", constraints=[MinimumSize(7), MaximumSize(8)])
    given = {"node_limit": 1, "threads": 1, "certificate": True}
    found = solve(problem, "sdp", **given)
    assert found.certificate is not None
    assert found.certificate_level == "verified"
    assert len(found.certificate.arrays["semidefinite/set_price"]) > 0
    monkeypatch.setattr("certmix.search.bounds.semidefinite.visit.price_sets", lambda *_: False)
    without = solve(problem, "sdp", **given)
    assert found.objective == without.objective
    assert found.gap_relative < 0.7 * without.gap_relative


def test_without_limits_there_are_no_sets() -> None:
    """Nothing is looked for where sizes are free."""
    found = solve(Problem(blobs(), 3, weights="none"), "sdp", certificate=True, threads=1)
    assert found.certificate is not None
    assert len(found.certificate.arrays["semidefinite/set_price"]) == 0
