"""Writing the semidefinite proof down while the search runs.

Any multipliers prove something, so they are rounded *before* the bound and the exclusions are computed from them,
whether they are written down or not: N and cuts to whole multiples of a grain that is small against the gap, rows to
single precision. The file (see :mod:`certmix.certificate.semidefinite`) then holds few bytes, whoever reads it sees the
numbers that the search saw, and the search is the same when nobody wants the file.
"""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from certmix.search.bounds.semidefinite.admm import Method
from certmix.search.bounds.semidefinite.contraction import Contraction
from certmix.search.bounds.semidefinite.cuts import Cuts
from certmix.search.bounds.semidefinite.pools import SizeBlock
from certmix.search.bounds.semidefinite.shelf import Bundle, Shelf
from certmix.state import State

if TYPE_CHECKING:
    from certmix.search.bounds.semidefinite.safe import Proof

MOST_BYTES = 200 * 2**20  # of one record
MARGIN = 1e-9  # relative: what a checker may lose by rounding in other ways
GAP_SHARE = 0.1  # share of the gap that the rounding of N may cost at worst; it costs far less
LARGEST_MULTIPLE = 2.0**30  # of the grain
LARGE = 2**18  # bytes: larger steps wait in a file
KINDS = ("name", "semidefinite")  # of steps
DECISIONS = ("parent", "group", "component", "inside", "size", "closed")  # of a node, as they are stored


@dataclass(frozen=True)
class Rounded:
    """The multipliers of one block as they are written down, times the penalty."""

    over: np.ndarray
    under: np.ndarray
    cuts: np.ndarray

    @classmethod
    def of(cls, block: SizeBlock, sigma: float, grain: float) -> Rounded:
        cuts = np.rint(sigma * block.cuts.multiplier / grain) * grain
        return cls(*((a.astype(np.float32)) for a in (sigma * block.over, sigma * block.under, cuts)))

    def unscaled(self, cuts: Cuts, sigma: float) -> tuple[np.ndarray, np.ndarray, Cuts]:
        """The same for the method: divided by the penalty."""
        over, under, multiplier = (a.astype(np.float64) / sigma for a in (self.over, self.under, self.cuts))
        return over, under, replace(cuts, multiplier=multiplier)


def grain_for(gap: float, cutoff: float, largest: float, components: int, points: int) -> float:
    """A power of two so small that rounding N to its multiples costs a small share of the gap.

    A random symmetric matrix with entries up to half a grain has norm sqrt(points / 3) grains, and every component
    pays it once. A gap above ``largest`` counts as that: nothing is proved yet.
    """
    least = 1e-9 * max(1.0, abs(cutoff)) if math.isfinite(cutoff) else 0.0
    gap = max(min(gap, largest), least)
    return float(2.0 ** math.floor(math.log2(GAP_SHARE * gap / (components * math.sqrt(points / 3.0)))))


