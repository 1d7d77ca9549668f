"""Table 2: every method on iris1d, wine and brca."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from certmix import datasets
from certmix.paper.study import paper
from certmix.paper.study.cells import Cell, Record
from certmix.paper.study.runs import METHODS, PAPERS_MODELS, engine_cell, gap_words, local_cell
from certmix.paper.study.section import Block, Bullets, Heading, Section, Text
from certmix.paper.study.settings import Settings
from certmix.paper.study.start import STAYED, start_cell, start_table
from certmix.paper.study.tables import Table, decimals, seconds
from certmix.paper.study.truth import METRICS, scored

LOCAL = ("em", "slsqp", "annealing")
COLUMNS = (*LOCAL, *PAPERS_MODELS, "auto")


class Table2:
    """Three data sets, six methods."""

    name = "table2"

    def cells(self, settings: Settings) -> list[Cell]:
        cells = [_cell(name, method, settings) for name in settings.data_sets for method in COLUMNS]
        return cells + [start_cell(name, settings) for name in settings.data_sets]

    def section(self, settings: Settings, records: Mapping[str, Record]) -> Section:
        measured = {
            name: {method: _measured(name, records[_cell(name, method, settings).key]) for method in COLUMNS}
            for name in settings.data_sets
        }
        blocks: list[Block] = [Text(_PROTOCOL)]
        for name, columns in measured.items():
            blocks += [Heading(datasets.load(name).description), _table(name, columns)]
        blocks += [Heading("What agrees with the paper and what does not"), Bullets(_findings(measured))]
        starts = {n: _measured(n, records[start_cell(n, settings).key]) for n in settings.data_sets}
        blocks += [Text(STAYED), start_table(starts)]
        return Section(self.name, "Table 2: -log MAP, bounds and distances from the truth", blocks)


_PROTOCOL = (
    f"In brackets what the paper prints ({paper.printed('table2/time-limit')} h; MIQP on "
    f"{paper.printed('table2/miqp-cores')} cores). EM, SLSQP and SA begin at k-means and are scored as "
    "in the paper: labels rounded to the most probable component, value at the method's own means and weights. MINLP "
    "and MIQP are the paper's models in SCIP (the paper: BARON and Gurobi), one thread, begun with nothing. `certmix` "
    "is `certmix solve` with its default engine, one thread. Components are matched with the true classes so that as "
    "many samples as possible keep their class (an assignment problem on the table of counts); the truth is the "
    "classes' shares and averages. The norm of the means is the spectral norm of the K x d matrix of differences: "
    "the paper does not say which it takes, but this one gives its value for the optimal clustering of wine. The CSV "
    "files hold the Frobenius norm too. TV is the total variation distance; with integral z its mean is the share of "
    "samples in another class."
)


def optimum_cell(name: str, settings: Settings) -> Cell:
    """certmix's own run on a data set of the table, with a certificate that is checked."""
    return engine_cell({"name": name}, "auto", settings, verify=True)


def _cell(name: str, method: str, settings: Settings) -> Cell:
    if method == "auto":
        return optimum_cell(name, settings)
    make = local_cell if method in LOCAL else engine_cell
    return make({"name": name}, method, settings)


def _measured(name: str, record: Record) -> Record:
    """The figures of one column; None where the method has none."""
    found: Record = {
        key: record.get(key) for key in ("objective", "rescored", "lower_bound", "gap_relative", "seconds")
    }
    found["certificate"] = record["certificate"]
    found |= dict.fromkeys(("weights", "means", "means_frobenius", "assignment"))
    if record["labels"] is not None:
        scores = scored(datasets.load(name), record["labels"], record["means"], record["weights"])
        found |= {
            "weights": scores.weights,
            "means": scores.means,
            "means_frobenius": scores.means_frobenius,
            "assignment": scores.assignment,
        }
    return found


