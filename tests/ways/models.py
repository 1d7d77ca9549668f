"""The same data as another model: an unknown variance, k-means, samples with weights, noise."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from certmix.errors import InfeasibleError, InputError
from certmix.options import Options
from certmix.problem import CannotLink, Implication, Label, MaximumSize, MinimumSize, MustLink, Problem
from certmix.problem.constraints import Counting
from certmix.problem.noise import Noise
from certmix.result import Result
from certmix.solving import solve
from certmix.status import Status, Termination
from certmix.verify.check import check
from claims import Claim, Truth, find_truth
from resumed import solved_in_pieces
from unknown_variance import (
    takes_diagonal,
    truth_with_variance,
    with_unknown_diagonal,
    with_unknown_variance,
)
from ways.drawing import CERTIFIED, Draw, by_engine, taken_by

MOST_CLUSTERINGS = 1000  # that are enumerated, each with its best variance


def few_clusterings(problem: Problem, truth: Truth) -> bool:
    most = MOST_CLUSTERINGS if not problem.prior.on_means else MOST_CLUSTERINGS // 10
    return problem.n_components**problem.n_samples <= most


def few_with_own_variances(problem: Problem, truth: Truth) -> bool:
    return takes_diagonal(problem) and few_clusterings(problem, truth)


def unknown_variance(draw: Draw) -> Claim:
    """The same problem with an unknown variance, by any engine inside, at times in pieces that go on from disk; half
    of the time its certificate is checked.
    """
    return _found_with_variance(draw, with_unknown_variance(draw.problem, draw.rng), "unknown variance")


def unknown_diagonal(draw: Draw) -> Claim:
    """The same problem with an unknown variance for every feature."""
    return _found_with_variance(draw, with_unknown_diagonal(draw.problem, draw.rng), "unknown diagonal")


def _found_with_variance(draw: Draw, problem: Problem, way: str) -> Claim:
    truth = truth_with_variance(problem)
    able = [n for n in ("interval", "dual", "sdp", "parts") if taken_by(n)(draw.problem, draw.truth)]
    options = replace(draw.options(), certificate=True if draw.chance(0.5) else None)
    start = time.perf_counter()
    name, lower = str(draw.rng.choice([*able, "auto", "auto"])), -math.inf
    try:
        if draw.chance(0.3):
            result = solved_in_pieces(problem, name, options, draw.rng)
        else:
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


def kmeans(draw: Draw) -> Claim:
    """Data and side constraints as k-means, by any engine; half of the time its certificate is checked."""
    p = draw.problem
    problem = p.replace(weights="none", prior=None, weight_bounds=None, estimators=p.estimators - {"weights"})
    truth = find_truth(problem)
    able = [n for n in (*CERTIFIED, "parts", "hard-em") if taken_by(n)(problem, truth)]
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
        rounding += (
            y.size * (1e-15 * float(np.abs(y).max())) ** 2
        )  # of the means: equal samples have a spread, too
        assert result.sse is not None
        assert abs(result.sse - squares) <= rounding, f"the SSE is {squares!r}, not {result.sse!r}"
    if result.certificate is not None:
        verdict = check(result.certificate.document, result.certificate.arrays, problem.data)
        assert verdict.verified, f"its own certificate is rejected: {verdict.sentence}"
    if result.certificate is not None and result.labels is not None:
        result = replace(result, lower_bound=max(result.lower_bound, verdict.bound))
    return result


def noisy(draw: Draw) -> Claim:
    """One more component of noise, or trimmed k-means, by any engine; half of the time its certificate is checked."""
    rng, problem = draw.rng, with_noise(draw, draw.problem)
    truth = find_truth(problem)
    able = [n for n in (*CERTIFIED, "parts", "hard-em") if taken_by(n)(problem, truth)]
    name, options = str(rng.choice([*able, "auto"])), draw.options(node_limit=draw.few_nodes(0.2))
    more = {"part_size": int(rng.integers(1, 7))} if name == "parts" else {}
    options = replace(options, target=None, certificate=True if draw.chance(0.5) else None, **more)
    claim = by_engine(problem, name, options, partial(_checked_noise, problem))
    seen = replace(options, absolute_gap=problem.quantity.objective(options.absolute_gap))
    return replace(claim, way="noise", options=seen, about=(problem, truth))


def with_noise(draw: Draw, problem: Problem) -> Problem:
    """The same with one more component of noise, or as trimmed k-means."""
    rng, p = draw.rng, problem
    n, K = p.n_samples, p.n_components
    least = int(rng.integers(0, min(2, n) + 1)) if draw.chance(0.3) else 0
    most = int(rng.integers(least, n + 1))
    rules = [*p.given_constraints, *[MinimumSize(least, "noise")] * (least > 0), MaximumSize(most, "noise")]
    rules += [Label(int(rng.integers(len(p.samples.original.values))), "noise")] * draw.chance(0.1)
    if draw.chance(0.3) or p.squares or p.samples.gaps is not None:
        kind = {
            "weights": "none",
            "prior": None,
            "weight_bounds": None,
            "estimators": p.estimators - {"weights"},
        }
        return p.replace(noise=Noise(None), constraints=rules, **kind)
    spread = float(np.log(np.maximum(np.ptp(p.data, axis=0), 1e-9)).sum())
    given: dict[str, Any] = {"noise": Noise(-spread + float(rng.normal(scale=3.0)))}
    if p.fixed_weights is not None:
        given |= {
            "weights": rng.dirichlet(np.full(K + 1, 2.0)) * 0.9 + 0.1 / (K + 1),
            "weight_bounds": None,
        }
        given |= {"estimators": p.estimators - {"weights"}}
    if not draw.chance(0.5):
        rules = [rule for rule in rules if not isinstance(rule, MaximumSize) or rule.component != "noise"]
    return p.replace(constraints=rules, **given)


def _checked_noise(problem: Problem, *given: Any, **options: Any) -> Result:
    """The result with the labels that the problem has, and the bound that the checker confirms where that is better."""
    result = solve(problem, *given[1:], **options)
    verdict = None
    if result.certificate is not None:
        verdict = check(result.certificate.document, result.certificate.arrays, problem.data)
        assert verdict.verified, f"its own certificate is rejected: {verdict.sentence}"
    if result.labels is not None:
        better = result.lower_bound if verdict is None else max(result.lower_bound, verdict.bound)
        result = replace(result, labels=result.positions, noise=None, lower_bound=better)
    return result


def weighted(draw: Draw) -> Claim:
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
    able = [n for n in (*CERTIFIED, "parts", "hard-em") if taken_by(n)(problem, truth)]
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
