"""A small data file and a way to call the command line in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certmix.cli.main import run

DATA = """id,a,b,group,label,flat
s1,0.0,0.1,x,p,1
s2,0.2,0.0,x,,1
s3,4.0,4.0,y,,1
s4,4.1,4.2,y,q,1
s5,0.1,0.3,x,,1
s6,3.9,4.3,y,,1
"""


@dataclass
class Answer:
    """What a call of the command line left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        def refuse(constant: str) -> None:
            raise AssertionError(f"{constant} is not strict JSON")

        return json.loads(self.out, parse_constant=refuse)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory, the current one, with a data file and some that are wrong."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text(DATA)
    np.save(tmp_path / "data.npy", np.array([[0.0], [0.1], [0.3], [5.0], [5.2]]))
    (tmp_path / "precision.csv").write_text("2,0\n0,2\n")
    return tmp_path


@pytest.fixture
def certmix(files: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """Call ``certmix`` with arguments (one string is split at blanks) inside that directory."""

    def call(*arguments: str) -> Answer:
        if len(arguments) == 1:
            arguments = tuple(arguments[0].split())
        code = run(arguments)
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return call
