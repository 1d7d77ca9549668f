"""Symmetric matrices, one or one for each component, stored as their diagonals where they have nothing else.

With 20,000 features a matrix takes 3 GB and its diagonal 160 kB.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

MOST_FULL = 1000


@dataclass(frozen=True)
class Matrices:
    """C symmetric d x d matrices.

    Attributes
    ----------
    entries : (C, d), the diagonals, when every matrix is diagonal; else (C, d, d)
    """

    entries: np.ndarray

    def __post_init__(self) -> None:
        entries = np.ascontiguousarray(self.entries, dtype=np.float64)
        if entries.ndim == 3 and not any(_off_diagonal(m) for m in entries):
            entries = np.ascontiguousarray(np.einsum("cii->ci", entries))
        entries.setflags(write=False)
        object.__setattr__(self, "entries", entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, k: Any) -> np.ndarray:
        """Matrix k in full."""
        found = self.entries[k]
        return np.asarray(found[..., None] * np.eye(found.shape[-1]) if self.diagonal else found)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """All matrices in full, (C, d, d)."""
        return np.array(self[:], dtype=dtype)

    @property
    def diagonal(self) -> bool:
        """Whether every matrix is diagonal."""
        return self.entries.ndim == 2

    @property
    def alike(self) -> bool:
        """Whether all matrices are the same."""
        return bool(np.all(self.entries == self.entries[0]))

    def nonzero(self, k: int) -> bool:
        return bool(np.any(self.entries[k]))

    def times(self, k: int, rows: np.ndarray) -> np.ndarray:
        """``rows @ M_k``, for one row or many."""
        return np.asarray(rows * self.entries[k] if self.diagonal else rows @ self.entries[k])

    def part(self, k: int, columns: np.ndarray) -> Matrices:
        """Matrix k alone, rows and columns that are asked for."""
        found = self.entries[k]
        if len(columns) < len(found):
            found = found[columns] if self.diagonal else found[np.ix_(columns, columns)]
        return Matrices(found[None])

    def log_determinant(self, k: int) -> float:
        if self.diagonal:
            return float(np.log(self.entries[k]).sum())
        return float(np.linalg.slogdet(self.entries[k])[1])

    def readable(self) -> np.ndarray:
        """All matrices in full, (C, d, d), or the diagonals of large ones."""
        return np.array(self.entries if self.diagonal and self.entries.shape[1] > MOST_FULL else self[:])

    def magnitude(self) -> Matrices:
        """The absolute values of all entries."""
        return Matrices(np.abs(self.entries))


def _off_diagonal(matrix: np.ndarray) -> bool:
    """Whether anything stands beside the diagonal; builds no second matrix."""
    return bool(np.count_nonzero(matrix) > np.count_nonzero(np.diagonal(matrix)))
