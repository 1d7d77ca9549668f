"""Whatever stands in a file: it is read correctly or refused in a clear sentence, never a traceback or a hang."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from damage import constraint_sheets, damaged, sheets
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reading import Reader, assert_sentence, readers, reads_or_complains

from certmix.errors import CertmixError, InputError

FEW = settings(
    max_examples=60,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
MANY = settings(FEW, max_examples=4000)
EVERY = list(readers().values())
by_name = pytest.mark.parametrize("reader", EVERY, ids=[r.name for r in EVERY])


@by_name
def test_valid_files_are_read(reader: Reader) -> None:
    """What the damage starts from is undamaged."""
    for content in reader.examples():
        assert reads_or_complains(reader, content)


@by_name
def test_damaged_files(reader: Reader) -> None:
    """A valid file with a few bytes changed."""

    @FEW
    @given(damaged(reader.examples()))
    def run(content: bytes) -> None:
        reads_or_complains(reader, content)

    run()


@by_name
def test_any_bytes(reader: Reader) -> None:
    """No file at all."""

    @settings(FEW, max_examples=15)
    @given(st.binary(max_size=200))
    def run(content: bytes) -> None:
        reads_or_complains(reader, content)

    run()


@pytest.mark.slow
@by_name
def test_many_damaged_files(reader: Reader) -> None:
    """The same, thousands of times."""

    @MANY
    @given(damaged(reader.examples()))
    def run(content: bytes) -> None:
        reads_or_complains(reader, content)

    run()


@pytest.mark.parametrize(
    "name", ["data csv", "data tsv", "data csv, prepared", "data csv, transposed", "matrix csv"]
)
def test_odd_tables(name: str) -> None:
    """Tables of odd cells: texts among numbers, numbers beyond all bounds, missing values, ragged rows."""

    @FEW
    @given(sheets())
    def run(content: bytes) -> None:
        reads_or_complains(readers()[name], content)

    run()


def test_odd_constraints() -> None:
    """Every type of constraint with the wrong number of everything."""

    @FEW
    @given(constraint_sheets())
    def run(content: bytes) -> None:
        reads_or_complains(readers()["constraints csv"], content)

    run()


@pytest.mark.parametrize("reader", EVERY, ids=[r.name for r in EVERY])
def test_impossible_paths(reader: Reader) -> None:
    """A file that is not there, a directory, a name too long or with a zero in it: a sentence each time."""
    suffix = reader.write(Path(tempfile.mkdtemp()), reader.examples()[0]).suffix
    for path in (
        f"absent{suffix}",
        ".",
        "/",
        "",
        f"{'x' * 5000}{suffix}",
        f"zero\0{suffix}",
        f"/proc/self/mem{suffix}",
    ):
        with pytest.raises(CertmixError) as found:
            reader.read(path)
        assert_sentence(str(found.value))


TOO_LONG = b"9" * 5000
CASES = {
    "constraints csv": [
        b"type,component,limit\nmin-size," + TOO_LONG + b",1\n",
        b"type,limit\nmin-size," + TOO_LONG + b"\n",
        b"type,samples\nmust-link," + TOO_LONG + b";2\n",
        b"type,samples\nmust-link,\"" + b"x" * 200_000 + b"\";2\n",
    ],
    "constraints toml": [
        b"min-size = " + TOO_LONG,
        b"must-link = [[" + TOO_LONG + b", 2]]",
        b"min-size = 0x" + TOO_LONG,
        b"a = " + b"[" * 5000,
        b"a = " + b"{a=" * 5000,
        b"a." * 5000 + b"a = 1",
        b"label = { S1 = 1979-05-27 }",
        b"min-size = 99999999999999999999",
    ],
    "result json": [b"[" * 100_000, b'{"a":' * 100_000, b'{"format": ' + TOO_LONG + b"}", b"1e999"],
    "data csv": [
        b"a\n" + TOO_LONG + b"\n1\n",
        b"a\n" + b"1" * 200_000,
        b"a,b\n" + b"1,1\n" * 20_000,
        b"," * 20_000 + b"\n" + b"1," * 20_000,
        b"a\n1e308\n-1e308\n",
    ],
    "data csv, prepared": [b"a,b\n1e308,1\n-1e308,2\n1,3\n", b"a,b\n1e-320,1\n0,2\n1e-321,3\n"],
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_chosen_files(name: str) -> None:
    """Numbers of thousands of digits, nesting without end, cells without end."""
    for content in CASES[name]:
        reads_or_complains(readers()[name], content)


def test_a_result_whose_bound_lies_above_its_objective_is_refused(tmp_path: Path) -> None:
    """Such a result would have a gap of zero."""
    reader = readers()["result json"]
    document = json.loads(reader.examples()[0])
    document["lower_bound"] = document["objective"] + 1.0
    with pytest.raises(InputError, match="above its objective"):
        reader.read(reader.write(tmp_path, json.dumps(document).encode()))
