"""Intervals of the ICL against the number of components."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from certmix.errors import InputError
from certmix.io.strict_json import loads
from certmix.plotting.style import axes_or_new, colour

if TYPE_CHECKING:
    from certmix.selection.path import Path

SAVED = "path.json"  # of a folder that certmix path --out has written


def plot_path(path: Path | str | pathlib.Path, axes: Any = None) -> Any:
    """Plot for every number of components between which numbers the ICL lies (or the sum of squares, of k-means).

    Parameters
    ----------
    path : Path, or the folder that ``certmix path --out`` wrote
    axes : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    found = _read(pathlib.Path(path)) if isinstance(path, (str, pathlib.Path)) else path.to_dict()
    axes, best = axes_or_new(axes), found["best"]
    squares = found["criterion"] == "sse"
    upper, lower = ("sse", "sse_lower_bound") if squares else ("icl", "icl_lower_bound")
    rows = [row for row in found["rows"] if row[upper] is not None]
    for row in rows:
        k, top, bottom = row["k"], row[upper], row[lower]
        shade = colour(1) if k == best else colour(0) if row["possible"] else "0.6"
        axes.plot(k, top, "o", color=shade, zorder=3)
        if bottom is not None:
            axes.plot([k, k], [bottom, top], color=shade, linewidth=3, solid_capstyle="butt")
        if k == best:
            axes.axhline(top, color=colour(1), linewidth=0.8, linestyle="--")
    soft = [(row["k"], row["bic"]) for row in rows if row["bic"] is not None]
    if soft and not squares:
        axes.plot(*zip(*soft, strict=True), ":", color="0.5", label="BIC of EM (not certified)")
        axes.legend()
    axes.set_xticks([row["k"] for row in found["rows"]])
    axes.set_xlabel("number of components")
    axes.set_ylabel("sum of squares" if squares else "ICL")
    axes.set_title(
        "" if best is None else f"K = {best}: {'proved' if found['proved'] else 'not proved'} the best"
    )
    return axes


def _read(path: pathlib.Path) -> Mapping[str, Any]:
    """What a saved comparison says."""
    file = path / SAVED if path.is_dir() else path
    try:
        found = loads(file.read_text(encoding="utf-8"))
        keys = {"k", "icl", "icl_lower_bound", "sse", "sse_lower_bound", "bic", "possible"}
        if {"best", "criterion", "proved"} <= found.keys() and all(
            keys <= row.keys() for row in found["rows"]
        ):
            return dict(found)
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise InputError(f"{file} is damaged, or no comparison of certmix path")
