"""Damaged certificates for the fuzzing: whatever the checker still calls verified has to be true."""

from __future__ import annotations

import hashlib
import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from reading import Reader, file

from certmix.problem import CannotLink, MustLink, Problem
from certmix.solving import solve
from certmix.verifying import verify

DATA = np.array([[0.0, 0.2], [0.1, 0.0], [0.4, 0.3], [3.0, 3.2], [3.1, 2.9], [2.7, 3.3], [6.1, 0.2]])
PROBLEM = Problem(DATA, 3, variance=1.0, constraints=[MustLink(0, 1), CannotLink(2, 6)])
ENGINES = ("enumerate", "dual", "sdp")


@cache
def _files(engine: str) -> tuple[bytes, bytes, float]:
    """The two files of a certificate, and the optimum."""
    result = solve(PROBLEM, engine, certificate=True, threads=1)
    assert result.certificate is not None
    with tempfile.TemporaryDirectory() as place:
        path = result.certificate.save(Path(place) / "certificate.json")
        return path.read_bytes(), path.with_suffix(".npz").read_bytes(), result.objective


def _write_json(directory: Path, content: bytes, engine: str) -> Path:
    (directory / "certificate.npz").write_bytes(_files(engine)[1])
    return file("certificate.json")(directory, content)


def _write_npz(directory: Path, content: bytes, engine: str) -> Path:
    """Damaged arrays whose digest is right, so that the checker has to look at them."""
    document = json.loads(_files(engine)[0])
    document["arrays"]["sha256"] = hashlib.sha256(content).hexdigest()
    (directory / "certificate.npz").write_bytes(content)
    return file("certificate.json")(directory, json.dumps(document).encode())


def _check(verdict: Any, path: Path) -> None:
    if verdict.verified:
        bound = float(json.loads(path.read_text(encoding="utf-8"))["bound"])
        assert bound <= _files("enumerate")[2] + 1e-9, "a false bound is verified"
    else:
        assert verdict.sentence.strip()


def certificate_readers() -> list[Reader]:
    """The checker as a reader, for the certificates of several engines."""
    found = []
    for engine in ENGINES:
        found += [
            Reader(
                f"certificate json, {engine}",
                lambda path: verify(path, DATA),
                lambda engine=engine: [_files(engine)[0]],
                _check,
                lambda place, content, engine=engine: _write_json(place, content, engine),
            ),
            Reader(
                f"certificate npz, {engine}",
                lambda path: verify(path, DATA),
                lambda engine=engine: [_files(engine)[1]],
                _check,
                lambda place, content, engine=engine: _write_npz(place, content, engine),
            ),
        ]
    return found
