"""The clustering in two dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from certmix.plotting.plane import plane
from certmix.plotting.source import Source, loaded
from certmix.plotting.style import axes_or_new, colour, marker, plain


def plot_clusters(
    result: Source, axes: Any = None, *, data: Any = None, features: tuple[int, int] | None = None
) -> Any:
    """Plot samples coloured by component; the less certain a sample is, the larger its ring.

    Parameters
    ----------
    result : Result, or the path of a saved one
    axes : matplotlib axes, optional
    data : array-like of shape (n, d), optional
        The samples as they were clustered, where the result does not hold them (more than 50 MB are not saved).
    features : pair of int, optional
        Which two features to plot. Default: the only two, or the first two principal components (of the samples in
        units of the known covariance); a single feature is plotted against the components.

    Returns
    -------
    matplotlib axes
    """
    result = loaded(result)
    shown = plane(result, data=data, features=features)
    assert result.posterior is not None
    positions = np.asarray(result.positions)
    axes = axes_or_new(axes)
    for k, name in enumerate(result.component_names):
        rows = positions == k
        axes.scatter(
            *shown.points[rows].T,
            s=18,
            color=colour(k),
            marker=marker(k),
            label=plain(f"{name} ({rows.sum()})"),
            zorder=2,
        )
        if k < len(shown.means):  # noise has none
            axes.scatter(*shown.means[k], s=120, color=colour(k), marker="X", edgecolors="black", zorder=4)
    doubt = 1.0 - result.posterior
    unsure = doubt > 0.05
    if np.any(unsure):
        axes.scatter(
            *shown.points[unsure].T,
            s=40 + 160 * doubt[unsure],
            facecolors="none",
            edgecolors="0.3",
            linewidths=0.8,
            label="posterior below 0.95",
            zorder=3,
        )
    axes.set_xlabel(plain(shown.names[0]))
    axes.set_ylabel(plain(shown.names[1]))
    axes.legend(title="component", fontsize="small", framealpha=0.7)
    return axes
