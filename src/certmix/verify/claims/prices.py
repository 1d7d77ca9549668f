"""Pairs that are together in every clustering below a target, by the prices of sets (docs/certificates.md, Margins).

With multipliers T every clustering costs at least sum T + sum psi, and more by what its sets cost above their prices.
Where two samples are apart, the set of either has one of them without the other. If every such set costs e more than
its price, the clustering costs 2 e more than the sum.
"""

from __future__ import annotations

import math

import numpy as np

from certmix.verify.boxes import follow
from certmix.verify.domain import Domain
from certmix.verify.evidence import Evidence, Rejected
from certmix.verify.lagrangian import Pricing, checked_pairs, combine, priced_tree
from certmix.verify.narrowing import Boxes, Nodes
from certmix.verify.root import Root
from certmix.verify.rounding import UNIT, Array, gamma


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
        self.boxes = Boxes(pricing.root, self.target, multipliers=pricing.multipliers, allowance=allowance)
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
    multipliers, apart = evidence.floats("multipliers", root.N), np.zeros((0, 2), dtype=np.int64)
    if evidence.full("pairs") in evidence.arrays:
        apart = checked_pairs(root, domain, evidence.integers("pairs", None, 2, low=0, high=root.N - 1))
    psi = evidence.floats("psi", len(domain.exchangeable(root)))
    together = np.ones(len(pairs), dtype=bool)
    for i, sets in enumerate(torn_sets(root, domain, multipliers, apart, psi, pairs, target)):
        if sets is None:
            continue
        axis = evidence.integers(f"axis/{i}", None, low=-1, high=root.d + root.N)
        cheaper, torn = sets.cheap(sets.left(axis, evidence.floats(f"cut/{i}", None)))
        below, alone = sets.alone()
        if below or cheaper.any():
            raise Rejected(f"a set of price {i} may cost less than that")
        together &= ~(torn.any(axis=0) | alone)
    return together
