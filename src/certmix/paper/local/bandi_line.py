"""The method of Bandi, Bertsimas and Mazumder in one dimension: a mixture whose distribution is close to the samples'.

The distance is that of Kolmogorov and Smirnov. Parameters and weights are improved by turns, each by an optimisation
problem in HiGHS.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix
from scipy.special import ndtr

from certmix.highs import minimise

# Breakpoints of the piecewise-linear normal distribution function; two more lie beyond every sample.
_INNER = np.array([0.8788, 1.2424, 1.6667, 2.1515, 3.0])
_MOST_ROUNDS = 20
# The integer program is not begun with less time than this.
_LEAST_SECONDS = 0.5
# A component is at least this narrow and at most this wide, in standard deviations of all samples.
_NARROWEST, _WIDEST = 0.05, 2.0


@dataclass(frozen=True)
class Line:
    """A mixture on the line; components by increasing mean."""

    means: np.ndarray
    deviations: np.ndarray
    weights: np.ndarray
    distance: float
    """Kolmogorov-Smirnov distance between this mixture and the samples, at the samples."""
    rounds: int
    converged: bool


def fit_line(
    x: np.ndarray, labels: np.ndarray, n_components: int, *, stopping: float, time_limit: float = math.inf
) -> Line:
    """Alternate Step A (means and deviations) and Step B (weights) from a clustering.

    Step A minimises a piecewise-linear image of the distance, so a round may end farther away than it began: the
    mixture of the best round is returned, the start if there is no better one.

    Parameters
    ----------
    x : ndarray of n numbers
    labels : ndarray of n labels
        Averages, deviations and shares of these clusters are the start.
    stopping : float
        Relative change of the log-likelihood at which it stops.
    time_limit : float
        Seconds. Steps that are linear programs are always made; the integer program only while there is time.
    """
    deadline = time.perf_counter() + time_limit
    scale = max(float(x.std()), 1e-12)
    means, deviations, weights = _start(x, labels, n_components, scale)
    x = np.sort(x)
    likelihood = _log_likelihood(x, means, deviations, weights)
    best = _distance(x, means, deviations, weights), means, deviations, weights
    rounds, converged = 0, False
    for rounds in range(1, _MOST_ROUNDS + 1):  # noqa: B007
        means, deviations = _step_a(x, means, deviations, weights, scale, deadline)
        weights = _step_b(x, means, deviations)
        distance = _distance(x, means, deviations, weights)
        if distance < best[0]:
            best = distance, means, deviations, weights
        before, likelihood = likelihood, _log_likelihood(x, means, deviations, weights)
        if abs(likelihood - before) <= stopping * max(abs(before), 1e-12):
            converged = True
            break
        if time.perf_counter() > deadline:
            break
    distance, means, deviations, weights = best
    order = np.argsort(means, kind="stable")
    return Line(means[order], deviations[order], weights[order], distance, rounds, converged)


def _start(
    x: np.ndarray, labels: np.ndarray, K: int, scale: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    sizes = np.bincount(labels, minlength=K)
    means, deviations = np.full(K, x.mean()), np.full(K, scale)
    for k in np.flatnonzero(sizes):
        members = x[labels == k]
        means[k], deviations[k] = members.mean(), members.std()
    return means, np.clip(deviations, _NARROWEST * scale, _WIDEST * scale), sizes / len(x)


def _empirical(n: int) -> np.ndarray:
    """The samples' distribution function at the sorted samples."""
    return np.arange(1, n + 1) / n


