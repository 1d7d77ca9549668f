"""What do margins cost beside solving? Prints a table in Markdown.

    python benchmarks/stability.py [--only TEXT ...] [--within 2] [--time-limit 300] [--pam50 PATH] [--record]

One row for each instance: CPU seconds of the solve with its proof, of the margins of all samples with theirs, the
ratio of the two, how many samples are ``fixed``, ``open`` and ``undecided``, and whether the checker has confirmed all
that is fixed. With ``--record`` both have a certificate, however long that takes; without, proofs have their usual
budget. Kernels are compiled beforehand.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from engines import labelled, line, linked

import certmix
from certmix.datasets import load, load_pam50
from certmix.problem import Problem

HEADER = ("instance", "engine", "nodes", "solve", "margins", "ratio", "fixed", "open", "undecided", "level")


def instances(pam50: Path | None) -> Iterator[tuple[str, Callable[[], Problem]]]:
    yield "iris K=3", lambda: load("iris").problem()
    yield "iris K=4", lambda: load("iris").problem(n_components=4)
    yield "brca K=2", lambda: load("brca").problem()
    yield "wine K=3", lambda: load("wine").problem()
    yield "iris with 20+20 links, sizes >= 10", lambda: linked(load("iris"))
    if pam50 is not None:
        yield "pam50-4d with labels", lambda: labelled(load_pam50(pam50))
        yield "pam50-4d without labels", lambda: load_pam50(pam50).problem()


def measure(name: str, problem: Problem, within: float, time_limit: float, record: bool) -> tuple[str, ...]:
    options = {"time_limit": time_limit, "seed": 0, "certificate": True if record else None}
    begin = time.process_time()
    result = certmix.solve(problem, **options)
    solved = time.process_time() - begin
    begin = time.process_time()
    found = certmix.stability(result, within, **options)
    took = time.process_time() - begin
    counts = (str(found.count(state)) for state in ("fixed", "open", "undecided"))
    engine, nodes = result.engine, str(result.nodes)
    return (name, engine, nodes, f"{solved:.2f}", f"{took:.2f}", f"{took / solved:.1f}", *counts, found.level)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--only", nargs="+", default=[], metavar="TEXT", help="keep rows with one of these")
    parser.add_argument("--within", type=float, default=2.0, metavar="NATS")
    parser.add_argument("--time-limit", type=float, default=300.0, metavar="SECONDS", help="of either")
    parser.add_argument("--pam50", type=Path, metavar="PATH", help="the PAM50 training matrix, or its folder")
    parser.add_argument("--record", action="store_true", help="certificates, whatever they cost")
    given = parser.parse_args()
    rows = [
        (name, problem)
        for name, problem in instances(given.pam50)
        if not given.only or any(text in name for text in given.only)
    ]
    if not rows:
        sys.exit("no instance has such a name")
    for make in (lambda: load("iris").problem(n_components=2), lambda: load("wine").problem(n_components=2)):
        certmix.stability(make(), given.within, time_limit=20.0)  # compiles
    print(line(HEADER))
    print(line(["---"] * 2 + ["---:"] * (len(HEADER) - 3) + ["---"]), flush=True)
    for name, problem in rows:
        print(line(measure(name, problem(), given.within, given.time_limit, given.record)), flush=True)


if __name__ == "__main__":
    main()
