"""Samples that stand for several are as many copies that are together, to the last digit of everything."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import certmix
from certmix import (
    CannotLink,
    Covering,
    InputError,
    Label,
    MaximumSize,
    MinimumSize,
    MustLink,
    Packing,
    Problem,
    Result,
    solve,
)
from certmix.certificate.statement import state

RNG = np.random.default_rng(0)
DATA = RNG.normal(size=(7, 2))
WEIGHT = np.array([1, 3, 2, 1, 4, 1, 2])


def by_hand(problem: Problem, labels: np.ndarray, weight: np.ndarray, data: np.ndarray) -> float:
    """The objective with free weights and variance 1, every sum with its weights."""
    value = 0.0
    for k in range(problem.n_components):
        w, y = weight[labels == k], data[labels == k]
        mean = (w[:, None] * y).sum(axis=0) / w.sum()
        value += 0.5 * (w * ((y - mean) ** 2).sum(axis=1)).sum() - w.sum() * math.log(w.sum() / weight.sum())
    return value


@pytest.mark.parametrize("options", [{"variance": 1.0}, {"weights": "none"}, {"variance": "unknown"}])
def test_weights_are_copies_to_the_last_digit(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same objective, statement and bound as the problem with copies and links between them.

    No clock has a say: no limits, a proof that takes what it takes, and no solve that ends after a while.
    """
    monkeypatch.setattr("certmix.variance.inner.PATIENCE", math.inf)
    rows = np.repeat(np.arange(7), WEIGHT)
    links = [MustLink(*np.flatnonzero(rows == i).tolist()) for i in range(7) if WEIGHT[i] > 1]
    weighted = Problem(DATA, 2, sample_weight=WEIGHT, **options)
    copied = Problem(DATA[rows], 2, constraints=links, **options)
    assert state(weighted) == state(copied)
    one, other = (solve(problem, "interval", verify=True) for problem in (weighted, copied))
    assert (one.objective, one.lower_bound) == (other.objective, other.lower_bound)
    assert one.status == "optimal"
    assert one.certificate_level == other.certificate_level == "verified"
    assert one.labels is not None
    assert other.labels is not None
    np.testing.assert_array_equal(one.labels[rows], other.labels)
    np.testing.assert_array_equal(one.sizes, other.sizes)


def test_the_optimum_is_that_of_weighted_sums() -> None:
    """Of all clusterings, by a formula of its own; sizes, limits and counts are by weight."""
    rules = [MinimumSize(5), Packing([0, 1, 4], 0, 6), CannotLink(1, 4)]
    problem = Problem(DATA, 2, variance=1.0, constraints=rules, sample_weight=WEIGHT)

    def allowed(z: np.ndarray) -> bool:
        sizes = np.bincount(z, WEIGHT, 2)
        return sizes.min() >= 5 and WEIGHT[[0, 1, 4]][z[[0, 1, 4]] == 0].sum() <= 6 and z[1] != z[4]

    all_labels = [np.array(z) for z in itertools.product(range(2), repeat=7)]
    best = min(by_hand(problem, z, WEIGHT, DATA) for z in all_labels if allowed(z))
    for engine in ("enumerate", "interval", "dual", "sdp"):
        result = solve(problem, engine, verify=True)
        assert result.objective == pytest.approx(best, rel=1e-12)
        assert result.lower_bound <= best * (1 + 1e-12)
        assert result.certificate_level == "verified"
        assert len(result.constraints) == 3
        assert all(c.satisfied for c in result.constraints)
        assert int(result.sizes.sum()) == 14


def test_positions_and_names_are_those_of_the_samples() -> None:
    """Constraints speak of samples, not of copies; so do results, files and messages."""
    names = [f"s{i}" for i in range(7)]
    frame = pd.DataFrame(DATA, index=names, columns=["a", "b"])
    by_name = Problem(
        frame, 2, variance=1.0, constraints=[MustLink("s0", "s6"), Label("s2", 1)], sample_weight=WEIGHT
    )
    by_position = Problem(
        DATA, 2, variance=1.0, constraints=[MustLink(0, 6), Label(2, 1)], sample_weight=WEIGHT
    )
    assert state(by_name) == state(by_position)
    result = solve(by_name)
    assert result.names == tuple(names)
    assert result.to_pandas().index.tolist() == names
    assert result.labels is not None
    assert result.labels[0] == result.labels[6]
    assert "7 (for 14)" in result.summary()
    with pytest.raises(InputError, match="there is no sample 7"):
        Problem(DATA, 2, variance=1.0, constraints=[MustLink(0, 7)], sample_weight=WEIGHT)
    with pytest.raises(InputError, match=r"s3 has weight 0\.5"):
        Problem(frame, 2, variance=1.0, sample_weight=[1, 1, 1, 0.5, 1, 1, 1])


@pytest.mark.parametrize(
    "weight", [[1] * 6, [[1]] * 7, [1, 1, 1, 0, 1, 1, 1], [1, 1, math.nan, 1, 1, 1, 1], ["a"] * 7]
)
def test_other_weights_are_refused(weight: Any) -> None:
    """One positive whole number for each sample."""
    with pytest.raises(InputError, match="weight"):
        Problem(DATA, 2, variance=1.0, sample_weight=weight)


def test_a_contradiction_is_explained_with_weights() -> None:
    """A sample that stands for more than a component may hold."""
    problem = Problem(DATA, 5, variance=1.0, constraints=[MaximumSize(3)], sample_weight=WEIGHT)
    result = solve(problem)
    assert result.status == "infeasible"
    assert "sample 4 stands for 4 samples" in result.message


def test_results_are_saved_and_started_from(tmp_path) -> None:
    """A loaded result has its weights and its certificate; labels of the samples are a start."""
    problem = Problem(DATA, 2, weights="none", sample_weight=WEIGHT, constraints=[Covering([1, 2], 0, 2)])
    result = solve(problem, certificate=True)
    result.save(tmp_path / "result")
    assert result.certificate is not None
    result.certificate.save(tmp_path / "certificate")
    again = Result.load(tmp_path)
    np.testing.assert_array_equal(again.sizes, result.sizes)
    assert again.certificate is not None
    assert certmix.verify(again.certificate, problem).verified
    for start in (result, result.labels, again):
        assert solve(problem, "hard-em", start=start).objective == result.objective


def test_what_is_made_of_a_problem_keeps_the_weights() -> None:
    """Other numbers of components, other data, parts."""
    problem = Problem(DATA, 2, weights="none", sample_weight=WEIGHT, constraints=[MinimumSize(2)])
    other = problem.replace(n_components=3)
    np.testing.assert_array_equal(other.sample_weight, WEIGHT)
    assert other.n_samples == 14
    assert len(other.given_constraints) == 1
    parts = solve(problem, "parts", part_size=3)
    assert parts.status == "optimal"
    assert parts.objective == solve(problem).objective
