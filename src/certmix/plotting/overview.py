"""A result in one picture."""

from __future__ import annotations

import textwrap
from typing import Any

from certmix.plotting.clusters import plot_clusters
from certmix.plotting.means import plot_means
from certmix.plotting.profiles import plot_margins, plot_silhouettes
from certmix.plotting.sizes import plot_sizes
from certmix.plotting.source import Source, beside, loaded
from certmix.plotting.trace import plot_trace
from certmix.plotting.uncertain import plot_uncertain


def plot_overview(result: Source, figure: Any = None, *, stability: Any = None) -> Any:
    """Plot clusters, sizes, means, margins or silhouettes, uncertain samples and convergence, under what is proved.

    Parameters
    ----------
    result : Result, or the path of a saved one
    figure : matplotlib figure, optional
    stability : mapping, path of stability.json, or what ``certmix.stability`` returns, optional
        Default: stability.json beside a saved result.

    Returns
    -------
    matplotlib figure
    """
    margins = beside(result) if stability is None else stability
    result = loaded(result)
    if figure is None:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(15.0, 9.0))
    if figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained")  # so that no words lie over others
    figure.suptitle(textwrap.fill(result.sentence(), 110), fontsize="medium")
    if result.labels is None:
        plot_trace(result, figure.subplots())
        return figure
    axes = figure.subplots(2, 3, width_ratios=(1.5, 1.0, 1.2))
    if result.data is None:
        axes[0, 0].set_axis_off()
    else:
        plot_clusters(result, axes[0, 0])
    plot_sizes(result, axes[0, 1])
    plot_means(result, axes[0, 2])
    if margins is not None:
        plot_margins(result, axes[1, 0], stability=margins)
    elif result.data is not None and result.n_clusters > 1:
        plot_silhouettes(result, axes[1, 0])
    else:
        axes[1, 0].set_axis_off()
    plot_uncertain(result, axes[1, 1], most=15)
    plot_trace(result, axes[1, 2])
    return figure
