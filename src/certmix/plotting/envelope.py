"""The objective against an unknown variance: the clustering that was found, and what no clustering is below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from certmix.errors import InputError
from certmix.plotting.source import Source, loaded
from certmix.plotting.style import axes_or_new, colour
from certmix.problem.symmetric_matrices import Matrices

if TYPE_CHECKING:
    from certmix.result import Result

STEPS = 400


def plot_envelope(result: Source, axes: Any = None) -> Any:
    """Plot the proved lower bound and the clustering's objective against the variance.

    The dots are the variances at which the problem was solved, the grey band the variances for which the clustering
    is proved optimal.

    Parameters
    ----------
    result : Result of a problem with an unknown variance, or the path of a saved one
    axes : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    result = loaded(result)
    if result.envelope is None or result.variance is None or len(result.envelope) < 2:
        raise InputError("there is no envelope to plot: it takes a proof with an unknown variance")
    axes = axes_or_new(axes)
    half = 0.5 * result.n_copies * len(result.feature_names)
    scales, bounds = 2.0 * result.envelope[:, 0], result.envelope[:, 1]
    inside = scales > 0.0
    least, most = min(scales[inside].min(), 1.0 / result.variance), max(scales.max(), 1.0 / result.variance)
    t = np.geomspace(0.5 * least, most, STEPS)
    axes.plot(1.0 / t, np.interp(t, scales, bounds) - half * np.log(t), color=colour(0), label="lower bound")
    solved = 1.0 / scales[inside]
    axes.plot(solved, bounds[inside] + half * np.log(solved), "o", color=colour(0), label="solved")
    squares = _half_squares(result)
    if squares is not None:
        rest = result.objective - squares / result.variance - half * np.log(result.variance)
        own = squares * t + rest - half * np.log(t)
        axes.plot(1.0 / t, own, "--", color=colour(1), label="this clustering")
    axes.plot(result.variance, result.objective, "D", color=colour(1))
    if result.variance_interval is not None:
        low, high = np.clip(result.variance_interval, 1.0 / t[-1], 1.0 / t[0])
        axes.axvspan(low, high, color="0.9", zorder=0)
    axes.set_xscale("log")
    axes.set_xlabel("variance")
    axes.set_ylabel("objective")
    axes.legend()
    return axes


def _half_squares(result: Result) -> float | None:
    """Half the sum of squares of the clustering in the metric of the shape; None where the samples were not kept."""
    if result.data is None or result.precision is None or result.labels is None or result.means is None:
        return None
    assert isinstance(result.variance, float)
    matrices, total = Matrices(result.precision), 0.0
    for k, mean in enumerate(result.means):
        away = result.data[result.labels == k] - mean
        total += float((matrices.times(min(k, len(matrices) - 1), away) * away).sum())
    return 0.5 * total * result.variance
