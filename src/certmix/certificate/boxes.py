"""The tree of an interval search as a step of a certificate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from certmix.certificate.draft import Draft, Unproved
from certmix.search.bounds.interval import IntervalBound
from certmix.search.loop import Search
from certmix.verify.boxes import GROUP, INNER, OUTER, follow, roots, split
from certmix.verify.domain import Domain
from certmix.verify.evidence import Rejected
from certmix.verify.narrowing import Boxes, Nodes
from certmix.verify.root import Root


@dataclass(frozen=True)
class Tuning:
    """How large trees may be, and how long the checker takes for them."""

    entry_seconds: float = 2.5e-7  # for an entry of the tree, a group, a component and a coordinate
    entries: int = 200_000
    grown: int = 4  # times its size up to which a tree is refined, ...
    grown_entries: int = 1000  # ... and so many entries beside


TUNING = Tuning()


def boxes_of(search: Search | None, root: Root, target: float) -> tuple[Draft, float]:
    """The splits of a search that proves the target, and how many seconds they take to check: infinite without them."""
    if search is None or search.proved < target:
        return Draft(), math.inf
    bound = _bound(search)
    entries = bound.splits.count
    if not 0 < entries <= TUNING.entries:
        return Draft(), math.inf
    return drawn(bound), TUNING.entry_seconds * entries * root.N * root.K * root.d


@np.errstate(all="ignore")  # what is not a number proves nothing
def refined(search: Search, root: Root, target: float, late: Callable[[], bool]) -> Draft:
    """The same tree, its leaves split until the checker finds nothing below the target in them.

    What the search concludes in a leaf and the checker does not is concluded group by group. The checker narrows leaves
    longer than nodes that are split, so the children of a leaf begin with what it would know of a node.
    """
    bound, domain = _bound(search), Domain.of(root)
    domain.propagate(root)
    tree = Boxes(root, math.nextafter(target + root.error, math.inf), bound.arrays.axis)
    *columns, number = bound.splits.levels()
    codes = [column.astype(np.int64) for column in columns[:3]]
    try:
        nodes = follow(tree, roots(tree, domain), *codes, columns[3], last=False)
    except Rejected as error:  # the search began at other roots
        raise Unproved(str(error)) from None
    nodes.entry, most = number[nodes.entry], TUNING.grown * len(number) + TUNING.grown_entries
    while len((left := tree.narrow(nodes.take(np.arange(len(nodes.entry))), *OUTER)).entry):
        if late() or bound.splits.count > most:
            raise Unproved("the tree of boxes could not be refined in time")
        by_entry = np.argsort(nodes.entry)
        nodes = nodes.take(by_entry[np.searchsorted(nodes.entry, left.entry, sorter=by_entry)])
        decisions = _decided(tree, left)
        first, _ = bound.splits.split(nodes.entry, *decisions)
        nodes = tree.narrow(split(root, nodes, first, *decisions), *INNER)
    return drawn(bound)


def _decided(tree: Boxes, nodes: Nodes) -> tuple[np.ndarray, ...]:
    """In every node, the group that would pay most for not being where it is cheapest, those in rules first."""
    middle, is_open = 0.5 * (nodes.lo + nodes.hi), nodes.candidates() > 1
    if not is_open.any(axis=1).all():
        raise Unproved("a clustering is not known to cost the bound, as the checker sees it")
    away = tree.x[None] - middle[:, :, None]
    cost = np.where(nodes.allowed, 0.5 * (tree.root.mass * away**2).sum(axis=3), math.inf)
    best, second = np.partition(cost, 1, axis=1)[:, :2].transpose(1, 0, 2)
    regret = np.where(is_open, second - best, -math.inf)
    tied = is_open & ~tree.single
    group = np.where(tied | ~tied.any(axis=1, keepdims=True), regret, -math.inf).argmax(axis=1)
    component = cost.argmin(axis=1)[np.arange(len(group)), group]
    return np.full(len(group), GROUP), component, group, np.zeros(len(group))


def _bound(search: Search) -> IntervalBound:
    assert isinstance(search.bound, IntervalBound)
    return search.bound


def drawn(bound: IntervalBound) -> Draft:
    """The splits of a search as a step."""
    draft, names = Draft(), ("kind", "component", "index", "at")
    draft.step(0, "boxes", dict(zip(names, bound.splits.levels()[:4], strict=True)), axis=bound.arrays.axis)
    return draft
