"""HiGHS as everything here uses it: endings of tiny programs, and the flag that ends long ones."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from certmix.highs import Ending, Program, minimise, run, silent_solver
from certmix.status import Termination
from certmix.stopping import Stop, under

ROW = csr_matrix(np.array([[1.0, 2.0]]))


def test_endings() -> None:
    """At least 3 of x + 2y with few items, by hand; and what cannot be reached."""
    most = np.array([5.0, 1.0])
    ending, x = minimise(np.ones(2), ROW, np.array([3.0]), np.array([9.0]), upper=most, integer=True)
    assert ending is Ending.OPTIMAL
    assert x is not None
    assert x.tolist() == [1, 1]
    impossible = minimise(np.ones(2), ROW, np.array([8.0]), np.array([9.0]), upper=most, integer=True)
    assert impossible == (Ending.INFEASIBLE, None)


def test_only_what_is_declared_whole_is_whole() -> None:
    """x + 2y >= 2.5 at costs (2, 1): y alone is 1.25 when it may be; y whole and at most one leaves x = 0.5."""
    right, cost = (np.array([2.5]), np.array([np.inf])), np.array([2.0, 1.0])
    assert minimise(cost, ROW, *right, upper=2.0)[1].tolist() == [0.0, 1.25]
    whole = minimise(cost, ROW, *right, upper=np.array([9.0, 1.5]), integer=np.array([False, True]))[1]
    assert whole.tolist() == [0.5, 1.0]


def test_one_row_more_now_and_again() -> None:
    """x + 2y >= 3 at costs (1, 1), y at most one: 2. With x >= 2.5 2.75, with y <= 0 3, else the limit."""
    program = Program(np.ones(2), ROW, np.array([3.0]), np.array([9.0]), upper=np.array([5.0, 1.0]))
    ending, x = program.solve()
    assert (ending, x.tolist()) == (Ending.OPTIMAL, [1.0, 1.0])
    for _ in range(2):  # a row is gone before the next one comes
        assert program.least_with(np.array([1.0, 0.0]), 2.5, np.inf, 100.0, 1000) == 2.75
        assert program.least_with(np.array([0.0, 1.0]), -np.inf, 0.0, 100.0, 1000) == 3.0
        assert program.least_with(np.array([1.0, 1.0]), 7.0, np.inf, 100.0, 1000) == 100.0
        assert program.least_with(np.array([0.0, 1.0]), -np.inf, 0.0, 2.5, 1000) == 2.5


def test_lower_bounds_and_a_start() -> None:
    """Bounds on both sides hold, and a feasible start is not made worse."""
    start = np.array([3.0, 0.0])
    ending, x = minimise(
        np.ones(2), ROW, np.array([3.0]), np.array([9.0]), lower=-1.0, upper=5.0, integer=True, start=start
    )
    assert ending is Ending.OPTIMAL
    assert x is not None
    assert x.tolist() == [-1.0, 2.0]


def test_a_raised_flag_ends_an_integer_program() -> None:
    """A market split problem, which takes HiGHS very long, ends undecided when the run is told to stop."""
    rng = np.random.default_rng(0)
    matrix = rng.integers(0, 100, size=(5, 40)).astype(float)
    half = matrix.sum(axis=1) // 2
    stop = Stop()
    stop.hoist(Termination.INTERRUPTED)
    with under(stop):
        ending, _ = minimise(np.zeros(40), csr_matrix(matrix), half, half, upper=1.0, integer=True)
    assert ending is Ending.UNDECIDED


def test_a_solver_that_grows_says_nothing(capfd) -> None:
    """Standard output belongs to results, whoever fills the solver."""
    solver = silent_solver(simplex_iteration_limit=10)
    solver.addCol(-1.0, 0.0, 4.0, 0, np.zeros(0, dtype=np.int32), np.zeros(0))
    run(solver)
    assert list(solver.getSolution().col_value) == [4.0]
    assert capfd.readouterr().out == ""
