"""Moving texts apart."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

from certmix.paper.study.drawing import spread


@pytest.mark.parametrize("seed", range(15))
def test_texts_are_apart_and_moved_as_little_as_possible(seed):
    """The order stays, neighbours are far enough apart, and no other such positions are closer to those wanted."""
    rng = np.random.default_rng(seed)
    wanted, least = rng.uniform(0, 4, int(rng.integers(1, 6))), 1.0
    found = np.array(spread(wanted.tolist(), least))
    order = np.argsort(wanted)
    assert all(b - a >= least - 1e-9 for a, b in pairwise(found[order]))
    rows = [{"type": "ineq", "fun": lambda v, i=i, j=j: v[j] - v[i] - least} for i, j in pairwise(order)]
    start = np.empty(len(wanted))
    start[order] = np.arange(len(wanted)) * 2.0
    best = minimize(lambda v: ((v - wanted) ** 2).sum(), start, constraints=rows, method="SLSQP", tol=1e-12)
    assert ((found - wanted) ** 2).sum() <= best.fun + 1e-6
