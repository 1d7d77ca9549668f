"""``solve``: wires problem, engine, ledger and observers together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from certmix import memory
from certmix.auto import choose
from certmix.compiling import announced
from certmix.engines import Engine, Outcome, require
from certmix.engines import engine as find_engine
from certmix.errors import InfeasibleError, InputError
from certmix.interruption import held, raising
from certmix.ledger import Ledger
from certmix.observers.base import Observer
from certmix.options import Options, refuse_unused
from certmix.presolve.feasibility import check_feasible
from certmix.problem import Problem, is_feasible
from certmix.result import Result, build_result
from certmix.status import Termination

# A certificate may take as long as the run was allowed to, but at least so long.
LEAST_SECONDS = 10.0


def solve(
    problem: Problem,
    engine: str = "auto",
    *,
    gap: float = 1e-6,
    absolute_gap: float = 0.0,
    time_limit: float | None = None,
    node_limit: int | None = None,
    memory_limit: int | str | None = None,
    threads: int | None = None,
    seed: int = 0,
    restarts: int | None = None,
    start: Any = None,
    branching: str | None = None,
    solver: str | None = None,
    logarithm: str | None = None,
    breakpoints: int | None = None,
    adaptive: bool | None = None,
    warm_start: bool | None = None,
    certificate: bool = False,
    verbose: bool = False,
    observers: Sequence[Observer] = (),
) -> Result:
    """Find the MAP clustering of a problem and prove how close to the global optimum it is.

    Parameters
    ----------
    problem : Problem
    engine : str
        ``auto``, or one of :data:`certmix.engines.NAMES`.
    gap, absolute_gap : float
        Stop when the relative gap ``(UB - LB) / max(1, |UB|)`` or the absolute gap in nats is reached.
    time_limit : float, optional
        Seconds; a limited run returns the best clustering and bound it had.
    node_limit : int, optional
    memory_limit : int or str, optional
        Bytes of resident memory, or a text like ``4G``; a run that comes to it returns the best clustering and bound it
        had. Default: 80 % of what is free at the start.
    threads : int, optional
    seed : int
    restarts : int, optional
        Number of starts of the local methods.
    start : array of n labels, optional
        A clustering to start from.
    branching : str, optional
        Branching rule of ``bnb``: one of :data:`certmix.options.BRANCHING`. This option and the next five are refused
        by engines that do not have them (:data:`certmix.options.USED_BY`).
    solver : str, optional
        Who solves the model of ``minlp`` and ``miqp``: ``scip`` (the default), or another solver that is installed.
    logarithm, breakpoints, adaptive : str, int, bool, optional
        The piecewise-linear logarithm of ``miqp``: ``tangent`` (its bound holds for the exact problem) or ``chord``
        (the paper's), how many breakpoints it has at first, and whether more are put around the incumbent.
    warm_start : bool, optional
        Whether ``minlp`` and ``miqp`` begin with hard EM's clustering.
    certificate : bool
        Whether to make a certificate that :func:`certmix.verify` can check: ``result.certificate``. It takes about as
        long as the run, and with a time limit no longer than that (or ten seconds). Where none can be made, it is
        None and the log says why.
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
    specific: dict[str, Any] = {
        "branching": branching,
        "solver": solver,
        "logarithm": logarithm,
        "breakpoints": breakpoints,
        "adaptive": adaptive,
        "warm_start": warm_start,
    }
    options = Options(
        gap=gap,
        absolute_gap=absolute_gap,
        time_limit=time_limit,
        node_limit=node_limit,
        memory_limit=memory_limit,
        threads=threads,
        seed=seed,
        restarts=restarts,
        start=start,
        certificate=certificate,
        **{name: value for name, value in specific.items() if value is not None},
    )
    if verbose:
        from certmix.observers.log import PlainLog

        observers = (*observers, PlainLog())
    ledger = Ledger(problem, options.tolerances, observers)
    chosen, reason = choose(problem, options) if engine == "auto" else (engine, "")
    runner = find_engine(chosen)
    refuse_unused(chosen, specific, automatic=engine == "auto")
    require(runner, problem, options)
    words = [f"note: {note}" for note in problem.notes] if verbose else []
    words += [f"engine: {chosen}, because {reason}"] if reason else []
    with held(), memory.limited(memory.parsed(memory_limit)):
        return _run(problem, runner, ledger, options, words)


def _run(
    problem: Problem, runner: Engine, ledger: Ledger, options: Options, first_words: Sequence[str]
) -> Result:
    """The run itself: whatever ends it, there is a result."""
    for observer in ledger.observers:
        observer.started(problem, runner.name, ledger)
    for text in first_words:
        ledger.message(text)
    message = ""
    try:
        with raising():
            check_feasible(problem)
            if options.start is not None:
                _offer_start(problem, ledger, options.start)
            with announced(ledger.message):
                outcome = runner.run(problem, ledger, options)
    except InfeasibleError as error:
        outcome, message = Outcome(Termination.EXHAUSTED, infeasible=True), str(error)
    except KeyboardInterrupt:
        outcome = Outcome(Termination.INTERRUPTED, certificate=ledger.certificate)
    except MemoryError as error:
        outcome, message = Outcome(Termination.MEMORY, certificate=ledger.certificate), _in_words(error)
        ledger.message(f"stopped: {message}")
    result = build_result(
        problem,
        ledger,
        engine=runner.name,
        termination=outcome.termination,
        infeasible=outcome.infeasible,
        certificate_level=outcome.certificate,
        message=message,
    )
    if options.certificate:
        result = _with_certificate(problem, result, ledger, options)
    for observer in ledger.observers:
        observer.finished(result)
    return result


def _in_words(error: MemoryError) -> str:
    return str(error) or "the system has no more memory to give"


def _with_certificate(problem: Problem, result: Result, ledger: Ledger, options: Options) -> Result:
    """The result with a certificate, if one can be made; nothing else of it changes."""
    from certmix.certificate.prove import Unproved, make

    if result.termination in (Termination.INTERRUPTED, Termination.MEMORY):
        return result
    start = ledger.seconds
    try:
        limit = None if options.time_limit is None else max(LEAST_SECONDS, options.time_limit)
        with raising():
            found = make(problem, result, ledger.record, time_limit=limit, threads=options.n_threads)
    except Unproved as reason:
        ledger.message(f"no certificate: {reason}")
    except KeyboardInterrupt:
        ledger.message("no certificate: interrupted while it was made")
    except (ArithmeticError, LookupError, MemoryError, RuntimeError, TypeError, ValueError) as error:
        # What was found and proved stands, whatever happens to the record of it.
        ledger.message(f"no certificate: {type(error).__name__}: {error}")
    else:
        ledger.message(f"certificate made in {ledger.seconds - start:.3g} s")
        return replace(result, certificate=found)
    finally:
        ledger.record = None
    return result


def _offer_start(problem: Problem, ledger: Ledger, start: Any) -> None:
    import numpy as np

    labels = problem.objective.checked_labels(np.asarray(start))
    if not is_feasible(problem, labels):
        raise InputError("the clustering given as start violates a constraint")
    ledger.offer(labels, "start")
