"""Every reader of files, with valid files to begin from and what a successful reading has to satisfy.

Used by the tests (hypothesis) and by ``fuzz_readers.py`` (atheris). A reader of another kind of file joins by an entry
in :func:`readers`: a name, the suffix, the function, some valid files, and a check of what it returned.
"""

from __future__ import annotations

import contextlib
import gzip
import importlib.util
import io
import json
import math
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from certmix.errors import CertmixError
from certmix.io.constraints import read_constraints
from certmix.io.matrices import read_matrix
from certmix.io.tables import Table, read_table
from certmix.io.text import Style
from certmix.problem import MustLink, Problem
from certmix.result import Result
from certmix.saving import save
from certmix.solving import solve
from constraint_writer import write_constraints

SECONDS = 20
"""A reading that takes longer hangs."""


@dataclass(frozen=True)
class Reader:
    """A kind of file.

    Attributes
    ----------
    read : takes a path
    examples : contents of valid files, as bytes
    check : looks at what a reading returned; raises AssertionError when it cannot be right
    write : puts content into a directory and returns the path to read
    """

    name: str
    read: Callable[[Path], Any]
    examples: Callable[[], list[bytes]]
    check: Callable[[Any, Path], None]
    write: Callable[[Path, bytes], Path]


def file(name: str) -> Callable[[Path, bytes], Path]:
    """Content as a file of that name."""

    def write(directory: Path, content: bytes) -> Path:
        path = directory / name
        path.write_bytes(content)
        return path

    return write


def reads_or_complains(reader: Reader, content: bytes) -> bool:
    """Feed content to a reader: True when it was read (and is right), False when it was refused in a clear sentence.

    Anything else is a finding: another exception, an answer that cannot be right, more than :data:`SECONDS`.
    """
    with tempfile.TemporaryDirectory() as place, _limited(SECONDS), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)  # an overflow or an invalid cast is no correct result
        path = reader.write(Path(place), content)
        try:
            answer = reader.read(path)
        except CertmixError as error:
            assert_sentence(str(error))
            return False
        reader.check(answer, path)
        return True


def assert_sentence(text: str) -> None:
    """An error is something to read: one line with words in it, and no Python in it."""
    assert text.strip(), "an error without a word"
    assert len(text.encode("utf-8", "replace")) < 20_000, "an error of many pages"
    assert "Traceback" not in text


@contextlib.contextmanager
def _limited(seconds: int) -> Iterator[None]:
    """Raise after so many seconds, where signals can be had."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"the reader hangs: no answer in {seconds} s")

    try:
        before = signal.signal(signal.SIGALRM, stop)
    except (ValueError, AttributeError):  # not the main thread, or no such signal
        yield
        return
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


# -- what a reading has to satisfy ---------------------------------------------------------------------------------
def _check_table(table: Table, path: Path) -> None:
    n, d = table.values.shape
    assert n == table.n_samples >= 1
    assert d == len(table.columns) >= 1
    assert np.isfinite(table.values).all(), "the features hold a value that is not a number"
    assert table.values.dtype == np.float64
    if table.names is not None:
        assert len(set(table.names)) == n, "two samples have one name"
    assert all(len(column) == n for column in table.everything.values())
    table.frame()
    copy = path.with_name("copy.npy")
    np.save(copy, table.values)
    assert np.array_equal(read_table(copy).values, table.values)


def _check_as_the_strict_reader(table: Table, path: Path) -> None:
    _check_table(table, path)
    strict = read_table(path, large=sys.maxsize)
    assert np.array_equal(strict.values, table.values)
    assert (strict.names, strict.columns, strict.notes) == (table.names, table.columns, table.notes)


def _check_matrix(matrix: np.ndarray, path: Path) -> None:
    assert matrix.dtype == np.float64
    if path.suffix == ".csv":
        assert matrix.shape == (2, 2)
        assert not np.isnan(matrix).any()


def _check_constraints(found: list, path: Path) -> None:
    copy = path.with_name("copy.toml")
    write_constraints(found, copy)
    again = read_constraints(copy) if found else []
    assert [_without_source(item) for item in again] == [_without_source(item) for item in found]


def _without_source(item: Any) -> tuple[object, ...]:
    return type(item), *(getattr(item, f.name) for f in fields(item) if f.name != "source")


def _check_result(result: Result, path: Path) -> None:
    assert result.lower_bound <= result.objective or math.isinf(result.objective)
    copy = path.with_name("copy.json")
    save(result, copy)
    again = Result.load(copy)
    assert again.status is result.status
    assert again.objective == result.objective
    assert again.names == result.names


# -- valid files ---------------------------------------------------------------------------------------------------
DATA = b"id,a,b,group\ns1,0.0,0.1,x\ns2,0.2,0.0,x\ns3,4.0,4.0,y\ns4,4.1,4.2,y\n"
COLUMNS = {"a": [0.0, 0.2, 4.0, 4.1], "group": ["x", "x", "y", "y"]}
CONSTRAINTS_CSV = b"""type,samples,component,limit
# a comment
must-link,S1;S9,,
cannot-link,S1;S2,,
implication,S2;S3,Basal,
label,S4,1,
min-size,,,10
max-size,,0,12
packing,S5;S6;S7,LumA,2
same-value,group,,
"""
CONSTRAINTS_TOML = b"""must-link = [["S1", "S9"], ["S2", 3]]
label = { S4 = "Basal", S5 = 1 }
min-size = 10
same-component-column = "group"

