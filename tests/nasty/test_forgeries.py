"""A forger who knows the checker: whatever it calls verified is true, in exact arithmetic."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from bounded_instances import FAMILIES, bounded_problem
from exact_optimum import exact_optimum, exact_value

from certmix.certificate.statement import state
from certmix.errors import InfeasibleError
from certmix.problem import Problem
from certmix.problem.satisfaction import satisfied
from certmix.verify import statement as statements
from certmix.verify.check import VERSION, check
from certmix.verify.domain import Domain
from certmix.verify.enumeration import enumerate_all
from certmix.verify.evidence import Evidence, Rejected
from certmix.verify.root import Root
from certmix.verify.statement import data_digest, digest

STEPS = [0.0, 1e-16, 1e-15, 1e-13, 1e-11, 0.9e-9, 2e-9, 1e-3]


def forgeries(
    problem: Problem, rng: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Labels with means and weights that are too good: on the edges of what is allowed and beyond them."""
    n, K = problem.n_samples, problem.n_components
    free = problem.replace(mean_bounds=None, weight_bounds=None, estimators=())
    for _ in range(12):
        labels = rng.integers(K, size=n)
        best = free.objective.best(labels)
        try:
            good = problem.objective.best(labels)
        except InfeasibleError:
            good = best
        for step in rng.choice(STEPS, size=3):
            size = rng.choice(
                [np.abs(good.means), 1.0 + np.abs(good.means), np.ptp(problem.data, axis=0) + 0 * good.means]
            )
            towards = np.sign(best.means - good.means) + rng.integers(-1, 2, size=good.means.shape) * (
                rng.random() < 0.2
            )
            means = good.means + step * size * towards
            if step == 1e-16:
                means = np.nextafter(good.means, good.means + towards * np.abs(problem.data).max())
            slip = rng.choice(STEPS) * rng.choice([-1.0, 1.0], size=K)
            weights = rng.choice(
                [
                    good.weights,
                    best.weights,
                    good.weights + slip,
                    good.weights * (1.0 + abs(slip)),
                    np.nextafter(good.weights, np.inf),
                    np.bincount(labels, minlength=K) / n,
                ]
            )
            yield labels, means, np.abs(weights)
        yield labels, best.means, good.weights
        yield labels, good.means, good.weights


def document(problem: Problem, **claim: Any) -> dict[str, Any]:
    entry = state(problem)
    return {
        "format": "certmix-certificate",
        "digests": {"statement": digest(entry), "data": data_digest(problem.data)},
        "component_names": list(problem.component_names),
        "steps": [{"node": 0, "kind": "enumerate"}],
        "statement": entry,
        **claim,
    }


TREE = {
    "tree/parent": np.array([-1]),
    "tree/kind": np.array([0]),
    "tree/args": np.zeros((1, 3), dtype=int),
}


def proved(problem: Problem) -> float:
    """What the checker's own enumeration proves."""
    try:
        root = Root(statements.read(state(problem)), problem.data)
    except Rejected:
        return -math.inf
    domain = Domain.of(root)
    return enumerate_all(root, domain, Evidence({}, {}), 0.0) if domain.propagate(root) else math.inf


def attack(family: str, seed: int) -> tuple[list[str], int]:
    """False claims that the checker believes, and how many true ones it does."""
    rng = np.random.default_rng([seed, FAMILIES.index(family), 81])
    problem = bounded_problem(family, rng)
    exact, found, believed = exact_optimum(problem), [], 0
    claim = document(problem, version=VERSION, claim="infeasible", objective=None, bound=None)
    if check(claim, TREE, problem.data).verified and exact.labels is not None:
        found.append("called infeasible")
    bound = proved(problem)
    for labels, means, weights in forgeries(problem, rng):
        with np.errstate(all="ignore"):
            objective = problem.objective.value(labels, means, weights)
        if not math.isfinite(objective):
            continue
        arrays = {
            "incumbent/labels": labels,
            "incumbent/means": means,
            "incumbent/weights": weights,
            **TREE,
        }
        true = exact_value(problem, labels)
        if not satisfied(problem, labels).all() or (not problem.allow_empty and len(set(labels)) < 2):
            true = Decimal("Infinity")
        claims = {objective, math.nextafter(objective, -math.inf), bound, math.nextafter(bound, math.inf)}
        for said in filter(math.isfinite, claims):
            verdict = check(
                document(
                    problem, version=VERSION, claim="bound", objective=objective, bound=min(said, objective)
                ),
                arrays,
                problem.data,
            )
            believed += verdict.verified
            if verdict.verified and Decimal(verdict.value) < true:
                found.append(f"value {verdict.value!r}, truly {true:.20g}")
            if verdict.verified and Decimal(verdict.bound) > exact.value:
                found.append(f"bound {verdict.bound!r}, optimum {exact.value:.20g}")
    return [f"{family} {seed}: {text}" for text in found], believed


def run(family: str, seeds: range) -> None:
    results = [attack(family, seed) for seed in seeds]
    assert not (found := [text for texts, _ in results for text in texts]), "\n".join(found)
    assert sum(believed > 0 for _, believed in results) >= len(seeds) // 4, "nothing true is believed either"


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_verified_is_true(family: str) -> None:
    """Neither a value below the exact one of its clustering nor a bound above the exact optimum passes."""
    run(family, range(4))


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_verified_is_true_of_many(family: str) -> None:
    """The same on a hundred problems of every family, fifty and more forgeries each."""
    run(family, range(100, 200))
