"""The memory limit: how it is written, what counts as free, and that every engine ends there with what it has."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys

import numpy as np
import pytest

from certmix import InputError, Problem, memory, solve
from certmix.observers.base import Silent
from certmix.status import Status, Termination

PROBLEM = Problem(np.random.default_rng(0).normal(size=(12, 2)), 3, variance=1.0)
LIMIT = 10**9


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        (None, None),
        (1000, 1000),
        ("1000", 1000),
        ("2K", 2048),
        ("1.5m", 3 * 2**19),
        ("4G", 2**32),
        ("1 TiB", 2**40),
    ],
)
def test_limits_are_read(text, n_bytes) -> None:
    """Bytes, or a number with a suffix."""
    assert memory.parsed(text) == n_bytes


@pytest.mark.parametrize("text", ["", "G", "4X", "-1", "0", 0, -5, True, float("nan"), float("inf"), [1]])
def test_what_is_no_limit_is_refused_before_any_work(text) -> None:
    """The sentence shows what was written."""
    with pytest.raises(InputError, match="memory limit"):
        solve(PROBLEM, memory_limit=text)


def test_a_limit_below_what_is_taken_already_is_refused() -> None:
    """A run that could only stop at once is an error of whoever asked for it."""
    with pytest.raises(InputError, match="before any work"):
        solve(PROBLEM, memory_limit="1M")


def test_without_a_limit_a_share_of_what_is_free_counts(monkeypatch) -> None:
    """80 % of what is free at the start, beyond what the process takes already; nothing outside of a run."""
    monkeypatch.setattr(memory, "resident", lambda: 300)
    monkeypatch.setattr(memory, "available", lambda: 1000)
    assert memory.room() == float("inf")
    with memory.limited(None):
        assert memory.room() == 800
        with memory.limited(500):
            assert memory.room() == 200
        assert memory.room() == 800
    assert memory.room() == float("inf")
    assert not memory.reached()


def test_what_is_large_is_asked_for() -> None:
    """A single allocation that would pass the limit is refused in words before it is made; a small one is not."""
    with memory.limited((memory.resident() or 0) + 2**28):
        memory.require(2**26, "a table")
        memory.require(100, "a number")
        with pytest.raises(memory.OutOfMemory, match="a table would take 1 GB"):
            memory.require(2**30, "a table")


def test_containers_count(tmp_path) -> None:
    """The tightest of all control groups above the process counts, files in the cache being free."""
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    for folder, limit, used in ((tmp_path, "max", 10), (tmp_path / "a", "5000", 1000), (inner, "9000", 2000)):
        (folder / "memory.max").write_text(f"{limit}\n")
        (folder / "memory.current").write_text(f"{used}\n")
    (tmp_path / "a" / "memory.stat").write_text("anon 3\ninactive_file 300\n")
    (tmp_path / "mine").write_text("0::/a/b\n")
    assert sorted(memory._containers(tmp_path, tmp_path / "mine")) == [4300, 7000]
    old = tmp_path / "memory" / "c"
    old.mkdir(parents=True)
    (old / "memory.limit_in_bytes").write_text("100")
    (old / "memory.usage_in_bytes").write_text("40")
    (tmp_path / "mine").write_text("3:cpu:/c\n2:memory:/c\n")
    assert memory._containers(tmp_path, tmp_path / "mine") == [60]
    assert memory._containers(tmp_path, tmp_path / "nothing") == []


@pytest.mark.parametrize("engine", ["interval", "dual", "sdp", "bnb", "hard-em", "minlp"])
@pytest.mark.parametrize("looks", [3, 8, 15])
def test_every_engine_ends_at_the_limit_with_what_it_has(monkeypatch, engine, looks) -> None:
    """Whenever the memory is used up, what was proved until then holds, and why the run stopped is said."""
    optimum = solve(PROBLEM, "enumerate").objective
    count = itertools.count()
    monkeypatch.setattr(memory, "EVERY", 0.0)
    monkeypatch.setattr(memory, "resident", lambda: 0 if next(count) < looks else 2 * LIMIT)
    result = solve(PROBLEM, engine, memory_limit=LIMIT, gap=0.0, threads=1)
    assert result.lower_bound <= optimum + 1e-9
    assert result.objective >= optimum - 1e-9
    if next(count) > looks + 1:  # it had not come to its end by itself
        assert result.termination in (Termination.MEMORY, Termination.CONVERGED, Termination.EXHAUSTED)
        assert result.status in (Status.FEASIBLE, Status.UNKNOWN, Status.OPTIMAL)


@pytest.mark.parametrize("engine", ["interval", "dual", "sdp", "bnb"])
def test_the_search_stops_for_memory(monkeypatch, engine) -> None:
    """On a problem that takes long, the termination is the memory limit."""
    full = []

    class Filling(Silent):
        def progressed(self, progress):
            if math.isfinite(progress.incumbent):
                full.append(True)

    problem = Problem(np.random.default_rng(1).normal(size=(100, 6)), 5, variance=1.0)
    monkeypatch.setattr(memory, "EVERY", 0.0)
    monkeypatch.setattr(memory, "resident", lambda: 2 * LIMIT if full else 0)
    result = solve(
        problem, engine, memory_limit=LIMIT, gap=1e-9, threads=1, restarts=1, observers=[Filling()]
    )
    assert result.termination is Termination.MEMORY
    assert result.labels is not None
    assert result.certificate is None


def test_memory_that_the_system_refuses_is_no_crash(monkeypatch) -> None:
    """An allocation that fails in the middle of a run ends it like the limit does."""
    from certmix.search.bounds.interval import IntervalBound

    def fail(*_):
        raise MemoryError("Unable to allocate 7 TiB")

    monkeypatch.setattr(IntervalBound, "branch", fail)
    result = solve(PROBLEM, "interval", gap=0.0)
    assert result.termination is Termination.MEMORY
    assert "7 TiB" in result.message
    assert result.labels is not None


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="measures resident memory")
@pytest.mark.parametrize(("engine", "n"), [("sdp", 2000), ("dual", 2900), ("interval", 2900)])
def test_a_real_run_stays_below_its_limit(engine, n) -> None:
    """600 MB allowed: the process never takes much more, and ends with exit code 3 and a clustering."""
    code = (
        "import numpy as np, resource, certmix\n"
        "rng = np.random.default_rng(0)\n"
        f"Y = rng.normal(size=({n}, 6)) + 2 * rng.normal(size=(4, 6))[rng.integers(4, size={n})]\n"
        f"r = certmix.solve(certmix.Problem(Y, 4), {engine!r}, memory_limit='600M', time_limit=40)\n"
        "print(r.termination, r.labels is not None, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)\n"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert answer.returncode == 0, answer.stderr
    *why, found, peak = answer.stdout.split()
    assert " ".join(why) in ("memory limit", "time limit")
    assert found == "True"
    assert float(peak) < 700