[[constraint]]
type = "packing"
samples = ["S5", "S6", "S7"]
component = "LumA"
limit = 2
"""


def _npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def _arrays() -> list[bytes]:
    rng = np.random.default_rng(0)
    named = np.array([(1.0, 2), (3.0, 4)], dtype=[("a", "f8"), ("b", "i4")])
    return [
        _npy(rng.normal(size=(4, 2))),
        _npy(np.arange(6)),
        _npy(named),
        _npy(np.asfortranarray(rng.normal(size=(3, 3)).astype(np.float32))),
    ]


def _parquet() -> list[bytes]:
    import pandas as pd

    buffer = io.BytesIO()
    pd.DataFrame({"id": ["p", "q", "r"], "a": [0.0, 1.0, 2.5], "n": [1, 2, 3]}).to_parquet(buffer)
    return [buffer.getvalue()]


def _excel() -> list[bytes]:
    import pandas as pd

    buffer = io.BytesIO()
    pd.DataFrame({"id": ["p", "q", "r"], "a": [0.0, 1.0, 2.5], "n": [1, 2, 3]}).to_excel(buffer, index=False)
    return [buffer.getvalue()]


@cache
def _result() -> tuple[bytes, bytes]:
    """A small result as it stands in its two files."""
    problem = Problem(np.array([0.0, 0.1, 3.0, 3.1])[:, None], 2, variance=1.0, constraints=[MustLink(0, 1)])
    with tempfile.TemporaryDirectory() as place:
        path = save(solve(problem, "enumerate"), Path(place) / "result.json")
        return path.read_bytes(), path.with_suffix(".npz").read_bytes()


def _result_in_one() -> list[bytes]:
    from certmix.io.strict_json import dumps
    from certmix.saving import as_dict

    problem = Problem(np.array([0.0, 0.1, 3.0, 3.1])[:, None], 2, variance=1.0)
    return [_result()[0], dumps(as_dict(solve(problem, "enumerate"))).encode()]


def _write_json(directory: Path, content: bytes) -> Path:
    (directory / "result.npz").write_bytes(_result()[1])
    return file("result.json")(directory, content)


def _write_npz(directory: Path, content: bytes) -> Path:
    """Damaged arrays whose digest is right, so that the reader has to look at them."""
    import hashlib

    document = json.loads(_result()[0])
    document["arrays"]["sha256"] = hashlib.sha256(content).hexdigest()
    (directory / "result.npz").write_bytes(content)
    return file("result.json")(directory, json.dumps(document).encode())


@cache
def readers() -> dict[str, Reader]:
    """Every reader by name."""
    tables = [
        ("data csv", "data.csv", lambda: [DATA, b"0,1\n2,3\n4,5\n", b"a;b\n1;2\n3;4\n"]),
        ("data tsv", "data.tsv", lambda: [DATA.replace(b",", b"\t")]),
        ("data npy", "data.npy", _arrays),
    ]
    if importlib.util.find_spec("pyarrow") is not None:
        tables.append(("data parquet", "data.parquet", _parquet))
    if importlib.util.find_spec("openpyxl") is not None:
        tables.append(("data excel", "data.xlsx", _excel))
    found = [Reader(name, read_table, made, _check_table, file(path)) for name, path, made in tables]
    found += [
        Reader(
            "data csv, prepared",
            lambda path: read_table(path, standardize=True, pca=1),
            lambda: [DATA],
            _check_table,
            file("data.csv"),
        ),
        Reader(
            "data csv, transposed",
            lambda path: read_table(path, transpose=True),
            lambda: [b"id,s1,s2,s3\na,0,1,2\nb,3,4,5.5\n", b"0,1\n2,3\n"],
            _check_table,
            file("data.csv"),
        ),
        Reader(
            "data csv, filled",
            lambda path: read_table(path, missing="mean"),
            lambda: [DATA, b"a,b\n1,NA\n,2\n5,6\n"],
            _check_table,
            file("data.csv"),
        ),
        Reader(
            "data csv, gaps dropped",
            lambda path: read_table(path, missing="drop-samples"),
            lambda: [DATA, b"a,b\n1,NA\n3,2\n5,6\n"],
            _check_table,
            file("data.csv"),
        ),
        Reader(
            "data csv, decimal comma",
            lambda path: read_table(path, style=Style(sep=";", decimal=","), missing="drop-features"),
            lambda: [b"id;a;b\nx;1,5;2\ny;3;4,25\n"],
            _check_table,
            file("data.csv"),
        ),
        Reader(
            "data csv, latin",
            lambda path: read_table(path, style=Style(encoding="latin-1"), no_name_column=True),
            lambda: [DATA, "größe,b\n1,2\n3,4\n".encode("latin-1")],
            _check_table,
            file("data.csv"),
        ),
        Reader(
            "data csv, utf-16",
            lambda path: read_table(path, style=Style(encoding="utf-16")),
            lambda: [DATA.decode().encode("utf-16")],
            _check_table,
            file("data.csv"),
        ),
        Reader(
            "data csv, by pandas",
            lambda path: read_table(path, large=0),
            lambda: [DATA, b'"","a","b"\n"r1",1,2\n"r2",3,4.5\n'],
            _check_as_the_strict_reader,
            file("data.csv"),
        ),
        Reader("data csv.gz", read_table, lambda: [gzip.compress(DATA)], _check_table, file("data.csv.gz")),
        Reader(
            "matrix csv",
            lambda path: read_matrix(path, ["a", "b"]),
            lambda: [b"2,0\n0,2\n", b",a,b\na,2,0.5\nb,0.5,3\n"],
            _check_matrix,
            file("precision.csv"),
        ),
        Reader(
            "matrix npy",
            lambda path: read_matrix(path, ["a", "b"]),
            lambda: [_npy(np.eye(2)), _npy(np.stack([np.eye(2)] * 3))],
            _check_matrix,
            file("precision.npy"),
        ),
        Reader(
            "constraints csv",
            lambda path: read_constraints(path, table=COLUMNS),
            lambda: [CONSTRAINTS_CSV, b"type\tlimit\nmin-size\t3\n"],
            _check_constraints,
            file("side.csv"),
        ),
        Reader(
            "constraints toml",
            lambda path: read_constraints(path, table=COLUMNS),
            lambda: [CONSTRAINTS_TOML],
            _check_constraints,
            file("side.toml"),
        ),
        Reader("result json", Result.load, _result_in_one, _check_result, _write_json),
        Reader("result npz", Result.load, lambda: [_result()[1]], _check_result, _write_npz),
    ]
    return {reader.name: reader for reader in found}
