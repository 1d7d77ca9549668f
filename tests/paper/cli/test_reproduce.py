"""``certmix reproduce``: bad input in one sentence before any work, skipping, interruption."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

import listening
from certmix.cli.main import run
from certmix.datasets.pam50 import FILE
from certmix.paper.study.pieces import PIECES
from expression_file import write_expression


def refused(capsys, *arguments):
    """The sentence with which the command refuses; it has done nothing."""
    assert run(["reproduce", *map(str, arguments)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("certmix: error: ")
    assert captured.err.count("\n") == 1
    return captured.err


def test_an_unknown_piece(capsys, tmp_path):
    """It is named, and so is what was meant, or those that exist."""
    assert "unknown piece 'table3'; did you mean 'table2'?" in refused(
        capsys, "table3", "--out", tmp_path / "o"
    )
    text = refused(capsys, "zzz", "--out", tmp_path / "o")
    assert all(name in text for name in (*PIECES, "all"))
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize("limit", ["0", "-5", "nan", "inf", "soon"])
def test_a_bad_time_limit(capsys, tmp_path, limit):
    """Zero, negative, endless or no number."""
    text = refused(capsys, "table2", "--time-limit", limit, "--out", tmp_path / "o")
    assert "time limit" in text or "is not a number" in text
    assert not (tmp_path / "o").exists()


def test_a_directory_that_cannot_be_made(capsys, tmp_path):
    """A file in its place, and a file above it."""
    (tmp_path / "file").write_text("")
    assert "is a file, not a directory" in refused(capsys, "table2", "--out", tmp_path / "file")
    assert "cannot be made" in refused(capsys, "table2", "--out", tmp_path / "file" / "below")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_directory_that_cannot_be_written(capsys, tmp_path):
    """Told before any work."""
    tmp_path.chmod(0o500)
    assert "cannot be written" in refused(capsys, "table2", "--out", tmp_path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "there is no PAM50 matrix"),
        ("", "no row 'subtype'"),
        ("\ta\tb\nGENE\t1\t2\n", "no row 'subtype'"),
        ("\ta\tb\nsubtype\tX\tY\n", "no samples or no genes"),
        ("\ta\tb\nsubtype\tX\tY\nGENE\t1\ttwo\n", "'two' is not a number"),
        ("\ta\tb\nsubtype\tX\tY\nGENE\t1\t2\t3\n", "3 values for 'GENE' but 2 samples"),
        ("\ta\tb\nsubtype\tX\tY\nGENE\t1\t2\n", "dimension of pam50 must be at most 1"),
        (b"\xff\xfe\x00", "cannot read the PAM50 matrix"),
    ],
)
def test_a_bad_pam50_file(capsys, tmp_path, content, words):
    """Missing, or not what it should be."""
    file = tmp_path / "matrix.txt"
    if content is not None:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert words in refused(capsys, "all", "--pam50", file, "--out", tmp_path / "o")
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(
    ("name", "words"), [("pam50_centroids.txt", "centroid"), ("pam_assignments.csv", "subtype for every")]
)
def test_a_bad_file_beside_it(capsys, tmp_path, name, words):
    """Centroids and assignments may be absent, but not wrong."""
    folder = write_expression(tmp_path / "data")
    (folder / name).write_text("nonsense\n")
    text = refused(capsys, "pam50", "--pam50", folder, "--out", tmp_path / "o")
    assert name in text
    assert words in text


def test_a_sample_that_is_not_there(capsys, tmp_path):
    """A name that PAM50 does not have, or a name without its piece or its data."""
    folder = write_expression(tmp_path / "data")
    text = refused(capsys, "pam50", "--pam50", folder / FILE, "--sample", "S0l", "--out", tmp_path / "o")
    assert "no sample 'S0l'; the most similar name is 'S" in text
    assert "not asked for" in refused(capsys, "table2", "--sample", "S01", "--out", tmp_path / "o")
    assert "--pam50 FILE" in refused(capsys, "pam50", "--sample", "S01", "--out", tmp_path / "o")


def test_pam50_is_skipped_without_its_file(capsys, tmp_path):
    """One line says so, and it is no error."""
    assert run(["reproduce", "pam50", "--out", str(tmp_path)]) == 0
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert "pam50 is skipped" in captured.err
    assert "--pam50 FILE" in captured.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_in_a_solver_and_kept(tmp_path, number):
    """Stopped inside SCIP: exit code 130, one clear line, and the runs before are in the directory."""
    process = subprocess.Popen(
        [sys.executable, "-m", "certmix", "reproduce", "figure1b", "--time-limit", "300", "--out", "out"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=listening.to_interrupts,
    )
    assert process.stderr is not None
    err = ""
    while "[ 2/" not in err:  # the first run is finished
        line = process.stderr.readline()
        assert line, err
        err += line
    process.send_signal(number)
    _, rest = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in rest
    assert "interrupted; 1 of" in rest
    assert "the same command goes on from there" in rest
    (kept,) = (tmp_path / "out" / "cells").iterdir()
    assert json.loads(kept.read_text())["options"]["time_limit"] == 300.0


def test_help_is_light():
    """Neither numba nor pandas nor a solver is imported to show it."""
    code = (
        "import sys\nfrom certmix.cli.main import run\nrun(['reproduce', '--help'])\n"
        "heavy = {'numba', 'pandas', 'sklearn', 'scipy', 'matplotlib', 'highspy', 'pyomo'} & set(sys.modules)\n"
        "sys.exit(len(heavy))\n"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=120).returncode == 0
