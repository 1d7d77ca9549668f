r"""The convex relaxation of a node, solved by Clarabel.

The paper replaces the products :math:`t_{gk} = z_{gk} \mu_k` by four big-M rows for each group, component and
coordinate and relaxes :math:`z` to [0, 1]:

.. math::
    L_k z_{gk} \le t_{gk} \le U_k z_{gk}, \qquad
    L_k (1 - z_{gk}) \le \mu_k - t_{gk} \le U_k (1 - z_{gk}), \qquad \sum_k z_{gk} = 1.

Its objective is :math:`\sum_g \tfrac{w_g}2 |x_g - \sum_k t_{gk}|^2`. The one here is

.. math::
    \sum_{gk} \frac{w_g}2 \frac{|x_g z_{gk} - t_{gk}|^2}{z_{gk}}, \qquad
    \text{as cones}\quad s_{gk} z_{gk} \ge \tfrac{w_g}2 |x_g z_{gk} - t_{gk}|^2 .

With :math:`t_{gk} = z_{gk} u_k` the first is :math:`\tfrac w2 |\sum_k z_{gk} (x_g - u_k)|^2` and the second
:math:`\tfrac w2 \sum_k z_{gk} |x_g - u_k|^2`, which is at least as large (Jensen), equal when z is whole, and makes
sense when every component has its own coordinates. With the rows above it describes the convex hull of what a single
group can do, so no relaxation that looks at one group at a time is tighter. The paper's relaxation is therefore not
offered beside it.

The entropy :math:`h_k` of the sizes is replaced by its lower convex hull over the whole sizes in :math:`[a_k, b_k]`:
the chord, when :math:`h_k` is concave. Constraints on assignments are rows. Only the multipliers are used as a proof,
through :mod:`certmix.paper.bnb.relaxation_dual`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csc_matrix

from certmix.paper.bnb.relaxation_dual import Decomposition, Domain, Multipliers
from certmix.search.bounds.scale import Scale
from certmix.stopping import current

TOLERANCE = 1e-6
RAY = 1e4  # an infeasible relaxation is proved infeasible by its multipliers times a large number


@dataclass(frozen=True)
class Relaxed:
    """A relaxed solution: ``z`` (N, K), and the multipliers that bound the node."""

    z: np.ndarray
    multipliers: Multipliers


class ConicModel:
    """Builds and solves the relaxation of nodes of one instance."""

    def __init__(self, decomposition: Decomposition) -> None:
        self.parts = decomposition
        self.instance = decomposition.instance
        self.scale = Scale.of(self.instance, np.zeros(self.instance.n_groups, dtype=np.int64))
        self.solved = 0

    def solve(self, domain: Domain) -> Relaxed:
        """The relaxed solution of a node with at least one undecided group and no impossible size."""
        program = _Program(self.parts, domain, self.scale)
        solution = program.solve()
        self.solved += 1
        return program.read(solution)


class _Program:
    """One conic program. A pair is an undecided group with one of its candidates; blocks of rows share a cone.

    Lengths and costs are counted in units of a scale, because the solver has tolerances of its own.
    """

    def __init__(self, parts: Decomposition, domain: Domain, scale: Scale) -> None:
        self.parts, self.domain, self.scale = parts, domain, scale
        self.points, self.lo, self.hi = (x / scale.length for x in (parts.points, domain.lo, domain.hi))
        self.candidate = domain.candidates
        N, K = self.candidate.shape
        d = parts.instance.n_features
        undecided = self.candidate.sum(axis=1) > 1
        self.group, self.component = np.nonzero(self.candidate & undecided[:, None])
        self.held = np.where(self.candidate & ~undecided[:, None], parts.weight[:, None], 0.0)
        self.live = np.unique(self.component)  # the other components are settled but for their own mean
        P, A = len(self.group), len(self.live)
        self.P, self.d, self.N, self.K = P, d, N, K
        place = np.full(K, -1)
        place[self.live] = np.arange(A)
        self.slot = place[self.component]
        # Columns: z, deviation t - x z, cost s, mean, entropy.
        self.z = np.arange(P)
        self.dev = P + np.arange(P * d).reshape(P, d)
        self.s = P + P * d + np.arange(P)
        self.mu = P * (d + 2) + np.arange(A * d).reshape(A, d)
        self.e = P * (d + 2) + A * d + np.arange(A)
        self.columns = P * (d + 2) + A * (d + 1)
        self._row: list[np.ndarray] = []
        self._column: list[np.ndarray] = []
        self._value: list[np.ndarray] = []
        self._right: list[np.ndarray] = []
        self.height = 0

    # -- assembling --------------------------------------------------------------------------------------------
    def _block(self, right: np.ndarray, *entries: tuple[Any, Any, Any]) -> slice:
        """Rows ``sum of value * column <= right`` (or = or in a cone); an entry is (row, column, value)."""
        for row, column, value in entries:
            row, column, value = np.broadcast_arrays(row, column, value)
            self._row.append(row.ravel() + self.height)
            self._column.append(column.ravel())
            self._value.append(value.ravel().astype(np.float64))
        self._right.append(np.asarray(right, dtype=np.float64).ravel())
        start, self.height = self.height, self.height + self._right[-1].size
        return slice(start, self.height)

    def solve(self) -> Any:
        """Assemble and hand over."""
        import clarabel

        parts, P, d = self.parts, self.P, self.d
        x = self.points[self.group, self.component]  # (P, d)
        lo, hi = self.lo[self.component], self.hi[self.component]
        groups, which = np.unique(self.group, return_inverse=True)
        self._block(np.ones(len(groups)), (which, self.z, 1.0))
        equalities = self.height
        self._products(x, lo, hi)
        self._sizes()
        self._side_rows()
        inequalities = self.height - equalities
        # (s + z, s - z, sqrt(2 w) deviation) in a second-order cone: 4 s z >= 2 w |deviation|^2, and z >= 0.
        cone = np.arange(P) * (d + 2)
        root = np.sqrt(2.0 * parts.weight[self.group])[:, None]
        self._block(
            np.zeros(P * (d + 2)),
            (cone, self.s, -1.0),
            (cone, self.z, -1.0),
            (cone + 1, self.s, -1.0),
            (cone + 1, self.z, 1.0),
            (cone[:, None] + 2 + np.arange(d), self.dev, -root),
        )
        cones = [clarabel.ZeroConeT(equalities), clarabel.NonnegativeConeT(inequalities)]
        cones += [clarabel.SecondOrderConeT(d + 2)] * P
        matrix = csc_matrix(
            (np.concatenate(self._value), (np.concatenate(self._row), np.concatenate(self._column))),
            shape=(self.height, self.columns),
        )
        quadratic, linear = self._objective()
        right = np.concatenate(self._right)
        return clarabel.DefaultSolver(quadratic, linear, matrix, right, cones, _settings()).solve()

    def _products(self, x: np.ndarray, lo: np.ndarray, hi: np.ndarray) -> None:
        """The big-M rows that can bind, given that the means are in their boxes.

        Write ``mu = z u + (1 - z) v`` with u and v in [L, U]; the cost pulls u towards x. If x is in [L, U], then so is
        the best u that v in [L, U] admits, since it lies between x and mu: the rows on u cannot bind. If x < L, then u
        is pulled down, and neither ``u <= U`` nor ``v >= L`` can bind; likewise above U.
        """
        means = np.arange(self.mu.size)
        self._block(self.hi[self.live], (means, self.mu.ravel(), 1.0))
        self._block(-self.lo[self.live], (means, self.mu.ravel(), -1.0))
        self._inner(x > hi, 1.0, x, hi)
        self._inner(x < lo, -1.0, x, lo)
        self.upper_at, self.lower_at = x <= hi, x >= lo
        self.upper = self._outer(self.upper_at, 1.0, x, hi)
        self.lower = self._outer(self.lower_at, -1.0, x, lo)

    def _inner(self, where: np.ndarray, side: float, x: np.ndarray, limit: np.ndarray) -> None:
        """``side (t - limit z) <= 0`` for some pairs and coordinates."""
        pair = np.nonzero(where)[0]
        rows = np.arange(len(pair))
        self._block(
            np.zeros(len(pair)),
            (rows, self.z[pair], side * (x - limit)[where]),
            (rows, self.dev[where], side),
        )

    def _outer(self, where: np.ndarray, side: float, x: np.ndarray, limit: np.ndarray) -> slice:
        """``side (mu - t - limit (1 - z)) <= 0`` for some pairs and coordinates."""
        pair, j = np.nonzero(where)
        rows = np.arange(len(pair))
        return self._block(
            side * limit[where],
            (rows, self.mu[self.slot[pair], j], side),
            (rows, self.dev[where], -side),
            (rows, self.z[pair], side * (limit - x)[where]),
        )

    def _objective(self) -> tuple[csc_matrix, np.ndarray]:
        parts, i, live = self.parts, self.parts.instance, self.live
        linear = np.zeros(self.columns)
        linear[self.s] = 1.0
        linear[self.e] = 1.0
        linear[self.z] = parts.scatter[self.group, self.component] / self.scale.cost
        held = self.held[:, live]
        linear[self.mu] = -np.einsum("gk,gkj->kj", held, self.points[:, live])
        linear[self.mu] -= i.prior_weight[live] * i.prior_mean[live] / self.scale.length
        weight = held.sum(axis=0)[:, None] + i.prior_weight[live]
        at = self.mu.ravel()
        before = np.searchsorted(at, np.arange(self.columns + 1))
        return csc_matrix((weight.ravel(), at, before), shape=(self.columns, self.columns)), linear

    def _sizes(self) -> None:
        """``e_k`` above the hull of the entropy, and the sizes in their intervals."""
        self.facets: list[tuple[int, slice, np.ndarray]] = []
        self.most: list[slice] = []
        self.least: list[slice] = []
        for k in self.live:
            here = np.flatnonzero(self.component == k)
            w, columns = self.parts.weight[self.group[here]], self.z[here]
            sure = float(self.held[:, k].sum())
            table = self.parts.instance.entropy[k] / self.scale.cost
            first, last, alpha, beta = lower_hull(table, int(self.domain.a[k]), int(self.domain.b[k]))
            index = np.arange(len(alpha))[:, None]
            e = self.e[np.searchsorted(self.live, k)]
            rows = self._block(
                -alpha - beta * sure, (index, columns, beta[:, None] * w), (index[:, 0], e, -1.0)
            )
            self.facets.append((k, rows, beta))
            self.most.append(self._block(np.array([last - sure]), (0, columns, w)))
            self.least.append(self._block(np.array([sure - first]), (0, columns, -w)))

    def _side_rows(self) -> None:
        """The rows that still speak of a pair; the decided groups are constants."""
        side = self.parts.rows
        self.spoken = np.zeros(0, dtype=np.int64)
        self.side = slice(self.height, self.height)
        if not len(side):
            return
        column = np.full(self.N * self.K, -1)
        column[self.group * self.K + self.component] = self.z
        matrix = side.matrix.tocoo()
        open_entry = column[matrix.col] >= 0
        self.spoken = np.unique(matrix.row[open_entry])
        if not len(self.spoken):
            return
        right = side.right - side.matrix @ (self.held > 0).ravel().astype(np.float64)
        row = np.searchsorted(self.spoken, matrix.row[open_entry])
        self.side = self._block(
            right[self.spoken], (row, column[matrix.col[open_entry]], matrix.data[open_entry])
        )

    # -- reading -----------------------------------------------------------------------------------------------
    def read(self, solution: Any) -> Relaxed:
        """Relaxed assignment and multipliers; where the solver failed, plain ones that still give a bound."""
        x, dual = np.array(solution.x), np.array(solution.z)
        N, K, d, P = self.N, self.K, self.d, self.P
        status = str(solution.status)
        if status == "PrimalInfeasible":
            dual = dual * (RAY / max(float(np.abs(dual).max(initial=0.0)), 1e-300))
        if not np.all(np.isfinite(dual)) or not np.all(np.isfinite(x)) or "NumericalError" in status:
            dual, x = np.zeros(self.height), np.full(self.columns, np.nan)
        z = self.candidate / self.candidate.sum(axis=1, keepdims=True)
        relaxed = x[self.z]
        if np.all(np.isfinite(relaxed)) and "Infeasible" not in status:
            z[self.group, self.component] = np.clip(relaxed, 0.0, 1.0)
        mean = np.zeros((N, K, d))
        slope = np.zeros((P, d))
        slope[self.lower_at] += dual[self.lower]
        slope[self.upper_at] -= dual[self.upper]
        mean[self.group, self.component] = slope
        size = np.zeros(K)
        for (k, facets, beta), most, least in zip(self.facets, self.most, self.least, strict=True):
            size[k] = float(dual[facets] @ beta + dual[most][0] - dual[least][0])
        rows = np.zeros(len(self.parts.rows))
        rows[self.spoken] = dual[self.side]
        cost, length = self.scale.cost, self.scale.length  # a price for a mean is a cost by length
        return Relaxed(z, Multipliers(mean * (cost / length), size * cost, rows * cost))


def lower_hull(table: np.ndarray, a: int, b: int) -> tuple[int, int, np.ndarray, np.ndarray]:
    """Lines ``alpha + beta m`` whose maximum is the convex hull from below of ``table[a .. b]``.

    Returns ``(first, last, alpha, beta)``; first and last are the smallest and largest size of finite cost. There must
    be one.
    """
    sizes = a + np.flatnonzero(np.isfinite(table[a : b + 1]))
    first, last = int(sizes[0]), int(sizes[-1])
    corner = [first]
    bend = np.diff(table[first : last + 1], 2) if len(sizes) == last - first + 1 else np.ones(1)
    for m in [last] if first < last and np.all(bend <= 0.0) else sizes[1:].tolist():
        while len(corner) > 1:
            p, q = corner[-2], corner[-1]
            if (table[q] - table[p]) * (m - p) < (table[m] - table[p]) * (q - p):
                break
            corner.pop()
        corner.append(m)
    if len(corner) == 1:
        return first, last, np.array([table[first]]), np.zeros(1)
    at = np.array(corner)
    beta = np.diff(table[at]) / np.diff(at)
    return first, last, table[at[:-1]] - beta * at[:-1], beta


def _settings() -> Any:
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.time_limit = current().left
    settings.max_threads = 1
    settings.presolve_enable = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = TOLERANCE
    return settings
