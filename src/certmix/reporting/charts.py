"""Charts as SVG. Lines are stretched to the room there is, words stand beside them as text of the page."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from certmix.reporting.markup import Markup, tag
from certmix.result import Result

SIDE = 1000.0  # of the square that is stretched
_MOST_STEPS = 600
_MOST_ROWS = 400


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers between two others."""
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low:
        return [low]
    step = (high - low) / count
    power = 10.0 ** math.floor(math.log10(step))
    step = power * next(m for m in (1.0, 2.0, 5.0, 10.0) if m * power >= step * 0.999)
    first = math.ceil(low / step - 1e-9)
    found = [
        round(i * step, 12) for i in range(first, first + 2 * count + 2) if i * step <= high + 1e-9 * step
    ]
    return found or [low]


def convergence(result: Result) -> Markup | None:
    """Incumbent and bound over time; None where there is nothing to draw."""
    last = result.trace[-1].seconds if result.trace else 0.0
    end = max(result.seconds, last)
    show = result.quantity.shown
    rows = [(p.seconds, show(p.incumbent), show(p.bound)) for p in result.trace]
    rows.append((end, show(result.objective), show(result.lower_bound)))
    if len(rows) > _MOST_STEPS:
        keep = np.unique(np.linspace(0, len(rows) - 1, _MOST_STEPS).astype(int))
        rows = [rows[i] for i in keep]
    values = [v for _, a, b in rows for v in (a, b) if math.isfinite(v)]
    if not values or end <= 0.0:
        return None
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or 0.05 * (abs(high) or 1.0)
    low, high = low - room, high + room

    def place(seconds: float, value: float) -> tuple[float, float]:
        return SIDE * seconds / end, SIDE * (high - value) / (high - low)

    above = _steps([(t, a) for t, a, _ in rows if math.isfinite(a)], end)
    below = _steps([(t, b) for t, _, b in rows if math.isfinite(b)], end)
    drawn = []
    if above and below:
        since = max(above[0][0], below[0][0])
        band = [*_since(above, since), *reversed(_since(below, since))]
        drawn.append(tag("path", d=_path([place(*p) for p in band]) + "Z", class_="band"))
    for line, name in ((below, "bound"), (above, "incumbent")):
        if line:
            drawn.append(tag("path", d=_path([place(*p) for p in line]), class_=f"line {name}"))
    across = [(f"{t:g}", place(t, 0.0)[0]) for t in ticks(0.0, end)]
    at = ticks(low, high)
    digits = next((n for n in range(6, 17) if len({f"{v:.{n}g}" for v in at}) == len(at)), 17)
    up = [(f"{v:.{digits}g}", place(0.0, v)[1]) for v in at]
    return chart(
        drawn,
        across,
        up,
        label=f"{result.quantity.words} of the best clustering and its lower bound over seconds",
    )


def chart(
    drawn: Sequence[Markup],
    across: Sequence[tuple[str, float]],
    up: Sequence[tuple[str, float]],
    *,
    label: str,
) -> Markup:
    """A drawing in a square of side 1000 with words at its left and below it."""
    grid = [tag("line", x1=0, x2=SIDE, y1=f"{y:.1f}", y2=f"{y:.1f}", class_="grid") for _, y in up]
    svg = tag(
        "svg", grid, drawn, viewBox=f"0 0 {SIDE:g} {SIDE:g}", preserveAspectRatio="none", aria_hidden="true"
    )
    left = [tag("span", text, style=f"top:{y / SIDE:.2%}") for text, y in up]
    below = [tag("span", text, style=f"left:{x / SIDE:.2%}") for text, x in across]
    return tag(
        "div",
        tag("div", left, class_="up"),
        tag("div", svg, class_="canvas"),
        tag("div", below, class_="across"),
        class_="chart",
        role="img",
        aria_label=label,
    )


def profile(low: np.ndarray, high: np.ndarray, limits: tuple[float, float]) -> Markup:
    """Bars of the members of one component, longest first: from zero to ``low``, and paler from there to ``high``."""
    order = np.lexsort((-high, -low))
    if len(order) > _MOST_ROWS:
        order = order[np.linspace(0, len(order) - 1, _MOST_ROWS).astype(int)]

    def at(values: np.ndarray) -> np.ndarray:
        inside = np.clip(values, *limits)
        return SIDE * (inside - limits[0]) / (limits[1] - limits[0])

    zero = float(at(np.zeros(1))[0])
    rows = SIDE / max(1, len(order))
    pieces = []
    for ends, name in ((at(high[order]), "pale"), (at(low[order]), "bar")):
        if name == "pale" and np.array_equal(high, low):
            continue
        corners = [(zero, 0.0)]
        for i, x in enumerate(ends.tolist()):
            corners += [(x, i * rows), (x, (i + 1) * rows)]
        pieces.append(tag("path", d=_path([*corners, (zero, SIDE)]) + "Z", class_=name))
    axis = tag("line", x1=f"{zero:.1f}", x2=f"{zero:.1f}", y1=0, y2=SIDE, class_="zero")
    return tag(
        "svg", pieces, axis, viewBox=f"0 0 {SIDE:g} {SIDE:g}", preserveAspectRatio="none", aria_hidden="true"
    )


def _steps(points: list[tuple[float, float]], end: float) -> list[tuple[float, float]]:
    """Corners of a line that keeps its height until the next point."""
    found: list[tuple[float, float]] = []
    for t, value in points:
        if found and found[-1][1] != value:
            found.append((t, found[-1][1]))
        if not found or found[-1][1] != value:
            found.append((t, value))
    return [*found, (end, found[-1][1])] if found else []


def _since(line: list[tuple[float, float]], start: float) -> list[tuple[float, float]]:
    before = [value for t, value in line if t <= start]
    return [(start, before[-1]), *((t, value) for t, value in line if t > start)]


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
