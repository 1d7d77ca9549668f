"""Tables as people have them: names that are numbers, missing values, other signs, compressed files, hints."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from certmix.errors import InputError
from certmix.io.headings import headed_like_a_name
from certmix.io.tables import read_table
from certmix.io.text import Style


@pytest.fixture
def csv(tmp_path: Path):
    """Write a file and return its path."""

    def write(text: str | bytes, name: str = "data.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def said(table, words: str) -> bool:
    return any(words in note for note in table.notes)


# -- names -------------------------------------------------------------------------------------------------
def test_turned_table_with_numbers_for_names(csv):
    """With --transpose the first row names the samples, numbers too, and the first column the features."""
    table = read_table(csv("gene,1000,1001,1002\nESR1,1,2,3\nGATA3,4,5,7\nKRT5,0,1,1\n"), transpose=True)
    assert table.names == ("1000", "1001", "1002")
    assert table.columns == ("ESR1", "GATA3", "KRT5")
    np.testing.assert_array_equal(table.values, [[1, 4, 0], [2, 5, 1], [3, 7, 1]])
    assert said(table, "first row names the samples")


def test_a_row_that_begins_with_a_heading_is_a_header(csv):
    """After gene come names of columns, although they are numbers, and --transpose is suggested; S1 begins a sample."""
    table = read_table(csv("gene,1000,1001,1002\nESR1,1,2,3\nGATA3,4,5,7\nKRT5,0,1,1\n"))
    assert table.names == ("ESR1", "GATA3", "KRT5")
    assert table.columns == ("1000", "1001", "1002")
    assert any("--transpose" in text for text in (*table.notes, *table.warnings))
    assert read_table(csv("S1,10,20\nS2,11,25\n")).names == ("S1", "S2")


def test_turned_table_of_numbers_only(csv):
    """Names are taken from the first row and column even then, with a warning; --no-header says that there are none."""
    path = csv("1,2,3\n4,5,7\n8,0,1\n")
    table = read_table(path, transpose=True)
    assert table.names == ("2", "3")
    assert table.columns == ("4", "8")
    assert "--no-header" in table.warnings[0]
    bare = read_table(path, transpose=True, header=False)
    assert bare.names is None
    np.testing.assert_array_equal(bare.values, [[1, 4, 8], [2, 5, 0], [3, 7, 1]])


@pytest.mark.parametrize("first", ["100\n101\n102", "001\n002\n003", "7\n3\n5"])
def test_a_column_headed_name_is_no_feature(csv, first):
    """Numbers under a heading such as name are the samples' names, as they are written."""
    rows = [f"{number},{i}.5,{i * i}" for i, number in enumerate(first.split())]
    table = read_table(csv("name,a,b\n" + "\n".join(rows)))
    assert table.names == tuple(first.split())
    assert table.columns == ("a", "b")
    assert said(table, "'name' names the samples (--no-name-column")
    assert said(table, "features: a, b")
    assert read_table(csv("name,a,b\n" + "\n".join(rows)), no_name_column=True).columns == ("name", "a", "b")


HEADINGS = (
    "id", "ID", "Name", "sample", "Sample_ID", "sample id", "SampleID", "sampleid", "sample.name", "barcode",
    "TCGA_barcode", "patient", "PatientID", "patient-id", "gene", "Gene Symbol", "gene_id", "symbol", "probe",
    "probe_id", "Unnamed: 0", "index", "", " ", "#", "rownames", "cell_id", "Accession", "subject", "entrez_id",
)  # fmt: skip


@pytest.mark.parametrize("heading", HEADINGS)
def test_headings_of_names(heading):
    """What people write above names is known."""
    assert headed_like_a_name(heading)


@pytest.mark.parametrize(
    "heading", ["width", "acid", "age", "x0", "batch", "PC1", "length (cm)", "grid", "solid"]
)
def test_headings_of_measurements(heading):
    """Words that merely contain such a word are no names."""
    assert not headed_like_a_name(heading)


def test_an_index_that_was_measured(csv):
    """Numbers that are not whole are measured, whatever stands above them."""
    assert read_table(csv("index,a\n1.52,1\n1.49,2\n1.33,5\n")).columns == ("index", "a")


