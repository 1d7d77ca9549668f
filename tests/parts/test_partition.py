"""Parts in the image of a clustering."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from certmix.parts.account import Part
from certmix.parts.partition import Imitation
from certmix.parts.refining import refined
from certmix.parts.sizes import chosen, most_lost, sizes_for, tried
from certmix.presolve.instance import Instance, reduce
from certmix.problem import MustLink, Point, Problem
from certmix.problem.restriction import Restriction
from certmix.threads import Threads


def clustered(n: int = 240, d: int = 2, **settings: object) -> tuple[Instance, Point]:
    rng = np.random.default_rng(5)
    labels = rng.integers(3, size=n)
    data = rng.normal(size=(n, d))
    data[:, 0] += 3.0 * labels
    problem = Problem(data, 3, **{"variance": 1.0, **settings})
    instance = reduce(problem)
    labels = instance.expand(instance.contract(labels))
    return instance, problem.objective.best(labels)


def loss(instance: Instance, point: Point, parts: list[np.ndarray]) -> float:
    """How much less the clustering costs when every part has its own means and weights."""
    restriction = Restriction(instance.problem)
    samples = [np.flatnonzero(np.isin(instance.groups.of, part)) for part in parts]
    return point.value - math.fsum(restriction.part(s).objective.best(point.labels[s]).value for s in samples)


@pytest.mark.parametrize("links", [0, 40])
def test_every_group_is_in_one_part(links: int) -> None:
    """Parts are disjoint, hold all groups, are about equally large, and are the same for the same seed."""
    chains = [MustLink(3 * i, 3 * i + 1) for i in range(links)]
    instance, point = clustered(constraints=chains)
    imitation = Imitation(instance, point)
    parts = imitation.parts(np.arange(instance.n_groups), 7, 3)
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(instance.n_groups))
    sizes = [instance.weight[part].sum() for part in parts]
    assert max(sizes) - min(sizes) <= 3 * 2 * instance.weight.max()
    again = imitation.parts(np.arange(instance.n_groups), 7, 3)
    assert all(np.array_equal(a, b) for a, b in zip(parts, again, strict=True))


def test_imitation_loses_little() -> None:
    """A part with its own means and weights gains next to nothing, a random part some nats."""
    instance, point = clustered()
    imitated = loss(instance, point, Imitation(instance, point).parts(np.arange(240), 6, 0))
    random = np.array_split(np.random.default_rng(0).permutation(240), 6)
    blind = loss(instance, point, [np.sort(part) for part in random])
    assert 0.0 <= imitated < 0.1 * blind


@pytest.mark.parametrize("at_once", [1, 2, 9])
def test_parts_that_do_better_alone_are_dealt_anew(at_once: int) -> None:
    """Parts change only when local search comes to more in the new ones; groups are neither lost nor doubled."""
    instance, point = clustered()
    imitation, restriction = Imitation(instance, point), Restriction(instance.problem)
    rng = np.random.default_rng(1)

    def make(groups: np.ndarray) -> Part:
        value = restriction.part(groups).objective.best(point.labels[groups]).value
        return Part(groups, groups, value + 1.0, -math.inf, value + rng.uniform(0.0, 1.0))

    def made(pieces: list[np.ndarray]) -> list[Part]:
        return [make(groups) for groups in pieces]

    parts = made([np.sort(g) for g in np.array_split(rng.permutation(240), 6)])
    given = {"at_once": at_once, "seed": 0, "seconds": math.inf}
    found = refined(parts, imitation, made, over=lambda: False, **given)
    assert math.fsum(p.value for p in found) > math.fsum(p.value for p in parts)
    assert np.array_equal(np.sort(np.concatenate([p.groups for p in found])), np.arange(240))
    stopped = refined(parts, imitation, made, over=lambda: True, **given)
    assert stopped == parts


def test_sizes_follow_the_gap_and_the_time() -> None:
    """A wide gap is met by small parts, a narrow one wants large parts, and little time makes them small again."""
    instance, point = clustered(2400, 6)
    imitation, restriction = Imitation(instance, point), Restriction(instance.problem)

    def make(groups: np.ndarray) -> Part:
        value = restriction.part(groups).objective.best(point.labels[groups]).value
        return Part(groups, groups, value, -math.inf, value)

    def size(allowed: float, inside: Callable[[int], float] | None = None) -> int:
        return chosen(
            sizes_for(instance),
            lambda size: tried(
                imitation, size, lambda pieces: list(map(make, pieces)), lambda groups: make(groups).share, 0
            ),
            lambda trial: trial.parts,
            None if inside is None else lambda trial: inside(trial.size),
            allowed,
            most_lost(instance.n_features),
            lambda: False,
        ).size

    sizes = sizes_for(instance)
    assert size(0.5) == sizes[0]
    assert size(1e-9) == sizes[-1]
    assert size(1e-9, lambda size: 0.0) == sizes[-1]
    assert size(1e-9, lambda size: 1e3 * size) == sizes[0]
    assert size(1e-9, lambda size: 1e-4 * abs(size - 300)) == 300
    assert size(1e-9, lambda size: 0.9 + 1e-9 * size if size > 200 else 1e-3) == 200, (
        "none of the larger is of use"
    )
    assert sizes_for(clustered(300, 6)[0]) == []


@pytest.mark.parametrize(
    ("size", "made", "rest", "complete"), [(300, 8, 0, True), (100, 10, 14, True), (20, 10, 0, False)]
)
def test_parts_that_are_tried_can_be_kept(size: int, made: int, rest: int, complete: bool) -> None:
    """All groups are dealt where that makes no more than a hundred parts, and then nobody has to deal them again."""
    instance, point = clustered(2400, 6)

    def make(pieces: list[np.ndarray]) -> list[Part]:
        return [Part(groups, groups, 1.0, -math.inf, 1.0) for groups in pieces]

    trial = tried(Imitation(instance, point), size, make, len, 0)
    assert (len(trial.parts), len(trial.rest), trial.complete) == (made, rest, complete)
    assert trial.whole == sum(len(part.groups) for part in trial.parts)
    dealt = np.sort(np.concatenate([*(part.groups for part in trial.parts), *trial.rest]))
    if complete:
        assert np.array_equal(dealt, np.arange(2400))
    else:
        assert len(np.unique(dealt)) == len(dealt) == 200


def test_threads_and_units_change_no_partition() -> None:
    """Parts that meet at the same time have nothing in common, and data in other units are dealt alike."""
    instance, point = clustered(600, 6)
    alone = Imitation(instance, point).parts(np.arange(600), 12, 0)
    with Threads(3) as threads:
        together = Imitation(instance, point, threads).parts(np.arange(600), 12, 0)
    assert all(np.array_equal(a, b) for a, b in zip(alone, together, strict=True))
    problem = instance.problem.replace(weights="none")
    for times in (1e-6, 1e6):
        other = problem.replace(data=times * problem.data)
        parts = [
            Imitation(reduce(p), p.objective.best(point.labels)).parts(np.arange(600), 12, 0)
            for p in (problem, other)
        ]
        assert all(np.array_equal(a, b) for a, b in zip(*parts, strict=True))
