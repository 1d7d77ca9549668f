"""The step ``enumerate``: every clustering of a domain with few of them, its cost from the formula."""

from __future__ import annotations

import math

import numpy as np

from certmix.verify.domain import Domain
from certmix.verify.evidence import Evidence, Rejected
from certmix.verify.exact import Exact
from certmix.verify.root import Root
from certmix.verify.rounding import Array, gamma, least_quadratic

MOST = 1 << 20
BATCH = 1 << 13  # clusterings at a time,
LABELS = 1 << 22  # and labels in them


def count(domain: Domain) -> float:
    """How many clusterings the candidates allow."""
    with np.errstate(over="ignore"):
        return float(np.prod(domain.allowed.sum(axis=1).astype(np.float64)))


def enumerate_all(root: Root, domain: Domain, evidence: Evidence, target: float) -> float:
    """The least cost of a feasible clustering in the domain, less rounding; infinite when there is none.

    Clusterings below the target are looked at without relaxation, until one of them is there to stay. A claim of
    infeasibility has an infinite target; then one that keeps the rules, and has its averages within their bounds where
    means are tied to them, refutes it, whatever its cost.
    """
    total = count(domain)
    if total > MOST:
        raise Rejected(f"it asks for the enumeration of {total:.3g} clusterings, of at most {MOST:,}")
    choices = [np.flatnonzero(row) for row in domain.allowed]
    least, batch, exact = math.inf, max(1, min(BATCH, LABELS // root.N)), Exact(root)
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
            found = costs(root, labels) - root.error
            found = np.where(np.isposinf(found), math.inf, np.nextafter(found, -math.inf))
            for i in np.flatnonzero(found < target):
                if least >= target:
                    found[i] = max(found[i], exact.cost(labels[i]))
                    least = min(least, float(found[i]))
            least = min(least, float(found.min()))
    return least


def feasible(root: Root, domain: Domain, labels: Array) -> Array:
    """Which rows of labels (of groups) satisfy the sizes and rules of the domain."""
    good = np.ones(len(labels), dtype=bool)
    for k in range(root.K):
        size = (labels == k) @ root.weight
        good &= (size >= domain.low[k]) & (size <= domain.high[k])
    for g, h in root.conflicts.tolist():
        good &= labels[:, g] != labels[:, h]
    for g, then, k in root.implications.tolist():
        good &= (labels[:, g] != k) | (labels[:, then] == k)
    for groups, coefficient, k, low, high in root.counts:
        found = (labels[:, groups] == k) @ coefficient
        good &= (found >= low) & (found <= high)
    return good


def costs(root: Root, labels: Array) -> Array:
    """Lower bounds on the cost of every row of labels, rounding of this computation included (not ``root.error``).

    What overflows into something that is not a number proves nothing: -inf.
    """
    total, size = np.zeros((2, len(labels)))
    for k in range(root.K):
        x, scatter = root.points[root.system[k]], root.scatter[root.system[k]]
        g, m = root.prior_weight[k], root.prior_mean[k]
        weight = (labels == k) * root.weight.astype(np.float64)
        number = weight.sum(axis=1)
        linear, square = weight @ x + g * m, 0.5 * (weight @ x**2 + g * m**2)
        box = root.mean_lower[k], root.mean_upper[k]
        value, terms = least_quadratic(number[:, None] + g, linear, square, *box)
        h, inside = root.entropy[k][number.astype(np.int64)], (labels == k) @ scatter
        total += value.sum(axis=1) + inside + h
        size += terms.sum(axis=1) + inside + np.abs(h)
    with np.errstate(invalid="ignore"):
        lower = np.where(np.isposinf(total), math.inf, total - gamma(root.N + root.K + root.d + 32) * size)
        return np.where(np.isnan(lower), -math.inf, lower)