@pytest.mark.parametrize("start", [0, 1])
def test_a_first_column_that_counts(csv, start):
    """0, 1, 2, … or 1, 2, 3, … names the samples, and the log says so; the only column stays a feature."""
    text = "t,a\n" + "\n".join(f"{start + i},{i * i + 0.5}" for i in range(4))
    table = read_table(csv(text))
    assert table.columns == ("a",)
    assert table.names == tuple(str(start + i) for i in range(4))
    assert said(table, "counts the samples")
    assert read_table(csv(text), no_name_column=True).columns == ("t", "a")
    assert read_table(csv(text), columns=["t"]).columns == ("t",)
    assert read_table(csv("t\n0\n1\n2\n3\n")).columns == ("t",)


def test_other_columns_of_distinct_whole_numbers(csv):
    """They stay features, and a warning says what to type."""
    table = read_table(csv("number,a\n17,0.5\n4,1.5\n9,7.5\n"))
    assert table.columns == ("number", "a")
    assert "--name-column number" in table.warnings[0]
    assert not read_table(csv("number,a\n17,0.5\n4,1.5\n9,7.5\n"), columns=["number"]).warnings
    table = read_table(csv("a,batch\n0.5,1\n1.5,1\n7.5,2\n"))
    assert "'batch'" in table.warnings[0]


def test_duplicate_names_are_an_error_that_names_them(csv):
    """Names that stand twice are told, wherever the names came from; classes are no names, and that is said."""
    with pytest.raises(
        InputError, match=r"'S1' .*stands twice \(line 2 and line 4\).*'S2'.*--no-name-column"
    ):
        read_table(csv("sample,a\nS1,1\nS2,2\nS1,4\nS2,3\n"))
    with pytest.raises(InputError, match="'S1' in column 'tumour' stands twice"):
        read_table(csv("tumour,a\nS1,1\nS2,2\nS3,4\nS4,3\nS1,5\n"))
    with pytest.raises(
        InputError, match=r"'S1' in the first row stands twice \(column 2 of the file and column 4"
    ):
        read_table(csv("gene,S1,S2,S1\nA,1,2,3\nB,2,5,4\n"), transpose=True)
    table = read_table(csv("kind,a\nx,1\nx,2\ny,4\ny,3\n"))
    assert table.names is None
    assert said(table, "does not name the samples")


def test_names_the_user_chose(csv):
    """Two ways to say what names the samples contradict each other; a bare array has no names."""
    with pytest.raises(InputError, match="contradict"):
        read_table(csv("a,b\n1,2\n"), name_column="a", no_name_column=True)
    with pytest.raises(InputError, match="--no-header"):
        read_table(csv("a,b\n1,2\n"), transpose=True, no_name_column=True)


def test_features_are_listed_and_shortened(csv):
    """The features that are used stand in the notes, some of them when they are many."""
    table = read_table(csv(",".join(f"c{j}" for j in range(30)) + "\n" + ",".join(["0.5"] * 30) + "\n"))
    assert said(table, "features: c0, c1")
    assert said(table, "… 20 more")


def test_a_header_without_a_cell_for_the_names(csv):
    """R's write.table leaves no heading above the names of the rows."""
    table = read_table(csv('"a" "b"\n"r1" 1.5 2\n"r2" 3 4\n', "r.txt"), style=Style(sep=" "))
    assert table.names == ("r1", "r2")
    assert table.columns == ("a", "b")
    table = read_table(csv("S1\tS2\nESR1\t1\t2\nGATA3\t3\t5\n", "g.tsv"), transpose=True)
    assert table.names == ("S1", "S2")
    assert table.columns == ("ESR1", "GATA3")
    with pytest.raises(InputError, match="line 2: it has 3 cells"):
        read_table(csv("a,b\n1,2,\n3,4,\n"))


# -- missing values ----------------------------------------------------------------------------------------
GAPS = "id,a,b,c,group\ns1,1,10,5,x\ns2,,20,6,x\ns3,4,NA,7,y\ns4,7,30,9,NA\n"


def test_missing_values_are_an_error_by_default(csv):
    """The error names the first and says what can be done."""
    with pytest.raises(
        InputError, match=r"line 3: .*'s2' in column 'a' is missing \(2 such values.*--missing"
    ):
        read_table(csv(GAPS))
    with pytest.raises(InputError, match="--missing 'ignore': choose from error"):
        read_table(csv(GAPS), missing="ignore")


