"""Incumbent and lower bound over time."""

from __future__ import annotations

import math
from typing import Any

from certmix.plotting.source import Source, loaded
from certmix.plotting.style import axes_or_new, colour


def plot_trace(result: Source, axes: Any = None) -> Any:
    """Plot how the incumbent fell and the lower bound rose; the band between them is the gap.

    Parameters
    ----------
    result : Result, or the path of a saved one
    axes : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    result = loaded(result)
    axes = axes_or_new(axes)
    seconds = [point.seconds for point in result.trace] + [result.seconds]
    show = result.quantity.shown
    incumbent = _finite([show(x) for x in (*(p.incumbent for p in result.trace), result.objective)])
    bound = _finite([show(x) for x in (*(p.bound for p in result.trace), result.lower_bound)])
    axes.step(seconds, incumbent, where="post", color=colour(1), label="incumbent")
    axes.step(seconds, bound, where="post", color=colour(0), label="lower bound")
    axes.fill_between(seconds, bound, incumbent, step="post", color="0.85", label="gap")
    axes.set_xlabel("seconds")
    axes.set_ylabel(result.quantity.words)
    gap = "no bound"
    if math.isfinite(result.gap_absolute):
        gap = "gap " + result.quantity.with_unit(f"{show(result.gap_absolute):.3g}")
    axes.set_title(f"{result.engine}: {result.status}, {gap}")
    axes.legend()
    return axes


def _finite(values: list[float]) -> list[float]:
    """Missing values as NaN, which matplotlib leaves blank."""
    return [value if math.isfinite(value) else math.nan for value in values]
