"""``auto`` beside every single engine, on sixty made instances: who closes what, and what it costs not to ask.

    python benchmarks/portfolio.py run.jsonl --time-limit 20         all; what is in the file is not run again
    python benchmarks/portfolio.py run.jsonl --only 12 13 --units 1e-3 1 1e3
    python benchmarks/portfolio.py run.jsonl --clock                 an idle machine: by the clock
    python benchmarks/portfolio.py run.jsonl --table                 the tables of what is in the file

One to fifty dimensions, 50 to 5,000 samples, 2 to 50 components, apart and overlapping, some with links or fixed sizes.
A run ends when 1e-4 of the clusters' sum of squares is left. Seconds are of the processor, of all processes together,
so that the machine may do other things; but engines that plan are told of a later end than they have. With ``--clock``
seconds are of the clock, and engines are told what they have.
``factor`` is what ``auto`` took, divided by what the best single engine took (at least a second each); where none ended
in time, the quotient of the gaps that were left. So it is no more than the seconds that ``auto`` took, and the others
need not be run where these are few: then that is what counts.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import math
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil

ENGINES = ("dual", "interval", "sdp", "parts")
GAP = 1e-4  # of the sum of squares
SLOWEST = 8.0  # seconds of the clock for one of the processor, on a machine that has others to serve
SHAPES = (  # features, samples, components
    (1, 200, 3), (1, 3000, 5), (2, 50, 4), (2, 150, 10), (2, 300, 4), (2, 700, 6), (2, 1000, 20), (2, 1000, 50),
    (2, 5000, 4), (3, 200, 3), (3, 500, 8), (3, 2000, 4), (4, 150, 3), (4, 600, 5), (5, 100, 3), (5, 400, 4),
    (8, 150, 4), (8, 1500, 3), (10, 300, 3), (10, 5000, 4), (20, 200, 3), (50, 100, 2),
)  # fmt: skip
APART, OVERLAPPING = 7.0, 2.7  # standard deviations between the nearest two means
LINKED = (
    (2, 150, 4),
    (2, 400, 6),
    (3, 100, 3),
    (5, 150, 3),
    (10, 200, 4),
    (20, 100, 3),
    (4, 300, 2),
    (8, 80, 5),
)
SIZED = (
    (2, 120, 3),
    (2, 200, 4),
    (4, 150, 3),
    (9, 210, 6),
    (13, 180, 3),
    (6, 100, 2),
    (3, 90, 3),
    (20, 150, 3),
)


@dataclass(frozen=True)
class Instance:
    """One of the sixty."""

    shape: tuple[int, int, int]
    distance: float
    links: bool = False
    sizes: bool = False

    @property
    def name(self) -> str:
        d, n, K = self.shape
        kind = "links" if self.links else "sizes" if self.sizes else ""
        return f"d={d} n={n} K={K} {self.distance:g} {kind}".strip()

    def problem(self, unit: float) -> Any:
        from certmix import CannotLink, MaximumSize, MinimumSize, MustLink, Problem

        d, n, K = self.shape
        rng = np.random.default_rng([d, n, K, int(10 * self.distance)])
        means = rng.normal(size=(K, d))
        away = [np.linalg.norm(means[a] - means[b]) for a, b in itertools.combinations(range(K), 2)]
        # The tenth of the pairs that is nearest: with many components one pair may lie anywhere.
        means *= self.distance / float(np.quantile(away, 0.1 if K > 5 else 0.0))
        truth = rng.choice(K, size=n, p=rng.dirichlet(np.full(K, 5.0)))
        truth[:K] = np.arange(K)
        data = means[truth] + rng.normal(size=(n, d))
        constraints: list[Any] = []
        if self.links:
            pairs = rng.choice(n, size=(n // 5, 2))
            constraints = [
                MustLink(int(a), int(b)) if truth[a] == truth[b] else CannotLink(int(a), int(b))
                for a, b in pairs
                if a != b
            ]
        if self.sizes:
            for k, size in enumerate(np.bincount(truth, minlength=K).tolist()):
                constraints += [MinimumSize(size, k), MaximumSize(size, k)]
        return Problem(unit * data, K, variance=unit**2, weights="uniform", constraints=constraints)


def instances() -> Iterator[Instance]:
    for distance in (APART, OVERLAPPING):
        yield from (Instance(shape, distance) for shape in SHAPES)
    yield from (Instance(shape, 3.5, links=True) for shape in LINKED)
    yield from (Instance(shape, 3.5, sizes=True) for shape in SIZED)


def run(instance: Instance, engine: str, unit: float, time_limit: float, clock: bool) -> dict[str, Any]:
    """In this process: what the engine did."""
    from certmix import solve
    from certmix.errors import CertmixError

    problem = instance.problem(unit)
    d, n, _ = instance.shape
    squares = 0.5 * n * d
    options = {"gap": 0.0, "absolute_gap": GAP * squares, "verify": False, "certificate": False}
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs do not hear it
    seconds = time.perf_counter if clock else _used
    before, over = seconds(), threading.Event()
    end = math.inf if clock else before + time_limit
    watching = threading.Thread(target=_interrupt, args=(end, over), daemon=True)
    watching.start()
    try:
        result = solve(problem, engine, time_limit=time_limit * (1.0 if clock else SLOWEST), **options)
    except CertmixError as error:
        return {"refused": str(error).splitlines()[0]}
    finally:
        over.set()
        watching.join()
    left = (result.objective - result.lower_bound) / squares
    return {
        "engine_run": result.engine,
        "seconds": round(seconds() - before, 2),
        "gap": max(left, 0.0) if math.isfinite(left) else None,
        "objective": result.objective,
        "closed": result.status.value == "optimal",
    }


def _interrupt(limit: float, over: threading.Event) -> None:
    """End a run as Ctrl-C does, once so much of the processor is used."""
    while not over.wait(0.1):
        if _used() > limit:
            os.kill(os.getpid(), signal.SIGINT)
            return


def _used() -> float:
    """Seconds of the processor, of this process, of those that it has waited for and of those that are at work."""
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    used = [use.ru_utime + use.ru_stime for use in uses]
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            used += child.cpu_times()[:2]
    return math.fsum(used)


def elsewhere(number: int, engine: str, unit: float, time_limit: float, clock: bool) -> dict[str, Any]:
    """The run in a process of its own, after small ones that load what is compiled."""
    command = [sys.executable, __file__, "-", "--one", str(number), engine, repr(unit), repr(time_limit)]
    command += ["--clock"] * clock
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120.0 + SLOWEST * time_limit, check=False
    )
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1:]}
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def factor(auto: dict[str, Any], best: list[dict[str, Any]]) -> float:
    """How much worse ``auto`` is than the best of the others."""
    closed = [max(1.0, found["seconds"]) for found in best if found.get("closed")]
    if closed:
        return max(1.0, auto["seconds"]) / min(closed) if auto.get("closed") else math.inf
    if auto.get("closed"):
        return 0.0
    gaps = [found["gap"] for found in best if found.get("gap") is not None]
    return auto["gap"] / min(gaps) if gaps and auto.get("gap") is not None else math.inf


def cell(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    if "closed" not in found:
        return "refused" if "refused" in found else "failed"
    return (
        f"{found['seconds']:.1f} s"
        if found["closed"]
        else "-"
        if found["gap"] is None
        else f"{found['gap']:.1e}"
    )


def table(records: list[dict[str, Any]]) -> None:
    """Every instance, then what each engine closes and how ``auto`` does."""
    print("| | instance | unit | auto | its engine | " + " | ".join(ENGINES) + " | factor |")
    print("|---:|---|---:|---:|---|" + "---:|" * len(ENGINES) + "---:|")
    names = [instance.name for instance in instances()]
    found = {(r["number"], r["unit"], r["engine"]): r for r in records}
    factors: list[float] = []
    for number, unit in sorted({(r["number"], r["unit"]) for r in records}):
        auto = found.get((number, unit, "auto"))
        others = [found.get((number, unit, engine)) for engine in ENGINES]
        worse = math.nan
        if auto is not None and all(other is not None for other in others):
            worse = factor(auto, [other for other in others if other is not None])
        elif auto is not None and auto.get("closed"):
            worse = max(1.0, auto["seconds"])
        if not math.isnan(worse):
            factors.append(worse)
        cells = [str(number), names[number], f"{unit:g}", cell(auto), (auto or {}).get("engine_run", "")]
        print(f"| {' | '.join([*cells, *map(cell, others)])} | {worse:.1f} |")
    print()
    for engine in ("auto", *ENGINES):
        mine = [r for r in records if r["engine"] == engine]
        print(f"{engine}: {sum(bool(r.get('closed')) for r in mine)} of {len(mine)} closed")
    if factors:
        within = [sum(f <= most for f in factors) for most in (2.0, 5.0)]
        print(f"auto within a factor of two on {within[0]}, of five on {within[1]} of {len(factors)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("file", type=Path, help="records, one a line; added to")
    parser.add_argument("--only", type=int, nargs="*", help="numbers of instances, 0 to 59")
    parser.add_argument("--engines", nargs="*", default=["auto", *ENGINES])
    parser.add_argument("--units", type=float, nargs="*", default=[1.0])
    parser.add_argument("--time-limit", type=float, default=20.0, help="of a run, in seconds")
    parser.add_argument("--clock", action="store_true", help="seconds are of the clock")
    parser.add_argument("--table", action="store_true", help="run nothing, print what there is")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    made = list(instances())
    if asked.one:
        number, engine, unit, seconds = asked.one
        for each in ("dual", "sdp", "parts") if engine == "auto" else (engine,):
            run(Instance((2, 40, 3), APART), each, 1.0, 20.0, asked.clock)
        print(json.dumps(run(made[int(number)], engine, float(unit), float(seconds), asked.clock)))
        return
    records = (
        [json.loads(line) for line in asked.file.read_text().splitlines()] if asked.file.exists() else []
    )
    known = {(r["number"], r["unit"], r["engine"]) for r in records}
    wanted = range(len(made)) if asked.only is None else asked.only
    for number, unit, engine in itertools.product(wanted, asked.units, asked.engines):
        if asked.table or (number, unit, engine) in known:
            continue
        found = {"number": number, "unit": unit, "engine": engine}
        found |= elsewhere(number, engine, unit, asked.time_limit, asked.clock)
        records.append(found)
        with asked.file.open("a") as out:
            out.write(json.dumps(found) + "\n")
        print(
            f"{number} {made[number].name} unit {unit:g} {engine}: {cell(found)}", file=sys.stderr, flush=True
        )
    table(records)


if __name__ == "__main__":
    main()
