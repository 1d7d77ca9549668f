"""How long do the certified engines take? Prints a table in Markdown.

    python benchmarks/engines.py [--only TEXT ...] [--time-limit 60] [--engine auto] [--also ENGINE ...]
                                 [--large] [--high] [--pam50 PATH] [--ruspini PATH] [--against SOURCE] [--processor]

One row for each instance: the engine, the relative gap asked for and reached, the objective, nodes and seconds.
Kernels are compiled beforehand, on small instances, so seconds are those of a warm start. ``--only`` keeps the rows
whose name contains one of the texts. ``--large`` adds instances of 10^5 and 10^6 samples, ``--high`` those of many
dimensions; ``--pam50`` and ``--ruspini`` those that need a file. ``--also miqp minlp`` puts SCIP on the paper's models
beside every row of few samples.

``--against`` takes the ``src`` folder of another version of the program: every row is run by both, one after the other,
and two more columns have the nodes and the seconds of the other version, and the ratio of seconds (new / other).

``--processor`` counts seconds of the processor instead, with one thread, the best of two runs: for a busy machine.

The last line times a fixed NumPy workload before and after the run: divide by it to compare machines, or moments on a
busy one.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import certmix
from certmix.datasets import Dataset, load, load_pam50
from certmix.problem import CannotLink, MinimumSize, MustLink, Problem

FEW = 200  # samples that a general solver may be asked about
HEADER = ("instance", "engine", "gap asked", "gap reached", "objective", "nodes", "seconds")


@dataclass(frozen=True)
class Row:
    """An instance, and the relative gap that is asked for."""

    name: str
    make: Callable[[], Problem]  # large data are made when their turn comes
    gap: float = 1e-6
    engine: str | None = None  # instead of the one that is asked for


def standard() -> Iterator[Row]:
    """Instances that need no file and little memory."""
    yield Row("iris1d n=150", lambda: load("iris1d").problem(), 1e-9)
    yield Row("iris1d n=45", lambda: load("iris1d", n=45, sigma=0.2).problem(), 1e-9)
    yield Row("brca K=2", lambda: load("brca").problem())
    for k in (3, 4, 5):
        yield Row(f"iris K={k}", lambda k=k: load("iris").problem(n_components=k))
    for d, k in ((2, 3), (2, 4), (3, 3), (3, 4)):
        for seed in range(3):
            name = f"overlapping n=300 d={d} K={k} seed={seed}"
            yield Row(name, lambda d=d, k=k, seed=seed: overlapping(300, d, k, seed))
    for name in ("iris", "brca"):
        yield Row(f"{name} with 20+20 links, sizes >= 10", lambda name=name: linked(load(name)))


def from_files(pam50: Path | None, ruspini: Path | None) -> Iterator[Row]:
    """Instances whose data are not part of the package."""
    if pam50 is not None:
        yield Row("pam50-4d with labels", lambda: labelled(load_pam50(pam50)))
        yield Row("pam50-4d without labels", lambda: load_pam50(pam50).problem())
    if ruspini is not None:
        points = np.loadtxt(ruspini, delimiter=",", skiprows=1)
        for k in range(2, 11):
            yield Row(f"k-means ruspini k={k}", lambda k=k: Problem(points, k, weights="uniform"))


def large() -> Iterator[Row]:
    """Instances with very many samples."""
    yield Row("1-d mixture n=10^6 K=5", lambda: mixture(10**6, 1, 5), 1e-9)
    yield Row("separated n=10^5 d=2 K=3", lambda: mixture(10**5, 2, 3), 1e-4)
    yield Row("separated n=10^5 d=3 K=3", lambda: mixture(10**5, 3, 3), 1e-4)
    yield Row("separated n=10^6 d=2 K=3", lambda: mixture(10**6, 2, 3), 1e-4)


def high(pam50: Path | None, ruspini: Path | None) -> Iterator[Row]:
    """Instances for the semidefinite engine: many dimensions, or its bound on others' ground."""
    yield Row("wine K=3", lambda: load("wine").problem(), engine="sdp")
    yield Row("wine with 20+20 links, sizes >= 40", lambda: linked(load("wine"), 40), engine="sdp")
    for k in (2, 3, 5):
        points = load("iris", variant="sklearn").data
        yield Row(
            f"k-means iris k={k} (sdp)", lambda k=k, y=points: Problem(y, k, weights="uniform"), engine="sdp"
        )
    if ruspini is not None:
        points = np.loadtxt(ruspini, delimiter=",", skiprows=1)
        for k in (4, 8):
            yield Row(
                f"k-means ruspini k={k} (sdp)",
                lambda k=k, y=points: Problem(y, k, weights="uniform"),
                engine="sdp",
            )
    for n, k, separation in ((300, 3, 3.6), (300, 3, 2.7), (569, 4, 3.6), (1000, 3, 3.6), (1000, 5, 3.6)):
        name = f"mixture n={n} d=10 K={k}, closest {separation} sigma"
        yield Row(name, lambda n=n, k=k, s=separation: mixture(n, 10, k, s), 1e-4, "sdp")
    if pam50 is not None:
        for text, known in (("with", True), ("without", False)):
            yield Row(
                f"pam50, 50 genes, {text} labels", lambda known=known: all_genes(pam50, known), 1e-4, "sdp"
            )


