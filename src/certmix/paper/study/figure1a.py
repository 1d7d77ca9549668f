"""Figure 1a: how incumbent and bound converge on iris1d with 45 samples."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from certmix.paper.study import paper
from certmix.paper.study.cells import Cell, Record
from certmix.paper.study.drawing import METHOD_COLOURS, name_at_right, new_figure
from certmix.paper.study.runs import METHODS, engine_cell, gap_words
from certmix.paper.study.section import Figure, Section, Text
from certmix.paper.study.settings import Settings
from certmix.paper.study.tables import Table, decimals, seconds

ENGINES = ("minlp", "miqp", "dual", "auto")
SIGMA = 0.2
GAP = 1e-4


def line_cell(n: int, engine: str, settings: Settings) -> Cell:
    """A run on iris1d with the first n/3 samples of every class; Figures 1a and 1b share those they both need."""
    return engine_cell({"name": "iris1d", "n": n, "sigma": SIGMA}, engine, settings, gap=GAP)


class Figure1a:
    """Incumbent and bound against time."""

    name = "figure1a"

    def cells(self, settings: Settings) -> list[Cell]:
        return [line_cell(settings.convergence, engine, settings) for engine in ENGINES]

    def section(self, settings: Settings, records: Mapping[str, Record]) -> Section:
        n = settings.convergence
        found = {engine: records[line_cell(n, engine, settings).key] for engine in ENGINES}
        return Section(
            self.name,
            f"Figure 1a: convergence of incumbent and bound, iris1d n={n}",
            [
                Text(
                    f"The first {n // 3} samples of every class, sigma = {SIGMA:g} (which reproduces the paper's "
                    f"optimum {paper.printed('restarts/optimum')}; the {0.4:g} that the paper states does not). In the "
                    "paper the incumbent is there at once and the time goes into the bound: its MIQP found the optimum "
                    f"after {paper.printed('restarts/miqp-found')} s and proved it in another "
                    f"{paper.printed('restarts/miqp-proof')} s. Here MINLP and MIQP are solved by SCIP with one "
                    "thread and begin with nothing. `certmix` is dynamic programming, which is exact in one "
                    "dimension; `certmix dual` is the branch and bound that works in several."
                ),
                Figure(
                    "figure1a",
                    f"Incumbent (solid) and lower bound (dashed) against seconds, iris1d n={n}. "
                    "A run ends where its two curves meet, or at the time limit.",
                    lambda: draw(found, settings.time_limit),
                ),
                _table(found),
            ],
        )


def _table(found: Mapping[str, Record]) -> Table:
    rows, records = [], []
    for engine, record in found.items():
        first, best = _times(record)
        rows.append(
            [
                METHODS[engine],
                decimals(record["objective"], 4),
                decimals(record["lower_bound"], 4),
                gap_words(record["gap_relative"]),
                record["certificate"],
                seconds(first),
                seconds(best),
                seconds(record["seconds"]),
            ]
        )
        records += [
            {"method": METHODS[engine], "seconds": t, "incumbent": u, "bound": b}
            for t, u, b in record["trace"]
        ]
    header = [
        "",
        "-log MAP",
        "LBD",
        "relative gap",
        "certificate",
        "first clustering (s)",
        "best clustering (s)",
        "end (s)",
    ]
    caption = "Where the runs ended; the CSV file holds the curves."
    return Table("figure1a", caption, header, rows, records)


def _times(record: Record) -> tuple[float | None, float | None]:
    """When the first clustering and the best one were there."""
    found = [(t, u) for t, u, _ in record["trace"] if u is not None]
    if not found:
        return None, None
    best = min(u for _, u in found)
    return found[0][0], next(t for t, u in found if u <= best)


def draw(found: Mapping[str, Record], limit: float) -> Any:
    """The figure: two curves for each method, named at their ends."""
    figure, axes = new_figure(7.6, 4.6)
    optimum = min(r["objective"] for r in found.values() if r["objective"] is not None)
    low, high = -0.06 * optimum, 1.75 * optimum
    first = min((t for r in found.values() for t, _, _ in r["trace"]), default=0.01)
    left = 10 ** math.floor(math.log10(max(first, 1e-4)))
    right = max(limit, *(r["seconds"] for r in found.values()))
    axes.set_xscale("log")
    axes.set_xlim(left, right * 1.05)
    axes.set_ylim(low, high)
    ends: list[tuple[float, str, str]] = []
    proved = 0
    for engine, record in found.items():
        colour = METHOD_COLOURS[engine]
        times = [t for t, _, _ in record["trace"]] + [record["seconds"]]
        upper = [_or_nan(u) for _, u, _ in record["trace"]] + [_or_nan(record["objective"])]
        lower = [_or_nan(b) for _, _, b in record["trace"]] + [_or_nan(record["lower_bound"])]
        axes.step(times, upper, where="post", color=colour, zorder=3)
        axes.step(times, lower, where="post", color=colour, linestyle=(0, (4, 1.5)), zorder=3)
        if record["status"] == "optimal":
            axes.plot(record["seconds"], record["objective"], "o", color=colour, markersize=8, zorder=4)
            above = proved % 2 == 0  # two that end close together must not write over each other
            proved += 1
            axes.annotate(
                f"{METHODS[engine]}\nproved in {seconds(record['seconds'])} s",
                (record["seconds"], record["objective"]),
                xytext=(0, 12 if above else -14),
                textcoords="offset points",
                ha="center",
                va="bottom" if above else "top",
                color=colour,
                fontweight="bold",
            )
            continue
        if record["objective"] is None:
            ends.append((high, f"{METHODS[engine]}: no clustering", colour))
        else:
            value = f" {record['objective']:.0f}" if record["objective"] > high else ""
            ends.append((min(record["objective"], high), f"{METHODS[engine]} incumbent{value}", colour))
        if record["lower_bound"] is not None:
            ends.append((max(record["lower_bound"], low), f"{METHODS[engine]} bound", colour))
    name_at_right(axes, ends)
    axes.axhline(optimum, color="0.45", linewidth=1, zorder=2)
    axes.annotate(
        f"optimum {optimum:.4f}",
        (0.98, optimum),
        xycoords=("axes fraction", "data"),
        xytext=(0, 4),
        textcoords="offset points",
        ha="right",
        color="0.3",
    )
    axes.set_xlabel("seconds (log scale)")
    axes.set_ylabel("-log MAP (nats)")
    axes.set_title("Incumbent (solid) and lower bound (dashed)")
    return figure


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
