"""From a result to a certificate: which proof, against which target."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from typing import Any

from certmix.certificate.draft import Draft
from certmix.certificate.format import Certificate
from certmix.certificate.lagrangian import LagrangianProver, Unproved
from certmix.certificate.statement import state
from certmix.problem import Problem
from certmix.result import Result
from certmix.status import Status
from certmix.verify import dynamic, statement
from certmix.verify.domain import Domain
from certmix.verify.enumeration import MOST, count, enumerate_all
from certmix.verify.evidence import Evidence, Rejected
from certmix.verify.root import Root, build

MOST_GROUPS = 200_000
MOST_DIMENSIONS = 6

__all__ = ["Unproved", "make"]


def make(
    problem: Problem,
    result: Result,
    record: Any = None,
    *,
    time_limit: float | None = None,
    threads: int = 1,
    should_stop: Callable[[], bool] = lambda: False,
) -> Certificate:
    """A certificate for what a result claims.

    Parameters
    ----------
    record : what the engine left behind in ``ledger.record``; makes things quicker where there is one
    time_limit : seconds; by default a minute and ten times as long as the run took
    threads : how many the ascent of multipliers may use

    Raises
    ------
    Unproved
        With the reason why there is none.
    """
    if result.labels is None or not math.isfinite(result.lower_bound):
        raise Unproved("there is no clustering with a lower bound")
    if result.certificate_level.startswith("attested"):
        raise Unproved(f"its bound is {result.certificate_level}")
    limit = 60.0 + 10.0 * result.seconds if time_limit is None else time_limit
    end = time.perf_counter() + limit
    try:
        root = build(statement.read(json.loads(json.dumps(state(problem)))), problem.data)
    except Rejected as error:
        raise Unproved(f"the checker does not take the problem: {error}") from None
    domain = Domain.of(root)
    domain.propagate(root)

    def late() -> bool:
        return time.perf_counter() > end or should_stop()

    nothing = Evidence({}, {})
    if dynamic.refusal(root, domain) is None:
        return _simple(problem, result, "dynamic", dynamic.dynamic(root, domain, nothing, 0.0))
    if count(domain) <= MOST:
        return _simple(problem, result, "enumerate", enumerate_all(root, domain, nothing, 0.0))
    if result.engine == "sdp" and record is not None:
        from certmix.certificate.semidefinite import recorded

        return recorded(problem, result, record)
    return _lagrangian(problem, result, record, root, threads, late)


def _simple(problem: Problem, result: Result, kind: str, bound: float) -> Certificate:
    """One step that recomputes everything."""
    draft = Draft()
    draft.step(0, kind)
    if not _enough(result, bound):
        raise Unproved(f"rounding and relaxation leave the bound at {bound!r}")
    return draft.certificate(problem, result, min(bound, result.objective))


def _enough(result: Result, bound: float) -> bool:
    """Whether a bound supports what the result claims."""
    if result.status is Status.OPTIMAL:
        return result.tolerances.closed(result.objective, bound)
    return bound >= _lowered(result.lower_bound)


def _lowered(bound: float) -> float:
    return bound - 1e-9 * max(1.0, abs(bound))


def _lagrangian(
    problem: Problem, result: Result, record: Any, root: Root, threads: int, late: Callable[[], bool]
) -> Certificate:
    if root.N > MOST_GROUPS or root.d > MOST_DIMENSIONS:
        raise Unproved(f"{root.N} groups in {root.d} dimensions are too many for pricing trees")
    from certmix.presolve.instance import reduce
    from certmix.search.bounds.dual import DualBound
    from certmix.search.threads import Threads

    allowed = result.tolerances.allowed(result.objective)
    if result.status is Status.OPTIMAL:
        target = min(result.lower_bound, result.tolerances.cutoff(result.objective))
        ahead = 0.6 * (result.objective - target)
    else:
        target = _lowered(result.lower_bound)
        ahead = min(0.5 * (result.objective - target), 1e-4 * max(1.0, abs(target)))
    assert result.labels is not None
    dual = record if isinstance(record, DualBound) else None
    if dual is None:
        dual = DualBound(reduce(problem), result.labels, allowed=max(allowed, 1e-9), should_stop=late)
    draft = Draft()
    with Threads(threads) as pool:
        dual.should_stop, dual.threads = late, pool  # those of the run are gone
        if dual._root is not None:
            dual._root.should_stop, dual._root.threads = late, pool
        LagrangianProver(root, dual, target, ahead=ahead, should_stop=late).prove(draft)
    return draft.certificate(problem, result, target)
