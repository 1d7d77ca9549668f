"""``solve``: wires problem, engine, ledger and observers together."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from inspect import signature
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from certmix import memory
from certmix.auto import choose
from certmix.compiling import announced
from certmix.concluding import build_result, condensed
from certmix.engines import Engine, Outcome, require
from certmix.engines import engine as find_engine
from certmix.errors import InfeasibleError, InputError
from certmix.interruption import held, raising
from certmix.ledger import Ledger, Observer
from certmix.observers.snapshot import Snapshot
from certmix.options import Options, changed, described
from certmix.presolve.feasibility import check_feasible
from certmix.problem import Problem, is_feasible, satisfaction_table
from certmix.problem.hardening import hardened
from certmix.problem.noise import LABEL
from certmix.proving import for_search, proved
from certmix.result import Result
from certmix.resuming import Unfinished, identity
from certmix.softlinks.engine import SoftLinks
from certmix.status import Termination
from certmix.stopping import Abandoned, Stop, attend
from certmix.variance.engine import UnknownVariance
from certmix.variance.unbounded import refuse_unbounded

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class _Arguments(Options):
    """What ``solve`` takes after the problem; for those who read its signature."""

    _: KW_ONLY
    options: Options | None = None
    verbose: bool = False
    observers: Sequence[Observer] = ()


def _takes(arguments: Callable[P, Any]) -> Callable[[Callable[..., R]], Callable[Concatenate[Problem, P], R]]:
    """Show a function with a problem and these arguments as its parameters, to people and to type checkers."""

    def shown(function: Callable[..., R]) -> Callable[Concatenate[Problem, P], R]:
        own = list(signature(function).parameters.values())[:1]
        function.__signature__ = signature(function).replace(  # type: ignore[attr-defined]
            parameters=[*own, *signature(arguments).parameters.values()]
        )
        function.__doc__ = str(function.__doc__).replace("    options of a run\n", described(Options))
        return function

    return shown


@_takes(_Arguments)
def solve(
    problem: Problem,
    engine: str | None = None,
    *,
    options: Options | None = None,
    verbose: bool = False,
    observers: Sequence[Observer] = (),
    **given: Any,
) -> Result:
    """Find the MAP clustering of a problem and prove how close to the global optimum it is.

    Parameters
    ----------
    problem : Problem
    options of a run
    options : Options, optional
        All of these at once; what is given by name counts instead.
    verbose : bool
        Write a log to standard error.
    observers : sequence of Observer

    Returns
    -------
    Result
        ``result.status`` says how good the answer is; ``result.termination`` why the run stopped.

    Raises
    ------
    InputError
        For bad input, before any work. Contradictory constraints are not an error: the result is ``infeasible`` and
        its message names a smallest set of constraints that cannot hold together.
    """
    if not isinstance(problem, Problem):
        raise InputError(
            f"solve takes a Problem, not a {type(problem).__name__}; "
            f"did you mean solve(Problem(data, n_components, ...))?"
        )
    options = changed(options or Options(), {"engine": engine, **given})
    run = Run(problem, options, observers, verbose=verbose)
    with held(), memory.limited(memory.parsed(options.memory_limit)):
        result = run.search(for_search(run.options, run.runner))
        result = run.closed(run.proved(result, run.options))
        run.tell(result)
    return result


class Run:
    """A problem with its engine, searched and proved; where a limit has struck, :meth:`take_up` lets it go on."""

    def __init__(
        self, problem: Problem, options: Options, observers: Sequence[Observer] = (), *, verbose: bool = False
    ) -> None:
        if options.start is not None:
            options = replace(options, start=_start_labels(problem, options.start))
        if verbose:
            from certmix.observers.log import PlainLog

            observers = (*observers, PlainLog())
        earlier = None if options.resume is None else Unfinished.read(options.resume)
        if earlier is not None and not any(isinstance(observer, Snapshot) for observer in observers):
            observers = (*observers, Snapshot(earlier.directory, overwrite=True))
        ledger = Ledger(problem, options.tolerances_of(problem.quantity), (), Stop())
        ledger.keeps_proof = bool(options.certificate)
        automatic = options.engine == "auto"
        known = problem.at_scale(1.0) if problem.covariance.unknown else problem
        known = hardened(known) if problem.rules.soft else known
        if earlier is not None and automatic:
            chosen, reason = earlier.engine, "the run that is resumed has it"
        else:
            chosen, reason = choose(known, options) if automatic else (options.engine, "")
        runner = find_engine(chosen)
        options.refuse_unused(chosen, automatic=automatic)
        require(runner, known, options)
        if problem.covariance.unknown:
            refuse_unbounded(problem)
            runner = UnknownVariance(runner)
        if problem.rules.soft:
            runner = SoftLinks(runner)
        words = [f"note: {note}" for note in problem.notes] if verbose else []
        words += [f"engine: {chosen}, because {reason}"] if reason else []
        if any(isinstance(observer, Snapshot) for observer in observers):
            ledger.identity = identity(problem, chosen, options)
        if earlier is not None:
            assert ledger.identity is not None
            earlier.refuse_another(ledger.identity)
            earlier.restore(ledger)
            words.append(earlier.told())
            if options.node_limit is not None:  # of what is still to be done
                options = replace(options, node_limit=options.node_limit + ledger.nodes)
        ledger.observers = tuple(observers)
        self.problem, self.runner, self.options = problem, runner, options
        self.ledger, self.first_words, self.spent = ledger, words, ledger.elapsed

    def search(self, options: Options, grace: float = 0.0) -> Result:
        """Whatever ends it, there is a result; for ``grace`` seconds beyond the limit the engine may come to rest."""
        ledger, runner = self.ledger, self.runner
        for observer in ledger.observers:
            observer.started(self.problem, runner.name, ledger)
        for text in self.first_words:
            ledger.message(text)
        with ledger.beating(), announced(ledger.message):
            outcome, message = _attended(self.problem, runner, ledger, options, grace)
            self.spent = ledger.elapsed  # whoever waits for another turn does not search
            return build_result(
                self.problem,
                ledger,
                engine=runner.name,
                termination=outcome.termination,
                infeasible=outcome.infeasible,
                certificate_level=outcome.certificate_level,
                message=message,
            )

    def proved(self, result: Result, options: Options) -> Result:
        """The result of the search with its proof, made of what the search has left."""
        with self.ledger.beating(), announced(self.ledger.message):
            return proved(self.problem, result, self.ledger, options)

    def closed(self, result: Result) -> Result:
        """The result as it is handed out; there is nothing to go on from any more."""
        self.ledger.record = self.ledger.kept = None
        self.ledger.seal()
        return condensed(result, self.problem)

    def tell(self, result: Result) -> None:
        """The observers hear that it is over."""
        for observer in self.ledger.observers:
            observer.finished(result)

    def take_up(self, options: Options) -> None:
        """Let the next search go on where the last one stopped; anew, with what it knew, if it had to be cut short."""
        before, words = self.ledger, self.first_words
        ledger = Ledger(self.problem, options.tolerances_of(self.problem.quantity), (), Stop())
        ledger.seconds_before, ledger.nodes = self.spent, before.nodes
        ledger.keeps_proof, ledger.identity = before.keeps_proof, before.identity
        if before.incumbent is not None:
            ledger.offer(before.incumbent.labels, before.source)
        ledger.raise_bound(before.bound, whole=True)
        ledger.trace = list(before.trace)
        if not before.sealed:  # else somebody is still at work on it
            ledger.kept = before.kept
            if before.kept is None and before.resumable is not None:
                ledger.resumed = before.resumable.state().in_memory()
        before.seal()
        ledger.observers = before.observers
        self.ledger, self.first_words = ledger, [text for text in words if text.startswith("engine")]


def _attended(
    problem: Problem, runner: Engine, ledger: Ledger, options: Options, grace: float
) -> tuple[Outcome, str]:
    """How the engine's run ended, and what there is to say about it."""
    stop = ledger.stop
    limit = math.inf if options.time_limit is None else options.time_limit
    stop.lower(limit - ledger.seconds)

    def run() -> Outcome:
        ledger.phase = "looking at the constraints"
        check_feasible(problem)
        if options.start is not None:
            _offer_start(problem, ledger, options.start)
        if problem.squares and runner.certified:
            ledger.raise_bound(0.0, whole=True)  # of squares
        return runner.run(problem, ledger, options)

    try:
        with raising():
            outcome = attend(run, stop, limit, grace)
    except InfeasibleError as error:
        return Outcome(Termination.EXHAUSTED, infeasible=True), str(error)
    except MemoryError as error:
        message = str(error) or "the system has no more memory to give"
        ledger.message(f"stopped: {message}")
        return Outcome(Termination.MEMORY, certificate_level=ledger.certificate_level), message
    except KeyboardInterrupt:
        stop.hoist(Termination.INTERRUPTED)
    except Abandoned:
        ledger.seal()
    else:
        if stop.reason is None:
            return outcome, ""
    # The flag is up: what the engine says of its end may be the word of a kernel that was cut short.
    assert stop.reason is not None
    termination = Termination.GAP if ledger.closed else stop.reason
    return Outcome(
        termination, certificate_level=ledger.certificate_level if runner.certified else "none"
    ), ""


