"""The command line on damaged files: one sentence and exit code 2 (4 for contradictions), never a traceback."""

from __future__ import annotations

import io
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from damage import CELL, constraint_sheets, damaged, sheets
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reading import CONSTRAINTS_TOML, DATA, assert_sentence, readers

from certmix.cli.main import run

FEW = settings(
    max_examples=25,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
CODES = {0, 2, 3, 4}


def call(files: dict[str, bytes], *arguments: str) -> int:
    """Run the command line with files in a directory of their own; checks what every answer must satisfy."""
    with tempfile.TemporaryDirectory() as place:
        for name, content in files.items():
            (Path(place) / name).write_bytes(content)
        words = [str(Path(place) / word) if word in files else word for word in arguments]
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = run(words)
    assert code in CODES
    assert "Traceback" not in err.getvalue()
    if code == 2:
        complaint = err.getvalue()
        assert "certmix: error: " in complaint
        assert_sentence(complaint)
        assert out.getvalue() == ""
    return code


def test_good_files_are_good() -> None:
    """What the damage starts from is undamaged."""
    assert call({"data.csv": DATA}, "solve", "data.csv", "-k", "2", "--quiet") == 0
    side = b"type,samples\nmust-link,s1;s2\n"
    assert (
        call({"data.csv": DATA, "side.csv": side}, "constraints", "check", "data.csv", "side.csv", "-k", "2")
        == 0
    )


@pytest.mark.parametrize(("reader", "name"), [("data csv", "data.csv"), ("data npy", "data.npy")])
def test_damaged_data(reader: str, name: str) -> None:
    """Data with a few bytes changed are clustered or refused."""

    @FEW
    @given(damaged(readers()[reader].examples()))
    def check(content: bytes) -> None:
        call({name: content}, "solve", name, "-k", "2", "--quiet", "--time-limit", "1")

    check()


def test_odd_data() -> None:
    """Odd cells are refused, or clustered if they happen to be numbers."""

    @FEW
    @given(sheets(), st.sampled_from(["1", "2"]))
    def check(content: bytes, k: str) -> None:
        call({"data.csv": content}, "solve", "data.csv", "-k", k, "--quiet", "--time-limit", "1")

    check()


@pytest.mark.parametrize("name", ["side.csv", "side.toml"])
def test_damaged_constraints(name: str) -> None:
    """Damaged constraints are refused, contradict each other, or can hold together."""
    made = damaged([CONSTRAINTS_TOML]) if name == "side.toml" else constraint_sheets()

    @FEW
    @given(made)
    def check(content: bytes) -> None:
        files = {"data.csv": DATA, name: content}
        assert call(files, "constraints", "check", "data.csv", name, "-k", "2") in (0, 2, 4)

    check()


def test_odd_options() -> None:
    """Options that take numbers or names get odd ones."""
    options = ["--variance", "--weights", "--prior", "--columns", "--name-column", "--label-column", "--min-size",
               "--max-size", "--pca", "-k", "--gap", "--precision", "--constraints", "--class-column"]  # fmt: skip

    @FEW
    @given(st.lists(st.tuples(st.sampled_from(options), CELL), min_size=1, max_size=3))
    def check(given: list[tuple[str, str]]) -> None:
        words = [f"{option}={value}" if option != "-k" else f"-k{value}" for option, value in given]
        call({"data.csv": DATA}, "solve", "data.csv", "-k", "2", "--quiet", "--time-limit", "1", *words)

    check()
