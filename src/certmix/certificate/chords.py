"""The certificate for an unknown variance, made of proofs at known ones (docs/certificates.md, Chords)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from certmix.certificate.draft import Unproved, checked, incumbent, stated
from certmix.certificate.envelope import Solved, bounds_of
from certmix.io.certificates import Certificate
from certmix.io.npz import NestedArrays, packed
from certmix.problem import Problem
from certmix.result import Result
from certmix.status import Tolerances
from certmix.verify.check import Verdict

Make = Callable[[Problem, Result, Any], tuple[Certificate, Verdict | None]]


def chained(
    problem: Problem, result: Result, solved: Sequence[Solved], make: Make
) -> tuple[Certificate, Verdict]:
    """The certificate of a result whose bound follows from bounds at known variances, and the checker's verdict.

    Parts that have been verified are not checked again; the checker makes sure that they are what they have to be.

    Raises
    ------
    Unproved
        With the reason why there is none.
    """
    bounds, parts, arrays = bounds_of(problem), [], []
    known: set[tuple[str, str, float]] = set()
    for one in needed(problem, solved):
        found, verdict = make(one.problem, as_proved(one.result), one.record)
        bounds.add(one, found.bound)
        parts.append({**one.entry, **found.proof})
        arrays.append(packed_arrays(found))
        known |= found.known if verdict is not None and verdict.verified else set()
    bound = min(bounds.bound, result.objective)
    if not np.isfinite(bound):
        raise Unproved("no bound follows from those at known variances")
    claim = {"claim": "chord", "objective": float(result.objective), "bound": float(bound), "parts": parts}
    certificate = Certificate(stated(problem, result, claim), NestedArrays(incumbent(result), arrays))
    return checked(certificate, problem, known)


def needed(problem: Problem, solved: Sequence[Solved]) -> list[Solved]:
    """Those without which less would follow, the first ones last: at the incumbent's variance they are the best."""

    def bound(some: Sequence[Solved]) -> float:
        bounds = bounds_of(problem)
        for one in some:
            bounds.add(one, one.result.lower_bound)
        return bounds.bound

    kept, all_of_them = list(solved), bound(solved)
    for one in reversed(solved):
        fewer = [other for other in kept if other is not one]
        if bound(fewer) >= all_of_them:
            kept = fewer
    return kept


def as_proved(result: Result) -> Result:
    """With the gap that was reached instead of the one that was asked for: all of the bound is wanted."""
    gap = (1.0 + 1e-5) * result.gap_absolute + 1e-9 * max(1.0, abs(result.objective))
    return replace(result, tolerances=Tolerances(0.0, gap))


def packed_arrays(found: Certificate) -> bytes | None:
    """The arrays of a proof as an NPZ file; None when some were not kept."""
    if not found.complete:
        return None
    arrays = found.arrays
    own = arrays.own if isinstance(arrays, NestedArrays) else arrays
    rest = {name: a for name, a in own.items() if not name.startswith("incumbent/")}
    return packed(
        NestedArrays(rest, arrays.parts, arrays.archive) if isinstance(arrays, NestedArrays) else rest
    )
