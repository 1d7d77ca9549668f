"""Colours and shapes of the components, as CSS classes and SVG paths."""

from __future__ import annotations

import math

from certmix.plotting.style import COLOURS
from certmix.reporting.markup import Markup, tag


def _polygon(*corners: tuple[float, float]) -> str:
    return "M" + "L".join(f"{x:.3g} {y:.3g}" for x, y in corners) + "Z"


def _star() -> str:
    points = []
    for i in range(10):
        radius, angle = (1.3 if i % 2 == 0 else 0.55), math.pi * (i / 5 - 0.5)
        points.append((radius * math.cos(angle), radius * math.sin(angle)))
    return _polygon(*points)


# Around the origin, as large as a circle of radius one; in the order of the markers of the plots.
SHAPES = (
    "M1 0A1 1 0 1 1 -1 0A1 1 0 1 1 1 0Z",
    _polygon((-0.89, -0.89), (0.89, -0.89), (0.89, 0.89), (-0.89, 0.89)),
    _polygon((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
    _polygon((0, -1.35), (1.17, 0.75), (-1.17, 0.75)),
    _polygon((0, 1.35), (1.17, -0.75), (-1.17, -0.75)),
    "M-.4 -1.15H.4V-.4H1.15V.4H.4V1.15H-.4V.4H-1.15V-.4H-.4Z",
    _star(),
    _polygon((-1.35, 0), (0.75, 1.17), (0.75, -1.17)),
)


def shape(k: int) -> str:
    return SHAPES[k % len(SHAPES)]


def colour_class(k: int) -> str:
    return f"c{k % len(COLOURS)}"


def glyph(k: int) -> Markup:
    """The mark of a component in a line of text."""
    mark = tag("path", d=shape(k))
    return tag(
        "svg", mark, class_=f"glyph {colour_class(k)}", viewBox="-1.6 -1.6 3.2 3.2", aria_hidden="true"
    )
