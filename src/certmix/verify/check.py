"""The check of a whole certificate against a data matrix."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from certmix.verify import incumbent, statement
from certmix.verify.claims import chords, comparison, margins, parts, softlinks, vertices
from certmix.verify.evidence import Document, Evidence, Rejected, number
from certmix.verify.proof import Checking, Known, Proof

FORMAT, VERSION = "certmix-certificate", 6
Arrays = Mapping[str, np.ndarray]
# Whatever a certificate makes go wrong (RuntimeError: parts inside of parts without end), it is not verified.
FAULTS = (ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError)


COMPOSED = {"sum": parts.proved, "chord": vertices.proved, "soft": softlinks.proved}
CLAIMS = ("bound", "infeasible", "comparison", "margins", *COMPOSED)


@dataclass(frozen=True)
class Verdict:
    """What the checker says.

    Attributes
    ----------
    verified : bool
    level : ``verified`` or ``rejected``
    sentence : what is proved, or which part of the certificate fails and why
    bound : no clustering that satisfies the constraints has a smaller objective (-inf when rejected, inf when there is
        no such clustering)
    value : the clustering of the certificate has at most this objective (inf when rejected or when there is none)
    seconds, nodes, leaves : of the check, of its tree
    taken : what was taken from the certificate and not compared with anything, in words (see :mod:`certmix.verifying`)
    parts : the verdicts on the certificates inside; bound and value are theirs
    """

    verified: bool
    level: str
    sentence: str
    bound: float = -math.inf
    value: float = math.inf
    seconds: float = 0.0
    nodes: int = 0
    leaves: int = 0
    taken: tuple[str, ...] = ()
    parts: tuple[Verdict, ...] = ()

    @property
    def gap(self) -> float:
        """``value - bound`` in nats."""
        return self.value - self.bound


def check(document: Document, arrays: Arrays, data: np.ndarray, known: Known = ()) -> Verdict:
    """Check that a certificate holds for these data; never raises on a bad certificate.

    ``known`` are bounds that this checker has verified before: parts that are among them are taken as such.
    """
    start = time.perf_counter()
    try:
        with np.errstate(all="ignore"):  # what is not a number is dealt with where it can occur
            verdict = _check(document, arrays, np.ascontiguousarray(data, dtype=np.float64), known)
    except Rejected as error:
        verdict = Verdict(False, "rejected", f"Rejected: {error}.")
    except FAULTS as error:
        why = f"it cannot be followed ({type(error).__name__}: {error})"
        verdict = Verdict(False, "rejected", f"Rejected: {why}.")
    return replace(verdict, seconds=time.perf_counter() - start)


def _check(document: Document, arrays: Arrays, data: np.ndarray, known: Known) -> Verdict:
    version, claim = document.get("version"), document.get("claim")
    if document.get("format") != FORMAT or type(version) is not int or version != VERSION:
        raise Rejected(f"it has not the format version {VERSION} that this checker reads, but {version!r}")
    if claim not in CLAIMS:
        raise Rejected(f"its claim is {claim!r}, not one of {', '.join(CLAIMS)}")
    if claim == "comparison":
        return _comparison(document, arrays, data, known)
    proof = _proof(document, arrays, data, known)
    if claim not in ("infeasible", "margins", proof.claim) or (claim == "margins" and proof.stated.soft):
        raise Rejected(f"its claim is {claim!r}, but its statement and proof are those of {proof.claim!r}")
    bound, most, sentence = -math.inf, math.inf, ""
    if claim == "infeasible":
        if document.get("objective", 0) is not None or document.get("bound", 0) is not None:
            raise Rejected("a claim of infeasibility has no objective and no bound: they must be null")
        if any(array.startswith("incumbent/") for array in arrays):
            raise Rejected("a claim of infeasibility comes with a clustering")
        bound, sentence = math.inf, "no clustering meets the constraints"
        proof.check(bound)
    else:
        most = _value(proof)
        if claim == "margins":
            sentence = margins.proved(proof, most)
        else:
            bound = number(document.get("bound"), "bound")
            if bound > max(most, document["objective"]):
                raise Rejected(f"its bound {bound!r} lies above the objective {most!r} of its own clustering")
            sentence = _said(proof.stated, most, bound, proof.check(bound))
    nodes, leaves = proof.checking.nodes, proof.checking.leaves
    return Verdict(True, "verified", f"Verified: {sentence}.", bound, most, nodes=nodes, leaves=leaves)


def _proof(document: Document, arrays: Arrays, data: np.ndarray, known: Known) -> Proof:
    """What the certificate offers, if its statement and the data are those that its digests are of."""
    digests, entry = document.get("digests"), document.get("statement")
    if not isinstance(digests, Mapping) or not isinstance(entry, Mapping):
        raise Rejected("it lacks digests or a statement")
    proof = Proof(entry, data, document, Evidence({}, arrays), Checking(known, COMPOSED))
    if digests.get("statement") != statement.digest(entry):
        raise Rejected("the statement is not the one that was certified (its digest differs)")
    statement.counted(proof.stated, data)
    if digests.get("data") != statement.data_digest(data):
        raise Rejected("the data are not those that were certified (their digest differs)")
    return proof


def _value(proof: Proof) -> float:
    """What the objective of the clustering is at most, which has to be the one that is claimed."""
    objective = number(proof.document.get("objective"), "objective")
    s, given = proof.stated, (proof.stated, proof.data, proof.evidence)
    value, error = chords.value(proof.entry, *given) if s.unknown else incumbent.value(*given)
    if not abs(value - objective) <= error + 1e-10 * max(1.0, abs(value)):
        raise Rejected(f"the clustering has objective {value!r}, not {objective!r}")
    return math.nextafter(value + error, math.inf)


def _said(stated: statement.Statement, most: float, bound: float, how: str) -> str:
    """What is proved, in the units of the user."""
    (name, unit), above, below = stated.words, stated.told(most, math.inf), stated.told(bound, -math.inf)
    return (
        f"the clustering has {name} {above:.10g} and no clustering is better than {below:.10g}{how}, "
        f"so it is within {max(0.0, above - below):.3g}{unit} of the optimum"
    )


def _comparison(document: Document, arrays: Arrays, data: np.ndarray, known: Known) -> Verdict:
    """Several certificates about the same data, one after the other; and if one is called the best, whether it is."""
    found = []
    for i, part in enumerate(comparison.inside(document)):
        prefix = f"parts/{i}/"
        own = {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
        try:
            found.append(_check(part, own, data, known))
        except Rejected as error:
            raise Rejected(f"part {i} fails: {error}") from None
    bounds, sentence = comparison.proved(document, [(v.bound, v.value, v.sentence) for v in found])
    parts = tuple(replace(v, bound=bound) for v, bound in zip(found, bounds, strict=True))
    nodes, leaves = sum(v.nodes for v in found), sum(v.leaves for v in found)
    return Verdict(True, "verified", f"Verified: {sentence}", nodes=nodes, leaves=leaves, parts=parts)
