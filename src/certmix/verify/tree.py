"""The tree of a certificate: do its leaves cover the root, and is every leaf settled?

A node is its parent's domain after the parent's steps, plus one decision:

    kind 0  the root, no decision
    kind 1  group g is in component k            args (g, k, 0)
    kind 2  group g is in none of the components that are exchangeable with k (k among them)
    kind 3  component k has at most s samples    args (k, s, 0)
    kind 4  component k has at least s + 1
    kind 5  component k has at most s samples, k the first of a set of exchangeable components
    kind 6  every component that is exchangeable with k has at least s + 1

Kinds 1 and 2 belong together, as do 3 and 4, 5 and 6. When g is in one of several exchangeable components, renaming
them puts it into the first, so in kind 1 k must be the first of its set; likewise, when one of several exchangeable
components has at most s samples, renaming makes it the first. A side may be missing if nothing feasible is in it.
After the decision come conclusions (:meth:`Domain.propagate`), then the node's steps in their order, each followed by
conclusions. A node is settled when a step's bound reaches the target or nothing feasible is left; one that is not must
have children.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from certmix.verify.domain import Domain
from certmix.verify.evidence import Evidence, Rejected
from certmix.verify.root import Root

ROOT, IN, OUT, AT_MOST, AT_LEAST, FIRST_AT_MOST, ALL_AT_LEAST = range(7)
OTHER = {
    IN: OUT,
    OUT: IN,
    AT_MOST: AT_LEAST,
    AT_LEAST: AT_MOST,
    FIRST_AT_MOST: ALL_AT_LEAST,
    ALL_AT_LEAST: FIRST_AT_MOST,
}

Step = Callable[[Root, Domain, Evidence, float], float]
"""``step(root, domain, evidence, target)`` proves a lower bound for everything in the domain that it leaves there; it
may remove what it has proved to cost the target or more."""


@dataclass(frozen=True)
class Walked:
    """What the walk found: how many nodes and leaves, and the least bound of a leaf."""

    nodes: int
    leaves: int
    bound: float


def decide(domain: Domain, root: Root, kind: int, args: Sequence[int]) -> Domain:
    """The domain with one more decision, before conclusions."""
    child = domain.copy()
    first, second = int(args[0]), int(args[1])
    if kind in (IN, OUT):
        alike = next(members for members in domain.exchangeable(root) if second in members)
        if kind == IN:
            if second != alike[0]:
                raise Rejected(f"component {second} is not the first of those exchangeable with it")
            child.put(first, second)
        else:
            child.allowed[first, alike] = False
    elif kind in (FIRST_AT_MOST, ALL_AT_LEAST):
        alike = next(members for members in domain.exchangeable(root) if first in members)
        if kind == ALL_AT_LEAST:
            child.low[alike] = np.maximum(child.low[alike], second + 1)
        elif first != alike[0]:
            raise Rejected(f"component {first} is not the first of those exchangeable with it")
        else:
            child.high[first] = min(int(child.high[first]), second)
    elif kind == AT_MOST:
        child.high[first] = min(int(child.high[first]), second)
    else:
        child.low[first] = max(int(child.low[first]), second + 1)
    return child


def walk(
    root: Root,
    evidence: Evidence,
    entries: Sequence[Mapping[str, Any]],
    target: float,
    kinds: Mapping[str, Step],
    settle: Step,
) -> Walked:
    """Check the whole tree; :class:`Rejected` names the first node that fails.

    Parameters
    ----------
    evidence : the arrays ``tree/parent``, ``tree/kind``, ``tree/args``
    entries : document["steps"]
    kinds : the function of every kind of step
    settle : the function for a leaf without steps in which everything is decided
    """
    parent = evidence.integers("tree/parent", None)
    count = len(parent)
    kind = evidence.integers("tree/kind", count, low=ROOT, high=ALL_AT_LEAST)
    args = evidence.integers("tree/args", count, 3, low=0)
    if count == 0 or parent[0] != -1 or kind[0] != ROOT:
        raise Rejected("the tree does not begin with its root")
    if (parent[1:] < 0).any() or (parent[1:] >= np.arange(1, count)).any() or (kind[1:] == ROOT).any():
        raise Rejected("a node of the tree does not come after its parent")
    branch = (kind == IN) | (kind == OUT)
    first, second = args[:, 0], args[:, 1]
    if (
        (first[branch] >= root.N).any()
        or (second[branch] >= root.K).any()
        or (first[kind > OUT] >= root.K).any()
        or (second[kind > OUT] > root.n).any()
    ):
        raise Rejected("a node of the tree decides about a group, component or size that is not there")
    children: list[list[int]] = [[] for _ in range(count)]
    for i in range(1, count):
        children[parent[i]].append(i)
    steps = _steps(entries, evidence, count)

    leaves, visited, least = 0, 0, math.inf
    stack = [(0, Domain.of(root))]
    while stack:
        node, domain = stack.pop()
        visited += 1
        try:
            bound = _node(root, domain, steps[node], target, kinds, settle, leaf=not children[node])
            if bound >= target:
                leaves, least = leaves + 1, min(least, bound)
                continue
            if not children[node]:
                notes = "".join(f"; {note}" for step in steps[node] for note in step.notes[:8])
                raise Rejected(f"its bound {bound!r} does not reach the target {target!r}{notes}")
            for child in _covering(root, domain, children[node], kind, args):
                stack.append((child, decide(domain, root, int(kind[child]), args[child].tolist())))
        except Rejected as error:
            what = "leaf" if not children[node] else "node"
            raise Rejected(f"{what} {node} of the tree fails: {error}") from None
    return Walked(visited, leaves, least)


def _steps(entries: Sequence[Mapping[str, Any]], evidence: Evidence, count: int) -> list[list[Evidence]]:
    """The steps of every node, in order."""
    steps: list[list[Evidence]] = [[] for _ in range(count)]
    for entry in entries:
        step = Evidence(entry, evidence.arrays)
        if not isinstance(entry.get("kind"), str) or not isinstance(entry.get("arrays", ""), str):
            raise Rejected("a step has no kind")
        steps[step.whole("node", 0, count - 1)].append(step)
    return steps


def _node(
    root: Root,
    domain: Domain,
    steps: Sequence[Evidence],
    target: float,
    kinds: Mapping[str, Step],
    settle: Step,
    *,
    leaf: bool,
) -> float:
    """Run a node's steps; the bound that they prove, infinite when nothing is left."""
    if not domain.propagate(root):
        return math.inf
    bound = -math.inf
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
    if leaf and domain.decided.all():
        bound = max(bound, settle(root, domain, Evidence({}, {}), target))
    return bound


def _covering(
    root: Root, domain: Domain, children: Sequence[int], kind: np.ndarray, args: np.ndarray
) -> Sequence[int]:
    """The children, once it is clear that they cover the node."""
    one = children[0]
    sides = {int(kind[c]): c for c in children}
    same = all((args[c] == args[one]).all() for c in children)
    if len(children) > 2 or len(sides) != len(children) or not same:
        raise Rejected("its children are not the two sides of one decision")
    if len(children) == 2 and int(kind[children[1]]) != OTHER[int(kind[one])]:
        raise Rejected("its children are not the two sides of one decision")
    if len(children) == 1:
        missing = decide(domain, root, OTHER[int(kind[one])], args[one].tolist())
        if missing.propagate(root):
            raise Rejected("one side of its decision is missing and not empty")
    return children
