"""From a result to a certificate: which proof, against which target."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from certmix.certificate.chords import chained
from certmix.certificate.draft import Draft, Unproved, as_checked, checked
from certmix.certificate.parts import PartProof, added
from certmix.certificate.softlinks import bent
from certmix.io.certificates import Certificate
from certmix.io.npz import packed
from certmix.presolve.instance import reduce
from certmix.problem import Problem
from certmix.result import Result
from certmix.search.record import RunRecord
from certmix.status import Status
from certmix.verify import dynamic, statement
from certmix.verify.check import Verdict, check
from certmix.verify.domain import Domain
from certmix.verify.enumeration import MOST, count
from certmix.verify.root import Root


@dataclass(frozen=True)
class Tuning:
    """Which proof is tried, and for how long."""

    priced_groups: int = 200_000  # that pricing trees may have
    priced_dimensions: int = 6
    clustering_seconds: float = 2e-5  # that the checker takes to enumerate one
    dense_groups: int = 600  # that a semidefinite search of the maker's own may have
    few_groups: int = 200  # with conflicts and so few it is tried first
    first_share: float = 0.85  # of the time, for what is tried first
    quick_seconds: float = 0.5  # a check that takes no longer needs no alternative ...
    quick_share: float = 0.3  # ... nor one that takes no more of the run's time
    enough_ahead: float = 0.09  # share of how far a proof would like to be ahead that will do
    check_share: float = 0.3  # of the time: a proof that would take longer to check is handed out unchecked


TUNING = Tuning()
Made = tuple[Certificate, Verdict | None]

__all__ = ["Made", "Unproved", "make", "prove_part"]


def make(
    problem: Problem,
    result: Result,
    record: Any = None,
    *,
    time_limit: float | None = None,
    threads: int = 1,
    should_stop: Callable[[], bool] = lambda: False,
) -> Made:
    """A certificate for what a result claims, with the checker's verdict unless it would take too long to have one.

    Parameters
    ----------
    record : what the engine left behind in ``ledger.record``; makes things quicker where there is one. A sequence of
        :class:`PartProof` is that of a run by parts, one of :class:`certmix.certificate.envelope.Solved` that of a run
        with an unknown variance, a :class:`certmix.certificate.softlinks.SoftRecord` one with soft links
    time_limit : seconds; by default a minute and ten times as long as the run took
    threads : how many the ascent of multipliers may use
    """
    infeasible = result.status is Status.INFEASIBLE
    if not infeasible and (result.labels is None or not math.isfinite(result.lower_bound)):
        raise Unproved("there is no clustering with a lower bound")
    if result.certificate_level.startswith("attested"):
        raise Unproved(f"its bound is {result.certificate_level}")
    end = time.perf_counter() + (math.inf if time_limit is None else time_limit)

    def inside(other: Problem, found: Result, own: Any) -> Made:
        left = None if time_limit is None else max(0.0, end - time.perf_counter())
        return make(other, found, own, time_limit=left, threads=threads, should_stop=should_stop)

    if problem.rules.soft and not infeasible:
        return bent(problem, result, record, inside)
    if problem.covariance.unknown and not infeasible:
        return chained(problem, result, record or (), inside)
    if problem.squares and not infeasible and _targets(result)[0] <= 0.0:
        return checked(Draft().certificate(problem, result, 0.0), problem)  # no sum of squares is less
    if isinstance(record, Sequence) and not infeasible:
        return added(problem, result, record)
    matrices = (problem.covariance.precision, problem.prior.precision)
    if problem.n_features > statement.MOST_FULL and not all(m.diagonal for m in matrices):
        raise Unproved(statement.too_many_features(problem.n_features))
    limit = 60.0 + 10.0 * result.seconds if time_limit is None else time_limit
    end = time.perf_counter() + limit
    root = as_checked(problem)[1]
    if infeasible:
        from certmix.certificate.infeasible import in_conflict, refute

        draft = Draft()
        refute(root, draft, in_conflict(problem, root), _late(end, should_stop))
        return checked(draft.refutation(problem, result), problem)
    if record is not None and not isinstance(record, RunRecord) and record.idle:
        record = None
    domain = Domain.of(root)
    domain.propagate(root)
    clusterings = count(domain)
    quick = record is None or clusterings * TUNING.clustering_seconds <= TUNING.quick_seconds
    one = ["dynamic"] * (dynamic.refusal(root, domain) is None)
    one += ["enumerate"] * (quick and clusterings <= MOST)
    if one and not _quick_boxes(record, root, result, clusterings):
        return _recomputed(problem, result, one)
    try:
        if record is not None and not isinstance(record, RunRecord):
            from certmix.certificate.semidefinite import recorded

            return recorded(problem, result, record)
        return _Anew(problem, result, record or RunRecord(), root, threads, should_stop).made(end)
    except Unproved:
        if clusterings > MOST or should_stop():
            raise
        return _recomputed(problem, result, ["enumerate"])


def _quick_boxes(record: Any, root: Root, result: Result, clusterings: float) -> bool:
    """Whether the checker takes less time for a run's tree of boxes than for all clusterings one by one."""
    from certmix.certificate.boxes import boxes_of

    boxes = record.boxes if isinstance(record, RunRecord) else None
    return boxes_of(boxes, root, _target(result)[0])[1] < TUNING.clustering_seconds * clusterings


