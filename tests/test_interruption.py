"""A signal at any moment, from the first line of the program to its end, and a standard output that takes nothing."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import listening
from certmix.result import Result

WHOLE = {"assignments.csv", "parameters.csv", "trace.csv", "result.json", "result.npz"}
PROOF = {"certificate.json", "certificate.npz"}


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "certmix", "solve", *arguments, "--out", "out", "--json"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=listening.to_interrupts,
    )


def wait_until_it_listens(process: subprocess.Popen[str]) -> None:
    """Before that, the interpreter itself is being loaded and nobody can do anything."""
    while process.poll() is None:
        status = Path(f"/proc/{process.pid}/status").read_text()
        caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
        if int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1:
            return
        time.sleep(0.001)
    raise AssertionError("the program has ended without ever listening")


def one_signal(folder: Path, seconds: float, number: int, *arguments: str) -> str:
    """Send a signal so long after the program has begun to listen; what is left must be whole."""
    folder.mkdir()
    process = start(folder, *arguments)
    wait_until_it_listens(process)
    time.sleep(seconds)
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    case = f"signal {number} after {seconds:.3f} s: exit code {process.returncode}\n{out}{err}"
    assert process.returncode in (0, 130), case
    assert "Traceback" not in err, case
    assert "Exception ignored" not in err, case
    left = {p.name for p in (folder / "out").iterdir()} if (folder / "out").exists() else set()
    if not out:
        assert process.returncode == 130, case
        assert "interrupted before there was a result" in err, case
        assert not left, (case, left)
        return "no result"
    document = json.loads(out)
    interrupted = document["termination"] == "interrupted"
    tables = {"assignments.csv", "parameters.csv"} if document["labels"] is None else set()
    assert WHOLE - tables <= left, (case, left)
    unfinished = {name for name in left if name.startswith("snapshot")}  # a later run can go on from it
    assert left - unfinished <= WHOLE | PROOF, (case, left)
    assert interrupted or not unfinished, (case, left)
    assert Result.load(folder / "out" / "result.json").termination == document["termination"], case
    if interrupted:
        assert process.returncode == 130, case
        return "interrupted"
    assert process.returncode == 0 or not PROOF & left, case
    return "complete"


def life(folder: Path, *arguments: str) -> float:
    """Seconds from listening to the end."""
    folder.mkdir()
    process = start(folder, *arguments)
    wait_until_it_listens(process)
    begin = time.monotonic()
    process.communicate(timeout=120)
    assert process.returncode == 0
    return time.monotonic() - begin


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="needs /proc to see when the program listens"
)
@pytest.mark.parametrize(
    ("data", "count"),
    [
        ("iris1d", 12),
        pytest.param("iris1d", 200, marks=pytest.mark.slow),
        pytest.param("brca", 150, marks=pytest.mark.slow),
        pytest.param("iris", 50, marks=pytest.mark.slow),
    ],
)
def test_a_signal_at_any_moment_leaves_whole_files_and_a_documented_exit_code(tmp_path, data, count):
    """0 and everything, or 130 and everything that was found; never a traceback, half a file or a death by signal."""
    seconds = life(tmp_path / "undisturbed", data)
    draw = random.Random(count)
    found = {
        one_signal(tmp_path / str(i), (i + draw.random()) / count * 1.05 * seconds, number, data)
        for i, number in zip(range(count), [signal.SIGINT, signal.SIGTERM] * count, strict=False)
    }
    assert "no result" in found  # what else depends on how busy the machine is


def test_it_listens_before_anything_heavy_is_imported():
    """What is imported before the handlers are in place takes milliseconds."""
    code = (
        "import sys; import certmix.__main__; "
        "print(sorted({'typer', 'rich', 'numpy', 'numba', 'scipy', 'pandas'} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert answer.stdout == "[]\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("command", ["solve data.csv -k 2 --engine enumerate --out out --json", "engines"])
def test_a_full_disk_behind_standard_output_is_one_sentence(tmp_path, command):
    """Exit code 5 and one sentence; the files are written all the same."""
    (tmp_path / "data.csv").write_text("a\n0\n1\n5\n6\n")
    with open("/dev/full", "w") as full:
        answer = subprocess.run(
            [sys.executable, "-m", "certmix", *command.split()],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
        )
    assert answer.returncode == 5
    assert "Traceback" not in answer.stderr
    assert answer.stderr.endswith(
        "certmix: error: standard output cannot be written to: No space left on device\n"
    )
    if "--out" in command:
        assert Result.load(tmp_path / "out" / "result.json").status == "optimal"
