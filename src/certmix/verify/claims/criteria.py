"""The number of components: problems that differ in nothing else, and what a criterion adds to their objectives.

With F the objective, n samples of d features and nu parameters, ICL = 2 F + n d log(2 pi) + n log det Sigma + nu log n;
the log determinant is left out where F holds it. What does not depend on the number of components drops out when
problems of one kind are compared: half of ``nu log n`` is left.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from certmix.verify.evidence import Rejected
from certmix.verify.rounding import UNIT, below
from certmix.verify.statement import Statement, read

OWN = ("n_components", "component_names")
BY_COMPONENT = (
    "half_log_det", "weight_lower", "weight_upper", "mean_lower", "mean_upper", "alpha", "prior_mean", "prior_precision"
)  # fmt: skip


def parameters(stated: Statement) -> int:
    """How many numbers are fitted: means, and weights where they are free, and the variances where they are."""
    weights = stated.K - 1 if stated.fixed_weights is None else 0
    return stated.K * stated.d + weights + (stated.d if stated.per_feature else int(stated.unknown))


def penalty(stated: Statement) -> tuple[float, float]:
    """``nu / 2 log n`` in nats, rounded down and up."""
    value = 0.5 * parameters(stated) * math.log(stated.n)  # three roundings, the logarithm's by two units
    return value * (1.0 - 8.0 * UNIT), value * (1.0 + 8.0 * UNIT)


def kind(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A statement without its number of components: one row for components that are all alike."""
    alike = {name: value for name, value in entry.items() if name not in OWN}
    for name in BY_COMPONENT:
        alike[name] = _once(entry[name])
    fixed = entry["fixed_weights"]
    alike["fixed_weights"] = "equal" if fixed is not None and _once(fixed) != fixed else fixed
    if fixed is not None and len(fixed) > 1 and all(weight == 1.0 for weight in fixed):
        alike["fixed_weights"] = "none"  # k-means
    return alike


def _once(rows: Any) -> Any:
    return (
        {"each": rows[0]} if isinstance(rows, list) and rows and all(row == rows[0] for row in rows) else rows
    )


def unlike(first: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """The entries in which two statements differ by more than their number of components."""
    a, b = kind(first), kind(other)
    pair = a["fixed_weights"], b["fixed_weights"]
    if 1 in (first["n_components"], other["n_components"]) and pair in (("equal", "none"), ("none", "equal")):
        b["fixed_weights"] = pair[0]  # of one component that is the same
    return sorted(name for name in {*a, *b} if name not in a or name not in b or a[name] != b[name])


def penalties(entries: Sequence[Mapping[str, Any]], components: Any) -> list[tuple[float, float]]:
    """What to add to each of the objectives; the problems must be of one kind, with these numbers of components."""
    counts = [entry["n_components"] for entry in entries]
    if components != counts or counts != sorted(set(counts)):
        raise Rejected(f"it compares {components!r} components, but holds the problems with {counts!r}")
    for entry, count in zip(entries, counts, strict=True):
        for name in unlike(entries[-1], entry):  # the last: with one component weights say nothing
            raise Rejected(f"with {count} components it is another problem than with {counts[-1]}: in {name}")
    return [penalty(read(entry)) for entry in entries]


def losses(entries: Sequence[Mapping[str, Any]]) -> list[float]:
    """How far the optimum of each problem can lie below that of the next one; infinite where nothing is known."""
    found = []
    for fewer, more in itertools.pairwise(entries):
        related = more["n_components"] == fewer["n_components"] + 1 and not unlike(fewer, more)
        found.append(loss(read(fewer), read(more)) if related else math.inf)
    return found


def carried(losses: Sequence[float], bounds: Sequence[float]) -> list[float]:
    """The bounds, or what follows from that of the next problem where it is better."""
    found = list(bounds)
    for i, lost in reversed(list(enumerate(losses))):
        if math.isfinite(lost) and math.isfinite(found[i + 1]):
            found[i] = max(found[i], below(found[i + 1] - lost, UNIT * (abs(found[i + 1]) + lost)))
    return found


def loss(s: Statement, more: Statement) -> float:
    """With OPT and OPT' the optima of a problem and of that with one component more, ``OPT >= OPT' - loss``.

    docs/choosing-k.md has the proofs. Infinite where nothing is proved: with weights of samples, priors on the weights,
    weights within bounds or tied to the sizes; with a prior on means that are within bounds; with least sizes for every
    component; and, unless components may be empty, with any side constraint or prior.
    """
    pulled = any(matrix.any() for matrix in s.prior_precision)
    boxed = bool(np.isfinite(s.mean_lower).any() or np.isfinite(s.mean_upper).any())
    bounded = bool((s.weight_lower > 0.0).any() or (s.weight_upper < 1.0).any())
    if (
        (s.alpha != 1.0).any()
        or bounded
        or s.estimators
        or (pulled and boxed)
        or len(s.precision) > 1
        or s.weighted
    ):
        return math.inf
    asked = s.together, s.apart, s.implications, s.labels, s.sizes, s.counts, s.soft
    if s.allow_empty:  # the new component is
        if (s.sizes[s.sizes[:, 0] < 0, 1] > 0).any():
            return math.inf
    elif pulled or s.n <= s.K or any(len(rules) > 0 for rules in asked):
        return math.inf
    if s.fixed_weights is not None and more.fixed_weights is not None:
        before, after = math.log(s.fixed_weights[0]), math.log(more.fixed_weights[0])
        return max(0.0, s.n * (before - after) + 16 * UNIT * s.n * (abs(before) + abs(after)))
    if s.allow_empty:
        return 0.0
    # One sample leaves a component, which has no more than m; the new one has the old mean.
    m = s.n - s.K + 1
    return m * math.log(m) - (m - 1) * math.log(m - 1) + 16 * UNIT * m * math.log(m)
