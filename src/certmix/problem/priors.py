"""Priors on the means and the weights, known up to their normalising constants."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from certmix.errors import InputError
from certmix.problem.covariance import frozen, numbers, positive_definite, symmetric
from certmix.problem.symmetric_matrices import Matrices


@dataclass(frozen=True)
class GaussianPrior:
    """``mu_k ~ Gaussian(mean, covariance)``.

    Parameters
    ----------
    mean : number, array of shape (d,), or (K, d) for one per component
    covariance : number (times the identity), array of shape (d, d), or (K, d, d)
    """

    mean: Any = 0.0
    covariance: Any = 1.0


@dataclass(frozen=True)
class DirichletPrior:
    """``pi ~ Dirichlet(alpha)``, with alpha one number or one for each component."""

    alpha: Any = 1.0


@dataclass(frozen=True)
class JeffreysPrior:
    """Dirichlet(1/2) on the weights, flat on the means."""


PriorLike = str | GaussianPrior | DirichletPrior | JeffreysPrior | None


@dataclass(frozen=True)
class Prior:
    """All priors together, as arrays.

    Attributes
    ----------
    alpha : ndarray of shape (K,); ones when the weights have a flat prior
    mean : ndarray of shape (K, d)
    precision : Matrices, K of them; zeros when the means have a flat prior
    """

    alpha: np.ndarray
    mean: np.ndarray
    precision: Matrices

    @property
    def on_means(self) -> bool:
        return bool(np.any(self.precision.entries))

    @property
    def on_weights(self) -> bool:
        return bool(np.any(self.alpha != 1.0))


def combine_priors(
    prior: PriorLike | Prior | Iterable[PriorLike], n_components: int, n_features: int
) -> Prior:
    """Validate one prior or several (one on the means, one on the weights) into arrays."""
    if isinstance(prior, Prior):
        return _taken_over(prior, n_components, n_features)
    one = prior is None or isinstance(prior, (str, GaussianPrior, DirichletPrior, JeffreysPrior))
    parts: Any = [prior] if one else prior
    alpha = np.ones(n_components)
    mean = np.zeros((n_components, n_features))
    precision = Matrices(mean)
    seen: set[str] = set()
    try:
        parts = list(parts)
    except TypeError:
        raise InputError(f"unknown prior {prior!r}") from None
    for part in parts:
        if part is None or part == "flat":
            continue
        if part == "jeffreys" or isinstance(part, JeffreysPrior):
            part = DirichletPrior(0.5)
        target = "means" if isinstance(part, GaussianPrior) else "weights"
        if target in seen:
            raise InputError(f"two priors on the {target} were given; one is enough")
        seen.add(target)
        if isinstance(part, GaussianPrior):
            mean, precision = _gaussian(part, n_components, n_features)
        elif isinstance(part, DirichletPrior):
            alpha = _dirichlet(part, n_components)
        else:
            raise InputError(
                f"unknown prior {part!r}; use 'flat', 'jeffreys', GaussianPrior or DirichletPrior"
            )
    return Prior(frozen(alpha), frozen(mean), precision)


def _taken_over(found: Prior, n_components: int, d: int) -> Prior:
    """The prior of another problem (:meth:`Problem.replace`); a flat part fits every shape."""
    flat = np.zeros((n_components, d))
    alpha = found.alpha if found.on_weights else np.ones(n_components)
    mean, precision = (found.mean, found.precision) if found.on_means else (flat, Matrices(flat))
    if alpha.shape != (n_components,) or mean.shape != (n_components, d):
        raise InputError("the prior is that of a problem with other features or components")
    return Prior(frozen(alpha), frozen(mean), precision)


def _dirichlet(prior: DirichletPrior, n_components: int) -> np.ndarray:
    alpha = numbers(prior.alpha, "the Dirichlet prior's alpha")
    if alpha.ndim > 1 or (alpha.ndim == 1 and alpha.shape[0] != n_components):
        raise InputError(f"the Dirichlet prior needs one alpha or {n_components}; it has shape {alpha.shape}")
    if np.any(alpha <= 0):
        raise InputError(f"the Dirichlet prior's alpha must be positive, got {alpha.min():g}")
    return np.broadcast_to(alpha, (n_components,)).copy()


def _gaussian(prior: GaussianPrior, n_components: int, d: int) -> tuple[np.ndarray, Matrices]:
    mean = numbers(prior.mean, "the Gaussian prior's mean")
    if mean.shape not in ((), (d,), (n_components, d)):
        raise InputError(
            f"the Gaussian prior's mean must be one number, {d} numbers, or a ({n_components}, {d}) array; "
            f"it has shape {mean.shape}"
        )
    covariance = numbers(prior.covariance, "the Gaussian prior's covariance")
    if covariance.shape not in ((), (d, d), (n_components, d, d)):
        raise InputError(
            f"the Gaussian prior's covariance must be one number, a ({d}, {d}) or a "
            f"({n_components}, {d}, {d}) array; it has shape {covariance.shape}"
        )
    if covariance.ndim == 0:
        if covariance <= 0:
            raise InputError(f"the variance of the Gaussian prior must be positive, not {covariance:g}")
        precision = Matrices(np.full((n_components, d), 1.0 / covariance))
    else:
        stack = np.broadcast_to(covariance, (n_components, d, d))
        checked = [positive_definite(s, "the Gaussian prior's covariance") for s in stack]
        precision = Matrices(np.stack([symmetric(np.linalg.inv(s)) for s in checked]))
    return np.broadcast_to(mean, (n_components, d)).copy(), precision
