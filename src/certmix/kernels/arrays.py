"""What the compiled search reads of an instance (:func:`certmix.presolve.arrays.instance_arrays` lays it out)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Arrays(NamedTuple):
    """What the kernels read; C coordinate systems, K components, N groups, d dimensions, n samples."""

    points: np.ndarray  # (C, N, d)
    system: np.ndarray  # (K,) coordinate system of every component
    scatter: np.ndarray  # (C, N)
    weight: np.ndarray  # (N,) float: samples
    mass: np.ndarray  # (N,) or (N, d): how much every coordinate counts
    counted: bool  # as often as there are samples
    gamma: np.ndarray  # (K, d) precision of the prior on the means
    prior_mean: np.ndarray  # (K, d)
    box_lower: np.ndarray  # (K, d) the user's box
    box_upper: np.ndarray  # (K, d)
    entropy: np.ndarray  # (K, n + 1)
    concave: np.ndarray  # (K,) bool: is the entropy table concave?
    size_lower: np.ndarray  # (K,) float
    size_upper: np.ndarray  # (K,) float
    order: np.ndarray  # (C, d, N) groups sorted by every coordinate
    movable: np.ndarray  # (N,) bool: in no coupling constraint, so exchange arguments hold
    allowance: float  # how much more than the best one a clustering that is looked for may cost
    plain_means: bool  # means are cluster means: no prior, no box
    conflict_start: np.ndarray  # (N + 1,)
    conflict_with: np.ndarray
    implications: np.ndarray  # (q, 3)
    count_start: np.ndarray  # (r + 1,)
    count_group: np.ndarray
    count_coefficient: np.ndarray
    count_component: np.ndarray  # (r,)
    count_low: np.ndarray
    count_high: np.ndarray
    classes: np.ndarray  # (K,)
    axis: int  # interchangeable components are ordered along this coordinate
    largest: float  # largest absolute coordinate
    stop: np.ndarray  # (1,) byte: when it is set, kernels return with what they have (certmix.stopping)
