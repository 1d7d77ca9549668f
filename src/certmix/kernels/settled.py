"""Groups whose component is decided, as sums: a node of the interval search works on the others only.

A node carries which groups are left, and for every component the weight, the sum and the cost of its settled members.
Work in the node is then proportional to what is left, however many samples there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certmix.kernels.arrays import Arrays
from certmix.kernels.candidates import ONE, candidates, component_of
from certmix.kernels.compiled import njit
from certmix.kernels.mass import add_mass, mass_of


class Rest(NamedTuple):
    """What is left of a node, and the sums over everything else."""

    groups: np.ndarray  # the first ``left[0]`` are the groups that are not settled, in no order
    left: np.ndarray  # (1,)
    weight: np.ndarray  # (K,) of the settled members
    mass: np.ndarray  # (K,) or (K, d)
    points: np.ndarray  # (K, d) sum of mass times point, in the component's own coordinates
    cost: np.ndarray  # (K,) sum of mass/2 |point|^2 + scatter


def unsettled(arrays: Arrays) -> Rest:
    """Nothing is settled yet."""
    K, d = arrays.gamma.shape
    N = len(arrays.weight)
    load = np.zeros((K, *arrays.mass.shape[1:]))
    return Rest(np.arange(N), np.array([N]), np.zeros(K), load, np.zeros((K, d)), np.zeros(K))


def rest_of(mask: np.ndarray, arrays: Arrays) -> Rest:
    """Everything that is decided, settled."""
    rest = unsettled(arrays)
    settle(mask, arrays, rest)
    return rest


@njit()
def settle(mask, arrays, rest):
    """Move the groups that have become decided into the sums."""
    points, mass, groups, sums = arrays.points, arrays.mass, rest.groups, rest.points
    left = 0
    for u in range(rest.left[0]):
        g = groups[u]
        if candidates(mask, g) != ONE:
            groups[left] = g
            left += 1
            continue
        k = component_of(mask, g)
        c = arrays.system[k]
        w = arrays.weight[g]
        square = 0.0
        for j in range(sums.shape[1]):
            x = points[c, g, j]
            m = mass_of(mass, g, j)
            sums[k, j] += m * x
            square += m * (x * x)
        rest.weight[k] += w
        add_mass(rest.mass, k, 1.0, mass, g)
        rest.cost[k] += 0.5 * square + arrays.scatter[c, g]
    rest.left[0] = left


@njit()
def sorted_rest(mask, arrays, rest):
    """(C, d, left): the groups that are left, sorted by every coordinate."""
    C, N, d = arrays.points.shape
    order = np.empty((C, d, rest.left[0]), dtype=np.int64)
    for c in range(C):
        for j in range(d):
            u = 0
            for step in range(N):
                g = arrays.order[c, j, step]
                if candidates(mask, g) != ONE:
                    order[c, j, u] = g
                    u += 1
    return order
