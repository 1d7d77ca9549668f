r"""The step ``lagrangian``: a bound from multipliers T, with the prices proved by a tree of boxes.

For **any** numbers T_g, every clustering of the domain costs at least

    sum_g T_g + sum_k psi_k,      psi_k <= c_k(S) - sum_{g in S} T_g  for every set S that component k may hold,

for a clustering is a choice of one set for each component in which every group occurs once. What psi_k may be is proved
by a tree over (box of the mean, interval of the size): the best mean of S lies in the box around the component's
candidates (pulled to the prior's mean, clipped to the user's box), and the tree cuts that box and the range of sizes
into leaves; every S has its (mean, size) in one of them. psi_k is the least bound of a leaf.

**Bound of a leaf** with box B and sizes a..b. For any slope beta, h(m) >= alpha + beta m on a..b with alpha = min
h(m) - beta m. Being in the set then costs group g

    q_g(mu) = w_g (1/2 |x_g - mu|^2 + beta) + scatter_g - T_g,        s_g <= q_g <= t_g on B,

so a set costs at least alpha plus the least value over B of the prior plus the sum of min(0, q_g(mu)) over the groups
that are free, plus q_g(mu) over those that must be in. On B

    min(0, q_g) >= theta q_g + (1 - theta) s_g     for any  0 <= theta <= min(1, -s_g / (t_g - s_g)):

at q = s both sides agree, for q <= 0 the left side rises faster, and for q > 0 the right side stays below zero up to t.
Everything is now one quadratic per coordinate, least at a clipped point. For two groups that are apart, at most one
is in the set: with s_g the smaller, min(0, q_g, q_h) >= theta q_g + (1 - theta) s_g for
theta <= (min(0, s_h) - s_g) / (t_g - s_g).

Any slope beta is valid: the chord of h on a..b is taken, and on narrow intervals also the slope at which as many
samples as the interval wants are worth taking.

**Small sets** (b <= 3, none that must be in): the b smallest numbers s_g without beta, where negative, and h.

**Rounding.** T, beta and theta are the doubles they are. Differences x - lo have relative error u, so s and t are moved
outward by gamma(d + 8) times the absolute values in them; the sums are lowered by gamma(N + 32) times theirs.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from certmix.verify.domain import Domain
from certmix.verify.evidence import Evidence, Rejected
from certmix.verify.root import Root
from certmix.verify.rounding import UNIT, below, gamma, least_quadratic, total_below

LEAF = -1  # in the array ``axis``; 0 .. d-1 is a coordinate, d the size, d+1+g group g
WORK = 2_000_000  # (leaf, group) pairs looked at in one go
FEW = 3
LARGEST = 1e100
NARROW = 4  # intervals of sizes no wider than this get a slope of their own


class Pricing:
    """The sets that one component may hold, and the bound of a leaf.

    Attributes
    ----------
    groups : the component's candidates; ``forced`` says which of them are surely in
    x, w, constant : their points, weights and scatter - T; ``size`` bounds what the last was computed from
    lo, hi, a, b : root of the tree (sizes from one on: the empty set is priced apart)
    """

    def __init__(
        self, root: Root, domain: Domain, k: int, multipliers: np.ndarray, pairs: np.ndarray
    ) -> None:
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
        self.lo = np.clip(lo, root.mean_lower[k], root.mean_upper[k])
        self.hi = np.clip(hi, root.mean_lower[k], root.mean_upper[k])
        both = self.position[pairs].reshape(-1, 2)
        both = both[(both >= 0).all(axis=1)]
        self.pairs = both[~self.forced[both].any(axis=1)]
        self.partner = np.full(len(self.w), -1)
        self.partner[self.pairs[:, 0]], self.partner[self.pairs[:, 1]] = self.pairs[:, 1], self.pairs[:, 0]
        self._chords: dict[tuple[int, int], tuple[float, float]] = {}

    @cached_property
    def few(self) -> bool:
        return not self.forced.any()

    def chord(self, a: int, b: int) -> tuple[float, float]:
        """``(alpha, beta)`` with entropy >= alpha + beta m for all m in a..b."""
        if (a, b) not in self._chords:
            m = np.arange(a, b + 1.0)
            h = self.entropy[a : b + 1]
            fine = np.flatnonzero(np.isfinite(h))
            if not len(fine):
                self._chords[a, b] = math.inf, 0.0
            else:
                first, last = fine[0], fine[-1]
                if first < last:
                    beta = float((h[last] - h[first]) / (m[last] - m[first]))
                else:  # one size only: any slope will do
                    other = self.entropy[min(b + 1, len(self.entropy) - 1)]
                    beta = float(other - h[last]) if np.isfinite(other) else 0.0
                rounding = 8 * UNIT * (float(np.abs(h[fine]).max()) + abs(beta) * b)
                self._chords[a, b] = below(float((h[fine] - beta * m[fine]).min()), rounding), beta
        return self._chords[a, b]

    def bounds(
        self, lo: np.ndarray, hi: np.ndarray, a: np.ndarray, b: np.ndarray, status: np.ndarray | None = None
    ) -> np.ndarray:
        """Lower bounds of M leaves: boxes (M, d), sizes (M,), groups in (1), out (-1) or free (0) (M, groups)."""
        out = np.empty(len(a))
        step = max(1, WORK // max(1, len(self.w)))
        for first in range(0, len(a), step):
            rows = slice(first, first + step)
            out[rows] = self._some(
                lo[rows], hi[rows], a[rows], b[rows], None if status is None else status[rows]
            )[0]
        return np.where(np.isnan(out), -math.inf, out)  # an overflow proves nothing

    def _some(
        self, lo: np.ndarray, hi: np.ndarray, a: np.ndarray, b: np.ndarray, status: np.ndarray | None
    ) -> tuple[np.ndarray, ...]:
        """Bounds of a few leaves, and the arrays behind them (for whoever wants to know where a bound is lost)."""
        d, w, x = self.x.shape[1], self.w, self.x
        near, far = np.zeros((2, len(a), len(w)))
        for j in range(d):
            under, over = lo[:, j, None] - x[:, j], x[:, j] - hi[:, j, None]
            far += np.minimum(under, over) ** 2
            near += np.maximum(np.maximum(under, over), 0.0) ** 2
        near *= 0.5 * w
        far *= 0.5 * w
        inside = np.broadcast_to(self.forced, near.shape) if status is None else self.forced | (status > 0)
        free = ~inside if status is None else ~inside & (status == 0)
        chords = [self.chord(i, j) for i, j in zip(a.tolist(), b.tolist(), strict=True)]
        alpha, beta = np.array(chords).reshape(-1, 2).T
        bound, s, theta, active = self._sloped(lo, hi, near, far, inside, free, alpha, beta)
        # Where the cheapest set has too few or too many samples, another slope does better (any slope is valid).
        wrong = np.flatnonzero((b - a <= NARROW) & np.isfinite(alpha))
        if len(wrong):
            rows = (array[wrong] for array in (lo, hi, near, far, inside, free, a, b, beta))
            steeper = self._resloped(*rows)
            better = steeper[0] > bound[wrong]
            for array, found in zip((bound, s, theta, active, beta), steeper, strict=True):
                array[wrong[better]] = found[better]
        small = np.flatnonzero((b <= FEW) & self.few)
        if len(small) and (status is None or not (status[small] > 0).any()):
            lone = np.where(free[small], near[small] * (1 - gamma(d + 8)) + self.constant, math.inf)
            bound[small] = np.maximum(bound[small], self._few(lone, a[small], b[small]))
        return bound, near, far, s, theta, active, beta

    def _sloped(
        self,
        lo: np.ndarray,
        hi: np.ndarray,
        near: np.ndarray,
        far: np.ndarray,
        inside: np.ndarray,
        free: np.ndarray,
        alpha: np.ndarray,
        beta: np.ndarray,
    ) -> tuple[np.ndarray, ...]:
        """The bound with given slopes; and s, theta and which groups have a part in it."""
        d, w, x = self.x.shape[1], self.w, self.x
        slope = beta[:, None] * w
        base, size = slope + self.constant, np.abs(slope) + self.size
        s = near + base - gamma(d + 8) * (near + size)
        t = far + base + gamma(d + 8) * (far + size)
        second = np.zeros_like(s)
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
            bound = np.where(np.isposinf(alpha), math.inf, bound - gamma(len(w) + 32) * size)
        return bound, s, theta, active

    def _resloped(
        self,
        lo: np.ndarray,
        hi: np.ndarray,
        near: np.ndarray,
        far: np.ndarray,
        inside: np.ndarray,
        free: np.ndarray,
        a: np.ndarray,
        b: np.ndarray,
        beta: np.ndarray,
    ) -> tuple[np.ndarray, ...]:
        """The bound with slopes that make a, or b, samples worth taking, where the chord takes fewer, or more."""
        each = np.where(
            inside, -math.inf, np.where(free, (0.5 * (near + far) + self.constant) / self.w, math.inf)
        )
        order = np.argsort(each, axis=1, kind="stable")
        each = np.take_along_axis(each, order, axis=1)
        samples = np.cumsum(self.w[order], axis=1)
        taken = ((each + beta[:, None] < 0) * self.w[order]).sum(axis=1)
        wanted = np.clip(taken, a, b)
        place = np.minimum((samples < wanted[:, None]).sum(axis=1), len(self.w) - 1)
        found = -each[np.arange(len(a)), place]
        slope = np.where((wanted != taken) & np.isfinite(found), found, beta)
        alpha = np.empty(len(a))
        for row, (i, j) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
            h, m = self.entropy[i : j + 1], np.arange(i, j + 1.0)
            rounding = 8 * UNIT * (float(np.abs(h[np.isfinite(h)]).max(initial=0.0)) + abs(slope[row]) * j)
            alpha[row] = below(float((h - slope[row] * m).min()), rounding)
        return (*self._sloped(lo, hi, near, far, inside, free, alpha, slope), slope)

    def _few(self, lone: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
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


def price(pricing: Pricing, axis: np.ndarray, cut: np.ndarray) -> tuple[float, int]:
    """The least bound of a leaf, and its place, of a tree given level by level, each level from left to right.

    A coordinate is cut in the middle of its interval, a size after the next number of ``cut``; of the two sides of
    a group the first has it in the set.
    """
    d = pricing.x.shape[1]
    lo, hi = pricing.lo[None], pricing.hi[None]
    a, b = np.array([pricing.a]), np.array([pricing.b])
    status: np.ndarray | None = None
    position = used = place = 0
    least = math.inf
    while len(a):
        code = axis[position : position + len(a)]
        if len(code) < len(a):
            raise Rejected("a pricing tree ends before its leaves")
        position += len(code)
        leaf = code == LEAF
        if leaf.any():
            some = None if status is None else status[leaf]
            found = pricing.bounds(lo[leaf], hi[leaf], a[leaf], b[leaf], some)
            if found.min() < least:
                least = float(found.min())
                place = position - len(code) + int(np.flatnonzero(leaf)[found.argmin()])
        code, lo, hi, a, b = (array[~leaf] for array in (code, lo, hi, a, b))
        status = None if status is None else status[~leaf]
        sizes = np.flatnonzero(code == d)
        after = cut[used : used + len(sizes)]
        used += len(sizes)
        if len(after) < len(sizes) or (after < a[sizes]).any() or (after >= b[sizes]).any():
            raise Rejected("a pricing tree cuts sizes where there are none")
        lo, hi, a, b, status = split(pricing, code, lo, hi, a, b, status, after)
    if position != len(axis) or used != len(cut):
        raise Rejected("a pricing tree goes on after its leaves")
    return least, place


def split(
    pricing: Pricing,
    code: np.ndarray,
    lo: np.ndarray,
    hi: np.ndarray,
    a: np.ndarray,
    b: np.ndarray,
    status: np.ndarray | None,
    after: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Both children of every node, beside each other."""
    d = pricing.x.shape[1]
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
    nodes = np.flatnonzero((code >= 0) & (code < d))
    j = code[nodes]
    middle = 0.5 * (lo[2 * nodes, j] + hi[2 * nodes, j])
    hi[2 * nodes, j] = middle
    lo[2 * nodes + 1, j] = middle
    sizes = np.flatnonzero(code == d)
    b[2 * sizes] = after
    a[2 * sizes + 1] = after + 1
    return lo, hi, a, b, status


