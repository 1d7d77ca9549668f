"""Crossover of clusterings: mates, parents, constraints."""

from __future__ import annotations

import numpy as np

from certmix.local.assignment import satisfies
from certmix.local.crossover import MOST, Parents, crossed, matched
from certmix.local.hard_em import MANY_COMPONENTS, hard_em
from certmix.local.moves import LocalSearch
from certmix.presolve.instance import Instance, reduce
from certmix.problem import CannotLink, Label, MinimumSize, MustLink, Problem

K = MANY_COMPONENTS + 2


def limited() -> Instance:
    """Many components, two of them named by labels, with links and least sizes."""
    data = np.random.default_rng(5).uniform(0.0, 10.0, size=(90, 2))
    sizes = [MinimumSize(2, k) for k in range(K)]
    links = [MustLink(0, 1), CannotLink(2, 3), CannotLink(3, 4), Label(5, 0), Label(6, 1)]
    return reduce(Problem(data, K, variance=1.0, constraints=[*sizes, *links]))


def test_mates_are_the_same_clusters_under_other_names() -> None:
    """A shuffled copy is matched with itself; components that are told apart are mates of themselves only."""
    rng = np.random.default_rng(1)
    means, order = rng.uniform(size=(9, 3)), rng.permutation(9)
    assert order[matched(means, means[order], np.zeros(9))].tolist() == list(range(9))
    classes = np.array([0, 0, 0, 1, 1, 1, 2, 3, 4])
    match = matched(means, means[order], classes)
    assert classes[match].tolist() == classes.tolist()
    assert match[6:].tolist() == [6, 7, 8]


def test_parents_are_the_best_and_differ() -> None:
    """Of equal costs one is kept, of too many the dearest go, and two that are drawn are never the same."""
    parents, rng = Parents(), np.array([3], dtype=np.uint64)
    for cost in (5.0, 3.0, 3.0, *np.arange(10.0, 10.0 + MOST)):
        parents.add(np.full(4, int(cost)), cost)
    assert len(parents) == MOST
    drawn = [(int(one[0]), int(other[0])) for one, other in (parents.drawn(rng) for _ in range(300))]
    assert all(one != other for one, other in drawn)
    assert {cost for pair in drawn for cost in pair} == {3, 5, *range(10, 8 + MOST)}


def test_offspring_satisfy_every_constraint_and_lie_between_their_parents() -> None:
    """Links, labels and sizes hold; two equal parents have offspring like themselves."""
    instance = limited()
    search = LocalSearch(instance)
    search.rng[:] = 7
    found = [hard_em(instance, seed=seed, restarts=1) for seed in range(3)]
    labels = [f.labels for f in found if f is not None]
    for one in labels:
        for other in labels:
            child = crossed(search, one, other)
            assert child is not None
            assert satisfies(instance, child)
            if one is other:
                assert search.load(child) <= search.load(one) + 1e-9


def test_the_same_seed_gives_the_same_clustering() -> None:
    """Crossing draws from the run's own generator."""
    instance = limited()
    one, other = (hard_em(instance, seed=11) for _ in range(2))
    assert one is not None
    assert other is not None
    assert np.array_equal(one.labels, other.labels)
    assert one.value == other.value


def test_a_grid_of_many_clusters_is_found() -> None:
    """49 tight clusters on a grid with a few crowded places: every seed finds them all."""
    rng = np.random.default_rng(2)
    place = np.stack(np.meshgrid(np.arange(7.0), np.arange(7.0)), axis=-1).reshape(-1, 2)
    truth = np.concatenate([np.repeat(np.arange(49), 4), rng.integers(6, size=60)])
    data = 5.0 * place[truth] + rng.normal(scale=0.3, size=(len(truth), 2))
    instance = reduce(Problem(data, 49, variance=0.09, weights="uniform"))
    for seed in range(2):
        found = hard_em(instance, seed=seed)
        assert found is not None
        assert len(set(zip(found.labels.tolist(), truth.tolist(), strict=True))) == 49


def test_every_seed_finds_the_same_clustering_of_a_board() -> None:
    """Rows of holes, thirty clusters: one component in a wrong place costs more than a proof allows."""
    rng = np.random.default_rng(0)
    rows = [
        rng.uniform(0.0, 100.0, size=2) + 2.54 * np.array([[c, 0.0] for c in range(10)]) for _ in range(40)
    ]
    instance = reduce(Problem(np.concatenate(rows), 30, variance=1.0, weights="uniform"))
    found = [hard_em(instance, seed=seed) for seed in range(4)]
    values = [f.value for f in found if f is not None]
    assert len(values) == 4
    assert max(values) <= min(values) + 1e-4 * (min(values) - 400 * np.log(30))
