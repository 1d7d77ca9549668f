"""The least certain samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from certmix.errors import InputError
from certmix.plotting.source import Source, loaded
from certmix.plotting.style import axes_or_new, colour, marker, plain


def plot_uncertain(result: Source, axes: Any = None, *, most: int = 25) -> Any:
    """Plot the posterior probabilities of the least certain samples, by name.

    Parameters
    ----------
    result : Result, or the path of a saved one
    axes : matplotlib axes, optional
    most : how many samples are shown

    Returns
    -------
    matplotlib axes
    """
    result = loaded(result)
    if result.labels is None or result.posterior is None or result.runner_up is None:
        raise InputError("there is no clustering to plot: " + result.sentence())
    axes = axes_or_new(axes)
    rows = np.argsort(result.posterior, kind="stable")[:most]
    positions = np.asarray(result.positions)[rows]
    for k in np.unique(positions):
        own = np.flatnonzero(positions == k)
        axes.plot(
            result.posterior[rows[own]],
            own,
            marker(int(k)),
            color=colour(int(k)),
            label=plain(result.component_names[k]),
        )
    others = [result.component_names[k] if k >= 0 else "" for k in result.runner_up[rows]]
    names = [
        f"{result.names[i]} (or {other})" if other else result.names[i]
        for i, other in zip(rows, others, strict=True)
    ]
    axes.set_yticks(np.arange(len(rows)), [plain(name) for name in names])
    axes.invert_yaxis()
    axes.axvline(0.95, color="0.6", linestyle=":", linewidth=0.8)
    axes.set_xlim(right=1.02)
    axes.set_xlabel("posterior of its component")
    axes.legend(title="component", fontsize="small", framealpha=0.7)
    return axes
