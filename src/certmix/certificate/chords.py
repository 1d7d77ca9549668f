"""The certificate for an unknown variance, made of proofs at known ones (docs/certificates.md, Chords)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from certmix.certificate.draft import Make, Pieces, Unproved, as_proved
from certmix.certificate.envelope import Solved, bounds_of
from certmix.io.certificates import Certificate
from certmix.problem import Problem
from certmix.result import Result
from certmix.verify.check import Verdict


def chained(
    problem: Problem, result: Result, solved: Sequence[Solved], make: Make
) -> tuple[Certificate, Verdict]:
    """The certificate of a result whose bound follows from bounds at known variances, and the checker's verdict."""
    bounds, pieces = bounds_of(problem), Pieces()
    for one in needed(problem, solved):
        made = make(one.problem, as_proved(one.result), one.record)
        bounds.add(one, pieces.add(one.entry, *made))
    if not np.isfinite(min(bounds.bound, result.objective)):
        raise Unproved("no bound follows from those at known variances")
    return pieces.together("chord", problem, result, bounds.bound)


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
