"""Expression profiles of single samples against the averages of two subtypes (Figure 3 and the supplement)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from certmix.paper.study.drawing import new_figure
from certmix.paper.study.pam50.classifier import correlations
from certmix.paper.study.pam50.data import Expression
from certmix.plotting.style import COLOURS

_FIRST, _SECOND = COLOURS[0], COLOURS[1]


@dataclass(frozen=True, eq=False)
class Profiles:
    """Median-centred expression, subtype averages, and who put which sample where."""

    expression: Expression
    centred: np.ndarray
    averages: np.ndarray
    pam: np.ndarray
    certmix: np.ndarray
    runner_up: np.ndarray

    def pair(self, i: int) -> tuple[int, int]:
        """The two subtypes that a sample is compared with: certmix's and PAM's, or certmix's second choice."""
        ours = int(self.certmix[i])
        return ours, int(self.pam[i]) if self.pam[i] != ours else int(self.runner_up[i])

    def title(self, i: int) -> str:
        names = self.expression.subtypes
        known = names[self.expression.target[i]] if self.expression.known[i] else "unknown"
        return (
            f"{self.expression.samples[i]} (subtype {known}; PAM: {names[self.pam[i]]}, "
            f"certmix: {names[self.certmix[i]]})"
        )

    def draw(self, positions: Sequence[int]) -> Any:
        """One panel under the other, each with its genes."""
        count = len(positions)
        figure, axes = new_figure(10.0, 3.3 * count + 0.3, nrows=count, squeeze=False)
        for i, panel in zip(positions, axes.ravel(), strict=True):
            self._panel(panel, i, names=True)
        return figure

    def draw_many(self, positions: Sequence[int], columns: int = 3) -> Any:
        """Small panels side by side, for the supplement; genes in the order of the large ones."""
        rows = max(1, math.ceil(len(positions) / columns))
        figure, axes = new_figure(4.6 * columns, 2.1 * rows + 0.3, nrows=rows, ncols=columns, squeeze=False)
        for panel in axes.ravel()[len(positions) :]:
            panel.set_visible(False)
        for number, (i, panel) in enumerate(zip(positions, axes.ravel(), strict=False), start=1):
            self._panel(panel, i, names=False, number=number)
        return figure

    def _panel(self, axes: Any, i: int, *, names: bool, number: int | None = None) -> None:
        first, second = self.pair(i)
        subtypes, genes = self.expression.subtypes, self.expression.genes
        at = np.arange(len(genes))
        rho = correlations(self.centred[i : i + 1], self.averages)[0]
        thin = 1.6 if names else 1.0
        axes.axhline(0, color="0.8", linewidth=0.8, zorder=1)
        for k, colour, dash in ((first, _FIRST, "-"), (second, _SECOND, (0, (4, 1.5)))):
            label = f"{subtypes[k]} average (rank correlation {rho[k]:.2f})" if names else None
            axes.plot(
                at, self.averages[k], color=colour, linestyle=dash, linewidth=thin, label=label, zorder=2
            )
        axes.plot(
            at,
            self.centred[i],
            "o-" if names else "-",
            color="black",
            markersize=4,
            linewidth=1.0 if names else 0.8,
            label="sample" if names else None,
            zorder=3,
        )
        axes.set_xlim(-0.7, len(genes) - 0.3)
        axes.grid(names, axis="x")
        axes.grid(False, axis="y")
        if names:
            axes.set_xticks(at, genes, rotation=90, fontsize=8)
            axes.set_title(self.title(i))
            axes.set_ylabel("expression\n(log ratio, median-centred)")
            low, high = axes.get_ylim()
            axes.set_ylim(low, high + 0.22 * (high - low))  # room for the legend
            axes.legend(loc="upper right", ncols=3, fontsize=9, borderaxespad=0.1)
            return
        axes.set_xticks([])
        axes.tick_params(labelsize=8)
        axes.set_title(f"{number}  {self.expression.samples[i]}", fontsize=9)
        for x, k, colour in ((0.01, first, _FIRST), (0.28, second, _SECOND)):
            who = "certmix" if k == self.certmix[i] else "PAM" if k == self.pam[i] else "second"
            axes.text(
                x,
                0.98,
                f"{who}: {subtypes[k]}",
                transform=axes.transAxes,
                color=colour,
                fontsize=8,
                va="top",
                fontweight="bold",
            )
        low, high = axes.get_ylim()
        axes.set_ylim(low, high + 0.15 * (high - low))
