"""The certificate of margins: pairs that are together, or apart, in every clustering within delta.

Its parts are in the order in which they were proved: each may use what those before it have proved
(docs/certificates.md, Margins).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from certmix.certificate.boxes import MOST_ENTRIES, drawn
from certmix.certificate.draft import Unproved, incumbent, stated
from certmix.certificate.semidefinite import tell
from certmix.certificate.statement import state
from certmix.io.certificates import Certificate
from certmix.problem import Problem
from certmix.result import Result
from certmix.search.bounds.interval import IntervalBound
from certmix.search.bounds.semidefinite.record import Recorder
from certmix.verify.check import Verdict, check
from certmix.verify.claims.margins import Chain, boxed
from certmix.verify.domain import Domain
from certmix.verify.evidence import Evidence, Rejected
from certmix.verify.root import Root
from certmix.verify.statement import data_digest, read
from certmix.verify.tree import ROOT

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


def bounded(certificate: Certificate, *, verified: bool) -> MarginPart:
    """What nothing costs less than, for the part that comes next.

    Raises
    ------
    Unproved
        When the bound is not proved in a way that the next part can use.
    """
    document = certificate.document
    if document["claim"] != "bound" or not document["steps"]:
        raise Unproved("the bound of the clustering is not proved by a tree of its own")
    return replace(by_opposite((0, 0, 1), certificate, verified=verified), pairs=())


def by_boxes(
    pairs: Sequence[Pair], problem: Problem, bound: IntervalBound, least: float, target: float
) -> MarginPart:
    """From the splits of a search by boxes; those pairs for which the checker confirms it.

    Raises
    ------
    Unproved
        With the reason why there is none.
    """
    if not 0 < bound.splits.count <= MOST_ENTRIES:
        raise Unproved("the tree of boxes is too large, or was not kept")
    whole = json.loads(json.dumps(state(problem)))
    root = Root(read(whole), problem.data)
    draft, domain, rows = drawn(bound), Domain.of(root), np.array(pairs)
    domain.propagate(root)
    try:
        evidence = Evidence(draft.steps[0], draft.arrays)
        with np.errstate(all="ignore"):
            confirmed = boxed(root, rows, least, domain, evidence, target)
    except Rejected as error:
        raise Unproved(str(error)) from None
    kept = rows[confirmed]
    tree = {"tree/parent": [-1], "tree/kind": [ROOT], "tree/args": [[0, 0, 0]]}
    arrays = {name: np.array(a, dtype=np.int32) for name, a in tree.items()} | draft.arrays
    entries = {"bound": float(target), "steps": draft.steps, "settled": True}
    known = Chain(whole, root.statement).digest(kept, least), data_digest(problem.data), float(target)
    return MarginPart([tuple(row) for row in kept.tolist()], entries, arrays, known)


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
    certificate = Certificate(stated(problem, result, claim), {**incumbent(result), **arrays})
    known = {part.known for part in parts if part.known is not None}
    with threadpool_limits(1):
        verdict = check(certificate.document, certificate.arrays, problem.data, known)
    if not verdict.verified:
        raise Unproved(f"the checker does not accept it ({verdict.sentence.rstrip('.')})")
    return certificate, verdict
