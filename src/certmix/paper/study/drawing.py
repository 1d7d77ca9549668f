"""What the figures of the study share: one look, and texts at the ends of curves instead of a legend box."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from certmix.plotting.style import COLOURS

RESOLUTION = 120
_LINE = 0.06  # height of a line of text in the usual figure, as a share of its axes
STYLE: Any = {
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.7,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "lines.linewidth": 2.0,
    "svg.hashsalt": "certmix",  # the same figure, the same file
    "svg.fonttype": "path",
}

METHOD_COLOURS = {"minlp": COLOURS[1], "miqp": COLOURS[4], "auto": COLOURS[0], "dual": COLOURS[2]}
METHOD_MARKERS = {"minlp": "s", "miqp": "D", "auto": "o", "dual": "^"}


def new_figure(width: float = 7.2, height: float = 4.4, **options: Any) -> tuple[Any, Any]:
    """A figure and its axes; the size is in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(**options)


def name_at_right(axes: Any, ends: Sequence[tuple[float, str, str]]) -> None:
    """Texts beside the right edge, each at its height and in its colour, moved apart where they would touch."""
    low, high = axes.get_ylim()
    logarithmic = axes.get_yscale() == "log"
    heights = [math.log10(height) if logarithmic else height for height, _, _ in ends]
    length = math.log10(high / low) if logarithmic else high - low
    for height, (_, text, colour) in zip(spread(heights, _LINE * length), ends, strict=True):
        axes.annotate(
            text,
            (1.0, 10**height if logarithmic else height),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            textcoords="offset points",
            color=colour,
            va="center",
            annotation_clip=False,
        )


def spread(positions: Sequence[float], least: float) -> list[float]:
    """Move positions apart until neighbours are ``least`` away from each other, as little as possible.

    Used for the heights of texts that would overlap. Blocks of touching texts are merged and centred on the mean of
    what they want, which is the least-squares solution.
    """
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    blocks: list[list[float]] = []  # [sum of wanted first positions, count]
    members: list[list[int]] = []
    for i in order:
        blocks.append([positions[i], 1])
        members.append([i])
        while len(blocks) > 1 and _first(blocks[-2]) + blocks[-2][1] * least > _first(blocks[-1]):
            total, count = blocks.pop()
            before = blocks[-1]
            before[0] += total - count * before[1] * least
            before[1] += count
            joined = members.pop()
            members[-1] += joined
    found = [0.0] * len(positions)
    for block, inside in zip(blocks, members, strict=True):
        for rank, i in enumerate(inside):
            found[i] = _first(block) + rank * least
    return found


def _first(block: list[float]) -> float:
    return block[0] / block[1]
