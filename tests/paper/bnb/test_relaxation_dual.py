"""What the branch and bound over assignments may cut away from a box: exactly what costs the cutoff."""

from __future__ import annotations

import numpy as np
import pytest

from certmix.paper.bnb.relaxation_dual import Decomposition, Domain, Dual
from certmix.presolve.instance import reduce
from certmix.problem import Problem


@pytest.mark.parametrize(("weight", "centre", "rest"), [(2.0, 0.0, 1.0), (1.0, 0.5, 0.08), (8.0, -1.0, 4.0)])
def test_a_mean_may_move_as_far_as_the_gap_pays(weight: float, centre: float, rest: float) -> None:
    """A mean that costs weight/2 times its squared distance stays within sqrt(2 gap / weight) of the minimiser."""
    parts = Decomposition(reduce(Problem(np.array([0.0, 1.0, 5.0])[:, None], 2, variance=1.0)))
    far = np.full((2, 1), 100.0)
    domain = Domain(-far, far.copy(), np.ones(2), np.full(2, 2.0), np.ones((3, 2), dtype=bool))
    full, at = np.full((2, 1), weight), np.full((2, 1), centre)
    dual = Dual(10.0, np.zeros((3, 2)), full, full * at, np.zeros((2, 1)), at)
    assert parts.tighten(domain, dual, 10.0 + rest)
    reach = np.sqrt(2.0 * rest / weight)
    assert np.all(domain.lo <= centre - reach)
    assert np.all(domain.hi >= centre + reach)
    assert domain.lo == pytest.approx(at - reach, abs=1e-6)
    assert domain.hi == pytest.approx(at + reach, abs=1e-6)
