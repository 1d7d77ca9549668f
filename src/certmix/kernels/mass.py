"""How much the coordinates of a group count: all alike, ``mass`` of shape (N,), or each by itself, of shape (N, d).

Sums of masses, here called loads, are of shape (K,) or (K, d) likewise. How many axes an array has is known when a
kernel is compiled: what is not needed of these functions is not there when it runs. In sums over coordinates
``shared_mass`` stands before the sum and ``own_mass`` inside.
"""

from __future__ import annotations

import numpy as np

from certmix.kernels.compiled import njit

NOTHING = 1e-11  # of a load: running sums are rounded


@njit()
def mass_of(mass, g, j):
    """Of coordinate j of group g, or of a load."""
    return mass[g] if mass.ndim == 1 else mass[g, j]


@njit()
def shared_mass(mass, g):
    """The factor that all coordinates of a group share."""
    return mass[g] if mass.ndim == 1 else 1.0


@njit()
def own_mass(mass, g, j):
    """The factor that a coordinate has beside it."""
    return 1.0 if mass.ndim == 1 else mass[g, j]


@njit()
def add_mass(load, k, share, mass, g):
    """Add a share of a group's mass to a load."""
    if mass.ndim == 1:
        load[k] += share * mass[g]
    else:
        for j in range(mass.shape[1]):
            load[k, j] += share * mass[g, j]


@njit()
def take_mass(load, k, mass, g):
    """Take a group's mass from a load; nothing is left where only rounding would be."""
    if mass.ndim == 1:
        left = load[k] - mass[g]
        load[k] = left if left > NOTHING * load[k] else 0.0
    else:
        for j in range(mass.shape[1]):
            left = load[k, j] - mass[g, j]
            load[k, j] = left if left > NOTHING * load[k, j] else 0.0


def for_kernels(mass: np.ndarray) -> np.ndarray:
    """From (N, 1) or (N, d), as NumPy likes it, to (N,) or (N, d)."""
    return np.ascontiguousarray(mass[:, 0] if mass.shape[1] == 1 else mass)


def weighed(mass: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The sum of mass times x over groups, for every coordinate."""
    return np.asarray(mass @ x if mass.ndim == 1 else (mass * x).sum(axis=0))
