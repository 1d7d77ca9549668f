"""The start of the local methods, k-means with equal weights: where the paper's SLSQP and SA seem to have stayed."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np

from certmix import datasets
from certmix.local.kmeans import kmeans
from certmix.paper.study import paper
from certmix.paper.study.cells import Cell, Record, Tell
from certmix.paper.study.runs import local_words
from certmix.paper.study.settings import Settings
from certmix.paper.study.tables import Table, decimals
from certmix.paper.study.truth import METRICS

STAYED = (
    "Why SLSQP and SA could not be reproduced: nearly all of the paper's figures for them are those of their common "
    "start, the clusters of k-means scored with all weights equal to 1/K, to a few units of the last digits. So in the "
    "paper these two seem to have hardly moved, and the weights not at all; ours move, and come out at the optimum or "
    "next to it. The exception is its SLSQP on iris1d, which remains unexplained."
)


def start_cell(name: str, settings: Settings) -> Cell:
    """k-means in whitened coordinates, scored with its means and equal weights."""

    def make(tell: Tell) -> Record:
        problem = datasets.load(name).problem()
        begin = time.perf_counter()
        found = kmeans(problem, seed=settings.seed)
        weights = np.full(problem.n_components, 1.0 / problem.n_components)
        return {
            "objective": problem.objective.value(found.own_labels, found.means, weights),
            "rescored": found.rescored,
            "labels": found.own_labels.tolist(),
            "means": found.means.tolist(),
            "weights": weights.tolist(),
            "converged": found.converged,
            "seconds": time.perf_counter() - begin,
            "certificate": "none",
        }

    options = {"data": name, "seed": settings.seed}
    return Cell(f"{name}-start", f"{name}, k-means with equal weights", options, make, local_words)


def start_table(starts: Mapping[str, Record]) -> Table:
    """The start beside the paper's two columns."""
    rows = [
        [
            f"{name}, {title}",
            decimals(found[metric], digits),
            paper.printed(f"table2/{name}/slsqp/{metric}"),
            paper.printed(f"table2/{name}/annealing/{metric}"),
        ]
        for name, found in starts.items()
        for metric, (title, digits) in METRICS.items()
        if metric != "lower_bound"
    ]
    header = ["", "k-means, equal weights (ours)", "SLSQP (paper)", "SA (paper)"]
    return Table(
        "table2-start", "The start of the local methods beside the paper's SLSQP and SA.", header, rows
    )
