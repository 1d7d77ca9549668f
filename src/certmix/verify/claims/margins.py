"""What all clusterings below a target have in common: pairs that are together or apart, proved part by part.

Whatever was proved of pairs holds in every clustering below the target, so it joins the statement as links. A part
either bounds the problem with the opposite of one pair more, or walks a tree in which every leaf reaches the target or
has the pairs together already (docs/certificates.md, Margins).
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from certmix.verify.boxes import leaves
from certmix.verify.claims.prices import by_prices
from certmix.verify.domain import Domain
from certmix.verify.enumeration import enumerate_all
from certmix.verify.evidence import Document, Evidence, Rejected, number, rows
from certmix.verify.proof import STEPS, Proof
from certmix.verify.root import Root, groups_of
from certmix.verify.rounding import UNIT, Array
from certmix.verify.semidefinite import semidefinite
from certmix.verify.statement import Statement, data_digest, digest, read
from certmix.verify.tree import Kinds

# What these exclude costs the target or more; no argument about the best clustering takes anything from a domain.
FOR_ALL: Kinds = {"enumerate": enumerate_all, "semidefinite": semidefinite}
# Bounds in the coordinates of the root: what a move leads to may cost less there than without relaxation.
IN_COORDINATES: Kinds = {**STEPS, "enumerate": partial(enumerate_all, relaxed=True)}


def proved(whole: Proof, most: float) -> str:
    """Pairs that are together, or apart, in every clustering within so many nats of the one that is given."""
    within = number(whole.document.get("within"), "within")
    if within < 0.0:
        raise Rejected("it is about less than nothing")
    cutoff = math.nextafter(most + within, math.inf)
    chain, least = Chain(whole.entry, whole.stated), -math.inf
    for t, part in enumerate(whole.parts):
        pairs, at_once = chain.pairs(part.get("pairs")), part.get("settled") is True
        if whole.stated.unknown and (at_once or len(pairs) == 0):
            raise Rejected(f"part {t} is about a known variance, but the variance is unknown")
        if len(pairs) == 0:  # nothing costs less: what the next part may use
            least = number(part.get("bound"), "bound")
            whole.inside(t, chain.statement()).walk(least, IN_COORDINATES)
            continue
        if at_once:
            bound = number(part.get("bound"), "bound")
            _settled(whole.inside(t, chain.statement()), chain, pairs, least, bound)
        elif len(pairs) != 1:
            raise Rejected(f"part {t} is not about one pair")
        else:
            bound = whole.part(t, chain.statement(pairs[0]), empty=True)
        if not bound > cutoff:
            raise Rejected(f"the bound {bound!r} of part {t} is not above {cutoff!r}, {within!r} nats more")
        least = -math.inf
        chain.add(pairs)
    claimed = chain.pairs(whole.document.get("pairs"))
    if not chain.follows(claimed):
        raise Rejected("a pair that it claims does not follow from its parts")
    i, j, are_together = claimed.T
    labels = whole.evidence.integers("incumbent/labels", whole.stated.n)
    if ((labels[i] == labels[j]) != are_together).any():
        raise Rejected("a pair that it claims is not so in its own clustering")
    together, (name, unit) = int(claimed[:, 2].sum()), whole.stated.words
    above, near = whole.stated.told(most, math.inf), whole.stated.told(within, -math.inf)
    return (
        f"the clustering has {name} {above:.10g}, and in every clustering within {near:.10g}{unit} of it "
        f"{together} pairs of samples are together and {len(claimed) - together} apart"
    )


def _settled(inside: Proof, chain: Chain, pairs: Array, least: float, bound: float) -> None:
    """A tree in whose leaves all pairs are together, or everything reaches the bound of the part."""
    known = inside.checking.known
    if known and (chain.digest(pairs, least), data_digest(inside.data), bound) in known:
        return

    def by_boxes(root: Root, domain: Domain, evidence: Evidence, target: float) -> float:
        if not boxed(root, pairs, least, domain, evidence, target).all():
            raise Rejected("in a leaf of the tree of boxes a pair is not together")
        return target

    def priced(root: Root, domain: Domain, evidence: Evidence, target: float) -> float:
        if not by_prices(root, domain, evidence, target, together_groups(root, pairs)).all():
            raise Rejected("a set that tears a pair may cost less than its price and its share")
        return target

    inside.walk(bound, {**FOR_ALL, "boxes": by_boxes, "prices": priced}, partial(settled, pairs))


def with_links(entry: Document) -> dict[str, Any]:
    """A statement with its links as they are written: to the first of every group; pairs that are apart, in order."""
    group = groups_of(read(entry))
    first = np.unique(group, return_index=True)[1][group].tolist()
    links = [[k, i] for i, k in enumerate(first) if k != i]
    apart = [list(pair) for pair in sorted({(min(pair), max(pair)) for pair in entry["apart"]})]
    return {**entry, "together": links, "apart": apart}


class Chain:
    """The statement with all that was proved of pairs so far."""

    def __init__(self, whole: Document, stated: Statement) -> None:
        self._whole, self._n = whole, stated.n
        self._rules = {name: list(whole[name]) for name in ("together", "apart")}

    def pairs(self, given: Any) -> Array:
        """(m, 3): two samples, and whether they are together (1) or apart (0)."""
        sample = (0, self._n - 1)
        return rows(given, sample, sample, (0, 1))

    def statement(self, opposite: Array | None = None) -> dict[str, Any]:
        """The statement; with the opposite of a pair, if there is one. Links are those to the first of every group."""
        rules = {name: list(links) for name, links in self._rules.items()}
        if opposite is not None:
            i, j, together = opposite.tolist()
            rules["apart" if together else "together"].append([i, j])
        return with_links({**self._whole, **rules})

    def add(self, pairs: Array) -> None:
        for i, j, together in pairs.tolist():
            self._rules["together" if together else "apart"].append([i, j])

    def digest(self, pairs: Array, least: float) -> str:
        """Of the statement, of pairs that are settled at once, and of what nothing costs less than."""
        return digest({**self.statement(), "settled": pairs.tolist(), "least": repr(least)})

    def follows(self, pairs: Array) -> bool:
        """Whether links, known labels and what was proved have these pairs together, or apart."""
        s = read(self.statement())
        group = groups_of(s)
        apart = {frozenset(pair) for pair in group[s.apart].tolist()}
        label = {int(group[i]): k for i, k in s.labels.tolist()}

        def known(i: int, j: int, together: int) -> bool:
            labelled = i in label and j in label
            if together:
                return i == j or (labelled and label[i] == label[j])
            return frozenset((i, j)) in apart or (labelled and label[i] != label[j])

        a, b = group[pairs[:, 0]], group[pairs[:, 1]]
        return all(map(known, a.tolist(), b.tolist(), pairs[:, 2].tolist()))


def settled(pairs: Array, root: Root, domain: Domain) -> bool:
    """Whether all pairs are together in everything that a domain holds."""
    return bool(_together(root, pairs, domain.allowed).all())


def boxed(root: Root, pairs: Array, least: float, domain: Domain, evidence: Evidence, target: float) -> Array:
    """Which pairs are together in everything below the target, by a tree of boxes; nothing costs less than ``least``.

    ``least`` was proved in the coordinates of the same root. What costs less than the target costs less than that and
    ``root.error`` there, so it saves no more by a move than these less ``least``.
    """
    rounding = 16 * UNIT * (abs(target) + abs(least) + root.error)
    left = leaves(root, domain, evidence, target, max(0.0, target + root.error - least) + rounding)
    found = np.ones(len(pairs), dtype=bool)
    for allowed in left.allowed:
        found &= _together(root, pairs, allowed.T)
    return found


def together_groups(root: Root, pairs: Array) -> Array:
    """(m, 2): the groups of pairs that are together."""
    if not (pairs[:, 2] == 1).all():
        raise Rejected("a tree settles pairs that are together only")
    return np.asarray(root.group[pairs[:, :2]])


def _together(root: Root, pairs: Array, allowed: Array) -> Array:
    """Of every pair, whether both have one candidate left, the same one, or are in one group."""
    a, b = together_groups(root, pairs).T
    one = allowed.sum(axis=1) == 1
    same = one[a] & (allowed[a] == allowed[b]).all(axis=1)
    return np.asarray(same | (a == b))
