"""Writing the semidefinite proof down while the search runs: its tree, and the steps that settle its nodes."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from certmix.search.bounds.semidefinite.admm import Method
from certmix.search.bounds.semidefinite.contraction import Contraction
from certmix.search.bounds.semidefinite.steps import (
    Step,
    UnpackedStep,
    multiples,
    pack,
    pack_alone,
)
from certmix.spool import Spool
from certmix.state import State

if TYPE_CHECKING:
    from certmix.search.bounds.semidefinite.safe import Proof

MOST_BYTES = 200 * 2**20  # of one record
LARGE = 2**18  # bytes: larger steps wait in a file
DECISIONS = ("parent", "group", "component", "inside", "size", "closed")  # of a node, as they are stored


@dataclass
class RecordedNode:
    """One node of the recorded tree."""

    parent: int
    group: int = -1
    component: int = -1
    inside: bool = True  # is the group in the component, or in none of those that it stands for
    size: int = -1  # instead of a group: is the component no larger than this, or are all of them larger
    steps: list[Step] = field(default_factory=list)
    best: Step | None = None  # the proof of the node's bound while it is open
    given: Step | None = None  # the same before it was visited
    closed: bool = False


class Recorder:
    """The tree of one search and the steps that settle its nodes.

    Nodes are visited in several threads, each node in one. Large steps wait in a temporary file. Beyond ``most_bytes``
    everything is dropped, ``full`` is set, and nothing more is written down.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.entries: list[RecordedNode] = []
        self.most_bytes = most_bytes
        self.bytes = 0
        self.full = most_bytes < 0
        self._lock = Lock()
        self._spool: Spool | None = None

    def add(self, parent: int = -1, **decision: int) -> int:
        """A new node, by a decision in its parent or the root of the search; returns its number."""
        if self.full:
            return -1
        entry = RecordedNode(parent, **decision)  # type: ignore[arg-type]
        if parent >= 0:
            entry.best = entry.given = self.entries[parent].best
            self.entries[parent].given = None
        self.entries.append(entry)
        return len(self.entries) - 1

    def begin(self, node: int) -> Note:
        """A node is visited (again, if it was interrupted)."""
        if self.full:
            return SILENT_NOTE
        entry = self.entries[node]
        self.count(-sum(step.size for step in entry.steps))
        entry.steps = []
        if entry.parent >= 0:
            self.entries[entry.parent].best = None  # its children have it
        return NodeNote(self, entry)

    def kept(self, step: Step) -> Step:
        """The step, counted; in a file if it is large and there is room for it."""
        self.count(step.size)
        if step.size < LARGE:
            return step
        try:
            with self._lock:
                self._spool = self._spool or Spool()
            return step.in_file(self._spool)
        except OSError:
            return step

    def settled(self, node: int) -> None:
        """A visit has closed the node: its steps, or the constraints, settle it."""
        if not self.full:
            entry = self.entries[node]
            entry.closed, entry.best, entry.given = True, None, None

    @property
    def idle(self) -> bool:
        """Whether nothing was visited: a first bound was enough."""
        return not (self.full or any(e.closed or e.steps or e.best is not None for e in self.entries))

    def state(self) -> State:
        """The tree and its steps; nothing when they were dropped. Visits may go on meanwhile."""
        if self.full or not self.entries:
            return State()
        entries = list(self.entries)
        steps = [tuple(entry.steps) for entry in entries]
        bests, givens = ([getattr(e, name) for e in entries] for name in ("best", "given"))
        used = {s.number: s for s in itertools.chain(*steps, bests, givens) if s is not None}
        arrays = {name: np.array([getattr(e, name) for e in entries]) for name in DECISIONS}
        arrays["steps"] = np.array([s.number for own in steps for s in own], dtype=np.int64)
        arrays["step_count"] = np.array([len(own) for own in steps])
        arrays["best"], arrays["given"] = (
            np.array([-1 if s is None else s.number for s in of]) for of in (bests, givens)
        )
        return State({}, arrays, {str(number): s.arrays for number, s in used.items()})

    def go_on(self, state: State, open_nodes: np.ndarray) -> None:
        """Take a state up, with these nodes open: what was written down of a visit that did not end is forgotten."""
        if self.full:
            return
        step: dict[int, Step | None] = {int(n): self.kept(Step.read(a)) for n, a in state.kept.items()}
        step[-1] = None
        a = state.arrays
        ends = np.cumsum(a["step_count"])
        self.entries = []
        for i, decisions in enumerate(zip(*(a[name].tolist() for name in DECISIONS), strict=True)):
            entry = RecordedNode(**dict(zip(DECISIONS, decisions, strict=True)))
            entry.best, entry.given = step[int(a["best"][i])], step[int(a["given"][i])]
            own = a["steps"][ends[i] - a["step_count"][i] : ends[i]]
            entry.steps = [s for s in (step[n] for n in own.tolist()) if s is not None]
            self.entries.append(entry)
        for node in open_nodes.tolist():
            entry = self.entries[node]
            entry.steps, entry.best, entry.closed = [], entry.given, False
        self._recount()

    def count(self, size: int) -> None:
        with self._lock:
            self.bytes += size
            if self.bytes > self.most_bytes and not self.full:
                self._recount()
                if self.bytes > self.most_bytes:
                    self.full = True
                    for entry in self.entries:
                        entry.steps, entry.best, entry.given = [], None, None

    def _recount(self) -> None:
        """The bytes that are really in use; the proofs of bounds of inner nodes are not."""
        for entry in self.entries:
            if entry.parent >= 0:
                self.entries[entry.parent].best = None
        steps = [step for entry in self.entries for step in entry.steps]
        bounds = {id(b): b for e in self.entries for b in (e.best, e.given) if b is not None}
        self.bytes = sum(step.size for step in [*steps, *bounds.values()])


