"""The reduced instance against the problem, both in exact arithmetic: no clustering costs more there than it may."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from exact_optimum import DIGITS, quadratic_cost
from nasty_instances import nasty_problem

from certmix.presolve.instance import Instance, reduce

FAMILIES = ("nearly singular", "own precisions", "offset", "heavy groups", "extreme priors")


def stored_cost(instance: Instance, labels: np.ndarray) -> Fraction:
    """The quadratic cost of a clustering of the groups, from the stored coordinates taken as exact."""
    total = Fraction(0)
    for k in range(instance.n_components):
        c = 0 if instance.shared else k
        groups = np.flatnonzero(labels == k)
        weight = [Fraction(int(w)) for w in instance.weight[groups]]
        total += sum((Fraction(float(s)) for s in instance.scatter[c, groups]), Fraction(0))
        for j in range(instance.n_features):
            gamma, prior = (
                Fraction(float(instance.prior_weight[k, j])),
                Fraction(float(instance.prior_mean[k, j])),
            )
            x = [Fraction(float(v)) for v in instance.points[c, groups, j]]
            full = sum(weight, gamma)
            if full == 0:
                continue
            mean = (sum((w * v for w, v in zip(weight, x, strict=True)), gamma * prior)) / full
            squares = sum(
                (w * (v - mean) ** 2 for w, v in zip(weight, x, strict=True)), gamma * (mean - prior) ** 2
            )
            total += squares / 2
    return total


def excess(family: str, seed: int) -> tuple[Decimal, Decimal]:
    """How far the reduced cost lies above the exact one at most, and how far it is allowed to."""
    rng = np.random.default_rng([seed, 64])
    problem = nasty_problem(family, rng)
    instance = reduce(problem)
    worst = Decimal("-Infinity")
    with localcontext() as context:
        context.prec = DIGITS
        for _ in range(12):
            labels = rng.integers(problem.n_components, size=instance.n_groups)
            stored = stored_cost(instance, labels)
            samples = instance.expand(labels)
            exact = sum(
                (quadratic_cost(problem, k, samples == k) for k in range(problem.n_components)), Decimal(0)
            )
            worst = max(worst, Decimal(stored.numerator) / Decimal(stored.denominator) - exact)
        return worst, Decimal(instance.error)


@pytest.mark.parametrize("family", FAMILIES)
def test_reduced_cost_exceeds_the_exact_one_by_no_more_than_its_error(family: str) -> None:
    """Whitening, merging and rotating to the prior's axes are accounted for."""
    above = 0
    for seed in range(12):
        most, allowed = excess(family, seed)
        assert most <= allowed, f"{family} {seed}: {most:.3e} above, {allowed:.3e} allowed"
        above += most > 0
    assert above, "the error has something to account for"
