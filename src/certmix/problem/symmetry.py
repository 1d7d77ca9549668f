"""Which components are interchangeable?

Two components are interchangeable when swapping their labels leaves the problem as it is. No rule of the
problem mentions two components at once, so this holds when everything said about the one is also said about
the other. (Rules that say nothing, such as "at most 3 of 3 samples", are taken at their word: components that
differ only by such a rule count as different, which is safe.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from certmix.problem.problem import Problem


def interchangeable(problem: Problem) -> np.ndarray:
    """Class of every component, shape (K,): equal numbers mean interchangeable; numbered from 0."""
    rules = problem.rules
    classes: dict[tuple[object, ...], int] = {}
    out = np.empty(problem.n_components, dtype=np.int64)
    for k in range(problem.n_components):
        said: list[tuple[object, ...]] = []
        said += [("label", r.sample) for r in rules.labels if r.component == k]
        said += [("implies", r.sample, r.then) for r in rules.implications if r.component == k]
        said += [
            ("count", tuple(sorted(r.samples.tolist())), r.low, r.high)
            for r in rules.counts
            if r.component == k
        ]
        signature: tuple[object, ...] = (
            problem.covariance.precision.entries[0 if problem.covariance.shared else k].tobytes(),
            float(problem.covariance.half_log_det[k]),
            problem.prior.precision.entries[k].tobytes(),
            problem.prior.mean[k].tobytes() if problem.prior.precision.nonzero(k) else b"",
            float(problem.prior.alpha[k]),
            problem.mean_lower[k].tobytes(),
            problem.mean_upper[k].tobytes(),
            float(problem.weight_lower[k]),
            float(problem.weight_upper[k]),
            None if problem.fixed_weights is None else float(problem.fixed_weights[k]),
            int(problem.size_lower[k]),
            int(problem.size_upper[k]),
            tuple(sorted(set(said), key=repr)),
        )
        out[k] = classes.setdefault(signature, len(classes))
    return out


def in_order(classes: np.ndarray, means: np.ndarray) -> np.ndarray:
    """The component that takes each place: interchangeable ones by increasing mean."""
    old = np.arange(len(classes))
    for c in np.unique(classes):
        members = np.flatnonzero(classes == c)
        old[members] = members[np.lexsort(means[members].T[::-1])]
    return old
