"""The step ``lagrangian``: a bound from multipliers T and prices psi (docs/certificates.md, lagrangian)."""

from __future__ import annotations

import copy
import itertools
import math
from dataclasses import dataclass, field, replace

import numpy as np

from certmix.verify.boxes import GROUP, LEAF, MEAN, SIZE, follow
from certmix.verify.domain import Domain, Side
from certmix.verify.evidence import Evidence, Rejected, room
from certmix.verify.narrowing import Boxes, Nodes
from certmix.verify.root import Root
from certmix.verify.rounding import UNIT, Array, below, gamma, least_quadratic, total_below
from certmix.verify.trios import Trios


@dataclass
class Pricing:
    """The sets S that one component may hold, at r(S) = c(S) - sum of T over S + prices of trios."""

    root: Root  # of this component and its candidates alone; its sizes begin at one: the empty set is priced apart
    groups: Array  # which groups the candidates are
    forced: Array  # which of them are surely in
    multipliers: Array
    trios: Trios = field(default_factory=Trios)

    @classmethod
    def of(
        cls, root: Root, domain: Domain, k: int, multipliers: Array, pairs: Array, trios: Trios | None = None
    ) -> Pricing:
        """For component k of a domain, with pairs of groups that are apart and prices of trios."""
        groups = np.flatnonzero(domain.allowed[:, k])
        forced = domain.decided[groups]
        position = np.full(root.N, -1)
        position[groups] = np.arange(len(groups))
        both = position[pairs].reshape(-1, 2)
        both = both[(both >= 0).all(axis=1)]
        own = copy.copy(root)
        own.K, own.N, own.weight, own.mass = 1, len(groups), root.weight[groups], root.mass[groups]
        own.points, own.scatter = root.points[k : k + 1, groups], root.scatter[k : k + 1, groups]
        for name in ("prior_weight", "prior_mean", "mean_lower", "mean_upper", "entropy"):
            setattr(own, name, getattr(root, name)[k : k + 1])
        own.conflicts = both[~forced[both].any(axis=1)]
        own.implications, own.counts = root.implications[:0], []
        # Where only the other components limit the size, larger sets are priced too, so that a group can always join.
        others = int(domain.low.sum() - domain.low[k])
        lifted = domain.high[k] >= root.n - others and root.size_upper[k] >= root.n
        own.size_lower = np.maximum(domain.low[k : k + 1], 1)
        own.size_upper = np.array([root.n]) if lifted else domain.high[k : k + 1]
        return cls(own, groups, forced, multipliers[groups], (trios or Trios()).among(position))

    def boxes(self, psi: float = math.inf) -> Boxes:
        return Boxes(self.root, psi, multipliers=self.multipliers, trios=self.trios)

    def node(self) -> Nodes:
        """The root of its trees: sets that hold a group that is surely in, or two samples."""
        least = np.maximum(self.root.size_lower, 1 if self.forced.any() else 2)
        allowed = np.stack([np.ones_like(self.forced), ~self.forced])
        parts = (np.array(0), *self.boxes().box(), least, self.root.size_upper, allowed, np.array(-math.inf))
        return Nodes(*(part[None].copy() for part in parts))

    def single_samples(self) -> Array:
        """(N,): the least prices of the other sets, of one sample each; infinite where there is none."""
        c, one, h = self.root, self.root.weight == 1, float(self.root.entropy[0, 1])
        found = np.full(c.N, math.inf)
        if c.size_lower[0] > 1 or self.forced.any():
            return found
        x, w, prior, m = c.points[0, one], c.mass[one], c.prior_weight[0], c.prior_mean[0]
        square = 0.5 * (w * x * x + prior * m * m)
        value, size = least_quadratic(w + prior, w * x + prior * m, square, c.mean_lower[0], c.mean_upper[0])
        own, t = c.scatter[0, one], self.multipliers[one]
        lost = gamma(c.d + 40) * (size.sum(axis=1) + np.abs(own) + np.abs(t) + abs(h))
        # What is not a number proves nothing.
        found[one] = np.fmax(value.sum(axis=1) + own - t + h - lost, -math.inf)
        return found


def priced_tree(pricing: Pricing, axis: Array, cut: Array) -> tuple[Array, ...]:
    """A pricing tree as one of boxes: kinds, components, indices and places of its cuts.

    ``axis`` says what is cut: -1 nothing, 0 .. d-1 a coordinate, d the size, d+1+g group g; ``cut`` where, for
    coordinates and sizes.
    """
    d, at = pricing.root.d, np.zeros(len(axis))
    cuts = (axis != LEAF) & (axis <= d)
    if len(cut) != cuts.sum():
        raise Rejected(f"a pricing tree has {len(cut)} numbers for {cuts.sum()} cuts")
    at[cuts] = cut
    group = axis - d - 1
    if not np.isin(group[group >= 0], pricing.groups).all():
        raise Rejected("a pricing tree decides about a group that is no candidate")
    kinds = [axis == LEAF, axis < d, axis == d]
    size = np.floor(np.clip(at, -1.0, pricing.root.n + 1.0)).astype(np.int64)
    index = np.select(kinds, [0, axis, size], np.searchsorted(pricing.groups, group))
    return np.select(kinds, [LEAF, MEAN, SIZE], GROUP), np.zeros_like(index), index, at


