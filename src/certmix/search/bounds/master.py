"""The master linear program of the dual bound, in HiGHS.

    max  sum_g T_g + sum_c count_c sigma_c      with  T = phi u + delta
    s.t. sum_{g in S} T_g + sigma_c <= c_c(S)   for the generated sets S of pricing class c
         u and delta within a trust region, |delta| <= slack

Everything is counted in units of the instance's scale, because a solver of linear programs has tolerances of its own.
Its solution only proposes multipliers: what is claimed is recomputed from them by exact pricing.
"""

from __future__ import annotations

import highspy
import numpy as np

from certmix.highs import run, silent_solver
from certmix.search.bounds.columns import Columns

MOST_ITERATIONS = 100_000  # of the simplex method at a time; ordinary masters take hundreds


class Master(Columns):
    """Grows by rows (sets) and widens its boxes; warm-started by HiGHS."""

    def __init__(self, phi: np.ndarray, counts: np.ndarray) -> None:
        super().__init__(counts)
        self.phi = phi
        self.n_groups, self.n_features = phi.shape
        self._with_slack = False
        # With costs of 1e7 the simplex method was seen to go round in circles; without a solution the ascent ends.
        highs = silent_solver(simplex_iteration_limit=MOST_ITERATIONS)
        highs.changeObjectiveSense(highspy.ObjSense.kMaximize)
        self.highs = highs
        empty_i, empty_f = np.zeros(0, dtype=np.int32), np.zeros(0)
        for gain in phi.sum(axis=0):
            highs.addCol(float(gain), 0.0, 0.0, 0, empty_i, empty_f)
        for count in counts:
            highs.addCol(float(count), -1e7, 1e7, 0, empty_i, empty_f)

    def confine(self, centre: np.ndarray, radius: float, slack: float) -> None:
        """Keep the coefficients within ``radius`` of a centre, and every group's own deviation within its share of it.

        ``centre`` holds coefficients and deviations; deviations never exceed ``slack`` in size.
        """
        n, N = self.n_features, self.n_groups
        self._bounds(0, centre[:n] - radius, centre[:n] + radius)
        if slack > 0:
            if not self._with_slack:
                for g in range(N):
                    rows = np.array([r for r, s in enumerate(self._sets) if s[g]], dtype=np.int32)
                    self.highs.addCol(1.0, 0.0, 0.0, len(rows), rows, np.ones(len(rows)))
                self._with_slack = True
            low = np.maximum(centre[n:] - radius, -slack)
            high = np.minimum(centre[n:] + radius, slack)
            self._bounds(n + len(self.counts), low, high)

    def _bounds(self, first: int, low: np.ndarray, high: np.ndarray) -> None:
        index = np.arange(first, first + len(low), dtype=np.int32)
        self.highs.changeColsBounds(len(low), index, np.ascontiguousarray(low), np.ascontiguousarray(high))

    def add(self, members: np.ndarray, pricing_class: int, cost: float) -> None:
        """A row as well."""
        values = self.phi[members].sum(axis=0)
        used = np.flatnonzero(values)
        index = [*used, self.n_features + pricing_class]
        entries = [*values[used], 1.0]
        if self._with_slack:
            groups = np.flatnonzero(members)
            first = self.n_features + len(self.counts)
            index += list(first + groups)
            entries += [1.0] * len(groups)
        added = self.highs.addRow(
            -highspy.kHighsInf, float(cost), len(index), np.array(index, dtype=np.int32), np.array(entries)
        )
        if added == highspy.HighsStatus.kError:
            return  # numbers beyond what it takes, as in data of very different sizes: the master does without
        super().add(members, pricing_class, cost)

    def solve(self) -> tuple[float, np.ndarray, np.ndarray, np.ndarray] | None:
        """``(value, coefficients and deviations, sigma, dual of every set)``; None when HiGHS did not solve it."""
        run(self.highs)
        if self.highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = self.highs.getSolution()
        x = np.asarray(solution.col_value)
        n, c = self.n_features, len(self.counts)
        deviations = x[n + c :] if self._with_slack else np.zeros(self.n_groups)
        return (
            float(self.highs.getInfo().objective_function_value),
            np.concatenate([x[:n], deviations]),
            x[n : n + c],
            np.abs(np.asarray(solution.row_dual)),
        )

    def multipliers(self, x: np.ndarray) -> np.ndarray:
        """T from coefficients and deviations."""
        return np.asarray(self.phi @ x[: self.n_features] + x[self.n_features :])
