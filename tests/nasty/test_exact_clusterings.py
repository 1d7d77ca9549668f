"""The cost of one clustering without relaxation, against exact arithmetic: never above it, as near as doubles get."""

from __future__ import annotations

import json
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from bounded_instances import FAMILIES, bounded_problem
from exact_optimum import DIGITS, covers, exact_value, weight_cost

from certmix.certificate.statement import state
from certmix.problem import DirichletPrior, Problem
from certmix.problem.features import EVERY_FEATURE, Feature
from certmix.verify import exact
from certmix.verify import statement as statements
from certmix.verify.evidence import Rejected
from certmix.verify.root import Root
from random_instances import random_problem

BOUNDED = {Feature.WEIGHT_BOX, Feature.MEAN_BOX, Feature.ESTIMATORS}


def costs(problem: Problem, rng: np.random.Generator, count: int) -> list[tuple[float, Decimal]]:
    """The checker's cost and the exact one of a few random clusterings."""
    try:
        root = Root(statements.read(json.loads(json.dumps(state(problem)))), problem.data)
    except Rejected:
        return []
    found, checker = [], exact.Exact(root)
    for _ in range(count):
        labels = rng.integers(root.K, size=root.N)
        with np.errstate(all="ignore"):
            found.append((checker.cost(labels), exact_value(problem, labels[root.group])))
    return found


def check(found: list[tuple[float, Decimal]], least: float) -> None:
    """None above the truth; infinite where there are no admissible means, and only where nothing is admissible."""
    near = 0
    for cost, truth in found:
        assert not math.isnan(cost)
        if truth.is_infinite():
            continue
        assert Decimal(cost) <= truth
        near += truth - Decimal(cost) <= Decimal("1e-9") * max(Decimal(1), abs(truth))
    assert near >= least * sum(not truth.is_infinite() for _, truth in found)


@pytest.mark.parametrize("family", FAMILIES)
def test_clusterings_on_the_edge_of_their_bounds(family: str) -> None:
    """At any offset and scale, feasible or infeasible by a hair."""
    found = []
    for seed in range(40):
        rng = np.random.default_rng([seed, FAMILIES.index(family), 81])
        problem = bounded_problem(family, rng)
        found += costs(problem, rng, 6) if covers(problem) else []
    check(found, 1.0)
    tied = [(cost, truth) for cost, truth in found if truth.is_infinite()]
    if family == "tied box":  # an average that lies outside is seen, however near it lies
        assert tied
        assert all(cost == math.inf for cost, _ in tied)


def test_ordinary_clusterings() -> None:
    """Correlated features, priors, boxes and ties in every mixture."""
    found = []
    for seed in range(150):
        rng = np.random.default_rng([seed, 82])
        problem = random_problem(rng, max_samples=7, features=EVERY_FEATURE if seed % 2 else BOUNDED)
        found += costs(problem, rng, 4) if covers(problem) else []
    assert len(found) > 300
    check(found, 0.99)


def test_the_rounding_of_weights() -> None:
    """Bounds or none, powers of any size: what the weights cost is never too much, by not a single unit."""
    found = []
    for seed in range(300):
        rng = np.random.default_rng([seed, 84])
        n, share = int(rng.integers(2, 5000)), rng.uniform()
        bounds = [None, ([0.0, share], 1.0), (0.0, [share, 1.0])][seed % 3]
        prior = DirichletPrior(10.0 ** rng.uniform(0, 3, size=2))
        problem = Problem(
            np.zeros((n, 1)) + np.arange(n)[:, None], 2, variance=1.0, weight_bounds=bounds, prior=prior
        )
        m = int(rng.integers(0, n + 1))
        stated = statements.read(json.loads(json.dumps(state(problem))))
        with np.errstate(all="ignore"), localcontext() as context:
            context.prec = DIGITS
            found.append((exact.weights_cost(stated, (m, n - m)), weight_cost(problem, (m, n - m))))
    check(found, 1.0)


def test_any_point_of_the_box_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """How the mean was found does not matter: a poor one loses, and proves nothing false."""
    rng = np.random.default_rng(5)

    def poor(*given: np.ndarray) -> np.ndarray:
        good, (low, high) = right(*given), given[-2:]
        return exact.fractions(
            np.clip(good.astype(float) + 10.0 ** rng.uniform(-9, 0) * rng.normal(size=len(good)), low, high)
        )

    right = exact._near_best
    monkeypatch.setattr(exact, "_near_best", poor)
    found = []
    for seed in range(150):
        problem = random_problem(
            np.random.default_rng([seed, 83]), max_samples=6, features=BOUNDED - {Feature.ESTIMATORS}
        )
        found += costs(problem, rng, 4) if covers(problem) else []
    check(found, 0.1)
