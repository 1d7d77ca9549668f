"""Many samples: gap against time, and what it costs. Prints a table in Markdown.

    python benchmarks/scale.py                      every row, two hours and more
    python benchmarks/scale.py --only "n=5,000"     rows whose name has these words
    python benchmarks/scale.py --seconds 60         no run longer than this
    python benchmarks/scale.py --slope 1000 4000 16000      seconds to one gap against the number of samples
    python benchmarks/scale.py --threads 1 2 --only "n=5,000 d=10 K=3, 3.6"     seconds against the number of threads

One row for each instance: the gap that is asked for and the seconds there are; the engine that `auto` takes, its
seconds, CPU seconds and gap, proofs included, and its gap after a tenth and a third of the time; where that is `parts`,
the engine for the whole problem with the same time; and scikit-learn's KMeans (10 starts), which proves nothing. Every
run is in a fresh process. Kernels should be compiled before (`certmix compile`).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """An instance, the gap that is asked for, and the seconds there are."""

    name: str
    gap: float
    seconds: float
    shape: tuple[int, int, int] = (0, 0, 0)
    """Samples, features, components."""
    separation: float = 3.6
    """Of the closest centres, in standard deviations."""
    sizes: tuple[float, float] | None = None
    """Smallest and largest size, as shares of n / K; then the weights are uniform."""
    digits: bool = False

    def data(self) -> np.ndarray:
        if self.digits:
            from sklearn.datasets import load_digits

            found = np.asarray(load_digits().data)
            return np.asarray(found[:, found.std(axis=0) > 0])
        from certmix.datasets import load

        n, d, k = self.shape
        return np.asarray(load("mixture", n=n, d=d, k=k, separation=self.separation, seed=0).data)

    @property
    def components(self) -> int:
        return 10 if self.digits else self.shape[2]

    def problem(self) -> Any:
        from certmix import MaximumSize, MinimumSize, Problem

        data, K = self.data(), self.components
        rules = []
        if self.sizes is not None:
            low, high = (share * len(data) / K for share in self.sizes)
            rules = [MinimumSize(math.ceil(low)), MaximumSize(math.floor(high))]
        weights = "uniform" if self.digits or self.sizes else "free"
        return Problem(data, K, variance=1.0, weights=weights, constraints=rules)


def mixture(n: int, gap: float, seconds: float, d: int = 10, k: int = 3, apart: float = 3.6) -> Case:
    return Case(f"mixture n={n:,} d={d} K={k}, {apart:g} sigma", gap, seconds, (n, d, k), apart)


CASES = (
    mixture(1_000, 1e-4, 15.0),
    mixture(5_000, 1e-4, 60.0),
    mixture(20_000, 2e-4, 240.0),
    mixture(100_000, 3e-4, 900.0),
    mixture(5_000, 1e-3, 180.0, apart=2.7),
    mixture(20_000, 5e-4, 300.0, d=50, k=5, apart=4.0),
    Case("digits 1,797 x 64, k-means K=10", 3e-3, 300.0, digits=True),
    mixture(100_000, 1e-3, 180.0, d=3, k=4, apart=2.0),
    Case("k-means n=5,000 d=10 K=3, sizes 0.8-1.2 n/K", 1e-3, 120.0, (5_000, 10, 3), 3.6, (0.8, 1.2)),
    mixture(1_000_000, 1e-3, 3600.0),
)
HEADER = (
    "instance",
    "gap asked",
    "time",
    "engine",
    "seconds",
    "CPU",
    "gap",
    "level",
    "after 1/10",
    "after 1/3",
    "GB",
)
HEADER += ("whole problem", "gap", "KMeans seconds")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--only", nargs="+", default=[""], help="rows whose name has one of these words")
    parser.add_argument("--seconds", type=float, default=math.inf, help="no run longer than this")
    parser.add_argument("--no-whole", action="store_true", help="do not solve the whole problem as well")
    parser.add_argument(
        "--slope", type=int, nargs="+", metavar="N", help="seconds to a gap of 1e-3 for these n"
    )
    parser.add_argument(
        "--threads", type=int, nargs="+", metavar="N", help="seconds of rows with these numbers of threads"
    )
    parser.add_argument("--run", help=argparse.SUPPRESS)  # one run, in its own process
    arguments = parser.parse_args()
    if arguments.run is not None:
        print(json.dumps(run(**json.loads(arguments.run))))
        return
    cases = [c for c in CASES if any(w in c.name for w in arguments.only)]
    if arguments.slope:
        slope(arguments.slope)
    elif arguments.threads:
        threads(cases, arguments.threads)
    else:
        table(cases, arguments)


def table(cases: list[Case], arguments: argparse.Namespace) -> None:
    print(row(HEADER), row(["---"] * len(HEADER)), sep="\n", flush=True)
    for case in cases:
        seconds = min(case.seconds, arguments.seconds)
        found = fresh(case, "auto", seconds)
        whole = {"engine": "-", "gap": math.nan}
        if found["engine"] == "parts" and not arguments.no_whole:
            whole = fresh(case, "whole", seconds)
        cells = [case.name, f"{case.gap:.0e}", f"{seconds:g} s", found["engine"], f"{found['seconds']:.1f}"]
        cells += [f"{found['cpu']:.1f}", f"{found['gap']:.1e}", found["level"]]
        cells += [f"{found[g]:.1e}" for g in ("tenth", "third")]
        cells += [f"{found['gigabytes']:.2f}", str(whole["engine"]), f"{whole['gap']:.1e}"]
        print(row([*cells, f"{kmeans_seconds(case):.2f}"]), flush=True)


def slope(numbers: list[int]) -> None:
    """Seconds of CPU to one relative gap against the number of samples, and the power of n that fits them best."""
    used = []
    for n in numbers:
        found = fresh(mixture(n, 1e-3, 3600.0), "parts", 3600.0)
        used.append(found["cpu"])
        print(f"n={n:,}: {found['cpu']:.1f} s of CPU, gap {found['gap']:.1e}", flush=True)
    if len(numbers) > 1:
        print(f"cost grows with n to the power {np.polyfit(np.log(numbers), np.log(used), 1)[0]:.2f}")


def threads(cases: list[Case], numbers: list[int]) -> None:
    """Seconds to the gap of a row, proofs included, by numbers of threads; there is four times the time of the row."""
    for case in cases:
        print(case.name)
        first = 0.0
        for number in numbers:
            found = fresh(case, "auto", 4.0 * case.seconds, number)
            first = first or found["seconds"]
            times = f"{first / found['seconds']:.2f} times as fast as with {numbers[0]}"
            print(f"{number} threads: {found['seconds']:.1f} s, gap {found['gap']:.1e}, {times}", flush=True)


def fresh(case: Case, engine: str, seconds: float, n_threads: int | None = None) -> dict[str, Any]:
    given = {"case": case.__dict__, "engine": engine, "seconds": seconds, "n_threads": n_threads}
    found = subprocess.run(
        [sys.executable, __file__, "--run", json.dumps(given)], capture_output=True, text=True, check=True
    )
    return dict(json.loads(found.stdout.splitlines()[-1]))


def run(case: dict[str, Any], engine: str, seconds: float, n_threads: int | None) -> dict[str, Any]:
    """One run, in this process; of the whole problem by the engine that auto takes without parts."""
    from certmix import solve
    from certmix.auto import choose
    from certmix.options import Options

    one = Case(**{name: tuple(v) if isinstance(v, list) else v for name, v in case.items()})
    problem = one.problem()
    if engine == "whole":
        engine = choose(problem, Options(time_limit=seconds), partition=False)[0]
    result = solve(problem, engine, gap=one.gap, time_limit=seconds, threads=n_threads)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {
        "engine": result.engine,
        "seconds": result.seconds,
        "level": result.certificate_level,
        "cpu": math.fsum(use.ru_utime + use.ru_stime for use in used),
        "gap": relative(result.objective, result.lower_bound),
        "tenth": gap_at(result, seconds / 10),
        "third": gap_at(result, seconds / 3),
        "gigabytes": (used[0].ru_maxrss + (os.cpu_count() or 1) * used[1].ru_maxrss) / 2**20,
    }


def gap_at(result: Any, seconds: float) -> float:
    """The gap that a run had after so long."""
    known = [point for point in result.trace if point.seconds <= seconds]
    return relative(known[-1].incumbent, known[-1].bound) if known else math.inf


def relative(upper: float, lower: float) -> float:
    return (upper - lower) / max(1.0, abs(upper)) if math.isfinite(upper - lower) else math.inf


def kmeans_seconds(case: Case) -> float:
    from sklearn.cluster import KMeans

    data = case.data()
    start = time.perf_counter()
    KMeans(case.components, n_init=10, random_state=0).fit(data)
    return time.perf_counter() - start


def row(cells: Any) -> str:
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
