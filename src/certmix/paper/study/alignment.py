"""Which component is which class: components carry no names of their own."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment


def aligned(labels: np.ndarray, target: np.ndarray, n_components: int) -> np.ndarray:
    """The class of every component, such that as many samples as possible keep their class.

    An assignment problem on the table of counts (Hungarian method). It uses the labels alone, neither means nor
    weights. Samples whose class is not known (-1) do not count. Where several ways keep equally many, the one that
    the solver meets first is taken, the same every time.

    Returns
    -------
    ndarray of n_components classes, a permutation
        Component k is class ``aligned[k]``; ``aligned[labels]`` are the labels as classes.
    """
    known = target >= 0
    counts = np.zeros((n_components, n_components))
    np.add.at(counts, (labels[known], target[known]), 1.0)
    return np.asarray(linear_sum_assignment(-counts)[1])


def reordered(rows: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Rows of components (means, weights) in the order of the classes they were given by :func:`aligned`."""
    return rows[np.argsort(classes)]
