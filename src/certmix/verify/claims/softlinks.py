"""Soft links: every clustering keeps or breaks each of them (docs/certificates.md, Soft links).

A tree decides links one by one. A clustering that keeps some of them is one of the problem in which these have to hold
and no other is there, so the bound of that problem holds for it; each link that it breaks costs its penalty on top.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from certmix.verify.claims.margins import with_links
from certmix.verify.evidence import Document, Rejected, listed, room
from certmix.verify.evidence import whole as whole_number
from certmix.verify.proof import Proof
from certmix.verify.statement import SOFT, Statement


def proved(whole: Proof, bound: float) -> str:
    """Problems without soft links, proved one after the other; with penalties all leaves have to reach the bound."""
    s, kept, bounds = whole.stated, [], []
    for t, proof in enumerate(whole.parts):
        kept.append(chosen(s, proof.get("kept")))
        bounds.append(whole.part(t, hardened(whole.entry, s, kept[-1]), empty=True))
    reach(s, whole.document.get("nodes"), kept, bounds, bound)
    return f" (whichever soft links are broken, by {len(kept)} problems without any)"


def chosen(s: Statement, links: Any) -> frozenset[int]:
    """Some of the soft links, by their positions in the statement."""
    return frozenset(whole_number(i, 0, len(s.soft) - 1, "soft link") for i in listed(links, "soft links"))


def hardened(whole: Document, s: Statement, kept: frozenset[int]) -> dict[str, Any]:
    """The statement in which some soft links have to hold and no other is there."""
    rules = {name: list(whole[name]) for name in ("together", "apart")}
    for i in sorted(kept):
        together, _, samples = s.soft[i]
        room(len(samples), len(samples), each=64)
        rules["together" if together else "apart"] += map(list, combinations(samples.tolist(), 2))
    return with_links({name: value for name, value in {**whole, **rules}.items() if name != SOFT})


def reach(
    s: Statement, nodes: Any, kept: Sequence[frozenset[int]], bounds: Sequence[float], bound: float
) -> None:
    """Reject a tree in which a leaf does not reach the bound.

    A node is a link and its two children, where it is kept and where it is broken, or a leaf: the part that bounds it,
    in which no links have to hold but such as are kept there. Children come after their parents.
    """
    nodes = listed(nodes, "tree of soft links")
    waiting: list[tuple[int, frozenset[int], frozenset[int]]] = [(0, frozenset(), frozenset())]
    seen = 0
    while waiting:
        place, holds, paid = waiting.pop()
        node, seen = nodes[place], seen + 1
        if seen > len(nodes):
            raise Rejected("its tree of soft links is none")
        numbers = [whole_number(x, 0, what="node of a tree of soft links") for x in listed(node, "node")]
        if len(numbers) == 1:
            (t,) = numbers
            if not kept[t] <= holds:
                raise Rejected(
                    f"leaf {place} is not one of part {t}: links have to hold there that it breaks"
                )
            # rounded once: the sign is right
            if not math.fsum((bounds[t], *(s.soft[i][1] for i in paid), -bound)) >= 0.0:
                raise Rejected(f"leaf {place} of its soft links does not reach its bound {bound!r}")
            continue
        link, one, other = numbers
        if link >= len(s.soft) or link in holds | paid or not place < min(one, other):
            raise Rejected(f"node {place} decides a soft link that is not there, or for the second time")
        waiting += [(one, holds | {link}, paid), (other, holds, paid | {link})]
