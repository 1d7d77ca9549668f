"""Figure 1b: time against the number of samples."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from certmix.paper.study import paper
from certmix.paper.study.cells import Cell, Record
from certmix.paper.study.drawing import METHOD_COLOURS, METHOD_MARKERS, new_figure, spread
from certmix.paper.study.figure1a import GAP, SIGMA, line_cell
from certmix.paper.study.runs import METHODS, PAPERS_MODELS, gap_words
from certmix.paper.study.section import Block, Figure, Section, Text
from certmix.paper.study.settings import Settings
from certmix.paper.study.tables import Table, decimals, seconds

OURS = ("dual", "auto")
ENGINES = (*PAPERS_MODELS, *OURS)
Found = Mapping[tuple[int, str], Record]


class Figure1b:
    """Seconds until the optimum is proved, for subsets of iris1d."""

    name = "figure1b"

    def cells(self, settings: Settings) -> list[Cell]:
        return [line_cell(n, engine, settings) for n, engine in _runs(settings)]

    def section(self, settings: Settings, records: Mapping[str, Record]) -> Section:
        found = {(n, engine): records[line_cell(n, engine, settings).key] for n, engine in _runs(settings)}
        blocks: list[Block] = [
            Text(
                f"The first n/3 samples of every class, sigma = {SIGMA:g}, one thread, seconds until the relative gap "
                f"is {GAP:g}; the open marks at the top are runs that had not got there at the time limit. The paper "
                "prints no numbers for this figure, but says that its MIQP (Gurobi) is faster than its MINLP (BARON) "
                f"by a factor of about {paper.printed('figure1/speedup')} at n = {paper.printed('figure1/n')}. "
                + _comparison(found)
            ),
            Figure(
                "figure1b",
                "Seconds (log scale) until the optimum is proved, against the number of samples.",
                lambda: draw(found),
            ),
            _table(found),
        ]
        return Section(self.name, "Figure 1b: time against the number of samples, iris1d", blocks)


def _runs(settings: Settings) -> list[tuple[int, str]]:
    runs = [(n, engine) for n in settings.sizes for engine in ENGINES]
    return runs + [(n, engine) for n in settings.more_sizes for engine in OURS]


def _proved(record: Record) -> bool:
    return bool(record["status"] == "optimal")


def _comparison(found: Found) -> str:
    """Which of the two models SCIP proves sooner, where it proves both."""
    both = [
        n for n, engine in found if engine == "minlp" and all(_proved(found[n, m]) for m in PAPERS_MODELS)
    ]
    if not both:
        return "With SCIP no size was proved with both models, so that claim could not be looked at."
    ratios = [found[n, "miqp"]["seconds"] / found[n, "minlp"]["seconds"] for n in both]
    sooner = sum(r < 1 for r in ratios)
    open_sizes = [n for n, engine in found if engine == "minlp" and n not in both]
    rest = (
        f" At n = {', '.join(map(str, open_sizes))} at least one of them did not end." if open_sizes else ""
    )
    return (
        f"With SCIP this is not reproduced where both end: of {len(both)} sizes up to n = {max(both)} the MIQP was "
        f"the faster in {sooner}, and took {min(ratios):.1f} to {max(ratios):.1f} times as long as the MINLP."
        + rest
    )


def _table(found: Found) -> Table:
    sizes = sorted({n for n, _ in found})
    rows = []
    for n in sizes:
        optimum = found[n, "auto"]["objective"]
        rows.append([str(n), decimals(optimum, 4), *(_cell(found.get((n, engine))) for engine in ENGINES)])
    records = [
        {
            "n": n,
            "method": METHODS[engine],
            "seconds": r["seconds"],
            "proved": _proved(r),
            "objective": r["objective"],
            "lower_bound": r["lower_bound"],
            "relative gap": r["gap_relative"],
            "certificate": r["certificate"],
        }
        for (n, engine), r in found.items()
    ]
    caption = "Seconds until the gap was reached, or the gap that was left at the time limit."
    return Table("figure1b", caption, ["n", "optimum", *(METHODS[e] for e in ENGINES)], rows, records)


def _cell(record: Record | None) -> str:
    if record is None:
        return ""
    if _proved(record):
        return seconds(record["seconds"])
    left = "no clustering" if record["objective"] is None else f"{gap_words(record['gap_relative'])} left"
    return f"> {seconds(record['seconds'])} ({left})"


def draw(found: Found) -> Any:
    """The figure: a curve for each method, named at its right end."""
    figure, axes = new_figure(7.6, 4.6)
    axes.set_yscale("log")
    axes.set_xscale("log")
    ends: list[tuple[float, float, str]] = []
    for engine in ENGINES:
        runs = [(n, r) for (n, e), r in found.items() if e == engine]
        colour, marker = METHOD_COLOURS[engine], METHOD_MARKERS[engine]
        sizes, times = [n for n, _ in runs], [max(r["seconds"], 1e-4) for _, r in runs]
        axes.plot(sizes, times, color=colour, linewidth=1.6, zorder=2)
        for (n, r), t in zip(runs, times, strict=True):
            face = colour if _proved(r) else "white"
            axes.plot(n, t, marker, color=colour, markerfacecolor=face, markersize=7, zorder=3)
        ends.append((sizes[-1], times[-1], engine))
    sizes = sorted({n for n, _ in found})
    axes.set_xticks(sizes, [str(n) for n in sizes])
    axes.minorticks_off()
    axes.set_xlim(sizes[0] * 0.93, sizes[-1] * 1.08)
    axes.set_ylim(top=2.5 * axes.get_ylim()[1])  # room for the names of curves that end at the top
    _name_ends(axes, ends)
    axes.set_xlabel("number of samples n (log scale)")
    axes.set_ylabel("seconds (log scale)")
    axes.set_title("Time until the optimum is proved (open marks: not proved at the time limit)")
    return figure


def _name_ends(axes: Any, ends: list[tuple[float, float, str]]) -> None:
    """The name of every curve beside its last point, moved apart where they would touch."""
    low, high = axes.get_ylim()
    wanted = [math.log10(t) for _, t, _ in ends]
    heights = spread(wanted, 0.07 * (math.log10(high) - math.log10(low)))
    for (n, t, engine), height in zip(ends, heights, strict=True):
        axes.annotate(
            METHODS[engine],
            (n, t),
            xytext=(n * 1.05, 10**height),
            textcoords="data",
            color=METHOD_COLOURS[engine],
            va="center",
            fontweight="bold",
            annotation_clip=False,
        )
