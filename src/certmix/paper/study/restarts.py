"""EM with many random restarts against the certified optimum."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from certmix import datasets
from certmix.io.strict_json import finite
from certmix.local.em import em
from certmix.observers.wording import duration
from certmix.paper.study import paper
from certmix.paper.study.cells import Cell, Record, Tell
from certmix.paper.study.drawing import new_figure
from certmix.paper.study.figure1a import SIGMA, line_cell
from certmix.paper.study.runs import Compiling, gap_words, interruptible_solve
from certmix.paper.study.section import Block, Figure, Section, Text
from certmix.paper.study.settings import Settings
from certmix.paper.study.tables import Table, decimals, percent, seconds
from certmix.plotting.style import COLOURS
from certmix.problem import Problem

# How a restart begins, and its name.
STARTS = {
    "samples": "EM, means at random samples",
    "labels": "EM, random labels",
    "hard": "hard EM with local search",
}
SAME = 1e-6
"""Two values this close, in nats, are the same."""


class Restarts:
    """How often, and how soon, do restarts find the optimum of iris1d with 45 samples?"""

    name = "restarts"

    def cells(self, settings: Settings) -> list[Cell]:
        optimum = line_cell(settings.convergence, "auto", settings)
        return [optimum, *(_cell(start, settings) for start in STARTS)]

    def section(self, settings: Settings, records: Mapping[str, Record]) -> Section:
        optimum = records[line_cell(settings.convergence, "auto", settings).key]
        found = {start: records[_cell(start, settings).key] for start in STARTS}
        blocks: list[Block] = [
            Text(
                f"iris1d, n = {settings.convergence}, sigma = {SIGMA:g}. The paper restarted EM for "
                f"{paper.printed('restarts/budget')} hours; its best value was {paper.printed('restarts/em')}, against "
                f"the optimum {paper.printed('restarts/optimum')}. Here up to {settings.restarts} restarts, or as many "
                "as the time limit allows, each run until its value no longer falls and then scored with the best "
                "means and weights for its labels. Two kinds of random starts: means at distinct random samples, and "
                "a random label for every sample. Hard EM with local search is what certmix begins its own proofs "
                "with; each restart has its own seed."
            ),
            Text(_answer(found, optimum)),
            Figure(
                "restarts",
                "Best value above the certified optimum against the number of restarts.",
                lambda: draw(found, optimum["objective"]),
            ),
            _table(found, optimum),
        ]
        return Section(self.name, "EM with restarts against the certified optimum", blocks)


def _cell(start: str, settings: Settings) -> Cell:
    options = {
        "n": settings.convergence,
        "sigma": SIGMA,
        "start": start,
        "restarts": settings.restarts,
        "time_limit": settings.time_limit,
        "seed": settings.seed,
    }

    def make(tell: Tell) -> Record:
        problem = datasets.load("iris1d", n=settings.convergence, sigma=SIGMA).problem()
        return _restarted(problem, start, settings, tell)

    key = f"restarts-{settings.convergence}-{start}"
    return Cell(key, STARTS[start], options, make, _words, settings.time_limit)


def _words(record: Record) -> str:
    best = min((v for v in record["values"] if v is not None), default=None)
    return f"best of {len(record['values'])}: {decimals(best, 4)}, {record['seconds']:.2f} s"


def _restarted(problem: Problem, start: str, settings: Settings, tell: Tell) -> Record:
    """Values and times of restarts, one after the other."""
    if start == "hard":  # kernels are compiled before the clock starts
        interruptible_solve(problem, "hard-em", restarts=1, seed=settings.seed, observers=[Compiling(tell)])
    rng = np.random.default_rng([settings.seed, list(STARTS).index(start)])
    values: list[float | None] = []
    own: list[float | None] = []
    ends: list[float] = []
    begin, told = time.perf_counter(), 0.0
    while len(values) < settings.restarts and (not ends or ends[-1] < settings.time_limit):
        if start == "hard":
            seed = settings.seed + 1 + len(values)
            result = interruptible_solve(problem, "hard-em", restarts=1, seed=seed)
            values.append(finite(result.objective))
            own.append(finite(result.objective))
        else:
            found = em(problem, start=_random_labels(problem, start, rng))
            values.append(finite(found.rescored))
            own.append(finite(found.value))
        ends.append(time.perf_counter() - begin)
        if ends[-1] - told > 15:
            told = ends[-1]
            tell(f"{duration(told)}: {len(values)} restarts")
    return {"values": values, "own": own, "ends": ends, "seconds": ends[-1], "certificate": "none"}


def _random_labels(problem: Problem, start: str, rng: np.random.Generator) -> np.ndarray:
    n, K = problem.n_samples, problem.n_components
    if start == "labels":
        return rng.integers(0, K, n)
    centres = problem.data[rng.choice(n, K, replace=False)]
    return np.asarray(((problem.data[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1))


def _hits(record: Record, optimum: float) -> np.ndarray:
    """Which restarts ended at the optimum."""
    return np.array([v is not None and v <= optimum + SAME for v in record["values"]])


def _answer(found: Mapping[str, Record], optimum: Record) -> str:
    best = optimum["objective"]
    soft = [found[start] for start in ("samples", "labels")]
    hits = sum(int(_hits(r, best).sum()) for r in soft)
    tries = sum(len(r["values"]) for r in soft)
    values = [v for r in soft for v in r["values"] if v is not None]
    ends = len({round(v / SAME) for v in values})
    printed = paper.printed("restarts/em")
    lowest = min(values)
    agrees = f"{lowest:.4f}" == printed
    text = (
        f"EM found the certified optimum {best:.6f} (gap {gap_words(optimum['gap_relative'])}, "
        f"{optimum['certificate']}) in **{hits} of {tries}** restarts. "
        + (
            f"All ended at {lowest:.6f}, "
            if ends == 1
            else f"They ended at {ends} values; the lowest is {lowest:.6f}, "
        )
    )
    text += f"which is the paper's {printed}." if agrees else f"where the paper has {printed}."
    if hits == 0:
        text += (
            " More restarts do not help: soft EM maximises the marginal likelihood, whose optimum rounds to another "
            "clustering than the MAP one."
        )
    hard = found["hard"]
    good = _hits(hard, best)
    if good.any():
        first = int(good.argmax())
        text += (
            f" Hard EM with local search, whose objective is the right one, found it in {int(good.sum())} of "
            f"{len(good)} restarts, for the first time in restart {first + 1} after "
            f"{seconds(hard['ends'][first])} s."
        )
    return text


def _table(found: Mapping[str, Record], optimum: Record) -> Table:
    best = optimum["objective"]
    rows = []
    for start, record in found.items():
        values = np.array([np.inf if v is None else v for v in record["values"]])
        good = _hits(record, best)
        first = int(good.argmax()) if good.any() else None
        rows.append(
            [
                STARTS[start],
                str(len(values)),
                f"{values.min():.6f}",
                f"{min(v for v in record['own'] if v is not None):.6f}",
                f"{int(good.sum())} ({percent(float(good.mean()))})",
                "never" if first is None else str(first + 1),
                "never" if first is None else seconds(record["ends"][first]),
                seconds(record["seconds"]),
            ]
        )
    records = [
        {"start": STARTS[start], "restart": i + 1, "value": v, "value at own parameters": o, "seconds": t}
        for start, record in found.items()
        for i, (v, o, t) in enumerate(zip(record["values"], record["own"], record["ends"], strict=True))
    ]
    header = [
        "",
        "restarts",
        "best value",
        "best at own parameters",
        "optimum found",
        "first in restart",
        "first after (s)",
        "all (s)",
    ]
    caption = (
        f"Certified optimum {best:.6f}; paper: EM {paper.printed('restarts/em')}, "
        f"optimum {paper.printed('restarts/optimum')}. The CSV file holds every restart."
    )
    return Table("restarts", caption, header, rows, records)


def draw(found: Mapping[str, Record], optimum: float) -> Any:
    """The figure: best value so far above the optimum, by the number of restarts."""
    figure, axes = new_figure(7.6, 4.2)
    axes.set_xscale("log")
    printed = paper.number("restarts/em") - paper.number("restarts/optimum")
    styles = {"samples": (COLOURS[1], "-"), "labels": (COLOURS[4], (0, (4, 2))), "hard": (COLOURS[0], "-")}
    most = max(len(r["values"]) for r in found.values())
    for start, record in found.items():
        values = np.minimum.accumulate([np.inf if v is None else v for v in record["values"]]) - optimum
        colour, dash = styles[start]
        counts = np.arange(1, len(values) + 1)
        axes.step(counts, values, where="post", color=colour, linestyle=dash, label=STARTS[start], zorder=3)
    axes.axhline(printed, color="0.45", linewidth=1, linestyle=":", zorder=2)
    axes.annotate(
        f"paper, EM for {paper.printed('restarts/budget')} hours: {paper.printed('restarts/em')}",
        (most, printed),
        xytext=(0, 5),
        textcoords="offset points",
        ha="right",
        color="0.3",
    )
    axes.axhline(0, color="0.45", linewidth=1, zorder=1)
    axes.annotate(
        f"certified optimum {optimum:.4f}",
        (most, 0),
        xytext=(0, 5),
        textcoords="offset points",
        ha="right",
        color="0.3",
    )
    top = max(axes.get_ylim()[1], 1.6 * printed)
    axes.set_ylim(-0.06 * top, top)
    axes.set_xlim(0.9, most * 1.1)
    axes.set_xlabel("restarts (log scale)")
    axes.set_ylabel("best value above the optimum (nats)")
    axes.set_title("Best of many restarts, iris1d")
    axes.legend(loc="upper right", ncols=1)
    return figure
