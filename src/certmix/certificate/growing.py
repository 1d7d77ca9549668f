"""Trees of decisions about groups and sizes, grown until every leaf has nothing in it, is enumerated or is settled."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from certmix.certificate.draft import Draft, Unproved
from certmix.verify import tree
from certmix.verify.domain import Domain
from certmix.verify.enumeration import count, enumerate_all
from certmix.verify.evidence import Evidence, Rejected
from certmix.verify.root import Root


class Split(NamedTuple):
    """How a node is split (see :mod:`certmix.verify.tree`), and what its children are told."""

    kind: int
    first: int
    second: int
    told: np.ndarray | None = None
    at: float = 0.0


Settle = Callable[[int, Domain, np.ndarray | None], Split | None]


def grow(
    draft: Draft, root: Root, target: float, settle: Settle, few: int, most: int, late: Callable[[], bool]
) -> float:
    """Add nodes and steps until every leaf is proved to reach the target; the seconds that enumerations took.

    Parameters
    ----------
    settle : adds steps that prove a node, given its number, what is possible in it and what its parent told, or says
        how to split it
    few : so many clusterings are enumerated
    most : nodes

    Conclusions are the checker's own, so what it cannot conclude is not proved.
    """
    open_nodes: list[tuple[int, Domain, np.ndarray | None]] = [(0, Domain.of(root), None)]
    seconds = 0.0
    while open_nodes:
        if late():
            raise Unproved("the proof was not found in time")
        if len(draft) > most:
            raise Unproved(f"{most} nodes did not suffice")
        node, domain, told = open_nodes.pop()
        if not domain.propagate(root):
            continue
        if count(domain) <= few:
            seconds -= time.perf_counter()
            try:
                least = enumerate_all(root, domain, Evidence({}, {}), target)
            except Rejected as error:
                raise Unproved(f"{error} as the checker sees them") from None
            if not least >= target:
                raise Unproved("the bound is not reached by every clustering, within rounding")
            seconds += time.perf_counter()
            draft.step(node, "enumerate")
            continue
        split = settle(node, domain, told)
        if split is None:
            continue
        decision, at = (split.first, split.second), split.at
        both = tree.OTHER[split.kind], split.kind
        sides = {side: tree.decide(domain, root, side, decision, at) for side in both}
        alive = {side: child for side, child in sides.items() if child.copy().propagate(root)}
        alive = alive or {split.kind: sides[split.kind]}  # one tells that both are empty
        for side, child in alive.items():
            open_nodes.append((draft.node(node, side, *decision, at), child, split.told))
    return seconds
