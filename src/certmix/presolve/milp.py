"""Small integer programs in HiGHS, without a word on standard output."""

from __future__ import annotations

from enum import Enum

import numpy as np
from scipy.sparse import csr_matrix

from certmix.stopping import obey


class Ending(Enum):
    """How the solver ended."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNDECIDED = "undecided"


def integer_program(
    cost: np.ndarray,
    matrix: csr_matrix,
    low: np.ndarray,
    high: np.ndarray,
    most: np.ndarray,
    time_limit: float,
) -> tuple[Ending, np.ndarray | None]:
    """Minimise ``cost x`` over integers ``0 <= x <= most`` with ``low <= matrix x <= high``.

    Returns
    -------
    ending, x
        ``x`` is rounded, and None when the solver had no point when it stopped.
    """
    import highspy

    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = matrix.shape
    model.col_cost_ = np.asarray(cost, dtype=np.float64)
    model.col_lower_ = np.zeros(len(most))
    model.col_upper_ = np.asarray(most, dtype=np.float64)
    model.row_lower_ = np.asarray(low, dtype=np.float64)
    model.row_upper_ = np.asarray(high, dtype=np.float64)
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = matrix.indptr.astype(np.int32)
    model.a_matrix_.index_ = matrix.indices.astype(np.int32)
    model.a_matrix_.value_ = matrix.data.astype(np.float64)
    model.integrality_ = [highspy.HighsVarType.kInteger] * len(most)
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("random_seed", 0)
    obey(solver, time_limit)
    if solver.passModel(model) == highspy.HighsStatus.kError:
        return Ending.UNDECIDED, None
    solver.run()
    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return Ending.INFEASIBLE, None
    if solver.getInfo().primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return Ending.UNDECIDED, None
    x = np.rint(np.array(solver.getSolution().col_value)).astype(np.int64)
    return (Ending.OPTIMAL if status == highspy.HighsModelStatus.kOptimal else Ending.UNDECIDED), x
