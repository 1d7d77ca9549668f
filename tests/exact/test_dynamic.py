"""Dynamic programming against enumeration, its kernel against plain NumPy, and the published values."""

from __future__ import annotations

import math

import numpy as np
import pytest

from certmix.datasets import load
from certmix.engines import Engine, Outcome, why_not
from certmix.exact.dynamic import DynamicProgramming
from certmix.exact.enumeration import Enumeration
from certmix.kernels.dynamic import extend_layer
from certmix.ledger import Ledger
from certmix.options import Options
from certmix.presolve.first_bound import first_bound
from certmix.presolve.instance import reduce
from certmix.problem import DirichletPrior, GaussianPrior, MaximumSize, MinimumSize, Problem
from certmix.status import Termination
from random_instances import random_problem


def run(engine: Engine, problem: Problem, **options: object) -> tuple[Ledger, Outcome]:
    chosen = Options(**options)
    ledger = Ledger(problem, chosen.tolerances)
    return ledger, engine.run(problem, ledger, chosen)


@pytest.mark.parametrize("block", range(5))
def test_agrees_with_enumeration_on_random_problems(block: int) -> None:
    """Same optimum, same verdict on feasibility and a bound below it, with everything it honours."""
    engine, solved = DynamicProgramming(), 0
    for seed in range(120 * block, 120 * (block + 1)):
        problem = random_problem(
            np.random.default_rng([2, seed]), max_components=4, features=engine.honours, dimension=1
        )
        if why_not(engine, problem) is not None:
            continue
        solved += 1
        (expected, verdict), (found, outcome) = run(Enumeration(), problem), run(engine, problem)
        assert outcome.infeasible == verdict.infeasible
        if not verdict.infeasible:
            assert found.upper == pytest.approx(expected.upper, rel=1e-11, abs=1e-11)
            assert found.bound <= expected.upper
            assert found.upper - found.bound <= 1e-9 * max(1.0, abs(found.upper))
    assert solved > 90


@pytest.mark.parametrize(
    ("options", "value", "sizes"),
    [
        ({}, 280.0197, [36, 50, 64]),
        ({"variant": "sklearn"}, 279.9339, [36, 50, 64]),
        ({"n": 45}, 194.945547, [12, 15, 18]),
        ({"n": 45, "sigma": 0.4}, 85.361502, [12, 15, 18]),
    ],
)
def test_known_values_of_iris(options: dict[str, object], value: float, sizes: list[int]) -> None:
    """The four optima of the one-dimensional iris data, with a gap of rounding only."""
    ledger, _ = run(DynamicProgramming(), load("iris1d", **options).problem())
    assert ledger.upper == pytest.approx(value, abs=5e-7 if value < 200 else 5e-5)
    assert sorted(np.bincount(ledger.incumbent.labels)) == sizes
    assert 0 <= ledger.upper - ledger.bound < 1e-9


def interval_cost(y: np.ndarray, k: dict[str, float], entropy: np.ndarray) -> float:
    """Cost of one cluster, written down as it is defined."""
    if len(y):
        mu = (k["precision"] * y.sum() + k["prior"] * k["prior_mean"]) / (
            k["precision"] * len(y) + k["prior"]
        )
    else:
        mu = k["prior_mean"]
    mu = min(max(mu, k["mean_lower"]), k["mean_upper"])
    quadratic = k["precision"] * ((y - mu) ** 2).sum() + k["prior"] * (mu - k["prior_mean"]) ** 2
    return 0.5 * quadratic + entropy[len(y)]


