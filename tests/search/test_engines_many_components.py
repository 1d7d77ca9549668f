"""More components than a number has bits: the same engines, and their certificates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from certmix import solve
from certmix.problem import CannotLink, Label, Problem
from certmix.search import engines
from certmix.status import Status


def junctions(n: int, K: int, seed: int) -> np.ndarray:
    """Places in a plane, and a second sample near some of them."""
    rng = np.random.default_rng([seed, n, K])
    places = rng.uniform(0.0, 100.0, size=(K, 2))
    return np.concatenate([places, places[: n - K] + rng.normal(scale=0.3, size=(n - K, 2))])


def test_multipliers_prove_what_many_components_cost() -> None:
    """66 components, 130 candidates: the clustering is proved, and the checker, which has no words, agrees."""
    result = solve(Problem(junctions(78, 66, 1), 66, variance=1.0, weights="uniform"), "dual", threads=1)
    assert result.status is Status.OPTIMAL
    assert result.certificate_level == "verified"
    assert result.labels is not None
    assert len(np.unique(result.labels)) == 66


@pytest.mark.parametrize("K", [63, 64, 65, pytest.param(129, marks=pytest.mark.slow)])
def test_boxes_with_known_labels(K: int) -> None:
    """One labelled sample in each component leaves the others to the boxes, in whatever word their candidates are."""
    data = junctions(K + 9, K, 2)
    known = [Label(k, k) for k in range(K)]
    apart = [CannotLink(K, 0), CannotLink(K + 1, 1)]  # what would be best is forbidden to two of them
    problem = Problem(data, K, variance=1.0, weights="uniform", constraints=[*known, *apart])
    result = solve(problem, "interval", threads=1)
    assert result.status is Status.OPTIMAL
    assert result.certificate_level == "verified"
    assert result.labels is not None
    distance = ((data[K:, None] - data[None, :K]) ** 2).sum(axis=2)
    distance[[0, 1], [0, 1]] = np.inf
    assert result.labels[K + 2 :].tolist() == list(range(2, 9))
    assert result.labels[K : K + 2].tolist() == distance[:2].argmin(axis=1).tolist()


def test_boxes_have_short_turns_where_multipliers_do_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same proof with fewer boxes: with many components they close nothing that multipliers leave."""
    problem = Problem(np.random.default_rng(3).uniform(size=(150, 2)), 12, variance=1e-3, weights="uniform")
    results = []
    for share in (1.0, engines.TUNING.many_share):
        monkeypatch.setattr(engines, "TUNING", replace(engines.TUNING, many_share=share))
        results.append(solve(problem, "dual", threads=1, gap=1e-4, certificate=False))
    assert [result.status for result in results] == [Status.OPTIMAL] * 2
    assert results[1].objective == pytest.approx(results[0].objective, rel=1e-4)
    assert results[1].nodes < results[0].nodes
