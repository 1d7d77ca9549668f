"""Runs of engines and of local methods as cells."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from certmix import datasets
from certmix.engines import engine as find_engine
from certmix.errors import UnsupportedError
from certmix.io.strict_json import finite
from certmix.ledger import Ledger, Progress
from certmix.local.solution import LocalSolution
from certmix.observers.base import Silent
from certmix.observers.wording import duration, share, value
from certmix.paper.study.cells import Cell, Record, Tell
from certmix.paper.study.settings import Settings
from certmix.problem import Problem
from certmix.result import Result
from certmix.saving import as_dict
from certmix.solving import solve
from certmix.status import Termination, Tolerances

PAPERS_MODELS = ("minlp", "miqp")
# A run of fewer seconds in which kernels were compiled is repeated, for the sake of its seconds.
_SHORT = 120.0
METHODS = {
    "em": "EM",
    "slsqp": "SLSQP",
    "annealing": "SA",
    "minlp": "MINLP",
    "miqp": "MIQP",
    "auto": "certmix",
    "dual": "certmix dual",
}
"""How tables and figures call the engines."""


class Heartbeat(Silent):
    """A line every few seconds, ever more seldom."""

    def __init__(self, tell: Tell, first: float = 15.0) -> None:
        self._tell = tell
        self._next = self._wait = first
        self.interrupted = self.compiled = False

    def message(self, text: str) -> None:
        if text.startswith("compiling"):
            self._tell(text)
            self.compiled = True

    def finished(self, result: Result) -> None:
        if result.verification and result.certificate_level != "verified":
            self._tell(result.verification)
            self.interrupted = "interrupted" in result.verification  # the run itself was over

    def progressed(self, progress: Progress) -> None:
        if progress.seconds < self._next:
            return
        gap = Tolerances.gap_relative(progress.incumbent, progress.bound)
        self._tell(
            f"{duration(progress.seconds)}: incumbent {value(progress.incumbent, 7)}, "
            f"bound {value(progress.bound, 7)}, gap {share(gap)}"
        )
        self._wait *= 1.25
        self._next = progress.seconds + self._wait


class Compiling(Silent):
    """Tells that kernels are compiled, and nothing else."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell

    def message(self, text: str) -> None:
        if text.startswith("compiling"):
            self._tell(text)


def engine_cell(
    data: Mapping[str, Any],
    engine: str,
    settings: Settings,
    *,
    problem: Callable[[], Problem] | None = None,
    variant: str = "",
    gap: float = 1e-6,
    verify: bool = False,
) -> Cell:
    """A run of an engine on a built-in data set, or on another problem.

    The paper's models begin with nothing, as in the paper; SCIP has one thread. Our engines are called on a few
    samples first, so that their seconds are those of the search and not of compiling or loading kernels.

    Parameters
    ----------
    data : mapping
        ``name`` and options of the recipe: identifies the problem.
    problem : function, optional
        Makes the problem; that of the recipe by default.
    variant : str
        What tells two problems on the same data apart.
    verify : bool
        Whether to make a certificate and let the checker look at it; that comes after the run and is not in its
        seconds.
    """
    make_problem = problem or (lambda: datasets.load(**dict(data)).problem())
    options: dict[str, Any] = {
        "data": dict(data),
        "variant": variant,
        "engine": engine,
        "gap": gap,
        "time_limit": settings.time_limit,
        "seed": settings.seed,
        "threads": 1,
    }
    if engine in PAPERS_MODELS:
        options |= {"solver": "scip", "warm_start": False}
    if verify:
        options["certificate"] = True

    def make(tell: Tell) -> Record:
        asked = make_problem()
        if engine not in PAPERS_MODELS:
            _compile(asked, engine, tell)
        arguments = {k: v for k, v in options.items() if k not in ("data", "variant", "engine")}
        heartbeat = Heartbeat(tell)
        result = interruptible_solve(asked, engine, observers=[heartbeat], verify=verify, **arguments)
        if heartbeat.compiled and result.seconds < _SHORT:
            tell("once more, now that kernels are compiled")
            heartbeat = Heartbeat(tell)
            result = interruptible_solve(asked, engine, observers=[heartbeat], verify=verify, **arguments)
        if heartbeat.interrupted:
            raise KeyboardInterrupt
        said = {} if result.verdict is None else {"verdict": result.verdict.sentence}
        return as_dict(result) | said

    name = _data_title(data) + (f" {variant}" if variant else "")
    key = "-".join([*(str(v) for v in data.values()), *variant.split(), engine])
    likely = settings.time_limit if engine in PAPERS_MODELS else 0.0
    return Cell(key, f"{name}, {METHODS.get(engine, engine)}", options, make, engine_words, likely)