def test_kernel_agrees_with_its_twin() -> None:
    """One layer equals the recursion written down with NumPy, for random priors, boxes and size limits."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        n = int(rng.integers(1, 12))
        y = np.sort(rng.normal(size=n) * 3 + rng.choice([0.0, 1e4]))
        previous = np.where(rng.random(n + 1) < 0.3, np.inf, rng.normal(size=n + 1) * 4)
        entropy = rng.normal(size=n + 1) * 2
        smallest = int(rng.integers(0, n + 1))
        largest = int(rng.integers(smallest, n + 1))
        boxed = rng.random() < 0.5
        k = {
            "precision": rng.uniform(0.1, 4.0),
            "prior": rng.choice([0.0, 1.5]),
            "prior_mean": y[0] + rng.normal(),
            "mean_lower": y.mean() - rng.uniform() if boxed else -np.inf,
            "mean_upper": y.mean() + rng.uniform() if boxed else np.inf,
        }
        best, origin = np.full(n + 1, np.inf), np.full(n + 1, -1, dtype=np.int32)
        chosen = np.full(n + 1, -1, dtype=np.int32)
        least = np.minimum.accumulate(previous)
        component = *map(float, k.values()), entropy, smallest, largest
        extend_layer(y, previous, least, best, origin, chosen, 7, 0, n + 1, component)
        for j in range(n + 1):
            choices = {
                i: previous[i] + interval_cost(y[i:j], k, entropy)
                for i in range(j + 1)
                if smallest <= j - i <= largest
            }
            expected = min(choices.values(), default=math.inf)
            assert best[j] == pytest.approx(expected, rel=1e-9, abs=1e-9)
            if math.isfinite(expected):
                assert choices[origin[j]] == pytest.approx(expected, rel=1e-9, abs=1e-9)
                assert chosen[j] == 7
            else:
                assert chosen[j] == -1


def test_a_common_offset_does_not_cost_accuracy() -> None:
    """Data far from the origin are clustered like the same data near it, and the bound stays as tight."""
    y = np.round(np.random.default_rng(1).normal(size=60) * 1024) / 1024  # exact under the shift
    near, _ = run(DynamicProgramming(), Problem(y, 3, variance=0.05))
    far, _ = run(DynamicProgramming(), Problem(y + 2.0**30, 3, variance=0.05))
    assert far.upper == pytest.approx(near.upper, rel=1e-12)
    assert far.upper - far.bound < 1e-10 * far.upper


def test_order_of_different_components_is_found() -> None:
    """With different weights and priors the order of the components along the line matters."""
    y = np.array([0.0, 0.1, 0.2, 5.0, 5.1, 9.0])
    problem = Problem(
        y,
        3,
        variance=1.0,
        weights=[0.2, 0.5, 0.3],
        prior=GaussianPrior(np.array([[9.0], [5.0], [0.0]]), 0.5),
        constraints=[MaximumSize(2, 0), MinimumSize(2, 1)],
    )
    ledger, _ = run(DynamicProgramming(), problem)
    assert ledger.incumbent.labels.tolist() == [2, 2, 2, 1, 1, 0]


def test_contradictory_sizes_are_infeasible() -> None:
    """Two components of at least four samples do not fit into seven samples."""
    ledger, outcome = run(
        DynamicProgramming(), Problem(np.arange(7.0), 2, variance=1.0, constraints=[MinimumSize(4)])
    )
    assert outcome.infeasible
    assert ledger.incumbent is None


def test_a_time_limit_claims_no_more_than_the_first_bound() -> None:
    """Without time there are a first bound and an incumbent."""
    ledger, outcome = run(DynamicProgramming(), Problem(np.arange(50.0), 3, variance=1.0), time_limit=0)
    assert outcome.termination is Termination.TIME
    assert ledger.bound == first_bound(reduce(ledger.problem)) < ledger.upper
    assert ledger.incumbent is not None


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (lambda: Problem(np.eye(3), 2, variance=1.0), "one dimension"),
        (lambda: Problem(np.arange(5.0), 2, variance=[1.0, 2.0]), "one covariance per component"),
        (lambda: Problem(np.arange(5.0), 2, variance=1.0, weight_bounds=(0.3, 1.0)), "bounds on the weights"),
        (
            lambda: Problem(
                np.arange(5.0), 2, variance=1.0, estimators=["means"], prior=GaussianPrior(0.0, 1.0)
            ),
            "tied to averages",
        ),
        (lambda: Problem(np.arange(200_000.0), 2, variance=1.0), "too many"),
        (
            lambda: Problem(np.arange(99.0), 30, variance=1.0, prior=DirichletPrior(np.arange(1.0, 31.0))),
            "too many",
        ),
    ],
)
def test_refuses_what_the_argument_does_not_cover(problem: object, reason: str) -> None:
    """Where clusters need not be intervals, or the tables would be too large, the engine says so."""
    assert reason in why_not(DynamicProgramming(), problem())


def test_estimators_that_change_nothing_are_taken() -> None:
    """Tying weights and means to the clusters is fine without priors and boxes: it is optimal anyway."""
    y = np.random.default_rng(4).normal(size=30)
    free, _ = run(DynamicProgramming(), Problem(y, 3, variance=1.0))
    tied, _ = run(DynamicProgramming(), Problem(y, 3, variance=1.0, estimators=["weights", "means"]))
    assert tied.upper == pytest.approx(free.upper, rel=1e-13)
