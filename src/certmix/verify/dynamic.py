"""The step ``dynamic``: the shortest path over the sorted samples, in one dimension (docs/certificates.md, dynamic)."""

from __future__ import annotations

import itertools
import math

import numpy as np

from certmix.verify.domain import Domain
from certmix.verify.evidence import Evidence, Rejected, room
from certmix.verify.root import Root
from certmix.verify.rounding import UNIT, Array, below, gamma, running_sums

MOST_WORK = 4e9
MOST_STATES = 1 << 16


def refusal(root: Root, domain: Domain) -> str | None:
    """Why the argument or the computation does not apply; None when it does."""
    if not root.counted:
        return "values do not count once"
    if root.d != 1 or not (root.points == root.points[0]).all():
        return "it needs one dimension and one variance"
    if root.n > root.N or root.implications.size or root.counts:
        return "a constraint ties samples together"
    if len(domain.apart) or not domain.allowed.all():
        return "some samples may not be together or in every component"
    members = [len(m) for m in domain.exchangeable(root)]
    states = math.prod(m + 1 for m in members)
    if states > MOST_STATES or states * len(members) * root.n**2 / 2 > MOST_WORK:
        return f"{root.n:,} samples are too many for so many components"
    return None


class _Clusters:
    """What clusters of one class cost, less half their squares: tables by size, the largest first."""

    def __init__(self, root: Root, domain: Domain, k: int, x: Array, first: Array) -> None:
        g, m, sizes = float(root.prior_weight[k, 0]), float(root.prior_mean[k, 0]), np.arange(root.n, -1, -1)
        self.first, self.pull, self.box = first, g * m, (root.mean_lower[k, 0], root.mean_upper[k, 0])
        self.half, self.inverse = 0.5 * (sizes + g), 1.0 / np.where(sizes + g > 0, sizes + g, 1.0)
        possible = (sizes >= domain.low[k]) & (sizes <= domain.high[k])
        self.fixed = np.where(possible, root.entropy[k, sizes], math.inf) + 0.5 * g * m * m
        squares, total = float(x @ x) + g * m * m, float(np.abs(x).sum()) + g * abs(m)
        z, far = abs(float(np.clip(0.0, *self.box))), max(float(np.abs(x).max()), abs(m) if g > 0 else 0.0)
        table = float(np.abs(self.fixed[np.isfinite(self.fixed)]).max(initial=0.0))
        self.size = 2.0 * squares + float(self.half[0]) * z * z + total * z + table
        self.sums = squares + max(far, z) * total

    def ending(self, at: int) -> Array:
        """The cost of the clusters that end before sample ``at`` and begin at sample 0 .. at."""
        sizes, total = slice(-at - 1, None), self.first[at] + self.pull - self.first[: at + 1]
        mu = np.clip(total * self.inverse[sizes], *self.box)
        return np.asarray((self.half[sizes] * mu - total) * mu + self.fixed[sizes])


def dynamic(root: Root, domain: Domain, evidence: Evidence, target: float) -> float:
    """The optimum in one dimension, less rounding."""
    why = refusal(root, domain)
    if why is not None:
        raise Rejected(f"dynamic programming does not apply: {why}")
    n, K, classes = root.n, root.K, domain.exchangeable(root)
    x = np.sort(root.points[0, :, 0])
    first, squares = running_sums(x), 0.5 * running_sums(x * x)
    clusters = [_Clusters(root, domain, int(members[0]), x, first) for members in classes]
    states = list(itertools.product(*(range(len(members) + 1) for members in classes)))
    place = {state: i for i, state in enumerate(states)}
    room(2 * len(states), n + 1)
    best = np.full((len(states), n + 1), math.inf)
    best[0, 0] = 0.0
    rest = best - squares  # a cluster then adds the squares up to its end
    for j in range(n + 1):
        costs = [kind.ending(j) for kind in clusters] if j == n or len(states) > 2 else []
        for i, state in enumerate(
            states[1:] if j == n else states[1:-1], 1
        ):  # the last one holds all samples
            for c, used in enumerate(state):
                if used:
                    before = place[(*state[:c], used - 1, *state[c + 1 :])]
                    starts = slice(j + 1 if before else 1)  # the first cluster begins at sample 0
                    found = squares[j] + (rest[before, starts] + costs[c][starts]).min()
                    best[i, j] = np.minimum(best[i, j], found)  # what is not a number remains to be seen
            rest[i, j] = best[i, j] - squares[j]
    value, size = float(best[-1, -1]), max(kind.size for kind in clusters)
    error = K * (32 * UNIT * max(kind.sums for kind in clusters) + (gamma(32) + (K + 2) * gamma(4)) * size)
    if not math.isfinite(error) or math.isnan(value):
        raise Rejected("its numbers overflow")
    return value if math.isinf(value) else below(value, 1.01 * error + root.error)
