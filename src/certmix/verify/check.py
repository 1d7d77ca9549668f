"""The check of a whole certificate against a data matrix."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from certmix.verify import incumbent, statement
from certmix.verify.dynamic import dynamic
from certmix.verify.enumeration import enumerate_all
from certmix.verify.evidence import Evidence, Rejected
from certmix.verify.lagrangian import lagrangian
from certmix.verify.root import build
from certmix.verify.semidefinite import name, semidefinite
from certmix.verify.tree import Step, Walked, walk

VERSION = 1
STEPS: dict[str, Step] = {
    "lagrangian": lagrangian,
    "enumerate": enumerate_all,
    "dynamic": dynamic,
    "semidefinite": semidefinite,
    "name": name,
}


@dataclass(frozen=True)
class Verdict:
    """What the checker says.

    Attributes
    ----------
    verified : bool
    level : ``verified`` or ``rejected``
    sentence : what is proved, or which part of the certificate fails and why
    bound : no clustering that satisfies the constraints has a smaller objective (-inf when rejected)
    value : the clustering of the certificate has at most this objective (inf when rejected)
    seconds, nodes, leaves : of the check, of its tree
    """

    verified: bool
    level: str
    sentence: str
    bound: float = -math.inf
    value: float = math.inf
    seconds: float = 0.0
    nodes: int = 0
    leaves: int = 0

    @property
    def gap(self) -> float:
        """``value - bound`` in nats."""
        return self.value - self.bound


def check(document: Mapping[str, Any], arrays: Mapping[str, np.ndarray], data: np.ndarray) -> Verdict:
    """Check that a certificate holds for these data; never raises on a bad certificate."""
    start = time.perf_counter()
    try:
        with np.errstate(all="ignore"):  # what is not a number is dealt with where it can occur
            value, bound, walked = _check(document, arrays, np.ascontiguousarray(data, dtype=np.float64))
    except Rejected as error:
        return Verdict(False, "rejected", f"Rejected: {error}.", seconds=time.perf_counter() - start)
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
        # Whatever the certificate made go wrong, it is not verified.
        why = f"it cannot be followed ({type(error).__name__}: {error})"
        return Verdict(False, "rejected", f"Rejected: {why}.", seconds=time.perf_counter() - start)
    sentence = (
        f"Verified: the clustering has objective {value:.10g} and no clustering is better than {bound:.10g}, "
        f"so it is within {max(0.0, value - bound):.3g} nats of the optimum."
    )
    seconds = time.perf_counter() - start
    return Verdict(True, "verified", sentence, bound, value, seconds, walked.nodes, walked.leaves)


def _check(
    document: Mapping[str, Any], arrays: Mapping[str, np.ndarray], data: np.ndarray
) -> tuple[float, float, Walked]:
    if (
        document.get("format") != "certmix-certificate"
        or document.get("version") not in [VERSION]
        or document["version"] is True
    ):
        raise Rejected("it is not a certificate of a version that this checker knows")
    digests, entries = document.get("digests"), document.get("steps")
    objective, bound = (_number(document, name) for name in ("objective", "bound"))
    if not isinstance(digests, Mapping) or not isinstance(entries, list):
        raise Rejected("it lacks digests or steps")
    if not all(isinstance(entry, Mapping) for entry in entries):
        raise Rejected("a step is not an object")
    stated = statement.read(document.get("statement"))
    if digests.get("statement") != statement.digest(document["statement"]):
        raise Rejected("the statement is not the one that was certified (its digest differs)")
    if data.ndim != 2 or data.shape != (stated.n, stated.d):
        raise Rejected(f"the data have shape {data.shape}, the certificate is about {stated.n} x {stated.d}")
    if digests.get("data") != statement.data_digest(data):
        raise Rejected("the data are not those that were certified (their digest differs)")
    evidence = Evidence({}, arrays)
    root = build(stated, data)
    value, error = incumbent.value(stated, data, evidence)
    if not abs(value - objective) <= error + 1e-10 * max(1.0, abs(value)):
        raise Rejected(f"the clustering has objective {value!r}, not {objective!r}")
    walked = walk(root, evidence, entries, bound, STEPS, enumerate_all)
    return math.nextafter(value + error, math.inf), bound, walked


def _number(document: Mapping[str, Any], name: str) -> float:
    found = document.get(name)
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not math.isfinite(found):
        raise Rejected(f"its {name} is {found!r}, not a finite number")
    return float(found)
