"""Weights that are fixed, and the bounds on weights and means, validated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from certmix.errors import InputError
from certmix.problem.covariance import frozen, numbers
from certmix.problem.samples import Samples


def fixed_weights(weights: Any, n_components: int) -> np.ndarray | None:
    if weights is None:
        return None
    if isinstance(weights, str):
        if weights == "free":
            return None
        if weights == "uniform":
            return frozen(np.full(n_components, 1.0 / n_components))
        if weights == "none":  # log 1 = 0: they cost nothing
            return frozen(np.ones(n_components))
        raise InputError(
            f"weights must be 'free', 'uniform', 'none' or {n_components} numbers, not {weights!r}"
        )
    w = numbers(weights, "weights")
    if w.shape != (n_components,):
        raise InputError(
            f"weights must be {n_components} numbers, one for each component; got shape {w.shape}"
        )
    if np.any(w <= 0):
        raise InputError(f"weights must be positive; component {int(np.argmin(w))} has {w.min():g}")
    if abs(w.sum() - 1) > 1e-6:
        raise InputError(f"weights must add up to 1, but add up to {w.sum():.9g}")
    if abs(math.fsum((*w.tolist(), -1.0))) <= n_components * 2.0**-53:
        return frozen(w)  # as good as doubles can be
    return frozen(w / w.sum())


def refuse_beside_squares(**given: Any) -> None:
    """An error where k-means is given what it has no use for."""
    for name, value in given.items():
        if value is not None:
            raise InputError(
                f"weights 'none' is k-means, the sum of squares and nothing else: {name} has no place there"
            )


def _pair(bounds: Any, what: str) -> tuple[Any, Any]:
    try:
        lower, upper = bounds
    except (TypeError, ValueError):
        raise InputError(f"{what} must be a pair (lower, upper)") from None
    return lower, upper


def _side(value: Any, missing: float, shape: tuple[int, ...], what: str) -> np.ndarray:
    try:
        array = np.array(missing if value is None else value, dtype=np.float64)
        if np.any(np.isnan(array)):
            raise InputError(f"{what} holds a value that is not a number")
        if array.ndim == 1 and len(shape) == 2 and array.shape[0] == shape[0] and shape[1] == 1:
            array = array[:, None]  # one number per component in one dimension
        return np.broadcast_to(array, shape).copy()
    except InputError:
        raise
    except (TypeError, ValueError):
        raise InputError(f"{what} must be numbers that fit the shape {shape}; got {value!r}") from None


def weight_box(
    bounds: Any, K: int, fixed: np.ndarray | None, *, tied: bool, more: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Bounds on the weights of K components, and of ``more`` that have none."""
    if bounds is None:
        return frozen(np.zeros(K + more)), frozen(np.ones(K + more))
    low, high = _pair(bounds, "weight_bounds")
    lower = np.maximum(_side(low, 0.0, (K,), "the lower weight bound"), 0.0)
    upper = np.minimum(_side(high, 1.0, (K,), "the upper weight bound"), 1.0)
    for k in range(K):
        if lower[k] > upper[k]:
            raise InputError(
                f"weight_bounds exclude everything for component {k}: {lower[k]:g} > {upper[k]:g}"
            )
        if upper[k] <= 0:
            raise InputError(f"weight_bounds force the weight of component {k} to zero")
    lower, upper = np.append(lower, np.zeros(more)), np.append(upper, np.ones(more))
    if fixed is not None:
        outside = np.flatnonzero((fixed < lower) | (fixed > upper))
        if len(outside):
            k = int(outside[0])
            raise InputError(f"the fixed weight {fixed[k]:.17g} of component {k} lies outside weight_bounds")
    elif not tied:
        for side, array, sign in (("lower", lower, 1), ("upper", upper, -1)):
            beyond = sign * math.fsum((*array.tolist(), -1.0))
            if beyond > 0:
                total = f"{math.fsum(array):g}" if beyond > 1e-9 else f"1 {'+-'[sign < 0]} {beyond:.2g}"
                raise InputError(
                    f"weight_bounds exclude everything: the {side} bounds, as the doubles they are, add up to "
                    f"{total}; to fix weights, give them as weights"
                )
    return frozen(lower), frozen(upper)


def mean_box(bounds: Any, K: int, samples: Samples, more: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Bounds on the means of K components, and of ``more`` that have none."""
    d = samples.n_features
    if bounds is None:
        return frozen(np.full((K + more, d), -np.inf)), frozen(np.full((K + more, d), np.inf))
    low, high = _pair(bounds, "mean_bounds")
    lower = _side(low, -np.inf, (K, d), "the lower mean bound")
    upper = _side(high, np.inf, (K, d), "the upper mean bound")
    bad = np.argwhere((lower > upper) | (lower == np.inf) | (upper == -np.inf))
    if len(bad):
        k, j = bad[0]
        raise InputError(
            f"mean_bounds exclude everything for component {k}, {samples.feature(int(j))}: "
            f"{lower[k, j]:g} > {upper[k, j]:g}"
        )
    open_ends = np.full((more, d), np.inf)
    return frozen(np.concatenate([lower, -open_ends])), frozen(np.concatenate([upper, open_ends]))
