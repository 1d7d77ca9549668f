"""What a bound with one component more says about this number, against enumeration."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import certmix
from certmix import (
    CannotLink,
    DirichletPrior,
    GaussianPrior,
    Label,
    MaximumSize,
    MinimumSize,
    MustLink,
    Problem,
)
from certmix.certificate.draft import compare
from certmix.certificate.statement import state
from certmix.io.certificates import Certificate
from certmix.io.strict_json import dumps, loads
from certmix.status import Status
from certmix.verify.check import check
from certmix.verify.claims.criteria import carried, losses


def loss(data: np.ndarray, k: int, **given: Any) -> float:
    """What a component more than k may cost."""
    (found,) = losses([loads(dumps(state(Problem(data, count, **given)))) for count in (k, k + 1)])
    return found


def drawn(rng: np.random.Generator) -> tuple[np.ndarray, dict[str, Any]]:
    n, d = int(rng.integers(3, 8)), int(rng.integers(1, 3))
    data = rng.normal(scale=float(rng.choice([0.0, 0.3, 3.0])), size=(n, d)) + rng.integers(0, 2, (n, 1))
    given: dict[str, Any] = {"variance": 1.0, "weights": str(rng.choice(["free", "uniform"]))}
    given["allow_empty"] = bool(rng.random() < 0.5)
    if rng.random() < 0.3:
        low = data.min(axis=0) + 0.2
        given["mean_bounds"] = (low, low + 1.0)
    if rng.random() < 0.3:
        given["prior"] = GaussianPrior(0.0, 2.0) if rng.random() < 0.5 else DirichletPrior(2.0)
    if rng.random() < 0.5:
        i, j, k = rng.choice(n, 3, replace=False).tolist()
        kinds = [MustLink(i, j), CannotLink(i, k), Label(k, 0), MinimumSize(1), MaximumSize(n - 1)]
        given["constraints"] = [kinds[m] for m in rng.choice(5, 2, replace=False)]
    return data, given


@pytest.mark.parametrize("seed", range(60))
def test_the_optimum_is_hardly_below_that_with_one_component_more(seed: int) -> None:
    """``OPT >= OPT' - loss`` for random problems with every option; duplicates and single samples included."""
    data, given = drawn(np.random.default_rng(seed))
    for k in (1, 2):
        problem, more = Problem(data, k, **given), Problem(data, k + 1, **given)
        lost = loss(data, k, **given)
        optimum = certmix.solve(problem, engine="enumerate", gap=0.0, verify=False)
        other = certmix.solve(more, engine="enumerate", gap=0.0, verify=False)
        if optimum.status is Status.INFEASIBLE or math.isinf(lost):
            continue
        assert other.status is not Status.INFEASIBLE
        assert optimum.objective >= other.objective - lost - 1e-9 * max(1.0, abs(other.objective))


def test_the_loss_is_what_one_sample_costs() -> None:
    """Three samples in one place: a second component costs 3 log 3 - 2 log 2, or nothing if it may be empty."""
    data = np.zeros((3, 1))
    assert loss(data, 1, variance=1.0) == pytest.approx(3 * math.log(3) - 2 * math.log(2))
    assert loss(data, 1, variance=1.0, allow_empty=True) == 0.0
    assert loss(data, 1, variance=1.0, weights="uniform") == pytest.approx(3 * math.log(2))
    assert math.isinf(loss(data, 1, variance=1.0, constraints=[MustLink(0, 1)]))
    least = {"constraints": [MinimumSize(1)], "allow_empty": True}
    assert math.isinf(loss(data, 1, variance=1.0, **least))


def test_a_path_shows_a_carried_bound_as_verified() -> None:
    """Three far groups, components that may be empty: what is proved with three holds with two, and is checked."""
    data = np.random.default_rng(0).normal(size=(9, 1)) + 20.0 * (np.arange(9) % 3)[:, None]
    parts = [
        certmix.solve(Problem(data, k, variance=1.0, allow_empty=True), certificate=True) for k in (1, 2)
    ]
    documents = [one.certificate for one in parts]
    assert all(documents)
    weak = dict(documents[0].document, bound=-5.0)  # type: ignore[union-attr]
    both = compare([Certificate(weak, documents[0].arrays), documents[1]], criterion="icl")  # type: ignore[union-attr, list-item]
    verdict = check(both.document, both.arrays, data)
    assert verdict.verified, verdict.sentence
    assert -5.0 < verdict.parts[0].bound <= parts[1].lower_bound
    assert verdict.parts[0].bound == pytest.approx(verdict.parts[1].bound)
    assert "by the next problem no clustering is better" in verdict.sentence


def test_nothing_is_carried_between_other_problems() -> None:
    """Not from a number that is not the next one, from another variance, or to one with a least size for all."""
    data = np.zeros((6, 1))

    def entry(k: int, **given: Any) -> dict[str, Any]:
        return loads(dumps(state(Problem(data, k, **{"variance": 1.0, "allow_empty": True, **given}))))

    assert losses([entry(1), entry(2), entry(3)]) == [0.0, 0.0]
    assert losses([entry(1), entry(3)]) == [math.inf]
    assert losses([entry(2), entry(1)]) == [math.inf]
    assert losses([entry(1), entry(2, variance=2.0)]) == [math.inf]
    assert losses([entry(1), entry(2, constraints=[MustLink(0, 1)])]) == [math.inf]
    assert carried([2.0, math.inf], [-math.inf, 5.0, 9.0]) == pytest.approx([3.0, 5.0, 9.0])
    assert carried([2.0], [-1.0, math.inf]) == [-1.0, math.inf]
    assert carried([2.0], [4.0, 5.0]) == [4.0, 5.0]
