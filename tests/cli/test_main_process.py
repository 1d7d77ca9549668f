"""The command as a process: what it imports, how it dies, what it leaves when it is stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import listening
from certmix import __version__
from certmix.result import Result

# An engine that finds a clustering and then works for ever, so that a test can stop it at a known moment.
ENDLESS = """
import sys, time
import numpy as np
import certmix.engines as engines
from certmix.__main__ import main
from certmix.engines import Outcome
from certmix.problem.features import EVERY_FEATURE

class Endless:
    name, certified, honours = "endless", True, EVERY_FEATURE

    def refusal(self, problem):
        return None

    def run(self, problem, ledger, options):
        ledger.offer(np.arange(problem.n_samples) % problem.n_components, "start")
        ledger.raise_bound(-100.0)
        print("READY", file=sys.stderr, flush=True)
        while True:
            time.sleep(0.01)

sys.modules["endless"] = sys.modules["__main__"]
engines._PLACES["endless"] = "endless:Endless"
main()
"""


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONUNBUFFERED": "1"}


def call(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "certmix", *arguments],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=120,
    )


def test_version():
    """``certmix --version`` prints name and version."""
    answer = call("--version")
    assert (answer.returncode, answer.stdout) == (0, f"certmix {__version__}\n")


@pytest.mark.parametrize("arguments", [["--help"], ["solve", "--help"], ["constraints", "check", "--help"]])
def test_help_is_light(arguments):
    """Showing help imports neither numba nor pandas, scikit-learn, SciPy, matplotlib or HiGHS."""
    code = (
        "import sys\n"
        "from certmix.cli.main import run\n"
        f"code = run({arguments!r})\n"
        "heavy = {'numba', 'pandas', 'sklearn', 'scipy', 'matplotlib', 'highspy'} & set(sys.modules)\n"
        "print('HEAVY', sorted(heavy), file=sys.stderr)\n"
        "sys.exit(code)\n"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert answer.returncode == 0
    assert "Usage" in answer.stdout
    assert "HEAVY []" in answer.stderr


def test_help_names_every_option_of_the_issue():
    """No option is missing from the help."""
    text = call("solve", "--help").stdout
    for option in [
        "-k",
        "--columns",
        "--name-column",
        "--transpose",
        "--standardize",
        "--pca",
        "--variance",
        "--precision",
        "--precision-from",
        "--class-column",
        "--weights",
        "--constraints",
        "--label-column",
        "--min-size",
        "--max-size",
        "--prior",
        "--engine",
        "--gap",
        "--absolute-gap",
        "--time-limit",
        "--node-limit",
        "--threads",
        "--seed",
        "--out",
        "--json",
        "--quiet",
    ]:
        assert option in text


def stopped(tmp_path: Path, number: int, *arguments: str) -> tuple[int, str, str]:
    """Start an endless run, wait until it has a clustering, and send it a signal."""
    (tmp_path / "data.csv").write_text("a\n0\n1\n5\n6\n")
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            ENDLESS,
            "solve",
            "data.csv",
            "-k",
            "2",
            "--variance",
            "1",
            "--engine",
            "endless",
            "--out",
            "out",
            *arguments,
        ],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=listening.to_interrupts,
    )
    assert process.stderr is not None
    err = ""
    while "READY" not in err:
        line = process.stderr.readline()
        assert line, err
        err += line
    process.send_signal(number)
    out, rest = process.communicate(timeout=60)
    return process.returncode, out, err + rest


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_run_is_130_and_still_writes_its_incumbent(tmp_path, number):
    """Ctrl-C or a termination signal: exit code 130, the result on standard output and in the files; it can go on."""
    code, out, err = stopped(tmp_path, number, "--json")
    assert code == 130
    assert "Traceback" not in err
    document = json.loads(out)
    assert document["termination"] == "interrupted"
    assert document["status"] == "feasible"
    assert document["lower_bound"] == -100.0
    assert document["labels"] == [0, 1, 0, 1]
    saved = Result.load(tmp_path / "out" / "result.json")
    assert saved.objective == document["objective"]
    assert (tmp_path / "out" / "assignments.csv").exists()
    assert (tmp_path / "out" / "snapshot.json").exists()


@pytest.mark.slow
def test_a_real_search_can_be_interrupted(tmp_path):
    """Ctrl-C in the middle of a branch and bound: exit code 130 with incumbent and bound."""
    process = subprocess.Popen(
        [sys.executable, "-m", "certmix", "solve", "iris", "-k", "5", "--engine", "interval", "--json"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=listening.to_interrupts,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.rstrip().endswith("s") and "%" in line:  # a line of the log with a gap
            break
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    document = json.loads(out)
    assert document["termination"] == "interrupted"
    assert 0 < document["lower_bound"] < document["objective"]


def test_a_killed_run_leaves_its_snapshot(tmp_path):
    """Even SIGKILL loses nothing: the snapshot holds the clustering and loads as a result."""
    code, out, _ = stopped(tmp_path, signal.SIGKILL)
    assert code == -signal.SIGKILL
    assert out == ""
    saved = Result.load(tmp_path / "out" / "snapshot.json")
    assert saved.labels is not None
    assert saved.labels.tolist() == [0, 1, 0, 1]
    assert saved.termination == "interrupted"


def test_a_reader_that_goes_away_is_no_error(tmp_path):
    """`certmix … | head -1` ends without a traceback."""
    (tmp_path / "data.csv").write_text("a\n0\n1\n5\n6\n")
    command = f"{sys.executable} -m certmix solve data.csv -k 2 --engine enumerate --json | head -c 1"
    answer = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, env=environment(), timeout=120
    )
    assert answer.stdout == "{"
    assert "Traceback" not in answer.stderr
    assert "BrokenPipe" not in answer.stderr