@dataclass(frozen=True)
class UnpackedStep:
    """A proof before anything was excluded by it: what a step of the certificate needs, not yet packed."""

    bound: float
    shape: Contraction
    components: list[np.ndarray]
    index: list[np.ndarray]
    T: np.ndarray
    blocks: list[tuple[int, int, int]]  # pool, low, high
    slope: np.ndarray
    level: np.ndarray
    grain: np.ndarray
    rounded: Sequence[Rounded]
    slack: list[np.ndarray]  # N over its grain, the upper triangle
    cuts: list[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Step:
    """A packed proof: small arrays by name, and N in compressed form."""

    kind: str
    arrays: dict[str, np.ndarray]
    packed: bytes = b""
    wide: bool = False  # whether N takes four bytes, not two
    bound: float = -math.inf
    number: int = field(default_factory=itertools.count().__next__, compare=False)

    @property
    def size(self) -> int:
        return sum(a.nbytes for a in self.arrays.values()) + len(self.packed) + 200

    def loaded(self) -> Step:
        return self

    def slack(self) -> np.ndarray:
        """N over its grain: the upper triangles of all blocks, one after another."""
        return np.frombuffer(zlib.decompress(self.packed), dtype=np.int32 if self.wide else np.int16)

    def stored(self) -> dict[str, np.ndarray]:
        """Everything as arrays."""
        about = np.array([KINDS.index(self.kind), self.wide, self.bound])
        return {**self.arrays, "packed": np.frombuffer(self.packed, dtype=np.uint8), "about": about}

    @classmethod
    def read(cls, stored: Mapping[str, np.ndarray]) -> Step:
        kind, wide, bound = stored["about"].tolist()
        arrays = {name: a for name, a in stored.items() if name not in ("packed", "about")}
        return cls(KINDS[int(kind)], arrays, stored["packed"].tobytes(), bool(wide), bound)


@dataclass(frozen=True)
class ShelvedStep:
    """A step that waits in a file."""

    arrays: Bundle
    bound: float
    size: int
    number: int

    def loaded(self) -> Step:
        return replace(Step.read(self.arrays), number=self.number)

    def stored(self) -> Mapping[str, np.ndarray]:
        return self.arrays


AnyStep = Step | ShelvedStep


@dataclass
class RecordedNode:
    """One node of the recorded tree."""

    parent: int
    group: int = -1
    component: int = -1
    inside: bool = True  # is the group in the component, or in none of those that it stands for
    size: int = -1  # instead of a group: is the component no larger than this, or are all of them larger
    steps: list[AnyStep] = field(default_factory=list)
    best: AnyStep | None = None  # the proof of the node's bound while it is open
    given: AnyStep | None = None  # the same before it was visited
    closed: bool = False


class Recorder:
    """The tree of one search and the steps that settle its nodes.

    Nodes are visited in several threads, each node in one. Large steps wait in a temporary file. Beyond ``most_bytes``
    everything is dropped and ``full`` is set.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.entries: list[RecordedNode] = []
        self.most_bytes = most_bytes
        self.bytes = 0
        self.full = False
        self._lock = Lock()
        self._shelf: Shelf | None = None

    def add(self, parent: int, group: int, component: int, inside: bool) -> int:
        """A new node; returns its number."""
        best, self.entries[parent].given = self.entries[parent].best, None
        self.entries.append(RecordedNode(parent, group, component, inside, best=best, given=best))
        return len(self.entries) - 1

    def add_size(self, parent: int, component: int, size: int, inside: bool) -> int:
        """A new node by a decision about sizes; returns its number."""
        self.entries.append(RecordedNode(parent, component=component, inside=inside, size=size))
        return len(self.entries) - 1

    def add_root(self) -> int:
        """The root of the search."""
        self.entries.append(RecordedNode(-1))
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

    def kept(self, step: Step) -> AnyStep:
        """The step, counted; in a file if it is large and there is room for it."""
        self.count(step.size)
        if step.size < LARGE:
            return step
        try:
            with self._lock:
                self._shelf = self._shelf or Shelf()
            return ShelvedStep(self._shelf.put(step.stored()), step.bound, step.size, step.number)
        except OSError:
            return step

    def settled(self, node: int) -> None:
        """A visit has closed the node: its steps, or the constraints, settle it."""
        entry = self.entries[node]
        entry.closed, entry.best, entry.given = True, None, None

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
        return State({}, arrays, {str(number): s.stored() for number, s in used.items()})

    def go_on(self, state: State, open_nodes: np.ndarray) -> None:
        """Take a state up, with these nodes open: what was written down of a visit that did not end is forgotten."""
        self.full = not state
        if self.full:
            return
        step: dict[int, AnyStep | None] = {int(n): self.kept(Step.read(a)) for n, a in state.kept.items()}
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
        groups = np.flatnonzero(before != after)
        names = np.round(np.log2(after[groups])).astype(np.int32)
        self._add(Step("name", {"groups": groups.astype(np.int32), "components": names}))

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
            [_multiples(b.slack, grain) for b, grain in zip(method.blocks, proof.grain, strict=True)],
            [(b.cuts.ends, b.cuts.signs) for b in method.blocks],
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


class NoRecord(Recorder):
    """The record of a search that nobody asked to write down."""

    def add(self, parent: int, group: int, component: int, inside: bool) -> int:
        return -1

    def add_size(self, parent: int, component: int, size: int, inside: bool) -> int:
        return -1

    def add_root(self) -> int:
        return -1

    def begin(self, node: int) -> Note:
        return SILENT_NOTE

    def settled(self, node: int) -> None:
        return

    def go_on(self, state: State, open_nodes: np.ndarray) -> None:
        return


SILENT_NOTE, NO_RECORD = Note(), NoRecord()


def pack_alone(draft: UnpackedStep) -> Step:
    """The step of a proof that excludes nothing."""
    M = len(draft.shape.root)
    return pack(draft, np.zeros(M, dtype=np.int64), np.zeros((M, M), dtype=bool))


def pack(draft: UnpackedStep, gone: np.ndarray, pairs: np.ndarray) -> Step:
    """The step of a proof. ``gone`` (per super-point, bits of components) and ``pairs`` are what it excludes."""
    shape, M = draft.shape, len(draft.shape.root)
    K = max(int(k) for ks in draft.components for k in ks) + 1
    of_component = np.full(K, -1, dtype=np.int8)
    for p, ks in enumerate(draft.components):
        of_component[ks] = p
    candidates = np.zeros((len(draft.index), M), dtype=bool)
    excluded = np.zeros_like(candidates)
    for p, (ks, index) in enumerate(zip(draft.components, draft.index, strict=True)):
        candidates[p, index] = True
        excluded[p] = (gone & (np.int64(1) << np.int64(ks[0]))) != 0
    cuts, multipliers, counts = [], [], []
    for (ends, signs), rounded in zip(draft.cuts, draft.rounded, strict=True):
        triples, used = _triples(ends, signs), np.flatnonzero(rounded.cuts > 0.0)
        used = used[np.lexsort(triples[used].T[::-1])]  # what is sorted takes fewer bytes
        cuts.append(triples[used])
        multipliers.append(rounded.cuts[used])
        counts.append(len(used))
    whole = np.concatenate(draft.slack)
    arrays: dict[str, np.ndarray] = {
        "point": shape.of.astype(np.int32),
        "pool": of_component,
        "candidates": np.packbits(candidates),
        "T": draft.T,
        "blocks": np.array(draft.blocks, dtype=np.int32).reshape(-1, 3),
        "slope": draft.slope,
        "level": draft.level,
        "grain": draft.grain,
        "over": np.concatenate([r.over for r in draft.rounded]),
        "under": np.concatenate([r.under for r in draft.rounded]),
        "cuts": np.concatenate(cuts).T,
        "cut_count": np.array(counts, dtype=np.int32),
        "cut_multiplier": np.concatenate(multipliers),
        "members": np.packbits(excluded),
        "pairs": np.packbits(pairs[np.triu_indices(M, 1)]) if pairs.any() else np.zeros(0, dtype=np.uint8),
    }
    packed = zlib.compress(whole.tobytes(), 1)
    return Step("semidefinite", arrays, packed, whole.dtype == np.int32, draft.bound)


def _multiples(slack: np.ndarray, grain: float) -> np.ndarray:
    """The upper triangle of N over its grain, in as few bytes as it takes."""
    whole = np.rint(slack[np.triu_indices(len(slack))] / grain)
    return whole.astype(np.int16 if np.abs(whole).max(initial=0.0) < 2**15 else np.int32)


def _triples(ends: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Cuts as (i, j, k): k = -1 for Z_ij <= Z_ii, k = -2 for Z_jj <= Z_ij with i in the cluster anyway."""
    anchor = (signs[:, 0] > 0.0) & (ends[:, 0, 0] == ends[:, 0, 1])
    triangle = signs[:, 2] != 0.0
    out = np.empty((len(ends), 3), dtype=np.int16)
    out[:, 0] = np.where(anchor, ends[:, 1, 0], ends[:, 0, 0])
    out[:, 1] = ends[:, 0, 1]
    out[:, 2] = np.where(anchor, -2, np.where(triangle, ends[:, 2, 1], -1))
    return out