def overlapping(n: int, d: int, k: int, seed: int) -> Problem:
    """Unit Gaussians around centres drawn with standard deviation 2: many samples lie between two of them."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=2.0, size=(k, d))
    return Problem(centres[rng.integers(k, size=n)] + rng.normal(size=(n, d)), k, variance=1.0)


def mixture(n: int, d: int, k: int, separation: float = 6.0) -> Problem:
    """The paper's generative model, closest means so many standard deviations apart."""
    return load("mixture", n=n, d=d, k=k, separation=separation, seed=0).problem()


def labelled(data: Dataset) -> Problem:
    return data.problem(constraints=data.labels())


def all_genes(path: Path, known: bool) -> Problem:
    """All 50 genes; the covariance within the known subtypes, shrunk by the rule of Ledoit and Wolf."""
    from sklearn.covariance import LedoitWolf

    data = load_pam50(path, dimension=None)
    assert data.target is not None
    have = data.target >= 0
    means = np.array([data.data[data.target == k].mean(axis=0) for k in range(data.n_components)])
    shrunk = LedoitWolf(assume_centered=True).fit(data.data[have] - means[data.target[have]]).covariance_
    return data.problem(covariance=shrunk, constraints=data.labels() if known else ())


def linked(data: Dataset, smallest: int = 10) -> Problem:
    """20 cannot-links between classes, 20 must-links within classes, at least so many samples in every component."""
    assert data.target is not None
    rng = np.random.default_rng(0)
    constraints: list[CannotLink | MustLink | MinimumSize] = [MinimumSize(smallest)]
    count = {True: 0, False: 0}
    while min(count.values()) < 20:
        i, j = (int(x) for x in rng.choice(data.n_samples, 2, replace=False))
        same = bool(data.target[i] == data.target[j])
        if count[same] < 20:
            count[same] += 1
            constraints.append(MustLink(i, j) if same else CannotLink(i, j))
    return data.problem(constraints=constraints)


