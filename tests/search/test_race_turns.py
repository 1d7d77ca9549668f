"""Whose turn it is in a race, without one."""

from __future__ import annotations

from types import SimpleNamespace

from certmix.search import race


def test_whoever_is_behind_has_the_next_turn() -> None:
    """By work done; once both have branched, who is far from closing has a turn for every four of the other."""

    def behind(pair: float, matrices: float, gaps: tuple[float, float], nodes: int = 1) -> bool:
        one = race.Race.__new__(race.Race)
        one.ledger = SimpleNamespace(cutoff=100.0)  # type: ignore[assignment]
        one.pair = SimpleNamespace(work=pair, proved=100.0 - gaps[0], dual=object())  # type: ignore[assignment]
        one.bound = SimpleNamespace(work=matrices / race.TUNING.entry_work)  # type: ignore[assignment]
        one.first = 0.5
        one.matrices = SimpleNamespace(proved=100.0 - gaps[1], nodes=nodes)  # type: ignore[assignment]
        return one._pair_is_behind

    assert behind(1.0, 2.0, (1.0, 1.0))
    assert not behind(2.0, 1.0, (1.0, 1.0))
    assert not behind(1.0, 2.0, (9.0, 1.0)), "it does not gain"
    assert behind(1.0, 5.0, (9.0, 1.0)), "but it is not forgotten"
    assert behind(3.0, 1.0, (1.0, 9.0))
    assert not behind(5.0, 1.0, (1.0, 9.0))
    assert not behind(2.0, 1.0, (1.0, 9.0), nodes=0), "a root has to have its time first"
    assert not behind(0.0, 0.4, (1.0, 1.0)), "the matrices begin"
