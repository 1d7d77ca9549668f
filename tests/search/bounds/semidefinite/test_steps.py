"""Steps as they are packed."""

from __future__ import annotations

import numpy as np

from certmix.search.bounds.semidefinite.contraction import Contraction
from certmix.search.bounds.semidefinite.steps import Rounded, Step, UnpackedStep, pack
from certmix.spool import Spool


def of_many_pools(K: int) -> UnpackedStep:
    """One super-point that may be in any of so many components, each a pool of its own; a block for the last one."""
    one, none = np.ones(1), np.zeros(0)
    allowed, apart = np.ones((1, K), dtype=bool), np.zeros((1, 1), dtype=bool)
    shape = Contraction(np.zeros(1, dtype=np.int64), one, one, none, none, allowed, apart, np.zeros(1))
    return UnpackedStep(
        -3.0,
        shape,
        [np.array([k]) for k in range(K)],
        [np.zeros(1, dtype=np.int64)] * K,
        one,
        [(K - 1, 1, 1)],
        one,
        one,
        one,
        [Rounded(one, one, none)],
        [np.array([7], dtype=np.int16)],
        [(np.zeros((0, 4, 2), dtype=np.int64), np.zeros((0, 4)))],
        (),
    )


def test_there_may_be_more_pools_than_a_byte_has_numbers() -> None:
    """Every component is in its own pool, and what is excluded is excluded from that one."""
    K = 300
    step = pack(of_many_pools(K), np.arange(K)[None] == 257, np.zeros((1, 1), dtype=bool))
    assert np.array_equal(step.arrays["pool"], np.arange(K))
    assert np.flatnonzero(np.unpackbits(step.arrays["members"], count=K)).tolist() == [257]


def test_a_step_in_a_file_is_the_same() -> None:
    """Its kind, bound and number, its arrays and N; also when it is read from a state."""
    step = pack(of_many_pools(5), np.zeros((1, 5), dtype=bool), np.zeros((1, 1), dtype=bool))
    away = step.in_file(Spool())
    assert not isinstance(away.arrays, dict)
    for other in (away, away.loaded(), Step.read(away.arrays)):
        assert (other.kind, other.bound, other.size) == ("semidefinite", -3.0, step.size)
        assert all(np.array_equal(other.arrays[name], array) for name, array in step.arrays.items())
        assert other.slack().tolist() == [7]
    assert away.number == away.loaded().number == step.number
