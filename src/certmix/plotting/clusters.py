"""The clustering in two dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from certmix.errors import InputError
from certmix.plotting.style import axes_or_new, colour, marker

if TYPE_CHECKING:
    from certmix.result import Result


def plot_clusters(
    result: Result, *, data: Any = None, features: tuple[int, int] | None = None, axes: Any = None
) -> Any:
    """Plot samples coloured by component; the less certain a sample is, the larger its ring.

    Parameters
    ----------
    result : Result
        A loaded one will do.
    data : array-like of shape (n, d), optional
        The samples as they were clustered, where the result does not hold them (more than 50 MB are not saved).
    features : pair of int, optional
        Which two features to plot. Default: the only two, or the first two principal components; a single
        feature is plotted against the components.
    axes : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    if result.labels is None or result.means is None or result.posterior is None:
        raise InputError("there is no clustering to plot: " + result.sentence())
    samples = result.data if data is None else np.asarray(data, dtype=float)
    if samples is None:
        raise InputError("the result does not hold its samples; give them: plot_clusters(result, data=...)")
    expected = (len(result.labels), len(result.feature_names))
    if samples.shape != expected:
        raise InputError(
            f"the result is about {expected[0]} samples x {expected[1]} features, not {samples.shape}"
        )
    points, means, names = _plane(samples, result, features)
    axes = axes_or_new(axes)
    for k, name in enumerate(result.component_names):
        rows = result.labels == k
        axes.scatter(
            *points[rows].T, s=18, color=colour(k), marker=marker(k), label=f"{name} ({rows.sum()})", zorder=2
        )
        axes.scatter(*means[k], s=120, color=colour(k), marker="X", edgecolors="black", zorder=4)
    doubt = 1.0 - result.posterior
    unsure = doubt > 0.05
    if np.any(unsure):
        axes.scatter(
            *points[unsure].T,
            s=40 + 160 * doubt[unsure],
            facecolors="none",
            edgecolors="0.3",
            linewidths=0.8,
            label="posterior below 0.95",
            zorder=3,
        )
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[1])
    axes.legend(title="component")
    return axes


def _plane(
    data: np.ndarray, result: Result, features: tuple[int, int] | None
) -> tuple[np.ndarray, np.ndarray, tuple[str, str]]:
    """Samples and means in the plane that is shown, and the names of its axes."""
    means = np.asarray(result.means)
    d = data.shape[1]
    if d == 1 and features is None:
        rows = np.asarray(result.labels, dtype=float)
        at = np.arange(len(means), dtype=float)
        return (
            np.column_stack([data[:, 0], rows]),
            np.column_stack([means[:, 0], at]),
            (result.feature_names[0], "component"),
        )
    if features is None and d > 2:
        centre = data.mean(axis=0)
        axes = np.linalg.svd(data - centre, full_matrices=False)[2][:2].T
        return (
            (data - centre) @ axes,
            (means - centre) @ axes,
            ("first principal component", "second principal component"),
        )
    i, j = (0, 1) if features is None else features
    if not (0 <= i < d and 0 <= j < d):
        raise InputError(f"features {(i, j)} do not lie in 0 .. {d - 1}")
    return data[:, [i, j]], means[:, [i, j]], (result.feature_names[i], result.feature_names[j])
