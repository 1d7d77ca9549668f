"""The step ``lagrangian``: a bound from multipliers T and prices psi (docs/certificates.md, lagrangian)."""

from __future__ import annotations

import math

import numpy as np

from certmix.verify.domain import Domain
from certmix.verify.evidence import Evidence, Rejected
from certmix.verify.pricing import LEAF, Pricing, price
from certmix.verify.root import Root
from certmix.verify.rounding import UNIT, Array, below, total_below

LARGEST = 1e100


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
    sets = domain.exchangeable(root)
    claims = evidence.floats("psi", len(sets))
    prices = []
    for i, members in enumerate(sets):
        k = int(members[0])
        psi = float(root.entropy[k, 0]) if domain.low[k] == 0 else math.inf
        if domain.high[k] > 0:
            pricing = Pricing.of(root, domain, k, multipliers, pairs)
            axis = evidence.integers(f"axis/{i}", None, low=LEAF, high=root.d + root.N)
            cut = evidence.floats(f"cut/{i}", None)
            found, place = price(pricing, axis, cut, float(claims[i]))
            if place >= 0:
                evidence.notes.append(
                    f"of pricing tree {i}, leaf {place} is at {found!r}, not at {claims[i]!r}"
                )
            psi = min(psi, found)
        prices.append((len(members), psi))
    return combine(root, multipliers, prices)
