"""Who assigns which sample where: the methods side by side (Figure 2), their agreement, and where they differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from certmix.paper.study import metrics
from certmix.paper.study.drawing import new_figure
from certmix.paper.study.pam50.data import Expression
from certmix.paper.study.tables import Table, percent
from certmix.plotting.style import COLOURS

KNOWN = "known subtypes"
_UNKNOWN_COLOUR = "#d9d9d9"
Assignments = Mapping[str, np.ndarray]
"""Method -> subtype of every sample, -1 where it gives none."""


def subtype_colours(count: int) -> list[str]:
    """Colours of the subtypes; those of Okabe and Ito's palette that differ most."""
    order = (1, 3, 0, 5, 2, 4, 6)
    return [COLOURS[order[k % len(order)]] for k in range(count)]


def agreement_table(expression: Expression, assignments: Assignments) -> Table:
    """Accuracy on the known samples, and concordance of every two methods on the unknown ones."""
    methods = [name for name in assignments if name != KNOWN]
    known = expression.known
    rows, records = [], []
    for name in methods:
        labels = assignments[name]
        hit = metrics.accuracy(labels, expression.target)
        row = [name, f"{percent(hit)} ({round(hit * known.sum())} of {known.sum()})"]
        record: dict[str, Any] = {"method": name, "accuracy on the known": hit}
        for other in methods:
            same = metrics.concordance(labels[~known], assignments[other][~known])
            row.append("" if other == name else percent(same))
            record[f"concordance with {other}"] = same
        rows.append(row)
        records.append(record)
    caption = (
        f"Accuracy on the {known.sum()} samples of known subtype, then the share of the {(~known).sum()} others on "
        "which two methods agree."
    )
    return Table("pam50-agreement", caption, ["", "accuracy on the known", *methods], rows, records)


def differing(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Positions of the samples that two methods assign differently."""
    return np.flatnonzero(first != second)


def differing_table(
    expression: Expression, pam: np.ndarray, certmix: np.ndarray, posterior: np.ndarray
) -> Table:
    """The samples that PAM and certmix assign differently."""
    rows, records = [], []
    for number, i in enumerate(differing(pam, certmix), start=1):
        subtype = expression.subtypes[expression.target[i]] if expression.known[i] else ""
        ours, theirs = expression.subtypes[certmix[i]], expression.subtypes[pam[i]]
        rows.append(
            [str(number), expression.samples[i], subtype or "unknown", theirs, ours, f"{posterior[i]:.2f}"]
        )
        records.append(
            {
                "number": number,
                "sample": expression.samples[i],
                "known subtype": subtype,
                "PAM": theirs,
                "certmix": ours,
                "posterior of certmix": float(posterior[i]),
            }
        )
    header = ["", "sample", "known subtype", "PAM", "certmix", "posterior"]
    caption = (
        "Samples that PAM (published centroids, where they are there) and certmix with the known labels assign "
        "differently. The posterior is the probability of certmix's subtype at its means and weights; with a known "
        "label it plays no part."
    )
    return Table("pam50-differing", caption, header, rows, records)


def draw_bars(expression: Expression, assignments: Assignments, order_by: str) -> Any:
    """Figure 2: a bar of all samples for every method, coloured by subtype."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    figure, axes = new_figure(10.0, 0.9 + 0.52 * len(assignments))
    colours = subtype_colours(len(expression.subtypes))
    known = expression.known
    order = np.lexsort((assignments[order_by], np.where(known, expression.target, len(expression.subtypes))))
    table = np.stack([labels[order] for labels in assignments.values()]) + 1
    axes.imshow(
        table,
        aspect="auto",
        interpolation="nearest",
        cmap=ListedColormap([_UNKNOWN_COLOUR, *colours]),
        vmin=0,
        vmax=len(colours),
        extent=(0, len(order), len(assignments), 0),
    )
    for line in range(1, len(assignments)):
        axes.axhline(line, color="white", linewidth=5)
    split = int(known.sum())
    axes.axvline(split, color="black", linewidth=1.5)
    axes.set_yticks(np.arange(len(assignments)) + 0.5, list(assignments))
    axes.tick_params(left=False)
    axes.grid(False)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_xticks([split / 2, (split + len(order)) / 2])
    axes.set_xticklabels([f"{split} samples of known subtype", f"{len(order) - split} unknown"])
    axes.tick_params(axis="x", length=0)
    counted = zip(expression.subtypes, colours, strict=True)
    patches = [Patch(color=c, label=name) for name, c in counted]
    figure.legend(
        handles=[*patches, Patch(color=_UNKNOWN_COLOUR, label="unknown")],
        loc="outside upper right",
        ncols=len(patches) + 1,
        columnspacing=1.2,
        handlelength=1.2,
    )
    return figure