def test_samples_with_missing_values_are_left_out_everywhere(csv):
    """Their names, classes and labels go with them."""
    table = read_table(csv(GAPS), missing="drop-samples", leave_out=["group"])
    assert table.names == ("s1", "s4")
    assert table.dropped == ("s2", "s3")
    assert table.column("group", "x") == ["x", ""]
    np.testing.assert_array_equal(table.values, [[1, 10, 5], [7, 30, 9]])
    assert table.record["missing"] == {"policy": "drop-samples", "values": 2, "samples": 2}
    assert said(table, "2 missing values in 2 of 3 columns: 2 of 4 samples left out")


def test_samples_without_names_keep_their_numbers(csv):
    """When samples are left out, the others go by the number that they have in the file."""
    table = read_table(csv("a,b\n1,2.5\n,3\n5,4\n"), missing="drop-samples")
    assert table.names == (0, 2)
    assert table.dropped == (1,)


def test_features_with_missing_values_are_left_out(csv):
    """Only whole columns stay."""
    table = read_table(csv(GAPS), missing="drop-features")
    assert table.columns == ("c",)
    assert table.record["missing"]["features"] == ["a", "b"]
    assert said(table, "features: c")


@pytest.mark.parametrize(("policy", "a", "b"), [("mean", 4.0, 20.0), ("median", 4.0, 20.0)])
def test_missing_values_are_filled(csv, policy, a, b):
    """By the column's mean or median, before anything else is done with the data."""
    table = read_table(csv(GAPS), missing=policy)
    np.testing.assert_array_equal(table.values[:, :2], [[1, 10], [a, 20], [4, b], [7, 30]])
    assert table.record["missing"]["filled"] == {"a": {"values": 1, "by": a}, "b": {"values": 1, "by": b}}
    skewed = read_table(csv("a,b\n1,0.5\n2,1\n9,2\n,3\n"), missing=policy).values[3, 0]
    assert skewed == (4.0 if policy == "mean" else 2.0)


def test_nothing_left_after_missing_values(csv):
    """Policies that leave nothing say so; an infinite value is not missing."""
    with pytest.raises(InputError, match="every sample"):
        read_table(csv("a,b\n1,\n,2\n"), missing="drop-samples")
    with pytest.raises(InputError, match="every column"):
        read_table(csv("a,b\n1,\n,2\n"), missing="drop-features")
    with pytest.raises(InputError, match="'b' has no value at all"):
        read_table(csv("a,b\n1,\n2,\n"), columns=["a", "b"], missing="mean")
    with pytest.raises(InputError, match="is inf"):
        read_table(csv("a,b\n1,inf\n2,\n"), missing="drop-samples")


# -- how text is written -----------------------------------------------------------------------------------
def test_semicolons_and_decimal_commas(csv):
    """A table as Excel writes it in half of Europe."""
    table = read_table(csv("name;a;b\nx;1,5;2\ny;3;4,25\n"), style=Style(decimal=","))
    np.testing.assert_array_equal(table.values, [[1.5, 2], [3, 4.25]])
    assert said(table, "decimal comma")
    assert table.record["reading"] == {"decimal": ","}
    with pytest.raises(InputError, match=r"'1\.5' is not a number.*decimal point"):
        read_table(csv("a;b\n1.5;2\n3;4,5\n3;4,5\n5;6\n"), style=Style(decimal=","), columns=["a"])


@pytest.mark.parametrize("sep", ["|", "tab", "\\t", "semicolon", " "])
def test_separators(csv, sep):
    """Any one sign, or its name, separates cells."""
    sign = {"tab": "\t", "\\t": "\t", "semicolon": ";"}.get(sep, sep)
    table = read_table(csv(f"a{sign}b\n1.5{sign}2\n3{sign}4\n"), style=Style(sep=sep))
    np.testing.assert_array_equal(table.values, [[1.5, 2], [3, 4]])
    assert table.record["reading"]["sep"] == sign


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sep": "ab"}, "--sep 'ab'"),
        ({"sep": ""}, "--sep ''"),
        ({"sep": "x"}, "--sep 'x'"),
        ({"sep": '"'}, "--sep"),
        ({"sep": ",", "decimal": ","}, "decimal sign too"),
        ({"decimal": ";"}, "--decimal ';'"),
        ({"encoding": "utf-99"}, "--encoding 'utf-99' is not known"),
        ({"encoding": "hex"}, "--encoding 'hex'"),
    ],
)
def test_signs_that_make_no_sense(options, words):
    """Each is refused with the option."""
    with pytest.raises(InputError, match=words):
        Style(**options)


