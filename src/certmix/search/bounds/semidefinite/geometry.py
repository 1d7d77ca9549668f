"""What boxes around the means know of a node: the interval bound as a second opinion.

The semidefinite bound sees the Gram matrix only. Once every component has a name, the same node can be looked at with a
box for every mean (:mod:`certmix.kernels.interval`): means that the certain members and any candidates can have, and
exchange arguments, exclude components for groups, and sizes; sometimes its bound closes the node.
"""

from __future__ import annotations

import numpy as np

from certmix.presolve.instance import Instance
from certmix.search.bounds.interval import IntervalBound
from certmix.search.bounds.semidefinite.contraction import Domain


class Geometry:
    """The interval bound on nodes of the semidefinite search."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self._bound = IntervalBound(instance)
        # Names are given by members here, so components may not be put in order by their means as well.
        self._bound.arrays = self._bound.arrays._replace(classes=np.arange(instance.n_components))
        self._blank = self._bound.root().take(np.array([0]))

    def narrow(self, domain: Domain, cutoff: float) -> tuple[float, np.ndarray | None]:
        """Exclude what cannot be better than the cutoff, or is no optimum; the bound, infinite if nothing is left.

        Also the labels of the groups, if all are decided by now: the bound is that of this one clustering then.
        """
        if not np.isfinite(cutoff) or any(len(ks) > 1 for ks in domain.untouched(self.instance)):
            return -np.inf, None
        node = self._blank.take(np.array([0]))
        node["a"][0], node["b"][0] = domain.a, domain.b
        node["mask"][0] = domain.mask.astype(node["mask"].dtype)
        explored = self._bound.explore(node, cutoff)
        found = explored.nodes
        bound = float(found.bound[0])
        if len(explored.clusterings):
            return bound, self.instance.contract(explored.clusterings[0])
        if not explored.open[0]:
            return max(bound, cutoff), None
        domain.mask[:] = found["mask"][0].astype(np.int64)
        domain.a[:], domain.b[:] = found["a"][0], found["b"][0]
        return bound, None

    def leaf_value(self, labels: np.ndarray) -> float:
        """The bound of a decided node, after exchange arguments."""
        return self._bound.leaf_value(labels)
