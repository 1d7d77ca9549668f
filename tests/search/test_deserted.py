"""A node in which a component has lost its last candidate."""

from __future__ import annotations

import math

import numpy as np

from certmix.presolve.instance import reduce
from certmix.problem import Problem
from certmix.search.bounds.dual import DualBound
from certmix.search.nodes import Nodes


def test_a_component_without_candidates_closes_its_node() -> None:
    """Fixing by cost may take a component's last candidate; then nothing better than the cutoff is in the node."""
    rng = np.random.default_rng(0)
    problem = Problem(rng.normal(size=(8, 2)), 2)
    labels = np.arange(8) % 2
    bound = DualBound(reduce(problem), labels, allowed=1e-3, fewest=2)
    fields = dict(bound.root().fields)
    fields["mask"] = fields["mask"] & ~np.int8(1)  # nobody may be in component 0
    found = bound._lagrangian(Nodes(fields), 0, 100.0, at_root=False)
    assert found is not None
    assert found[0] == math.inf