def test_encodings(csv):
    """A file in another encoding is read when it is named, and the error of UTF-8 suggests one."""
    path = csv("Größe,b\n1.5,2\n3,4\n".encode("latin-1"))
    assert read_table(path, style=Style(encoding="latin-1")).columns == ("Größe", "b")
    with pytest.raises(InputError, match="--encoding latin-1"):
        read_table(path)
    path = csv("a,b\n1.5,2\n3,4\n".encode("utf-16"))
    assert read_table(path, style=Style(encoding="utf-16")).columns == ("a", "b")
    with pytest.raises(InputError, match="--encoding utf-16"):
        read_table(path)
    with pytest.raises(InputError, match="not ascii"):
        read_table(csv("é,b\n1,2\n"), style=Style(encoding="ascii"))


def test_compressed_files(csv, tmp_path):
    """.gz is read like what is in it; a damaged one is refused."""
    assert read_table(csv(gzip.compress(b"a\tb\n1.5\t2\n3\t4\n"), "d.tsv.gz")).columns == ("a", "b")
    content = io.BytesIO()
    np.save(content, np.eye(3))
    assert read_table(csv(gzip.compress(content.getvalue()), "d.npy.gz")).n_samples == 3
    with pytest.raises(InputError, match="not a gzip file"):
        read_table(csv("a,b\n1,2\n", "d.csv.gz"))
    with pytest.raises(InputError, match="damaged gzip"):
        read_table(csv(gzip.compress(b"a,b\n1,2\n" * 50)[:-12], "d.csv.gz"))
    with pytest.raises(InputError, match=r"suffix '\.gz'"):
        read_table(csv(gzip.compress(b"a"), "d.ods.gz"))


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input(monkeypatch, packed):
    """- is standard input, compressed or not."""
    content = b"a;b\n1.5;2\n3;4\n"
    content = gzip.compress(content) if packed else content
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    table = read_table("-")
    assert table.columns == ("a", "b")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\n1\nx\n3\n4\n")))
    with pytest.raises(InputError, match="standard input, line 3"):
        read_table("-")


def test_options_of_text_are_for_text(tmp_path):
    """A separator for an array is refused."""
    np.save(tmp_path / "a.npy", np.eye(2))
    with pytest.raises(InputError, match="for text files"):
        read_table(tmp_path / "a.npy", style=Style(sep=";"))


# -- hints -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a;b\n1;2\n3;4\n5,5;6\n", "--decimal ,"),
        ("a;b\n1,5;2,5\n3,5;4,5\n", "--decimal ,"),
        ("1,5;2\n3;4\n5;6\n", "--decimal ,"),
        ("a;b;c\n1,5;2,5;1\n3,5;4,5;2\n", "--decimal ,"),  # c is a feature, but not the only one
        ("gene,S1,S2\nsubtype,x,y\nESR1,1,2\nGATA3,3,4\n", "--transpose"),
        ("thing,S1,S2\nsubtype,x,y\nESR1,1,2\nGATA3,3,4\n", "--transpose"),
        ("gene,S1\nA,x\nB,y\n", "--transpose"),
        ("a,b\n1,2;3\n4,5;6\n", "--sep ';'"),
    ],
)
def test_hints_where_the_cause_is_plain(csv, text, hint):
    """The error says what to type."""
    with pytest.raises(InputError) as error:
        read_table(csv(text), columns=["b"] if ";3" in text else None)
    assert hint in str(error.value)


def test_a_table_of_genes_is_a_doubt(csv):
    """Genes in rows can be clustered, but a warning tells of --transpose."""
    table = read_table(csv("gene,S1,S2\nESR1,1.5,2\nGATA3,3,4.5\nKRT5,1,2\n"))
    assert "--transpose" in table.warnings[0]


def test_frames_that_pandas_wrote(tmp_path):
    """What to_csv and read_csv do to an index does not make a feature of it."""
    frame = pd.DataFrame({"a": [1.5, 2.5, 9.0], "b": [3.0, 4.0, 1.0]})
    frame.to_csv(tmp_path / "one.csv")
    pd.read_csv(tmp_path / "one.csv").to_csv(tmp_path / "two.csv", index=False)
    for name in ("one.csv", "two.csv"):
        assert read_table(tmp_path / name).columns == ("a", "b")
