"""The step ``lagrangian``: a bound from multipliers T, with the prices proved by a tree of boxes.

The bound of a leaf, its proof and its rounding are in docs/certificates.md (lagrangian).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from certmix.verify.domain import Domain
from certmix.verify.evidence import Evidence, Rejected, room
from certmix.verify.root import Root
from certmix.verify.rounding import UNIT, Array, below, gamma, least_quadratic, total_below

LEAF = -1  # in the array ``axis``; 0 .. d-1 is a coordinate, d the size, d+1+g group g
WORK = 2_000_000  # (leaf, group) pairs looked at in one go
FEW = 3
LARGEST = 1e100
NARROW = 4  # intervals of sizes no wider than this get a slope of their own


class Leaves(NamedTuple):
    """M leaves: boxes (M, d), sizes (M,); which groups must be in the set and which are free, and the least and largest
    half squared distance of each from the box, times its weight (M, groups)."""

    lo: Array
    hi: Array
    a: Array
    b: Array
    inside: Array
    free: Array
    near: Array
    far: Array


class Pricing:
    """The sets that one component may hold, and the bound of a leaf.

    Attributes
    ----------
    groups : the component's candidates; ``forced`` says which of them are surely in
    x, w, constant : their points, weights and scatter - T; ``size`` bounds what the last was computed from
    lo, hi, a, b : root of the tree (sizes from one on: the empty set is priced apart)
    """

    def __init__(self, root: Root, domain: Domain, k: int, multipliers: Array, pairs: Array) -> None:
        c = int(root.system[k])
        self.groups = np.flatnonzero(domain.allowed[:, k])
        self.position = np.full(root.N, -1)
        self.position[self.groups] = np.arange(len(self.groups))
        self.forced = domain.decided[self.groups]
        self.x = np.ascontiguousarray(root.points[c][self.groups])
        self.w = root.weight[self.groups].astype(np.float64)
        scatter, t = root.scatter[c][self.groups], multipliers[self.groups]
        self.constant, self.size = scatter - t, scatter + np.abs(t)
        self.prior_weight, self.prior_mean = root.prior_weight[k], root.prior_mean[k]
        self.entropy = root.entropy[k]
        self.a, self.b = max(int(domain.low[k]), 1), int(domain.high[k])
        lo, hi = self.x.min(axis=0, initial=math.inf), self.x.max(axis=0, initial=-math.inf)
        pulled = self.prior_weight > 0
        lo = np.where(pulled, np.minimum(lo, self.prior_mean), lo)
        hi = np.where(pulled, np.maximum(hi, self.prior_mean), hi)
        self.lo, self.hi = (np.clip(end, root.mean_lower[k], root.mean_upper[k]) for end in (lo, hi))
        both = self.position[pairs].reshape(-1, 2)
        both = both[(both >= 0).all(axis=1)]
        self.pairs = both[~self.forced[both].any(axis=1)]
        self.partner = np.full(len(self.w), -1)
        self.partner[self.pairs[:, 0]], self.partner[self.pairs[:, 1]] = self.pairs[:, 1], self.pairs[:, 0]
        self._chords: dict[tuple[int, int], tuple[float, float]] = {}

    def level(self, a: int, b: int, beta: float) -> float:
        """``alpha`` with entropy >= alpha + beta m for all m in a..b; infinite when none of these sizes is possible."""
        h = self.entropy[a : b + 1]
        least = float((h - beta * np.arange(a, b + 1.0)).min())
        rounding = 8 * UNIT * (float(np.abs(h[np.isfinite(h)]).max(initial=0.0)) + abs(beta) * b)
        return least if math.isinf(least) else below(least, rounding)

    def chord(self, a: int, b: int) -> tuple[float, float]:
        """``(alpha, beta)``, the slope that of the chord between the first and the last possible size."""
        if (a, b) not in self._chords:
            m = np.flatnonzero(np.isfinite(self.entropy[a : b + 1])) + a
            # For one size any slope will do: that to the next one.
            first, last = (m[0], m[-1]) if len(m) > 1 else (b, min(b + 1, len(self.entropy) - 1))
            rise = float(self.entropy[last]) - float(self.entropy[first])
            beta = rise / int(last - first) if last > first and math.isfinite(rise) else 0.0
            self._chords[a, b] = self.level(a, b, beta), beta
        return self._chords[a, b]

    def bounds(self, lo: Array, hi: Array, a: Array, b: Array, status: Array | None = None) -> Array:
        """Lower bounds of M leaves: boxes (M, d), sizes (M,), groups in (1), out (-1) or free (0) (M, groups)."""
        out = np.empty(len(a))
        step = max(1, WORK // max(1, len(self.w)))
        for first in range(0, len(a), step):
            r = slice(first, first + step)
            out[r] = self._some(lo[r], hi[r], a[r], b[r], None if status is None else status[r])[0]
        return np.where(np.isnan(out), -math.inf, out)  # an overflow proves nothing

    def _some(self, lo: Array, hi: Array, a: Array, b: Array, status: Array | None) -> tuple[Array, ...]:
        """Bounds of a few leaves, and the arrays behind them (for whoever wants to know where a bound is lost)."""
        near, far = np.zeros((2, len(a), len(self.w)))
        for j, x in enumerate(self.x.T):
            under, over = lo[:, j, None] - x, x - hi[:, j, None]
            far += np.minimum(under, over) ** 2
            near += np.maximum(np.maximum(under, over), 0.0) ** 2
        near *= 0.5 * self.w
        far *= 0.5 * self.w
        inside = np.broadcast_to(self.forced, near.shape) if status is None else self.forced | (status > 0)
        free = ~inside if status is None else ~inside & (status == 0)
        leaves = Leaves(lo, hi, a, b, inside, free, near, far)
        chords = [self.chord(i, j) for i, j in zip(a.tolist(), b.tolist(), strict=True)]
        alpha, beta = np.array(chords).reshape(-1, 2).T
        bound, s, theta, active = self._sloped(leaves, alpha, beta)
        # Where the cheapest set has too few or too many samples, another slope does better (any slope is valid).
        narrow = np.flatnonzero((b - a <= NARROW) & np.isfinite(alpha))
        if len(narrow):
            other = self._resloped(Leaves(*(array[narrow] for array in leaves)), beta[narrow])
            better = other[0] > bound[narrow]
            for array, found in zip((bound, s, theta, active, beta), other, strict=True):
                array[narrow[better]] = found[better]
        small = np.flatnonzero(b <= FEW)
        small = small[~inside[small].any(axis=1)]
        if len(small):
            lone = near[small] * (1 - gamma(self.x.shape[1] + 8)) + self.constant
            few = self._few(np.where(free[small], lone, math.inf), a[small], b[small])
            bound[small] = np.maximum(bound[small], few)
        return bound, near, far, s, theta, active, beta

    def _sloped(self, leaves: Leaves, alpha: Array, beta: Array) -> tuple[Array, ...]:
        """The bound with given slopes; and s, theta and which groups have a part in it."""
        lo, hi, _, _, inside, free, near, far = leaves
        w, x, outward = self.w, self.x, gamma(self.x.shape[1] + 8)
        slope = beta[:, None] * w
        base, size = slope + self.constant, np.abs(slope) + self.size
        s = near + base - outward * (near + size)
        t = far + base + outward * (far + size)
        second = np.zeros_like(s)  # what is had without the group: nothing, or its partner
        for i, j in self.pairs.tolist():
            both, lower = free[:, i] & free[:, j], s[:, i] <= s[:, j]
            second[:, i] = np.where(both, np.where(lower, np.minimum(0.0, s[:, j]), -math.inf), 0.0)
            second[:, j] = np.where(both, np.where(lower, -math.inf, np.minimum(0.0, s[:, i])), 0.0)
        active = free & (s < second)
        with np.errstate(divide="ignore", invalid="ignore"):
            theta = np.where(t <= second, 1.0, (second - s) / (t - s) * (1 - 8 * UNIT))
        theta = np.where(inside, 1.0, np.where(active, theta, 0.0))
        rest = np.where(active, (1.0 - theta) * s, 0.0)
        pulled = theta * w
        quadratic = pulled.sum(axis=1)[:, None] + self.prior_weight
        linear = pulled @ x + self.prior_weight * self.prior_mean
        square = 0.5 * (pulled @ x**2 + self.prior_weight * self.prior_mean**2)
        value, terms = least_quadratic(quadratic, linear, square, lo, hi)
        with np.errstate(invalid="ignore"):
            bound = alpha + (theta * base + rest).sum(axis=1) + value.sum(axis=1)
            size = np.abs(alpha) + (theta * size + np.abs(rest)).sum(axis=1) + terms.sum(axis=1)
            bound = np.where(np.isposinf(alpha), math.inf, bound - gamma(len(w) + x.shape[1] + 32) * size)
        return bound, s, theta, active

    def _resloped(self, leaves: Leaves, beta: Array) -> tuple[Array, ...]:
        """The bound with slopes that make a, or b, samples worth taking, where the chord takes fewer, or more."""
        _, _, a, b, inside, free, near, far = leaves
        each = np.where(free, (0.5 * (near + far) + self.constant) / self.w, math.inf)
        each[inside] = -math.inf
        order = np.argsort(each, axis=1, kind="stable")
        each, w = np.take_along_axis(each, order, axis=1), self.w[order]
        taken = ((each + beta[:, None] < 0) * w).sum(axis=1)
        wanted = np.clip(taken, a, b)
        place = np.minimum((np.cumsum(w, axis=1) < wanted[:, None]).sum(axis=1), len(self.w) - 1)
        found = -each[np.arange(len(a)), place]
        slope = np.where((wanted != taken) & np.isfinite(found), found, beta)
        rows = zip(a.tolist(), b.tolist(), slope.tolist(), strict=True)
        return (*self._sloped(leaves, np.array([self.level(*row) for row in rows]), slope), slope)

    def _few(self, lone: Array, a: Array, b: Array) -> Array:
        """Sets of at most b groups, at least one: the cheapest group, and b - 1 more where they gain."""
        most = min(FEW, lone.shape[1])
        lone = np.sort(np.partition(lone, most - 1, axis=1)[:, :most], axis=1)
        lone[:, 1:] = np.minimum(lone[:, 1:], 0.0)
        lone[np.arange(most) >= b[:, None]] = 0.0
        least = np.array([self.entropy[i : j + 1].min() for i, j in zip(a.tolist(), b.tolist(), strict=True)])
        with np.errstate(invalid="ignore"):
            value = lone.sum(axis=1) + least
            size = np.abs(lone).sum(axis=1) + np.abs(least) + 4 * float(self.size.max(initial=0.0))
            return np.where(np.isposinf(value), math.inf, value - gamma(16) * size)


def price(pricing: Pricing, axis: Array, cut: Array) -> tuple[float, int]:
    """The least bound of a leaf, and its place, of a tree given level by level, each level from left to right.

    A coordinate is cut in the middle of its interval, a size after the next number of ``cut``; of the two sides of
    a group the first has it in the set.
    """
    d = pricing.x.shape[1]
    lo, hi = pricing.lo[None], pricing.hi[None]
    a, b = np.array([pricing.a]), np.array([pricing.b])
    status: Array | None = None
    position = used = place = 0
    least = math.inf
    while len(a):
        code = axis[position : position + len(a)]
        if len(code) < len(a):
            raise Rejected("a pricing tree ends before its leaves")
        leaf = code == LEAF
        if leaf.any():
            some = None if status is None else status[leaf]
            found = pricing.bounds(lo[leaf], hi[leaf], a[leaf], b[leaf], some)
            if found.min() < least:
                least, place = float(found.min()), position + int(np.flatnonzero(leaf)[found.argmin()])
        position += len(code)
        code, lo, hi, a, b = (array[~leaf] for array in (code, lo, hi, a, b))
        status = None if status is None else status[~leaf]
        sizes = code == d
        after = cut[used : used + int(sizes.sum())]
        used += int(sizes.sum())
        if len(after) < sizes.sum() or (after < a[sizes]).any() or (after >= b[sizes]).any():
            raise Rejected("a pricing tree cuts sizes where there are none")
        lo, hi, a, b, status = split(pricing, code, lo, hi, a, b, status, after)
    if position != len(axis) or used != len(cut):
        raise Rejected("a pricing tree goes on after its leaves")
    return least, place


def split(
    pricing: Pricing,
    code: Array,
    lo: Array,
    hi: Array,
    a: Array,
    b: Array,
    status: Array | None,
    after: Array,
) -> tuple[Array, Array, Array, Array, Array | None]:
    """Both children of every node, beside each other."""
    d = pricing.x.shape[1]
    room(2 * len(code), 4 * d + 8)
    if status is not None or (code > d).any():
        room(4 * len(code), len(pricing.w), each=1)
    lo, hi, a, b = (np.repeat(array, 2, axis=0) for array in (lo, hi, a, b))
    groups = np.flatnonzero(code > d)
    if len(groups) and status is None:
        status = np.zeros((len(code), len(pricing.w)), dtype=np.int8)
    if status is not None:
        status = np.repeat(status, 2, axis=0)
        which = pricing.position[code[groups] - d - 1]
        if (which < 0).any() or pricing.forced[which].any() or status[2 * groups, which].any():
            raise Rejected("a pricing tree decides about a group that is not free")
        paired = pricing.partner[which] >= 0  # its partner is then out
        status[2 * groups[paired], pricing.partner[which[paired]]] = -1
        status[2 * groups, which] = 1
        status[2 * groups + 1, which] = -1
    nodes, sizes = np.flatnonzero((code >= 0) & (code < d)), np.flatnonzero(code == d)
    j = code[nodes]
    hi[2 * nodes, j] = lo[2 * nodes + 1, j] = 0.5 * (lo[2 * nodes, j] + hi[2 * nodes, j])
    b[2 * sizes], a[2 * sizes + 1] = after, after + 1
    return lo, hi, a, b, status


def checked_pairs(root: Root, domain: Domain, pairs: Array) -> Array:
    """Pairs of groups that may be treated as apart: each group once, every pair a conflict."""
    if len(np.unique(pairs)) != pairs.size:
        raise Rejected("a group stands twice in the pairs")
    if domain.apart is not None:
        good = bool(domain.apart[pairs[:, 0], pairs[:, 1]].all())
    else:
        good = {tuple(sorted(p)) for p in pairs.tolist()} <= {tuple(p) for p in root.conflicts.tolist()}
    if not good:
        raise Rejected("two groups are called apart that are not")
    return pairs


def combine(root: Root, multipliers: Array, prices: list[tuple[int, float]]) -> float:
    """``sum T + sum count * psi`` less all rounding; ``prices`` are (count, psi)."""
    if any(math.isinf(psi) for _, psi in prices):
        return math.inf if all(psi > 0 for _, psi in prices if math.isinf(psi)) else -math.inf
    terms = [total_below(multipliers), *(count * psi for count, psi in prices)]
    return below(math.fsum(terms), root.error + 4 * UNIT * sum(abs(x) for x in terms))


def lagrangian(root: Root, domain: Domain, evidence: Evidence, target: float) -> float:
    """Check the pricing trees and return the bound; the domain is not narrowed."""
    multipliers = evidence.floats("multipliers", root.N)
    if np.abs(multipliers).max() > LARGEST:
        raise Rejected(f"a multiplier is larger than {LARGEST:g}")
    pairs = np.zeros((0, 2), dtype=np.int64)
    if evidence.full("pairs") in evidence.arrays:
        pairs = checked_pairs(root, domain, evidence.integers("pairs", None, 2, low=0, high=root.N - 1))
    prices = []
    for i, members in enumerate(domain.exchangeable(root)):
        k = int(members[0])
        psi = float(root.entropy[k, 0]) if domain.low[k] == 0 else math.inf
        if domain.high[k] > 0:
            pricing = Pricing(root, domain, k, multipliers, pairs)
            axis = evidence.integers(f"axis/{i}", None, low=LEAF, high=root.d + root.N)
            cut = evidence.integers(f"cut/{i}", None, low=0, high=root.n)
            found, place = price(pricing, axis, cut)
            evidence.notes.append(f"of pricing tree {i}, entry {place} is the cheapest leaf, at {found!r}")
            psi = min(psi, found)
        prices.append((len(members), psi))
    return combine(root, multipliers, prices)
