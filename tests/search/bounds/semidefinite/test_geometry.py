"""The interval bound as a second opinion on nodes of the semidefinite search."""

from __future__ import annotations

import math

import numpy as np

from brute_force import Clusterings
from certmix.presolve.instance import reduce
from certmix.problem import Problem
from certmix.search.bounds.semidefinite.contraction import Domain
from certmix.search.bounds.semidefinite.geometry import Geometry
from random_domains import inside, random_domain, small_instances


def named(domain: Domain, found: Clusterings) -> bool:
    return all(len(ks) == 1 for ks in domain.untouched(found.instance))


def test_no_optimal_clustering_is_lost_and_no_bound_too_high() -> None:
    """In random named nodes around an optimum: it stays, or the bound or the decided labels are no worse than it."""
    looked = narrowed = 0
    for seed, found in small_instances(71_000, 150, 73, merged=0.3):
        rng = np.random.default_rng([seed, 74])
        best = int(np.argmin(found.objective))
        domain = random_domain(rng, found, best)
        if not named(domain, found) or not inside(found, domain)[best]:
            continue
        looked += 1
        optimum = float(found.objective[best])
        cutoff = optimum + float(rng.choice([1e-6, 0.1, 3.0]))
        before = domain.mask.copy()
        bound, labels = Geometry(found.instance).narrow(domain, cutoff)
        slack = 1e-9 * (1.0 + abs(optimum))
        assert bound <= optimum + slack, seed
        if labels is None:
            left = inside(found, domain) & (found.objective <= optimum + slack)
            assert left.any(), f"seed {seed}: no optimal clustering is left"
        narrowed += not np.array_equal(before, domain.mask)
    assert looked > 40, "named nodes"
    assert narrowed > 10, "nodes in which something was excluded"


def test_components_without_names_are_left_alone() -> None:
    """Boxes would say nothing where components can be exchanged, and without an incumbent there is no cutoff."""
    instance = reduce(Problem(np.arange(8.0)[:, None], 2))
    domain = Domain(np.full(8, 3, dtype=np.int64), np.ones(2), np.full(2, 7.0), np.zeros((8, 8), dtype=bool))
    assert Geometry(instance).narrow(domain, 50.0) == (-math.inf, None)
    domain.mask[0], domain.mask[7] = 1, 2
    assert Geometry(instance).narrow(domain, math.inf) == (-math.inf, None)
    assert np.all(domain.mask[1:7] == 3)


def test_well_separated_clusters_are_decided_at_once() -> None:
    """With one member named in each of two distant clusters everything else follows."""
    rng = np.random.default_rng(3)
    data = np.concatenate([rng.normal(size=(30, 6)), 9.0 + rng.normal(size=(30, 6))])
    problem = Problem(data, 2)
    labels = np.repeat([0, 1], 30)
    mask = np.full(60, 3, dtype=np.int64)
    mask[:20], mask[30:50] = 1, 2
    domain = Domain(mask, np.ones(2), np.full(2, 59.0), np.zeros((60, 60), dtype=bool))
    value = problem.objective.best(labels).value
    bound, only = Geometry(reduce(problem)).narrow(domain, value + 1.0)
    assert only is not None
    assert np.array_equal(only, labels)
    assert bound <= value
    assert bound >= value - 1e-6
