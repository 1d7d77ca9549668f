"""The clustering of a certificate: does it satisfy every constraint, and what is it worth?"""

from __future__ import annotations

import math

import numpy as np

from certmix.verify.evidence import Evidence, Rejected
from certmix.verify.rounding import UNIT, Array, gamma
from certmix.verify.statement import Statement

SLACK = 1e-9  # how far means and weights may miss their bounds, relatively


def value(s: Statement, data: Array, evidence: Evidence) -> tuple[float, float]:
    """The objective at labels, means and weights, and a bound on its rounding.

    Whatever means and weights are given, if they are admissible the objective there is no less than that of the labels
    with their best means and weights. Weights that add up to 1 + e stand for themselves divided by that sum.
    """
    labels = evidence.integers("incumbent/labels", s.n, low=0, high=s.K - 1)
    means = evidence.floats("incumbent/means", s.K, s.d)
    weights = evidence.floats("incumbent/weights", s.K)
    sizes = np.bincount(labels, minlength=s.K)
    _check_labels(s, labels, sizes)
    _check_parameters(s, data, labels, sizes, means, weights)
    terms, error, rounding = [0.0], 0.0, 0.5 * gamma(2 * s.d + 16)
    for k in range(s.K):
        rows, p, prior = data[labels == k], s.precision_of(k), s.prior_precision[k]
        away, gap = rows - means[k], means[k] - s.prior_mean[k]
        terms += (0.5 * ((away @ p) * away).sum(axis=1)).tolist()
        shift = np.abs(away) + 4 * UNIT * (np.abs(rows) + np.abs(means[k]))
        error += rounding * float(((shift @ np.abs(p)) * shift).sum())
        reach = np.abs(means[k]) + np.abs(s.prior_mean[k])
        error += rounding * float(reach @ np.abs(prior) @ reach)
        power = sizes[k] + s.alpha[k] - 1.0
        if power != 0.0 and weights[k] <= 0:
            raise Rejected(f"the weight of component {k} is not positive")
        terms += [
            0.5 * float(gap @ prior @ gap),
            -power * math.log(weights[k]) if power != 0.0 else 0.0,
            float(sizes[k] * s.half_log_det[k]),
        ]
        error += 8 * UNIT * (abs(terms[-2]) + abs(terms[-1]) + abs(power))
    error += (s.n + float(np.abs(s.alpha - 1).sum())) * 1.01 * abs(math.fsum(weights.tolist()) - 1.0)
    found = math.fsum(terms)
    error += 4 * UNIT * (abs(found) + math.fsum(map(abs, terms)))
    if not math.isfinite(found + error):
        raise Rejected("the objective of the clustering overflows")
    return found, error


def _check_labels(s: Statement, labels: Array, sizes: Array) -> None:
    low, high = s.size_limits()
    (a, b), (c, d), (i, j, k) = s.together.T, s.apart.T, s.implications.T
    known, component = s.labels.T
    broken = {
        "a size limit": ((sizes < low) | (sizes > high)).any(),
        "a must-link": (labels[a] != labels[b]).any(),
        "a cannot-link": (labels[c] == labels[d]).any(),
        "an implication": (((k < 0) | (labels[i] == k)) & (labels[i] != labels[j])).any(),
        "a known label": (labels[known] != component).any(),
        "a count": any(
            not least <= np.count_nonzero(labels[samples] == k) <= most
            for k, least, most, samples in s.counts
        ),
    }
    for what, is_broken in broken.items():
        if is_broken:
            raise Rejected(f"the clustering violates {what}")


def _check_parameters(
    s: Statement, data: Array, labels: Array, sizes: Array, means: Array, weights: Array
) -> None:
    slack = SLACK * (1.0 + np.abs(means))
    if (means < s.mean_lower - slack).any() or (means > s.mean_upper + slack).any():
        raise Rejected("a mean lies outside its bounds")
    if "means" in s.estimators:
        for k in np.flatnonzero(sizes):
            average = data[labels == k].mean(axis=0)
            if (np.abs(means[k] - average) > SLACK * (1.0 + np.abs(average))).any():
                raise Rejected(f"the mean of component {k} is not the average of its samples")
    if s.fixed_weights is not None and (weights != s.fixed_weights).any():
        raise Rejected("the weights are not the fixed ones")
    out = (weights < s.weight_lower - SLACK) | (weights > s.weight_upper + SLACK)
    if out.any() or (weights < 0).any() or abs(weights.sum() - 1.0) > SLACK:
        raise Rejected("the weights lie outside their bounds or do not add up to one")
    tied = "weights" in s.estimators and s.fixed_weights is None
    if tied and (np.abs(weights - sizes / s.n) > 4 * UNIT * weights).any():
        raise Rejected("the weights are not the shares of the samples")
