"""The tree of an interval search as a step of a certificate."""

from __future__ import annotations

import math

from certmix.certificate.draft import Draft
from certmix.search.bounds.interval import IntervalBound
from certmix.search.loop import Search
from certmix.verify.root import Root

SECONDS = 5e-7  # that the checker takes for an entry of the tree, a group, a component and a coordinate
MOST_ENTRIES = 200_000


def boxes_of(search: Search | None, root: Root, target: float) -> tuple[Draft, float]:
    """The splits of a search that proves the target, and how many seconds they take to check: infinite without them."""
    draft = Draft()
    if search is None or search.proved < target:
        return draft, math.inf
    bound = search.bound
    assert isinstance(bound, IntervalBound)
    entries = bound.splits.count
    if not 0 < entries <= MOST_ENTRIES:
        return draft, math.inf
    names = ("kind", "component", "index", "at")
    draft.step(0, "boxes", dict(zip(names, bound.splits.levels(), strict=True)), axis=bound.arrays.axis)
    return draft, SECONDS * entries * root.N * root.K * root.d
