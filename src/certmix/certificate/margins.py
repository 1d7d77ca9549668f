"""The certificate of margins: pairs that are together, or apart, in every clustering within delta.

Its parts are in the order in which they were proved: each may use what those before it have proved
(docs/certificates.md, Margins).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from certmix.certificate.draft import Unproved, incumbent, stated
from certmix.certificate.semidefinite import tell
from certmix.io.certificates import Certificate
from certmix.problem import Problem
from certmix.result import Result
from certmix.search.bounds.semidefinite.record import Recorder
from certmix.verify.check import Verdict, check

Pair = tuple[int, int, int]  # two samples, and whether they are together (1) or apart (0)


@dataclass(frozen=True)
class MarginPart:
    """One part: the pairs that it proves, and how."""

    pairs: Sequence[Pair]
    entries: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]
    known: tuple[str, str, float] | None = None
    """Digests of its statement and samples, and its bound, if the checker has accepted it already."""


def by_opposite(pair: Pair, certificate: Certificate, *, verified: bool = False) -> MarginPart:
    """From the certificate of a problem that has the opposite of a pair."""
    document = certificate.document
    kept = {name: document[name] for name in ("bound", "steps", "parts") if name in document}
    arrays = {name: a for name, a in certificate.arrays.items() if not name.startswith("incumbent/")}
    known = None
    if verified and not certificate.infeasible:
        digests = document["digests"]
        known = digests["statement"], digests["data"], certificate.bound
    return MarginPart([pair], kept, arrays, known)


def at_once(
    pairs: Sequence[Pair], problem: Problem, result: Result, recorder: Recorder, target: float
) -> MarginPart:
    """From the record of the roots of the semidefinite bound, at a cutoff a little above the target.

    Raises
    ------
    Unproved
        With the reason why there is none.
    """
    made = tell(recorder, problem, result).certificate(problem, result, target)
    part = by_opposite(pairs[0], made)
    return MarginPart(pairs, {**part.entries, "settled": True}, part.arrays)


def chained(
    problem: Problem, result: Result, within: float, parts: Sequence[MarginPart], pairs: Sequence[Pair]
) -> tuple[Certificate, Verdict]:
    """The certificate that all of these pairs are as they are in every clustering within delta, and its verdict.

    Raises
    ------
    Unproved
        With the reason why there is none.
    """
    claim = {
        "claim": "margins",
        "objective": float(result.objective),
        "within": float(within),
        "pairs": [list(pair) for pair in pairs],
        "parts": [{**part.entries, "pairs": [list(pair) for pair in part.pairs]} for part in parts],
    }
    arrays = {f"parts/{t}/{name}": a for t, part in enumerate(parts) for name, a in part.arrays.items()}
    own = incumbent(result)
    if result.variance is not None:
        own["incumbent/variance"] = np.array([result.variance])
    certificate = Certificate(stated(problem, result, claim), {**own, **arrays})
    known = {part.known for part in parts if part.known is not None}
    verdict = check(certificate.document, certificate.arrays, problem.data, known)
    if not verdict.verified:
        raise Unproved(f"the checker does not accept it ({verdict.sentence.rstrip('.')})")
    return certificate, verdict
