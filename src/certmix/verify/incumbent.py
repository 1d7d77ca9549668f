"""The clustering of a certificate: does it satisfy every constraint, and what is it worth?"""

from __future__ import annotations

import math

import numpy as np

from certmix.verify.evidence import Evidence, Rejected
from certmix.verify.rounding import TINY, UNIT, Array, exact_sum, gamma
from certmix.verify.statement import Statement, broken, counted, penalty, times


def value(s: Statement, data: Array, evidence: Evidence) -> tuple[float, float]:
    """``(v, e)``: at some admissible means and weights the objective of the labels is at most v + e.

    v is the objective at the stored means and weights. Where those are not admissible themselves, being rounded (a mean
    for the average that it is tied to, weights that add up to one but for rounding), e holds what the way to admissible
    ones can cost, beside the rounding of v. Bounds are never passed, by however little.
    """
    labels = evidence.integers("incumbent/labels", s.n, low=0, high=s.K - 1)
    means = evidence.floats("incumbent/means", s.K, s.d)
    weights = evidence.floats("incumbent/weights", s.K)
    sizes = np.bincount(labels, minlength=s.K)
    for rule, is_broken in broken(s, labels[None]):
        if is_broken[0]:
            raise Rejected(f"the clustering violates {rule}")
    data, each = counted(s, data)
    members = [labels == k for k in range(s.K)]
    power = np.array([exact_sum(s.weight[own], a, -1.0) for own, a in zip(members, s.alpha, strict=True)])
    off = _off(s, data, labels, means)
    terms, error = [0.0, *penalty(s, labels)], _weights_off(s, sizes, power, weights)
    rounding = 0.5 * gamma(2 * s.d + 16)
    for k, own in enumerate(members):
        p, prior, mass = s.precision_of(k), np.abs(s.prior_precision[k]), each[own]
        away, gap = data[own] - means[k], means[k] - s.prior_mean[k]
        terms += (0.5 * (mass * times(away, p) * away).sum(axis=1)).tolist()
        error += rounding * float((mass * times(np.abs(away), np.abs(p)) * np.abs(away)).sum())
        error += rounding * float(times(np.abs(gap), prior) @ np.abs(gap))
        # The average costs the samples the least; the prior may charge for the way there.
        error += 1.01 * float(times(off[k], prior) @ (np.abs(gap) + off[k]))
        if power[k] != 0.0 and weights[k] <= 0:
            raise Rejected(f"the weight of component {k} is not positive")
        terms += [
            0.5 * float(times(gap, s.prior_precision[k]) @ gap),
            -power[k] * math.log(weights[k]) if power[k] != 0.0 else 0.0,
        ]
        error += 8 * UNIT * (abs(terms[-1]) + abs(power[k]))
        # The determinant counts as often as a sample; where one is given for every feature, as often as its values.
        half = s.half_log_det[k]
        counts = mass + np.zeros(s.d) if half.ndim else s.weight[own][:, None]
        constants = [
            exact_sum(column, 0.0) * h for column, h in zip(counts.T, np.atleast_1d(half), strict=True)
        ]
        terms += constants
        error += 8 * UNIT * math.fsum(map(abs, constants))
    found = math.fsum(terms)
    error += 4 * UNIT * (abs(found) + math.fsum(map(abs, terms))) + TINY
    if not math.isfinite(found + error):
        raise Rejected("the objective of the clustering overflows")
    return found, error


def _off(s: Statement, data: Array, labels: Array, means: Array) -> Array:
    """(K, d): how far a mean that is tied to the average of its samples lies from it; any other lies in its bounds.

    Whether an average keeps its bounds is decided exactly: a sum that is rounded once has the right sign.
    """
    off, largest = np.zeros((s.K, s.d)), np.abs(data).max(axis=0)
    for k in range(s.K):
        rows, low, high = data[labels == k], s.mean_lower[k], s.mean_upper[k]
        if "means" not in s.estimators or not len(rows):
            if (means[k] < low).any() or (means[k] > high).any():
                raise Rejected(f"the mean of component {k} lies outside its bounds")
            continue
        for j in range(s.d):
            away = [exact_sum(rows[:, j], *[-end] * len(rows)) for end in (low[j], high[j], means[k, j])]
            if away[0] < 0 or away[1] > 0:
                raise Rejected(f"the average of the samples in component {k} lies outside its bounds")
            off[k, j] = abs(away[2]) / len(rows)
        if (off[k] > gamma(2 * len(rows) + 16) * largest).any():
            raise Rejected(f"the mean of component {k} is not the average of its samples")
    return off


def _weights_off(s: Statement, sizes: Array, power: Array, weights: Array) -> float:
    """What the weights can cost more where they are admissible than where they are stored.

    Weights that are tied to the shares n_k / n are the doubles nearest to those, which are also what is compared with
    bounds; the rounding of logarithms covers that. Free weights have to add up to one. If the stored ones lack a
    little, there are some between them and their upper bounds that do; no power is negative, so those cost no more. If
    they exceed one by e, each gives up the same share of its room r = w - lower: -power log(w - t) exceeds
    -power log w by at most power x / (1 - x), x = t / w.
    """
    low, high = s.weight_lower, s.weight_upper
    if (weights < low).any() or (weights > high).any():
        raise Rejected("a weight lies outside its bounds")
    if s.fixed_weights is not None:
        if (weights != s.fixed_weights).any():
            raise Rejected("the weights are not the fixed ones")
        return 0.0
    if "weights" in s.estimators:
        if (weights != sizes / s.n).any():
            raise Rejected("the weights are not the shares of the samples")
        return 0.0
    over = exact_sum(weights, -1.0)
    if exact_sum(low, -1.0) > 0 or exact_sum(high, -1.0) < 0:
        raise Rejected("no weights within their bounds add up to one")
    if abs(over) > gamma(8 * s.K + 16):
        raise Rejected("the weights do not add up to one")
    if over <= 0:
        return 0.0
    room = weights - low
    x = over / math.fsum(room.tolist()) * room / np.where(weights > 0, weights, 1.0)
    if (x > 0.5).any():
        raise Rejected("the weights add up to more than one, and their bounds leave no room for less")
    return 1.01 * float(power @ (x / (1.0 - x)))
