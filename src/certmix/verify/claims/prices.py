"""Pairs that are together in every clustering below a target, by the prices of sets (docs/certificates.md, Margins).

With multipliers T every clustering costs at least sum T + sum psi, and more by what its sets cost above their prices.
Where two samples are apart, the set of either has one of them without the other. If every such set costs e more than
its price, the clustering costs 2 e more than the sum.
"""

from __future__ import annotations

import math

import numpy as np

from certmix.verify.boxes import WORK, follow
from certmix.verify.domain import Domain
from certmix.verify.evidence import Evidence, Rejected
from certmix.verify.lagrangian import Pricing, combine, pairs_apart, priced_tree
from certmix.verify.narrowing import Boxes, Nodes
from certmix.verify.root import Root
from certmix.verify.rounding import UNIT, Array, gamma


class SetBoxes(Boxes):
    """Boxes of the sets of one component, and what they cost that are not the cheapest of a node."""

    def departures(self, nodes: Nodes) -> tuple[Array, Array, Array, Array]:
        """Of sets: (M,) bounds, (M, N) what they cost more at least with a group, and without it, (M,) whichever it is.

        A group that is in, or outside, for sure costs infinitely much elsewhere. Where the sizes of a node are not
        those of the cheapest choice, groups have to leave or to join: the cheapest ones, in parts at worst.
        """
        s = Nodes(*(array.copy() for array in vars(nodes).values()))
        s.bound[:] = -math.inf
        p, (may_join, may_leave) = self._pairs(s), s.allowed.transpose(1, 0, 2).copy()
        slope = self._chord(s.a, s.b)[1].T[:, :, None] * self.kinds
        low = (p.near + p.low + self._each(p, slope - self.outward * np.abs(slope)))[0]
        high = (p.far + p.high + self._each(p, slope + self.outward * np.abs(slope)))[0]
        self._bound(s, p)
        joining, leaving = np.where(may_join, 0.0, math.inf), np.where(may_leave, 0.0, math.inf)
        joining[p.node, p.group] = np.maximum(low, 0.0)
        # Who is apart from somebody leaves for nothing: the other may take its place.
        leaving[p.node, p.group] = np.where(self.single[p.group], np.maximum(-high, 0.0), 0.0)
        lacking = (
            nodes.a[:, 0] - (joining == 0) @ self.root.weight,
            (leaving > 0) @ self.root.weight - nodes.b[:, 0],
        )
        (more_in, joined), (more_out, left) = map(self._forced, (joining, leaving), lacking)
        return s.bound, joining + joined, leaving + left, np.maximum(more_in, more_out)

    def _forced(self, price: Array, needed: Array) -> tuple[Array, Array]:
        """(M,): what so many samples of groups that cost something cost at least; (M, N): beside each group."""
        rows = np.flatnonzero(needed > 0)
        each = np.where(price[rows] > 0, price[rows] / self.root.weight, math.inf)
        order = np.argsort(each, axis=1)
        each, w = np.take_along_axis(each, order, axis=1), self.root.weight[order]
        before = np.cumsum(w, axis=1) - w

        def cheapest(count: Array) -> Array:
            taken = np.clip(count[:, None] - before, 0.0, w)
            paid = np.where(taken > 0, each * taken, 0.0).sum(axis=1) * (1 - gamma(2 * self.root.N + 16))
            return np.where(count > self.root.weight.sum(), math.inf, paid)

        found, beside = np.zeros(len(needed)), np.zeros((len(needed), len(self.kinds)))
        found[rows] = cheapest(needed[rows])
        for i, own in enumerate(self.kinds.tolist()):
            beside[rows, i] = cheapest(needed[rows] - own)
        return found, beside[:, self.kind]