def prove_part(
    samples: np.ndarray,
    part: Problem,
    result: Result,
    record: Any = None,
    *,
    keep: bool = True,
    time_limit: float | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> PartProof:
    """The proof of what a run on a part of the samples claims, checked if that is quick.

    Parameters
    ----------
    samples, part : positions in the whole, ascending, and their problem (:mod:`certmix.problem.restriction`)
    result : of the run, whatever its status: its bound is what is proved
    record : what its engine left behind in ``ledger.record``, with ``Options.certificate`` set
    keep : whether the proof itself is kept; without it the sum can be verified by this program, not handed out
    """
    found, verdict = make(part, result, record, time_limit=time_limit, should_stop=should_stop)
    if found.infeasible:
        raise Unproved("nothing is feasible in a part")
    if verdict is None and not keep:
        verdict = check(found.document, found.arrays, part.data)
    digests, verified = found.document["digests"], verdict is not None and verdict.verified
    proof = PartProof(samples, found.bound, digests["statement"], digests["data"], verified)
    if not keep:
        return proof
    return replace(proof, steps=found.document["steps"], arrays=packed(found.proof_arrays))


def _recomputed(problem: Problem, result: Result, kinds: list[str]) -> Made:
    """One step in which the checker recomputes everything: its check is all the work that there is."""
    drafts = [Draft() for _ in kinds]
    for draft, kind in zip(drafts, kinds, strict=True):
        draft.step(0, kind)
    return _accepted(problem, result, *drafts)


def _accepted(problem: Problem, result: Result, *drafts: Draft) -> Made:
    """Proofs that may reach the run's own bound; rounding may keep them below, then what the status needs will do."""
    for draft, target in product(drafts, _targets(result)):
        try:
            return checked(draft.certificate(problem, result, target), problem)
        except Unproved as error:
            reason = error
    raise reason


def _targets(result: Result) -> list[float]:
    """What may be proved, the most first."""
    own = _lowered(result.lower_bound)
    least = result.tolerances.needed(result.objective) if result.closed else own
    return sorted({max(own, least), least}, reverse=True)


def _lowered(bound: float) -> float:
    return bound - 1e-9 * max(1.0, abs(bound))


@dataclass(frozen=True)
class _Anew:
    """The run's tree of boxes, a proof by multipliers, or a semidefinite search of its own; the most promising first.

    Multipliers know little of conflicts; with few groups the semidefinite bound is the quicker one where they matter.
    """

    problem: Problem
    result: Result
    record: RunRecord
    root: Root
    threads: int
    should_stop: Callable[[], bool]

    def made(self, end: float) -> Made:
        from certmix.certificate.boxes import boxes_of

        root, result = self.root, self.result
        settled = self._settled_at_root()
        dense = TUNING.dense_groups >= root.N and reduce(self.problem).exact and root.counted
        ways = [self._by_multipliers, self._by_search] if dense else [self._by_multipliers]
        if dense and len(root.conflicts) and not settled and TUNING.few_groups >= root.N:
            ways.reverse()
        boxes, expected = boxes_of(self.record.boxes, root, _target(result)[0])
        if expected < end - time.perf_counter():
            quick = expected < max(TUNING.quick_seconds, TUNING.quick_share * result.seconds)
            other = settled or ways[0] == self._by_search  # a way that is likely to be quicker
            ways.insert(0 if quick or not other else len(ways), partial(self._by_boxes, boxes))
        reasons = []
        for way in ways:
            left = end - time.perf_counter()
            try:
                return way(left if way is ways[-1] else TUNING.first_share * left)
            except Unproved as reason:
                reasons.append(str(reason))
                if self.should_stop():
                    break
        raise Unproved("; ".join(reasons))

    def _settled_at_root(self) -> bool:
        """Whether the run's own multipliers were good enough without branching."""
        dual = self.record.dual
        return dual is not None and bool(dual.root_bound >= _target(self.result)[0])

    def _by_multipliers(self, seconds: float) -> Made:
        late = _late(time.perf_counter() + seconds, self.should_stop)
        root, result = self.root, self.result
        if TUNING.priced_groups < root.N or root.d > TUNING.priced_dimensions:
            raise Unproved(f"{root.N} groups in {root.d} dimensions are too many for pricing trees")
        from certmix.certificate.lagrangian import LagrangianProver
        from certmix.search.bounds.dual import DualBound
        from certmix.threads import Threads

        target, ahead = _target(result)
        allowed = max(result.tolerances.allowed(result.objective), 1e-9)
        assert result.labels is not None
        dual = self.record.dual
        dual = dual or DualBound(reduce(self.problem), result.labels, allowed=allowed, should_stop=late)
        near = TUNING.enough_ahead * ahead < dual.root_bound - target < ahead
        if near and result.status is not Status.OPTIMAL:
            ahead = dual.root_bound - target  # no further ascent is needed
        draft, counting = Draft(), self.record.counting
        with Threads(self.threads) as pool:
            dual.resume(late, pool)  # those of the run are gone
            prover = LagrangianProver(root, dual, target, ahead=ahead, counting=counting, should_stop=late)
            prover.prove(draft)
        found = draft.certificate(self.problem, result, target)
        quick = prover.checking <= TUNING.check_share * seconds
        return checked(found, self.problem) if quick else (found, None)

    def _by_search(self, seconds: float) -> Made:
        from certmix.certificate.semidefinite import searched

        return searched(self.problem, self.result, seconds, self.threads)

    def _by_boxes(self, boxes: Draft, seconds: float) -> Made:
        from certmix.certificate.boxes import refined

        late = _late(time.perf_counter() + seconds, self.should_stop)
        try:
            return _accepted(self.problem, self.result, boxes)
        except Unproved:
            assert self.record.boxes is not None
            finer = refined(self.record.boxes, self.root, _targets(self.result)[-1], late)
            return _accepted(self.problem, self.result, finer)


def _late(end: float, should_stop: Callable[[], bool]) -> Callable[[], bool]:
    return lambda: time.perf_counter() > end or should_stop()


def _target(result: Result) -> tuple[float, float]:
    """What the leaves are proved against, and how far above it the multipliers aim."""
    if result.closed:
        target = min(result.lower_bound, result.tolerances.cutoff(result.objective))
        return target, 0.6 * (result.objective - target)
    target = _lowered(result.lower_bound)
    return target, min(0.5 * (result.objective - target), 1e-4 * max(1.0, abs(target)))
