"""Every engine through the front door: whole runs, runs that are stopped, resumed or spread, and their certificates."""

from __future__ import annotations

import math
import time
from contextlib import nullcontext
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np

from certmix.certificate import lagrangian, prove
from certmix.io.certificates import Certificate
from certmix.options import ENGINE_OPTIONS, LOGARITHMS, Options
from certmix.problem import Problem
from certmix.result import Result
from certmix.search import engines, race, spread
from certmix.search.bounds import central, pricer
from certmix.solving import solve
from certmix.status import Termination, decide
from certmix.verify.check import check
from claims import Claim
from pretended_cluster import pretended
from resumed import solved_in_pieces
from tuned import tuned
from ways.drawing import CERTIFIED, Draw, Way, by_engine, taken_by


def engine_way(name: str, often: float, *, limited: float = 0.15) -> Way:
    def run(draw: Draw) -> Claim:
        given = {"start": draw.start(), "node_limit": draw.few_nodes(limited)}
        if name == "bnb":
            given["branching"] = draw.branching()
        if name == "parts":
            given["part_size"] = int(draw.rng.integers(1, 7))
        options = draw.options(**given)
        with draw.multipliers() if name == "dual" else nullcontext():
            return by_engine(draw.problem, name, options)

    return Way(name, often, run, taken_by(name))


def model_way(name: str, often: float) -> Way:
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

    return Way(name, often, run, taken_by(name))


def auto(draw: Draw) -> Claim:
    return by_engine(draw.problem, "auto", draw.options(start=draw.start()))


def elsewhere(draw: Draw) -> Claim:
    """Nodes and parts are worked on elsewhere: few at a time, and some of the tasks are lost."""
    name = str(draw.rng.choice(["sdp", "parts", "dual"], p=[0.4, 0.3, 0.3]))
    if not taken_by(name)(draw.problem, draw.truth):
        name = "dual"
    given = {"part_size": int(draw.rng.integers(1, 7))} if name == "parts" else {}
    options = draw.options(start=draw.start(), node_limit=draw.few_nodes(0.3), **given)
    lost, budget = float(draw.rng.choice([0.0, 0.3])), int(draw.rng.integers(1, 6))
    with pretended(draw.rng, lost=lost), mock.patch.object(spread, "BUDGET", budget):
        return replace(by_engine(draw.problem, name, options), way="spread")


def stopped(draw: Draw) -> Claim:
    """An engine that is told to stop at any moment, from before its first step to after its last."""
    able = [name for name in (*CERTIFIED, "parts") if taken_by(name)(draw.problem, draw.truth)]
    options = replace(draw.options(start=draw.start()), time_limit=float(10 ** draw.rng.uniform(-5, -1)))
    name = str(draw.rng.choice(able))
    if name == "parts":
        options = replace(options, part_size=int(draw.rng.integers(1, 7)))
    with mock.patch.object(pricer, "CELLS_FROM", 1 if draw.chance(0.3) else pricer.CELLS_FROM):
        return by_engine(draw.problem, name, options)


def resumed(draw: Draw) -> Claim:
    """An engine that is stopped and resumed from its folder a few times."""
    able = [name for name in (*CERTIFIED, "parts") if taken_by(name)(draw.problem, draw.truth)]
    name = str(draw.rng.choice(able))
    given = {"part_size": int(draw.rng.integers(1, 7))} if name == "parts" else {}

    def run(problem: Problem, name: str, *, options: Options, verify: bool) -> Result:
        return solved_in_pieces(problem, name, options, draw.rng)

    return by_engine(draw.problem, name, draw.options(start=draw.start(), **given), run)


def raced(draw: Draw) -> Claim:
    """Turns so short that both have some on a dozen samples: whole runs, runs in pieces, and their certificates."""
    rng = draw.rng
    work = float(rng.choice([1.0, 60.0, 1000.0]))
    with (
        tuned(engines, first_nodes=int(rng.integers(1, 5))),
        tuned(race, entry_work=work),
    ):
        if draw.chance(0.4):
            return replace(certified(draw, "race"), way="race")
        options = draw.options(start=draw.start(), node_limit=draw.few_nodes(0.3))

        def run(problem: Problem, name: str, *, options: Options, verify: bool) -> Result:
            return solved_in_pieces(problem, name, options, rng)

        return by_engine(draw.problem, "race", options, run if draw.chance(0.3) else solve)


def certificate(draw: Draw) -> Claim:
    """A run whose certificate is replayed: what the checker says is the claim; and a forged one must not pass."""
    able = [n for n in ("interval", "dual", "sdp") if taken_by(n)(draw.problem, draw.truth)]
    with draw.multipliers():
        return certified(draw, str(draw.rng.choice([*able, "auto"])))


def counted(draw: Draw) -> Claim:
    """A run by interior points and the sides of planes, and its certificate."""
    with (
        tuned(engines, first_nodes=1),
        tuned(lagrangian, few_clusterings=1 if draw.chance(0.7) else 1 << 10),
        mock.patch.object(
            central, "violated_trios", draw.any_trios if draw.chance(0.5) else central.violated_trios
        ),
    ):
        return replace(certified(draw, "dual"), way="counted")


def certified(draw: Draw, name: str, **more: Any) -> Claim:
    """A run by one engine, its certificate replayed, and a forged one that must not pass."""
    options = replace(draw.options(start=draw.start()), certificate=True, **more)
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
