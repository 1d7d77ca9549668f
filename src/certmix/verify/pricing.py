"""Prices: no set S of a component has r(S) = c(S) - sum_{g in S} T_g below a number psi, shown by a tree of boxes.

The rules that narrow a node, its bound, their proofs and the rounding are in docs/certificates.md (lagrangian).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from certmix.verify.domain import Domain
from certmix.verify.evidence import Rejected, room
from certmix.verify.root import Root
from certmix.verify.rounding import UNIT, Array, below, gamma, least_quadratic

LEAF = -1  # in the array ``axis``; 0 .. d-1 is a coordinate, d the size, d+1+g group g
WORK = 400_000  # (node, open group) pairs looked at in one go
SWEEPS, LEAF_SWEEPS = 4, 12  # how often a node is narrowed,
SHRUNK = 0.81  # as long as a side of its box or its interval of sizes shrinks to this share


@dataclass
class Nodes:
    """M nodes of a pricing tree; what is said of them holds for the cheapest set if it costs less than psi."""

    entry: Array  # (M,) place in the tree
    lo: Array  # (M, d)
    hi: Array
    a: Array  # (M,)
    b: Array
    bound: Array  # (M,)
    weight: Array  # (M,) of the groups that are in: samples,
    total: Array  # (M, d) sum of w x,
    square: Array  # (M, d) half the sum of w x^2,
    fixed: Array  # (M,) sum of scatter - T
    size: Array  # (M,) and of the absolute values in that
    known: Array  # (M, F) in (1), out (-1) or open (0), for the groups that the tree decides about
    count: Array  # (M,) open groups,
    open: Array  # node after node

    def rows(self, index: Array) -> Nodes:
        """Some of the nodes, perhaps more than once."""
        start, count = (np.cumsum(self.count) - self.count)[index], self.count[index]
        shift = np.repeat(start - (np.cumsum(count) - count), count)
        room(len(shift) + index.size * (self.known.shape[1] + 4 * self.lo.shape[1] + 16))
        row = {f.name: getattr(self, f.name)[index] for f in fields(self)[:-1]}
        return Nodes(**row, open=self.open[shift + np.arange(len(shift))])

    def keep(self, these: Array, of: Array) -> None:
        """Of the open groups only these stay open."""
        self.open, self.count = self.open[these], np.bincount(of[these], minlength=len(self.count))

    @staticmethod
    def joined(some: list[Nodes]) -> Nodes:
        names = [f.name for f in fields(Nodes)]
        return (
            some[0]
            if len(some) == 1
            else Nodes(*(np.concatenate([getattr(n, f) for n in some]) for f in names))
        )


@dataclass
class Pricing:
    """The sets that one component may hold, and what is proved of them."""

    groups: Array  # the component's candidates,
    forced: Array  # which of them are surely in,
    x: Array  # their points,
    w: Array  # weights,
    constant: Array  # scatter - T,
    size: Array  # what bounds the numbers that this was computed from,
    partner: Array  # and the candidate from which one is apart, or -1
    prior_weight: Array
    prior_mean: Array
    entropy: Array  # h
    lo: Array  # root of the tree: the box,
    hi: Array
    a: int  # and the sizes, from one on: the empty set is priced apart
    b: int

    def __post_init__(self) -> None:
        step = np.diff(self.entropy[self.a : self.b + 1])
        steepest = float(np.abs(step).max(initial=0.0))
        rise = (
            float((step - np.minimum.accumulate(step)).max(initial=0.0))
            if math.isfinite(steepest)
            else math.inf
        )
        self.rise = 1.01 * rise + 8 * UNIT * steepest
        self.straight = self.rise * len(self.entropy) <= 1e-9 * steepest  # h is concave, but for rounding

    @classmethod
    def of(cls, root: Root, domain: Domain, k: int, multipliers: Array, pairs: Array) -> Pricing:
        """For component k of a domain, with pairs of groups that are apart."""
        c, groups = int(root.system[k]), np.flatnonzero(domain.allowed[:, k])
        forced, x = domain.decided[groups], np.ascontiguousarray(root.points[c][groups])
        scatter, t = root.scatter[c][groups], multipliers[groups]
        position = np.full(root.N, -1)
        position[groups] = np.arange(len(groups))
        both = position[pairs].reshape(-1, 2)
        both = both[(both >= 0).all(axis=1)]
        i, j = both[~forced[both].any(axis=1)].T
        partner = np.full(len(groups), -1)
        partner[i], partner[j] = j, i
        prior, centre = root.prior_weight[k], root.prior_mean[k]
        lo, hi = x.min(axis=0, initial=math.inf), x.max(axis=0, initial=-math.inf)
        lo = np.where(prior > 0, np.minimum(lo, centre), lo)
        hi = np.where(prior > 0, np.maximum(hi, centre), hi)
        lo, hi = (np.clip(end, root.mean_lower[k], root.mean_upper[k]) for end in (lo, hi))
        # Where only the other components limit the size, larger sets are priced too, so that a group can always join.
        others = int(domain.low.sum() - domain.low[k])
        lifted = domain.high[k] >= root.n - others and root.size_upper[k] >= root.n
        a, b = max(int(domain.low[k]), 1), root.n if lifted else int(domain.high[k])
        w = root.weight[groups].astype(np.float64)
        numbers = (x, w, scatter - t, scatter + np.abs(t), partner, prior, centre, root.entropy[k])
        return cls(groups, forced, *numbers, lo, hi, a, b)

    def root(self, decided: Array) -> Nodes:
        """The root of a tree that decides about some groups."""
        free, nothing = np.flatnonzero(~self.forced), np.zeros(self.x.shape[1])
        rows = {"entry": 0, "lo": self.lo, "hi": self.hi, "a": self.a, "b": self.b, "bound": -math.inf}
        rows |= {"weight": 0, "total": nothing, "square": nothing, "fixed": 0.0, "size": 0.0}
        rows |= {"known": self.forced[decided].astype(np.int8), "count": len(free)}
        node = Nodes(**{name: np.array([row]) for name, row in rows.items()}, open=free)
        inside = np.flatnonzero(self.forced)
        self.join(node, np.zeros_like(inside), inside)
        return node

    def chord(self, a: Array, b: Array) -> tuple[Array, Array]:
        """``(alpha, beta)`` with h(m) >= alpha + beta m for all m in a..b."""
        h, last = self.entropy, len(self.entropy) - 1
        left, right = np.where(a < b, a, np.maximum(a - 1, 0)), np.where(a < b, b, np.minimum(b + 1, last))
        with np.errstate(invalid="ignore", divide="ignore"):
            beta = (h[right] - h[left]) / (right - left)
            beta = np.where(np.isfinite(beta), beta, 0.0)
            if self.straight:
                least = np.minimum(h[a] - beta * a, h[b] - beta * b) - 0.26 * self.rise * (b - a)
                return least - 8 * UNIT * (np.abs(h[a]) + np.abs(h[b]) + np.abs(beta) * b), beta
            rows = zip(a.tolist(), b.tolist(), beta.tolist(), strict=True)
            return np.array([self._level(*row) for row in rows]), beta

    def _level(self, a: int, b: int, beta: float) -> float:
        h = self.entropy[a : b + 1]
        least = float((h - beta * np.arange(a, b + 1.0)).min())
        rounding = 8 * UNIT * (float(np.abs(h[np.isfinite(h)]).max(initial=0.0)) + abs(beta) * b)
        return least if math.isinf(least) else below(least, rounding)

    def narrowed(self, nodes: Nodes, psi: float, sweeps: int, decided: Array) -> Nodes:
        """The nodes that may hold a set cheaper than psi, narrowed and bounded."""
        done = []
        for sweep in range(sweeps):
            width, sizes = nodes.hi - nodes.lo, nodes.b - nodes.a
            self._sweep(nodes, psi, decided)
            alive = (nodes.bound < psi) & (nodes.lo <= nodes.hi).all(axis=1)
            shrunk = (nodes.hi - nodes.lo < SHRUNK * width).any(axis=1) | (nodes.b - nodes.a < SHRUNK * sizes)
            again = alive & shrunk if sweep < sweeps - 1 else np.zeros_like(alive)
            done.append(nodes.rows(np.flatnonzero(alive & ~again)))
            nodes = nodes.rows(np.flatnonzero(again))
            if not len(nodes.a):
                break
        return Nodes.joined(done)

    def _sweep(self, nodes: Nodes, psi: float, decided: Array) -> None:
        """Narrow the nodes once, and lift their bounds."""
        of, g = np.repeat(np.arange(len(nodes.a)), nodes.count), nodes.open
        w, d = self.w[g], self.x.shape[1]
        near, far = np.zeros((2, len(g)))
        for j in range(d):
            x = self.x[g, j]
            under, over = nodes.lo[of, j] - x, x - nodes.hi[of, j]
            far += np.minimum(under, over) ** 2
            near += np.maximum(np.maximum(under, over), 0.0) ** 2
        near, far, outward = 0.5 * w * near, 0.5 * w * far, gamma(d + 8)
        constant, size = self.constant[g], self.size[g]
        joins, leaves = self._exchanged(
            nodes, of, near + constant - outward * (near + size), far + constant + outward * (far + size)
        )
        self.join(nodes, of[joins], g[joins])
        if nodes.known.shape[1]:
            column = np.full(len(self.w), -1)
            column[decided] = np.arange(len(decided))
            for which, value in ((joins, 1), (leaves, -1)):
                pair = np.flatnonzero(which & (column[g] >= 0))
                nodes.known[of[pair], column[g[pair]]] = value
        stay = np.flatnonzero(~(joins | leaves))
        nodes.keep(stay, of)
        nodes.a = np.maximum(nodes.a, nodes.weight)
        possible = nodes.weight + np.bincount(of[stay], w[stay], len(nodes.a)).astype(np.int64)
        nodes.b = np.minimum(nodes.b, possible)
        nodes.bound[nodes.a > nodes.b] = math.inf
        nodes.b = np.maximum(nodes.a, nodes.b)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            self._bound(nodes, psi, of[stay], near[stay], far[stay])
            self._single(nodes)

    def _exchanged(self, nodes: Nodes, of: Array, low: Array, high: Array) -> tuple[Array, Array]:
        """Which of the open groups are in, and which are out; ``low <= e <= high`` on the box."""
        g, h, n = nodes.open, self.entropy, len(self.entropy) - 1
        w = self.w[g].astype(np.int64)
        a, b = nodes.a[of], nodes.b[of]
        with np.errstate(invalid="ignore"):
            step = h[np.minimum(a + w, n)] - h[a]
            dearest = step + (4 * UNIT * np.abs(step) + w * self.rise)
            may = (self.partner[g] < 0) & (a + w <= n) & ((b + w <= self.b) | (self.b == n))
            joins = may & (high + dearest < 0)
            step = h[b] - h[np.maximum(b - w, 0)]
            cheapest = step - (4 * UNIT * np.abs(step) + w * self.rise)
            leaves = ((a - w >= self.a) & (low + cheapest > 0)) | (nodes.weight[of] + w > b)
        return joins, leaves & ~joins

    def join(self, nodes: Nodes, of: Array, g: Array) -> None:
        """These groups are in: of node ``of[i]`` group ``g[i]``."""
        M, w = len(nodes.a), self.w[g]
        nodes.weight = nodes.weight + np.bincount(of, w, M).astype(np.int64)
        nodes.fixed = nodes.fixed + np.bincount(of, self.constant[g], M)
        nodes.size = nodes.size + np.bincount(of, self.size[g], M)
        for j, x in enumerate(self.x[g].T):
            nodes.total[:, j] += np.bincount(of, w * x, M)
            nodes.square[:, j] += np.bincount(of, 0.5 * w * x * x, M)

    def _bound(self, nodes: Nodes, psi: float, of: Array, near: Array, far: Array) -> None:
        """Lift the bounds, and cut off the ends of boxes where psi is reached."""
        M, d = nodes.lo.shape
        alpha, beta = self.chord(nodes.a, nodes.b)
        g, outward = nodes.open, gamma(d + 8)
        slope = beta[of] * self.w[g]
        base, size = slope + self.constant[g], np.abs(slope) + self.size[g]
        s = near + base - outward * (near + size)
        t = far + base + outward * (far + size)
        second = self._second(of, g, s)
        use = np.flatnonzero((s < 0) & (second > -math.inf))
        of, g, base, size, s, t, second = (array[use] for array in (of, g, base, size, s, t, second))
        theta = np.where(t <= second, 1.0, (second - s) / (t - s) * (1 - 8 * UNIT))
        rest, pulled = (1.0 - theta) * s, theta * self.w[g]
        quadratic = (nodes.weight + np.bincount(of, pulled, M))[:, None] + self.prior_weight
        linear = nodes.total + self.prior_weight * self.prior_mean
        square = nodes.square + 0.5 * self.prior_weight * self.prior_mean**2
        for j in range(d):
            x = self.x[g, j]
            part = pulled * x
            linear[:, j] += np.bincount(of, part, M)
            square[:, j] += np.bincount(of, 0.5 * part * x, M)
        value, terms = least_quadratic(quadratic, linear, square, nodes.lo, nodes.hi)
        lost = gamma(len(self.w) + d + 40)
        head = alpha + (nodes.fixed + beta * nodes.weight) + np.bincount(of, theta * base + rest, M)
        size = (
            np.abs(alpha)
            + (nodes.size + np.abs(beta) * nodes.weight)
            + np.bincount(of, theta * size + np.abs(rest), M)
        )
        size = size + terms.sum(axis=1)
        found = np.where(np.isposinf(alpha), math.inf, head + value.sum(axis=1) - lost * size)
        nodes.bound = np.fmax(nodes.bound, found)  # what is not a number proves nothing
        bar = linear / quadratic
        at = np.clip(bar, nodes.lo, nodes.hi)
        lacking = np.maximum(psi - found + 8 * lost * size, 0.0)[:, None]
        reach = np.sqrt(2 * lacking / quadratic + (at - bar) ** 2) * (1 + 1e-9)
        others = head[:, None] + (value.sum(axis=1)[:, None] - value)
        for sign, end in ((-1.0, bar - reach), (1.0, bar + reach)):
            low, high = (
                (nodes.lo, np.minimum(end, nodes.hi)) if sign < 0 else (np.maximum(end, nodes.lo), nodes.hi)
            )
            part, more = least_quadratic(quadratic, linear, square, low, high)
            gone = (low < high) & (others + part - lost * (size[:, None] + more) >= psi)
            nodes.lo = np.where(gone, high, nodes.lo) if sign < 0 else nodes.lo
            nodes.hi = np.where(gone, low, nodes.hi) if sign > 0 else nodes.hi

    def _second(self, of: Array, g: Array, s: Array) -> Array:
        """What is had without a group: nothing, or its partner; of two open ones the cheaper stands for both."""
        second = np.zeros(len(g))
        paired = np.flatnonzero(self.partner[g] >= 0)
        name = of[paired] * len(self.w) + np.minimum(g[paired], self.partner[g[paired]])
        order = np.argsort(name, kind="stable")
        paired, name = paired[order], name[order]
        both = np.flatnonzero(name[1:] == name[:-1])
        i, j = paired[both], paired[both + 1]
        i, j = np.where(s[i] <= s[j], (i, j), (j, i))  # a tie must leave one of them
        second[i], second[j] = np.minimum(0.0, s[j]), -math.inf
        return second

    def _single(self, nodes: Nodes) -> None:
        """Sets of one sample, one by one."""
        which = np.flatnonzero((nodes.b == 1) & (nodes.weight == 0))
        if not len(which):
            return
        some = nodes.rows(which)
        of = np.repeat(np.arange(len(which)), some.count)
        one = np.flatnonzero(self.w[some.open] == 1)
        of, g = of[one], some.open[one]
        x, prior = self.x[g], self.prior_weight
        square = 0.5 * (x * x + prior * self.prior_mean**2)
        value, terms = least_quadratic(
            1.0 + prior, x + prior * self.prior_mean, square, some.lo[of], some.hi[of]
        )
        cost = self.constant[g] + self.entropy[1] + value.sum(axis=1)
        size = self.size[g] + abs(self.entropy[1]) + terms.sum(axis=1)
        least = np.full(len(which), math.inf)
        np.minimum.at(least, of, cost - gamma(self.x.shape[1] + 40) * size)
        nodes.bound[which] = np.fmax(nodes.bound[which], least)


class Tree:
    """A pricing tree as it is stored: in any order in which the k-th node that is cut has children 2k + 1 and 2k + 2.

    ``axis`` says what is cut, ``cut`` where, for coordinates and sizes. The first child has what is not above the cut,
    or the group; ``decided`` are the groups that are decided about, as positions among the candidates.
    """

    def __init__(self, pricing: Pricing, axis: Array, cut: Array) -> None:
        self.pricing, self.axis, self.d = pricing, axis, pricing.x.shape[1]
        inner = axis != LEAF
        place = np.flatnonzero(inner)
        if len(axis) != 2 * len(place) + 1 or (place > 2 * np.arange(len(place))).any():
            raise Rejected("a pricing tree ends before its leaves, or goes on after them")
        self.first = 2 * np.cumsum(inner) - 1
        cuts = np.flatnonzero(inner & (axis <= self.d))
        if len(cut) != len(cuts):
            raise Rejected(f"a pricing tree has {len(cut)} numbers for {len(cuts)} cuts")
        self.cut = np.zeros(len(axis))
        self.cut[cuts] = cut
        named = np.unique(axis[axis > self.d]) - self.d - 1
        self.decided = np.searchsorted(pricing.groups, named)
        if not np.isin(named, pricing.groups).all():
            raise Rejected("a pricing tree decides about a group that is no candidate")

    def children(self, nodes: Nodes) -> Nodes:
        """Both children of every node, as far as there is anything in them."""
        kids = nodes.rows(np.repeat(np.arange(len(nodes.a)), 2))
        kids.entry = (self.first[nodes.entry][:, None] + (0, 1)).ravel()
        code, cut = self.axis[nodes.entry], self.cut[nodes.entry]
        i = np.flatnonzero(code < self.d)
        j = code[i]
        kids.hi[2 * i, j] = np.minimum(kids.hi[2 * i, j], cut[i])
        kids.lo[2 * i + 1, j] = np.maximum(kids.lo[2 * i + 1, j], cut[i])
        i = np.flatnonzero(code == self.d)
        size = np.floor(np.clip(cut[i], -1.0, len(self.pricing.entropy))).astype(np.int64)
        kids.b[2 * i] = np.minimum(kids.b[2 * i], size)
        kids.a[2 * i + 1] = np.maximum(kids.a[2 * i + 1], size + 1)
        i = np.flatnonzero(code > self.d)
        if len(i):
            self._decide(nodes, kids, i, np.searchsorted(self.pricing.groups, code[i] - self.d - 1))
        some = (kids.lo <= kids.hi).all(axis=1) & (kids.a <= kids.b) & (kids.bound < math.inf)
        return kids.rows(np.flatnonzero(some))

    def _decide(self, nodes: Nodes, kids: Nodes, i: Array, g: Array) -> None:
        """The first child of node ``i[r]`` has group ``g[r]``, not its partner; the second does not have it."""
        column = np.searchsorted(self.decided, g)
        known = nodes.known[i, column]
        kids.bound[2 * i[known < 0]] = kids.bound[2 * i[known > 0] + 1] = math.inf
        i, g, column = i[known == 0], g[known == 0], column[known == 0]
        kids.known[2 * i, column], kids.known[2 * i + 1, column] = 1, -1
        self.pricing.join(kids, 2 * i, g)
        gone, mate = np.full((2, len(kids.a)), -1)
        gone[2 * i] = gone[2 * i + 1] = g
        mate[2 * i] = self.pricing.partner[g]
        of = np.repeat(np.arange(len(kids.a)), kids.count)
        kids.keep(np.flatnonzero((kids.open != gone[of]) & (kids.open != mate[of])), of)


def price(pricing: Pricing, axis: Array, cut: Array, psi: float) -> tuple[float, int]:
    """What a tree proves of every set, psi at most; and the place of the leaf that falls short most, or -1."""
    tree = Tree(pricing, axis, cut)
    stack = [pricing.root(tree.decided)]
    least, place = psi, -1
    while stack:
        some = [stack.pop()]
        while stack and len(stack[-1].open) + sum(len(nodes.open) for nodes in some) <= WORK:
            some.append(stack.pop())
        nodes = pricing.narrowed(Nodes.joined(some), psi, SWEEPS, tree.decided)
        leaf = axis[nodes.entry] == LEAF
        if leaf.any():
            left = pricing.narrowed(nodes.rows(np.flatnonzero(leaf)), psi, LEAF_SWEEPS, tree.decided)
            if left.bound.min(initial=math.inf) < least:
                least, place = float(left.bound.min()), int(left.entry[left.bound.argmin()])
            nodes = nodes.rows(np.flatnonzero(~leaf))
        kids = tree.children(nodes)
        piece = np.cumsum(kids.count + kids.known.shape[1] + 64) // WORK
        stack += [kids.rows(np.flatnonzero(piece == i)) for i in np.unique(piece)]
        room(sum(len(waiting.open) for waiting in stack))
    return least, place
