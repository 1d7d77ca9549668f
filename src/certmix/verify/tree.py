"""The tree of a certificate: do its leaves cover the root, is every leaf settled? (docs/certificates.md, The tree)"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from certmix.verify.domain import Domain, Side
from certmix.verify.evidence import Evidence, Rejected, room
from certmix.verify.root import Root

ROOT, IN, OUT, AT_MOST, AT_LEAST, LEFT, RIGHT = range(7)
OTHER = {IN: OUT, OUT: IN, AT_MOST: AT_LEAST, AT_LEAST: AT_MOST, LEFT: RIGHT, RIGHT: LEFT}

Step = Callable[[Root, Domain, Evidence, float], float]
"""``step(root, domain, evidence, target)`` proves a lower bound for everything in the domain that it leaves there; it
may remove what it has proved to cost the target or more."""
Kinds = Mapping[str, Step]
Entries = Sequence[Mapping[str, Any]]
Decision = tuple[int, Sequence[int], float]  # kind, arguments and place
Settled = Callable[[Root, Domain], bool] | None


def decide(domain: Domain, root: Root, kind: int, args: Sequence[int], at: float = 0.0) -> Domain:
    """The domain with one more decision, before conclusions.

    Exchangeable components can be renamed: what one of them has, k has; or none of them has it.
    """
    child, first, second = domain.copy(), int(args[0]), int(args[1])
    if kind in (LEFT, RIGHT):  # the same under all names
        child.sides = (*domain.sides, Side(first, at, second, kind == LEFT))
        return child
    k = second if kind in (IN, OUT) else first
    alike = next(members for members in domain.exchangeable(root) if k in members)
    if kind == IN:
        child.allowed[first] &= np.arange(root.K) == k
    elif kind == OUT:
        child.allowed[first, alike] = False
    elif kind == AT_MOST:
        child.high[k] = min(child.high[k], second)
    else:
        child.low[alike] = np.maximum(child.low[alike], second + 1)
    return child


def walk(
    root: Root, evidence: Evidence, entries: Entries, target: float, kinds: Kinds, settled: Settled = None
) -> tuple[int, int]:
    """Check the whole tree, and count its nodes and leaves; :class:`Rejected` names the first node that fails.

    ``entries`` are those of the steps, ``kinds`` their functions. Leaves where everything is decided are enumerated. A
    leaf needs no bound where what is in question is ``settled``.
    """
    parent = evidence.integers("tree/parent", None)
    count = len(parent)
    room(count, 64)  # its list of children, its list of steps
    kind = evidence.integers("tree/kind", count, low=ROOT, high=RIGHT)
    args = evidence.integers("tree/args", count, 3, low=0)
    if count == 0 or parent[0] != -1 or kind[0] != ROOT:
        raise Rejected("the tree does not begin with its root")
    if (parent[1:] < 0).any() or (parent[1:] >= np.arange(1, count)).any() or (kind[1:] == ROOT).any():
        raise Rejected("a node of the tree does not come after its parent")
    # What args may be: (group, component), (component, size), (coordinate, number of components).
    pairs = [(root.N - 1, root.K - 1), (root.K - 1, root.n), (root.d - 1, root.K)]
    if (args[1:, :2] > np.array(pairs)[(kind[1:] - 1) // 2]).any():
        raise Rejected("a node of the tree decides about a group, component or size that is not there")
    at = evidence.floats("tree/at", count) if (kind >= LEFT).any() else np.zeros(count)
    children: list[list[int]] = [[] for _ in range(count)]
    for i in range(1, count):
        children[parent[i]].append(i)
    steps = _steps(entries, evidence, count)

    leaves = visited = 0
    stack = [(0, Domain.of(root))]
    while stack:
        node, domain = stack.pop()
        visited += 1
        try:
            bound = _node(root, domain, steps[node], target, kinds)
            if not children[node] and bound < target and domain.decided.all():
                bound = max(bound, kinds["enumerate"](root, domain, Evidence({}, {}), target))
            if bound >= target or (not children[node] and settled and settled(root, domain)):
                leaves += 1
            elif not children[node]:
                raise Rejected(f"its bound {bound!r} does not reach the target {target!r}")
            else:
                room(len(stack) + 2, domain.bytes, each=1)
                decisions = [(int(kind[i]), tuple(args[i].tolist()), float(at[i])) for i in children[node]]
                _check_cover(root, domain, decisions)
                sides = [decide(domain, root, *decision) for decision in decisions]
                stack += zip(children[node], sides, strict=True)
        except Rejected as error:
            what = "leaf" if not children[node] else "node"
            raise Rejected(f"{what} {node} of the tree fails: {error}") from None
    return visited, leaves


def _steps(entries: Entries, evidence: Evidence, count: int) -> list[list[Evidence]]:
    """The steps of every node, in order."""
    steps: list[list[Evidence]] = [[] for _ in range(count)]
    for entry in entries:
        if not isinstance(entry.get("kind"), str) or not isinstance(prefix := entry.get("arrays", ""), str):
            raise Rejected("a step has no kind")
        step = evidence.under(prefix, entry)
        steps[step.whole("node", 0, count - 1)].append(step)
        if entry["kind"] == "boxes" and (count > 1 or len(entries) > 1):
            raise Rejected("a tree of boxes must be the only step of the only node")
    return steps


def _node(root: Root, domain: Domain, steps: list[Evidence], target: float, kinds: Kinds) -> float:
    """Draw conclusions and run a node's steps; the bound that they prove, infinite when nothing is left."""
    bound = -math.inf if root.statement.squares is None else 0.0  # a sum of squares is not negative
    if not domain.propagate(root):
        return math.inf
    for step in steps:
        name = step.numbers["kind"]
        if name not in kinds:
            raise Rejected(f"there is no kind of step {name!r}")
        found = kinds[name](root, domain, step, target)
        if math.isnan(found):
            raise Rejected(f"its step {name!r} has no bound")
        bound = max(bound, found)
        if bound >= target:
            return bound
        if not domain.propagate(root):
            return math.inf
    return bound


def _check_cover(root: Root, domain: Domain, decisions: Sequence[Decision]) -> None:
    """The children must be the two sides of one decision; one may be missing if nothing is left in it."""
    kind, args, at = decisions[0]
    other = OTHER[kind], args, at
    if len(decisions) == 1 and decide(domain, root, *other).propagate(root):
        raise Rejected("one side of its decision is missing and not empty")
    if decisions[1:] not in ([], [other]):
        raise Rejected("its children are not the two sides of one decision")
