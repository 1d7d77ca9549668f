"""Gap against time, with and without the known labels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from certmix.paper.study import paper
from certmix.paper.study.cells import Record
from certmix.paper.study.drawing import name_at_right, new_figure
from certmix.paper.study.runs import METHODS, gap_words
from certmix.paper.study.tables import Table, decimals, seconds
from certmix.plotting.style import COLOURS
from certmix.status import Tolerances

Runs = Mapping[tuple[str, str], Record]
"""(engine, with or without labels) -> record."""
WITH, WITHOUT = "with labels", "without labels"
_HIGHEST = 30.0  # of the scale: a bound far below zero makes a gap of thousands of per cent
_COLOURS = {"auto": COLOURS[0], "miqp": COLOURS[1]}


def gap_curve(record: Record) -> tuple[list[float], list[float]]:
    """Times and relative gaps of a run; only where it had both a clustering and a bound."""
    times, gaps = [], []
    for t, upper, lower in [
        *record["trace"],
        [record["seconds"], record["objective"], record["lower_bound"]],
    ]:
        if upper is not None and lower is not None:
            times.append(t)
            gaps.append(Tolerances.gap_relative(upper, lower))
    return times, gaps


def gap_table(runs: Runs) -> Table:
    rows, records = [], []
    for (engine, labels), record in runs.items():
        printed = paper.printed(f"pam50/gap-{labels.replace(' ', '-')}")
        rows.append(
            [
                f"{METHODS[engine]}, {labels}",
                decimals(record["objective"], 4),
                decimals(record["lower_bound"], 4),
                gap_words(record["gap_relative"]),
                f"{printed} %" if engine == "miqp" else "",
                record["certificate"],
                seconds(record["seconds"]),
            ]
        )
        times, gaps = gap_curve(record)
        records += [
            {"method": METHODS[engine], "labels": labels, "seconds": t, "relative gap": g}
            for t, g in zip(times, gaps, strict=True)
        ]
    header = ["", "-log MAP", "LBD", "relative gap", "paper's gap (MIQP)", "certificate", "seconds"]
    caption = (
        f"The paper's MIQP ran on {paper.printed('pam50/miqp-cores')} cores. The CSV file holds the curves."
    )
    if not records:
        return Table("pam50-gap", caption, header, rows)
    return Table("pam50-gap", caption, header, rows, records)


def draw(runs: Runs, limit: float) -> Any:
    """The figure: both scales logarithmic, the paper's two gaps as lines."""
    figure, axes = new_figure(7.6, 4.6)
    axes.set_xscale("log")
    axes.set_yscale("log")
    first = limit
    ends: list[tuple[float, str, str]] = []
    none: list[str] = []
    lowest = 1e-6
    for (engine, labels), record in runs.items():
        times, gaps = gap_curve(record)
        name = f"{METHODS[engine]}, {labels}"
        if not times:
            none.append(name)
            continue
        first = min(first, times[0])
        gaps = [max(g, 1e-9) for g in gaps]
        lowest = min(lowest, gaps[-1])
        colour, dash = _COLOURS[engine], "-" if labels == WITH else (0, (4, 1.5))
        axes.step(times, gaps, where="post", color=colour, linestyle=dash, zorder=3)
        axes.plot(times[-1], gaps[-1], "o", color=colour, markersize=6, zorder=4)
        beyond = f": {gap_words(gaps[-1])}" if gaps[-1] > _HIGHEST else ""
        ends.append((min(gaps[-1], _HIGHEST), name + beyond, colour))
    left = 10 ** math.floor(math.log10(max(first, 1e-3)))
    axes.set_xlim(left, limit * 1.15)
    axes.set_ylim(lowest / 3, _HIGHEST)
    for labels in (WITH, WITHOUT):
        printed = paper.values()[f"pam50/gap-{labels.replace(' ', '-')}"]
        axes.axhline(printed.number / 100, color="0.45", linewidth=1, linestyle=":", zorder=2)
        ends.append((printed.number / 100, f"paper, {labels}: {printed.value} %", "0.3"))
    name_at_right(axes, ends)
    for line, name in enumerate(none):
        axes.annotate(
            f"{name}: no gap, for want of a clustering",
            (0.99, 0.03 + 0.06 * line),
            xycoords="axes fraction",
            ha="right",
            color="0.3",
        )
    axes.set_xlabel("seconds (log scale)")
    axes.set_ylabel("relative gap (log scale)")
    axes.set_title("PAM50: gap against time")
    return figure
