"""Side constraints as linear rows, for whoever states them to a solver.

Column ``g K + k`` is ``x[g, k]``, the share of group g (of N) in component k (of K).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_matrix, vstack

from certmix.presolve.instance import CountRow, Instance


@dataclass(frozen=True)
class Rows:
    """``low <= matrix x <= high``."""

    matrix: csr_matrix
    low: np.ndarray
    high: np.ndarray

    def __len__(self) -> int:
        return len(self.low)

    def __add__(self, more: Rows) -> Rows:
        matrix = vstack([self.matrix, more.matrix], format="csr")
        return Rows(matrix, np.concatenate([self.low, more.low]), np.concatenate([self.high, more.high]))

    def over(self, columns: np.ndarray) -> Rows:
        """The rows over some of the columns; the others are zero."""
        return Rows(self.matrix[:, columns], self.low, self.high)

    def binding(self, allowed: np.ndarray) -> Rows:
        """The rows that some x in [0, 1] breaks which is zero where it is not ``allowed``, over what is allowed."""
        matrix = self.matrix.copy()
        matrix.data[~allowed.ravel()[matrix.indices]] = 0.0
        matrix.eliminate_zeros()
        least, most = _reach(matrix)
        needed = (least < self.low) | (most > self.high)
        return Rows(matrix[needed], self.low[needed], self.high[needed])

    def at_most(self) -> tuple[csr_matrix, np.ndarray]:
        """The same as ``matrix x <= right``, without the sides that no x in [0, 1] breaks."""
        least, most = _reach(self.matrix)
        above, below = most > self.high, least < self.low
        matrix = vstack([self.matrix[above], -self.matrix[below]], format="csr")
        return matrix, np.concatenate([self.high[above], -self.low[below]])


def _reach(matrix: csr_matrix) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest sum of every row over x in [0, 1]."""
    ones = np.ones(matrix.shape[1])
    return matrix.minimum(0) @ ones, matrix.maximum(0) @ ones


def once(number: np.ndarray, K: int) -> Rows:
    """``sum_k x[g, k] = number_g``."""
    N, right = len(number), np.asarray(number, dtype=np.float64)
    return Rows(_matrix(np.arange(N * K), np.ones(N * K), np.full(N, K), N * K), right, right)


def sizes(weight: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Rows:
    """``lower_k <= sum_g weight_g x[g, k] <= upper_k``."""
    N, K = len(weight), len(lower)
    columns = np.arange(N * K).reshape(N, K).T.ravel()
    matrix = _matrix(columns, np.tile(weight, K), np.full(K, N), N * K)
    return Rows(matrix, np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64))


def apart(sets: Sequence[np.ndarray] | np.ndarray, shape: tuple[int, int]) -> Rows:
    """``sum over a set of x[g, k] <= 1`` for every set of groups of which no two may share a component, and every k."""
    K = shape[1]
    lengths = np.array([len(s) for s in sets], dtype=np.int64)
    member = np.concatenate([*sets, np.zeros(0, dtype=np.int64)])
    which = np.tile(np.repeat(np.arange(len(sets)), lengths), K)
    columns = (member * K + np.arange(K)[:, None]).ravel()[np.argsort(which, kind="stable")]
    count = len(sets) * K
    matrix = _matrix(columns, np.ones(len(columns)), np.repeat(lengths, K), shape[0] * K)
    return Rows(matrix, np.full(count, -np.inf), np.ones(count))


def implied(implications: np.ndarray, shape: tuple[int, int]) -> Rows:
    """``x[g, k] - x[h, k] <= 0`` for every (g, h, k): if g is in k, then so is h."""
    q, K = len(implications), shape[1]
    columns = (implications[:, :2] * K + implications[:, 2:]).ravel()
    matrix = _matrix(columns, np.tile([1.0, -1.0], q), np.full(q, 2), shape[0] * K)
    return Rows(matrix, np.full(q, -np.inf), np.zeros(q))


def counted(counts: Sequence[CountRow], shape: tuple[int, int]) -> Rows:
    """``low <= sum of coefficient_g x[g, component] <= high``."""
    K, none = shape[1], np.zeros(0, dtype=np.int64)
    columns = np.concatenate([none, *(row.groups * K + row.component for row in counts)])
    values = np.concatenate([none, *(row.coefficient for row in counts)])
    lengths = np.array([len(row.groups) for row in counts], dtype=np.int64)
    low, high = np.array([(row.low, row.high) for row in counts], dtype=np.float64).reshape(-1, 2).T
    return Rows(_matrix(columns, values, lengths, shape[0] * K), low, high)


def side_rows(instance: Instance, members: np.ndarray | None = None) -> Rows:
    """Conflicts, implications and counts; with ``members``, over these groups and of them alone."""
    N, K = instance.allowed.shape
    if members is None:
        members = np.arange(N)
    at = np.full(N, -1, dtype=np.int64)
    at[members] = np.arange(len(members))
    pairs, implications = at[instance.conflicts], instance.implications.copy()
    implications[:, :2] = at[implications[:, :2]]
    counts = [replace(row, groups=at[row.groups]) for row in instance.counts if np.all(at[row.groups] >= 0)]
    shape = len(members), K
    return (
        apart(pairs[(pairs >= 0).all(axis=1)], shape)
        + implied(implications[(implications >= 0).all(axis=1)], shape)
        + counted(counts, shape)
    )


def _matrix(columns: np.ndarray, values: np.ndarray, lengths: np.ndarray, width: int) -> csr_matrix:
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return csr_matrix((np.asarray(values, dtype=np.float64), columns, starts), shape=(len(lengths), width))