def _mixture(x: np.ndarray, means: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Distribution functions of the components at the samples, (n, K)."""
    return np.asarray(ndtr((x[:, None] - means) / deviations))


def _distance(x: np.ndarray, means: np.ndarray, deviations: np.ndarray, weights: np.ndarray) -> float:
    return float(np.abs(_empirical(len(x)) - _mixture(x, means, deviations) @ weights).max())


def _log_likelihood(x: np.ndarray, means: np.ndarray, deviations: np.ndarray, weights: np.ndarray) -> float:
    away = (x[:, None] - means) / deviations
    density = (weights / deviations * np.exp(-0.5 * away**2)).sum(axis=1) / math.sqrt(2 * math.pi)
    return float(np.log(np.maximum(density, 1e-300)).sum())


# -- Step B ------------------------------------------------------------------------------------------------------
def _step_b(x: np.ndarray, means: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Weights for given components: minimise eps with ``|j/n - sum_i pi_i Phi_i(x_j)| <= eps``, a linear program."""
    n, K = len(x), len(means)
    cdf, wanted = _mixture(x, means, deviations), _empirical(n)
    ones = np.ones((n, 1))
    matrix = np.vstack([np.hstack([cdf, -ones]), np.hstack([cdf, ones]), [[1.0] * K + [0.0]]])
    low = np.concatenate([np.full(n, -np.inf), wanted, [1.0]])
    high = np.concatenate([wanted, np.full(n, np.inf), [1.0]])
    upper = np.r_[np.ones(K), np.inf]
    found = minimise(np.r_[np.zeros(K), 1.0], csr_matrix(matrix), low, high, upper=upper)[1]
    weights = np.full(K, 1.0 / K) if found is None else np.maximum(found[:K], 0.0)
    return np.asarray(weights / weights.sum())


# -- Step A ------------------------------------------------------------------------------------------------------
def _step_a(
    x: np.ndarray,
    means: np.ndarray,
    deviations: np.ndarray,
    weights: np.ndarray,
    scale: float,
    deadline: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Means and deviations for given weights.

    With s = 1/sigma and t = mu/sigma the argument ``s_i x_j - t_i`` of the distribution function is linear. First
    every argument keeps its cell between two breakpoints: a linear program. Then it may move to a neighbouring cell:
    a mixed-integer program, begun with that solution and ended by the time limit.
    """
    grid = _Grid(x, scale)
    cells = grid.cells(1.0 / deviations, means / deviations)
    found = _fixed_cells(x, grid, cells, weights)
    if found is None:
        return means, deviations
    s, t = found
    left = 0.5 * (deadline - time.perf_counter())  # later rounds want some too
    if left > _LEAST_SECONDS:
        s, t = _neighbouring_cells(x, grid, grid.cells(s, t), weights, (s, t), left)
    return t / s, 1.0 / s


class _Grid:
    """Breakpoints v with phi = Phi(v), and the limits of s and t."""

    def __init__(self, x: np.ndarray, scale: float) -> None:
        self.x = x
        self.s_low, self.s_high = 1.0 / (_WIDEST * scale), 1.0 / (_NARROWEST * scale)
        far = max(10.0, 1.01 * self.s_high * float(x[-1] - x[0]))
        inner = np.concatenate([[-far], -_INNER[::-1], _INNER, [far]])
        self.v, self.phi = inner, ndtr(inner)
        self.slope = np.diff(self.phi) / np.diff(self.v)

    @property
    def n_cells(self) -> int:
        return len(self.slope)

    def cells(self, s: np.ndarray, t: np.ndarray) -> np.ndarray:
        """The cell of every argument, (n, K)."""
        u = self.x[:, None] * s - t
        return np.clip(np.searchsorted(self.v, u, side="right") - 1, 0, self.n_cells - 1)

    def parameter_rows(self, K: int, columns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Means within the samples: ``x_1 s <= t <= x_n s``."""
        rows = np.zeros((2 * K, columns))
        at = np.arange(K)
        rows[at, at], rows[at, K + at] = -self.x[0], 1.0
        rows[K + at, at], rows[K + at, K + at] = self.x[-1], -1.0
        return rows, np.zeros(2 * K), np.full(2 * K, np.inf)


def _fixed_cells(
    x: np.ndarray, grid: _Grid, cells: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """The linear program over (s, t, eps) in which every argument stays in its cell."""
    n, K = cells.shape
    wanted = _empirical(n)
    slope = grid.slope[cells] * weights
    constant = ((grid.phi[cells] - grid.slope[cells] * grid.v[cells]) * weights).sum(axis=1)
    fit = np.hstack([slope * x[:, None], -slope, np.zeros((n, 1))])
    above, below = fit.copy(), fit.copy()
    above[:, -1], below[:, -1] = -1.0, 1.0
    # Arguments rise with the samples: those of a cell stay in it if its first and last do.
    edge = np.ones((n, K), dtype=bool)
    edge[1:-1] = (cells[1:-1] != cells[:-2]) | (cells[1:-1] != cells[2:])
    sample, component = np.nonzero(edge)
    inside = np.zeros((len(sample), 2 * K + 1))
    row = np.arange(len(sample))
    inside[row, component], inside[row, K + component] = x[sample], -1.0
    rows, rows_low, rows_high = grid.parameter_rows(K, 2 * K + 1)
    flat = cells[edge]
    found = minimise(
        np.r_[np.zeros(2 * K), 1.0],
        csr_matrix(np.vstack([above, below, inside, rows])),
        np.concatenate([np.full(n, -np.inf), wanted - constant, grid.v[flat], rows_low]),
        np.concatenate([wanted - constant, np.full(n, np.inf), grid.v[flat + 1], rows_high]),
        lower=np.r_[np.full(K, grid.s_low), np.full(K, -np.inf), 0.0],
        upper=np.r_[np.full(K, grid.s_high), np.full(K, np.inf), np.inf],
    )[1]
    return None if found is None else (found[:K], found[K : 2 * K])


def _neighbouring_cells(
    x: np.ndarray,
    grid: _Grid,
    cells: np.ndarray,
    weights: np.ndarray,
    start: tuple[np.ndarray, np.ndarray],
    time_limit: float,
) -> tuple[np.ndarray, np.ndarray]:
    """The mixed-integer program in which every argument may move one cell down or up.

    Variables: s, t, eps, then for every sample j, component i and cell c that is open to it a share ``lambda`` of
    its width and a binary ``Z_jic``. The argument is ``sum_c v_c Z_c + (v_{c+1} - v_c) lambda_c`` with ``lambda_c <=
    Z_c`` and ``sum_c Z_c = 1``: the adjacent-pair condition on the weights of the breakpoints, written by cells.
    """
    n, K = cells.shape
    first, last = np.maximum(cells - 1, 0), np.minimum(cells + 1, grid.n_cells - 1)
    counts = (last - first + 1).ravel()
    total = int(counts.sum())
    owner = np.repeat(np.arange(n * K), counts)  # j * K + i of every open cell
    begin = np.concatenate([[0], np.cumsum(counts)[:-1]])
    cell = first.ravel()[owner] + np.arange(total) - begin[owner]
    j, i = owner // K, owner % K
    width = np.diff(grid.v)[cell]
    L, Z = 2 * K + 1 + np.arange(total), 2 * K + 1 + total + np.arange(total)
    columns = 2 * K + 1 + 2 * total
    pairs = np.arange(n * K)
    rows = _Rows(columns)
    # the argument of the distribution function
    at = rows.new(n * K, 0.0, 0.0)
    rows.put(at[owner], L, width)
    rows.put(at[owner], Z, grid.v[cell])
    rows.put(at, pairs % K, -np.repeat(x, K))
    rows.put(at, K + pairs % K, np.ones(n * K))
    at = rows.new(n * K, 1.0, 1.0)
    rows.put(at[owner], Z, np.ones(total))
    at = rows.new(total, -np.inf, 0.0)
    rows.put(at, L, np.ones(total))
    rows.put(at, Z, -np.ones(total))
    # the distance, from above and below
    wanted = _empirical(n)
    rise, base = weights[i] * np.diff(grid.phi)[cell], weights[i] * grid.phi[cell]
    for sign, low, high in ((-1.0, -np.inf, wanted), (1.0, wanted, np.inf)):
        at = rows.new(n, low, high)
        rows.put(at[j], L, rise)
        rows.put(at[j], Z, base)
        rows.put(at, np.full(n, 2 * K), np.full(n, sign))
    dense, low, high = grid.parameter_rows(K, columns)
    at = rows.new(2 * K, low, high)
    filled = np.nonzero(dense)
    rows.put(at[filled[0]], filled[1], dense[filled])
    s, t = start
    integer = np.zeros(columns, dtype=bool)
    integer[Z] = True
    lower = np.r_[np.full(K, grid.s_low), np.full(K, -np.inf), 0.0, np.zeros(2 * total)]
    upper = np.r_[np.full(K, grid.s_high), np.full(K, np.inf), np.inf, np.ones(2 * total)]
    cost = np.zeros(columns)
    cost[2 * K] = 1.0
    # The linear program's solution as a start: every argument in its own cell.
    known = np.zeros(columns)
    u = np.clip((x[:, None] * s - t).ravel(), grid.v[cells.ravel()], grid.v[cells.ravel() + 1])
    own = cell == cells.ravel()[owner]
    known[:K], known[K : 2 * K] = s, t
    known[Z[own]] = 1.0
    known[L[own]] = (u[owner[own]] - grid.v[cell[own]]) / width[own]
    known[2 * K] = 1.0  # eps is found when the solver completes the start
    found = minimise(
        cost,
        rows.matrix(),
        *rows.limits(),
        lower=lower,
        upper=upper,
        integer=integer,
        start=known,
        time_limit=time_limit,
    )[1]
    return (s, t) if found is None else (found[:K], found[K : 2 * K])


class _Rows:
    """Rows of a sparse system, entry by entry."""

    def __init__(self, columns: int) -> None:
        self.columns, self.count = columns, 0
        self._row: list[np.ndarray] = []
        self._column: list[np.ndarray] = []
        self._value: list[np.ndarray] = []
        self._low: list[np.ndarray] = []
        self._high: list[np.ndarray] = []

    def new(self, count: int, low: np.ndarray | float, high: np.ndarray | float) -> np.ndarray:
        """Numbers of so many new rows."""
        self._low.append(np.broadcast_to(np.asarray(low, dtype=float), count))
        self._high.append(np.broadcast_to(np.asarray(high, dtype=float), count))
        self.count += count
        return np.arange(self.count - count, self.count)

    def put(self, row: np.ndarray, column: np.ndarray, value: np.ndarray) -> None:
        self._row.append(row)
        self._column.append(column)
        self._value.append(value)

    def matrix(self) -> csr_matrix:
        entries = (np.concatenate(self._value), (np.concatenate(self._row), np.concatenate(self._column)))
        return csr_matrix(entries, shape=(self.count, self.columns))

    def limits(self) -> tuple[np.ndarray, np.ndarray]:
        return np.concatenate(self._low), np.concatenate(self._high)
