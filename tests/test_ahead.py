"""Compiling ahead of need, and what a light start does not import."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from certmix import ahead, toys
from certmix.engines import NAMES


def _python(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_every_part_has_a_toy() -> None:
    """What engines need are parts, and every part can be compiled."""
    assert all(callable(getattr(toys, part)) for part in ahead.PARTS)
    assert {part for parts in ahead.NEEDED.values() for part in parts} <= set(ahead.PARTS)
    assert set(ahead.NEEDED) <= set(NAMES)


def test_a_part_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part that was compiled is missing no more; with another cache it is."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(toys, "line", lambda: None)
    assert ahead.missing(["line"]) == ["line"]
    ahead.cache_folder().mkdir(exist_ok=True)
    ahead.compile_part("line")
    assert ahead.missing(["line"]) == []
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "other"))
    assert ahead.missing(["line"]) == ["line"]


def test_processes_do_not_compile_the_same_kernel_twice(tmp_path: Path) -> None:
    """Of three processes that need a kernel at once, one compiles it; the others wait and find it in the cache."""
    code = """
from numba.core import event
from certmix.kernels import dynamic
seen = []
class Watch(event.Listener):
    def on_start(self, found): seen.append(found)
    def on_end(self, found): pass
event.register("numba:compile", Watch())
from certmix import Problem, solve
solve(Problem([[0.0], [1.0], [5.0], [6.0]], 2, variance=1.0), "dynamic")
print(len(seen) > 0)
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    running = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert sorted(process.communicate()[0].strip() for process in running) == ["False", "False", "True"]


@pytest.mark.slow
def test_nothing_is_left_to_compile(tmp_path: Path) -> None:
    """After ``certmix compile`` no run compiles a kernel; a second call says so."""
    environment = {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "certmix", "compile"]
    told = [
        subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True).stderr
        for _ in range(2)
    ]
    assert "done" in told[0]
    assert str(tmp_path) in told[1]
    assert "already" in told[1]
    code = """
import sys
from numba.core import event
seen = []
class Watch(event.Listener):
    def on_start(self, found): seen.append(found.data["dispatcher"].py_func.__name__)
    def on_end(self, found): pass
event.register("numba:compile", Watch())
from certmix.cli.main import run
for words in (
    ["solve", "iris1d"], ["solve", "brca"], ["solve", "wine"], ["solve", "iris", "--time-limit", "20"],
    ["solve", "iris:variant=uci", "--min-size", "20", "--max-size", "90", "--time-limit", "20", "--verify"],
):
    run([*words, "--quiet", "--json"])
print("compiled:", *seen)
"""
    assert _python(code, **environment).splitlines()[-1] == "compiled:"


def test_a_short_run_imports_little() -> None:
    """A run in one dimension on built-in data needs neither scikit-learn nor pandas; help needs no NumPy."""
    code = """
import sys
from certmix.cli.main import run
run(["--version"])
print(sorted({"numpy", "numba", "scipy"} & sys.modules.keys()))
run(["solve", "iris1d", "--quiet", "--json"])
heavy = {"sklearn", "pandas", "scipy.optimize", "scipy.sparse", "rich", "matplotlib", "highspy"}
print(sorted(heavy & sys.modules.keys()))
"""
    lines = _python(code).splitlines()
    assert lines[1] == "[]"
    assert lines[-1] == "[]"
