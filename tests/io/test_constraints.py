"""Constraint files: both forms, every error with file and line, and the round trip."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import certmix
from certmix.errors import InputError
from certmix.io.constraints import FORMS, read_constraints
from certmix.problem import (
    CannotLink,
    Covering,
    Implication,
    Label,
    MaximumSize,
    MinimumSize,
    MustLink,
    Packing,
    Partitioning,
    Problem,
)
from constraint_writer import write_constraints

HEADER = "type,samples,component,limit\n"
ONE_OF_EACH = [
    MustLink("S1", "S2", "S3"),
    CannotLink("S1", "S4"),
    Implication("S5", "S6"),
    Implication("S5", "S6", "Basal"),
    Label("S4", 2),
    Label("S7", "Basal"),
    MinimumSize(2),
    MinimumSize(1, "Basal"),
    MaximumSize(9),
    MaximumSize(8, 1),
    Packing(["S1", "S5"], "Basal", 1),
    Partitioning(["S1", "S5", "S8"], 0, 2),
    Covering(["S8"], 0, 0),
]


def write(folder: Path, text: str | bytes, name: str = "constraints.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def problem(**options: object) -> Problem:
    """Ten named samples, three components named Basal, LumA and Her2."""
    data = np.arange(20.0).reshape(10, 2)
    names = [f"S{i}" for i in range(1, 11)]
    return Problem(
        data, 3, names=names, component_names=["Basal", "LumA", "Her2"], **{"variance": 1.0, **options}
    )


# -- CSV ---------------------------------------------------------------------------------------------------
def test_csv_with_every_type(tmp_path: Path) -> None:
    """Every type is read into its object; sources are the lines of the file."""
    path = write(
        tmp_path,
        HEADER
        + "must-link,S1;S2; S3,,\n"
        + "cannot-link,S1;S4,,\n"
        + "implication,S5;S6,,\n"
        + "implication,S5;S6,Basal,\n"
        + "label,S4,2,\n"
        + "label,S7,Basal,\n"
        + "min-size,,,2\n"
        + "min-size,,Basal,1\n"
        + "max-size,,,9\n"
        + "max-size,,1,8\n"
        + "packing,S1;S5,Basal,1\n"
        + "partitioning,S1;S5;S8,0,2\n"
        + "covering,S8,0,0\n",
    )
    found = read_constraints(path)
    assert found == ONE_OF_EACH
    assert [item.source for item in found] == [f"line {i}" for i in range(2, 15)]


def test_lines_are_counted_as_an_editor_counts_them(tmp_path: Path) -> None:
    """Comments and blank lines are skipped but counted, so that a line number is that of an editor."""
    text = "# made by hand\n\n" + HEADER + "\n# links\nmust-link,S1;S2,,\n  # more\n\nlabel,S3,0,\n"
    found = read_constraints(write(tmp_path, text))
    assert [item.source for item in found] == ["line 6", "line 9"]


def test_columns_in_any_order_and_left_out(tmp_path: Path) -> None:
    """The order of the columns is free, and columns that no line needs may be missing."""
    found = read_constraints(write(tmp_path, "Samples, Type\nS1;S2, Must_Link\nS3;S4, CANNOT LINK\n"))
    assert found == [MustLink("S1", "S2"), CannotLink("S3", "S4")]


def test_tabs_quotes_windows_lines_and_byte_order_mark(tmp_path: Path) -> None:
    """Spreadsheets write tabs, quotes, carriage returns and a byte order mark: all are read."""
    text = '\ufefftype\tsamples\tcomponent\tlimit\r\nmust-link\t"S1;S2"\t\t\r\nmin-size\t\t\t3.0\r\n'
    found = read_constraints(write(tmp_path, text, "constraints.tsv"))
    assert found == [MustLink("S1", "S2"), MinimumSize(3)]


def test_names_with_commas_and_accents(tmp_path: Path) -> None:
    """A quoted cell may hold a comma; names are UTF-8."""
    found = read_constraints(write(tmp_path, HEADER + '"must-link","Müller, A;Ωmega",,\n'))
    assert found == [MustLink("Müller, A", "Ωmega")]


def test_header_alone_is_no_constraint(tmp_path: Path) -> None:
    """A file with a header and nothing else holds no constraints."""
    assert read_constraints(write(tmp_path, HEADER)) == []


def test_positions_in_csv_resolve_for_unnamed_samples(tmp_path: Path) -> None:
    """Samples without names are called 0, 1, …, so digits in a CSV find them."""
    found = read_constraints(write(tmp_path, HEADER + "cannot-link,0;3,,\nlabel,2,1,\n"))
    unnamed = Problem(np.arange(8.0).reshape(4, 2), 2, variance=1.0, constraints=found)
    assert [(link.i, link.j) for link in unnamed.rules.apart] == [(0, 3)]
    assert [(known.sample, known.component) for known in unnamed.rules.labels] == [(2, 1)]


def test_column_types(tmp_path: Path) -> None:
    """Same-value makes must-links of equal cells, label-column makes labels of the filled cells."""
    table = {"batch": ["a", "b", "a", None, "b"], "subtype": ["Basal", "", float("nan"), "LumA", None]}
    path = write(tmp_path, HEADER + "same-value,batch,,\nlabel-column,subtype,,\n")
    found = certmix.read_constraints(path, table=table)
    assert found == [MustLink(0, 2), MustLink(1, 4), Label(0, "Basal"), Label(3, "LumA")]
    assert found[0].source == "line 2, column batch = a"
    assert found[2].source == "line 3, column subtype"
    assert read_constraints(path, table=pd.DataFrame(table)) == found


BAD_CSV = {
    "unknown type": ("must-lnik,S1;S2,,", ["line 2", "must-lnik", "did you mean 'must-link'"]),
    "type of another world": ("colour,S1,,", ["line 2", "colour"]),
    "missing type": (",S1;S2,,", ["line 2", "type", "missing"]),
    "one sample in a must-link": ("must-link,S1,,", ["line 2", "must-link", "at least 2 samples"]),
    "no sample in a cannot-link": ("cannot-link,,,", ["line 2", "cannot-link", "at least 2 samples"]),
    "three samples in an implication": ("implication,A;B;C,,", ["line 2", "exactly 2 samples", "3"]),
    "one sample in an implication": ("implication,A,,", ["line 2", "exactly 2 samples"]),
    "two samples with one label": ("label,A;B,0,", ["line 2", "label", "exactly 1 sample"]),
    "label without component": ("label,A,,", ["line 2", "label", "needs a component"]),
    "packing without component": ("packing,A;B,,1", ["line 2", "packing", "needs a component"]),
    "packing without samples": ("packing,,0,1", ["line 2", "packing", "at least 1 sample"]),
    "covering without limit": ("covering,A;B,0,", ["line 2", "covering", "needs a limit"]),
    "size without limit": ("min-size,,,", ["line 2", "min-size", "needs a limit"]),
    "size with samples": ("max-size,A,,3", ["line 2", "max-size", "no samples"]),
    "superfluous limit": ("must-link,A;B,,3", ["line 2", "must-link", "takes no limit", "'3'"]),
    "superfluous component": ("cannot-link,A;B,1,", ["line 2", "cannot-link", "takes no component"]),
    "limit in words": ("min-size,,,ten", ["line 2", "limit", "'ten'"]),
    "fractional limit": ("min-size,,,2.5", ["line 2", "limit", "'2.5'"]),
    "negative limit": ("max-size,,,-1", ["line 2", "limit", "'-1'"]),
    "infinite limit": ("max-size,,,inf", ["line 2", "limit", "'inf'"]),
    "limit not a number": ("max-size,,,nan", ["line 2", "limit", "'nan'"]),
    "empty name": ("must-link,A;;B,,", ["line 2", "name is missing", "A;;B"]),
    "trailing semicolon": ("must-link,A;B;,,", ["line 2", "name is missing"]),
    "samples split by commas": ("must-link,A,B,,C", ["line 2", "5 cells", "semicolons"]),
    "second row": ("must-link,A;B,,\nlabel,A,,", ["line 3", "label"]),
    "seventh row": ("\n\n# c\nmust-link,A;B,,\n\n\nmust-lik,A;B,,", ["constraints.csv, line 8:", "must-lik"]),
    "open quote": ('must-link,"A;B,,', ["line 2", "quotation mark"]),
    "column without table": ("same-value,batch,,", ["line 2", "batch", "not at hand"]),
}


@pytest.mark.parametrize(("lines", "words"), BAD_CSV.values(), ids=BAD_CSV.keys())
def test_bad_csv_names_file_line_and_culprit(tmp_path: Path, lines: str, words: list[str]) -> None:
    """Every mistake in a line is reported with the file, the line and what is wrong."""
    with pytest.raises(InputError) as error:
        read_constraints(write(tmp_path, HEADER + lines + "\n"))
    assert str(error.value).startswith("constraints.csv, ")
    for word in words:
        assert word in str(error.value)


BAD_FILES: dict[str, tuple[str | bytes, list[str]]] = {
    "nothing in it": (b"", ["empty"]),
    "only blanks": (b" \n\n", ["empty"]),
    "only comments": (b"# nothing\n# here\n", ["no header", "type,samples,component,limit"]),
    "not UTF-8": (HEADER.encode() + b"label,M\xfcller,0,\n", ["line 2", "UTF-8"]),
    "no type column": ("samples,limit\nA;B,\n", ["'type'", "header"]),
    "unknown column": ("type,sample,component\nlabel,A,0\n", ["'sample'", "did you mean 'samples'"]),
    "column twice": ("type,samples,samples\nmust-link,A;B,\n", ["'samples'", "twice"]),
    "semicolons for commas": ("type;samples;component;limit\nmust-link;A\n", ["commas", "semicolons"]),
    "no header": ("must-link,S1;S2,,\n", ["header"]),
}


@pytest.mark.parametrize(("content", "words"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_bad_file_names_itself(tmp_path: Path, content: str | bytes, words: list[str]) -> None:
    """A file that is wrong as a whole is named, with what is wrong."""
    with pytest.raises(InputError) as error:
        read_constraints(write(tmp_path, content))
    for word in ["constraints.csv", *words]:
        assert word in str(error.value)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    """A path that cannot be read is named."""
    with pytest.raises(InputError, match=r"nowhere\.csv.*cannot be read"):
        read_constraints(tmp_path / "nowhere.csv")
    with pytest.raises(InputError, match="cannot be read"):
        read_constraints(tmp_path)


def test_unknown_column_of_the_data_gets_the_nearest_name(tmp_path: Path) -> None:
    """A column that the data do not have is named, with the closest that they do have."""
    path = write(tmp_path, HEADER + "label-column,subtyp,,\n")
    with pytest.raises(InputError, match=r"constraints\.csv, line 2: .*'subtyp'.*did you mean 'subtype'"):
        read_constraints(path, table={"subtype": ["a"], "batch": ["b"]})


def test_sample_that_does_not_exist_is_reported_with_its_line(tmp_path: Path) -> None:
    """Names are checked when the problem is built; the message still knows the line and the nearest name."""
    found = read_constraints(write(tmp_path, HEADER + "must-link,S1;S2,,\nmust-link,S1;SS9,,\n"))
    with pytest.raises(InputError, match=r"must-link \(line 3\): .*'SS9'.*did you mean 'S9'"):
        problem(constraints=found)


# -- TOML --------------------------------------------------------------------------------------------------
def test_toml_tables_and_shorthands(tmp_path: Path) -> None:
    """Tables and shorthands give the same objects; sources say where they stand."""
    text = """
    must-link = [["S1", "S9"], ["S2", "S3"]]
    cannot-link = ["S1", "S2"]
    implication = [["S1", "S4"]]
    same-component-column = "batch"
    label-column = ["subtype"]
    min-size = 2
    max-size = { Basal = 5, LumA = 6 }
    label = { S4 = "Basal", S5 = 1 }

    [[constraint]]
    type = "packing"
    samples = ["S5", "S6"]
    component = "LumA"
    limit = 1

    [[constraint]]
    type = "same-value"
    column = "batch"

    [[constraint]]
    type = "must-link"
    samples = [0, 3]
    """
    table = {"batch": ["x", "y", "x"], "subtype": ["", "Basal", ""]}
    found = read_constraints(write(tmp_path, text, "c.toml"), table=table)
    assert found == [
        MustLink("S1", "S9"),
        MustLink("S2", "S3"),
        CannotLink("S1", "S2"),
        Implication("S1", "S4"),
        MustLink(0, 2),
        Label(1, "Basal"),
        MinimumSize(2),
        MaximumSize(5, "Basal"),
        MaximumSize(6, "LumA"),
        Label("S4", "Basal"),
        Label("S5", 1),
        Packing(["S5", "S6"], "LumA", 1),
        MustLink(0, 2),
        MustLink(0, 3),
    ]
    sources = [item.source for item in found]
    assert sources[:3] == ["must-link 1", "must-link 2", "cannot-link"]
    assert sources[-3] == "constraint 1"
    assert sources[-1] == "constraint 3"


BAD_TOML = {
    "bad syntax": ("min-size = 1\nmust-link = ]", ["not valid TOML", "line 2"]),
    "empty": ("", ["empty"]),
    "unknown key": ("must-lnk = []", ["must-lnk", "did you mean 'must-link'"]),
    "unknown key in a table": ('[[constraint]]\ntype="label"\nsample="A"', ["constraint 1", "'sample'"]),
    "unknown type": ('[[constraint]]\ntype="labell"\nsamples=["A"]', ["constraint 1", "labell", "'label'"]),
    "type missing": ('[[constraint]]\nsamples=["A", "B"]', ["constraint 1", "type", "missing"]),
    "type not text": ("[[constraint]]\ntype=3", ["constraint 1", "type"]),
    "not tables": ("constraint = 3", ["constraint", "[[constraint]]"]),
    "must-link not a list": ('must-link = "S1"', ["must-link", "list"]),
    "must-link empty": ("must-link = []", ["must-link", "list"]),
    "must-link mixed": ('must-link = [["A", "B"], "C"]', ["must-link 2", "'C'"]),
    "must-link too short": ('must-link = [["A"]]', ["must-link", "at least 2 samples"]),
    "sample is a fraction": ("must-link = [[1.5, 2]]", ["must-link", "1.5"]),
    "sample is a truth value": ("must-link = [[true, 2]]", ["must-link", "True"]),
    "sample is blank": ('must-link = [["", "B"]]', ["must-link", "''"]),
    "limit is text": ('min-size = "3"', ["min-size", "'3'"]),
    "limit is a fraction": ("min-size = 2.5", ["min-size", "2.5"]),
    "limit is negative": ("min-size = -2", ["min-size", "-2"]),
    "limit is a truth value": ("max-size = true", ["max-size", "True"]),
    "label is not a table": ('label = ["S1"]', ["label", "table"]),
    "label is a list": ("label = { S1 = [1] }", ["label of S1", "component"]),
    "packing has no shorthand": ("packing = 3", ["packing", "[[constraint]]"]),
    "samples and column": (
        '[[constraint]]\ntype="same-value"\ncolumn="a"\nsamples=["b"]',
        ["constraint 1", "not both"],
    ),
    "second table": (
        '[[constraint]]\ntype="min-size"\nlimit=1\n[[constraint]]\ntype="min-size"',
        ["constraint 2", "needs a limit"],
    ),
    "column without table": ('label-column = "subtype"', ["label-column", "subtype", "not at hand"]),
}


@pytest.mark.parametrize(("text", "words"), BAD_TOML.values(), ids=BAD_TOML.keys())
def test_bad_toml_names_file_place_and_culprit(tmp_path: Path, text: str, words: list[str]) -> None:
    """Every mistake in a TOML file is reported with the file, the place and what is wrong."""
    with pytest.raises(InputError) as error:
        read_constraints(write(tmp_path, text, "limits.toml"))
    for word in ["limits.toml", *words]:
        assert word in str(error.value)


# -- writing -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["c.csv", "c.toml"])
def test_round_trip(tmp_path: Path, name: str) -> None:
    """What is written is read back equal, for every kind of constraint."""
    assert {type(item).kind for item in ONE_OF_EACH} == {
        kind for kind, form in FORMS.items() if form.of is not None
    }
    write_constraints(ONE_OF_EACH, tmp_path / name)
    assert read_constraints(tmp_path / name) == ONE_OF_EACH


@pytest.mark.parametrize("name", ["c.csv", "c.toml"])
def test_round_trip_of_nothing(tmp_path: Path, name: str) -> None:
    """No constraints are written as a file that holds none."""
    write_constraints([], tmp_path / name)
    assert read_constraints(tmp_path / name) == []


@pytest.mark.parametrize("name", ["c.csv", "c.toml"])
def test_round_trip_through_a_problem_writes_names(tmp_path: Path, name: str) -> None:
    """Positions are written as names when the problem is given, so that they mean the same when read."""
    given = [MustLink(0, 8), Label(3, 2), Covering([1, "S3"], "LumA", 1)]
    before = problem(constraints=given)
    write_constraints(given, tmp_path / name, problem=before)
    after = problem(constraints=read_constraints(tmp_path / name))
    assert after.rules.together == before.rules.together
    assert after.rules.labels == before.rules.labels
    assert after.rules.counts[0].samples.tolist() == before.rules.counts[0].samples.tolist()


def test_toml_round_trip_of_awkward_names(tmp_path: Path) -> None:
    """Quotes, backslashes, semicolons and control characters in names survive TOML."""
    given = [
        MustLink('a"b', "c\\d"),
        MustLink("e;f", " g "),
        MustLink("tab\there", "del\x7f"),
        MustLink("é", "\n"),
    ]
    given = [MustLink(*(s if s.strip() else f"x{s}" for s in item.samples)) for item in given]
    write_constraints(given, tmp_path / "c.toml")
    assert read_constraints(tmp_path / "c.toml") == given


@pytest.mark.parametrize("name", ["a;b", "two\nlines", " edge"])
def test_names_that_csv_cannot_hold_are_refused(tmp_path: Path, name: str) -> None:
    """A name that would not be read back is refused, and TOML is recommended."""
    with pytest.raises(InputError, match="TOML"):
        write_constraints([MustLink(name, "b")], tmp_path / "c.csv")


def test_unwritable_path_is_named(tmp_path: Path) -> None:
    """A file that cannot be written is named."""
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match=r"c\.csv.*cannot be written"):
        write_constraints([MustLink(0, 1)], tmp_path / "file" / "c.csv")


def test_links_may_have_penalties(tmp_path: Path) -> None:
    """A penalty makes a link soft, in both kinds of files; what is written is read back."""
    csv = tmp_path / "soft.csv"
    csv.write_text("type,samples,penalty\nmust-link,a;b,2.5\ncannot-link,a;c;d,1e-3\nmust-link,c;d,\n")
    expected = [MustLink("a", "b", penalty=2.5), CannotLink("a", "c", "d", penalty=1e-3), MustLink("c", "d")]
    assert read_constraints(csv) == expected
    for name in ("back.csv", "back.toml"):
        write_constraints(expected, tmp_path / name)
        assert read_constraints(tmp_path / name) == expected


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("must-link,a;b,,,-1", ["line 2", "penalty must be a finite number >= 0"]),
        ("must-link,a;b,,,dear", ["line 2", "penalty", "'dear'"]),
        ("cannot-link,a;b,,,inf", ["line 2", "finite"]),
        ("label,a,0,,2.5", ["line 2", "label takes no penalty", "only links do"]),
    ],
)
def test_a_penalty_that_is_none_is_refused(tmp_path: Path, line: str, words: list[str]) -> None:
    """The message names the line and the number."""
    path = tmp_path / "bad.csv"
    path.write_text(f"type,samples,component,limit,penalty\n{line}\n")
    with pytest.raises(InputError) as caught:
        read_constraints(path)
    for word in words:
        assert word in str(caught.value)
