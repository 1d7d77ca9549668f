"""What the plots share: colours that colour-blind readers can tell apart, and where to draw."""

from __future__ import annotations

from typing import Any

# Okabe and Ito's palette, without black.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
MARKERS = "osD^vP*<"  # as many as have no divisor in common with the number of colours


def axes_or_new(axes: Any) -> Any:
    """The axes to draw on: those given, or those of a new figure."""
    if axes is not None:
        return axes
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(6.4, 4.4), layout="constrained")[1]


def plain(name: str) -> str:
    """A name that matplotlib shows letter by letter: dollars are no mathematics, and legends leave nothing out."""
    name = name.replace("$", r"\$")
    return f"\u200b{name}" if name.startswith("_") else name


def colour(k: int) -> str:
    return COLOURS[k % len(COLOURS)]


def marker(k: int) -> str:
    """Every component has a marker of its own, too; 56 of them look different."""
    return MARKERS[k % len(MARKERS)]
