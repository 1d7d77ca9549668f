"""The clusterings that are nearly as good, and who is elsewhere in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from certmix.errors import InputError
from certmix.plotting.documents import understood
from certmix.plotting.source import Source, beside, loaded
from certmix.plotting.style import axes_or_new, colour, plain

if TYPE_CHECKING:
    from certmix.result import Result

ALTERNATIVES = "alternatives.json"
FAINT = 0.25  # opacity of what is as in the reported clustering
MOST = 40  # samples and clusterings that are drawn


def plot_alternatives(result: Source, axes: Any = None, *, alternatives: Any = None) -> Any:
    """Plot the clusterings within delta: a column for each, best first, and a row for every sample that moves.

    A cell has the colour and the name of the component that the sample is in there; where it is as in the reported
    clustering, faintly. Below a column stands what the clustering costs more.

    Parameters
    ----------
    result : Result, or the path of a saved one
    axes : matplotlib axes, optional
    alternatives : what ``certmix.alternatives`` returns, its content, or the path of alternatives.json, optional
        Default: alternatives.json beside a saved result.

    Returns
    -------
    matplotlib axes
    """
    known = beside(result, ALTERNATIVES) if alternatives is None else alternatives
    if known is None:
        raise InputError(
            f"there are no alternatives to plot: give alternatives=..., or a folder with {ALTERNATIVES}"
        )
    result = loaded(result)
    if result.labels is None:
        raise InputError("there is no clustering to plot: " + result.sentence())
    document, labels, extra = understood(known, "the alternatives", lambda found: _read(result, found))
    axes = axes_or_new(axes)
    labels, extra, hidden = labels[:MOST], extra[:MOST], max(0, len(labels) - MOST)
    positions, reported = labels % result.n_components, np.asarray(result.positions)
    differs = positions != reported
    first = np.where(differs.any(axis=0), differs.argmax(axis=0), len(labels))
    order = np.argsort(first, kind="stable")
    moving = order[first[order] < len(labels)]
    rows, more = moving[:MOST], max(0, len(moving) - MOST)
    _draw_cells(axes, result, positions[:, rows].T, differs[:, rows].T)
    axes.set_yticks(np.arange(len(rows)), [plain(result.names[i]) for i in rows])
    axes.set_xticks(
        np.arange(len(labels)), [f"{x:.3g}" for x in extra], rotation=90 if len(labels) > 8 else 0
    )
    axes.set_xlabel(f"extra cost ({result.quantity.unit or result.quantity.name}){_left_out(hidden, more)}")
    said = "proved to be all" if document["complete"] else "there may be others"
    within = result.quantity.with_unit(f"{document['within']:.4g}")
    axes.set_title(f"clusterings within {within}: {len(labels) + hidden}, {said}", fontsize="medium")
    return axes


def _draw_cells(axes: Any, result: Result, components: np.ndarray, differs: np.ndarray) -> None:
    from matplotlib.colors import to_rgba

    height, width = components.shape
    colours = np.array([to_rgba(colour(k)) for k in range(result.n_components)])
    cells = colours[components]
    cells[..., 3] = np.where(differs, 1.0, FAINT)
    if height:
        axes.imshow(cells, aspect="auto", interpolation="nearest")
    else:
        axes.text(0.5 * (width - 1), 0.0, "no sample differs", ha="center", va="center")
        axes.set_xlim(-0.5, width - 0.5)
    for i, j in np.argwhere(differs).tolist():
        name = plain(result.component_names[components[i, j]])
        axes.text(j, i, name, ha="center", va="center", fontsize="small", clip_on=True)


def _left_out(clusterings: int, samples: int) -> str:
    parts = [
        f"{count} more {what}{'s' * (count > 1)}"
        for count, what in ((clusterings, "clustering"), (samples, "sample"))
        if count
    ]
    return f" ({', '.join(parts)} not shown)" if parts else ""


def _read(result: Result, document: Mapping[str, Any]) -> tuple[Mapping[str, Any], np.ndarray, list[float]]:
    """What is said, the labels of every clustering, and what it costs more."""
    labels = np.array([one["labels"] for one in document["clusterings"]])
    extra = [float(one["extra"]) for one in document["clusterings"]]
    float(document["within"]), bool(document["complete"])
    assert result.labels is not None
    if labels.ndim != 2 or labels.shape[1] != len(result.labels) or labels.dtype.kind != "i":
        raise InputError("its samples are not those of the result")
    if labels.min() < -result.n_components or labels.max() >= result.n_components:
        raise InputError("its components are not those of the result")
    if not (labels == result.labels).all(axis=1).any():
        raise InputError("it is about another clustering than the result")
    return document, labels, extra
