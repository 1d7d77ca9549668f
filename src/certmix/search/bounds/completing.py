"""Clusterings from sets of groups that are nearly disjoint, as multipliers bring them up."""

from __future__ import annotations

import math
from threading import Lock

import numpy as np

from certmix.kernels.arrays import Arrays
from certmix.local.moves import LocalSearch
from certmix.presolve.instance import Instance
from certmix.problem import is_feasible


class Completion:
    """What is in no set goes to the nearest one, then local search."""

    def __init__(self, instance: Instance, arrays: Arrays) -> None:
        self.instance, self.arrays = instance, arrays
        self._local, self._improving = LocalSearch(instance), Lock()

    def __call__(self, sets: list[tuple[np.ndarray, int]], allowed: np.ndarray) -> np.ndarray | None:
        """Labels from (members, component), where groups may take these components, (N, K); None if there are none."""
        instance, arrays, mass = self.instance, self.arrays, self.instance.mass
        decided, costs = allowed.sum(axis=1) == 1, np.full(allowed.shape, math.inf)
        for members, k in sets:
            points, inside = arrays.points[arrays.system[k]], members | (decided & allowed[:, k])
            if not inside.any():
                return None
            load = mass[inside].sum(axis=0)
            mean = (mass[inside] * points[inside]).sum(axis=0)
            gap = points - mean / np.where(load > 0, load, 1.0)
            costs[:, k] = 0.5 * np.einsum("ij,ij->i", mass * gap, gap)
            costs[inside, k] = -1.0
        costs[~allowed] = math.inf
        labels = instance.expand(costs.argmin(axis=1))
        if not np.all(np.isfinite(costs.min(axis=1))) or not is_feasible(instance.problem, labels):
            return None
        with self._improving:
            return instance.expand(self._local.improve(instance.contract(labels))[0])
