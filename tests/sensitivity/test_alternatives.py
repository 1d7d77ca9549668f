"""Alternatives against enumeration: none is missing, none stands twice, and complete means complete."""

from __future__ import annotations

import numpy as np
import pytest

import certmix
from certmix import Label, Problem
from certmix.engines import engine
from certmix.errors import InfeasibleError, InputError
from certmix.sensitivity.alternatives import alternatives
from certmix.sensitivity.partitions import Piece
from nearly_optimal import Enumerated, assert_alternatives, canonical
from random_instances import random_problem

RNG = np.random.default_rng(3)
TWO = np.concatenate([RNG.normal(size=(12, 2)), RNG.normal(5.0, size=(12, 2)), [[2.4, 2.6], [2.5, 2.4]]])


def against_enumeration(seed: int) -> int:
    """How many clusterings of a random problem were compared."""
    rng = np.random.default_rng(seed)
    try:
        problem = random_problem(rng, max_samples=6, features=engine("enumerate").honours)
    except (InputError, InfeasibleError):
        return 0
    result = certmix.solve(problem, engine="enumerate", verify=False)
    if result.labels is None:
        return 0
    every, within = Enumerated(problem), float(rng.choice([0.0, 0.5, 2.0, 6.0]))
    limit = int(rng.choice([1, 3, 1000]))
    found = alternatives(result, within, limit=limit, threads=1, engine="enumerate")
    assert_alternatives(every, found, limit)
    return len(found.clusterings)


@pytest.mark.parametrize("seed", range(50))
def test_alternatives_of_random_problems_are_those_of_enumeration(seed: int) -> None:
    against_enumeration(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 3000, 100))
def test_alternatives_of_many_random_problems_are_those_of_enumeration(first: int) -> None:
    assert sum(against_enumeration(seed) for seed in range(first, first + 100)) > 100


def test_two_samples_in_the_middle_give_four_clusterings_in_words() -> None:
    """Each may be on either side; what differs is told by name."""
    found = alternatives(Problem(TWO, 2, variance=1.0), 3.0, threads=1)
    assert found.complete
    assert found.clusterings[0].words == "the reported clustering"
    assert any("24 from" in one.words or "25 from" in one.words for one in found.clusterings[1:])
    assert all({name for name, _, _ in one.moved} <= {"24", "25"} for one in found.clusterings)
    assert "no others" in found.sentence()
    assert "what differs" in found.summary()
    assert list(found.to_dict()) == ["within", "objective", "complete", "clusterings"]


def test_a_limit_is_kept_and_then_nothing_is_complete() -> None:
    found = alternatives(Problem(TWO, 2, variance=1.0), 3.0, limit=1, threads=1)
    assert len(found.clusterings) == 2
    assert not found.complete
    assert "There may be others" in found.sentence()


def test_clusters_with_other_components_are_other_clusterings_where_components_differ() -> None:
    """A label tells the components apart, and both ways round cost the same but for the labelled sample."""
    data = np.array([[0.0], [0.1], [5.0], [5.1]])
    problem = Problem(data, 2, variance=100.0, constraints=[Label(0, 0)])
    found = alternatives(problem, 1e-6, limit=100, threads=1)
    assert all(one.labels[0] == 0 for one in found.clusterings)
    assert found.complete


def test_pieces_cover_everything_but_the_clustering_once() -> None:
    """Every other partition of five samples is in exactly one piece."""
    import itertools

    problem = Problem(np.arange(5.0)[:, None], 3, variance=1.0, allow_empty=True)
    out = np.array([0, 0, 1, 2, 1])
    pieces = [
        problem.replace(constraints=list(p.all))
        for p in Piece().without(out, [3, 0, 1, 4, 2], problem.samples.ref)
    ]
    for labels in itertools.product(range(3), repeat=5):
        clustering = np.array(labels)
        inside = sum(certmix.problem.is_feasible(piece, clustering) for piece in pieces)
        same = canonical(problem, clustering) == canonical(problem, out)
        assert inside == (0 if same else 1)


@pytest.mark.parametrize("limit", [0, -1, 1.5, True])
def test_bad_limits_are_refused(limit: object) -> None:
    with pytest.raises(InputError, match="limit must be"):
        alternatives(Problem(TWO, 2, variance=1.0), 1.0, limit=limit)  # type: ignore[arg-type]
