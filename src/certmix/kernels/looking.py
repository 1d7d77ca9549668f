"""Where local search looks: at all groups, or at those of components that may not be as they were.

A perturbation changes little. Of many components most need not be looked at again, until something next to them has
moved: then they are opened.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certmix.kernels.compiled import njit


class Look(NamedTuple):
    """The groups that are looked at, and how components were when all of them were known."""

    groups: np.ndarray  # (N,) of which the first ``looked[0]`` are looked at: ...
    looked: np.ndarray
    opened: np.ndarray  # (K,) bool: ... those that are, or were, in these components
    block: np.ndarray  # (N,) the groups, component by component, as they were; ...
    start: np.ndarray  # (K + 1,) ... where these begin
    reach: np.ndarray  # (K,) how far from the mean of a component its groups were
    cost: np.ndarray  # (K,) what components cost, and ...
    kept: np.ndarray  # ... what they did


def everything(n_groups: int, n_components: int) -> Look:
    """All groups of a clustering of which nothing is known."""
    whole = np.int64
    return Look(
        np.arange(n_groups),
        np.array([n_groups]),
        np.ones(n_components, dtype=np.bool_),
        np.zeros(n_groups, dtype=whole),
        np.zeros(n_components + 1, dtype=whole),
        np.full(n_components, np.inf),
        np.zeros(n_components),
        np.zeros(n_components),
    )


@njit()
def look_everywhere(look):
    """All groups are looked at."""
    for g in range(look.groups.shape[0]):
        look.groups[g] = g
    look.looked[0] = look.groups.shape[0]
    look.opened[:] = True


@njit()
def look_nowhere(look):
    """No groups are looked at: they are as they were."""
    look.looked[0] = 0
    look.opened[:] = False
    look.cost[:] = look.kept


@njit()
def look_at(look, k):
    """The groups that were in component k are looked at, too."""
    if not look.opened[k]:
        look.opened[k] = True
        count = look.looked[0]
        for p in range(look.start[k], look.start[k + 1]):
            look.groups[count] = look.block[p]
            count += 1
        look.looked[0] = count


@njit()
def remember(look, label):
    """This is what components hold and cost from now on; their reach is somebody else's to say."""
    K = look.opened.shape[0]
    look.kept[:] = look.cost
    start = look.start
    start[:] = 0
    for g in range(label.shape[0]):
        start[label[g] + 1] += 1
    for k in range(K):
        start[k + 1] += start[k]
    for g in range(label.shape[0]):
        look.block[start[label[g]]] = g
        start[label[g]] += 1
    for k in range(K, 0, -1):
        start[k] = start[k - 1]
    start[0] = 0
