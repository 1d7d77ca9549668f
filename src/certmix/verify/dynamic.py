r"""The step ``dynamic``: the shortest path over the sorted samples, in one dimension.

**Clusters are intervals.** Fix the means, weights and sizes of any clustering. With one precision P for all components
its cost is a constant minus P sum_i y_i mu_{z_i}, and by the rearrangement inequality the sum is largest when samples
and means are sorted alike; the exchange keeps means, weights and sizes. So some optimal clustering consists of
intervals of the sorted sample, in some order of the components. This needs that nothing but sizes ties samples
together.

**The recursion.** A state says how many components of every class of interchangeable ones have been placed;
best[state][j] is the least cost of the first j samples in them.

**Rounding.** Running sums of x and x^2 are rounded once from their exact values (u relative). With A and Q the sums of
|x| and x^2 and R the largest mean, a cluster's terms are then right to 32 u (Q + R A) plus gamma(32) times their size,
and all K clusters of a path together to K times that.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from certmix.verify.domain import Domain
from certmix.verify.evidence import Evidence, Rejected, room
from certmix.verify.root import Root
from certmix.verify.rounding import UNIT, below, gamma, running_sums

MOST_WORK = 4e9
MOST_STATES = 1 << 16


def refusal(root: Root, domain: Domain) -> str | None:
    """Why the argument or the computation does not apply; None when it does."""
    if root.d != 1 or not (root.points == root.points[0]).all():
        return "it needs one dimension and one variance"
    if root.n > root.N or root.conflicts.size or root.implications.size or root.counts:
        return "a constraint ties samples together"
    if domain.apart is not None or not domain.allowed.all():
        return "some samples may not be together or in every component"
    members = [len(m) for m in domain.exchangeable(root)]
    states = math.prod(m + 1 for m in members)
    if states > MOST_STATES or states * len(members) * root.n**2 / 2 > MOST_WORK:
        return f"{root.n:,} samples are too many for so many components"
    return None


def dynamic(root: Root, domain: Domain, evidence: Evidence, target: float) -> float:
    """The optimum in one dimension, less rounding."""
    why = refusal(root, domain)
    if why is not None:
        raise Rejected(f"dynamic programming does not apply: {why}")
    n, K, classes = root.n, root.K, domain.exchangeable(root)
    x = np.sort(root.points[0, :, 0])
    first, square = running_sums(x), running_sums(x * x)
    states = list(itertools.product(*(range(len(m) + 1) for m in classes)))
    place = {state: i for i, state in enumerate(states)}
    room(len(states), n + 1)
    best = np.full((len(states), n + 1), math.inf)
    best[0, 0] = 0.0
    largest = far = 0.0  # terms of a cost, and means, at most
    for j in range(n + 1):
        size = j - np.arange(j + 1)  # the last cluster holds samples i .. j-1
        total, squares = first[j] - first[: j + 1], square[j] - square[: j + 1]
        costs = []
        for k in (int(m[0]) for m in classes):
            g, m, h = float(root.prior_weight[k, 0]), float(root.prior_mean[k, 0]), root.entropy[k, size]
            a, b, c = size + g, total + g * m, 0.5 * squares + 0.5 * g * m * m
            mu = np.clip(b / np.maximum(a, 1e-300), root.mean_lower[k, 0], root.mean_upper[k, 0])
            half = 0.5 * a * mu * mu
            cost = half - b * mu + c + h
            if np.isnan(cost).any():
                raise Rejected("its numbers overflow")
            cost[(size < domain.low[k]) | (size > domain.high[k])] = math.inf
            costs.append(cost)
            terms = (half + np.abs(b * mu) + c + np.abs(h))[np.isfinite(cost)]
            largest, far = max(largest, float(terms.max(initial=0.0))), max(far, float(np.abs(mu).max()))
        for state in states:
            for c, used in enumerate(state):
                if used:
                    before = place[(*state[:c], used - 1, *state[c + 1 :])]
                    found = (best[before, : j + 1] + costs[c]).min()
                    best[place[state], j] = min(best[place[state], j], found)
    value = float(best[-1, -1])
    if math.isinf(value):
        return math.inf
    sums = float(square[-1]) + far * float(np.abs(x).sum())
    error = K * (32 * UNIT * sums + gamma(32) * largest) + gamma(2 * K + 4) * (abs(value) + K * largest)
    return below(value, 1.01 * error + root.error)
