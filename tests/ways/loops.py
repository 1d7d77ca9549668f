"""The bare search loop with every bound, as the engines set it up."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any
from unittest import mock

import numpy as np

from certmix.ledger import Ledger
from certmix.options import Options
from certmix.paper.bnb.branching import branching_rule
from certmix.paper.bnb.relaxation import RelaxationBound
from certmix.presolve.first_bound import first_bound
from certmix.presolve.instance import Instance, reduce
from certmix.problem import Problem
from certmix.search.bounds import central, counting, pricer, samples
from certmix.search.bounds.base import Bound
from certmix.search.bounds.central import CentralAscent
from certmix.search.bounds.counting import CountingBound
from certmix.search.bounds.dual import DualBound
from certmix.search.bounds.interval import IntervalBound
from certmix.search.bounds.line import LineBound, applies
from certmix.search.bounds.semidefinite.bound import SemidefiniteBound
from certmix.search.bounds.semidefinite.states import WarmStore
from certmix.search.bounds.sides import Side
from certmix.search.frontier import OPEN_BYTES
from certmix.search.loop import search
from certmix.search.stopping import stop_reason
from certmix.status import Status, Termination, decide
from claims import Claim, Truth
from resumed import searched_in_pieces
from ways.drawing import Draw, Way, taken_by

MakeBound = Callable[[Instance, Ledger, Options], Bound]


def claim_of_loop(way: str, ledger: Ledger, reason: Termination, options: Options) -> Claim:
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


def by_loop(
    way: str, problem: Problem, make_bound: MakeBound, options: Options, open_bytes: float = OPEN_BYTES
) -> Claim:
    """The bare loop: no first incumbent but the one given, so the bound has to do all the work."""
    instance = reduce(problem)
    ledger = Ledger(problem, options.tolerances)
    if options.start is not None:
        ledger.offer(options.start, "start")
    reason = search(make_bound(instance, ledger, options), ledger, options, open_bytes=open_bytes)
    return claim_of_loop(way, ledger, reason, options)


def interval_bound(instance: Instance, ledger: Ledger, options: Options) -> Bound:
    return IntervalBound(instance)


def line_bound(instance: Instance, ledger: Ledger, options: Options) -> Bound:
    return LineBound(instance)


def dual_bound(instance: Instance, ledger: Ledger, options: Options, *, fewest: int) -> Bound:
    """The dual bound with multipliers at every node that has so many open groups."""
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


def counting_bound(instance: Instance, ledger: Ledger, options: Options) -> Bound:
    """Nodes by the sides of planes: interior points at the root and at every node."""
    bound = dual_bound(instance, ledger, options, fewest=1)
    assert isinstance(bound, DualBound)
    bound.advance_root(ledger.cutoff, math.inf)
    return CountingBound(bound) if bound.counts else bound


def semidefinite_bound(instance: Instance, ledger: Ledger, options: Options) -> Bound:
    """The semidefinite bound from whatever incumbent there is."""
    return SemidefiniteBound(
        instance,
        None if ledger.incumbent is None else ledger.incumbent.labels,
        should_stop=lambda: stop_reason(ledger, options) is not None,
        on_root_bound=ledger.raise_bound,
    )


def split_semidefinite_bound(instance: Instance, ledger: Ledger, options: Options) -> Bound:
    """The same with its root split by the smallest size and few blocks, which is meant for hundreds of groups."""
    labels = None if ledger.incumbent is None else ledger.incumbent.labels
    entries = 3.0 * instance.n_groups**2
    return SemidefiniteBound(
        instance, labels, on_root_bound=ledger.raise_bound, split_from=1, entries=entries
    )


def forgetful_semidefinite_bound(instance: Instance, ledger: Ledger, options: Options) -> Bound:
    """The same without room for the states that nodes start from, or for more than one block in a pool."""
    bound = SemidefiniteBound(instance, None, on_root_bound=ledger.raise_bound, entries=0.0)
    bound._warm = WarmStore(most_bytes=0)
    return bound


def relaxation_bound(instance: Instance, ledger: Ledger, options: Options) -> Bound:
    return RelaxationBound(instance, branching_rule(options.own("branching")))


def loop_way(
    name: str,
    often: float,
    make: MakeBound,
    applies: Callable[[Problem, Truth], bool],
    open_bytes: float = OPEN_BYTES,
) -> Way:
    def run(draw: Draw) -> Claim:
        given: dict[str, Any] = {"start": draw.start(none=0.35, best=0.3), "node_limit": draw.few_nodes(0.3)}
        if make is relaxation_bound:
            given["branching"] = draw.branching()
        return by_loop(name, draw.problem, make, draw.options(**given), open_bytes)

    return Way(name, often, run, applies)


def dual_loop_way(name: str, often: float, cells_from: int) -> Way:
    """Multipliers at every node; with ``cells_from`` 1 what is meant for thousands of groups as well."""
    some = {"FEWEST": 1, "TIMES": 2} if cells_from == 1 else {"TIMES": samples.TIMES}

    def run(draw: Draw) -> Claim:
        start = draw.truth.labels if draw.chance(0.5) else draw.poor()
        options = draw.options(start=start, node_limit=40 if draw.chance(0.3) else draw.few_nodes(1.0))
        fewest = int(draw.rng.choice([1, 2, 4]))

        def make(instance: Instance, ledger: Ledger, given: Options) -> Bound:
            return dual_bound(instance, ledger, given, fewest=fewest)

        with (
            mock.patch.object(pricer, "CELLS_FROM", cells_from),
            mock.patch.multiple(samples, **some),
            draw.multipliers(),
        ):
            return by_loop(name, draw.problem, make, options)

    return Way(name, often, run, lambda _, truth: not truth.infeasible)


def counting_way(name: str, often: float) -> Way:
    """Planes and trios are those that seem good, or any."""

    def run(draw: Draw) -> Claim:
        def any_plane(ascent: CentralAscent, lacking: float) -> Side:
            axis = int(draw.rng.integers(len(ascent.classes[0].lo)))
            most = int(ascent.count)
            low, high = (min(c.lo[axis] for c in ascent.classes), max(c.hi[axis] for c in ascent.classes))
            return Side(axis, float(draw.rng.uniform(low, high)), int(draw.rng.integers(1, most + 1)), True)

        start = draw.truth.labels if draw.chance(0.5) else draw.poor()
        options = draw.options(start=start, node_limit=60 if draw.chance(0.3) else draw.few_nodes(1.0))
        plane = any_plane if draw.chance(0.5) else counting.best_plane
        trios = draw.any_trios if draw.chance(0.5) else central.violated_trios
        with (
            mock.patch.object(counting, "best_plane", plane),
            mock.patch.object(central, "violated_trios", trios),
        ):
            found = by_loop(name, draw.problem, counting_bound, options)
        # Leaves may be left that no plane splits: an engine goes on with boxes of means then.
        ended = found.termination is Termination.EXHAUSTED and found.status is not Status.OPTIMAL
        return replace(found, termination=Termination.NODES) if ended else found

    return Way(name, often, run, lambda _, truth: not truth.infeasible)


def before_any_work(draw: Draw) -> Claim:
    """The bound that is there before any work."""
    options, bound = draw.options(), first_bound(reduce(draw.problem))
    if np.all(draw.problem.covariance.half_log_det >= 0) and np.all(draw.problem.prior.alpha >= 1):
        assert bound >= 0.0, f"no term is negative, but the first bound is {bound}"
    return Claim("first bound", math.inf, bound, None, Status.UNKNOWN, Termination.TIME, (), options, 0.0)


def resumed_loop(draw: Draw) -> Claim:
    """The bare loop with any bound, stopped and gone on with from files a few times."""
    able = [interval_bound] + [line_bound] * (applies(draw.problem) is None)
    if taken_by("sdp")(draw.problem, draw.truth):
        able += [semidefinite_bound, split_semidefinite_bound]
    if taken_by("bnb")(draw.problem, draw.truth):
        able.append(relaxation_bound)
    if not draw.truth.infeasible:
        able.append(partial(dual_bound, fewest=int(draw.rng.choice([1, 2, 4]))))
    make = able[draw.rng.integers(len(able))]
    start = draw.poor() if isinstance(make, partial) else draw.start(none=0.35, best=0.3)
    options = draw.options(start=start)
    ledger, reason = searched_in_pieces(draw.problem, make, options, draw.rng)
    return claim_of_loop("resumed loop", ledger, reason, options)
