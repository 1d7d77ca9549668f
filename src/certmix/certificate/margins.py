"""The certificate of margins: pairs that are together, or apart, in every clustering within delta.

Its parts are in the order in which they were proved: each may use what those before it have proved
(docs/certificates.md, Margins).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from certmix.certificate.boxes import TUNING, drawn
from certmix.certificate.draft import Draft, Unproved, as_checked, checked, incumbent, stated
from certmix.certificate.semidefinite import tell
from certmix.io.certificates import Certificate
from certmix.problem import Problem
from certmix.result import Result
from certmix.search.bounds.interval import IntervalBound
from certmix.search.bounds.semidefinite.record import Recorder
from certmix.verify.check import Verdict
from certmix.verify.claims.margins import Chain, boxed
from certmix.verify.domain import Domain
from certmix.verify.evidence import Evidence, Rejected
from certmix.verify.statement import data_digest

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
    (known,) = certificate.known if verified and not certificate.infeasible else (None,)
    return MarginPart([pair], certificate.proof, certificate.proof_arrays, known)


def at_once(
    pairs: Sequence[Pair], problem: Problem, result: Result, recorder: Recorder, target: float
) -> MarginPart:
    """From the record of the roots of the semidefinite bound, at a cutoff a little above the target."""
    made = tell(recorder, problem, result).certificate(problem, result, target)
    part = by_opposite(pairs[0], made)
    return MarginPart(pairs, {**part.entries, "settled": True}, part.arrays)


def bounded(certificate: Certificate, *, verified: bool) -> MarginPart:
    """What nothing costs less than, for the part that comes next, if it is proved in a way that this one can use."""
    document = certificate.document
    if document["claim"] != "bound" or not document["steps"]:
        raise Unproved("the bound of the clustering is not proved by a tree of its own")
    return replace(by_opposite((0, 0, 1), certificate, verified=verified), pairs=())


def by_boxes(
    pairs: Sequence[Pair], problem: Problem, bound: IntervalBound, least: float, target: float
) -> MarginPart:
    """From the splits of a search by boxes; those pairs for which the checker confirms it."""
    if not 0 < bound.splits.count <= TUNING.entries:
        raise Unproved("the tree of boxes is too large, or was not kept")
    whole, root = as_checked(problem)
    draft, domain, rows = drawn(bound), Domain.of(root), np.array(pairs)
    domain.propagate(root)
    try:
        evidence = Evidence(draft.steps[0], draft.arrays)
        with np.errstate(all="ignore"):
            confirmed = boxed(root, rows, least, domain, evidence, target)
    except Rejected as error:
        raise Unproved(str(error)) from None
    return settled(rows[confirmed], draft, Chain(whole, root.statement), problem, least, target)


def settled(
    pairs: np.ndarray, draft: Draft, chain: Chain, problem: Problem, least: float, target: float
) -> MarginPart:
    """From a tree that the checker has followed: pairs (m, 3) that are together below the target."""
    entries = {"bound": float(target), "steps": draft.steps, "settled": True}
    known = chain.digest(pairs, least), data_digest(problem.data), float(target)
    return MarginPart([tuple(row) for row in pairs.tolist()], entries, draft.proof(), known)


def parts_of(certificate: Certificate) -> list[MarginPart]:
    """What :func:`put_together` was made of, for a certificate that goes on from there."""
    return [
        MarginPart(
            [(int(i), int(j), int(together)) for i, j, together in part["pairs"]],
            {name: value for name, value in part.items() if name != "pairs"},
            certificate.part_arrays(t),
        )
        for t, part in enumerate(certificate.document["parts"])
    ]


def put_together(
    problem: Problem, result: Result, within: float, parts: Sequence[MarginPart], pairs: Sequence[Pair]
) -> Certificate:
    """The certificate that these pairs are as they are in every clustering within delta; nobody has checked it."""
    claim = {
        "claim": "margins",
        "objective": float(result.objective),
        "within": float(within),
        "pairs": [list(pair) for pair in pairs],
        "parts": [{**part.entries, "pairs": [list(pair) for pair in part.pairs]} for part in parts],
    }
    arrays = {f"parts/{t}/{name}": a for t, part in enumerate(parts) for name, a in part.arrays.items()}
    return Certificate(stated(problem, result, claim), {**incumbent(result), **arrays})


def chained(
    problem: Problem, result: Result, within: float, parts: Sequence[MarginPart], pairs: Sequence[Pair]
) -> tuple[Certificate, Verdict]:
    """The same, and its verdict."""
    certificate = put_together(problem, result, within, parts, pairs)
    known = {part.known for part in parts if part.known is not None}
    with threadpool_limits(1):
        return checked(certificate, problem, known)
