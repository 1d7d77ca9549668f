"""Nodes as arrays: one row per node in every array, whatever a bound chooses to keep about a node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np


class Nodes:
    """A set of nodes. ``bound`` and ``depth`` are always there; the other fields belong to the bound function."""

    def __init__(self, fields: Mapping[str, np.ndarray]) -> None:
        self.fields = dict(fields)
        if "bound" not in self.fields:
            raise ValueError("nodes need a bound")
        self.fields.setdefault("depth", np.zeros(len(self.fields["bound"]), dtype=np.int64))

    def __len__(self) -> int:
        return len(self.fields["bound"])

    def __getitem__(self, name: str) -> np.ndarray:
        return self.fields[name]

    @property
    def bound(self) -> np.ndarray:
        return self.fields["bound"]

    def take(self, rows: np.ndarray) -> Nodes:
        """The given rows (positions or a mask), copied."""
        return Nodes({name: array[rows] for name, array in self.fields.items()})

    @staticmethod
    def join(parts: Iterable[Nodes]) -> Nodes:
        """Several sets of nodes as one."""
        parts = list(parts)
        return Nodes({name: np.concatenate([p.fields[name] for p in parts]) for name in parts[0].fields})