def _compile(problem: Problem, engine: str, tell: Tell) -> None:
    """Call the engine that the problem will have on a few of its samples, without its side constraints."""
    from certmix.auto import choose
    from certmix.options import Options

    chosen = choose(problem, Options(time_limit=1.0))[0] if engine == "auto" else engine
    rows = np.linspace(0, problem.n_samples - 1, min(problem.n_samples, 8 * problem.n_components)).astype(int)
    small = Problem(
        problem.data[rows], problem.n_components, precision=np.asarray(problem.covariance.precision[0])
    )
    interruptible_solve(small, chosen, time_limit=2.0, threads=1, observers=[Compiling(tell)], verify=False)


def interruptible_solve(*arguments: Any, **options: Any) -> Result:
    """``solve``, but Ctrl-C ends the study and not only the run, whose result would be stored as if it were whole."""
    result = solve(*arguments, **options)
    if result.termination is Termination.INTERRUPTED:
        raise KeyboardInterrupt
    return result


def _data_title(data: Mapping[str, Any]) -> str:
    options = [f"{k}={v}" for k, v in data.items() if k not in ("name", "digest")]
    return " ".join([str(data["name"]), *options])


def engine_words(record: Record) -> str:
    """What a run found and proved, in a line."""
    found = "no clustering" if record["objective"] is None else f"{record['objective']:.8g}"
    bound = "no bound" if record["lower_bound"] is None else f"bound {record['lower_bound']:.8g}"
    return (
        f"{found}, {bound} ({record['certificate']}), gap {gap_words(record['gap_relative'])}, "
        f"{record['seconds']:.2f} s, {record['termination']}"
    )


def gap_words(gap: float | None) -> str:
    """A relative gap; a dash where there is none."""
    if gap is None:
        return "–"
    return f"{gap:.1e}" if gap < 1e-4 else f"{100 * gap:.2f} %" if gap < 10 else f"{100 * gap:.0f} %"


def local_cell(data: Mapping[str, Any], method: str, settings: Settings) -> Cell:
    """A run of a local method from a k-means start, scored at its own parameters, as in the paper."""
    options = {
        "data": dict(data),
        "method": method,
        "time_limit": settings.time_limit,
        "seed": settings.seed,
    }

    def make(tell: Tell) -> Record:
        problem = datasets.load(**dict(data)).problem()
        local = find_engine(method)
        reason = local.refusal(problem)
        if reason is not None:
            raise UnsupportedError(f"{METHODS[method]} cannot take {data['name']}: {reason}")
        begin = time.perf_counter()
        found: LocalSolution = local.method(  # type: ignore[attr-defined]
            problem, seed=settings.seed, start=None, time_limit=settings.time_limit
        )
        return local_record(found, time.perf_counter() - begin, problem)

    key = "-".join([*(str(v) for v in data.values()), method])
    title = f"{_data_title(data)}, {METHODS.get(method, method)}"
    return Cell(key, title, options, make, local_words)


def local_record(found: LocalSolution, seconds: float, problem: Problem) -> Record:
    """What a local method found, as plain values."""
    ledger = Ledger(problem, Tolerances())
    feasible = found.labels is not None and ledger.offer(found.labels, found.method)
    return {
        "objective": finite(found.value),
        "rescored": finite(ledger.upper) if feasible else None,
        "labels": found.own_labels.tolist(),
        "means": found.means.tolist(),
        "weights": found.weights.tolist(),
        "converged": found.converged,
        "iterations": found.iterations,
        "seconds": seconds,
        "certificate": "none",
    }


def local_words(record: Record) -> str:
    rescored = "" if record["rescored"] is None else f" (rescored {record['rescored']:.8g})"
    stopped = "" if record["converged"] else ", stopped before it converged"
    objective = "–" if record["objective"] is None else f"{record['objective']:.8g}"
    return f"{objective}{rescored}, {record['seconds']:.2f} s{stopped}"
