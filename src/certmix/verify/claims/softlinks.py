"""Soft links: every clustering keeps or breaks each of them (docs/certificates.md, Soft links).

A tree decides links one by one. A clustering that keeps some of them is one of the problem in which these have to hold
and no other is there, so the bound of that problem holds for it; each link that it breaks costs its penalty on top.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from certmix.verify.claims.margins import with_links
from certmix.verify.evidence import Rejected
from certmix.verify.statement import SOFT, Statement


def chosen(s: Statement, links: Any) -> frozenset[int]:
    """Some of the soft links, by their positions in the statement."""
    if not isinstance(links, list) or not all(type(i) is int and 0 <= i < len(s.soft) for i in links):
        raise Rejected(f"{links!r:.80} are not some of its {len(s.soft)} soft links")
    return frozenset(links)


def hardened(whole: Mapping[str, Any], s: Statement, kept: frozenset[int]) -> dict[str, Any]:
    """The statement in which some soft links have to hold and no other is there."""
    rules = {name: list(whole[name]) for name in ("together", "apart")}
    for i in sorted(kept):
        together, _, samples = s.soft[i]
        rules["together" if together else "apart"] += map(list, combinations(samples.tolist(), 2))
    return with_links({name: value for name, value in {**whole, **rules}.items() if name != SOFT})


def reach(
    s: Statement, nodes: Any, kept: Sequence[frozenset[int]], bounds: Sequence[float], bound: float
) -> None:
    """Reject a tree in which a leaf does not reach the bound.

    A node is a link and its two children, where it is kept and where it is broken, or a leaf: the part that bounds it,
    in which no links have to hold but such as are kept there. Children come after their parents.
    """
    if not isinstance(nodes, list) or not nodes:
        raise Rejected("it has no tree of soft links")
    waiting: list[tuple[int, frozenset[int], frozenset[int]]] = [(0, frozenset(), frozenset())]
    seen = 0
    while waiting:
        place, holds, paid = waiting.pop()
        node, seen = nodes[place], seen + 1
        if seen > len(nodes):
            raise Rejected("its tree of soft links is none")
        if not isinstance(node, list) or not all(type(x) is int and x >= 0 for x in node):
            raise Rejected(f"{node!r:.80} is not a node of a tree of soft links")
        if len(node) == 1:
            (t,) = node
            if not kept[t] <= holds:
                raise Rejected(
                    f"leaf {place} is not one of part {t}: links have to hold there that it breaks"
                )
            total = math.fsum(
                (bounds[t], *(s.soft[i][1] for i in paid), -bound)
            )  # rounded once: the sign is right
            if not total >= 0.0:
                raise Rejected(f"leaf {place} of its soft links does not reach its bound {bound!r}")
            continue
        link, one, other = node
        if link >= len(s.soft) or link in holds | paid or not place < min(one, other):
            raise Rejected(f"node {place} decides a soft link that is not there, or for the second time")
        waiting += [(one, holds | {link}, paid), (other, holds, paid | {link})]
