"""Cholesky factors of the normal matrices of the master program, whose sets only tie neighbours together.

In an order in which neighbours are near each other (reverse Cuthill-McKee) every row has its first entry at some
column, and so has the row of the factor. Rows are kept in blocks, each from the first column that one of its rows
needs, so that the work is products of dense matrices. The few prices that all sets have in common come last, as a
border. Variables that are in the same sets are one here: only their sum is in the products, and what each of them has
of it follows from the diagonal (Sudoso and Aloise aggregate such rows of the program itself, arXiv 2410.06187).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.lapack import dpotrf, dtrtri
from scipy.sparse import bmat, csr_matrix
from scipy.sparse.csgraph import reverse_cuthill_mckee

from certmix.kernels.products import add_products
from certmix.threads import Threads

BLOCK = 128  # rows
PIECES = 2  # of the rows, whose products are made side by side: always as many, or roundings would depend on threads


class Normal:
    """``rows' diag(weight) rows + diag(diagonal)`` for one matrix of zeros and ones and any weights.

    ``border`` is how many of the last variables are in rows all over the place; the diagonal of the others is positive.
    """

    def __init__(self, rows: csr_matrix, border: int, threads: Threads | None = None) -> None:
        self.threads = threads or Threads(1)
        several = rows.shape[1] - border
        inner, self.outer = rows[:, :several].tocsr(), rows[:, several:].toarray()
        first, self.kind = kinds(inner)
        inner = inner[:, first].tocsr()
        self.n = inner.shape[1]
        self.order = _order(inner)
        place = np.empty(self.n, dtype=np.int64)
        place[self.order] = np.arange(self.n)
        self.inner = csr_matrix((inner.data, place[inner.indices], inner.indptr), shape=inner.shape)
        self.inner.sort_indices()
        starts, places = self.inner.indptr[:-1], self.inner.indices
        lowest = np.arange(self.n)
        filled = np.flatnonzero(np.diff(self.inner.indptr))
        first = np.repeat(places[starts[filled]], np.diff(self.inner.indptr)[filled])
        np.minimum.at(lowest, places, first)
        self.starts = range(0, self.n, BLOCK)
        self.begins = [BLOCK * int(lowest[a : a + BLOCK].min() // BLOCK) for a in self.starts]
        # where the entries of a row, and the blocks of rows, are in one long array
        self.room, self.row = 0, np.empty(self.n, dtype=np.int64)
        for start, begin in zip(self.starts, self.begins, strict=True):
            end = min(start + BLOCK, self.n)
            self.row[start:end] = self.room - begin + (end - begin) * np.arange(end - start)
            self.room += (end - start) * (end - begin)

    def factor(self, weight: np.ndarray, diagonal: np.ndarray) -> Factor:
        """Raises LinAlgError where the matrix is not positive, as far as rounding tells."""
        starts, ends = self.inner.indptr, len(weight) * np.arange(PIECES + 1) // PIECES
        pieces = np.zeros((PIECES, self.room))

        def work(first: int, last: int) -> None:
            for i in range(first, last):
                a, b = ends[i], ends[i + 1]
                add_products(starts[a : b + 1], self.inner.indices, weight[a:b], self.row, pieces[i])

        self.threads.over(PIECES, work)
        flat = pieces.sum(axis=0)
        own, others = np.split(diagonal, [len(self.kind)])
        together = 1.0 / np.bincount(self.kind, 1.0 / own)
        flat[self.row + np.arange(self.n)] += together[self.order]
        inner = Envelope(flat, self.starts, self.begins, self.threads)
        border = self.outer * weight[:, None]
        half = inner.forward(self.inner.T @ border)
        corner = self.outer.T @ border + np.diag(others) - half.T @ half
        corner = cho_factor(corner, lower=True, check_finite=False)
        return Factor(self.order, inner, half, corner, self.kind, own, together)


class Envelope:
    """The factor of a matrix in blocks of rows, each of which ends with the inverse of its corner."""

    def __init__(self, flat: np.ndarray, starts: range, begins: list[int], threads: Threads) -> None:
        self.starts, self.begins = starts, begins
        self.panels: list[np.ndarray] = []
        at = 0
        for start, begin in zip(starts, begins, strict=True):
            rows = min(BLOCK, starts.stop - start)
            width = start + rows - begin
            self.panels.append(flat[at : at + rows * width].reshape(rows, width))
            at += rows * width
        for j, (start, begin, panel) in enumerate(zip(starts, begins, self.panels, strict=True)):
            before, own = panel[:, : start - begin], panel[:, start - begin :]
            own -= before @ before.T
            own[:] = _inverse(own)
            later = [i for i in range(j + 1, len(begins)) if begins[i] <= start]

            def work(first: int, last: int, later: list[int] = later, j: int = j) -> None:
                for i in later[first:last]:
                    self._settle(i, j)

            threads.over(len(later), work)

    def _settle(self, i: int, j: int) -> None:
        """The entries of block i of rows in the columns of block j, where those before are settled."""
        panel, at, theirs = self.panels[i], self.starts[j] - self.begins[i], self.panels[j]
        mine = panel[:, at : at + BLOCK]
        shared = min(at, self.starts[j] - self.begins[j])  # columns before those in which both have entries
        corner = theirs.shape[1] - len(theirs)
        if shared:
            mine -= panel[:, at - shared : at] @ theirs[:, corner - shared : corner].T
        mine[:] = mine @ theirs[:, corner:].T

    def forward(self, right: np.ndarray) -> np.ndarray:
        x = right.copy()
        for start, begin, panel in zip(self.starts, self.begins, self.panels, strict=True):
            own = slice(start, start + len(panel))
            x[own] = panel[:, start - begin :] @ (x[own] - panel[:, : start - begin] @ x[begin:start])
        return x

    def backward(self, right: np.ndarray) -> np.ndarray:
        x = right.copy()
        for start, begin, panel in zip(
            reversed(self.starts), self.begins[::-1], self.panels[::-1], strict=True
        ):
            own = slice(start, start + len(panel))
            x[own] = panel[:, start - begin :].T @ x[own]
            x[begin:start] -= panel[:, : start - begin].T @ x[own]
        return x


def kinds(rows: csr_matrix) -> tuple[np.ndarray, np.ndarray]:
    """The first column of each kind, and of which kind each column is: those that are in the same rows are of one."""
    mark = np.random.default_rng(0).uniform(size=rows.shape[0]) @ rows
    _, first, kind = np.unique(mark, return_index=True, return_inverse=True)
    return first, kind


def _order(inner: csr_matrix) -> np.ndarray:
    """Variables in an order in which those of one set are near each other: along the graph of variables and sets.

    The graph of variables alone has an entry for every pair in a set, and takes longer to make than a factor.
    """
    both = bmat([[None, inner.T], [inner, None]], format="csr")
    every = reverse_cuthill_mckee(both, symmetric_mode=True)
    return np.asarray(every[every < inner.shape[1]], dtype=np.int64)


def _inverse(matrix: np.ndarray) -> np.ndarray:
    """Of the lower factor of a matrix."""
    lower, wrong = dpotrf(matrix, lower=1, clean=1)
    if wrong == 0:
        lower, wrong = dtrtri(lower, lower=1, overwrite_c=1)
    if wrong:
        raise LinAlgError
    return np.asarray(lower)


@dataclass(frozen=True)
class Factor:
    """Of a matrix with a border; ``kind``, ``own`` and ``together`` are those of its variables and their diagonal."""

    order: np.ndarray
    inner: Envelope
    half: np.ndarray
    corner: tuple[np.ndarray, bool]
    kind: np.ndarray
    own: np.ndarray
    together: np.ndarray

    def solve(self, right: np.ndarray) -> np.ndarray:
        """With y the sums of kinds and N their matrix: N y + own_g x_g = right_g, so N y + together y = mean.

        Small diagonals leave the parts of a kind uncertain, but not their sum, which is all that rows see.
        """
        mine, last = np.split(right, [len(self.kind)])
        mean = np.bincount(self.kind, mine / self.own) * self.together
        first = self.inner.forward(mean[self.order])
        last = cho_solve(self.corner, last - self.half.T @ first, check_finite=False)
        total = np.empty(len(mean))
        total[self.order] = self.inner.backward(first - self.half @ last)
        parts = (mine - mean[self.kind]) / self.own
        total -= np.bincount(self.kind, parts)
        return np.concatenate([parts + (self.together * total)[self.kind] / self.own, last])
