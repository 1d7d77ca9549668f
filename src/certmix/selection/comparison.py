"""The certificate of a comparison: those of all numbers of components, and which is claimed to be the best."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from certmix.certificate.draft import compare
from certmix.selection.criterion import ICL
from certmix.selection.path import Path
from certmix.verify.check import check


def compared(path: Path, data: np.ndarray) -> Path:
    """The path with its certificate, checked; without one where a number has none.

    What the checker has verified in single runs it does not check again.
    """
    results = [row.result for row in path.rows]
    parts = [result.certificate for result in results if result.certificate is not None]
    if len(parts) < len(results):
        missing = ", ".join(str(row.k) for row in path.rows if row.result.certificate is None)
        return replace(
            path, notes=(*path.notes, f"no certificate of the comparison: there is none for K = {missing}")
        )
    known: set[tuple[str, str, float]] = set()
    for result, part in zip(results, parts, strict=True):
        if result.verdict is not None and result.verdict.verified:
            known |= part.known
    criterion = ICL if path.criterion == ICL else None
    best = [row.k for row in path.rows].index(path.best) if path.proved and path.best is not None else None
    for claimed in dict.fromkeys((best, None)):
        certificate = compare(parts, best=claimed, criterion=criterion)
        verdict = check(certificate.document, certificate.arrays, data, known)
        if verdict.verified:
            return replace(path, certificate=certificate, verdict=verdict)
    return replace(path, notes=(*path.notes, f"no certificate of the comparison: {verdict.sentence}"))
