"""What is concluded in the nodes of a tree of boxes: their domains narrowed, boxes cut, a lower bound.

Whole clusterings are in the nodes of a step ``boxes``; in those of ``lagrangian`` the sets that one component may hold:
groups that are not in the set are *outside*, where they cost nothing. What is concluded in a node is true of whatever
is cheapest among all that the root allows. docs/certificates.md (boxes) has the proofs, in the order of the methods.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from certmix.verify.domain import both_ways, candidates, conclude
from certmix.verify.root import Root
from certmix.verify.rounding import UNIT, Array, gamma, least_quadratic
from certmix.verify.trios import Trios


def _rise(h: Array) -> tuple[float, float]:
    """How much larger a later step of h is than an earlier one at most (0: h is concave), and the largest step."""
    step = np.diff(h)
    steepest = float(np.abs(step).max(initial=0.0))
    if not math.isfinite(steepest):
        return math.inf, 0.0
    rise = float((step - np.minimum.accumulate(step)).max(initial=0.0))
    return 1.01 * rise + 8 * UNIT * steepest, steepest


@dataclass
class Nodes:
    """M nodes of a tree, their entries in it, boxes (M, K, d), sizes (M, K), candidates (M, K or K + 1, N), bounds."""

    entry: Array
    lo: Array
    hi: Array
    a: Array
    b: Array
    allowed: Array
    bound: Array

    def take(self, rows: Array | slice) -> Nodes:
        return Nodes(*(array[rows] for array in vars(self).values()))

    @staticmethod
    def joined(some: list[Nodes]) -> Nodes:
        columns = zip(*(vars(nodes).values() for nodes in some), strict=True)
        return some[0] if len(some) == 1 else Nodes(*(np.concatenate(arrays) for arrays in columns))

    def candidates(self) -> Array:
        """(M, N): how many components every group may take."""
        return candidates(self.allowed)

    def extent(self) -> Array:
        """What can shrink: the sides of the boxes, the intervals of sizes, the number of open groups."""
        is_open = (self.candidates() > 1).sum(axis=1, keepdims=True)
        return np.concatenate([*(self.hi - self.lo).transpose(1, 0, 2), self.b - self.a, is_open], axis=1)


@dataclass
class Pairs:
    """The P pairs of a node and a group that is open there, and what the group costs at least and at most: (K, P).

    That is ``w/2 |x - mu|^2``, over the K boxes, plus a constant, each moved outward by its rounding.
    """

    node: Array
    group: Array
    kind: Array  # the place of (node, weight of the group) in tables over these
    allowed: Array  # (K or K + 1, P)
    near: Array
    far: Array
    low: Array  # the constant
    high: Array

    def take(self, rows: Array) -> Pairs:
        return Pairs(*(array.take(rows, axis=-1) for array in vars(self).values()))


class Boxes:
    """Narrows nodes and bounds them, against a target for the cost in the coordinates of a root.

    ``axis`` is the coordinate along which components of which the statement says the same are in order. With
    ``multipliers`` the root has one component: its sets are priced, the other groups are outside, and sets pay for
    ``trios``. What is concluded is true of all that costs at most ``allowance`` more than the cheapest.
    """

    def __init__(
        self,
        root: Root,
        target: float,
        axis: int = 0,
        multipliers: Array | None = None,
        allowance: float = 0.0,
        trios: Trios | None = None,
    ) -> None:
        self.root, self.target, self.axis, self.outside = root, target, axis, multipliers is not None
        self.allowance, self.trios = allowance, trios if trios is not None and len(trios.prices) else None
        self.x, scatter = root.points, root.scatter  # (K, N, d), (K, N)
        t = np.zeros(root.N) if multipliers is None else multipliers
        self.constant, self.size = scatter - t, np.abs(scatter) + np.abs(t)  # and the sum of absolute values
        boxed = np.isfinite(root.mean_lower).any() or np.isfinite(root.mean_upper).any()
        # The best mean is where the masses balance.
        self.plain = not (boxed or root.prior_weight.any() or self.outside)
        named = [root.conflicts, root.implications[:, :2], *(groups for groups, *_ in root.counts)]
        self.apart = both_ways(root.conflicts)
        self.single = ~np.isin(np.arange(root.N), np.concatenate([groups.ravel() for groups in named]))
        self.least = np.maximum(root.size_lower, 1)
        sizes = zip(root.entropy, self.least.tolist(), root.size_upper.tolist(), strict=True)
        self.rise, steepest = np.array([_rise(h[a : b + 1]) for h, a, b in sizes]).T
        self.straight = self.rise * (root.n + 1) <= 1e-9 * steepest  # h is concave, but for rounding
        self.prior, self.mass = root.prior_weight * root.prior_mean, np.ascontiguousarray(root.mass.T)
        self.kinds, self.kind = np.unique(root.weight, return_inverse=True)
        # of every group: samples, constant, its size; sum and half the sum of squares by coordinates, masses
        w, m = (np.broadcast_to(of, (root.K, *of.shape)) for of in (root.weight[:, None], root.mass))
        parts = (w, self.constant[:, :, None], self.size[:, :, None], m * self.x, 0.5 * m * self.x**2, m)
        self.terms = np.concatenate(parts, axis=2)
        self.order = np.argsort(self.x.transpose(0, 2, 1), axis=2, kind="stable")
        self.largest = max(float(np.abs(array).max(initial=0.0)) for array in (self.x, root.prior_mean))
        self.tallest = np.where(np.isfinite(root.entropy), np.abs(root.entropy), 0.0).max(axis=1)
        self.outward = gamma(root.d + 16)
        self.low, self.high = (self.constant + sign * self.outward * self.size for sign in (-1, 1))
        self.along = np.ascontiguousarray(self.x.transpose(2, 0, 1))  # (d, K, N)

    def box(self) -> tuple[Array, Array]:
        """(K, d) each: where every best mean lies."""
        prior, pulled = self.root.prior_mean, self.root.prior_weight > 0
        lo, hi = self.x.min(axis=1, initial=math.inf), self.x.max(axis=1, initial=-math.inf)
        lo, hi = np.where(pulled, np.minimum(lo, prior), lo), np.where(pulled, np.maximum(hi, prior), hi)
        lower, upper = self.root.mean_lower, self.root.mean_upper
        return np.clip(lo, lower, upper), np.clip(hi, lower, upper)

    def decided(self, labels: Array) -> Array:
        """Lower bounds on the cost of clusterings, rows of labels of groups: nodes in which nothing is open."""
        allowed = labels[:, None] == np.arange(self.root.K)[:, None]
        size, count = allowed @ self.root.weight, len(labels)
        ends = np.stack([self.root.mean_lower, self.root.mean_upper])[:, None]
        lo, hi = ends.repeat(count, axis=1)
        nodes = Nodes(np.arange(count), lo, hi, size, size, allowed, np.full(count, -math.inf))
        with np.errstate(all="ignore"):  # what is not a number proves nothing
            self._bound(nodes, self._pairs(nodes))
        return nodes.bound

    def narrow(self, nodes: Nodes, rounds: int, share: float, wider: int = 0) -> Nodes:
        """The nodes in which something below the target may be left, narrowed and bounded.

        What a sample more costs is taken from as many times as many sizes as ``wider`` says, beyond those of a node.
        """
        self._conclude(nodes)
        nodes = nodes.take(nodes.bound < self.target)
        done = [nodes.take(slice(0))]
        while len(nodes.entry):
            before, rounds = nodes.extent(), rounds - 1
            self._round(nodes, wider)
            alive = nodes.bound < self.target
            nodes, before = nodes.take(alive), before[alive]
            if not self.outside:
                self._means(nodes)
            alive = np.asarray(~((nodes.lo > nodes.hi).any(axis=2) & (nodes.b > 0)).any(axis=1))
            again = alive & (nodes.extent() < share * before).any(axis=1) & (rounds > 0)
            done.append(nodes.take(alive & ~again))
            nodes = nodes.take(again)
        return Nodes.joined(done)

    def _round(self, s: Nodes, wider: int = 0) -> None:
        """Draw all conclusions once, but for those of means, which only nodes are worth that are left then."""
        if not self.outside:
            self._ordered(s)
        pairs, sizes = self._pairs(s), (s.a.copy(), np.minimum(s.b + wider * (s.b - s.a), self.root.n))
        self._exchange(s, pairs)
        self._conclude(s)
        pairs = pairs.take(np.flatnonzero(s.candidates()[pairs.node, pairs.group] > 1))
        pairs.allowed = self._allowed(s, pairs.node, pairs.group)
        self._bound(s, pairs, sizes)

    def _conclude(self, s: Nodes) -> None:
        s.bound[~conclude(self.root, self.apart, s.allowed, s.a, s.b)] = math.inf

    def _inside(self, s: Nodes) -> Array:
        """(M, K, 3 + 2 d + masses): the sums of ``terms`` over the groups that are surely in a component."""
        inside = s.allowed[:, : self.root.K] & (s.candidates() == 1)[:, None]
        return np.stack([inside[:, k].astype(np.float64) @ own for k, own in enumerate(self.terms)], axis=1)

    # -- conclusions that hold for every clustering in a node ------------------------------------------------------
    def _means(self, s: Nodes) -> None:
        c, is_open, sums = self.root, s.candidates() > 1, self._inside(s)
        some = np.asarray(is_open.any(axis=0))
        some[0] |= not some.any()
        order = self.order[some[self.order]].reshape(c.K, c.d, -1)
        k, j = np.arange(c.K)[:, None, None], np.arange(c.d)[:, None] % len(self.mass)
        x, m = np.take_along_axis(self.x.transpose(0, 2, 1), order, axis=2), self.mass[j, order]
        m = m * (s.allowed & is_open[:, None])[:, k, order]
        total, full = sums[:, :, 3 : 3 + c.d] + self.prior, sums[:, :, 3 + 2 * c.d :] + c.prior_weight
        few, many = (np.maximum(end - sums[:, :, 0], 0.0)[:, :, None] for end in (s.a, s.b))
        if not c.counted:  # sizes say nothing about masses
            few, many = 0.0 * few, np.full(many.shape, math.inf)
        low = _least_mean(x, m, full, total, few, many)
        high = -_least_mean(-x[:, :, ::-1], m[:, :, :, ::-1], full, -total, few, many)
        widen, there = gamma(4 * c.N + 64) * self.largest, (s.a > 0)[:, :, None]
        low, high = (np.clip(end, c.mean_lower, c.mean_upper) for end in (low - widen, high + widen))
        s.lo = np.where(there, np.maximum(s.lo, low), s.lo)
        s.hi = np.where(there, np.minimum(s.hi, high), s.hi)

    def _ordered(self, s: Nodes) -> None:
        j, classes = self.axis, self.root.classes
        for c in np.unique(classes):
            alike = np.flatnonzero(classes == c)
            used = s.b[:, alike] > 0
            low = np.where(used, s.lo[:, alike, j], -math.inf)
            high = np.where(used, s.hi[:, alike, j], math.inf)
            low = np.maximum.accumulate(low, axis=1)
            high = np.minimum.accumulate(high[:, ::-1], axis=1)[:, ::-1]
            s.lo[:, alike, j] = np.where(used, low, s.lo[:, alike, j])
            s.hi[:, alike, j] = np.where(used, high, s.hi[:, alike, j])

    def _pairs(self, s: Nodes) -> Pairs:
        node, group = np.nonzero(s.candidates() > 1)
        near, far = np.zeros((2, self.root.K, len(node)))
        lo, hi = (end.transpose(2, 1, 0).copy() for end in (s.lo, s.hi))
        half = 0.5 * self.mass.take(group, axis=1)
        for j, x in enumerate(self.along):
            at = x.take(group, axis=1)
            under, over = lo[j].take(node, axis=1) - at, at - hi[j].take(node, axis=1)
            farthest, nearest = np.minimum(under, over) ** 2, np.maximum(np.maximum(under, over), 0.0) ** 2
            far += farthest if len(half) == 1 else half[j] * farthest
            near += nearest if len(half) == 1 else half[j] * nearest
        near *= (half[0] if len(half) == 1 else 1.0) * (1.0 - self.outward)
        far *= (half[0] if len(half) == 1 else 1.0) * (1.0 + self.outward)
        kind = node * len(self.kinds) + self.kind[group]
        ends = self.low.take(group, axis=1), self.high.take(group, axis=1)
        return Pairs(node, group, kind, self._allowed(s, node, group), near, far, *ends)

    def _allowed(self, s: Nodes, node: Array, group: Array) -> Array:
        flat = s.allowed.transpose(1, 0, 2).reshape(s.allowed.shape[1], -1)
        return flat.take(node * self.root.N + group, axis=1)

    # -- what is true of the cheapest only, and of what costs little more: it saves no more than that by a move --
    def _exchange(self, s: Nodes, p: Pairs) -> None:
        c, w, k = self.root, self.kinds, np.arange(self.root.K)[:, None, None]
        a, b = s.a.T[:, :, None], s.b.T[:, :, None]
        least, most, rise = (array[:, None, None] for array in (self.least, c.size_upper, self.rise))
        up = c.entropy[k, np.minimum(a + w, c.n)] - c.entropy[k, a]
        down = c.entropy[k, b] - c.entropy[k, np.maximum(b - w, 0)]
        up, down = up + (w * rise + 8 * UNIT * np.abs(up)), down - (w * rise + 8 * UNIT * np.abs(down))
        up[~((a + w <= c.n) & ((b + w <= most) | (most >= c.n)))] = math.inf
        gain, price = p.near + p.low, p.far + p.high
        if self.plain and c.counted:  # the mean follows, by Hartigan's factors
            gain += p.near * self._each(p, w / np.maximum(b - w, 1.0) * (b > w))
            price -= p.far * self._each(p, w / (b + w) * (1 - 8 * UNIT))
        gain += self._each(p, down)
        price += self._each(p, up)
        price[~(p.allowed[: c.K] & self.single[p.group])] = math.inf
        keeps = self._each(p, a - w >= least) | ((p.near > 0) & self.plain & (self.least <= 1)[:, None])
        if self.trios is not None:
            most, least, _ = (array[p.node, p.group] for array in self.trios.shares(s.allowed))
            gain, price = gain + least, price + most
        if self.outside:
            nothing = np.zeros((1, len(p.node)))
            gain, price = np.concatenate([gain, nothing]), np.concatenate([price, nothing])
            keeps = np.concatenate([keeps, nothing == 0])
        _, cheapest, second, here = _two_least(price)
        other = np.where(here, second, cheapest)
        slack = self.allowance + self.outward * (np.abs(gain) + np.abs(other))
        pays = gain - other > slack  # not if one of them is no number
        self._remove(s, p, pays & keeps)

    def _remove(self, s: Nodes, p: Pairs, gone: Array) -> None:
        """Take candidates, (K or K + 1, P), from the groups of pairs."""
        some = np.flatnonzero(gone.any(axis=0))
        s.allowed[p.node[some], :, p.group[some]] &= ~gone[:, some].T

    def _each(self, p: Pairs, table: Array) -> Array:
        """(K, P): the entries of a table (K, M, weights) for the pairs."""
        return table.reshape(len(table), -1).take(p.kind, axis=1)

    # -- the bound and what follows from it ------------------------------------------------------------------------
    def _chord(self, a: Array, b: Array, sizes: tuple[Array, Array] | None = None) -> tuple[Array, Array]:
        """(M, K) each, alpha + beta m <= h(m) for all m in a..b; alpha is infinite when no such size is possible.

        Any slope will do. That of the sizes before the last conclusions may be the better one: with the steeper slope
        of smaller sizes it costs more to have too many.
        """
        c, k = self.root, np.arange(self.root.K)
        h, one, (from_, to) = c.entropy, a == b, (a, b) if sizes is None else sizes
        left = np.where(from_ == to, np.maximum(from_ - 1, 0), from_)
        right = np.where(from_ == to, np.minimum(to + 1, c.n), to)
        beta = (h[k, right] - h[k, left]) / np.maximum(right - left, 1)
        beta = np.where(np.isfinite(beta), beta, 0.0)
        alpha = np.minimum(h[k, a] - beta * a, h[k, b] - beta * b)
        alpha -= np.where(one, 0.0, 0.26 * self.rise * (b - a))
        for i in np.flatnonzero(~self.straight):
            ends = zip(a[:, i].tolist(), b[:, i].tolist(), beta[:, i].tolist(), strict=True)
            alpha[:, i] = [(h[i, f : t + 1] - slope * np.arange(f, t + 1)).min() for f, t, slope in ends]
        rounding = 8 * UNIT * (self.tallest + np.abs(beta) * b)
        return np.where(np.isposinf(alpha), math.inf, alpha - rounding), beta

    def _bound(self, s: Nodes, p: Pairs, sizes: tuple[Array, Array] | None = None) -> None:
        c, (M, K), P = self.root, s.a.shape, len(p.group)
        alpha, beta = self._chord(s.a, s.b, sizes)
        slope = beta.T[:, :, None] * self.kinds
        low = p.near + p.low + self._each(p, slope - self.outward * np.abs(slope))
        share, due = np.zeros(P), np.zeros(M)
        if self.trios is not None:
            share, due = self.trios.shares(s.allowed)[2][p.node, p.group], self.trios.due(s.allowed)
            low = low + share * (1 - self.outward)
        low[~p.allowed[:K]] = math.inf
        mate = self._only_one(p, low[0], M) if self.outside and len(c.conflicts) else math.inf
        if self.outside:
            low = np.concatenate([low, np.zeros((1, P))])
        first, least, second, _ = _two_least(low)
        second, k = np.minimum(second, mate), np.minimum(first, K - 1)
        slope = slope.ravel()[k * (slope.size // K) + p.kind]
        far, high = (array.ravel()[k * P + np.arange(P)] for array in (p.far, p.high))
        own = k * c.N + p.group
        base = slope + self.constant.ravel()[own] + share
        size = np.abs(slope) + self.size.ravel()[own] + share
        top = far + high + (slope + self.outward * np.abs(slope)) + share * (1 + self.outward)
        theta = np.where(top <= second, 1.0, (second - least) / (top - least) * (1 - 8 * UNIT))
        theta = np.where((first < K) & (theta > 0), np.minimum(theta, 1.0), 0.0)
        rest = np.where(theta < 1, (1 - theta) * least, 0.0)
        row = p.node * K + k

        def added(values: Array) -> Array:
            return np.bincount(row, values, M * K).reshape(M, K)

        sums, ends = self._inside(s), (3, 3 + c.d, 3 + 2 * c.d)
        B, C, A = (sums[:, :, first : first + c.d] for first in ends)
        A, B, C = A + c.prior_weight, B + self.prior, C + 0.5 * self.prior * c.prior_mean
        for j in range(c.d):
            if j < len(self.mass):
                pulled = theta * self.mass[j].take(p.group)
                more = added(pulled)
            x = self.along[j].ravel()[own]
            A[:, :, j] += more
            B[:, :, j] += added(pulled * x)
            C[:, :, j] += added(0.5 * pulled * x * x)
        value, terms = least_quadratic(A, B, C, np.minimum(s.lo, s.hi), s.hi)
        value = value.sum(axis=2)
        samples, fixed, sized = sums[:, :, :3].transpose(2, 0, 1)
        parts = alpha + (fixed + beta * samples) + added(theta * base + rest) + value
        terms = np.abs(alpha) + (sized + np.abs(beta) * samples) + terms.sum(axis=2)
        terms += added(theta * size + np.abs(rest))
        bound = parts.sum(axis=1) + due - gamma(c.N + K * (c.d + 1) + 40) * (terms.sum(axis=1) + due)
        bound[np.isposinf(alpha).any(axis=1)] = math.inf
        s.bound = np.fmax(s.bound, bound)  # what is not a number proves nothing
        if not self.outside:  # elsewhere a group costs its lower end there instead of its part of the sum
            whole = np.where(theta > 0, theta * top, 0.0)
            lost = gamma(16) * (np.abs(low) + np.abs(whole) + np.abs(rest) + np.abs(bound)[p.node])
            reached = bound[p.node] + (low - (whole + rest)) - lost >= self.target
            self._remove(s, p, reached)
        self._tighten(s, bound, A, B)

    def _only_one(self, p: Pairs, low: Array, M: int) -> Array:
        """Of two open groups that are apart the cheaper stands for both: what it has instead; the other is outside."""
        mate = np.full(self.root.N, -1)
        i, j = self.root.conflicts.T
        mate[i], mate[j] = j, i
        place = np.full((M, self.root.N + 1), -1)
        place[p.node, p.group] = np.arange(len(low))
        other = place[p.node, mate[p.group]]  # the last column is for groups without one
        theirs = np.where(other >= 0, low[other], math.inf)
        later = other < np.arange(len(low))
        low[(theirs < low) | ((theirs == low) & later)] = math.inf  # a tie leaves one of them
        return theirs

    def _tighten(self, s: Nodes, bound: Array, A: Array, B: Array) -> None:
        gap = np.maximum(self.target - bound, 0.0)[:, None, None]
        vertex = B / A
        reach = np.sqrt(2 * gap / A + (np.clip(vertex, s.lo, s.hi) - vertex) ** 2) * (1 + 1e-9)
        reach += 8 * gamma(self.root.N + 16) * self.largest
        good = (A > 0) & np.isfinite(reach) & (s.a > 0)[:, :, None]
        s.lo = np.where(good, np.maximum(s.lo, vertex - reach), s.lo)
        s.hi = np.where(good, np.minimum(s.hi, vertex + reach), s.hi)


def _two_least(rows: Array) -> tuple[Array, Array, Array, Array]:
    """Of every column: the place of the least entry, it, the least of the others; and whether an entry is the first."""
    first = rows.argmin(axis=0)
    here = np.arange(len(rows))[:, None] == first
    return first, rows.min(axis=0), np.where(here, math.inf, rows).min(axis=0), here


def _least_mean(x: Array, mass: Array, full: Array, total: Array, few: Array, many: Array) -> Array:
    """(M, K, d): the least ``(total + sum) / (full + m)`` over masses ``few <= m <= many`` of candidates.

    Their places x (K, d, N) increase along the last axis, with masses (M, K, d, N). The mean of nothing is zero. As a
    function of m it falls to its least value, which it has at nothing or at the end of a candidate, and then rises.
    """

    def entry(array: Array, place: Array) -> Array:
        return np.take_along_axis(array, place[..., None], axis=3)[..., 0]

    taken, summed = np.cumsum(mass, axis=3), np.cumsum(mass * x, axis=3)
    at = (total[..., None] + summed) / (full[..., None] + taken)
    if not full.all():
        at[full[..., None] + taken == 0] = math.inf
    best = at.argmin(axis=3)
    m = np.where(entry(at, best) >= total / full, 0.0, entry(taken, best))
    m = np.clip(m, few, np.minimum(many, taken[..., -1]))
    place = np.minimum((taken < m[..., None]).sum(axis=3), mass.shape[3] - 1)
    part = entry(summed, place) - (entry(taken, place) - m) * entry(np.broadcast_to(x, mass.shape), place)
    least = (total + np.where(m > 0, part, 0.0)) / (full + m)
    least = np.where(full + few == 0, np.fmin(least, 0.0), least)
    return np.where(np.isnan(least), -math.inf, least)