class Torn:
    """The sets of one component that have one group of a pair without the other, at a price and an excess.

    Attributes
    ----------
    boxes : narrows nodes in which sets cost less than psi + excess; these save no more than the excess by a move,
        for every set costs psi
    """

    def __init__(self, pricing: Pricing, pairs: Array, psi: float, excess: float) -> None:
        self.pricing, self.psi, self.excess = pricing, psi, excess
        self.target = math.nextafter(psi + excess, math.inf)
        allowance = excess + 8 * UNIT * (abs(psi) + excess)
        self.boxes = SetBoxes(pricing.root, self.target, multipliers=pricing.multipliers, allowance=allowance)
        # One place more is for groups that are no candidates: they are outside.
        place = np.full(int(max(pairs.max(initial=-1), pricing.groups.max(initial=-1))) + 1, pricing.root.N)
        place[pricing.groups] = np.arange(pricing.root.N)
        self.first, self.second = place[pairs].T

    def left(self, axis: Array, cut: Array, last: bool = True) -> Nodes:
        """The leaves of a pricing tree in which something below psi + excess may be left."""
        return follow(self.boxes, self.pricing.node(), *priced_tree(self.pricing, axis, cut), last=last)

    def cheap(
        self, nodes: Nodes, departures: tuple[Array, Array, Array, Array] | None = None
    ) -> tuple[Array, Array]:
        """Of nodes: whether a set may cost less than psi, and (M, pairs), less than psi + excess and tear a pair."""
        if not len(nodes.entry):
            return np.zeros(0, dtype=bool), np.zeros((0, len(self.first)), dtype=bool)
        with np.errstate(all="ignore"):  # what is not a number proves nothing
            bound, joining, leaving, sized = departures or self.boxes.departures(nodes)
            outside = np.full((len(bound), 1), math.inf), np.zeros((len(bound), 1))
            joining, leaving = (np.hstack(ends) for ends in zip((joining, leaving), outside, strict=True))
            i, j = self.first, self.second
            more = np.minimum(joining[:, i] + leaving[:, j], joining[:, j] + leaving[:, i])
            whole, more = np.fmax(bound, nodes.bound), np.fmax(more, sized[:, None])
            rounding = gamma(16) * (np.abs(bound)[:, None] + np.where(np.isfinite(more), more, 0.0))
            dear = (bound[:, None] + more - rounding >= self.target) | (whole >= self.target)[:, None]
            return ~(whole >= self.psi), ~dear

    def alone(self) -> tuple[bool, Array]:
        """The same of the sets of one sample."""
        value = np.append(self.pricing.single_samples(), math.inf)
        cheap = value < self.target
        return bool((value < self.psi).any()), cheap[self.first] | cheap[self.second]

    def torn(self, axis: Array, cut: Array) -> Array:
        """Which pairs a set may tear that costs less than psi + excess; rejected if one may cost less than psi."""
        nodes, (below, torn) = self.left(axis, cut), self.alone()
        step = max(1, WORK // (self.boxes.root.N + len(torn)))
        for first in range(0, len(nodes.entry), step):
            cheaper, cheap = self.cheap(nodes.take(slice(first, first + step)))
            below |= bool(cheaper.any())
            torn |= cheap.any(axis=0)
        if below:
            raise Rejected("a set may cost less than its price")
        return torn


def torn_sets(
    root: Root, domain: Domain, multipliers: Array, apart: Array, psi: Array, pairs: Array, target: float
) -> list[Torn | None]:
    """For every set of exchangeable components, its sets that tear pairs of groups; None where all are empty.

    Their excess is what two of them lack to the target at the prices psi.
    """
    sets, prices = domain.exchangeable(root), []
    for members, price in zip(sets, psi.tolist(), strict=True):
        k = int(members[0])
        least = float(root.entropy[k, 0]) if domain.low[k] == 0 else math.inf
        prices.append((len(members), min(least, price) if domain.high[k] > 0 else least))
    base = combine(root, multipliers, prices)
    if not math.isfinite(base):
        raise Rejected("its prices add up to nothing")
    excess = max(0.0, 0.5 * (target - base))
    excess += 4 * UNIT * (abs(target) + abs(base))
    return [
        Torn(Pricing.of(root, domain, int(m[0]), multipliers, apart), pairs, price, excess)
        if domain.high[m[0]] > 0
        else None
        for m, price in zip(sets, psi.tolist(), strict=True)
    ]


def by_prices(root: Root, domain: Domain, evidence: Evidence, target: float, pairs: Array) -> Array:
    """Which pairs of groups are together in everything that a domain has below the target."""
    if domain.sides:
        raise Rejected("pairs are not settled by prices below decisions about planes")
    multipliers, apart = evidence.floats("multipliers", root.N), pairs_apart(root, domain, evidence)
    psi = evidence.floats("psi", len(domain.exchangeable(root)))
    together = np.ones(len(pairs), dtype=bool)
    for i, sets in enumerate(torn_sets(root, domain, multipliers, apart, psi, pairs, target)):
        if sets is None:
            continue
        axis = evidence.integers(f"axis/{i}", None, low=-1, high=root.d + root.N)
        together &= ~sets.torn(axis, evidence.floats(f"cut/{i}", None))
    return together
