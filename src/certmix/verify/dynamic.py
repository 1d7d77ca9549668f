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
    if root.n > root.N or root.conflicts.size or root.implications.size or root.counts:
        return "a constraint ties samples together"
    if domain.apart is not None or not domain.allowed.all():
        return "some samples may not be together or in every component"
    members = [len(m) for m in domain.exchangeable(root)]
    states = math.prod(m + 1 for m in members)
    if states > MOST_STATES or states * len(members) * root.n**2 / 2 > MOST_WORK:
        return f"{root.n:,} samples are too many for so many components"
    return None


class _Clusters:
    """What clusters of one class cost, less half their squares: tables by size, the largest first."""

    def __init__(self, root: Root, domain: Domain, k: int, x: Array, first: Array) -> None:
        g, m = float(root.prior_weight[k, 0]), float(root.prior_mean[k, 0])
        self.low, self.high = int(domain.low[k]), int(domain.high[k])
        self.first, self.pull = first, g * m
        a = np.arange(root.n, -1, -1) + g
        self.half, self.inverse = 0.5 * a, 1.0 / np.where(a > 0, a, 1.0)
        self.fixed = root.entropy[k, ::-1] + 0.5 * g * m * m
        self.box = root.mean_lower[k, 0], root.mean_upper[k, 0]
        self.boxed = bool(np.isfinite(self.box).any())
        squares, total = float(x @ x) + g * m * m, float(np.abs(x).sum()) + g * abs(m)
        z, far = abs(float(np.clip(0.0, *self.box))), max(float(np.abs(x).max()), abs(m) if g > 0 else 0.0)
        table = float(np.abs(self.fixed[np.isfinite(self.fixed)]).max(initial=0.0))
        self.size = 2.0 * squares + float(self.half[0]) * z * z + total * z + table
        self.sums = squares + max(far, z) * total

    def ending(self, at: int, most: int) -> tuple[slice, Array]:
        """The clusters that end before sample ``at`` and begin at sample 0 .. most: which of these, and their cost."""
        which = slice(max(0, at - self.high), max(0, min(most, at - self.low) + 1))
        sizes = slice(len(self.first) - 1 - at + which.start, len(self.first) - 1 - at + which.stop)
        total = self.first[at] - self.first[which]
        if self.pull:
            total += self.pull
        mu = total * self.inverse[sizes]
        if self.boxed:
            np.clip(mu, *self.box, out=mu)
        cost = self.half[sizes] * mu
        cost -= total
        cost *= mu
        cost += self.fixed[sizes]
        return which, cost


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
        rows: dict[tuple[int, int], tuple[slice, Array]] = {}
        for state in states[1:] if j == n else states[1:-1]:  # the last one holds all samples
            i = place[state]
            for c, used in enumerate(state):
                if used:
                    before = place[(*state[:c], used - 1, *state[c + 1 :])]
                    most = j if before else 0  # the first cluster begins at sample 0
                    if (c, most) not in rows:
                        rows[c, most] = clusters[c].ending(j, most)
                    which, cost = rows[c, most]
                    found = squares[j] + (rest[before, which] + cost).min(initial=math.inf)
                    best[i, j] = np.minimum(best[i, j], found)  # what is not a number remains to be seen
            rest[i, j] = best[i, j] - squares[j]
    value, size = float(best[-1, -1]), max(kind.size for kind in clusters)
    error = K * (32 * UNIT * max(kind.sums for kind in clusters) + (gamma(32) + (K + 2) * gamma(4)) * size)
    if not math.isfinite(error) or math.isnan(value):
        raise Rejected("its numbers overflow")
    return value if math.isinf(value) else below(value, 1.01 * error + root.error)
