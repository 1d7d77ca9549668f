"""Reading data files: what becomes a feature, what a name, and what is said when something is wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from certmix.errors import InputError
from certmix.io import grid
from certmix.io.matrices import read_matrix
from certmix.io.tables import read_table


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.fixture
def csv(tmp_path: Path):
    """Write a CSV file and return its path."""
    return lambda text, name="data.csv": write(tmp_path / name, text)


def test_text_that_all_differs_in_the_first_column_names_the_samples(csv):
    """Distinct texts in the first column name the samples, other texts are kept out, and both are said."""
    table = read_table(csv("id,a,b,species\ns1,1,2,x\ns2,3,4,y\ns3,5,7,x\n"))
    assert table.names == ("s1", "s2", "s3")
    assert table.columns == ("a", "b")
    np.testing.assert_array_equal(table.values, [[1, 2], [3, 4], [5, 7]])
    assert list(table.column("species", "--label-column")) == ["x", "y", "x"]
    assert any("'id' names the samples" in note for note in table.notes)
    assert any("left out" in note and "'species'" in note for note in table.notes)


def test_repeated_text_in_the_first_column_is_no_name(csv):
    """A first column with repeated texts is a class, not a name."""
    table = read_table(csv("group,a\nx,1\nx,2\ny,3\n"))
    assert table.names is None
    assert table.columns == ("a",)


def test_pandas_index_without_heading_is_the_name_even_when_numeric(csv, tmp_path):
    """The index that DataFrame.to_csv writes under a blank heading never becomes a feature."""
    frame = pd.DataFrame({"a": [1.0, 2.5], "b": [3.0, 4.0]}, index=[10, 20])
    frame.to_csv(tmp_path / "frame.csv")
    table = read_table(tmp_path / "frame.csv")
    assert table.names == ("10", "20")
    assert table.columns == ("a", "b")


def test_name_column_by_name_keeps_the_text_as_written(csv):
    """An asked-for name column may be numeric and keeps its leading zeros."""
    table = read_table(csv("a,code\n1,007\n2,008\n"), name_column="code")
    assert table.names == ("007", "008")
    assert table.columns == ("a",)


def test_columns_are_taken_in_the_order_asked_for(csv):
    """--columns chooses and orders the features."""
    table = read_table(csv("a,b,c\n1,2,3\n4,5,7\n"), columns=["c", "a"])
    assert table.columns == ("c", "a")
    np.testing.assert_array_equal(table.values, [[3, 1], [7, 4]])


def test_columns_with_another_role_are_no_features(csv):
    """A label or class column is left out although it is numeric; missing labels are NaN."""
    table = read_table(csv("a,label\n1,0\n2,\n3,1\n"), leave_out=["label"])
    assert table.columns == ("a",)
    np.testing.assert_array_equal(table.column("label", "x"), [0, np.nan, 1])


def test_numbers_in_the_first_row_mean_no_header(csv):
    """A file without header keeps its first sample, and says so."""
    table = read_table(csv("1.5,2\n3,4\n"))
    assert table.n_samples == 2
    assert table.columns == ("x0", "x1")
    assert any("no names" in note for note in table.notes)


def test_counting_header_of_a_nameless_frame_is_a_header(csv, tmp_path):
    """The header 0,1,2 that pandas writes for a frame without column names is not data."""
    pd.DataFrame(np.eye(3)).to_csv(tmp_path / "frame.csv", index=False)
    assert read_table(tmp_path / "frame.csv").n_samples == 3


def test_header_can_be_forced(csv):
    """--header and --no-header overrule the guess."""
    assert read_table(csv("2001,2005\n3,4\n5,6\n"), header=True).columns == ("2001", "2005")
    assert read_table(csv("0,1\n3,4\n"), header=False).n_samples == 2


def test_tabs_semicolons_and_byte_order_mark(csv):
    """TSV files, semicolons and a byte order mark are read as what they are."""
    assert read_table(csv("a\tb\n1\t2\n3\t5\n", "t.tsv")).columns == ("a", "b")
    assert read_table(csv("a\tb\n1\t2\n3\t5\n", "t.txt")).columns == ("a", "b")
    assert read_table(csv("a;b\n1;2\n3;5\n")).columns == ("a", "b")
    assert read_table(csv(b"\xef\xbb\xbfa,b\n1,2\n3,5\n")).columns == ("a", "b")


def test_transposed_file_has_samples_in_columns(csv):
    """--transpose turns genes x samples into samples x genes, with the header naming the samples."""
    table = read_table(csv("gene\tS1\tS2\tS3\nESR1\t1\t2\t3\nGATA3\t4\t5\t7\n", "g.tsv"), transpose=True)
    assert table.names == ("S1", "S2", "S3")
    assert table.columns == ("ESR1", "GATA3")
    np.testing.assert_array_equal(table.values, [[1, 4], [2, 5], [3, 7]])


def test_transposed_text_row_becomes_a_text_column(csv):
    """A row of subtypes in a transposed file is available as a column."""
    table = read_table(csv("g,S1,S2,S3\nsubtype,x,,y\nESR1,1,2,3\n"), transpose=True, leave_out=["subtype"])
    assert table.columns == ("ESR1",)
    assert list(table.column("subtype", "x")) == ["x", "", "y"]


def test_npy_of_one_and_two_dimensions(tmp_path):
    """NPY files hold a table, or one feature."""
    np.save(tmp_path / "a.npy", np.arange(6).reshape(3, 2))
    np.save(tmp_path / "b.npy", np.array([1.0, 2.0, 4.0], dtype=np.float32))
    assert read_table(tmp_path / "a.npy").values.shape == (3, 2)
    assert read_table(tmp_path / "a.npy", transpose=True).values.shape == (2, 3)
    assert read_table(tmp_path / "b.npy").values.tolist() == [[1.0], [2.0], [4.0]]


def test_structured_npy_has_named_columns(tmp_path):
    """A structured array brings its field names."""
    np.save(tmp_path / "s.npy", np.array([(1.0, "u"), (2.0, "v")], dtype=[("a", float), ("g", "U1")]))
    table = read_table(tmp_path / "s.npy", leave_out=["g"])
    assert table.columns == ("a",)
    assert table.column("g", "x") == ["u", "v"]


def test_parquet_keeps_index_and_types(tmp_path):
    """A Parquet file written by pandas brings its index as names and its texts as texts."""
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": [1.0, 2.0], "g": ["u", None]}, index=["s1", "s2"])
    frame.to_parquet(tmp_path / "f.parquet")
    table = read_table(tmp_path / "f.parquet", leave_out=["g"])
    assert table.names == ("s1", "s2")
    assert table.columns == ("a",)


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    """Without pyarrow the error names the package."""
    path = write(tmp_path / "f.parquet", b"PAR1")
    monkeypatch.setattr(grid, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"needs pyarrow.*certmix\[parquet\]"):
        read_table(path)


def test_standardize_and_back(csv):
    """Standardised columns have mean 0 and variance 1, and means map back exactly."""
    table = read_table(csv("a,b\n1,10\n2,30\n6,20\n"), standardize=True)
    np.testing.assert_allclose(table.values.mean(axis=0), 0, atol=1e-15)
    np.testing.assert_allclose(table.values.std(axis=0), 1)
    assert table.transform is not None
    np.testing.assert_allclose(table.transform.invert(table.values), [[1, 10], [2, 30], [6, 20]])


def test_a_constant_column_becomes_zeros(csv):
    """Standardising leaves nothing of a constant column, also of one whose mean rounds, and it maps back."""
    table = read_table(csv("a,flat\n1,0.1\n2,0.1\n6,0.1\n"), standardize=True)
    np.testing.assert_array_equal(table.values[:, 1] == table.values[0, 1], True)
    np.testing.assert_allclose(table.values[:, 1], 0, atol=1e-15)
    np.testing.assert_allclose(table.transform.invert(table.values)[:, 1], 0.1)


def test_principal_components_and_back(csv):
    """All principal components keep distances and map back; one component explains what its variance says."""
    rows = np.random.default_rng(3).normal(size=(8, 3)) * [3, 1, 0.2]
    text = "a,b,c\n" + "\n".join(",".join(map(repr, map(float, row))) for row in rows)
    full = read_table(csv(text), pca=3)
    np.testing.assert_allclose(full.transform.invert(full.values), rows, atol=1e-12)
    one = read_table(csv(text), pca=1)
    assert one.columns == ("PC1",)
    share = np.linalg.eigvalsh(np.cov(rows.T))[::-1]
    assert one.transform.explained == pytest.approx(share[0] / share.sum())
    np.testing.assert_allclose(one.values[:, 0], full.values[:, 0])


WRONG = {
    "absent": (None, "no file"),
    "empty": ("", "is empty"),
    "blank lines only": ("\n\n  \n", "is empty"),
    "header only": ("a,b\n", "header but no samples"),
    "short row": ("a,b\n1,2\n3\n", r"line 3: it has 1 cells, but the first line has 2"),
    "long row": ("a,b\n1,2\n\n3,4,5\n", r"line 4: it has 3 cells, but the first line has 2"),
    "two columns of one name": ("a,b,a\n1,2,3\n", "named 'a' \\(1 and 3\\)"),
    "column without name": ("a,,b\n1,2,3\n", "column 2 has no name"),
    "missing value": ("id,a\ns1,1\ns2,\n", r"line 3: the value of sample 's2' in column 'a' is missing"),
    "two missing values": ("a,b\n1,NA\n2,\n5,6\n", r"2 such values in all"),
    "infinite value": ("a,b\n1,2\ninf,3\n", r"line 3: the value of sample 1 in column 'a' is inf"),
    "slip of the pen": ("a,b\n1,2\n3,4\n5,6o\n", r"line 4, column 'b': '6o' is not a number"),
    "decimal comma": ('a,b\n1,2\n3,4\n"5,5",6\n', r"line 4, column 'a': '5,5' is not a number"),
    "no numbers": ("a,b\nu,v\nu,w\n", "no numeric column"),
    "not UTF-8": (b"a,b\n1,2\n" + b"\xe9,3\n", r"line 3: byte 0xe9 is not UTF-8"),
    "UTF-16": ("a,b\n1,2\n".encode("utf-16"), "not UTF-8"),
    "binary": (b"PK\x03\x04\x00\x00a,b\n", "not text"),
    "open quote": ('a,b\n1,"2\n3,4\n', r"line 3: unexpected end of data"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_wrong_files_name_line_and_column(tmp_path, text, message):
    """Every kind of wrong file gives an InputError that names the file and the place."""
    path = tmp_path / "data.csv"
    if text is not None:
        write(path, text)
    with pytest.raises(InputError, match=message) as caught:
        read_table(path)
    assert "data.csv" in str(caught.value)


WRONG_CHOICES = {
    "unknown column": ({"columns": ["a", "bb"]}, "--columns: .*no column 'bb'"),
    "unknown column with a near name": ({"columns": ["widht"]}, "did you mean 'width'"),
    "text column": ({"columns": ["species"]}, "line 2, column 'species': 'x' is not a number"),
    "column twice": ({"columns": ["a", "a"]}, "'a' twice"),
    "no column": ({"columns": []}, "names no column"),
    "unknown name column": ({"name_column": "id"}, "--name-column: .*no column 'id'"),
    "repeated names": (
        {"name_column": "species"},
        "'x' in column 'species' stands twice \\(line 2 and line 4\\)",
    ),
    "unknown label column": ({"leave_out": ["klass"]}, "no column 'klass'"),
    "blank names": ({"name_column": "blank"}, "line 3: the sample has no name"),
    "no principal component": ({"pca": 0, "columns": ["a"]}, "--pca 0"),
    "too many principal components": ({"pca": 3, "columns": ["a", "width"]}, "between 1 and 2"),
    "dependent columns": ({"pca": 2, "columns": ["a", "double"]}, "only 1 independent"),
}


@pytest.mark.parametrize(("options", "message"), WRONG_CHOICES.values(), ids=WRONG_CHOICES)
def test_wrong_choices_name_the_option(csv, options, message):
    """Every wrong choice of columns gives an InputError that names the column or the option."""
    path = csv("a,width,species,blank,flat,double\n1,5,x,p,1,2\n2,7,y,,1,4\n4,6,x,q,1,8\n")
    with pytest.raises(InputError, match=message):
        read_table(path, **options)


def test_wrong_kinds_of_files(tmp_path):
    """Directories, unknown suffixes and damaged or unsuitable binary files are told apart."""
    with pytest.raises(InputError, match="is a directory"):
        read_table(tmp_path)
    with pytest.raises(InputError, match=r"suffix '\.ods'"):
        read_table(write(tmp_path / "a.ods", "a"))
    with pytest.raises(InputError, match=r"no file .*/date\.csv'; did you mean '.*/data\.csv'"):
        read_table(write(tmp_path / "data.csv", "a").with_name("date.csv"))
    with pytest.raises(InputError, match="not a NumPy array file"):
        read_table(write(tmp_path / "a.npy", "a,b\n1,2\n"))
    with pytest.raises(InputError, match=r"cannot be opened|no file"):
        read_table("a\0.csv")
    for name, array, message in (
        ("o", np.array([{}, 1], dtype=object), "Python objects"),
        ("c", np.array([1j, 2]), "complex128"),
        ("t", np.array(["u", "v"]), "real numbers"),
        ("e", np.empty((0, 3)), "empty"),
        ("d", np.zeros((2, 2, 2)), "3 dimensions"),
    ):
        np.save(tmp_path / f"{name}.npy", array, allow_pickle=True)
        with pytest.raises(InputError, match=message):
            read_table(tmp_path / f"{name}.npy")


def test_damaged_parquet(tmp_path):
    """A file that only pretends to be Parquet is refused."""
    pytest.importorskip("pyarrow")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        read_table(write(tmp_path / "f.parquet", b"PAR1 nonsense"))


def test_excel(tmp_path):
    """The first sheet of a workbook, with its index as names; a damaged file is refused."""
    pytest.importorskip("openpyxl")
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3, 4], "g": ["u", None]}, index=["s1", "s2"])
    with pd.ExcelWriter(tmp_path / "f.xlsx") as book:
        frame.to_excel(book, sheet_name="cells")
        frame.to_excel(book, sheet_name="other")
    table = read_table(tmp_path / "f.xlsx")
    assert table.names == ("s1", "s2")
    assert table.columns == ("a", "b")
    assert table.values.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert any("2 sheets" in note and "'cells'" in note for note in table.notes)
    with pytest.raises(InputError, match="cannot be read as an Excel file"):
        read_table(write(tmp_path / "g.xlsx", b"PK\x03\x04 nonsense"))


def test_matrix_with_and_without_names(tmp_path):
    """A matrix file may be bare, have a header, or have names on both sides."""
    expected = [[2.0, 0.5], [0.5, 1.0]]
    for text in ("2,0.5\n0.5,1\n", "a,b\n2,0.5\n0.5,1\n", ",a,b\na,2,0.5\nb,0.5,1\n"):
        assert read_matrix(write(tmp_path / "m.csv", text), ["a", "b"]).tolist() == expected
    np.save(tmp_path / "m.npy", np.array([expected] * 3))
    assert read_matrix(tmp_path / "m.npy", ["a", "b"]).shape == (3, 2, 2)


WRONG_MATRICES = {
    "names in another order": ("b,a\n1,0\n0,1\n", "header .* does not name"),
    "rows in another order": (",a,b\nb,1,0\na,0,1\n", "first column .* does not name"),
    "too wide": ("1,0,0\n0,1,0\n0,0,1\n", "line 1: 3 numbers, but the data have 2 features"),
    "too short": ("1,0\n", "1 rows of numbers, but the data have 2"),
    "not a number": ("1,0\n0,one\n", "line 2, column 2: 'one' is not a number"),
    "empty": ("", "empty"),
}


@pytest.mark.parametrize(("text", "message"), WRONG_MATRICES.values(), ids=WRONG_MATRICES)
def test_wrong_matrices(tmp_path, text, message):
    """Every wrong matrix file is refused with the place that is wrong."""
    with pytest.raises(InputError, match=message):
        read_matrix(write(tmp_path / "m.csv", text), ["a", "b"])


@pytest.mark.filterwarnings("error")
def test_a_signalling_nan_is_a_missing_value(tmp_path: Path) -> None:
    """Casting one makes NumPy warn; it is refused like any other NaN, by its row."""
    values = np.ones((3, 2), dtype="<f4")
    values.view("<u4")[1, 0] = 0xFFA1F955
    np.save(tmp_path / "data.npy", values)
    with pytest.raises(InputError, match="row 1: the value of sample 1 in column 'x0' is missing"):
        read_table(tmp_path / "data.npy")
