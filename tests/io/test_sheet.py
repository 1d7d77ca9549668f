"""pandas reads large files, the strict reader all others: whatever the file, both come to the same."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from certmix.errors import InputError
from certmix.io.files import read_source
from certmix.io.sheet import read_sheet
from certmix.io.tables import read_table
from certmix.io.text import Style

NUMBER = st.one_of(
    st.floats(width=64, allow_nan=False).map(repr),
    st.integers(-(10**25), 10**25).map(str),
    st.sampled_from(
        ["0", "-0", "+1", "1.", ".5", "1e5", "1E-300", "1e999", "4.9e-324", "2.2250738585072011e-308", " 1", "1 ",
         "007", "9007199254740993", "0.1", "123456789012345678901234567890", "1,5", "2,25e3", "3.0000000000000004"]
    ),
)  # fmt: skip
ODD = st.sampled_from([
    "", " ", "NA", "na", "nAn", " NA", "NA ", "n/a", "null", "None", "nan", "inf", "-Infinity", "+inf", "1_000",
    "0x10", "1d3", "True", "false", "TRUE", "1e", "--1", "x", "S1", "é", "٣", "1\u00a0", '"', '""', '"1"', '"a,b"',
    '"a\nb"', '"x"y', 'a"b', "1,234.5", "#", "# 1", "1 2", "2020-01-01", "1+2j", "\t", "-", "+", ".", "infinity",
    "INF", "1e5 ", "'1'", "\\N",
])  # fmt: skip


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """Tables that are mostly plain, with odd cells, rows and line ends here and there."""
    width, height = draw(st.integers(1, 4)), draw(st.integers(2, 6))
    mostly = draw(st.sampled_from([0, 0, 0, 1, 5]))
    cell = st.integers(0, 30).flatmap(lambda k: ODD if k < mostly else NUMBER)
    rows = draw(st.lists(st.lists(cell, min_size=width, max_size=width), min_size=height, max_size=height))
    if draw(st.booleans()):
        rows.insert(
            0, [draw(st.sampled_from(["a", "id", "", '"q"', "a b"])), *(f"c{j}" for j in range(1, width))]
        )
    if draw(st.integers(0, 9)) == 0:
        rows[draw(st.integers(0, len(rows) - 1))].append(draw(cell))
    if draw(st.integers(0, 9)) == 0:
        rows[draw(st.integers(0, len(rows) - 1))].pop()
    if draw(st.integers(0, 9)) == 0:
        rows.insert(draw(st.integers(0, len(rows))), draw(st.sampled_from([[], [" "], [""] * width])))
    separator = draw(st.sampled_from([",", ";", "\t", "|"]))
    end = draw(st.sampled_from(["\n", "\n", "\n", "\r\n", "\r"]))
    text = end.join(separator.join(row) for row in rows) + draw(st.sampled_from(["", end, end + end, " "]))
    return draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"])) + text.encode()


def outcome(path: Path, large: int, **options: Any) -> Any:
    """What a reading gives, or its error, in a form that can be compared."""
    try:
        table = read_table(path, large=large, **options)
    except InputError as error:
        return str(error)
    everything = {
        name: [str(x).strip() for x in column] if isinstance(column, list) else column.tobytes()
        for name, column in table.everything.items()
    }
    return (
        table.names,
        table.columns,
        table.values.tobytes(),
        everything,
        table.notes,
        table.warnings,
        table.record,
    )


@settings(max_examples=400, deadline=None, derandomize=True)
@given(
    content=files(),
    decimal=st.sampled_from([".", ".", ","]),
    sep=st.sampled_from([None, None, "|"]),
    header=st.sampled_from([None, True, False]),
    transpose=st.sampled_from([False, False, True]),
    missing=st.sampled_from(["error", "mean", "drop-samples"]),
)
@example(b"a,b\n1,2\n3\n4,5,6\n", ".", None, None, False, "mean")
@example(b'a,b\n"1,1",2\n3\n4,5\n', ".", None, None, False, "mean")
@example(b"a,b\n1,2\n,\n4,5\n", ".", None, None, False, "mean")
@example(b",,NA\n,,0.0\n,NA,0.0", ".", None, None, False, "error")
@example(b",,inf\nNA,0.0,\n,,inf", ".", None, None, True, "error")
@example(b"a,b\n1,True\n2,False\n", ".", None, None, False, "error")
@example(b"id,b\n1,2\nx,-0\n3,-0.0\n", ".", None, None, False, "error")
@example(b"0.0;0.0\n0.0;0.0\n1,5;0", ".", None, False, True, "error")
def test_both_readers_agree(content, decimal, sep, header, transpose, missing):
    """The same names, features, bits of every number, notes and sentences."""
    options = {
        "style": Style(sep=sep, decimal=decimal),
        "header": header,
        "transpose": transpose,
        "missing": missing,
    }
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "data.csv"
        path.write_bytes(content)
        assert outcome(path, 0, **options) == outcome(path, sys.maxsize, **options)


@pytest.mark.parametrize(
    "text",
    [
        "a,b,c\n1,2,x\n3,4.5,y\n,NA,z\n",
        '"id","a","b"\n"r1",1,2\n"r2",3,4.5\n',
        "a;b\r\n1;2\r\n3;4\r\n",
        "a b\nr1 1 2\nr2 3 4\n",
    ],
)
def test_pandas_does_read_plain_files(tmp_path, text):
    """The fast way is taken where it may be: the second column comes as an array."""
    (tmp_path / "data.csv").write_text(text, newline="")
    style = Style(sep=" ") if " " in text else Style()
    sheet = read_sheet(read_source(tmp_path / "data.csv"), style, header=None, large=0)
    assert isinstance(sheet.columns[1], np.ndarray)


def test_large_files_are_read_at_once(tmp_path):
    """200,000 x 4 take a third of a second or so; the limit is generous."""
    values = np.random.default_rng(0).normal(size=(200_000, 4))
    (tmp_path / "data.csv").write_text(
        "a,b,c,d\n" + "\n".join(",".join(map(repr, row)) for row in values.tolist())
    )
    import pandas  # noqa: F401

    start = time.process_time()
    table = read_table(tmp_path / "data.csv")
    assert time.process_time() - start < 2.0
    np.testing.assert_array_equal(table.values, values)
