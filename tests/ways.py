"""The ways in which the soundness program solves a problem: every engine, and the bare loop with every bound.

A problem is solved in a few ways only, drawn at random: the cheap ones often, the slow ones seldom, so that over many
problems every way is taken thousands of times (the models for SCIP a few hundred times). Every way draws its gaps,
starts and limits from its own generator, so that a run depends on nothing but the seed of the problem.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from unittest import mock

import numpy as np

from certmix.certificate import prove
from certmix.engines import engine, why_not
from certmix.errors import InfeasibleError, InputError
from certmix.io.certificates import Certificate
from certmix.ledger import Ledger
from certmix.options import BRANCHING, ENGINE_OPTIONS, LOGARITHMS, Options
from certmix.paper.bnb.branching import branching_rule
from certmix.paper.bnb.relaxation import RelaxationBound
from certmix.presolve.first_bound import first_bound
from certmix.presolve.instance import Instance, reduce
from certmix.problem import CannotLink, Implication, Label, MustLink, Problem, is_feasible
from certmix.problem.constraints import Counting
from certmix.result import Result
from certmix.search import spread
from certmix.search.bounds import pricer
from certmix.search.bounds.base import Bound
from certmix.search.bounds.dual import DualBound
from certmix.search.bounds.interval import IntervalBound
from certmix.search.bounds.line import LineBound, applies
from certmix.search.bounds.semidefinite.bound import SemidefiniteBound
from certmix.search.bounds.semidefinite.warm import WarmStore
from certmix.search.frontier import OPEN_BYTES
from certmix.search.loop import search
from certmix.search.stopping import stop_reason
from certmix.solving import solve
from certmix.status import Status, Termination, decide
from certmix.verify.check import check
from claims import Claim, Truth, find_truth
from pretended_cluster import pretended
from resumed import searched_in_pieces, solved_in_pieces
from unknown_variance import (
    takes_diagonal,
    truth_with_variance,
    with_unknown_diagonal,
    with_unknown_variance,
)

CERTIFIED = ("interval", "dual", "sdp", "bnb", "dynamic")
MOST_CLUSTERINGS = 1000  # that are enumerated, each with its best variance
GAPS = (1e-9, 1e-6, 1e-4, 1e-2, 0.2)
MakeBound = Callable[[Instance, Ledger, Options], Bound]
Run = Callable[..., Result]


# -- runs --------------------------------------------------------------------------------------------------------
def by_engine(problem: Problem, name: str, options: Options, run: Run = solve) -> Claim:
    """A run through the front door; it is the search that is looked at, so its proof is not made."""
    start = time.perf_counter()
    result = run(problem, name, options=options, verify=False)
    used = engine(result.engine)
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
        certified=used.certified,
        attested=getattr(used, "attested", False),
    )


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


# -- bounds, as the engines set them up --------------------------------------------------------------------------
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


# -- one draw ----------------------------------------------------------------------------------------------------
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


@dataclass
class Draw:
    """What a way chooses at random: gaps, starts, limits."""

    problem: Problem
    truth: Truth
    rng: np.random.Generator
    seconds: float

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def poor(self) -> np.ndarray | None:
        return None if self.truth.infeasible else poor_labels(self.problem, self.truth, self.rng)

    def start(self, *, none: float = 0.5, best: float = 0.1) -> np.ndarray | None:
        """No start, the optimum, or a poor clustering."""
        number = self.rng.random()
        return None if number < none else self.truth.labels if number < none + best else self.poor()

    def few_nodes(self, probability: float) -> int | None:
        return int(self.rng.integers(0, 12)) if self.chance(probability) else None

    def options(self, **given: Any) -> Options:
        rng = self.rng
        given.setdefault("node_limit", None)
        given.setdefault("start", None)
        if self.chance(0.1):  # the absolute gap decides
            given |= {"gap": 0.0, "absolute_gap": float(rng.choice([1e-6, 1e-2, 1.0]))}
        else:
            given |= {"gap": float(rng.choice(GAPS))}
        own = rng.spawn(1)[0]  # so that all other runs are those without targets
        if not self.truth.infeasible and own.random() < 0.15:
            optimum = self.truth.optimum
            given["target"] = optimum + float(own.normal(-0.5)) * max(1.0, abs(optimum)) * float(
                own.choice([1e-3, 0.1, 1.0])
            )
        return Options(
            time_limit=self.seconds,
            seed=int(rng.integers(100)),
            threads=2 if self.chance(0.02) else 1,
            restarts=int(rng.choice([1, 1, 1, 2, 3])),
            **given,
        )

    def branching(self) -> str:
        return str(self.rng.choice(BRANCHING))


# -- the ways ----------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Way:
    """One way of solving: how often it is taken where it applies, and how."""

    name: str
    often: float
    run: Callable[[Draw], Claim]
    applies: Callable[[Problem, Truth], bool]


def _engine(name: str, often: float, *, limited: float = 0.15) -> Way:
    def run(draw: Draw) -> Claim:
        given = {"start": draw.start(), "node_limit": draw.few_nodes(limited)}
        if name == "bnb":
            given["branching"] = draw.branching()
        if name == "parts":
            given["part_size"] = int(draw.rng.integers(1, 7))
        return by_engine(draw.problem, name, draw.options(**given))

    return Way(name, often, run, lambda problem, _: why_not(engine(name), problem) is None)


def _model(name: str, often: float) -> Way:
    """The models for SCIP: bounds attested, and compared with the truth like all others."""

    def run(draw: Draw) -> Claim:
        rng = draw.rng
        given = {
            "start": draw.start(),
            "logarithm": str(rng.choice(LOGARITHMS)),
            "breakpoints": int(rng.integers(2, 12)),
            "adaptive": draw.chance(0.7),
            "warm_start": draw.chance(0.7),
        }
        given = {o: v for o, v in given.items() if o == "start" or name in ENGINE_OPTIONS[o].engines}
        return by_engine(draw.problem, name, draw.options(**given))

    return Way(name, often, run, lambda problem, _: why_not(engine(name), problem) is None)


def _auto(draw: Draw) -> Claim:
    return by_engine(draw.problem, "auto", draw.options(start=draw.start()))


def _loop(
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


def _dual_loop(name: str, often: float, cells_from: int) -> Way:
    """Multipliers at every node; with ``cells_from`` 1 the cells that are meant for thousands of groups as well."""

    def run(draw: Draw) -> Claim:
        start = draw.truth.labels if draw.chance(0.5) else draw.poor()
        options = draw.options(start=start, node_limit=40 if draw.chance(0.3) else draw.few_nodes(1.0))
        fewest = int(draw.rng.choice([1, 2, 4]))

        def make(instance: Instance, ledger: Ledger, given: Options) -> Bound:
            return dual_bound(instance, ledger, given, fewest=fewest)

        with mock.patch.object(pricer, "CELLS_FROM", cells_from):
            return by_loop(name, draw.problem, make, options)

    return Way(name, often, run, lambda _, truth: not truth.infeasible)


def _spread(draw: Draw) -> Claim:
    """Nodes and parts are worked on elsewhere: few at a time, and some of the tasks are lost."""
    name = "sdp" if draw.chance(0.6) and _taken_by("sdp")(draw.problem, draw.truth) else "parts"
    if not _taken_by(name)(draw.problem, draw.truth):
        name = "dual"
    given = {"part_size": int(draw.rng.integers(1, 7))} if name == "parts" else {}
    options = draw.options(start=draw.start(), node_limit=draw.few_nodes(0.3), **given)
    lost, budget = float(draw.rng.choice([0.0, 0.3])), int(draw.rng.integers(1, 6))
    with pretended(draw.rng, lost=lost), mock.patch.object(spread, "BUDGET", budget):
        return replace(by_engine(draw.problem, name, options), way="spread")


def _first_bound(draw: Draw) -> Claim:
    """The bound that is there before any work."""
    options, bound = draw.options(), first_bound(reduce(draw.problem))
    if np.all(draw.problem.covariance.half_log_det >= 0) and np.all(draw.problem.prior.alpha >= 1):
        assert bound >= 0.0, f"no term is negative, but the first bound is {bound}"
    return Claim("first bound", math.inf, bound, None, Status.UNKNOWN, Termination.TIME, (), options, 0.0)


def _stopped(draw: Draw) -> Claim:
    """An engine that is told to stop at any moment, from before its first step to after its last."""
    able = [name for name in (*CERTIFIED, "parts") if _taken_by(name)(draw.problem, draw.truth)]
    options = replace(draw.options(start=draw.start()), time_limit=float(10 ** draw.rng.uniform(-5, -1)))
    name = str(draw.rng.choice(able))
    if name == "parts":
        options = replace(options, part_size=int(draw.rng.integers(1, 7)))
    with mock.patch.object(pricer, "CELLS_FROM", 1 if draw.chance(0.3) else pricer.CELLS_FROM):
        return by_engine(draw.problem, name, options)


def _resumed(draw: Draw) -> Claim:
    """An engine that is stopped and resumed from its folder a few times."""
    able = [name for name in (*CERTIFIED, "parts") if _taken_by(name)(draw.problem, draw.truth)]
    name = str(draw.rng.choice(able))
    given = {"part_size": int(draw.rng.integers(1, 7))} if name == "parts" else {}

    def run(problem: Problem, name: str, *, options: Options, verify: bool) -> Result:
        return solved_in_pieces(problem, name, options, draw.rng)

    return by_engine(draw.problem, name, draw.options(start=draw.start(), **given), run)


def _resumed_loop(draw: Draw) -> Claim:
    """The bare loop with any bound, stopped and gone on with from files a few times."""
    able = [interval_bound] + [line_bound] * (applies(draw.problem) is None)
    if _taken_by("sdp")(draw.problem, draw.truth):
        able += [semidefinite_bound, split_semidefinite_bound]
    if _taken_by("bnb")(draw.problem, draw.truth):
        able.append(relaxation_bound)
    if not draw.truth.infeasible:
        able.append(partial(dual_bound, fewest=int(draw.rng.choice([1, 2, 4]))))
    make = able[draw.rng.integers(len(able))]
    start = draw.poor() if isinstance(make, partial) else draw.start(none=0.35, best=0.3)
    options = draw.options(start=start)
    ledger, reason = searched_in_pieces(draw.problem, make, options, draw.rng)
    return claim_of_loop("resumed loop", ledger, reason, options)


def _certificate(draw: Draw) -> Claim:
    """A run whose certificate is replayed: what the checker says is the claim; and a forged one must not pass."""
    able = [n for n in ("interval", "dual", "sdp") if _taken_by(n)(draw.problem, draw.truth)]
    name = str(draw.rng.choice([*able, "auto"]))
    options = replace(draw.options(start=draw.start()), certificate=True)
    start = time.perf_counter()
    with mock.patch.object(prove, "MOST", 0 if draw.chance(0.8) else prove.MOST):  # seldom by enumeration
        result = solve(draw.problem, name, options=options)
    found, lower = result.certificate, -math.inf
    if found is not None:
        verdict = check(found.document, found.arrays, draw.problem.data)
        assert verdict.verified, f"its own certificate is rejected: {verdict.sentence}"
        lower = verdict.bound
        if result.labels is not None:
            _assert_no_forgery(draw, found)
    return Claim(
        "certificate",
        result.objective,
        lower,
        result.labels,
        decide(result.objective, lower, options.tolerances, infeasible=lower == math.inf),
        Termination.TIME,  # there need not be a certificate
        result.trace,
        options,
        time.perf_counter() - start,
    )


def _assert_no_forgery(draw: Draw, found: Certificate) -> None:
    """A worse clustering is called optimal on the same evidence, at a bound above the optimum."""
    labels = draw.poor()
    if labels is None:
        return
    point = draw.problem.objective.best(labels)
    bound = draw.truth.optimum + 10.0 ** draw.rng.uniform(-7.5, -1.0) * max(1.0, abs(draw.truth.optimum))
    if not point.value > bound:
        return
    document = {**found.document, "objective": point.value, "bound": bound}
    incumbent = {"labels": labels.astype(np.int32), "means": point.means, "weights": point.weights}
    arrays = {**found.arrays, **{f"incumbent/{name}": array for name, array in incumbent.items()}}
    verdict = check(document, arrays, draw.problem.data)
    assert not verdict.verified, f"a bound of {bound!r} above the optimum {draw.truth.optimum!r} is verified"


def _few_with_own_variances(problem: Problem, truth: Truth) -> bool:
    return takes_diagonal(problem) and _few_clusterings(problem, truth)


def _unknown_variance(draw: Draw) -> Claim:
    """The same problem with an unknown variance, by any engine inside; half of the time its certificate is checked."""
    return _found_with_variance(draw, with_unknown_variance(draw.problem, draw.rng), "unknown variance")


def _unknown_diagonal(draw: Draw) -> Claim:
    """The same problem with an unknown variance for every feature."""
    return _found_with_variance(draw, with_unknown_diagonal(draw.problem, draw.rng), "unknown diagonal")


def _found_with_variance(draw: Draw, problem: Problem, way: str) -> Claim:
    truth = truth_with_variance(problem)
    able = [n for n in ("interval", "dual", "sdp", "parts") if _taken_by(n)(draw.problem, draw.truth)]
    options = replace(draw.options(), certificate=True if draw.chance(0.5) else None)
    start = time.perf_counter()
    name, lower = str(draw.rng.choice([*able, "auto", "auto"])), -math.inf
    try:
        result = solve(problem, name, options=options, verify=False)
    except InputError:
        assert truth.optimum == -math.inf, f"refused, but the optimum is {truth.optimum!r}"
        unknown = math.inf, lower, None, Status.UNKNOWN, Termination.TIME, ()
        return Claim(way, *unknown, options, 0.0, about=(problem, truth))
    if options.certificate and result.certificate is not None:
        verdict = check(result.certificate.document, result.certificate.arrays, problem.data)
        assert verdict.verified, f"its own certificate is rejected: {verdict.sentence}"
        lower = verdict.bound
    return Claim(
        way,
        result.objective,
        max(lower, result.lower_bound),
        result.labels,
        result.status,
        Termination.TIME,  # rounding may leave a gap
        result.trace,
        options,
        time.perf_counter() - start,
        about=(problem, truth),
    )


def _kmeans(draw: Draw) -> Claim:
    """Data and side constraints as k-means, by any engine; half of the time its certificate is checked."""
    p = draw.problem
    problem = p.replace(weights="none", prior=None, weight_bounds=None, estimators=p.estimators - {"weights"})
    truth = find_truth(problem)
    able = [n for n in (*CERTIFIED, "parts", "hard-em") if _taken_by(n)(problem, truth)]
    name, options = str(draw.rng.choice([*able, "auto"])), draw.options(node_limit=draw.few_nodes(0.2))
    given = {"part_size": int(draw.rng.integers(1, 7))} if name == "parts" else {}
    options = replace(options, target=None, certificate=True if draw.chance(0.5) else None, **given)
    claim = by_engine(problem, name, options, partial(_solved_and_checked, problem))
    # Absolute gaps are given in sums of squares.
    seen = replace(options, absolute_gap=problem.quantity.objective(options.absolute_gap))
    return replace(claim, way="k-means", options=seen, about=(problem, truth))


def _solved_and_checked(problem: Problem, _: Problem, name: str, *, options: Options, verify: bool) -> Result:
    """A result whose sums of squares are right, with the bound that the checker confirms where that is better."""
    result = solve(problem, name, options=options, verify=verify)
    if result.labels is not None and not problem.has_mean_box:
        y, z = problem.data, result.labels
        squares = math.fsum(((y[z == k] - y[z == k].mean(axis=0)) ** 2).sum() for k in np.unique(z))
        rounding = 1e-9 * squares + 1e-12 * float((y - y.mean(axis=0)).var(axis=0).sum()) * len(y)
        assert result.sse is not None
        assert abs(result.sse - squares) <= rounding, f"the SSE is {squares!r}, not {result.sse!r}"
    if result.certificate is not None:
        verdict = check(result.certificate.document, result.certificate.arrays, problem.data)
        assert verdict.verified, f"its own certificate is rejected: {verdict.sentence}"
    if result.certificate is not None and result.labels is not None:
        result = replace(result, lower_bound=max(result.lower_bound, verdict.bound))
    return result


def _weighted(draw: Draw) -> Claim:
    """Samples with weights, by any engine, against enumeration of the problem with copies and links between them."""
    rng, p = draw.rng, draw.problem
    weight = rng.choice([1, 1, 2, 3], size=p.n_samples)
    kind = {"weights": "none", "prior": None, "weight_bounds": None, "estimators": p.estimators - {"weights"}}
    try:
        problem = p.replace(sample_weight=weight, **(kind if draw.chance(0.3) else {}))
    except InfeasibleError:  # fixed weights that are no shares of so many samples
        return Claim(
            "weighted", math.inf, -math.inf, None, Status.UNKNOWN, Termination.TIME, (), draw.options(), 0.0
        )
    truth = find_truth(with_copies(problem, weight))
    able = [n for n in (*CERTIFIED, "parts", "hard-em") if _taken_by(n)(problem, truth)]
    name, options = str(rng.choice([*able, "auto"])), draw.options(node_limit=draw.few_nodes(0.2))
    given = {"part_size": int(rng.integers(1, 7))} if name == "parts" else {}
    options = replace(options, target=None, certificate=True if draw.chance(0.5) else None, **given)
    claim = by_engine(problem, name, options, partial(_checked_copies, problem, weight))
    seen = replace(options, absolute_gap=problem.quantity.objective(options.absolute_gap))
    return replace(claim, way="weighted", options=seen, about=(problem, truth))


def with_copies(problem: Problem, weight: np.ndarray) -> Problem:
    """The same without weights: every sample as often as it counts, its copies linked, counts of all copies."""
    rows, first = np.repeat(np.arange(len(weight)), weight), np.cumsum(weight) - weight

    def position(ref: Any) -> int:
        return int(first[problem.samples.original.position(ref)])

    rules: list[Any] = [MustLink(*np.flatnonzero(rows == i).tolist()) for i in np.flatnonzero(weight > 1)]
    for item in problem.given_constraints:
        match item:
            case MustLink() | CannotLink():
                rules.append(type(item)(*map(position, item.samples)))
            case Counting():
                members = {problem.samples.original.position(ref) for ref in item.samples}
                rules.append(replace(item, samples=tuple(i for i, row in enumerate(rows) if row in members)))
            case Implication():
                rules.append(replace(item, sample=position(item.sample), then=position(item.then)))
            case Label():
                rules.append(replace(item, sample=position(item.sample)))
            case _:
                rules.append(item)
    return problem.replace(
        data=problem.samples.original.values[rows], sample_weight=None, constraints=rules, names=None
    )


def _checked_copies(problem: Problem, weight: np.ndarray, *given: Any, **options: Any) -> Result:
    """The result with labels of copies; its certificate, if any, is about these."""
    result = solve(problem, *given[1:], **options)
    if result.labels is not None:
        result = replace(result, labels=np.repeat(result.labels, weight), sample_weight=None)
    if result.certificate is not None:
        verdict = check(result.certificate.document, result.certificate.arrays, problem.data)
        assert verdict.verified, f"its own certificate is rejected: {verdict.sentence}"
        if result.labels is not None:
            result = replace(result, lower_bound=max(result.lower_bound, verdict.bound))
    return result


def _few_clusterings(problem: Problem, truth: Truth) -> bool:
    most = MOST_CLUSTERINGS if not problem.prior.on_means else MOST_CLUSTERINGS // 10
    return problem.n_components**problem.n_samples <= most


def _always(problem: Problem, truth: Truth) -> bool:
    return True


def _taken_by(name: str) -> Callable[[Problem, Truth], bool]:
    return lambda problem, _: why_not(engine(name), problem) is None


WAYS = (
    _loop("interval loop", 0.55, interval_bound, _always),
    _loop("line loop", 1.0, line_bound, lambda problem, _: applies(problem) is None),
    _engine("dynamic", 1.0),
    _engine("interval", 0.25),
    _engine("dual", 0.2),
    Way("auto", 0.1, _auto, _always),
    _dual_loop("dual loop", 0.06, pricer.CELLS_FROM),
    _dual_loop("dual loop, cells", 0.04, 1),
    _engine("sdp", 0.06),
    _loop("sdp loop", 0.15, semidefinite_bound, _taken_by("sdp")),
    Way("spread", 0.04, _spread, _always),
    _engine("bnb", 0.04),
    _loop("bnb loop", 0.1, relaxation_bound, _taken_by("bnb")),
    _model("minlp", 0.003),
    _model("miqp", 0.003),
    _engine("hard-em", 0.04, limited=0.0),
    _engine("kmeans", 0.02, limited=0.0),
    _engine("em", 0.01, limited=0.0),
    _engine("variational", 0.02, limited=0.0),
    _engine("slsqp", 0.003, limited=0.0),
    _engine("annealing", 0.003, limited=0.0),
    _loop("sdp loop, split", 0.06, split_semidefinite_bound, _taken_by("sdp")),
    # With so little room for open nodes, the loop dives most of the time.
    _loop("interval loop, diving", 0.1, interval_bound, _always, open_bytes=1500),
    _loop("sdp loop, diving", 0.05, forgetful_semidefinite_bound, _taken_by("sdp"), open_bytes=1500),
    Way("first bound", 1.0, _first_bound, _always),
    Way("stopped", 0.2, _stopped, _always),
    Way("certificate", 0.5, _certificate, _always),
    Way("resumed", 0.1, _resumed, _always),
    Way("resumed loop", 0.2, _resumed_loop, _always),
    _engine("parts", 0.2),
    Way("unknown variance", 0.3, _unknown_variance, _few_clusterings),
    Way("k-means", 0.2, _kmeans, _always),
    Way("weighted", 0.2, _weighted, lambda problem, _: problem.n_samples <= 9),
    Way("unknown diagonal", 0.3, _unknown_diagonal, _few_with_own_variances),
)
NAMES = tuple(way.name for way in WAYS)
BY_CLOCK = frozenset({"stopped"})
"""Ways that end when the clock says so: they need not repeat what they did."""


def drawn_ways(
    seed: int, problem: Problem, truth: Truth, seconds: float, only: frozenset[str] | None = None
) -> Iterator[tuple[str, Callable[[], Claim]]]:
    """The ways in which the problem of a seed is solved: those drawn for it, or all of the given names."""
    numbers = np.random.default_rng([seed, 21]).random(len(WAYS))
    for index, way in enumerate(WAYS):
        if numbers[index] >= way.often if only is None else way.name not in only:
            continue
        if way.applies(problem, truth):
            draw = Draw(problem, truth, np.random.default_rng([seed, 22, index]), seconds)
            yield way.name, lambda way=way, draw=draw: way.run(draw)
