"""Means of the components as a heat map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from certmix.errors import InputError
from certmix.plotting.source import Source, loaded
from certmix.plotting.style import axes_or_new, plain
from certmix.result import Result

MOST_FEATURES = 60


@dataclass(frozen=True)
class HeatMap:
    """Means, and how far each lies from the middle of its feature.

    Attributes
    ----------
    names : the features that are shown
    values, strength : ndarrays of shape (K, features); strength in standard deviations
    left_out : how many features are not shown
    """

    names: tuple[str, ...]
    values: np.ndarray
    strength: np.ndarray
    left_out: int


def heat_map(names: tuple[str, ...], means: np.ndarray, samples: np.ndarray | None = None) -> HeatMap:
    """The features on which the means differ most, in their order.

    Standard deviations are those of the samples; where there are none, of the means.
    """
    of = means if samples is None else samples
    scale = of.std(axis=0)
    away = means - of.mean(axis=0)
    strength = np.divide(away, scale, out=np.zeros_like(away), where=scale > 0.0)
    order = np.arange(len(names))
    if len(names) > MOST_FEATURES:
        order = np.sort(np.argsort(-np.ptp(strength, axis=0), kind="stable")[:MOST_FEATURES])
    shown = tuple(names[j] for j in order)
    return HeatMap(shown, means[:, order], strength[:, order], len(names) - len(order))


def plot_means(result: Source, axes: Any = None, *, data: Any = None) -> Any:
    """Plot the means as a heat map: in standard deviations of each feature, above or below its mean.

    Of more than 60 features those on which the means differ most are shown.

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
    if result.means is None:
        raise InputError("there is no clustering to plot: " + result.sentence())
    shown = heat_map(result.feature_names, result.means, _samples(result, data))
    axes = axes_or_new(axes)
    most = max(1.0, float(np.abs(shown.strength).max(initial=0.0)))
    picture = axes.imshow(shown.strength.T, cmap="PuOr_r", vmin=-most, vmax=most, aspect="auto")
    if shown.values.size <= 120:
        for (k, j), value in np.ndenumerate(shown.values):
            ink = "white" if abs(shown.strength[k, j]) > 0.6 * most else "black"
            axes.text(k, j, f"{value:.3g}", ha="center", va="center", color=ink, fontsize="small")
    names = result.component_names[: result.n_clusters]
    axes.set_xticks(np.arange(len(names)), [plain(name) for name in names])
    axes.set_yticks(np.arange(len(shown.names)), [plain(name) for name in shown.names])
    axes.set_xlabel("component")
    if shown.left_out:
        axes.set_title(f"{len(shown.names)} of {len(shown.names) + shown.left_out} features")
    axes.figure.colorbar(picture, ax=axes, label="standard deviations from the mean")
    return axes


def _samples(result: Result, data: Any) -> np.ndarray | None:
    return result.data if data is None else np.asarray(data, dtype=float)
