"""Random problems with missing values and weights of samples, made of others."""

from __future__ import annotations

from typing import Any

import numpy as np

from certmix.problem import GaussianPrior, Problem
from certmix.problem.masses import RealWeights


def with_masses(problem: Problem, rng: np.random.Generator) -> Problem:
    """The same data and side constraints with values missing, or any weights of samples, or both.

    Covariances and priors on means become diagonal where they have to, estimators go.
    """
    p, n, d = problem, problem.n_samples, problem.n_features
    K = p.n_clusters
    missing = d > 1 and rng.random() < 0.75
    real = not missing or rng.random() < 0.4
    changes: dict[str, Any] = {"estimators": ()}
    data = np.array(p.samples.original.values)
    if missing:
        gaps = rng.random(data.shape) < rng.choice([0.1, 0.3, 0.6])
        gaps[np.arange(len(data)), rng.integers(d, size=len(data))] = False
        gaps[0] &= ~gaps.all(axis=0)
        data[gaps] = np.nan
        changes["missing"] = "keep"
    spread = float(np.nanvar(data)) or 1.0
    if missing or p.has_mean_box or rng.random() < 0.7:
        shape = (K, d) if rng.random() < 0.4 else (d,)
        variances = spread * 10.0 ** rng.uniform(-1.5, 0.5) * rng.uniform(0.3, 3.0, shape)
        if len(shape) == 1:
            changes["covariance"] = variances
        else:
            changes["covariance"] = np.stack([np.diag(row) for row in variances])
    if p.prior.on_means and not p.prior.precision.diagonal:
        mean = rng.uniform(p.data.min(axis=0), p.data.max(axis=0), size=(K, d))
        changes["prior"] = GaussianPrior(mean, spread * rng.uniform(0.2, 5.0))
    if rng.random() < 0.3 and not p.prior.on_means and not p.prior.on_weights:
        changes |= {"weights": "none", "weight_bounds": None, "prior": None}
        changes.pop("covariance", None)
    elif real and p.fixed_weights is None:
        changes |= {"weight_bounds": None}
        changes["weights"] = (
            "uniform" if rng.random() < 0.5 else rng.dirichlet(np.full(K, 2.0)) * 0.9 + 0.1 / K
        )
    if real:
        weight = rng.choice(
            [rng.uniform(0.1, 3.0, n), rng.integers(1, 4, n) * 0.5, rng.exponential(size=n) + 1e-3]
        )
        changes["sample_weight"] = RealWeights(weight)
    return p.replace(data=data, **changes)
