"""The same data and side constraints with links that may be broken, by any engine, against every clustering."""

from __future__ import annotations

import math
import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

from certmix.errors import InfeasibleError, InputError
from certmix.problem import Problem
from certmix.problem.hardening import hardened
from certmix.solving import solve
from certmix.status import Status, Termination
from certmix.verify.check import check
from claims import Claim, Truth
from masses import with_masses
from soft_links import random_soft_links, truth_with_penalties
from unknown_variance import with_unknown_variance
from ways.drawing import CERTIFIED, Draw, taken_by
from ways.models import with_noise


def soft_links(draw: Draw) -> Claim:
    """Known and unknown variances, mixtures and k-means; half of the time the certificate is checked."""
    return _compared(draw, _problem(draw), "soft links")


def combined(draw: Draw) -> Claim:
    """Weights of samples or missing values, noise and soft links, most of them at once."""
    return _compared(draw, _problem_with_several(draw), "combined")


def few_combined(problem: Problem, _: Truth) -> bool:
    """Whether all clusterings can be looked at with one component more."""
    return problem.n_samples > 2 and (problem.n_components + 1) ** problem.n_samples <= 5000


def _compared(draw: Draw, problem: Problem, way: str) -> Claim:
    rng, truth = draw.rng, truth_with_penalties(problem)
    inside = hardened(problem.at_scale(1.0) if problem.covariance.unknown else problem)
    able = [n for n in (*CERTIFIED, "enumerate", "parts", "hard-em") if taken_by(n)(inside, truth)]
    name, options = str(rng.choice([*able, "auto"])), draw.options(node_limit=draw.few_nodes(0.2))
    given: dict[str, Any] = {"part_size": int(rng.integers(1, 7))} if name == "parts" else {}
    options = replace(options, target=None, certificate=True if draw.chance(0.5) else None, **given)
    start, lower = time.perf_counter(), -math.inf
    try:
        result = solve(problem, name, options=options, verify=False)
    except InputError:
        assert truth.optimum == -math.inf, f"refused, but the optimum is {truth.optimum!r}"
        unknown = math.inf, lower, None, Status.UNKNOWN, Termination.TIME, ()
        return Claim(way, *unknown, options, 0.0, about=(problem, truth))
    if options.certificate and result.certificate is not None:
        verdict = check(result.certificate.document, result.certificate.arrays, problem.data)
        assert verdict.verified, f"its own certificate is rejected: {verdict.sentence}"
        if result.labels is not None:
            lower = verdict.bound
    if result.labels is not None:
        paid = sum(c.penalty or 0.0 for c in result.constraints if not c.satisfied)
        assert math.isclose(paid, result.penalty, rel_tol=1e-12), "the table tells another penalty"
    return Claim(
        way,
        result.objective,
        max(lower, result.lower_bound),
        None if result.labels is None else problem.samples.expand(result.positions),
        result.status,
        Termination.TIME if problem.covariance.unknown else result.termination,  # rounding may leave a gap
        result.trace,
        replace(options, absolute_gap=problem.quantity.objective(options.absolute_gap)),
        time.perf_counter() - start,
        certified=name != "hard-em" and result.engine != "hard-em",
        about=(problem, truth),
    )


def _problem(draw: Draw) -> Problem:
    rng, p = draw.rng, draw.problem
    kind = rng.random()
    if kind < 0.2:
        p = p.replace(weights="none", prior=None, weight_bounds=None, estimators=p.estimators - {"weights"})
    elif kind < 0.4:
        p = with_unknown_variance(p, rng)
    return with_soft_links(p, draw)


def _problem_with_several(draw: Draw) -> Problem:
    rng, p = draw.rng, draw.problem
    with suppress(InfeasibleError):  # fixed weights that are no shares of so many samples
        if draw.chance(0.5):
            p = with_masses(p, rng)
        elif draw.chance(0.7):
            p = p.replace(sample_weight=rng.choice([1, 1, 2, 3], size=p.n_samples))
    p = with_noise(draw, p) if draw.chance(0.7) else p
    return with_soft_links(p, draw) if draw.chance(0.7) else p


def with_soft_links(p: Problem, draw: Draw) -> Problem:
    rng, samples = draw.rng, p.samples.original
    scale = p.quantity.factor * float(rng.choice([1.0, 1.0, 0.1 * max(1.0, abs(draw.truth.optimum))]))
    links = random_soft_links(samples.n_samples, rng, scale if math.isfinite(scale) else 1.0, samples.named)
    return p.replace(constraints=[*p.given_constraints, *links])
