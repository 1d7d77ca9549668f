"""A bound for one component more is nearly one for this number (docs/choosing-k.md has the proofs)."""

from __future__ import annotations

import math

from certmix.problem import Problem
from certmix.problem.rules import ALL

SLACK = 1e-12  # relatively, more than a few operations and a logarithm err by


def loss(problem: Problem) -> float:
    """With OPT and OPT' the optima with this number of components and with one more, ``OPT >= OPT' - loss``.

    Infinite where nothing is proved: with priors on the weights, weights within bounds or tied to the sizes; with a
    prior on means that are within bounds; with least sizes for every component; and, unless components may be empty,
    with any side constraint or prior.
    """
    p, n, K = problem, problem.n_samples, problem.n_components
    if p.prior.on_weights or p.has_weight_box or p.estimators or (p.prior.on_means and p.has_mean_box):
        return math.inf
    uniform = p.fixed_weights is not None
    more = n * math.log((K + 1) / K) * (1.0 + SLACK) if uniform and not p.squares else 0.0
    if p.allow_empty:  # the new component is
        asked = any(rule.component == ALL and rule.low > 0 for rule in p.rules.sizes)
        return math.inf if asked else more
    if p.constraints or p.prior.on_means or n <= K:
        return math.inf
    if uniform:  # one sample leaves a component of two or more, and keeps its mean
        return more
    m = n - K + 1  # so many samples the component can have at most
    return (m * math.log(m) - (m - 1) * (math.log(m - 1) if m > 1 else 0.0)) * (
        1.0 + SLACK
    ) + SLACK * m * math.log(m)
