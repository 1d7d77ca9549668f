"""Between which multipliers a clustering keeps its groups."""

from __future__ import annotations

import numpy as np

from certmix.local.hard_em import hard_em
from certmix.presolve.instance import reduce
from certmix.problem import Problem
from certmix.search.bounds import dual
from certmix.search.bounds.between import between
from certmix.search.bounds.dual import DualBound
from tuned import tuned


def test_groups_that_are_alone_where_something_has_to_be_may_be_worth_little() -> None:
    """Four components for two clusters: optimal multipliers, from an ascent without the box, are inside of it."""
    rng = np.random.default_rng([300, 2, 4, 1])
    means = 2.0 * rng.normal(size=(4, 2))
    data = means[rng.integers(4, size=300)] + rng.normal(size=(300, 2))
    instance = reduce(Problem(data, 4, variance=1.0))
    found = hard_em(instance)
    assert found is not None
    labels = instance.expand(found.labels)
    assert sorted(np.bincount(labels))[:2] == [1, 1]
    for most in (0, dual.TUNING.most_groups):
        with tuned(dual, most_groups=most):
            bound = DualBound(instance, labels, allowed=1e-6 * found.value)
            bound.advance_root(found.value * (1.0 - 1e-6), np.inf)
        assert bound.root_bound >= found.value * (1.0 - 2e-6)
        ascent = bound.root_ascent
        assert ascent is not None
        low, high, first = between(bound.pricer, bound.partition, bound.root_classes())
        assert np.all(low - 0.01 <= ascent.best_t)
        assert np.all(ascent.best_t <= high + 0.01)
        assert np.all((low - 1e-9 <= first) & (first <= high + 1e-9))
