"""One proof of the semidefinite bound as it is written down, packed.

Any multipliers prove something, so they are rounded *before* the bound and the exclusions are computed from them,
whether they are written down or not: N and cuts to whole multiples of a grain that is small against the gap, rows to
single precision. The file (see :mod:`certmix.certificate.semidefinite`) then holds few bytes, whoever reads it sees the
numbers that the search saw, and the search is the same when nobody wants the file.
"""

from __future__ import annotations

import io
import itertools
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from certmix.search.bounds.semidefinite.contraction import Contraction
from certmix.search.bounds.semidefinite.crossings import Crossing
from certmix.search.bounds.semidefinite.cuts import Cuts
from certmix.search.bounds.semidefinite.pools import SizeBlock
from certmix.spool import Spool, Stored

MARGIN = 1e-9  # relative: what a checker may lose by rounding in other ways
GAP_SHARE = 0.1  # share of the gap that the rounding of N may cost at worst; it costs far less
LARGEST_MULTIPLE = 2.0**30  # of the grain
KINDS = ("name", "semidefinite")  # of steps
NOTHING = np.zeros(0, dtype=np.int16)


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
    crossings: Sequence[Crossing]


@dataclass(frozen=True)
class Step:
    """A packed proof as arrays by name: ``about`` it (its kind, how N is held, its bound) and N, ``packed``, too."""

    arrays: Mapping[str, np.ndarray]
    bound: float
    size: int  # in bytes
    number: int = field(default_factory=itertools.count().__next__, compare=False)

    @classmethod
    def of(
        cls, kind: str, arrays: dict[str, np.ndarray], whole: np.ndarray = NOTHING, bound: float = -math.inf
    ) -> Step:
        """``whole`` is N over its grain: the upper triangles of all blocks, one after another."""
        about = np.array([KINDS.index(kind), whole.dtype == np.int32, bound])
        packed = np.frombuffer(zlib.compress(whole.tobytes(), 1), dtype=np.uint8)
        return cls.read({**arrays, "packed": packed, "about": about})

    @classmethod
    def read(cls, arrays: Mapping[str, np.ndarray]) -> Step:
        arrays = dict(arrays)
        return cls(arrays, float(arrays["about"][2]), sum(a.nbytes for a in arrays.values()) + 200)

    def in_file(self, spool: Spool) -> Step:
        """The same, its arrays read when somebody asks for them: a record grows, memory does not."""
        content = io.BytesIO()
        np.savez(content, **self.arrays)  # type: ignore[arg-type]
        return replace(self, arrays=_InFile(tuple(self.arrays), spool.put(content.getbuffer())))

    def loaded(self) -> Step:
        return replace(self, arrays=dict(self.arrays))

    @property
    def kind(self) -> str:
        return KINDS[int(self.arrays["about"][0])]

    def slack(self) -> np.ndarray:
        """N over its grain."""
        wide = self.arrays["about"][1] != 0.0
        return np.frombuffer(
            zlib.decompress(self.arrays["packed"].tobytes()), dtype=np.int32 if wide else np.int16
        )


@dataclass(frozen=True)
class _InFile(Mapping[str, np.ndarray]):
    """Arrays in a temporary file."""

    names: tuple[str, ...]
    file: Stored

    def __getitem__(self, name: str) -> np.ndarray:
        with np.load(io.BytesIO(self.file.read()), allow_pickle=False) as arrays:
            return np.asarray(arrays[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def pack_alone(draft: UnpackedStep) -> Step:
    """The step of a proof that excludes nothing."""
    M = len(draft.shape.root)
    return pack(draft, np.zeros_like(draft.shape.allowed), np.zeros((M, M), dtype=bool))


def pack(draft: UnpackedStep, gone: np.ndarray, pairs: np.ndarray) -> Step:
    """The step of a proof. ``gone`` (of every super-point, components) and ``pairs`` are what it excludes."""
    shape, M = draft.shape, len(draft.shape.root)
    of_component = np.full(gone.shape[1], -1, dtype=np.int32)
    for p, ks in enumerate(draft.components):
        of_component[ks] = p
    candidates = np.zeros((len(draft.index), M), dtype=bool)
    excluded = np.zeros_like(candidates)
    for p, (ks, index) in enumerate(zip(draft.components, draft.index, strict=True)):
        candidates[p, index] = True
        excluded[p] = gone[:, ks[0]]
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
        "sets": np.packbits(np.array([c.inside for c in draft.crossings], dtype=bool)),
        "set_price": np.array([c.price for c in draft.crossings], dtype=np.float64),
        "members": np.packbits(excluded),
        "pairs": np.packbits(pairs[np.triu_indices(M, 1)]) if pairs.any() else np.zeros(0, dtype=np.uint8),
    }
    return Step.of("semidefinite", arrays, whole, draft.bound)


def multiples(slack: np.ndarray, grain: float) -> np.ndarray:
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
