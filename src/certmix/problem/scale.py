"""The best variance for given labels, where it is unknown."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from certmix.problem.constraints import MaximumSize, MinimumSize
from certmix.problem.envelope import Envelope
from certmix.verify.claims.chords import scales

if TYPE_CHECKING:
    from certmix.problem.problem import Problem

FAR = 1e100  # a scale at which samples outweigh every prior; one by which it outweighs them
CLOSE = 1e-11  # relatively, what is good enough
MOST_TRIALS = 100

Trial = tuple[float, float, np.ndarray]  # half the sum of squares, the prior's cost, the means


def scale_range(problem: Problem) -> tuple[float, float]:
    """The range of ``1 / sigma^2``, rounded outwards."""
    assert problem.covariance.variances is not None
    return scales(problem.covariance.variances)


def sum_of_squares(problem: Problem) -> Problem:
    """Nothing but the side constraints and the sum of squares: uniform weights, no prior.

    The limits of sizes that weights tied to n_k / n entail stay, as limits.
    """
    p, sizes = problem, []
    if "weights" in p.estimators:
        for k, (low, high) in enumerate(zip(p.size_lower.tolist(), p.size_upper.tolist(), strict=True)):
            sizes += [MinimumSize(low, k)] * (low > 0) + [MaximumSize(high, k)] * (high < p.n_samples)
    return p.replace(
        weights="uniform",
        prior=None,
        weight_bounds=None,
        estimators=p.estimators - {"weights"},
        constraints=(*p.given_constraints, *sizes),
    )


def best_variance(problem: Problem, half_squares: float | np.ndarray) -> float | np.ndarray:
    """``W / (n d)``, or of every feature ``W_j / n``, or the end of the range that is nearest to it."""
    assert problem.covariance.variances is not None
    low, high = problem.covariance.variances
    if problem.covariance.per_feature:
        return np.asarray(np.clip(2.0 * half_squares / problem.n_samples, low, high))
    return min(max(2.0 * float(half_squares) / (problem.n_samples * problem.n_features), low), high)


def prior_moves_means(problem: Problem) -> bool:
    """Whether the best means depend on the variance."""
    return problem.prior.on_means and "means" not in problem.estimators


def least_by_scale(problem: Problem, at: Callable[[float], Trial]) -> np.ndarray:
    """The means of the least ``t Q + R - N log t``, where ``at(t)`` gives Q, R and means at which ``t Q + R`` is least.

    There can be several local minima. ``t Q + R`` is concave in t, so the chords between trials say where the least
    one may lie.
    """
    half = 0.5 * problem.n_samples * problem.n_features
    least, most = scale_range(problem)
    # t = N / Q at a minimum, and Q falls as t grows.
    ends = [half / q if q > 0.0 else math.inf for q in (at(1.0 / FAR)[0], at(FAR)[0])]
    low, high = (min(max(t, least), most) for t in ends)
    if not low < high < math.inf:
        return at(min(high, FAR))[2]
    trials = {t: at(t) for t in (low, high)}

    def values() -> list[tuple[float, float]]:
        return sorted((t, t * q + r) for t, (q, r, _) in trials.items())

    def value(t: float) -> float:
        q, r, _ = trials[t]
        return t * q + r - half * math.log(t)

    best = min(trials, key=value)
    for _ in range(MOST_TRIALS):
        piece = min(Envelope(values(), 0.0, half, low, high).pieces())
        if piece.at in trials or value(best) - piece.bound <= CLOSE * max(1.0, abs(value(best))):
            break
        trials[piece.at] = at(piece.at)
        best = min(best, piece.at, key=value)
    return trials[best][2]


def optimal_variances(
    envelope: Envelope, line: tuple[float, float], scale: float, allowed: float
) -> tuple[float, float] | None:
    """Between which variances a clustering that costs ``q t + e`` is within ``allowed`` of the envelope.

    The interval is the one that holds its own variance, ``1 / scale``; None when it is not so even there.
    """
    q, e = line

    def over(t: float) -> float:
        return q * t + e - envelope.under(t) + 1e-12 * (abs(q * t) + abs(e)) - allowed

    def reach(ends: list[float]) -> float:
        """How far it is so, from end to end; the excess is a line between them."""
        at = scale
        for end in ends:
            if over(end) > 0.0:
                return at + (end - at) * max(0.0, -over(at)) / (over(end) - over(at)) if at else end
            at = end
        return at

    if not over(scale) <= 0.0:
        return None
    knots = [t for t, _ in envelope.points]
    high = reach([t for t in knots if scale < t < envelope.high] + [min(envelope.high, FAR * scale)])
    low = reach([t for t in reversed(knots) if envelope.low < t < scale] + [envelope.low])
    return (0.0 if high >= FAR * scale else 1.0 / high), (math.inf if low == 0.0 else 1.0 / low)
