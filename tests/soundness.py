"""Soundness of the certified engines: random small problems against exhaustive enumeration (`make soundness`).

Every problem is solved by enumeration, which is the truth, and then in a few other ways (:mod:`ways`): by every engine
through ``solve``, and by the search loop with each bound from no, a poor or the best incumbent, with and without
limits; some of them also with an unknown variance. Whatever is claimed must agree with the truth (:mod:`claims`):

- no lower bound lies above the optimum;
- a run that closes its gap, or explores everything, has the optimum within its tolerance;
- a problem is called infeasible only if it is, and an exhausted run of an infeasible problem says so;
- ``optimal`` is said only when incumbent and bound say so;
- over a run bounds never fall and incumbents never rise.

A finding is repeated by its seed: ``--start SEED --count 1``, with ``--ways`` for one way alone.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from certmix.problem import Problem
from certmix.problem.features import features
from certmix.status import Status
from claims import ROUNDING, Claim, Truth, find_truth, violations
from random_instances import random_problem
from ways import NAMES, drawn_ways
from ways.drawing import GAPS, by_engine, poor_labels
from ways.loops import by_loop, semidefinite_bound

__all__ = [  # what tests of single engines take from here
    "GAPS", "ROUNDING", "Claim", "Report", "Summary", "Truth", "by_engine", "by_loop", "draw", "examine",
    "find_truth", "poor_labels", "semidefinite_bound", "violations",
]  # fmt: skip

SILENCE = 600.0
"""Seconds without any answer from any process after which the program says that something hangs."""

WIDE = 1 / 7
UNITS = 1 / 4  # of the problems have data in other units, a millionth to a million of their own;
MANY_COMPONENTS = 7  # seeds that end so have up to six components for at most seven samples;
VARIED_FROM = 1000  # but not the first ones, among which planted bugs are looked for


@dataclass
class Report:
    """What was seen of one problem."""

    seed: int
    infeasible: bool = False
    claims: list[tuple[str, str, float, float]] = field(default_factory=list)
    """(way, outcome, relative excess of the bound over the optimum, seconds) of every run."""
    violations: list[str] = field(default_factory=list)
    covered: list[str] = field(default_factory=list)
    """What the problem used."""


def draw(seed: int, units: float = UNITS) -> Problem:
    """The problem of a seed. Every tenth is a little larger; one of seven has more features than its samples need.

    ``units`` is the share of problems in other units.
    """
    rng = np.random.default_rng([seed, 20])
    if seed % 10 == MANY_COMPONENTS and seed >= VARIED_FROM:
        problem = random_problem(rng, max_samples=7, max_components=6, wide=WIDE)
    elif seed % 10 == 9:
        problem = random_problem(rng, max_samples=12, max_components=2, wide=WIDE)
    else:
        problem = random_problem(rng, max_samples=9, max_components=4 if seed % 10 == 8 else 3, wide=WIDE)
    if seed >= VARIED_FROM and rng.random() < units:
        return in_other_units(problem, float(10.0 ** rng.uniform(-6.0, 6.0)))
    return problem


def in_other_units(problem: Problem, factor: float) -> Problem:
    """Data and boxes of means times a factor; what the data cost beside sizes and priors changes with its square."""
    changes: dict[str, object] = {"data": factor * problem.data}
    if problem.has_mean_box:
        changes["mean_bounds"] = (factor * problem.mean_lower, factor * problem.mean_upper)
    return problem.replace(**changes)


def examine(
    seed: int, seconds: float = 10.0, only: Iterable[str] | None = None, units: float = UNITS
) -> Report:
    """Solve the problem of a seed in the ways drawn for it (or in all of the given names) and compare."""
    report = Report(seed)
    problem = draw(seed, units)
    start = time.perf_counter()
    truth = find_truth(problem)
    report.infeasible = truth.infeasible
    report.covered = covered(problem, truth)
    report.claims.append(
        ("enumerate", "infeasible" if truth.infeasible else "closed", -math.inf, time.perf_counter() - start)
    )
    chosen = None if only is None else frozenset(only)
    for way, run in drawn_ways(seed, problem, truth, seconds, chosen):
        start = time.perf_counter()
        try:
            claim = run()
        except Exception:  # a crash is a finding like any other
            report.violations.append(f"seed {seed}, {way}: {traceback.format_exc()}")
            report.claims.append((way, "failed", -math.inf, time.perf_counter() - start))
            continue
        own, true = claim.about or (problem, truth)
        report.violations += [f"seed {seed}, {way}: {text}" for text in violations(own, true, claim)]
        excess = -math.inf
        if not true.infeasible and math.isfinite(claim.lower):
            excess = (claim.lower - true.optimum) / max(1.0, abs(true.optimum))
        report.claims.append((way, outcome_of(claim), excess, claim.seconds))
    return report


def outcome_of(claim: Claim) -> str:
    if claim.status is Status.INFEASIBLE:
        return "infeasible"
    return "closed" if claim.closed else "limited" if claim.certified else "local"


def covered(problem: Problem, truth: Truth) -> list[str]:
    """What a problem is made of, in words: features, kinds of constraints and of precision, nasty data."""
    precision, y = np.asarray(problem.covariance.precision), problem.data
    kind = "scalar" if _scalar(precision) else "diagonal" if _diagonal(precision) else "full"
    own = "" if problem.covariance.shared else ", one per component"
    away = ((y[:, None] - y[None]) ** 2).sum(axis=2)[np.triu_indices(len(y), 1)]
    apart = away[away > 0]
    sizes = None if truth.labels is None else np.bincount(truth.labels, minlength=problem.n_components)
    nasty = {
        "duplicate samples": np.any(away == 0),
        "ties (equal distances)": len(np.unique(apart)) < len(apart),
        "more features than the samples need": np.linalg.matrix_rank(y - y[0], 1e-6 * np.ptp(y))
        < problem.n_features,
        "far from the origin": np.abs(y.mean(axis=0)).max() > 100 * np.ptp(y, axis=0).max(),
        "a singleton in the optimum": sizes is not None and np.any(sizes == 1),
        "a component for every sample": problem.n_components == problem.n_samples,
        "one component less than samples": problem.n_components == problem.n_samples - 1,
        "an empty component in the optimum": sizes is not None and np.any(sizes == 0),
        "infeasible": truth.infeasible,
    }
    return [
        *map(str, features(problem)),
        *{type(c).__name__ for c in problem.constraints},
        f"precision: {kind}{own}",
        f"{problem.n_features} features",
        f"{problem.n_components} components",
        *(word for word, yes in nasty.items() if yes),
    ]


def _diagonal(precision: np.ndarray) -> bool:
    return all(np.array_equal(p, np.diag(np.diag(p))) for p in precision)


def _scalar(precision: np.ndarray) -> bool:
    return _diagonal(precision) and all(np.ptp(np.diag(p)) == 0 for p in precision)


# -- the program -----------------------------------------------------------------------------------------------
class Summary:
    """Counts over all problems."""

    columns = ("closed", "limited", "infeasible", "local", "failed")

    def __init__(self) -> None:
        self.problems = 0
        self.infeasible = 0
        self.violations: list[str] = []
        self.counts: dict[str, dict[str, int]] = {}
        self.excess: dict[str, float] = {}
        self.seconds: dict[str, float] = {}
        self.slowest: dict[str, tuple[float, int]] = {}
        self.covered: Counter[str] = Counter()

    def add(self, report: Report) -> None:
        self.problems += 1
        self.infeasible += report.infeasible
        self.violations += report.violations
        self.covered.update(report.covered)
        for way, outcome, excess, seconds in report.claims:
            counts = self.counts.setdefault(way, dict.fromkeys(self.columns, 0))
            counts[outcome] += 1
            self.excess[way] = max(self.excess.get(way, -math.inf), excess)
            self.seconds[way] = self.seconds.get(way, 0.0) + seconds
            self.slowest[way] = max(self.slowest.get(way, (0.0, -1)), (seconds, report.seed))

    def __str__(self) -> str:
        head = f"{'way':<18}{'runs':>8}" + "".join(f"{c:>11}" for c in self.columns)
        head += f"{'excess':>10}{'mean ms':>9}{'slowest s (seed)':>20}"
        runs = sum(sum(counts.values()) for counts in self.counts.values())
        lines = [f"{self.problems} problems, {self.infeasible} of them infeasible, {runs} runs", head]
        for way in ("enumerate", *NAMES):
            if way not in self.counts:
                continue
            counts = self.counts[way]
            runs = sum(counts.values())
            numbers = "".join(f"{counts[c]:>11}" for c in self.columns)
            seconds, seed = self.slowest[way]
            lines.append(
                f"{way:<18}{runs:>8}{numbers}{self.excess[way]:>10.1e}{1e3 * self.seconds[way] / runs:>9.1f}"
                f"{f'{seconds:.2f} ({seed})':>20}"
            )
        lines.append("excess: largest (bound - optimum) / max(1, |optimum|) of any run; rounding allows")
        lines[-1] += f" {ROUNDING:g}"
        lines.append("covered: " + json.dumps(dict(sorted(self.covered.items()))))
        lines.append(f"{len(self.violations)} violations")
        return "\n".join(lines)


Task = tuple[int, float, tuple[str, ...] | None, float]  # the arguments of ``examine``


def _examine(task: Task) -> Report:
    try:
        return examine(*task)
    except Exception:
        return Report(task[0], violations=[f"seed {task[0]}: {traceback.format_exc()}"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=100_000, help="number of problems")
    parser.add_argument("--start", type=int, default=0, help="seed of the first problem")
    parser.add_argument(
        "--step",
        type=int,
        default=1,
        help="from seed to seed: 10 keeps to one kind of problem, by the last digit",
    )
    parser.add_argument("--units", type=float, default=UNITS, help="share of problems in other units")
    parser.add_argument("--seconds-per-instance", type=float, default=4.0, help="time limit of one run")
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument(
        "--ways", nargs="+", choices=NAMES, help="solve every problem in these ways instead of drawing some"
    )
    arguments = parser.parse_args()
    ways = None if arguments.ways is None else tuple(arguments.ways)
    seeds = range(arguments.start, arguments.start + arguments.count * arguments.step, arguments.step)
    tasks = [(seed, arguments.seconds_per_instance, ways, arguments.units) for seed in seeds]
    summary = Summary()
    try:
        run(tasks, arguments.processes, summary)
    except KeyboardInterrupt:
        print(f"interrupted after {summary.problems} of {len(tasks)} problems")
    print(summary)
    for text in summary.violations:
        print(text)
    return 1 if summary.violations else 0 if summary.problems == len(tasks) else 130


def run(tasks: list[Task], processes: int, summary: Summary) -> None:
    """Examine the problems in several processes; violations are printed as they are found."""
    began = shown = time.perf_counter()
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")  # the processes fill the cores already
    waiting = {seed for seed, *_ in tasks}
    with multiprocessing.get_context("spawn").Pool(processes, initializer=_let_the_parent_stop) as pool:
        reports = pool.imap_unordered(_examine, tasks)
        while waiting:
            try:
                report = reports.next(timeout=SILENCE)
            except multiprocessing.TimeoutError:
                first = ", ".join(map(str, itertools.islice(sorted(waiting), 40)))
                summary.violations.append(f"no answer for {SILENCE:g} s; seeds without one: {first}")
                return
            waiting.discard(report.seed)
            summary.add(report)
            for text in report.violations:
                print(text, flush=True)
            now = time.perf_counter()
            if now - shown > 60:
                shown = now
                left = (now - began) * (len(tasks) / summary.problems - 1)
                print(
                    f"{summary.problems} of {len(tasks)} problems after {now - began:.0f} s, {left:.0f} s to go, "
                    f"{len(summary.violations)} violations",
                    flush=True,
                )
        pool.close()
        pool.join()


def _let_the_parent_stop() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == "__main__":
    sys.exit(main())