def price(pricing: Pricing, axis: Array, cut: Array, psi: float) -> float:
    """What a pricing tree proves of every set, psi at most."""
    left = follow(pricing.boxes(psi), pricing.node(), *priced_tree(pricing, axis, cut))
    return float(min(psi, pricing.single_samples().min(initial=math.inf), left.bound.min(initial=math.inf)))


def pairs_apart(root: Root, domain: Domain, evidence: Evidence) -> Array:
    """Pairs of groups that may be treated as apart, if there are any: each group once, every pair a conflict."""
    if evidence.full("pairs") not in evidence.arrays:
        return np.zeros((0, 2), dtype=np.int64)
    pairs = evidence.integers("pairs", None, 2, low=0, high=root.N - 1)
    if len(np.unique(pairs)) != pairs.size:
        raise Rejected("a group stands twice in the pairs")
    if not {tuple(sorted(pair)) for pair in pairs.tolist()} <= set(map(tuple, domain.apart.tolist())):
        raise Rejected("two groups are called apart that are not")
    return pairs


@dataclass(frozen=True)
class Cell:
    """Where a mean may lie between planes, (d,) each, and which planes it is on the left of."""

    lo: Array
    hi: Array
    left: Array

    def of(self, pricing: Pricing) -> Pricing:
        """The sets whose best mean lies there."""
        own = copy.copy(pricing.root)
        own.mean_lower = np.maximum(own.mean_lower, self.lo)
        own.mean_upper = np.minimum(own.mean_upper, self.hi)
        return replace(pricing, root=own)

    def less(self, psi: float, prices: Array) -> float:
        """A double that is not above psi less the prices of the planes that the cell is on the left of."""
        return below(math.fsum([psi, *(-prices[self.left]).tolist()]), 0.0) if math.isfinite(psi) else psi


def cells(sides: tuple[Side, ...], d: int) -> list[Cell]:
    """All of space, cut by the planes; the last coordinate varies fastest."""
    cuts = [sorted({side.at for side in sides if side.axis == j}) for j in range(d)]
    room(math.prod(len(cut) + 1 for cut in cuts), 64)
    ends = [list(itertools.pairwise([-math.inf, *cut, math.inf])) for cut in cuts]
    found = []
    for box in itertools.product(*ends):
        lo, hi = np.array(box).T
        found.append(Cell(lo, hi, np.array([hi[side.axis] <= side.at for side in sides], dtype=bool)))
    return found


def limits(sides: tuple[Side, ...]) -> Array:
    """The least number of components on the left of every plane, or the largest."""
    return np.array([side.least - (not side.left) for side in sides], dtype=np.float64)


def combine(
    root: Root, multipliers: Array, prices: list[tuple[int, float]], more: tuple[float, ...] = ()
) -> float:
    """``sum T + sum count * psi`` and ``more``, less all rounding; ``prices`` are (count, psi)."""
    if any(math.isinf(psi) for _, psi in prices):
        return math.inf if all(psi > 0 for _, psi in prices if math.isinf(psi)) else -math.inf
    terms = [total_below(multipliers), *(count * psi for count, psi in prices), *more]
    return below(math.fsum(terms), root.error + 4 * UNIT * sum(abs(x) for x in terms))


def lagrangian(root: Root, domain: Domain, evidence: Evidence, target: float) -> float:
    """Check the pricing trees and return the bound; the domain is not narrowed."""
    multipliers, pairs = evidence.floats("multipliers", root.N), pairs_apart(root, domain, evidence)
    sets, between = domain.exchangeable(root), cells(domain.sides, root.d)
    claims = evidence.floats("psi", len(sets) * len(between))
    worth = evidence.floats("sides", len(domain.sides)) if domain.sides else np.zeros(0)
    trios = Trios.read(root, evidence)
    if any(price != 0 and (price > 0) != side.left for price, side in zip(worth, domain.sides, strict=True)):
        raise Rejected("the price of a side has the wrong sign")
    prices = []
    for i, members in enumerate(sets):
        k = int(members[0])
        psi = float(root.entropy[k, 0]) if domain.low[k] == 0 else math.inf
        if domain.high[k] > 0:
            pricing = Pricing.of(root, domain, k, multipliers, pairs, trios)
            for number, cell in enumerate(between, i * len(between)):
                axis = evidence.integers(f"axis/{number}", None, low=LEAF, high=root.d + root.N)
                cut = evidence.floats(f"cut/{number}", None)
                psi = min(psi, cell.less(price(cell.of(pricing), axis, cut, float(claims[number])), worth))
        prices.append((len(members), psi))
    more = (*(worth * limits(domain.sides)).tolist(), *(-trios.prices * trios.limits).tolist())
    return combine(root, multipliers, prices, more)
