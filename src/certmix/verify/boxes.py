"""The step ``boxes``: a tree of boxes for the means, intervals for the sizes and candidates for the groups.

It is replayed with conclusions that are true of an optimal clustering of the problem *as the checker sees it*, so it
must stand alone. docs/certificates.md has the arrays and the proofs, in the order of the methods here.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from certmix.verify.domain import Domain
from certmix.verify.evidence import Evidence, Rejected, room
from certmix.verify.root import Root
from certmix.verify.rounding import UNIT, Array, gamma, least_quadratic

LEAF, MEAN, SIZE, GROUP = -1, 0, 1, 2
WORK = 60_000  # (node, component, group) triples looked at in one go
ROUNDS = 8
SHRINKS = 0.95  # a node is looked at again if no more than this share of its widths and open groups is left


@dataclass
class Nodes:
    """M nodes: boxes (M, K, d), sizes (M, K), candidates (M, K, N); and whether nothing is left in them (M,)."""

    lo: Array
    hi: Array
    a: Array
    b: Array
    allowed: Array
    closed: Array

    def take(self, rows: Array | slice) -> Nodes:
        return Nodes(*(array[rows] for array in vars(self).values()))

    def put(self, rows: Array, nodes: Nodes) -> None:
        for name, array in vars(nodes).items():
            getattr(self, name)[rows] = array

    def candidates(self) -> Array:
        """(M, N): how many components every group may take."""
        return self.allowed.sum(axis=1, dtype=np.int16)


class Boxes:
    """Narrows nodes and bounds them, against a target for the cost in the root's coordinates."""

    def __init__(self, root: Root, target: float, axis: int) -> None:
        self.root, self.target, self.axis = root, target, axis
        self.x = root.points[root.system]  # (K, N, d)
        self.w, self.scatter = root.weight.astype(np.float64), root.scatter[root.system]
        self.prior = root.prior_weight * root.prior_mean
        self.order = np.argsort(self.x, axis=1, kind="stable")
        boxed = np.isfinite(root.mean_lower).any() or np.isfinite(root.mean_upper).any()
        self.plain = not (boxed or root.prior_weight.any())
        self.single = np.ones(root.N, dtype=bool)  # in no rule that ties it to others
        self.single[root.conflicts.ravel()] = self.single[root.implications[:, :2].ravel()] = False
        for groups, *_ in root.counts:
            self.single[groups] = False
        self.tied = np.unique(root.conflicts)
        self.apart = np.zeros((len(self.tied), len(self.tied)), dtype=np.float32)
        i, j = np.searchsorted(self.tied, root.conflicts.T)
        self.apart[i, j] = self.apart[j, i] = 1.0
        self.largest = float(max(np.abs(self.x).max(), np.abs(root.prior_mean).max()))
        self.outward = gamma(root.d + 16)
        self._lines: dict[tuple[int, int, int], tuple[float, float]] = {}
        weights, self.weight_of = np.unique(root.weight, return_inverse=True)
        room(len(weights), root.K, root.n + 1)
        both = [self._steps(int(w)) for w in weights]
        self.leaving, self.joining = (np.stack(tables) for tables in zip(*both, strict=True))

    def _steps(self, w: int) -> tuple[Array, Array]:
        """(K, n + 1): the least h(m) - h(m - w) over sizes up to m, the most h(m + w) - h(m) from m on."""
        h, n = self.root.entropy, self.root.n
        leaving, joining = np.full((2, self.root.K, n + 1), math.inf)
        rise, slip = h[:, w:] - h[:, :-w], 2 * UNIT * (np.abs(h[:, w:]) + np.abs(h[:, :-w]))
        down, up = rise - slip, rise + slip
        leaving[:, w:] = np.where(np.isnan(down), -math.inf, down)
        # From smaller sizes no group may go, which is looked at elsewhere.
        leaving[np.arange(n + 1) < self.root.size_lower[:, None] + w] = math.inf
        joining[:, : n + 1 - w] = np.where(np.isnan(up), math.inf, up)
        joining[:, n + 1 - w :] = -math.inf
        joining = np.maximum.accumulate(joining[:, ::-1], axis=1)[:, ::-1]
        return np.minimum.accumulate(leaving, axis=1), joining

    def roots(self, domain: Domain) -> Nodes:
        """One node for every choice of how many components of every class are empty: the first ones, by renaming."""
        root = self.root
        may = [np.flatnonzero((root.classes == c) & (domain.low == 0)) for c in np.unique(root.classes)]
        room(math.prod(len(m) + 1 for m in may), root.N * root.K, each=1)
        pulled = root.prior_weight > 0
        lo = np.where(pulled, np.minimum(self.x.min(axis=1), root.prior_mean), self.x.min(axis=1))
        hi = np.where(pulled, np.maximum(self.x.max(axis=1), root.prior_mean), self.x.max(axis=1))
        lo, hi = (np.clip(end, root.mean_lower, root.mean_upper) for end in (lo, hi))
        nodes = []
        for counts in itertools.product(*(range(len(m) + 1) for m in may)):
            empty = np.concatenate([m[:c] for m, c in zip(may, counts, strict=True)]).astype(np.int64)
            if len(empty) == root.K:
                continue
            a, b, allowed = np.maximum(domain.low, 1), domain.high.copy(), domain.allowed.T.copy()
            a[empty] = b[empty] = 0
            allowed[empty] = False
            nodes.append((lo, hi, a, b, allowed, False))
        return Nodes(*(np.stack(part) for part in zip(*nodes, strict=True)))

    def narrow(self, nodes: Nodes) -> None:
        """Draw all conclusions; nodes in which nothing below the target is left are closed."""
        left = np.full(len(nodes.closed), math.inf)
        rows = np.flatnonzero(~nodes.closed)
        for _ in range(ROUNDS):
            some = nodes.take(rows)
            self._propagate(some)
            self._means(some)
            self._ordered(some)
            near, far = self._distances(some)
            self._exchange(some, near, far)
            self._propagate(some)
            self._bound(some, near, far)
            some.closed |= ((some.lo > some.hi).any(axis=2) & (some.b > 0)).any(axis=1)
            some.closed |= ~(some.candidates() > 0).all(axis=1)
            nodes.put(rows, some)
            width = ((some.hi - some.lo) * (some.b > 0)[:, :, None]).sum(axis=(1, 2))
            size = width + (some.candidates() > 1).sum(axis=1)
            again = ~some.closed & (size <= SHRINKS * left[rows])
            left[rows] = size
            rows = rows[again]
            if not len(rows):
                return

    # -- conclusions that hold for every clustering in a node ------------------------------------------------------
    def _propagate(self, s: Nodes) -> None:
        root = self.root
        while True:
            before = s.allowed.sum(), s.a.sum(), s.b.sum()
            if len(self.tied):
                inside = (s.allowed & (s.candidates() == 1)[:, None])[:, :, self.tied]
                s.allowed[:, :, self.tied] &= ~(inside.astype(np.float32) @ self.apart > 0)
            for g, then, k in root.implications.tolist():
                s.allowed[:, k, g] &= s.allowed[:, k, then]
                only = s.allowed[:, k, g] & (s.allowed[:, :, g].sum(axis=1) == 1)
                s.allowed[:, :, then] &= ~only[:, None] | (np.arange(root.K) == k)
            for groups, coefficient, k, low, high in root.counts:
                self._count(s, groups, coefficient.astype(np.float64), k, np.array(low), np.array(high))
            free = s.allowed & (s.candidates() > 1)[:, None]
            most = (s.allowed * self.w).sum(axis=2).astype(np.int64)
            a = np.maximum(s.a, most - (free * self.w).sum(axis=2).astype(np.int64))
            b = np.minimum(s.b, most)
            s.a = np.maximum(a, root.n - (b.sum(axis=1, keepdims=True) - b))
            s.b = np.minimum(b, root.n - (a.sum(axis=1, keepdims=True) - a))
            for k in range(root.K):
                self._count(s, slice(None), self.w, k, s.a[:, k, None], s.b[:, k, None])
            s.closed |= (s.a > s.b).any(axis=1) | ~(s.candidates() > 0).all(axis=1)
            if (s.allowed.sum(), s.a.sum(), s.b.sum()) == before:
                return

    def _count(self, s: Nodes, groups: Any, coefficient: Array, k: int, low: Array, high: Array) -> None:
        """Between ``low`` and ``high`` of these groups, counted so, are in component k."""
        allowed = s.allowed[:, k, groups]
        free = allowed & (s.allowed[:, :, groups].sum(axis=1, dtype=np.int16) > 1)
        most = (allowed * coefficient).sum(axis=1, keepdims=True)
        least = most - (free * coefficient).sum(axis=1, keepdims=True)
        s.closed |= ((least > high) | (most < low))[:, 0]
        s.allowed[:, k, groups] &= ~(free & (least + coefficient > high))
        needed = free & (most - coefficient < low)
        if needed.any():
            for other in np.delete(np.arange(self.root.K), k):
                s.allowed[:, other, groups] &= ~needed

    def _means(self, s: Nodes) -> None:
        root, widen = self.root, gamma(2 * self.root.N + 64) * self.largest
        decided = s.candidates() == 1
        for k in range(root.K):
            certain, free = s.allowed[:, k] & decided, s.allowed[:, k] & ~decided
            certain = certain * self.w
            sure, totals = certain.sum(axis=1), certain @ self.x[k] + self.prior[k]
            few, many = (np.maximum(end[:, k] - sure, 0.0) for end in (s.a, s.b))
            there = s.a[:, k] > 0
            for j in range(root.d):
                order = self.order[k, :, j]
                x, w = self.x[k, order, j], free[:, order] * self.w[order]
                full, total = sure + root.prior_weight[k, j], totals[:, j]
                low = _least_mean(x, w, full, total, few, many) - widen
                high = widen - _least_mean(-x[::-1], w[:, ::-1], full, -total, few, many)
                low, high = (
                    np.clip(end, root.mean_lower[k, j], root.mean_upper[k, j]) for end in (low, high)
                )
                s.lo[there, k, j] = np.maximum(s.lo[:, k, j], low)[there]
                s.hi[there, k, j] = np.minimum(s.hi[:, k, j], high)[there]

    def _ordered(self, s: Nodes) -> None:
        j, classes = self.axis, self.root.classes
        for c in np.unique(classes):
            alike = np.flatnonzero(classes == c)
            used = s.b[:, alike] > 0
            low = np.where(used, s.lo[:, alike, j], -math.inf)
            high = np.where(used, s.hi[:, alike, j], math.inf)[:, ::-1]
            s.lo[:, alike, j] = np.where(used, np.maximum.accumulate(low, axis=1), s.lo[:, alike, j])
            s.hi[:, alike, j] = np.where(
                used, np.minimum.accumulate(high, axis=1)[:, ::-1], s.hi[:, alike, j]
            )

    def _distances(self, s: Nodes) -> tuple[Array, Array]:
        """(M, K, N): the least and the largest w/2 |x - mu|^2 over the boxes."""
        near, far = np.zeros((2, *s.allowed.shape))
        for j in range(self.root.d):
            under, over = s.lo[:, :, j, None] - self.x[:, :, j], self.x[:, :, j] - s.hi[:, :, j, None]
            far += np.minimum(under, over) ** 2
            near += np.maximum(np.maximum(under, over), 0.0) ** 2
        return near * (0.5 * self.w), far * (0.5 * self.w)

    # -- what is true of an optimal clustering only ----------------------------------------------------------------
    def _exchange(self, s: Nodes, near: Array, far: Array) -> None:
        root, w = self.root, self.w
        open_groups = (s.candidates() > 1) & self.single & ~s.closed[:, None]
        if not open_groups.any():
            return
        a, b = np.clip(s.a, 0, root.n)[:, :, None], np.clip(s.b, 0, root.n)[:, :, None]
        less = more = 1.0
        if self.plain:
            less, more = b / np.maximum(b - w, 1.0) * (b > w) + (b <= w), b / (b + w)
        leaving = self.leaving[self.weight_of, np.arange(root.K)[:, None], b]
        joining = self.joining[self.weight_of, np.arange(root.K)[:, None], a]
        fits = s.allowed & ((b + w <= root.size_upper[:, None]) | (root.size_upper >= root.n)[:, None])
        gain = (near * less + self.scatter) * (1 - self.outward) + leaving
        price = np.where(fits, (far * more + self.scatter) * (1 + self.outward) + joining, math.inf)
        first = price.argmin(axis=1)[:, None]
        cheapest = np.take_along_axis(price, first, axis=1)
        np.put_along_axis(price, first, math.inf, axis=1)
        other = np.where(np.arange(root.K)[:, None] == first, price.min(axis=1)[:, None], cheapest)
        alone = (near > 0) & self.plain & (root.size_lower <= 1)[:, None]
        keeps = (a - w >= root.size_lower[:, None]) | alone
        pays = gain - other > self.outward * (np.abs(gain) + np.abs(other) + np.abs(joining))
        pays &= np.isfinite(gain) & np.isfinite(other)
        s.allowed &= ~(pays & keeps & open_groups[:, None])

    # -- the bound and what follows from it ------------------------------------------------------------------------
    def _line(self, k: int, a: int, b: int) -> tuple[float, float]:
        """``(alpha, beta)`` with entropy >= alpha + beta m on a..b; alpha is infinite when no such size is possible."""
        if (k, a, b) not in self._lines:
            h, n = self.root.entropy[k], self.root.n
            first, last = (a, b) if b > a else (max(a - 1, 0), min(a + 1, n))  # for one size: the local slope
            rise = float(h[last] - h[first]) / max(1, last - first)
            beta = rise if math.isfinite(rise) else 0.0
            here = h[a : b + 1]
            size = float(np.abs(here[np.isfinite(here)]).max(initial=0.0)) + abs(beta) * b
            self._lines[k, a, b] = float((here - beta * np.arange(a, b + 1.0)).min()) - 8 * UNIT * size, beta
        return self._lines[k, a, b]

    def _bound(self, s: Nodes, near: Array, far: Array) -> None:
        root, (M, K) = self.root, s.a.shape
        ends = zip(itertools.cycle(range(K)), s.a.ravel().tolist(), s.b.ravel().tolist())
        lines = [self._line(k, a, b) if a <= b else (math.inf, 0.0) for k, a, b in ends]
        alpha, beta = np.array(lines).reshape(M, K, 2).transpose(2, 0, 1)
        s.closed |= np.isinf(alpha).any(axis=1)
        number = s.candidates()
        decided = (number == 1)[:, None]
        slope = beta[:, :, None] * self.w
        base, size = slope + self.scatter, np.abs(slope) + self.scatter
        low = np.where(s.allowed, near + base - self.outward * (near + size), math.inf)
        f = low.argmin(axis=1)[:, None]
        mine = np.arange(K)[:, None] == f
        least = np.take_along_axis(low, f, axis=1)
        second = np.where(mine, math.inf, low).min(axis=1)[:, None]
        top = np.take_along_axis(far + base + self.outward * (far + size), f, axis=1)
        theta = np.where(decided | (top <= second), 1.0, (second - least) / (top - least) * (1 - 8 * UNIT))
        theta = np.where(mine & (theta > 0), np.minimum(theta, 1.0), 0.0)
        share = theta.max(axis=1, keepdims=True)
        rest = np.where(share < 1, (1 - share) * least, 0.0)
        pulled = theta * self.w
        A = pulled.sum(axis=2)[:, :, None] + root.prior_weight
        B, C = np.empty((2, *A.shape))
        for k in range(K):
            B[:, k] = pulled[:, k] @ self.x[k] + self.prior[k]
            C[:, k] = 0.5 * (pulled[:, k] @ self.x[k] ** 2) + 0.5 * self.prior[k] * root.prior_mean[k]
        value, sizes = least_quadratic(A, B, C, np.minimum(s.lo, s.hi), s.hi) * (s.b > 0)[:, :, None]
        own = (theta * base).sum(axis=1, keepdims=True) + rest
        terms = np.abs(alpha).sum(axis=1) + sizes.sum(axis=(1, 2)) + np.abs(rest).sum(axis=(1, 2))
        terms += (theta * size).sum(axis=(1, 2))
        bound = alpha.sum(axis=1) + own.sum(axis=(1, 2)) + value.sum(axis=(1, 2))
        bound = bound - gamma(root.N + K * (root.d + 1) + 40) * terms
        bound = np.where(np.isnan(bound), -math.inf, bound)
        s.closed |= bound >= self.target
        if (number > 1).any() and not s.closed.all():
            self._lift(s, bound, (slope, own, theta, mine, value.sum(axis=2)[:, :, None]), (A, B, C))
        self._tighten(s, bound, A, B)

    def _tighten(self, s: Nodes, bound: Array, A: Array, B: Array) -> None:
        gap = np.maximum(self.target - bound, 0.0)[:, None, None]
        vertex = B / A
        reach = np.sqrt(2 * gap / A + (np.clip(vertex, s.lo, s.hi) - vertex) ** 2) * (1 + 1e-9)
        reach += 8 * gamma(self.root.N + 16) * self.largest
        good = (A > 0) & np.isfinite(reach) & (s.a > 0)[:, :, None]
        s.lo = np.where(good, np.maximum(s.lo, vertex - reach), s.lo)
        s.hi = np.where(good, np.minimum(s.hi, vertex + reach), s.hi)

    def _lift(self, s: Nodes, bound: Array, parts: tuple[Array, ...], quadratics: tuple[Array, ...]) -> None:
        """Remove candidates that lift the bound to the target; ``own`` is what a group pays in it without a square."""
        slope, own, theta, mine, value = parts
        w, lo, hi = self.w, np.minimum(s.lo, s.hi), s.hi
        without, forced = np.zeros((2, *s.allowed.shape))
        for out, share in ((without, -theta), (forced, 1.0 - theta)):
            add = share * w
            for j in range(self.root.d):
                x = self.x[:, :, j]
                a, b, c = (array[:, :, j, None] for array in quadratics)
                a, b, c = np.maximum(a + add, 0.0), b + add * x, c + 0.5 * add * x * x
                at = np.clip(np.where(a > 0, b / a, 0.0), lo[:, :, j, None], hi[:, :, j, None])
                out += (0.5 * a * at - b) * at + c
        gone = np.where(mine, without - value, 0.0).sum(axis=1, keepdims=True)
        lifted = forced - value + np.where(mine, 0.0, gone) + (slope + self.scatter) - own
        widest = np.maximum(np.abs(lo), np.abs(hi))
        A, _, C = quadratics
        terms = (0.5 * A * widest**2 + np.sqrt(2 * A * C) * widest + C).sum(axis=(1, 2))
        far = w * ((widest.max(axis=1)[:, :, None] + np.abs(self.x).max(axis=0).T) ** 2).sum(axis=1)
        size = (
            np.abs(slope)
            + self.scatter
            + np.abs(own)
            + np.abs(value).sum(axis=1, keepdims=True)
            + 4 * far[:, None]
        )
        whole = bound - gamma(64) * np.abs(bound) - 4 * gamma(self.root.N + self.root.d + 64) * terms
        s.allowed &= ~(whole[:, None, None] + lifted - gamma(self.root.d + 64) * size >= self.target)


