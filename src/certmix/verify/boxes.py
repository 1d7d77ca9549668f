"""Trees of boxes for the means of components, intervals for their sizes and candidates for the groups.

The step ``boxes`` has one tree for all components, ``lagrangian`` one for the sets of each. A tree says where nodes are
split; whatever is known in them the checker concludes by itself (:mod:`.narrowing`), so that a tree stands alone.
docs/certificates.md has the arrays.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from certmix.verify.domain import Domain
from certmix.verify.evidence import Evidence, Rejected, room
from certmix.verify.narrowing import Boxes, Nodes
from certmix.verify.root import Root
from certmix.verify.rounding import Array

LEAF, MEAN, SIZE, GROUP = -1, 0, 1, 2
WORK = 400_000  # (node, component, group) triples looked at in one go
# How often a node is narrowed, as long as a side of a box, an interval of sizes or the open groups shrink to a share
INNER, OUTER = (4, 0.81), (24, 0.99)
# So many times as many sizes, where a set may be left: with heavy groups few sizes are possible, far apart
WIDER = (2, 8)


@np.errstate(all="ignore")  # what is not a number proves nothing
def follow(boxes: Boxes, roots: Nodes, kind: Array, *codes: Array, last: bool = True) -> Nodes:
    """The leaves of a tree in which something below the target may be left, narrowed once more unless not ``last``.

    The tree is given in any order in which the i-th node that is cut has the entries R + 2 i and R + 2 i + 1 as
    children, R being the number of roots. ``codes`` are the component, the index and the place of every cut.
    """
    inner = kind != LEAF
    place, R, tied = np.flatnonzero(inner), len(roots.entry), boxes.trios.groups.size if boxes.trios else 0
    each = roots.allowed[0].size + tied // 12 + 64  # what a node takes, about
    if len(kind) != R + 2 * len(place) or (place >= R + 2 * np.arange(len(place))).any():
        raise Rejected("a tree of boxes ends before its leaves, or goes on after them")
    child = R + 2 * (np.cumsum(inner) - 1)
    step = max(1, WORK // (each if boxes.outside else each * boxes.root.d))
    np.empty(2**21)  # freed at once, and from now on the C library keeps the pages of smaller arrays
    stack, left = [roots], [roots.take(slice(0))]
    while stack:
        some = [stack.pop()]
        while stack and sum(len(nodes.entry) for nodes in (*some, stack[-1])) <= step:
            some.append(stack.pop())
        nodes = boxes.narrow(Nodes.joined(some), *INNER)
        leaf = ~inner[nodes.entry]
        if leaf.any():
            ends = nodes.take(leaf)
            for wider in (0, *WIDER * boxes.outside) if last else ():
                ends = boxes.narrow(ends, *OUTER, wider)
            left.append(ends)
            nodes = nodes.take(~leaf)
        kids = split(boxes.root, nodes, child[nodes.entry], *(code[nodes.entry] for code in (kind, *codes)))
        stack += [kids.take(slice(i, i + step)) for i in range(0, len(kids.entry), step)]
        room(sum(len(nodes.entry) for nodes in (*stack, *left)), each, each=1)
    return Nodes.joined(left)


def split(root: Root, s: Nodes, entry: Array, kind: Array, k: Array, index: Array, at: Array) -> Nodes:
    """Both children of every node, as far as there is anything in them."""
    child, first = s.take(np.repeat(np.arange(len(kind)), 2)), 2 * np.arange(len(kind))
    child.entry = np.column_stack([entry, entry + 1]).ravel()
    i = kind == MEAN
    if (index[i] >= root.d).any() or (s.a[i, k[i]] < 1).any():
        raise Rejected("a tree of boxes cuts a mean that is not there")
    child.hi[first[i], k[i], index[i]] = np.minimum(s.hi[i, k[i], index[i]], at[i])
    child.lo[first[i] + 1, k[i], index[i]] = np.maximum(s.lo[i, k[i], index[i]], at[i])
    i = kind == SIZE
    child.b[first[i], k[i]] = np.minimum(s.b[i, k[i]], index[i])
    child.a[first[i] + 1, k[i]] = np.maximum(s.a[i, k[i]], index[i] + 1)
    i = kind == GROUP
    if (index[i] >= root.N).any():
        raise Rejected("a tree of boxes decides about a group that is not there")
    only = np.arange(s.allowed.shape[1]) == k[i, None]
    child.allowed[first[i], :, index[i]] &= only
    child.allowed[first[i] + 1, :, index[i]] &= ~only
    fine = (child.lo <= child.hi).all(axis=2) & (child.a <= child.b) | (child.b == 0)
    return child.take(fine.all(axis=1))


def roots(boxes: Boxes, domain: Domain) -> Nodes:
    """One node for every choice of how many components of every class are empty: the first ones, by renaming."""
    root, classes = boxes.root, boxes.root.classes
    may = [np.flatnonzero((classes == c) & (domain.low == 0)) for c in np.unique(classes)]
    room(math.prod(len(m) + 1 for m in may), root.N * root.K, each=1)
    nodes: list[tuple[Array, ...]] = []
    for counts in itertools.product(*(range(len(m) + 1) for m in may)):
        empty = np.concatenate([m[:c] for m, c in zip(may, counts, strict=True)]).astype(np.int64)
        if len(empty) < root.K:
            a, b, allowed = np.maximum(domain.low, 1), domain.high.copy(), domain.allowed.T.copy()
            a[empty] = b[empty] = 0
            allowed[empty] = False
            nodes.append((np.array(len(nodes)), *boxes.box(), a, b, allowed, np.array(-math.inf)))
    return Nodes(*(np.stack(part) for part in zip(*nodes, strict=True)))


def leaves(root: Root, domain: Domain, evidence: Evidence, target: float, allowance: float = 0.0) -> Nodes:
    """The leaves of a tree of boxes in which something below the target may be left."""
    kind = evidence.integers("kind", None, low=LEAF, high=GROUP)
    component = evidence.integers("component", len(kind), low=0, high=root.K - 1)
    index = evidence.integers("index", len(kind), low=0, high=max(root.N, root.d, root.n))
    at = evidence.floats("at", len(kind))
    if not math.isfinite(target):
        raise Rejected("a tree of boxes does not prove that nothing is feasible")
    above = math.nextafter(target + root.error, math.inf)
    tree = Boxes(root, above, evidence.whole("axis", 0, root.d - 1), allowance=allowance)
    return follow(tree, roots(tree, domain), kind, component, index, at)


def boxes(root: Root, domain: Domain, evidence: Evidence, target: float) -> float:
    """Check a tree of boxes; the target, if nothing below it is left."""
    left = leaves(root, domain, evidence, target)
    if len(left.entry):
        raise Rejected(f"entry {left.entry[0]} of the tree of boxes is a leaf in which something is left")
    return target
