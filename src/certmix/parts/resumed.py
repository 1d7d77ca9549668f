"""A run by parts on disk: the partition, what is known of every part, and its proofs, each written once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from certmix.certificate.parts import PartProof
from certmix.parts.account import Part
from certmix.spool import Stored
from certmix.state import State

NUMBERS = ("bound", "value", "tries")


def state_of(parts: Sequence[Part], n_groups: int) -> State:
    """What a later run can go on from."""
    of = np.zeros(n_groups, dtype=np.int32)
    for t, part in enumerate(parts):
        of[part.groups] = t
    proofs = [(t, proof) for t, part in enumerate(parts) for proof in part.proofs if proof.arrays is not None]
    named = {_name(proof): proof for _, proof in proofs}
    arrays = {name: np.array([float(getattr(part, name)) for part in parts]) for name in NUMBERS}
    mine = [[t, _name(proof)] for t, proof in proofs]
    return State({"proofs": mine}, {"part": of, **arrays}, _Bundles(named))


def is_of_parts(state: State) -> bool:
    """Whether a state is that of a run by parts; else it is that of the engine for the whole problem."""
    return "part" in state.arrays


def parts_of(state: State, make: Callable[[np.ndarray], Part]) -> list[Part]:
    """The parts of a state; none where there are none. ``make`` makes a part of groups.

    Proofs come back as they were written, and are checked again with the whole: a file is nobody's word.
    """
    if not is_of_parts(state):
        return []
    order = np.argsort(state.arrays["part"], kind="stable")
    sizes = np.bincount(state.arrays["part"], minlength=len(state.arrays["bound"]))
    parts = [make(np.sort(groups)) for groups in np.split(order, np.cumsum(sizes)[:-1])]
    for t, part in enumerate(parts):
        bound, value, tries = (float(state.arrays[name][t]) for name in NUMBERS)
        part.bound, part.value, part.tries = max(part.bound, bound), min(part.value, value), int(tries)
    for t, name in state.numbers["proofs"]:
        parts[t].proofs.append(_read(state.kept[name]))
    return parts


def _name(proof: PartProof) -> str:
    return f"{proof.data} {float(proof.bound).hex()}"


class _Bundles(Mapping[str, Mapping[str, np.ndarray]]):
    """Proofs as bundles of arrays, made when they are asked for: they may be on disk."""

    def __init__(self, proofs: Mapping[str, PartProof]) -> None:
        self._proofs = proofs

    def __iter__(self) -> Iterator[str]:
        return iter(self._proofs)

    def __len__(self) -> int:
        return len(self._proofs)

    def __contains__(self, name: object) -> bool:
        return name in self._proofs

    def __getitem__(self, name: str) -> Mapping[str, np.ndarray]:
        proof = self._proofs[name]
        content = proof.arrays.read() if isinstance(proof.arrays, Stored) else proof.arrays
        about = {"statement": proof.statement, "data": proof.data, "steps": list(proof.steps)}
        return {
            "samples": proof.samples,
            "bound": np.array(proof.bound),
            "about": np.frombuffer(json.dumps(about).encode(), dtype=np.uint8),
            "arrays": np.frombuffer(content or b"", dtype=np.uint8),
        }


def _read(bundle: Mapping[str, np.ndarray]) -> PartProof:
    about = json.loads(bundle["about"].tobytes())
    return PartProof(
        bundle["samples"],
        float(bundle["bound"]),
        about["statement"],
        about["data"],
        verified=False,
        steps=about["steps"],
        arrays=bundle["arrays"].tobytes(),
    )
