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
from scipy.sparse import csr_matrix

from certmix.highs import minimise, run, silent_solver

MOST_COVERING = 5000  # sets that are chosen from,
COVERING_NODES, COVERING_SECONDS = 200, 10.0  # and how long
MOST_ITERATIONS = 100_000  # of the simplex method at a time; ordinary masters take hundreds


class Master:
    """Grows by rows (sets) and widens its boxes; warm-started by HiGHS."""

    def __init__(self, phi: np.ndarray, counts: np.ndarray) -> None:
        self.phi = phi
        self.n_groups, self.n_features = phi.shape
        self.counts = counts
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
        self._sets: list[np.ndarray] = []
        self._costs: list[float] = []
        self._classes: list[int] = []

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
        """A set (bool per group, free groups only) of a class with its full cost."""
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
        self._sets.append(members)
        self._costs.append(float(cost))
        self._classes.append(pricing_class)

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

    def cover(self, raw: np.ndarray, sigma: np.ndarray, gap: float) -> list[tuple[np.ndarray, int]]:
        """Sets of every class, as many as it has components, that cover the groups at least cost; none if none do.

        Of the generated sets those with a reduced cost up to the gap at these multipliers: with others the clustering
        would not be better by more than the gap. Components that are left empty are not among them. The answer is a
        suggestion, and need not be a partition.
        """
        classes, costs = np.array(self._classes), np.array(self._costs)
        members = np.array(self._sets)
        reduced = costs - members @ raw - sigma[classes]
        kept = np.flatnonzero(reduced <= gap)
        if not 0 < len(kept) <= MOST_COVERING:
            return []
        groups = np.flatnonzero(members.any(axis=0))
        of_class = classes[kept] == np.arange(len(self.counts))[:, None]
        matrix = csr_matrix(np.vstack([members[kept][:, groups].T, of_class]).astype(float))
        low = np.concatenate([np.ones(len(groups)), self.counts])
        high = np.concatenate([np.full(len(groups), np.inf), self.counts])
        x = minimise(
            costs[kept],
            matrix,
            low,
            high,
            upper=np.where(members[kept].any(axis=1), 1.0, self.counts[classes[kept]]),
            integer=True,
            time_limit=COVERING_SECONDS,
            mip_max_nodes=COVERING_NODES,
        )[1]
        if x is None:
            return []
        return [
            (members[row], int(classes[row]))
            for row, taken in zip(kept, x > 0.5, strict=True)
            if taken and members[row].any()
        ]

    def sets(self) -> list[tuple[np.ndarray, int]]:
        return list(zip(self._sets, self._classes, strict=True))
