"""Margins, alternatives and costs of constraints, against all clusterings."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np

from certmix.errors import InfeasibleError, InputError
from certmix.io.certificates import Certificate
from certmix.options import Options
from certmix.problem import Problem
from certmix.problem.noise import Noise
from certmix.result import Result
from certmix.sensitivity.alternatives import alternatives
from certmix.sensitivity.dropping import constraint_costs
from certmix.sensitivity.run import stability
from certmix.solving import solve
from certmix.status import Status, Termination
from certmix.verify.check import check
from claims import Claim, Truth, find_truth
from masses import with_masses
from nearly_optimal import Enumerated, assert_alternatives, assert_costs, assert_margins
from soft_links import random_soft_links
from ways.drawing import Draw, taken_by

MOST_CLUSTERINGS = 3000  # that are enumerated
ENGINES = ("interval", "dual", "sdp", "parts")


def few_clusterings(problem: Problem, truth: Truth) -> bool:
    return not truth.infeasible and problem.n_components**problem.n_samples <= MOST_CLUSTERINGS


def has_constraints(problem: Problem, truth: Truth) -> bool:
    return not truth.infeasible and bool(problem.constraints)


def margins(draw: Draw) -> Claim:
    """Of the best clustering or of any other, by any engine; certificates are checked, forged ones must not pass."""
    draw = _another_model(draw)
    result, options, begin = _reported(draw), _options(draw), time.perf_counter()
    problem, n = draw.problem, draw.problem.samples.original.n_samples
    pairs = [tuple(draw.rng.choice(n, 2, replace=False).tolist()) for _ in range(2 * (n > 1))]
    if draw.chance(0.6):
        options = replace(options, verify=False)
    told = stability(result, _within(draw), problem=problem, pairs=pairs, options=options)
    every = Enumerated(problem)
    assert_margins(every, told, pairs, decided=False)  # the clock may have stopped it
    if told.certificate is not None:
        verdict = check(told.certificate.document, told.certificate.arrays, problem.data)
        assert verdict.verified, f"its own certificate is rejected: {verdict.sentence}"
    if told.certificate is not None and (_plain(problem) or problem.masses is not None):
        _assert_no_forgery(draw, every, told.certificate)
    return _claim(draw, "margins", result, options, begin)


def _assert_no_forgery(draw: Draw, every: Enumerated, found: Certificate) -> None:
    """The same evidence for a larger delta than it is true for, or for a pair of which it is not true."""
    document, objective = found.document, found.document["objective"]
    labels = np.asarray(found.arrays["incumbent/labels"])
    i, j = sorted(draw.rng.choice(len(labels), 2, replace=False).tolist())
    claims = [*map(tuple, document["pairs"]), (i, j, int(labels[i] == labels[j]))]
    truth = [every.least(every.opposite(labels, a, b)) - objective for a, b, _ in claims]
    forged = []
    if math.isfinite(least := min(truth[:-1])):
        forged.append({**document, "within": max(0.0, least) + 2 * every.slack})
    if truth[-1] < document["within"] - every.slack:
        forged.append({**document, "pairs": [list(pair) for pair in claims]})
    for other in forged:
        verdict = check(other, found.arrays, draw.problem.data)
        assert not verdict.verified, f"what is not true is verified: {verdict.sentence}"


def others(draw: Draw) -> Claim:
    """The clusterings within delta: none is missing when they are complete."""
    draw = _another_model(draw)
    result, options, begin = _reported(draw), replace(_options(draw), verify=False), time.perf_counter()
    limit = int(draw.rng.choice([1, 3, 1000]))
    within = float(draw.rng.choice([0.0, 0.5, 2.0])) * _unit(draw)
    found = alternatives(result, within, problem=draw.problem, limit=limit, options=options)
    assert_alternatives(Enumerated(draw.problem), found, limit, decided=False)
    return _claim(draw, "alternatives", result, options, begin)


def costs(draw: Draw) -> Claim:
    """What every constraint costs, from a clustering and a bound that need not be the best."""
    result, options, begin = _reported(draw), replace(_options(draw), verify=False), time.perf_counter()
    loose = draw.truth.optimum - float(draw.rng.choice([0.0, 0.3])) * max(1.0, abs(draw.truth.optimum))
    result = replace(result, lower_bound=loose - draw.truth.slack)
    found = constraint_costs(result, problem=draw.problem, options=options)
    rules = draw.problem.constraints
    without = [[c for c in rules if c is not rule] for rule in rules]
    optima = [find_truth(draw.problem.replace(constraints=rest)).optimum for rest in without]
    assert_costs(draw.truth.optimum, optima, found)
    return _claim(draw, "constraint costs", result, options, begin)


def _reported(draw: Draw) -> Result:
    """The best clustering as a result, or now and then another one."""
    # With a certificate, what is settled by boxes can be put on record.
    result = solve(draw.problem, "enumerate", verify=False, certificate=True if draw.chance(0.5) else None)
    if draw.chance(0.7) or not _plain(draw.problem):
        return result
    labels = draw.poor()
    assert labels is not None
    point = draw.problem.objective.best(labels)
    own: dict[str, Any] = {"means": point.means, "weights": point.weights, "objective": point.value}
    bound = result.lower_bound if draw.chance(0.5) else -math.inf
    return replace(result, labels=labels, lower_bound=bound, status=Status.FEASIBLE, **own)


def _within(draw: Draw) -> float:
    """Delta, in nats or relative to the optimum."""
    unit = 1.0 if draw.chance(0.7) else max(1.0, abs(draw.truth.optimum))
    return float(draw.rng.choice([0.0, 0.3, 2.0, 10.0])) * unit * _unit(draw)


def _unit(draw: Draw) -> float:
    """A nat; of k-means, a hundredth of the sum of squares."""
    squares = 0.01 * abs(draw.truth.optimum) if draw.problem.squares else 1.0
    return draw.problem.quantity.shown(squares)


def _another_model(draw: Draw) -> Draw:
    """Now and then as k-means, with weights of the samples, values missing, noise, or links that may bend."""
    if draw.chance(0.5):
        return draw
    p, rng, rules = draw.problem, draw.rng, {}
    kind = str(rng.choice(["k-means", "weights", "masses", "noise", "soft"]))
    if kind == "k-means" or draw.chance(0.2):
        rules = {
            "weights": "none",
            "prior": None,
            "weight_bounds": None,
            "estimators": p.estimators - {"weights"},
        }
    if kind == "weights":
        rules["sample_weight"] = rng.choice([1, 1, 2, 3], size=p.n_samples)
    if kind == "noise" and "weights" not in rules and p.fixed_weights is None:
        spread = float(np.log(np.maximum(np.ptp(p.data, axis=0), 1e-9)).sum())
        rules["noise"] = Noise(-spread + float(rng.normal(scale=3.0)))
    try:
        problem = with_masses(p, rng) if kind == "masses" else p.replace(**rules)
        if kind == "soft" and p.n_samples > 2:
            scale = problem.quantity.factor * float(
                rng.choice([1.0, 0.1 * max(1.0, abs(draw.truth.optimum))])
            )
            links = random_soft_links(p.n_samples, rng, scale, p.samples.named)
            problem = problem.replace(constraints=[*problem.given_constraints, *links])
    except (InputError, InfeasibleError):
        return draw
    if problem.n_components**p.n_samples > MOST_CLUSTERINGS or _plain(problem):  # nothing became of it
        return draw
    every = Enumerated(problem)
    if not len(every.value):
        return draw
    truth = replace(draw.truth, optimum=float(every.value.min()))
    return replace(draw, problem=problem, truth=truth)


def _options(draw: Draw) -> Options:
    able = [name for name in ENGINES if taken_by(name)(draw.problem, draw.truth)]
    given = draw.options(node_limit=draw.few_nodes(0.1))
    if draw.chance(0.1):
        given = replace(given, time_limit=float(10 ** draw.rng.uniform(-3, 0)))
    name = str(draw.rng.choice([*able, "auto", "auto"]))
    part_size = int(draw.rng.integers(1, 7)) if name == "parts" else None
    return replace(given, engine=name, part_size=part_size, target=None)


def _claim(draw: Draw, way: str, result: Result, options: Options, begin: float) -> Claim:
    """What was compared is not in it: the clustering that was reported."""
    seconds = time.perf_counter() - begin
    if not _plain(draw.problem):
        nobody = None, Status.UNKNOWN, Termination.TIME, ()
        return Claim(way, math.inf, -math.inf, *nobody, options, seconds)
    nothing = result.labels, Status.FEASIBLE, Termination.TIME, ()
    return Claim(way, result.objective, -math.inf, *nothing, options, seconds)


def _plain(problem: Problem) -> bool:
    """Whether it is the model that was drawn at first."""
    return not (
        problem.squares
        or problem.noise is not None
        or problem.sample_weight is not None
        or problem.masses is not None
        or problem.rules.soft
    )
