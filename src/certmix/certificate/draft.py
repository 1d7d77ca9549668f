"""A certificate in the making: tree, steps and their arrays."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from certmix._version import __version__
from certmix.certificate.statement import state
from certmix.io.certificates import FORMAT, VERSION, Certificate
from certmix.io.npz import NestedArrays, Stored, packed
from certmix.problem import Problem
from certmix.result import Result
from certmix.status import Tolerances
from certmix.verify.check import Verdict, check
from certmix.verify.evidence import Rejected
from certmix.verify.proof import Known
from certmix.verify.root import Root
from certmix.verify.statement import data_digest, digest, read
from certmix.verify.tree import LEFT, ROOT


class Unproved(Exception):
    """No proof was found; the message says why. Every maker of a proof may raise it."""


def compare(
    parts: Sequence[Certificate],
    offsets: Sequence[float] | None = None,
    best: int | None = None,
    criterion: str | None = None,
) -> Certificate:
    """One certificate that holds several about the same samples, with other components or options.

    Parameters
    ----------
    offsets : what is added to each objective before they are compared (a penalty for parameters, say); zeros by default
    best : the part whose clustering, plus its offset, is claimed to be worth no more than every other one's optimum
    criterion : ``icl`` where the problems differ in their numbers of components only, in ascending order; the checker
        then knows the offsets
    """
    if criterion is None:
        added: dict[str, Any] = {
            "offsets": [0.0] * len(parts) if offsets is None else [float(x) for x in offsets]
        }
    else:
        counts = [part.document["statement"]["n_components"] for part in parts]
        added = {"criterion": criterion, "components": counts}
    document = {
        "format": FORMAT,
        "version": VERSION,
        "claim": "comparison",
        "made_by": f"certmix {__version__}",
        **added,
        "best": best,
        "parts": [dict(part.document) for part in parts],
    }
    arrays = {f"parts/{i}/{name}": a for i, part in enumerate(parts) for name, a in part.arrays.items()}
    return Certificate(document, arrays)


def checked(certificate: Certificate, problem: Problem, known: Known = ()) -> tuple[Certificate, Verdict]:
    """A certificate that the checker accepts, and its verdict; :class:`Unproved` when it does not."""
    verdict = check(certificate.document, certificate.arrays, problem.data, known)
    if not verdict.verified:
        raise Unproved(f"the checker does not accept it ({verdict.sentence.rstrip('.')})")
    return certificate, verdict


def as_checked(problem: Problem) -> tuple[dict[str, Any], Root]:
    """The statement as it is written, and the problem as the checker sees it, if it takes it."""
    entry = json.loads(json.dumps(state(problem)))
    try:
        return entry, Root(read(entry), problem.data)
    except Rejected as error:
        raise Unproved(f"the checker does not take the problem: {error}") from None


class Draft:
    """Nodes and steps in the order in which they are added; node 0 is the root."""

    def __init__(self) -> None:
        self._parent = [-1]
        self._kind = [ROOT]
        self._args = [(0, 0, 0)]
        self._at = [0.0]
        self.steps: list[dict[str, Any]] = []
        self.arrays: dict[str, np.ndarray] = {}

    def node(self, parent: int, kind: int, first: int, second: int, at: float = 0.0) -> int:
        """Add a child by the decision that makes it (see :mod:`certmix.verify.tree`); its number."""
        self._parent.append(parent)
        self._kind.append(kind)
        self._args.append((int(first), int(second), 0))
        self._at.append(at)
        return len(self._parent) - 1

    def step(
        self, node: int, kind: str, arrays: Mapping[str, np.ndarray] | None = None, **numbers: Any
    ) -> None:
        """Add a step to a node; its arrays are stored under a prefix of its own."""
        entry: dict[str, Any] = {"node": int(node), "kind": kind}
        if arrays:
            entry["arrays"] = f"{len(self.steps)}/"
            self.arrays.update({entry["arrays"] + name: np.asarray(array) for name, array in arrays.items()})
        self.steps.append({**entry, **numbers})

    def __len__(self) -> int:
        return len(self._parent)

    def certificate(self, problem: Problem, result: Result, bound: float) -> Certificate:
        """The finished certificate; ``bound`` is what all leaves reach."""
        return self._finished(
            problem, result, {"claim": "bound", **claimed(result, bound)}, incumbent(result)
        )

    def refutation(self, problem: Problem, result: Result) -> Certificate:
        """The finished certificate of a tree in which nothing feasible is left."""
        return self._finished(problem, result, {"claim": "infeasible", "objective": None, "bound": None}, {})

    def _finished(
        self, problem: Problem, result: Result, claim: dict[str, Any], arrays: dict[str, np.ndarray]
    ) -> Certificate:
        document = stated(problem, result, {**claim, "steps": self.steps})
        return Certificate(document, {**arrays, **self.proof()})

    def proof(self) -> dict[str, np.ndarray]:
        """The arrays of tree and steps."""
        nodes: dict[str, np.ndarray] = {
            "tree/parent": np.array(self._parent, dtype=np.int32),
            "tree/kind": np.array(self._kind, dtype=np.int8),
            "tree/args": np.array(self._args, dtype=np.int32),
        }
        if any(kind >= LEFT for kind in self._kind):
            nodes["tree/at"] = np.array(self._at)
        return {**nodes, **self.arrays}


Make = Callable[[Problem, Result, Any], tuple[Certificate, Verdict | None]]


class Pieces:
    """Proofs of other problems, made one after another, from which a bound of this one follows.

    Those that have been verified are not checked again; the checker makes sure that they are what they have to be.
    """

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self.arrays: list[bytes | Stored | None] = []
        self.known: set[tuple[str, str, float]] = set()

    def add(self, about: Mapping[str, Any], found: Certificate, verdict: Verdict | None) -> float:
        """Take a proof, and what says which problem it is about; its bound."""
        self.entries.append({**about, **found.proof})
        self.arrays.append(packed(found.proof_arrays) if found.complete else None)
        self.known |= found.known if verdict is not None and verdict.verified else set()
        return found.bound

    def together(
        self,
        claim: str,
        problem: Problem,
        result: Result,
        bound: float,
        arrays: Mapping[str, np.ndarray] | None = None,
        **entries: Any,
    ) -> tuple[Certificate, Verdict]:
        """The certificate of a result with this bound, and the checker's verdict."""
        said = {"claim": claim, **claimed(result, min(bound, result.objective))}
        document = stated(problem, result, {**said, **entries, "parts": self.entries})
        nested = NestedArrays({**incumbent(result), **(arrays or {})}, self.arrays)
        return checked(Certificate(document, nested), problem, self.known)


