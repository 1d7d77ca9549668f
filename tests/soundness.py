"""Soundness of the certified engines: random small problems against exhaustive enumeration (`make soundness`).

Every problem is solved by enumeration, which is the truth, and then in many other ways: by every certified engine
through ``solve``, and by the search loop with each bound from no, a poor or a good incumbent, with and without
limits (the slower ways on a share of the problems). Whatever is claimed must agree with the truth:

- no lower bound lies above the optimum;
- a run that closes its gap, or explores everything, has the optimum within its tolerance;
- a problem is called infeasible only if it is, and an exhausted run of an infeasible problem says so;
- ``optimal`` is said only when incumbent and bound say so;
- over a run bounds never fall and incumbents never rise.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from unittest import mock

import numpy as np

from certmix.engines import engine, why_not
from certmix.errors import InfeasibleError
from certmix.exact.enumeration import Enumeration
from certmix.ledger import Ledger, TracePoint
from certmix.options import BRANCHING, Options
from certmix.presolve.instance import Instance, reduce
from certmix.problem import Problem, is_feasible
from certmix.search.bounds import pricer
from certmix.search.bounds.base import Bound
from certmix.search.bounds.dual import DualBound
from certmix.search.bounds.interval import IntervalBound
from certmix.search.bounds.line import LineBound, applies
from certmix.search.bounds.relaxation import RelaxationBound
from certmix.search.bounds.semidefinite.bound import SemidefiniteBound
from certmix.search.branching import branching_rule
from certmix.search.loop import search
from certmix.search.stopping import stop_reason
from certmix.solving import solve
from certmix.status import Status, Termination, decide
from random_instances import random_problem

ROUNDING = 1e-9
"""Relative difference that two ways of adding up the same objective may show."""
GAPS = (1e-9, 1e-6, 1e-4, 1e-2, 0.2)
CERTIFIED_ENGINES = ("interval", "dual", "dynamic")
SLOWER_ENGINES = ("sdp", "bnb")
SHARE = 0.35
"""Of the problems, how many each of the slower ways is tried on."""


@dataclass(frozen=True)
class Truth:
    """What enumeration says: the optimal labels and value, or neither when the problem is infeasible."""

    optimum: float
    labels: np.ndarray | None

    @property
    def infeasible(self) -> bool:
        return self.labels is None

    @property
    def slack(self) -> float:
        return ROUNDING * max(1.0, abs(self.optimum)) if not self.infeasible else 0.0


@dataclass(frozen=True)
class Claim:
    """What one run says."""

    way: str
    upper: float
    lower: float
    labels: np.ndarray | None
    status: Status
    termination: Termination
    trace: tuple[TracePoint, ...]
    options: Options
    seconds: float
    certified: bool = True

    @property
    def closed(self) -> bool:
        return self.status is Status.OPTIMAL


@dataclass
class Report:
    """What was seen of one problem."""

    seed: int
    infeasible: bool = False
    claims: list[tuple[str, str, float, float]] = field(default_factory=list)
    """(way, outcome, relative excess of the bound over the optimum, seconds) of every run."""
    violations: list[str] = field(default_factory=list)


def find_truth(problem: Problem) -> Truth:
    """The optimum by enumeration, straight from the engine, so that no feasibility check stands in between."""
    ledger = Ledger(problem, Options(gap=0.0).tolerances)
    outcome = Enumeration().run(problem, ledger, Options(gap=0.0))
    if outcome.infeasible:
        return Truth(math.inf, None)
    assert ledger.incumbent is not None
    return Truth(ledger.upper, ledger.incumbent.labels)


def violations(problem: Problem, truth: Truth, claim: Claim) -> Iterator[str]:
    """Everything in a claim that contradicts the truth, in words."""
    tolerances = claim.options.tolerances
    if math.isnan(claim.upper) or math.isnan(claim.lower):
        yield f"a claim is not a number: {claim.lower} .. {claim.upper}"
        return
    if claim.status is Status.INFEASIBLE and not truth.infeasible:
        yield f"called infeasible, but the optimum is {truth.optimum!r}"
    if claim.labels is not None:
        yield from _wrong_clustering(problem, truth, claim)
    if not truth.infeasible and claim.lower > truth.optimum + truth.slack:
        yield f"bound {claim.lower!r} above the optimum {truth.optimum!r}"
    if not claim.certified and (claim.lower > -math.inf or claim.status is Status.OPTIMAL):
        yield f"a local method claims a bound ({claim.lower}) or optimality ({claim.status})"
    numbers = tolerances.closed(claim.upper, claim.lower)
    if claim.closed and not numbers:
        yield f"optimal with a gap of {claim.upper - claim.lower}"
    if claim.closed and claim.upper - truth.optimum > tolerances.allowed(claim.upper) + truth.slack:
        yield f"optimal at {claim.upper!r}, but the optimum is {truth.optimum!r}"
    if claim.termination in (Termination.EXHAUSTED, Termination.GAP):
        if truth.infeasible and claim.status is not Status.INFEASIBLE:
            yield f"{claim.termination}, infeasible, but the status is {claim.status}"
        # With nasty scales the rounding that is taken off a bound may exceed the gap that was asked for.
        rounding = 4.0 * reduce(problem).error + truth.slack
        if not truth.infeasible and not claim.closed and claim.upper - claim.lower > rounding:
            yield f"{claim.termination}, but the status is {claim.status} with {claim.lower} .. {claim.upper}"
    for before, after in zip(claim.trace, claim.trace[1:], strict=False):
        if after.bound < before.bound or after.incumbent > before.incumbent or after.seconds < before.seconds:
            yield f"the trace turns back from {before} to {after}"
            break


def _wrong_clustering(problem: Problem, truth: Truth, claim: Claim) -> Iterator[str]:
    if not is_feasible(problem, claim.labels):
        yield "the clustering violates a constraint"
        return
    try:
        value = problem.objective.best(claim.labels).value
    except InfeasibleError:
        yield "the clustering has no admissible parameters"
        return
    if abs(value - claim.upper) > ROUNDING * max(1.0, abs(value)):
        yield f"the clustering's value is {value!r}, not {claim.upper!r}"
    if claim.upper < truth.optimum - truth.slack:
        yield f"incumbent {claim.upper!r} below the optimum {truth.optimum!r}"


# -- the ways of solving ---------------------------------------------------------------------------------------
def by_engine(problem: Problem, name: str, options: Options) -> Claim:
    """A run through the front door."""
    start = time.perf_counter()
    result = solve(
        problem,
        name,
        gap=options.gap,
        absolute_gap=options.absolute_gap,
        time_limit=options.time_limit,
        node_limit=options.node_limit,
        threads=1,
        seed=options.seed,
        restarts=options.restarts,
        start=options.start,
    )
    return Claim(
        name,
        result.objective,
        result.lower_bound,
        result.labels,
        result.status,
        result.termination,
        result.trace,
        options,
        time.perf_counter() - start,
        certified=engine(name).certified,
    )


MakeBound = Callable[[Instance, Ledger, Options], Bound]


def interval_bound(instance: Instance, ledger: Ledger, options: Options) -> Bound:
    return IntervalBound(instance)


def line_bound(instance: Instance, ledger: Ledger, options: Options) -> Bound:
    return LineBound(instance)


def dual_bound(instance: Instance, ledger: Ledger, options: Options, *, fewest: int) -> Bound:
    """The dual bound with multipliers at every node that has so many open groups, as the engine sets it up."""
    assert ledger.incumbent is not None
    return DualBound(
        instance,
        ledger.incumbent.labels,
        allowed=options.tolerances.allowed(ledger.upper),
        seed=options.seed,
        fewest=fewest,
        should_stop=lambda: stop_reason(ledger, options) is not None,
        on_root_bound=ledger.raise_bound,
    )


def semidefinite_bound(instance: Instance, ledger: Ledger, options: Options) -> Bound:
    """The semidefinite bound as the engine sets it up, but from whatever incumbent there is."""
    return SemidefiniteBound(
        instance,
        None if ledger.incumbent is None else ledger.incumbent.labels,
        should_stop=lambda: stop_reason(ledger, options) is not None,
        on_root_bound=ledger.raise_bound,
    )


def relaxation_bound(instance: Instance, ledger: Ledger, options: Options) -> Bound:
    return RelaxationBound(instance, branching_rule(options.branching))


def by_loop(way: str, problem: Problem, make_bound: MakeBound, options: Options) -> Claim:
    """The bare loop: no first incumbent but the one given, so the bound has to do all the work."""
    instance = reduce(problem)
    ledger = Ledger(problem, options.tolerances)
    if options.start is not None:
        ledger.offer(options.start, "start")
    reason = search(make_bound(instance, ledger, options), ledger, options)
    infeasible = reason is Termination.EXHAUSTED and ledger.incumbent is None
    return Claim(
        way,
        ledger.upper,
        ledger.bound,
        None if ledger.incumbent is None else ledger.incumbent.labels,
        decide(ledger.upper, ledger.bound, options.tolerances, infeasible=infeasible),
        reason,
        tuple(ledger.trace),
        options,
        ledger.seconds,
    )


def poor_labels(problem: Problem, truth: Truth, rng: np.random.Generator) -> np.ndarray | None:
    """Some feasible labels, seldom good; the optimal ones when random tries find none."""
    for _ in range(200):
        labels = rng.integers(problem.n_components, size=problem.n_samples)
        if is_feasible(problem, labels):
            try:
                value = problem.objective.best(labels).value
            except InfeasibleError:
                continue
            if math.isfinite(value):
                return labels
    return truth.labels


def ways(
    problem: Problem,
    truth: Truth,
    rng: np.random.Generator,
    seconds: float,
    multipliers: float,
    share: float,
) -> Iterator[tuple[str, Callable[[], Claim]]]:
    """Every way in which a problem is solved, with random gaps, starts and limits.

    The loop with the dual bound takes most of the time; ``multipliers`` is the share of problems that it is run on, and
    ``share`` the one of the slower engines and their loops.
    """
    poor = None if truth.infeasible else poor_labels(problem, truth, rng)

    def options(*, start: object = None, node_limit: int | None = None, branching: bool = False) -> Options:
        return Options(
            gap=float(rng.choice(GAPS)),
            time_limit=seconds,
            node_limit=node_limit,
            seed=int(rng.integers(100)),
            start=start,
            threads=1,
            restarts=int(rng.integers(1, 4)),
            branching=str(rng.choice(BRANCHING)) if branching else BRANCHING[0],
        )

    def sometimes(value: object) -> object:
        return value if rng.random() < 0.5 else None

    few = int(rng.integers(0, 12))
    for name in CERTIFIED_ENGINES:
        if why_not(engine(name), problem) is None:
            chosen = options(start=sometimes(poor))
            yield name, lambda name=name, chosen=chosen: by_engine(problem, name, chosen)
    chosen = options()
    yield "hard-em", lambda: by_engine(problem, "hard-em", chosen)
    freely, limited = options(start=sometimes(poor)), options(start=sometimes(poor), node_limit=few)
    yield "interval loop", lambda: by_loop("interval loop", problem, interval_bound, freely)
    yield (
        "interval loop, limited",
        lambda: by_loop("interval loop, limited", problem, interval_bound, limited),
    )
    if applies(problem) is None:
        straight = options(start=sometimes(poor), node_limit=few if rng.random() < 0.3 else None)
        yield "line loop", lambda: by_loop("line loop", problem, line_bound, straight)
    if poor is not None and rng.random() < multipliers:
        start = poor if rng.random() < 0.5 else truth.labels
        node_limit = few if rng.random() < 0.7 else 40
        branching = options(start=start, node_limit=node_limit)
        fewest = int(rng.choice([1, 2, 4]))
        way = "dual loop" if rng.random() < 0.7 else "dual loop, cells"
        cells_from = 1 if way == "dual loop, cells" else pricer.CELLS_FROM

        def by_multipliers() -> Claim:
            def make_bound(instance: Instance, ledger: Ledger, given: Options) -> Bound:
                return dual_bound(instance, ledger, given, fewest=fewest)

            with mock.patch.object(
                pricer, "CELLS_FROM", cells_from
            ):  # cells are meant for thousands of groups
                return by_loop(way, problem, make_bound, branching)

        yield way, by_multipliers
    for name in SLOWER_ENGINES:
        if why_not(engine(name), problem) is None and rng.random() < share:
            chosen = options(start=sometimes(poor), branching=name == "bnb")
            yield name, lambda name=name, chosen=chosen: by_engine(problem, name, chosen)
    loops = (("sdp loop", "sdp", semidefinite_bound), ("bnb loop", "bnb", relaxation_bound))
    for loop, name, make in loops:
        if why_not(engine(name), problem) is not None or rng.random() >= share:
            continue
        start = (None, poor, truth.labels)[rng.integers(3)]
        node_limit = few if rng.random() < 0.4 else None
        chosen = options(start=start, node_limit=node_limit, branching=name == "bnb")
        yield loop, lambda loop=loop, make=make, chosen=chosen: by_loop(loop, problem, make, chosen)


def draw(seed: int) -> tuple[Problem, np.random.Generator]:
    """The problem of a seed, and the generator with which its runs are drawn. Every tenth is a little larger."""
    rng = np.random.default_rng([seed, 20])
    if seed % 10 == 9:
        return random_problem(rng, max_samples=12, max_components=2), rng
    return random_problem(rng, max_samples=9, max_components=4 if seed % 10 == 8 else 3), rng


def examine(seed: int, seconds: float = 10.0, multipliers: float = 1.0, share: float = SHARE) -> Report:
    """Solve the problem of a seed in every way and compare."""
    report = Report(seed)
    problem, rng = draw(seed)
    start = time.perf_counter()
    truth = find_truth(problem)
    report.infeasible = truth.infeasible
    report.claims.append(
        ("enumerate", "infeasible" if truth.infeasible else "closed", -math.inf, time.perf_counter() - start)
    )
    for way, run in ways(problem, truth, rng, seconds, multipliers, share):
        start = time.perf_counter()
        try:
            claim = run()
        except Exception:  # a crash is a finding like any other
            report.violations.append(f"seed {seed}, {way}: {traceback.format_exc()}")
            report.claims.append((way, "failed", -math.inf, time.perf_counter() - start))
            continue
        report.violations += [f"seed {seed}, {way}: {text}" for text in violations(problem, truth, claim)]
        excess = -math.inf
        if not truth.infeasible and math.isfinite(claim.lower):
            excess = (claim.lower - truth.optimum) / max(1.0, abs(truth.optimum))
        report.claims.append((way, outcome_of(claim), excess, claim.seconds))
    return report


def outcome_of(claim: Claim) -> str:
    if claim.status is Status.INFEASIBLE:
        return "infeasible"
    return "closed" if claim.closed else "limited" if claim.certified else "local"


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

    def add(self, report: Report) -> None:
        self.problems += 1
        self.infeasible += report.infeasible
        self.violations += report.violations
        for way, outcome, excess, seconds in report.claims:
            counts = self.counts.setdefault(way, dict.fromkeys(self.columns, 0))
            counts[outcome] += 1
            self.excess[way] = max(self.excess.get(way, -math.inf), excess)
            self.seconds[way] = self.seconds.get(way, 0.0) + seconds

    def __str__(self) -> str:
        head = f"{'way':<24}" + "".join(f"{c:>11}" for c in self.columns) + f"{'excess':>12}{'seconds':>10}"
        lines = [f"{self.problems} problems, {self.infeasible} of them infeasible", head]
        for way, counts in self.counts.items():
            numbers = "".join(f"{counts[c]:>11}" for c in self.columns)
            lines.append(f"{way:<24}{numbers}{self.excess[way]:>12.1e}{self.seconds[way]:>10.1f}")
        lines.append("excess: largest (bound - optimum) / max(1, |optimum|) of any run")
        lines.append(f"{len(self.violations)} violations")
        return "\n".join(lines)


Task = tuple[int, float, float, float]  # the arguments of ``examine``


def _examine(task: Task) -> Report:
    return examine(*task)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=20_000, help="number of problems")
    parser.add_argument("--start", type=int, default=0, help="seed of the first problem")
    parser.add_argument("--seconds-per-instance", type=float, default=10.0, help="time limit of one run")
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument(
        "--multipliers", type=float, default=1.0, help="share of the problems for the dual bound's loop"
    )
    parser.add_argument(
        "--share",
        type=float,
        default=SHARE,
        help="share of the problems for the slower engines and their loops",
    )
    arguments = parser.parse_args()
    tasks = [
        (seed, arguments.seconds_per_instance, arguments.multipliers, arguments.share)
        for seed in range(arguments.start, arguments.start + arguments.count)
    ]
    summary = Summary()
    try:
        run(tasks, arguments.processes, summary)
    except KeyboardInterrupt:
        print(f"interrupted after {summary.problems} of {len(tasks)} problems")
    print(summary)
    return 1 if summary.violations else 0 if summary.problems == len(tasks) else 130


def run(tasks: list[Task], processes: int, summary: Summary) -> None:
    """Examine the problems in several processes; violations are printed as they are found."""
    began = shown = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(processes, initializer=_let_the_parent_stop) as pool:
        for report in pool.imap_unordered(_examine, tasks, chunksize=5):
            summary.add(report)
            for text in report.violations:
                print(text, flush=True)
            if time.perf_counter() - shown > 60:
                shown = time.perf_counter()
                print(
                    f"{summary.problems} of {len(tasks)} problems after {shown - began:.0f} s, "
                    f"{len(summary.violations)} violations",
                    file=sys.stderr,
                    flush=True,
                )


def _let_the_parent_stop() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == "__main__":
    sys.exit(main())
