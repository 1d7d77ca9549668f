"""Noise: one more component, the last, without a mean. A sample in it costs the same wherever it lies.

Everything else sees a component whose precision is zero: distances in it are zero, and what a sample costs is in
``half_log_det``, where the normalising constants of the other components are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from certmix.errors import InputError
from certmix.hints import did_you_mean
from certmix.problem.constraints import NOISE as NAME
from certmix.problem.covariance import Covariance, frozen
from certmix.problem.priors import Prior
from certmix.problem.samples import Samples
from certmix.problem.symmetric_matrices import Matrices

LABEL = -1  # of samples in the noise, where people see labels
KINDS = ("auto", "trimmed")
KNOWN = "with noise the variance must be known: give variance, precision or covariance (--variance V)"
ENDLESS = (
    "noise costs nothing in k-means: say how many samples it may have, fewer than all, with noise_max, --noise-max or "
    f"MaximumSize(m, {NAME!r})"
)


@dataclass(frozen=True)
class Noise:
    """How dense the noise is.

    Attributes
    ----------
    log_density : float, or None
        The logarithm of the density that every sample has there; None for k-means, where noise costs nothing.
    """

    log_density: float | None

    def cost(self, n_features: int) -> float:
        """What one sample costs beside its weight, less the constant that every sample has in all components."""
        if self.log_density is None:
            return 0.0
        return -self.log_density - 0.5 * n_features * math.log(2.0 * math.pi)


def noise_of(given: Any, samples: Samples, *, squares: bool) -> Noise | None:
    """Validate what was given: a density, ``"auto"`` (uniform over the box around the samples), or for k-means
    ``"trimmed"``.
    """
    if given is None or isinstance(given, Noise):
        return given
    if squares:
        if isinstance(given, str) and given == "trimmed":
            return Noise(None)
        raise InputError(
            f"noise costs nothing in k-means and has no density: noise='trimmed' and a limit on its size, not {given!r}"
        )
    if isinstance(given, str):
        if given == "auto":
            return Noise(-_log_volume(samples))
        if given == "trimmed":
            raise InputError(
                "noise that costs nothing is for k-means (weights='none'); give its density, or 'auto'"
            )
        raise InputError(f"noise must be a density or 'auto', not {given!r}{did_you_mean(given, KINDS)}")
    try:
        density = float(given)
    except (TypeError, ValueError):
        raise InputError(f"noise must be a density or 'auto', not {given!r}") from None
    if isinstance(given, bool) or not (math.isfinite(density) and density > 0.0):
        raise InputError(f"the density of the noise must be a positive number, not {given!r}")
    return Noise(math.log(density))


def _log_volume(samples: Samples) -> float:
    """The logarithm of the volume of the box around the samples."""
    width = np.ptp(samples.values, axis=0)
    flat = np.flatnonzero(width <= 0.0)
    if len(flat):
        raise InputError(
            f"noise 'auto' is uniform over the box around the samples, and that has no volume: "
            f"{samples.feature(int(flat[0]))} is the same for all; leave it out, or give a density"
        )
    return float(np.log(width).sum())


def beside_noise(covariance: Covariance, noise: Noise) -> Covariance:
    """The covariance of clusters, with noise as one more component; that of a problem with noise as it is."""
    if covariance.unknown:
        raise InputError(KNOWN)
    if covariance.without_mean.any():
        return covariance
    clusters, entries = len(covariance.half_log_det), covariance.precision.entries
    own = np.repeat(entries, clusters, axis=0) if covariance.shared else entries
    half = covariance.half_log_det
    if covariance.shared and noise.log_density is not None:  # no longer the same for every clustering
        half = np.full(clusters, -0.5 * covariance.precision.log_determinant(0))
    return Covariance(
        Matrices(np.concatenate([own, np.zeros((1, *own.shape[1:]))])),
        frozen(np.append(half, noise.cost(entries.shape[1]))),
        True,
    )


def prior_beside_noise(prior: Prior) -> Prior:
    """The prior of clusters; the weight of the noise has a flat one, and it has no mean."""
    entries = prior.precision.entries
    return Prior(
        frozen(np.append(prior.alpha, 1.0)),
        frozen(np.concatenate([prior.mean, np.zeros((1, prior.mean.shape[1]))])),
        Matrices(np.concatenate([entries, np.zeros((1, *entries.shape[1:]))])),
    )


def without_noise(value: Any) -> Any:
    """A covariance or prior without the part of the noise; anything else as it is."""
    if isinstance(value, Covariance) and value.without_mean.any():
        entries, half = value.precision.entries[:-1], value.half_log_det[:-1]
        if value.alike:  # then constants are the same for every clustering, and left out
            entries, half = entries[:1], np.zeros(len(half))
        return Covariance(Matrices(entries), frozen(half), not value.alike)
    if isinstance(value, Prior):
        return Prior(value.alpha[:-1], value.mean[:-1], Matrices(value.precision.entries[:-1]))
    return value
