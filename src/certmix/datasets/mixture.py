"""The paper's generative model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from certmix.datasets.dataset import Dataset, checked_number
from certmix.errors import InputError


def mixture(
    n: int = 300,
    d: int = 2,
    k: int = 3,
    separation: float = 4.0,
    weights: Sequence[float] | None = None,
    seed: int = 0,
) -> Dataset:
    r"""Samples from a Gaussian mixture: :math:`Z_i \sim` Categorical(pi), :math:`Y_i | z_i \sim`
    Gaussian(mu_{z_i}, I).

    Parameters
    ----------
    n, d, k : int
        Samples, dimensions, components.
    separation : float
        Distance of the two closest means, in standard deviations; the means are drawn and then scaled to it.
    weights : sequence of k numbers, optional
        Mixing weights; equal by default.
    seed : int
    """
    n, d = checked_number(n, "n", 2), checked_number(d, "d", 1)
    k, seed = checked_number(k, "k", 1), checked_number(seed, "seed", 0)
    if not 0 <= separation < np.inf:
        raise InputError(f"the separation must be a number >= 0, not {separation!r}")
    pi = np.full(k, 1.0 / k) if weights is None else np.asarray(weights, dtype=float)
    if pi.shape != (k,) or np.any(pi < 0) or abs(pi.sum() - 1) > 1e-6:
        raise InputError(f"weights must be {k} numbers >= 0 that add up to 1")
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(k, d))
    if k > 1:
        pairs = np.triu_indices(k, 1)
        means *= separation / np.linalg.norm(means[pairs[0]] - means[pairs[1]], axis=1).min()
    target = rng.choice(k, size=n, p=pi / pi.sum())
    return Dataset(
        name="mixture",
        description=f"Gaussian mixture, closest means {separation:g} standard deviations apart (seed {seed})",
        data=means[target] + rng.normal(size=(n, d)),
        feature_names=tuple(f"x{j}" for j in range(d)),
        n_components=k,
        target=target,
        target_names=tuple(f"component {c}" for c in range(k)),
        variance=1.0,
    )
