"""Scores of a clustering against the known classes of its data set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from certmix.datasets import Dataset
from certmix.paper.study import metrics
from certmix.paper.study.alignment import aligned, reordered

# metric of Table 2 -> its name and its decimals
METRICS = {
    "objective": ("-log MAP", 2),
    "lower_bound": ("LBD", 2),
    "weights": ("sup abs(pi-hat - pi)", 3),
    "means": ("norm of mu-hat - mu", 3),
    "assignment": ("mean TV of z", 3),
}


@dataclass(frozen=True)
class Scores:
    """The metrics of Table 2, and the labels as classes."""

    weights: float
    means: float
    means_frobenius: float
    assignment: float
    classes: np.ndarray


def scored(dataset: Dataset, labels: Any, means: Any, weights: Any) -> Scores:
    """Align the components with the true classes and measure.

    The truth is what the classes of the data set are: their shares, their averages, the class of every sample.
    """
    assert dataset.target is not None
    target, K = dataset.target, dataset.n_components
    labels, means, weights = np.asarray(labels), np.asarray(means), np.asarray(weights)
    order = aligned(labels, target, K)
    shares = np.bincount(target, minlength=K) / len(target)
    averages = np.stack([dataset.data[target == k].mean(axis=0) for k in range(K)])
    return Scores(
        weights=metrics.weight_error(reordered(weights, order), shares),
        means=metrics.mean_error(reordered(means, order), averages),
        means_frobenius=metrics.mean_error_frobenius(reordered(means, order), averages),
        assignment=metrics.assignment_error(order[labels], target),
        classes=order[labels],
    )
