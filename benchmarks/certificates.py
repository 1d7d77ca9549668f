"""What does a certificate cost? Prints a table in Markdown.

    python benchmarks/certificates.py [--only TEXT ...] [--time-limit 300] [--pam50 PATH]

One row for each instance: seconds to solve, to make the certificate (without the check that its maker asks for: that is
the verification of a run) and to verify it, the last two also as a ratio to the first; the size of both files; leaves
of the tree and nodes of its pricing trees; and the checker's word. Kernels are compiled beforehand. The certificate is
written to files, read back, and checked against the data alone.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from engines import labelled, line, linked, overlapping, warm_up

import certmix
from certmix.certificate.prove import Unproved, make
from certmix.concluding import build_result
from certmix.datasets import load, load_pam50
from certmix.engines import engine
from certmix.ledger import Ledger
from certmix.options import Options
from certmix.problem import Problem

HEADER = ("instance", "engine", "solve", "make", "verify", "make / solve", "verify / solve")
HEADER += ("kilobytes", "leaves", "pricing nodes", "verdict")


def instances(pam50: Path | None) -> Iterator[tuple[str, Callable[[], Problem]]]:
    yield "iris1d n=150", lambda: load("iris1d").problem()
    yield "1-d mixture n=5000 K=3", lambda: load("mixture", n=5000, d=1, k=3, seed=0).problem()
    yield "brca K=2", lambda: load("brca").problem()
    for k in (3, 4):
        yield f"iris K={k}", lambda k=k: load("iris").problem(n_components=k)
    yield "overlapping n=300 d=2 K=3", lambda: overlapping(300, 2, 3, 0)
    yield "overlapping n=300 d=3 K=4", lambda: overlapping(300, 3, 4, 2)
    for name in ("iris", "brca"):
        yield f"{name} with 20+20 links, sizes >= 10", lambda name=name: linked(load(name))
    if pam50 is not None:
        yield "pam50-4d with labels", lambda: labelled(load_pam50(pam50))
        yield "pam50-4d without labels", lambda: load_pam50(pam50).problem()
    yield "wine K=3", lambda: load("wine").problem()


def measure(name: str, problem: Problem, time_limit: float) -> tuple[str, ...]:
    """Solve, make and verify, each by itself."""
    from certmix.auto import choose

    options = Options(time_limit=time_limit, certificate=True)
    ledger = Ledger(problem, options.tolerances)
    chosen, _ = choose(problem, options)
    outcome = engine(chosen).run(problem, ledger, options)
    solved = ledger.seconds
    result = build_result(
        problem,
        ledger,
        engine=chosen,
        termination=outcome.termination,
        certificate_level=outcome.certificate_level,
    )
    start = time.perf_counter()
    try:
        certificate, own = make(problem, result, ledger.record, threads=options.n_threads)
    except Unproved as reason:
        made = time.perf_counter() - start
        return (name, chosen, f"{solved:.2f}", f"{made:.2f}", *["-"] * 6, f"no certificate: {reason}")
    made = time.perf_counter() - start - (0.0 if own is None else own.seconds)
    with tempfile.TemporaryDirectory() as directory:
        path = certificate.save(Path(directory) / "certificate")
        size = sum(file.stat().st_size for file in Path(directory).iterdir())
        start = time.perf_counter()
        verdict = certmix.verify(path, problem.data)
        checked = time.perf_counter() - start
    pricing = sum(len(array) for key, array in certificate.arrays.items() if "axis/" in key)
    return (
        name,
        chosen,
        f"{solved:.2f}",
        f"{made:.2f}",
        f"{checked:.2f}",
        f"{made / solved:.2f}",
        f"{checked / solved:.2f}",
        f"{size / 1000:.1f}",
        f"{verdict.leaves}",
        f"{pricing}" if pricing else "-",
        verdict.level,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--only", nargs="+", default=[], metavar="TEXT", help="keep rows with one of these")
    parser.add_argument("--time-limit", type=float, default=300.0, metavar="SECONDS", help="to solve a row")
    parser.add_argument("--pam50", type=Path, metavar="PATH", help="the PAM50 training matrix, or its folder")
    arguments = parser.parse_args()
    rows = [
        (name, problem)
        for name, problem in instances(arguments.pam50)
        if not arguments.only or any(text in name for text in arguments.only)
    ]
    if not rows:
        sys.exit("no instance has such a name")
    warm_up((), "auto")
    certmix.solve(
        Problem(np.random.default_rng(0).normal(size=(20, 6)), 2, variance=1.0), "sdp", node_limit=2
    )
    print(line(HEADER))
    print(line(["---"] * 2 + ["---:"] * (len(HEADER) - 3) + ["---"]), flush=True)
    for name, problem in rows:
        print(line(measure(name, problem(), arguments.time_limit)), flush=True)


if __name__ == "__main__":
    main()
