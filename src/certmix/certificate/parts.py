"""Proofs of the parts of a partition of the samples, and the certificate of the whole that they make together.

The engine ``parts`` leaves a list of :class:`PartProof` in ``ledger.record``, one for every part, made by
:func:`certmix.certificate.prove.prove_part` where the part was solved: there the record of its search can be dropped.
:func:`added` makes the certificate of the whole (docs/certificates.md, Sums).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from certmix.certificate.draft import Pieces, Unproved
from certmix.io.certificates import Certificate
from certmix.problem import Problem
from certmix.result import Result
from certmix.spool import Spool, Stored
from certmix.verify.check import Verdict
from certmix.verify.rounding import total_below


@dataclass(frozen=True)
class PartProof:
    """The proof of a lower bound for one part. It can be pickled, and sent from where the part was solved.

    Attributes
    ----------
    samples : (m,), positions in the whole problem, ascending
    bound : what is proved; the engine counts this one, which may lie a little below the bound of the search
    statement, data : digests of the part's statement and of its samples: what the proof is about
    verified : whether the checker has accepted the proof; if not, it is checked with the sum
    steps, arrays : the proof: entries of a certificate, and its NPZ file or where that is; None when it is not kept
    """

    samples: np.ndarray
    bound: float
    statement: str
    data: str
    verified: bool
    steps: Sequence[Mapping[str, Any]] = ()
    arrays: bytes | Stored | None = None

    def on_disk(self, spool: Spool) -> PartProof:
        """The same with its arrays in a temporary file instead of in memory."""
        return replace(self, arrays=spool.put(self.arrays)) if isinstance(self.arrays, bytes) else self


def added(problem: Problem, result: Result, proofs: Sequence[PartProof]) -> tuple[Certificate, Verdict]:
    """The certificate of a result whose bound is the sum of bounds of parts, and the checker's verdict."""
    of = np.full(problem.n_samples, -1, dtype=np.int32)
    for t, proof in enumerate(proofs):
        of[proof.samples] = t
    if (of < 0).any() or sum(len(proof.samples) for proof in proofs) != len(of):
        raise Unproved(f"of {np.count_nonzero(of < 0)} samples in some parts nothing is proved")
    pieces = Pieces()
    pieces.entries = [{"bound": proof.bound, "steps": list(proof.steps)} for proof in proofs]
    pieces.arrays = [proof.arrays for proof in proofs]
    pieces.known = {(proof.statement, proof.data, proof.bound) for proof in proofs if proof.verified}
    bound = total_below(np.array([proof.bound for proof in proofs]))
    return pieces.together("sum", problem, result, bound, {"partition": of})
