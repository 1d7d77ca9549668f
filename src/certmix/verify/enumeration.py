"""The step ``enumerate``: every clustering of a domain with few of them, its cost from the formula."""

from __future__ import annotations

import math

import numpy as np

from certmix.verify.domain import Domain
from certmix.verify.evidence import Evidence, Rejected
from certmix.verify.exact import Exact
from certmix.verify.narrowing import Boxes
from certmix.verify.root import Root
from certmix.verify.rounding import Array
from certmix.verify.statement import broken

MOST = 1 << 20
BATCH = 1 << 13  # clusterings at a time,
LABELS = 1 << 22  # and labels in them


def count(domain: Domain) -> float:
    """How many clusterings the candidates allow."""
    with np.errstate(over="ignore"):
        return float(np.prod(domain.allowed.sum(axis=1).astype(np.float64)))


def enumerate_all(
    root: Root, domain: Domain, evidence: Evidence, target: float, relaxed: bool = False
) -> float:
    """The least cost of a feasible clustering in the domain, less rounding; infinite when there is none.

    Unless ``relaxed``, those below the target are looked at without relaxation, until one of them is there to stay. A
    claim of infeasibility has an infinite target; then one that keeps the rules, and has its averages within their
    bounds where means are tied to them, refutes it, whatever its cost.
    """
    total = count(domain)
    if total > MOST:
        raise Rejected(f"it asks for the enumeration of {total:.3g} clusterings, of at most {MOST:,}")
    choices = [np.flatnonzero(row) for row in domain.allowed]
    least, batch, exact = math.inf, max(1, min(BATCH, LABELS // (root.n + root.N * root.K))), Exact(root)
    boxes = Boxes(root, math.inf)
    for first in range(0, int(total), batch):
        number = np.arange(first, min(first + batch, int(total)))
        labels = np.empty((len(number), root.N), dtype=np.int64)
        for g, components in enumerate(choices):  # mixed radix
            labels[:, g] = components[number % len(components)]
            number = number // len(components)
        labels = labels[feasible(root, domain, labels)]
        if target == math.inf:
            if any(math.inf not in exact.quadratic(row) for row in labels):
                raise Rejected("a clustering meets the constraints")
        elif len(labels):
            found = boxes.decided(labels) - root.error
            found = np.where(np.isposinf(found), math.inf, np.nextafter(found, -math.inf))
            for i in () if relaxed else np.flatnonzero(found < target):
                if least >= target:
                    found[i] = max(found[i], exact.cost(labels[i]))
                    least = min(least, float(found[i]))
            least = min(least, float(found.min()))
    return least


def feasible(root: Root, domain: Domain, labels: Array) -> Array:
    """Which rows of labels (of groups) satisfy the sizes and rules of the domain."""
    sizes = np.stack([(labels == k) @ root.weight for k in range(root.K)], axis=1)
    good = np.asarray(((sizes >= domain.low) & (sizes <= domain.high)).all(axis=1))
    for _, which in broken(root.statement, labels[:, root.group]):
        good &= ~which
    return good
