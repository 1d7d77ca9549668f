r"""The metrics of Table 2 and of the PAM50 experiment, after :mod:`certmix.paper.study.alignment`."""

from __future__ import annotations

import numpy as np


def weight_error(weights: np.ndarray, truth: np.ndarray) -> float:
    r""":math:`\sup_k |\hat\pi_k - \pi_k|`."""
    return float(np.abs(weights - truth).max())


def mean_error(means: np.ndarray, truth: np.ndarray) -> float:
    r""":math:`\|\hat\mu - \mu\|_2` of the (K, d) matrices: the spectral norm.

    The paper does not say which norm; only this one gives what it prints for its optimal clustering of wine.
    """
    return float(np.linalg.norm(means - truth, ord=2))


def mean_error_frobenius(means: np.ndarray, truth: np.ndarray) -> float:
    """The same difference in the Frobenius norm, the length of all coordinates as one vector."""
    return float(np.linalg.norm(means - truth))


def assignment_error(labels: np.ndarray, target: np.ndarray) -> float:
    r""":math:`\frac1n \sum_i \sup_k |\hat z_{ik} - z_{ik}|`: for integral z the share of samples in another class."""
    return 1.0 - accuracy(labels, target)


def accuracy(labels: np.ndarray, target: np.ndarray) -> float:
    """Share of the samples of known class (not -1) that have their class."""
    known = target >= 0
    return concordance(labels[known], target[known])


def concordance(first: np.ndarray, second: np.ndarray) -> float:
    """Share of samples on which two assignments agree."""
    return float(np.mean(first == second))
