"""What an open node keeps of the method's state, to go on from there: as much as there is room for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from certmix.search.bounds.semidefinite.admm import Method
from certmix.search.bounds.semidefinite.contraction import Contraction
from certmix.search.bounds.semidefinite.cuts import Cuts
from certmix.threads import Threads

STATE_BYTES = 5e7  # the most that the matrices of one state may take in a store ...
STORE_BYTES = 2e8  # ... and all of them
LARGEST = 1e38  # number that single precision holds


@dataclass(frozen=True)
class Warm:
    """The state of the method in a node, to start its children from, or (``alone``) only the same node again."""

    shape: Contraction
    method: Method
    alone: bool = False

    @property
    def n_bytes(self) -> int:
        """What it takes in memory."""
        cuts = [(b.cuts.ends, b.cuts.signs, b.cuts.multiplier) for b in self.method.blocks]
        arrays = [*(a for group in cuts for a in group), *(a for b in self.method.blocks for a in (b.x, b.u))]
        arrays += [self.shape.points, *(a for p in self.method.pools for a in (p.points, p.entropy))]
        return sum(a.nbytes for a in arrays)


@dataclass(frozen=True)
class Multipliers:
    """What is left of a state without its matrices: multipliers of the groups, and the penalty (zero: nothing)."""

    T: np.ndarray
    sigma: float

    @classmethod
    def of(cls, warm: Warm | Multipliers | None, weight: np.ndarray) -> Multipliers:
        """The multipliers of a state; those of a super-point are shared by its groups in proportion to their weight."""
        if isinstance(warm, Multipliers):
            return warm
        if warm is None:
            return cls(np.zeros(len(weight)), 0.0)
        shape, method = warm.shape, warm.method
        of_points = -method.cover * method.sigma / shape.root
        return cls(weight * of_points[shape.of], method.sigma)


class WarmStore:
    """States of open nodes, as many as there is room for; those of the nodes with the largest bounds go first.

    What is taken or dropped depends on the nodes only, so that runs can be repeated.
    """

    def __init__(self, most_bytes: float = STORE_BYTES) -> None:
        self._most_bytes = most_bytes
        self._kept: dict[int, tuple[float, Warm, int]] = {}  # bound, state, how many nodes share it
        self._next = 0
        self.n_bytes = 0

    def put(self, states: Iterable[Warm | Multipliers | None], bounds: np.ndarray) -> np.ndarray:
        """Keep states of nodes; returns a key for each, -1 where there is nothing to keep. Siblings share one."""
        keys: list[int] = []
        known: dict[int, int] = {}
        for state, bound in zip(states, bounds.tolist(), strict=True):
            if not isinstance(state, Warm):
                keys.append(-1)
                continue
            key = known.get(id(state))
            if key is None:
                key = known[id(state)] = self._next
                self._next += 1
                self.n_bytes += state.n_bytes
                self._kept[key] = (bound, state, 0)
            kept, _, users = self._kept[key]
            self._kept[key] = (min(kept, bound), state, users + 1)
            keys.append(key)
        while self.n_bytes > self._most_bytes:
            self._drop(max(self._kept, key=lambda k: (self._kept[k][0], k)))
        return np.array(keys, dtype=np.int64)

    def take(self, key: int) -> Warm | None:
        """The state behind a key, if it is still there."""
        if key not in self._kept:
            return None
        bound, state, users = self._kept[key]
        if users > 1:
            self._kept[key] = (bound, state, users - 1)
        else:
            self._drop(key)
        return state

    def _drop(self, key: int) -> None:
        self.n_bytes -= self._kept.pop(key)[1].n_bytes


def keep(shape: Contraction, method: Method) -> Warm:
    """What an open node stores of its state: matrices in single precision and cuts.

    None where they are very large, or hold numbers that are too large for single precision.

    What is lost is only where the method starts; every proof is made from what it then reaches.
    """
    lean = []
    small = sum(2 * 4 * b.x.size for b in method.blocks) <= STATE_BYTES
    fits = all(np.abs(a).max(initial=0.0) < LARGEST for b in method.blocks for a in (b.x, b.u))
    some = slice(None if small and fits else 0)
    nothing = np.zeros((0, 0))
    for b in method.blocks:
        x, u = b.x[some].astype(np.float32), b.u[some].astype(np.float32)
        ends, signs = b.cuts.ends[some].astype(np.int16), b.cuts.signs[some].astype(np.int8)
        cuts = Cuts(ends, signs, b.cuts.multiplier[some], nothing)
        lean.append(replace(b, x=x, u=u, cuts=cuts, cost=nothing, slack=nothing, basis=nothing))
    kept = Method(method.root, np.zeros((0, 0), dtype=bool), [], lean, method.cover, method.sigma, Threads(1))
    kept.pools, kept.crossings = method.pools, method.crossings
    return Warm(replace(shape, apart=np.zeros((0, 0), dtype=bool)), kept)