def checked_pairs(root: Root, domain: Domain, pairs: np.ndarray) -> np.ndarray:
    """Pairs of groups that may be treated as apart: each group once, every pair a conflict."""
    if len(np.unique(pairs)) != pairs.size:
        raise Rejected("a group stands twice in the pairs")
    if domain.apart is not None:
        good = domain.apart[pairs[:, 0], pairs[:, 1]]
    else:
        known = {tuple(sorted(p)) for p in root.conflicts.tolist()}
        good = np.array([tuple(sorted(p)) in known for p in pairs.tolist()], dtype=bool)
    if not good.all():
        raise Rejected("two groups are called apart that are not")
    return pairs


def combine(root: Root, multipliers: np.ndarray, prices: list[tuple[int, float]]) -> float:
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
    if evidence.has("pairs"):
        pairs = checked_pairs(root, domain, evidence.integers("pairs", None, 2, low=0, high=root.N - 1))
    prices = []
    for i, members in enumerate(domain.exchangeable(root)):
        k = int(members[0])
        psi = math.inf
        if domain.low[k] == 0:
            psi = float(root.entropy[k, 0])
        if domain.high[k] > 0:
            pricing = Pricing(root, domain, k, multipliers, pairs)
            axis = evidence.integers(f"axis/{i}", None, low=LEAF, high=root.d + root.N)
            cut = evidence.integers(f"cut/{i}", None, low=0, high=root.n)
            found, place = price(pricing, axis, cut)
            evidence.notes.append(f"of pricing tree {i}, entry {place} is the cheapest leaf, at {found!r}")
            psi = min(psi, found)
        prices.append((len(members), psi))
    return combine(root, multipliers, prices)
