"""Parts of nasty problems in exact arithmetic: their optima never add up to more than the whole's, by nothing."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
from exact_optimum import covers, exact_optimum
from nasty_instances import FAMILIES, nasty_problem

from certmix.presolve.groups import group_samples
from certmix.problem.restriction import Restriction, partition_refusal
from random_instances import random_problem

DIGITS = Decimal("1e-50")  # of the sixty that logarithms are computed with


def check(problem: object, rng: np.random.Generator) -> bool:
    """Whether there was anything to check."""
    if not covers(problem) or partition_refusal(problem):
        return False
    whole = exact_optimum(problem)
    if whole.labels is None:
        return False
    of = rng.integers(0, rng.integers(1, 4), group_samples(problem).of.max() + 1)[group_samples(problem).of]
    restriction = Restriction(problem)
    parts = [restriction.part(np.flatnonzero(of == t)) for t in np.unique(of)]
    if not all(map(covers, parts)):
        return False
    found = [exact_optimum(part).value for part in parts]
    with localcontext(prec=80):
        above = sum(found, -whole.value)
        assert above <= DIGITS * max(1, abs(whole.value))
    return True


@pytest.mark.parametrize("family", FAMILIES)
def test_parts_of_nasty_problems(family: str) -> None:
    """Scales, offsets, priors and weights at their worst."""
    place = FAMILIES.index(family)
    for seed in range(8):
        check(nasty_problem(family, np.random.default_rng([seed, place, 71])), np.random.default_rng(seed))


def test_parts_of_random_problems() -> None:
    """Every option that exact arithmetic covers."""
    rng = np.random.default_rng(72)
    assert sum(check(random_problem(rng, max_samples=6), rng) for _ in range(60)) > 15
