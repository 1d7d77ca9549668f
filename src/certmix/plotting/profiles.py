"""One number for every sample, component by component."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from certmix.plotting.silhouette import silhouettes
from certmix.plotting.source import Source, loaded, margins_for
from certmix.plotting.style import axes_or_new, colour, plain

if TYPE_CHECKING:
    from certmix.result import Result


def plot_silhouettes(result: Source, axes: Any = None, *, data: Any = None) -> Any:
    """Plot the silhouette of every sample, component by component, best first.

    Parameters
    ----------
    result : Result, or the path of a saved one
    axes : matplotlib axes, optional
    data : array-like of shape (n, d), optional
        The samples, where the result does not hold them.

    Returns
    -------
    matplotlib axes
    """
    result = loaded(result)
    values = silhouettes(result, data=data)
    axes = _profiles(result, values, values, axes)
    axes.axvline(float(values.mean()), color="0.3", linestyle="--", linewidth=0.8)
    axes.set_xlabel("silhouette (distances to means)")
    return axes


def plot_margins(result: Source, axes: Any = None, *, stability: Any = None) -> Any:
    """Plot between which numbers the margin of every sample lies, component by component, largest first.

    Margins are cut off at twice what is within which clusterings were compared, which a dashed line marks.

    Parameters
    ----------
    result : Result, or the path of a saved one
    axes : matplotlib axes, optional
    stability : mapping, path of stability.json, or what ``certmix.stability`` returns, optional
        Default: stability.json beside the saved result.

    Returns
    -------
    matplotlib axes
    """
    result, margins = margins_for(result, stability)
    most = margins.most
    axes = _profiles(result, np.minimum(margins.lower, most), np.minimum(margins.known_upper, most), axes)
    axes.axvline(margins.within, color="0.3", linestyle="--", linewidth=0.8)
    axes.set_xlabel(f"margin ({result.quantity.unit or result.quantity.name})")
    return axes


def _profiles(result: Result, low: np.ndarray, high: np.ndarray, axes: Any) -> Any:
    axes = axes_or_new(axes)
    positions, start, middles = np.asarray(result.positions), 0, []
    for k in range(result.n_components):
        own = np.flatnonzero(positions == k)
        own = own[np.lexsort((-high[own], -low[own]))]
        rows = np.arange(start, start + len(own))
        axes.fill_betweenx(rows, 0.0, low[own], step="mid", color=colour(k), linewidth=0.0)
        if not np.array_equal(low, high):
            axes.fill_betweenx(
                rows, low[own], high[own], step="mid", color=colour(k), alpha=0.35, linewidth=0.0
            )
        middles.append(start + len(own) / 2)
        start += len(own) + max(1, len(positions) // 50)
    axes.set_yticks(middles, [plain(name) for name in result.component_names])
    axes.invert_yaxis()
    axes.set_ylabel("component")
    return axes
