"""Intervals of the ICL against the number of components."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from certmix.plotting.style import axes_or_new, colour

if TYPE_CHECKING:
    from certmix.selection.path import Path


def plot_path(path: Path, axes: Any = None) -> Any:
    """Plot for every number of components between which numbers the ICL lies (or the sum of squares, of k-means).

    Parameters
    ----------
    path : Path
    axes : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    axes = axes_or_new(axes)
    squares = path.criterion == "sse"
    upper, lower = ("sse", "sse_lower_bound") if squares else ("icl", "icl_lower_bound")
    rows = [row for row in path.rows if _finite(getattr(row, upper))]
    for row in rows:
        top, bottom = getattr(row, upper), getattr(row, lower)
        best = row.k == path.best
        shade = colour(1) if best else colour(0) if row.possible else "0.6"
        axes.plot(row.k, top, "o", color=shade, zorder=3)
        if _finite(bottom):
            axes.plot([row.k, row.k], [bottom, top], color=shade, linewidth=3, solid_capstyle="butt")
    found = [(row.k, row.bic) for row in rows if _finite(row.bic)]
    if found and not squares:
        axes.plot(*zip(*found, strict=True), ":", color="0.5", label="BIC of EM (not certified)")
        axes.legend()
    if path.best is not None:
        axes.axhline(getattr(path[path.best], upper), color=colour(1), linewidth=0.8, linestyle="--")
    axes.set_xticks([row.k for row in path.rows])
    axes.set_xlabel("number of components")
    axes.set_ylabel("sum of squares" if squares else "ICL")
    axes.set_title(
        "" if path.best is None else f"K = {path.best}: {'proved' if path.proved else 'not proved'} the best"
    )
    return axes


def _finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)