def as_proved(result: Result) -> Result:
    """With the gap that was reached instead of the one that was asked for: all of the bound is wanted."""
    gap = (1.0 + 1e-5) * result.gap_absolute + 1e-9 * max(1.0, abs(result.objective))
    return replace(result, tolerances=Tolerances(0.0, gap))


def claimed(result: Result, bound: float) -> dict[str, float]:
    """The two numbers of a claim."""
    return {"objective": float(result.objective), "bound": float(bound)}


def incumbent(result: Result) -> dict[str, np.ndarray]:
    """The clustering of a result, for a certificate."""
    assert result.labels is not None
    assert result.means is not None
    assert result.weights is not None
    smallest = np.int8 if result.n_components < 127 else np.int32
    unknown = {} if result.variance is None else {"incumbent/variance": np.atleast_1d(result.variance)}
    return {
        **unknown,
        "incumbent/labels": result.labels.astype(smallest),
        "incumbent/means": np.asarray(result.means, dtype=np.float64),
        "incumbent/weights": np.asarray(result.weights, dtype=np.float64),
    }


def stated(problem: Problem, result: Result, claim: dict[str, Any]) -> dict[str, Any]:
    """The document of a claim about a problem."""
    statement = state(problem)
    return {
        "format": FORMAT,
        "version": VERSION,
        **claim,
        "made_by": f"certmix {__version__}, engine {result.engine}",
        "tolerances": {"relative": result.tolerances.relative, "absolute": result.tolerances.absolute},
        "digests": {"statement": digest(statement), "data": data_digest(problem.data)},
        "statement": statement,
    }
