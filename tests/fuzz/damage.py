"""Valid files, damaged: bytes flipped, cut out, doubled, swapped for nasty ones."""

from __future__ import annotations

from hypothesis import strategies as st

NASTY = (
    b"", b"\0", b"\n", b"\r\n", b"\r", b'"', b",", b";", b"\t", b"#", b"=", b"[", b"]", b"{", b"}", b"[[", b"-", b"+",
    b"nan", b"NaN", b"inf", b"-inf", b"1e999", b"-1e308", b"1e-320", b"0x10", b"1_000", b"9" * 400, b"9" * 5000,
    b"1e", b"--1", b"true", b"null", b"None", b"1979-05-27", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80",
    b"\xc2\xa0", "٣".encode(), "²".encode(), "é".encode(), "\u2028".encode(), "\U0001f600".encode(), b" " * 300,
    b"[" * 3000, b"{" * 3000, b"a." * 1500, b"must-link,S1", b"label,,", b'"unclosed', b"'''", b"\\u0000",
    b"\x93NUMPY\x01\x00", b"(99999999999999,)", b"'|O'", b"'<f8'", b"'<U9'", b"'>c16'", b"'<M8[s]'", b"PK\x03\x04",
    b"\xff" * 16, b"\x7f" * 8, b"\x80", b"-1", b"1.5", b"1e400", b"1e20",
)  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn, examples: list[bytes]) -> bytes:
    """One of the examples after a few strokes."""
    content = draw(st.sampled_from(examples))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(content)))
        until = draw(st.integers(at, min(len(content), at + draw(st.sampled_from([0, 1, 4, 40, 10**6])))))
        kind = draw(st.integers(0, 4))
        if kind == 0:
            content = content[:at] + content[until:]
        elif kind == 1:
            content = content[:at] + draw(st.sampled_from(NASTY)) + content[until:]
        elif kind == 2:
            content = content[:at] + draw(st.binary(min_size=1, max_size=8)) + content[until:]
        elif kind == 3:
            content = content[:until] + content[at:]
        elif at < len(content):
            content = content[:at] + bytes([content[at] ^ 1 << draw(st.integers(0, 7))]) + content[at + 1 :]
    return content


CELL = st.one_of(
    st.sampled_from(
        ["", "NA", "nan", "0", "1", "-1.5", "1e308", "-1e308", "1e-320", "inf", "x", "a", "S1", "#", '"']
    ),
    st.floats(width=64).map(repr),
    st.integers(-(10**30), 10**30).map(str),
    st.text(max_size=6),
)


@st.composite
def sheets(draw: st.DrawFn) -> bytes:
    """A table of odd cells, mostly rectangular."""
    width = draw(st.integers(1, 5))
    rows = draw(st.lists(st.lists(CELL, min_size=width, max_size=width), min_size=1, max_size=7))
    if draw(st.booleans()):
        rows[0] = [f"c{j}" for j in range(width)]
    separator = draw(st.sampled_from([",", ";", "\t"]))
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    return end.join(separator.join(row) for row in rows).encode("utf-8", "surrogatepass")


@st.composite
def constraint_sheets(draw: st.DrawFn) -> bytes:
    """A constraints file with plausible words in the wrong places."""
    kinds = (
        "must-link", "cannot-link", "implication", "label", "min-size", "max-size", "packing", "partitioning",
        "covering", "same-value", "label-column", "same-component-column", "mustlink", "",
    )  # fmt: skip
    sample = st.one_of(st.sampled_from(["S1", "S2", "S3", "0", "1", "group", "a", "", " ", "٣", "-1"]), CELL)
    rows = ["type,samples,component,limit"]
    for _ in range(draw(st.integers(0, 5))):
        samples = ";".join(draw(st.lists(sample, max_size=4)))
        rows.append(f"{draw(st.sampled_from(kinds))},{samples},{draw(sample)},{draw(sample)}")
    return "\n".join(rows).encode("utf-8", "surrogatepass")
