"""What all clusterings below a target have in common: pairs that are together or apart, proved part by part.

Whatever was proved of pairs holds in every clustering below the target, so it joins the statement as links. A part
either bounds the problem with the opposite of one pair more, or walks a tree in which every leaf reaches the target or
has the pairs together already (docs/certificates.md, Margins).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from certmix.verify.domain import Domain
from certmix.verify.evidence import Rejected
from certmix.verify.root import Root, groups_of
from certmix.verify.rounding import Array
from certmix.verify.statement import Statement, read


def with_links(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A statement with its links as they are written: to the first of every group; pairs that are apart, in order."""
    group = groups_of(read(entry))
    first = np.unique(group, return_index=True)[1][group].tolist()
    links = [[k, i] for i, k in enumerate(first) if k != i]
    apart = [list(pair) for pair in sorted({(min(pair), max(pair)) for pair in entry["apart"]})]
    return {**entry, "together": links, "apart": apart}


class Chain:
    """The statement with all that was proved of pairs so far."""

    def __init__(self, whole: Mapping[str, Any], stated: Statement) -> None:
        self._whole, self._n = whole, stated.n
        self._rules = {name: list(whole[name]) for name in ("together", "apart")}

    def pairs(self, rows: Any) -> Array:
        """(m, 3): two samples, and whether they are together (1) or apart (0)."""
        limits = (self._n - 1, self._n - 1, 1)
        for row in rows if isinstance(rows, list) else [rows]:
            if (
                not isinstance(row, list)
                or len(row) != 3
                or not all(type(x) is int and 0 <= x <= most for x, most in zip(row, limits, strict=True))
            ):
                raise Rejected(f"{row!r:.80} is not a pair of samples and whether they are together")
        return np.array(rows, dtype=np.int64).reshape(-1, 3)

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

    def follows(self, pairs: Array) -> bool:
        """Whether links and what was proved have these pairs together, or apart."""
        s = read(self.statement())
        group = groups_of(s)
        apart = {frozenset(pair) for pair in group[s.apart].tolist()}
        a, b = group[pairs[:, 0]], group[pairs[:, 1]]
        return all(
            i == j if together else frozenset((i, j)) in apart
            for i, j, together in zip(a.tolist(), b.tolist(), pairs[:, 2].tolist(), strict=True)
        )


def settled(root: Root, pairs: Array, domain: Domain) -> bool:
    """Whether all pairs are together in everything that a domain holds."""
    if not (pairs[:, 2] == 1).all():
        raise Rejected("a tree settles pairs that are together only")
    a, b = root.group[pairs[:, 0]], root.group[pairs[:, 1]]
    one = domain.allowed.sum(axis=1) == 1
    same = one[a] & (domain.allowed[a] == domain.allowed[b]).all(axis=1)
    return bool((same | (a == b)).all())
