"""How many nodes does the branch and bound over assignments need, by branching rule? Prints a table in Markdown.

    python benchmarks/branching.py [--only TEXT ...] [--time-limit 60] [--gap 1e-6]

One row for each instance, one column for each rule: nodes, and in brackets the relaxations solved, those that a rule
solves to make its choice included. An instance that is not closed within the time limit shows the gap that is left. The
last rows add up nodes, relaxations and seconds over the instances that every rule closes. Nodes do not depend on the
machine; seconds do.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from certmix.datasets import load
from certmix.ledger import Ledger
from certmix.options import BRANCHING, Options
from certmix.paper.bnb.branching import branching_rule
from certmix.paper.bnb.relaxation import RelaxationBound
from certmix.presolve.instance import reduce
from certmix.problem import CannotLink, MinimumSize, MustLink, Problem
from certmix.search.engines import first_incumbent
from certmix.search.loop import search


@dataclass(frozen=True)
class Outcome:
    """One run: what it took, and the relative gap that is left."""

    nodes: int
    relaxations: int
    seconds: float
    gap: float
    closed: bool

    def __str__(self) -> str:
        took = f"{self.nodes} ({self.relaxations})"
        return took if self.closed else f"{took}, gap {100 * self.gap:.2g} %"


def mixture(n: int, d: int, k: int, seed: int, apart: float, **more: object) -> Problem:
    """Unit Gaussians around centres drawn with a given standard deviation: 2 overlaps, 5 does not."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=apart, size=(k, d))
    data = centres[rng.integers(k, size=n)] + rng.normal(size=(n, d))
    return Problem(data, k, **{"variance": 1.0, **more})  # type: ignore[arg-type]


def instances() -> Iterator[tuple[str, Callable[[], Problem]]]:
    """The paper's one-dimensional iris samples, and mixtures in two and three dimensions."""
    for n in (9, 12, 15, 21, 30):
        yield f"iris1d n={n} sigma=0.2", lambda n=n: load("iris1d", n=n, sigma=0.2).problem()
    for n in (15, 21):
        yield f"iris1d n={n} sigma=0.4", lambda n=n: load("iris1d", n=n, sigma=0.4).problem()
    sizes = (
        (12, 2, 2, 0),
        (20, 2, 2, 3),
        (30, 2, 2, 1),
        (12, 2, 3, 0),
        (12, 2, 3, 1),
        (16, 2, 3, 0),
        (14, 3, 3, 2),
    )
    for n, d, k, seed in sizes:
        name = f"overlapping n={n} d={d} K={k} seed={seed}"
        yield name, lambda n=n, d=d, k=k, seed=seed: mixture(n, d, k, seed, 2.0)
    for n, d, k, seed in ((15, 2, 3, 1), (20, 2, 3, 1), (20, 3, 3, 2), (30, 3, 3, 5), (16, 2, 4, 3)):
        name = f"separated n={n} d={d} K={k} seed={seed}"
        yield name, lambda n=n, d=d, k=k, seed=seed: mixture(n, d, k, seed, 5.0)
    links = [MustLink(0, 1), CannotLink(0, 2), CannotLink(3, 4), MinimumSize(3)]
    yield "overlapping n=14 d=2 K=3 seed=0, links", lambda: mixture(14, 2, 3, 0, 2.0, constraints=links)
    yield "overlapping n=14 d=2 K=3 seed=0, k-means", lambda: mixture(14, 2, 3, 0, 2.0, weights="uniform")


def run(problem: Problem, rule: str, gap: float, time_limit: float) -> Outcome:
    """The engine, taken apart to count relaxations."""
    options = Options(gap=gap, time_limit=time_limit, threads=1, branching=rule)
    ledger = Ledger(problem, options.tolerances)
    instance = reduce(problem)
    first_incumbent(instance, ledger, options)
    bound = RelaxationBound(instance, branching_rule(rule))
    search(bound, ledger, options, largest_batch=1)
    left = options.tolerances.gap_relative(ledger.upper, ledger.bound)
    return Outcome(ledger.nodes, bound.relaxations, ledger.seconds, left, ledger.closed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--only", nargs="*", default=[], help="keep instances whose name contains one of these"
    )
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--gap", type=float, default=1e-6)
    arguments = parser.parse_args()
    run(load("iris1d", n=9, sigma=0.2).problem(), BRANCHING[0], arguments.gap, 60.0)  # compiles the kernels
    print("| instance | " + " | ".join(BRANCHING) + " |")
    print("| --- |" + " ---: |" * len(BRANCHING))
    closed: list[list[Outcome]] = []
    for name, make in instances():
        if arguments.only and not any(text in name for text in arguments.only):
            continue
        row = [run(make(), rule, arguments.gap, arguments.time_limit) for rule in BRANCHING]
        print(f"| {name} | " + " | ".join(map(str, row)) + " |", flush=True)
        if all(outcome.closed for outcome in row):
            closed.append(row)
    for rows, cell in (
        (
            "nodes (relaxations) in all",
            lambda some: f"{sum(o.nodes for o in some)} ({sum(o.relaxations for o in some)})",
        ),
        ("seconds in all", lambda some: f"{sum(o.seconds for o in some):.1f}"),
    ):
        print(
            f"| {rows} | "
            + " | ".join(cell([row[c] for row in closed]) for c in range(len(BRANCHING)))
            + " |"
        )


if __name__ == "__main__":
    main()