def _offer_start(problem: Problem, ledger: Ledger, start: np.ndarray) -> None:
    labels = problem.objective.checked_labels(start)
    if not is_feasible(problem, labels):
        raise InputError(f"the clustering given as start violates a constraint: {_violated(problem, labels)}")
    ledger.offer(labels, "start")


def _start_labels(problem: Problem, start: Any) -> np.ndarray:
    """The labels of a start, that of noise as a run has it."""
    labels = _given_labels(problem, start)
    return labels if problem.noise is None else np.where(labels == LABEL, problem.n_clusters, labels)


def _given_labels(problem: Problem, start: Any) -> np.ndarray:
    """The labels of a start: an array, a result (its samples are matched by name), or a file."""
    if isinstance(start, (str, os.PathLike)):
        from certmix.io.start import read_start

        return problem.samples.expand(read_start(Path(start), problem))
    if not isinstance(start, Result):
        return problem.samples.expand(np.asarray(start))
    if start.labels is None:
        raise InputError("the result given as start has no clustering: " + start.sentence())
    label_of = dict(zip(start.names, start.labels.tolist(), strict=True))
    names = problem.samples.original.names
    missing = [name for name in names if name not in label_of]
    if missing:
        raise InputError(f"the result given as start has no sample {missing[0]!r}")
    return problem.samples.expand(np.array([label_of[name] for name in names]))


def _violated(problem: Problem, labels: np.ndarray) -> str:
    """The first constraint that labels break, in words."""
    for item in satisfaction_table(problem, labels):
        if not item.satisfied and item.penalty is None:
            return item.text + (f" ({item.source})" if item.source else "")
    sizes = np.bincount(labels, minlength=problem.n_components)
    k = int(np.argmax((sizes < problem.size_lower) | (sizes > problem.size_upper)))
    return f"component {problem.component_names[k]} has {sizes[k]} samples"
