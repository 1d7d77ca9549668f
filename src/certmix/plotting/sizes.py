"""Sizes and weights of the components."""

from __future__ import annotations

from typing import Any

import numpy as np

from certmix.errors import InputError
from certmix.plotting.source import Source, loaded
from certmix.plotting.style import axes_or_new, colour, plain


def plot_sizes(result: Source, axes: Any = None) -> Any:
    """Plot the share of samples in every component as bars, and its weight as a mark.

    The two agree unless weights are fixed, bounded or have a prior.

    Parameters
    ----------
    result : Result, or the path of a saved one
    axes : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    result = loaded(result)
    if result.sizes is None or result.weights is None:
        raise InputError("there is no clustering to plot: " + result.sentence())
    axes = axes_or_new(axes)
    at = np.arange(result.n_components)
    share = result.sizes / result.sizes.sum()
    bars = axes.bar(
        at, share, color=[colour(k) for k in range(result.n_components)], alpha=0.8, label="share of samples"
    )
    axes.bar_label(bars, labels=[str(size) for size in result.sizes])
    axes.plot(at, result.weights, "k_", markersize=24, label="weight")
    axes.set_xticks(at, [plain(name) for name in result.component_names])
    axes.margins(y=0.2)
    axes.set_xlabel("component")
    axes.set_ylabel("share")
    axes.legend(fontsize="small", framealpha=0.7)
    return axes