class Note:
    """What is written down during one visit: nothing, where nobody asks."""

    def named(self, before: np.ndarray, after: np.ndarray) -> None:
        """Groups got the names of components."""

    def proved(self, shape: Contraction, method: Method, proof: Proof) -> None:
        """A proof was made."""

    def excluded(self, gone: np.ndarray, pairs: np.ndarray) -> None:
        """The last proof excludes components for super-points, pairs of them, and sizes."""

    def closed(self) -> None:
        """The last proof settles the node."""

    def stalled(self) -> None:
        """The node stays open: its bound may be needed as it is."""


class NodeNote(Note):
    """What is written down of one node."""

    def __init__(self, recorder: Recorder, entry: RecordedNode) -> None:
        self.recorder, self.entry = recorder, entry
        self._last: UnpackedStep | None = None
        self._best: UnpackedStep | None = None

    def named(self, before: np.ndarray, after: np.ndarray) -> None:
        groups = np.flatnonzero((before != after).any(axis=1))
        names = after[groups].argmax(axis=1).astype(np.int32)
        self._add(Step.of("name", {"groups": groups.astype(np.int32), "components": names}))

    def proved(self, shape: Contraction, method: Method, proof: Proof) -> None:
        self._last = UnpackedStep(
            proof.bound,
            shape,
            [p.components for p in method.pools],
            [p.index for p in method.pools],
            -method.sigma * method.cover * method.root,
            [(b.pool, b.low, b.high) for b in method.blocks],
            np.array([b.slope for b in method.blocks]),
            proof.level,
            proof.grain,
            proof.rounded,
            [multiples(b.slack, grain) for b, grain in zip(method.blocks, proof.grain, strict=True)],
            [(b.cuts.ends, b.cuts.signs) for b in method.blocks],
            tuple(method.crossings),
        )
        if self._best is None or proof.bound > self._best.bound:
            self._best = self._last

    def excluded(self, gone: np.ndarray, pairs: np.ndarray) -> None:
        if self._last is not None:
            self._add(pack(self._last, gone, pairs))

    def closed(self) -> None:
        if self._last is not None:
            self._add(pack_alone(self._last))

    def stalled(self) -> None:
        if self._best is None or self.recorder.full:
            return
        if self.entry.best is None or self._best.bound > self.entry.best.bound:
            self.entry.best = self.recorder.kept(pack_alone(self._best))

    def _add(self, step: Step) -> None:
        if not self.recorder.full:
            self.entry.steps.append(self.recorder.kept(step))


SILENT_NOTE, NO_RECORD = Note(), Recorder(most_bytes=-1)