def _least_mean(x: Array, w: Array, full: Array, total: Array, few: Array, many: Array) -> Array:
    """The least ``(total + sum) / (full + m)`` over ``few <= m <= many`` samples of candidates, x increasing."""
    rows, last = np.arange(len(w)), len(x) - 1
    taken, summed = np.cumsum(w, axis=1), np.cumsum(w * x, axis=1)
    at = (total[:, None] + summed) / (full[:, None] + taken)
    at[(taken < few[:, None]) | (taken > many[:, None])] = math.inf
    best = at.min(axis=1)
    for m in (few, many):
        place = np.minimum((taken < m[:, None]).sum(axis=1), last)
        part = np.where(m > 0, summed[rows, place] - (taken[rows, place] - m) * x[place], 0.0)
        best = np.minimum(best, (total + part) / (full + m))
    return np.where(np.isnan(best), -math.inf, best)


def boxes(root: Root, domain: Domain, evidence: Evidence, target: float) -> float:
    """Check a tree of boxes, given level by level from left to right; the target, if nothing below it is left."""
    kind = evidence.integers("kind", None, low=LEAF, high=GROUP)
    component = evidence.integers("component", len(kind), low=0, high=root.K - 1)
    index = evidence.integers("index", len(kind), low=0, high=max(root.N, root.d, root.n))
    at = evidence.floats("at", len(kind))
    if not math.isfinite(target):
        raise Rejected("a tree of boxes does not prove that nothing is feasible")
    tree = Boxes(root, math.nextafter(target + root.error, math.inf), evidence.whole("axis", 0, root.d - 1))
    step, position = max(1, WORK // (root.N * root.K)), 0
    level = [tree.roots(domain)]
    while level:
        below: list[Nodes] = []
        parts = (part.take(slice(i, i + step)) for part in level for i in range(0, len(part.closed), step))
        for nodes in parts:
            here = slice(position, position + len(nodes.closed))
            position = here.stop
            if position > len(kind):
                raise Rejected("a tree of boxes ends before its leaves")
            inner = kind[here] != LEAF
            tree.narrow(nodes)
            if not (inner | nodes.closed).all():
                entry = here.start + int(np.flatnonzero(~(inner | nodes.closed))[0])
                raise Rejected(f"entry {entry} of the tree of boxes is a leaf in which something is left")
            if inner.any():
                codes = (array[here][inner] for array in (kind, component, index, at))
                below.append(_split(root, nodes.take(inner), *codes))
        level = below
        room(sum(len(nodes.closed) for nodes in level), root.N * root.K + 64, each=1)
    if position != len(kind):
        raise Rejected("a tree of boxes goes on after its leaves")
    return target


def _split(root: Root, s: Nodes, kind: Array, k: Array, index: Array, at: Array) -> Nodes:
    """Both children of every node, beside each other."""
    child, first = s.take(np.repeat(np.arange(len(kind)), 2)), 2 * np.arange(len(kind))
    i = kind == MEAN
    if (index[i] >= root.d).any() or (s.a[i, k[i]] < 1).any():
        raise Rejected("a tree of boxes cuts a mean that is not there")
    child.hi[first[i], k[i], index[i]] = np.minimum(s.hi[i, k[i], index[i]], at[i])
    child.lo[first[i] + 1, k[i], index[i]] = np.maximum(s.lo[i, k[i], index[i]], at[i])
    i = kind == SIZE
    child.b[first[i], k[i]] = np.minimum(s.b[i, k[i]], index[i])
    child.a[first[i] + 1, k[i]] = np.maximum(s.a[i, k[i]], index[i] + 1)
    i = kind == GROUP
    if (index[i] >= root.N).any():
        raise Rejected("a tree of boxes decides about a group that is not there")
    only = np.arange(root.K) == k[i, None]
    child.allowed[first[i], :, index[i]] &= only
    child.allowed[first[i] + 1, :, index[i]] &= ~only
    return child