def warm_up(rows: Iterable[Row], engine: str) -> None:
    """Compile the kernels that the rows need."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(60, 2)) + 8.0 * rng.integers(3, size=(60, 1))
    certmix.solve(Problem(points[:, :1], 3, variance=1.0), "dynamic")
    for constraints in ((), (CannotLink(0, 1), MustLink(2, 3), MinimumSize(5))):
        for name in ("interval", "dual") if engine == "auto" else (engine,):
            certmix.solve(Problem(points, 3, variance=1.0, constraints=constraints), name, node_limit=2000)
    if any(row.engine == "sdp" for row in rows):
        for constraints in ((), (CannotLink(0, 1),)):
            certmix.solve(overlapping(60, 2, 3, 0).replace(constraints=constraints), "sdp", node_limit=3)
    if any("n=10^" in row.name for row in rows):
        certmix.solve(overlapping(4000, 2, 3, 0), "dual", gap=1e-3)
        certmix.solve(mixture(8000, 1, 2), "interval", gap=1e-3)


def calibration() -> float:
    """Seconds of a fixed NumPy workload, the best of five."""
    rng = np.random.default_rng(0)
    matrix, values = rng.normal(size=(400, 400)), rng.normal(size=1_000_000)
    best = np.inf
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(5):
            matrix @ matrix
            np.sort(values)
            np.exp(values).sum()
        best = min(best, time.perf_counter() - start)
    return float(best)


def run(row: Row, arguments: argparse.Namespace) -> tuple[str, ...]:
    options = {"verify": False} if "verify" in inspect.signature(certmix.solve).parameters else {}
    options |= {"gap": row.gap, "time_limit": arguments.time_limit, "seed": arguments.seed}
    if arguments.processor:
        options["threads"] = 1
    problem, seconds = row.make(), []
    for _ in range(2 if arguments.processor else 1):
        begin = time.process_time()
        result = certmix.solve(problem, row.engine or arguments.engine, **options)
        seconds.append(time.process_time() - begin if arguments.processor else result.seconds)
    reached = f"{result.gap_relative:.1e}" if np.isfinite(result.gap_relative) else "-"
    return (
        row.name,
        result.engine,
        f"{row.gap:.0e}",
        reached if result.status == "optimal" else f"**{reached}** ({result.termination})",
        f"{result.objective:.10g}",
        f"{result.nodes}",
        f"{min(seconds):.2f}",
    )


class Other:
    """This benchmark in a process of its own that imports another version of the program."""

    def __init__(self, source: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, *sys.argv[1:], "--worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(source)},
        )

    def run(self, row: Row) -> tuple[str, ...]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(row.name, file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            sys.exit("the other version of the program has ended")
        return tuple(json.loads(answer))


def work(rows: list[Row], arguments: argparse.Namespace) -> None:
    """Run the rows whose names come in, and write what came of them."""
    by_name = {row.name: row for row in rows}
    for name in sys.stdin:
        print(json.dumps(run(by_name[name.strip()], arguments)), flush=True)


def line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="TEXT", help="keep rows whose name contains one of these"
    )
    parser.add_argument("--time-limit", type=float, default=60.0, metavar="SECONDS", help="for each row")
    parser.add_argument("--engine", default="auto", help="see: certmix engines")
    parser.add_argument(
        "--also",
        nargs="+",
        default=[],
        metavar="ENGINE",
        help=f"run these as well, for example miqp minlp, on rows of up to {FEW} samples",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--large", action="store_true", help="also instances of 10^5 and 10^6 samples")
    parser.add_argument("--high", action="store_true", help="also instances of many dimensions")
    parser.add_argument("--pam50", type=Path, metavar="PATH", help="the PAM50 training matrix, or its folder")
    parser.add_argument("--ruspini", type=Path, metavar="PATH", help="the Ruspini data as a CSV file")
    parser.add_argument("--against", type=Path, metavar="SOURCE", help="the src folder of another version")
    parser.add_argument(
        "--processor", action="store_true", help="seconds of the processor, one thread, best of two"
    )
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    rows = [
        *standard(),
        *from_files(arguments.pam50, arguments.ruspini),
        *(large() if arguments.large else ()),
        *(high(arguments.pam50, arguments.ruspini) if arguments.high else ()),
    ]
    rows = [r for r in rows if not arguments.only or any(text in r.name for text in arguments.only)]
    if not rows:
        sys.exit("no instance has such a name")
    if arguments.worker:
        warm_up(rows, arguments.engine)
        work(rows, arguments)
        return
    before = calibration()
    other = None if arguments.against is None else Other(arguments.against)
    warm_up(rows, arguments.engine)
    header = HEADER if other is None else (*HEADER, "other's nodes", "other's seconds", "ratio")
    print(line(header))
    print(line(["---"] * 2 + ["---:"] * (len(header) - 2)), flush=True)
    for row in rows:
        cells = run(row, arguments)
        if other is not None:
            nodes, seconds = other.run(row)[-2:]
            cells = (*cells, nodes, seconds, f"{float(cells[-1]) / max(float(seconds), 0.01):.2f}")
        print(line(cells), flush=True)
        for engine in arguments.also if row.make().n_samples <= FEW else ():
            solver = replace(row, engine=engine)
            print(line(run(solver, arguments)), flush=True)
    print(f"\nCalibration: {before:.3f} s before, {calibration():.3f} s after.")


if __name__ == "__main__":
    main()
