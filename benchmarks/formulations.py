"""How long do the paper's methods take, and ours? Prints a table in Markdown (Figure 1b of the paper).

    python benchmarks/formulations.py [--samples 9 12 15 21 30 45] [--engines NAME ...] [--time-limit 60]
                                      [--gap 0.01] [--solver scip] [--cold-start] [--sigma 0.2]

Seconds until the relative gap is one per cent, on iris1d with the first n/3 samples of every class and sigma = 0.2, for
``minlp``, ``miqp``, Algorithm 1 (``bnb``) and every other certified engine that takes the problem. A run that stops at
the time limit shows the gap it had. All runs use one thread, as in the paper, and every engine is called once before,
on a few samples, so that kernels are compiled.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable

import numpy as np

import certmix
from certmix.datasets import load
from certmix.engines import NAMES, engine, why_not
from certmix.problem import Problem
from certmix.result import Result

PAPER = ("minlp", "miqp", "bnb")


def certified() -> list[str]:
    """The paper's methods first, then every other engine that proves bounds."""
    found = [name for name in NAMES if name != "auto" and engine(name).certified]
    return [name for name in PAPER if name in found] + [name for name in found if name not in PAPER]


def iris(n: int, sigma: float) -> Problem:
    return load("iris1d", n=n, sigma=sigma).problem()


def solve(problem: Problem, name: str, arguments: argparse.Namespace) -> Result:
    return certmix.solve(
        problem,
        name,
        gap=arguments.gap,
        time_limit=arguments.time_limit,
        threads=1,
        solver=arguments.solver,
        warm_start=not arguments.cold_start,
        verify=False,
    )


def cell(name: str, problem: Problem, arguments: argparse.Namespace) -> str:
    """Seconds, or the gap that was left; empty where the engine does not take the problem."""
    if why_not(engine(name), problem) is not None:
        return ""
    result = solve(problem, name, arguments)
    if result.status == "optimal":
        return f"{result.seconds:.2f}"
    left = f"{100 * result.gap_relative:.0f} %" if np.isfinite(result.gap_relative) else "no bound"
    return f"> {arguments.time_limit:g} ({left} left)"


def line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--samples", nargs="+", type=int, default=[9, 12, 15, 21, 30, 45], metavar="N")
    parser.add_argument(
        "--engines", nargs="+", default=None, metavar="NAME", help="default: all certified ones"
    )
    parser.add_argument("--time-limit", type=float, default=60.0, metavar="SECONDS", help="for each run")
    parser.add_argument("--gap", type=float, default=0.01, help="relative gap that ends a run")
    parser.add_argument("--sigma", type=float, default=0.2, help="known standard deviation")
    parser.add_argument("--solver", default="scip", help="who solves the models of minlp and miqp")
    parser.add_argument(
        "--cold-start", action="store_true", help="no first incumbent for them, as in the paper"
    )
    arguments = parser.parse_args()
    names = arguments.engines or certified()
    for name in names:
        cell(name, iris(6, arguments.sigma), arguments)
    print(line(["n", "optimum", *names]))
    print(line(["---:"] * (len(names) + 2)), flush=True)
    for n in arguments.samples:
        problem = iris(n, arguments.sigma)
        optimum = certmix.solve(problem, "dynamic").objective
        print(
            line([str(n), f"{optimum:.4f}", *(cell(name, problem, arguments) for name in names)]), flush=True
        )


if __name__ == "__main__":
    main()
