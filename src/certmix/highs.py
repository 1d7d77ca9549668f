"""HiGHS, which solves linear and integer programs, the way everything here uses it.

Silent, on one thread, with a fixed seed, and over when the run is.
"""

from __future__ import annotations

import math
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from certmix.interruption import noted
from certmix.stopping import current

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class Ending(Enum):
    """How the solver ended."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNDECIDED = "undecided"


def silent_solver(**options: Any) -> Any:
    """A solver without a model; options by HiGHS's own names."""
    import highspy

    solver = highspy.Highs()
    for name, value in {"output_flag": False, "threads": 1, "random_seed": 0, **options}.items():
        solver.setOptionValue(name, value)
    return solver


def run(solver: Any, time_limit: float = math.inf) -> None:
    """Solve, until the run's time is over or after so many seconds of it."""
    left = min(time_limit, current().left)
    if math.isfinite(left):
        solver.setOptionValue("time_limit", solver.getRunTime() + max(left, 0.01))
    solver.run()


def minimise(
    cost: np.ndarray,
    matrix: csr_matrix,
    low: np.ndarray,
    high: np.ndarray,
    *,
    lower: np.ndarray | float = 0.0,
    upper: np.ndarray | float,
    integer: np.ndarray | bool = False,
    start: np.ndarray | None = None,
    time_limit: float = math.inf,
    **options: Any,
) -> tuple[Ending, np.ndarray | None]:
    """Minimise ``cost x`` over ``lower <= x <= upper`` with ``low <= matrix x <= high``.

    Parameters
    ----------
    integer : bool ndarray, or bool for all
        Which variables are whole numbers (up to the solver's tolerance).
    start : ndarray, optional
        A point to begin an integer program with.
    options
        Of HiGHS, by its own names.

    Returns
    -------
    ending, x
        ``x`` is None when the solver had no point when it stopped.
    """
    import highspy

    model = _model(cost, matrix, low, high, lower, upper)
    whole = np.broadcast_to(integer, len(cost))
    if whole.any():
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        model.integrality_ = [kinds[int(i)] for i in whole]
    solver = silent_solver(**options)
    if solver.passModel(model) == highspy.HighsStatus.kError:
        return Ending.UNDECIDED, None
    if start is not None:
        solution = highspy.HighsSolution()
        solution.col_value = start.tolist()
        solver.setSolution(solution)
    if whole.any():
        _run_integer(solver, time_limit)
    else:
        run(solver, time_limit)
    return _answer(solver)


class Program:
    """A linear program as :func:`minimise` has it, that is solved with one row more now and again."""

    def __init__(
        self,
        cost: np.ndarray,
        matrix: csr_matrix,
        low: np.ndarray,
        high: np.ndarray,
        *,
        lower: np.ndarray | float = 0.0,
        upper: np.ndarray | float,
    ) -> None:
        self.solver = silent_solver()
        self.solver.passModel(_model(cost, matrix, low, high, lower, upper))
        self.rows = matrix.shape[0]

    def solve(self) -> tuple[Ending, np.ndarray | None]:
        run(self.solver)
        self._basis = self.solver.getBasis()
        self.value = float(self.solver.getInfo().objective_function_value)
        return _answer(self.solver)

    def least_with(self, row: np.ndarray, low: float, high: float, most: float, steps: int) -> float:
        """The least cost with a row more, from the solution without it; ``most``, once it is no less.

        After so many steps of the simplex method, what it had by then.
        """
        import highspy

        index = np.flatnonzero(row)
        self.solver.addRow(low, high, len(index), index.astype(np.int32), row[index])
        self.solver.setOptionValue("objective_bound", most)
        self.solver.setOptionValue("simplex_iteration_limit", steps)
        run(self.solver)
        infeasible = self.solver.getModelStatus() == highspy.HighsModelStatus.kInfeasible
        found = math.inf if infeasible else self.solver.getInfo().objective_function_value
        self.solver.deleteRows(1, np.array([self.rows], dtype=np.int32))
        self.solver.setBasis(self._basis)
        return min(float(found), most)


def _model(
    cost: np.ndarray,
    matrix: csr_matrix,
    low: np.ndarray,
    high: np.ndarray,
    lower: np.ndarray | float,
    upper: np.ndarray | float,
) -> Any:
    import highspy

    n = len(cost)
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = matrix.shape
    model.col_cost_ = np.asarray(cost, dtype=np.float64)
    model.col_lower_ = np.broadcast_to(np.asarray(lower, dtype=np.float64), n)
    model.col_upper_ = np.broadcast_to(np.asarray(upper, dtype=np.float64), n)
    model.row_lower_, model.row_upper_ = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = matrix.indptr.astype(np.int32)
    model.a_matrix_.index_ = matrix.indices.astype(np.int32)
    model.a_matrix_.value_ = matrix.data.astype(np.float64)
    return model


def _answer(solver: Any) -> tuple[Ending, np.ndarray | None]:
    import highspy

    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return Ending.INFEASIBLE, None
    if solver.getInfo().primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return Ending.UNDECIDED, None
    ending = Ending.OPTIMAL if status == highspy.HighsModelStatus.kOptimal else Ending.UNDECIDED
    return ending, np.array(solver.getSolution().col_value)


def _run_integer(solver: Any, time_limit: float) -> None:
    """Solve a program that may take long: it also ends when the run is told to stop."""
    stop = current()
    # HiGHS stays in this thread. In another one its own threads can outlive it, and abort the program at its end.
    with noted() as signals:
        solver.cbMipInterrupt += lambda event: event.interrupt() if signals or stop.raised else None
        run(solver, time_limit)
    if signals:
        raise KeyboardInterrupt
