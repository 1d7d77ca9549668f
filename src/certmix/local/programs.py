"""The assignment step as an integer program in HiGHS, for what simpler means cannot do."""

from __future__ import annotations

import math

import numpy as np

from certmix.presolve.instance import Instance
from certmix.problem.rules import ALL
from certmix.stopping import obey


class Program:
    """Cheapest labels of some groups; constraints that reach beyond them are left out.

    Parameters
    ----------
    instance : Instance
    members : ndarray of group numbers
    allowed : bool ndarray of shape (members, K), optional
        Components open to each member; default: those of the instance.
    size_limits : (lower, upper), optional
        Limits on the weight that the members bring to every component; default: none.
    """

    def __init__(
        self,
        instance: Instance,
        members: np.ndarray,
        *,
        allowed: np.ndarray | None = None,
        size_limits: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        self.members = members
        self.allowed = instance.allowed[members] if allowed is None else allowed
        self.column = np.full(self.allowed.shape, -1, dtype=np.int64)
        self.column[self.allowed] = np.arange(int(self.allowed.sum()))
        self.tied = special_groups(instance)[members]
        self.row: list[np.ndarray] = []
        self.index: list[np.ndarray] = []
        self.value: list[np.ndarray] = []
        self.low: list[np.ndarray] = []
        self.high: list[np.ndarray] = []
        self.n_rows = 0
        self._add_rows(instance, size_limits)

    # -- rows ------------------------------------------------------------------------------------------------
    def _add_rows(self, instance: Instance, size_limits: tuple[np.ndarray, np.ndarray] | None) -> None:
        n, K = self.allowed.shape
        one = np.ones(n)
        self._block(
            np.repeat(np.arange(n), K),
            np.tile(np.arange(K), n),
            np.repeat(np.arange(n), K),
            np.ones(n * K),
            one,
            one,
        )
        position = np.full(instance.n_groups, -1, dtype=np.int64)
        position[self.members] = np.arange(n)
        pairs = position[instance.conflicts]
        self._pairs(pairs[(pairs >= 0).all(axis=1)], np.array([1.0, 1.0]), 1.0, np.arange(K))
        ends, where = position[instance.implications[:, :2]], instance.implications[:, 2]
        inside = (ends >= 0).all(axis=1)
        for k in range(K):
            here = inside & ((where == ALL) | (where == k))
            self._pairs(ends[here], np.array([1.0, -1.0]), 0.0, np.array([k]))
        for count in instance.counts:
            rows = position[count.groups]
            if np.all(rows >= 0):
                same = np.zeros(len(rows), dtype=np.int64)
                low, high = np.array([float(count.low)]), np.array([float(count.high)])
                self._block(rows, np.full(len(rows), count.component), same, count.coefficient, low, high)
        if size_limits is not None:
            every, component = np.repeat(np.arange(n), K), np.tile(np.arange(K), n)
            weight = np.repeat(instance.weight[self.members], K)
            self._block(
                every,
                component,
                component,
                weight,
                size_limits[0].astype(float),
                size_limits[1].astype(float),
            )

    def _pairs(self, pairs: np.ndarray, values: np.ndarray, high: float, components: np.ndarray) -> None:
        """``values . (x_ik, x_jk) <= high`` for every pair (i, j) and component k."""
        count = len(pairs) * len(components)
        if count:
            member = np.repeat(pairs, len(components), axis=0).ravel()
            component = np.repeat(np.tile(components, len(pairs)), 2)
            row = np.repeat(np.arange(count), 2)
            none, limit = np.full(count, -np.inf), np.full(count, high)
            self._block(member, component, row, np.tile(values, count), none, limit)

    def _block(
        self,
        member: np.ndarray,
        component: np.ndarray,
        row: np.ndarray,
        value: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
    ) -> None:
        """Rows ``low <= A x <= high`` given by entries; those of closed components are dropped."""
        column = self.column[member, component]
        there = column >= 0
        self.row.append(row[there] + self.n_rows)
        self.index.append(column[there])
        self.value.append(np.asarray(value, dtype=np.float64)[there])
        self.low.append(low)
        self.high.append(high)
        self.n_rows += len(low)

    # -- solution --------------------------------------------------------------------------------------------
    def solve(self, costs: np.ndarray, time_limit: float | None = None) -> np.ndarray | None:
        """Labels of the members that minimise the sum of ``costs[member, label]``; None when there are none.

        First without any integrality, which is often enough. Then a group of weight one in no constraint
        but the size limits need not be declared integer: once the others are fixed, the rest is a
        transportation problem with whole-number limits, whose vertices are integral. At last with all of
        it.
        """
        if not self.allowed.any(axis=1).all():
            return None
        K = self.allowed.shape[1]
        inner = np.where(self.allowed, costs, np.inf)
        cost = (inner - inner.min(axis=1, keepdims=True))[self.allowed]
        for tied in (np.zeros(len(self.tied), dtype=bool), self.tied, np.ones(len(self.tied), dtype=bool)):
            answer = self._run(cost, np.repeat(tied, K)[self.allowed.ravel()], time_limit)
            if answer is None:
                return None
            shares = np.zeros(self.allowed.shape)
            shares[self.allowed] = answer
            if np.all(np.abs(shares - np.rint(shares)) < 1e-4):
                return np.asarray(np.argmax(shares, axis=1), dtype=np.int64)
        return None

    def _run(self, cost: np.ndarray, integer: np.ndarray, time_limit: float | None) -> np.ndarray | None:
        import highspy

        n = len(cost)
        order = np.argsort(np.concatenate(self.row), kind="stable")
        counts = np.bincount(np.concatenate(self.row), minlength=self.n_rows)
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = n, self.n_rows
        model.col_cost_, model.col_lower_, model.col_upper_ = cost, np.zeros(n), np.ones(n)
        model.row_lower_, model.row_upper_ = np.concatenate(self.low), np.concatenate(self.high)
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.num_col_, model.a_matrix_.num_row_ = n, self.n_rows
        model.a_matrix_.start_ = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        model.a_matrix_.index_ = np.concatenate(self.index)[order].astype(np.int32)
        model.a_matrix_.value_ = np.concatenate(self.value)[order]
        if integer.any():
            kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
            model.integrality_ = [kinds[int(i)] for i in integer]
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("mip_rel_gap", 0.0)
        solver.setOptionValue("mip_abs_gap", 1e-9)
        solver.passModel(model)
        obey(solver, math.inf if time_limit is None else time_limit)
        solver.run()
        done = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
        if (
            not done
            and solver.getInfo().primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible
        ):
            return None
        return np.array(solver.getSolution().col_value)


def special_groups(instance: Instance) -> np.ndarray:
    """Groups in a conflict, an implication or a count, or of more than one sample."""
    special = np.asarray(instance.weight != 1)
    special[instance.conflicts.ravel()] = True
    special[instance.implications[:, :2].ravel()] = True
    for count in instance.counts:
        special[count.groups] = True
    return special
