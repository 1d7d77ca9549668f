"""What is offered as proof of a bound: a tree with steps, or parts, each about a problem of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from certmix.verify import statement
from certmix.verify.boxes import boxes
from certmix.verify.dynamic import dynamic
from certmix.verify.enumeration import enumerate_all
from certmix.verify.evidence import Document, Evidence, Rejected, number, objects
from certmix.verify.lagrangian import lagrangian
from certmix.verify.root import Root
from certmix.verify.rounding import Array
from certmix.verify.semidefinite import semidefinite
from certmix.verify.tree import Kinds, Settled, walk

STEPS: Kinds = {
    "lagrangian": lagrangian,
    "enumerate": enumerate_all,
    "dynamic": dynamic,
    "semidefinite": semidefinite,
    "boxes": boxes,
}
COMBINATORIAL: Kinds = {"enumerate": enumerate_all}  # no rounded number decides about infeasibility
Known = Collection[tuple[str, str, float]]  # digests of a statement and of its data, a bound that is proved


@dataclass
class Checking:
    """What all proofs of a certificate share: what is known, how proofs with parts are checked, what was walked."""

    known: Known
    composed: Mapping[str, Callable[[Proof, float], str]]
    nodes: int = 0
    leaves: int = 0


class Proof:
    """What is offered as proof of something about a problem.

    Attributes
    ----------
    entry, stated : the statement as it is written, and as read
    data : (n, d), its samples
    document, evidence : the JSON object that has ``steps`` or ``parts``, and its arrays
    """

    def __init__(
        self, entry: Document, data: Array, document: Document, evidence: Evidence, checking: Checking
    ) -> None:
        self.entry, self.stated, self.data = entry, statement.read(entry), data
        self.document, self.evidence, self.checking = document, evidence, checking

    @property
    def claim(self) -> str:
        """What a bound is called that is proved so; where soft links or variances are open there is one way only."""
        s = self.stated
        return "soft" if s.soft else "chord" if s.unknown else "sum" if "parts" in self.document else "bound"

    @property
    def parts(self) -> list[Document]:
        """The proofs inside."""
        return objects(self.document, "parts")

    def check(self, bound: float) -> str:
        """Check the proof of a bound, an infinite one where nothing is feasible; in words, what it rests on."""
        known = self.checking.known
        if known and (statement.digest(self.entry), statement.data_digest(self.data), bound) in known:
            return ""
        if bound < math.inf and self.claim in self.checking.composed:
            return self.checking.composed[self.claim](self, bound)
        self.walk(bound, STEPS if bound < math.inf else COMBINATORIAL)
        return ""

    def walk(self, target: float, kinds: Kinds, settled: Settled = None) -> None:
        """Check the tree and the steps that prove the target."""
        root, steps = Root(self.stated, self.data), objects(self.document, "steps")
        nodes, leaves = walk(root, self.evidence, steps, target, kinds, settled)
        self.checking.nodes += nodes
        self.checking.leaves += leaves

    def part(self, t: int, entry: Document, data: Array | None = None, empty: bool = False) -> float:
        """Check part t as a proof about another problem; its bound, infinite (null) only where it may be ``empty``."""
        inside = self.inside(t, entry, data)
        nothing = empty and inside.document.get("bound", 0) is None
        bound = math.inf if nothing else number(inside.document.get("bound"), "bound")
        try:
            inside.check(bound)
        except Rejected as error:
            raise Rejected(f"part {t} fails: {error}") from None
        return bound

    def inside(self, t: int, entry: Document, data: Array | None = None) -> Proof:
        """What part t offers about another problem, of the same samples or of others."""
        own = self.evidence.under(f"parts/{t}/")
        return Proof(entry, self.data if data is None else data, self.parts[t], own, self.checking)