def _table(name: str, columns: Mapping[str, Record]) -> Table:
    rows = []
    for metric, (title, digits) in METRICS.items():
        cells = []
        for method, found in columns.items():
            printed = paper.printed(f"table2/{name}/{method}/{metric}")
            ours = decimals(found[metric], digits)
            cells.append(ours if printed == "–" else f"{ours} ({printed})")
        rows.append([title, *cells])
    rows.append(["rescored at best parameters", *(decimals(c["rescored"], 2) for c in columns.values())])
    rows.append(["relative gap", *(gap_words(c["gap_relative"]) for c in columns.values())])
    best = columns["auto"]["objective"]
    missing = [_missing(c["lower_bound"], best) for c in columns.values()]
    rows.append(["bound below certmix's value by", *(gap_words(m) for m in missing)])
    rows.append(["certificate", *(c["certificate"] for c in columns.values())])
    rows.append(["seconds", *(seconds(c["seconds"]) for c in columns.values())])
    records: list[dict[str, Any]] = [
        {
            "data set": name,
            "method": METHODS[method],
            "metric": metric,
            "ours": found[metric],
            "paper": _paper(name, method, metric)[0],
            "place in the paper": _paper(name, method, metric)[1],
        }
        for method, found in columns.items()
        for metric in (*METRICS, "means_frobenius", "rescored", "gap_relative", "certificate", "seconds")
    ]
    return Table(
        f"table2-{name}",
        f"{name}: ours (the paper's). A dash: the method gives none.",
        ["", *(METHODS[m] for m in columns)],
        rows,
        records,
    )


def _missing(bound: float | None, best: float | None) -> float | None:
    """How far a bound is from the best value, relative to it: a gap for methods that found no clustering."""
    return None if bound is None or best is None else max(0.0, best - bound) / max(1.0, abs(best))


def _paper(name: str, method: str, metric: str) -> tuple[str, str]:
    found = paper.values().get(f"table2/{name}/{method}/{metric}")
    return ("", "") if found is None else (str(found.value), found.place)


def _findings(measured: Mapping[str, Mapping[str, Record]]) -> list[str]:
    """Sentences that follow from the figures, whatever they are."""
    found = []
    for name, columns in measured.items():
        ours = columns["auto"]
        if ours["objective"] is None:
            found.append(f"{name}: certmix found nothing within the time limit.")
            continue
        printed = paper.printed(f"table2/{name}/minlp/objective")
        verdict = "agrees with" if _prints(ours["objective"], printed) else "differs from"
        found.append(
            f"{name}: certmix's {ours['objective']:.4f} (gap {gap_words(ours['gap_relative'])}, "
            f"{ours['certificate']}, {seconds(ours['seconds'])} s) {verdict} the paper's MINLP value {printed}, for "
            f"which the paper's bound is {paper.printed(f'table2/{name}/minlp/lower_bound')}."
        )
        found += _local_findings(name, columns, ours["objective"])
        found += _model_findings(name, columns)
    return found


def _local_findings(name: str, columns: Mapping[str, Record], optimum: float) -> list[str]:
    agree, differ = [], []
    for method in LOCAL:
        value, printed = columns[method]["objective"], paper.printed(f"table2/{name}/{method}/objective")
        if (
            value is not None and abs(value - float(printed)) <= 0.0101
        ):  # one paper value is cut off, not rounded
            agree.append(METHODS[method])
        else:
            differ.append(f"{METHODS[method]} {decimals(value, 2)} against {printed}")
    found = []
    if agree:
        verb = "agrees" if len(agree) == 1 else "agree"
        found.append(f"{name}: {' and '.join(agree)} {verb} with the paper to a unit of its last digit.")
    if differ:
        found.append(
            f"{name}, not reproduced: {', '.join(differ)}; see below why. The certified optimum is {optimum:.4f}."
        )
    return found


def _model_findings(name: str, columns: Mapping[str, Record]) -> list[str]:
    without = [METHODS[m] for m in PAPERS_MODELS if columns[m]["objective"] is None]
    if not without:
        return []
    return [
        f"{name}: within the time limit SCIP found no clustering for the {' and the '.join(without)}, begun with "
        f"nothing; the row LBD has what it proved. The paper's solvers had {paper.printed('table2/time-limit')} hours."
    ]


def _prints(value: float, printed: str) -> bool:
    """Whether a value, rounded to the digits that are printed, is what is printed."""
    digits = len(printed.partition(".")[2])
    return f"{value:.{digits}f}" == printed
