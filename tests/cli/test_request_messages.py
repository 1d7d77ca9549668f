"""Messages name what was typed: the option, the file, the line, the sample."""

from __future__ import annotations

import numpy as np
import pytest

import certmix as package
from certmix import InputError, Problem
from certmix.cli.main import run

TABLE = "name,a,b\nS1,0,1\nS2,0.1,1.2\nS3,5,5\nS4,5.1,5.2\nS5,9,1\n"


@pytest.fixture
def refused(tmp_path, monkeypatch, capsys):
    """The sentence with which a command on a small table is refused."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.csv").write_text(TABLE)

    def call(command: str) -> str:
        assert run(command.split()) == 2
        return capsys.readouterr().err.splitlines()[-1]

    return call


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("-k 0", "-k must be at least 1, not 0"),
        ("-k 9", "-k is 9 but there are only 5 samples"),
        ("-k 2 --variance 0", "--variance must be positive"),
        ("-k 2 --variance 1,2,3", "--variance must be one number, or one for each of the 2 components"),
        ("-k 2 --weights 0.5,0.6", "--weights must add up to 1"),
        ("-k 2 --prior gaussian=0", "--prior: the variance of the Gaussian prior must be positive, not 0"),
        ("-k 2 --engine duel", "unknown engine 'duel'; did you mean 'dual'?"),
        ("-k 2 --time-limit -1", "--time-limit: the time limit must be a number of seconds >= 0"),
        ("-k 2 --node-limit -1", "--node-limit must be a whole number >= 0"),
        ("-k 2 --gap -1", "--gap: the relative gap"),
        ("-k 2 --memory-limit much", "--memory-limit: the memory limit must be"),
        ("-k 2 --variance-range 2,1", "--variance-range: "),
        ("-k 2 --weight-column w", "--weight-column: d.csv has no column 'w'"),
        ("-k 2 --class-column w --precision-from pooled", "--class-column: d.csv has no column 'w'"),
        ("-k 2 --weight-column a --variance 1", "--weight-column: S1 has weight 0;"),
        ("-k 2 --weights none --noise-max 5", "--noise-max: noise costs nothing in k-means"),
        ("-k 2 --noise auto", "--noise: with noise the variance must be known"),
        ("-k 2 --branching stron", "unknown branching rule 'stron'; did you mean 'strong'?"),
        ("-k 2 --precision-from pool --class-column a", "'pool'; did you mean 'pooled'?"),
        ("-k 2 --varience 1", "--variance"),
    ],
)
def test_an_option_is_named_as_it_was_typed(refused, options, sentence):
    """The message speaks of -k, not of n_components, and of what was probably meant."""
    assert sentence in refused(f"solve d.csv {options}")


def test_values_beyond_arithmetic_are_named(refused, tmp_path):
    """The sample and the column of a value that is too large; for k-means data that hardly differ, too."""
    (tmp_path / "e.csv").write_text(TABLE.replace("5.1,5.2", "5.1,1e300"))
    assert "S4, column 'b': the value is 1e+300" in refused("solve e.csv -k 2")
    assert "column 'b' holds a value of size 1e+300" in refused("solve e.csv -k 2 --standardize")
    (tmp_path / "f.csv").write_text("a\n1e-300\n2e-300\n5e-300\n")
    assert "differ by 4e-300 at most" in refused("kmeans f.csv -k 2")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('n,a\nx,"1,200"\ny,"5,000"\n', "take the comma between thousands out"),
        ("n;a\nx;0,5\ny;5,25\n", "is it a decimal comma? add --decimal ,"),
        ("a|b\n1|2\n3|4\n", "are the cells separated by '|'? add --sep '|'"),
        ("a b\n1 2\n3 4\n", "are the cells separated by space? add --sep space"),
    ],
)
def test_how_numbers_may_be_written(refused, tmp_path, text, hint):
    """What looks like numbers that are written otherwise is said, with what to do."""
    (tmp_path / "e.csv").write_text(text)
    assert hint in refused("solve e.csv -k 2")


@pytest.mark.parametrize("command", ["report none", "verify none d.csv"])
def test_a_folder_that_is_not_there(refused, command):
    """It is not called damaged."""
    assert "there is no file 'none.json'" in refused(command)


def test_a_built_in_set_that_does_not_exist(refused):
    """The one that was probably meant is named."""
    assert "did you mean 'iris" in refused("solve iriss")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("must-link,S1;S1,,", "must-link (line 3): S1 stands twice"),
        ("implication,S1;S1,0,", "implication (line 3): S1 stands twice"),
        ("label,S1,7,", "label (line 3): there is no component 7; components are 0 to 2"),
        ("max-size,,7,3", "max-size (line 3): there is no component 7"),
        ("label,S1,0,,x", "c.csv, line 3: 5 cells"),
    ],
)
def test_a_line_of_a_constraints_file(refused, tmp_path, line, sentence):
    """Lines count as an editor counts them, header and comments included; what makes no sense is refused."""
    (tmp_path / "c.csv").write_text(f"type,samples,component,limit\n# a comment\n{line}\n")
    assert sentence in refused("constraints check d.csv c.csv -k 3")


def test_folders_are_not_made_unasked(refused, tmp_path):
    """A model file or a result in a folder that is not there is an error, and the folder is still not there."""
    assert "there is no folder 'nosuch'" in refused("export d.csv -k 2 --variance 1 -o nosuch/m.lp")
    result = package.solve(Problem(np.arange(4.0), 2, variance=1.0))
    with pytest.raises(InputError, match="there is no folder"):
        result.save(tmp_path / "nosuch" / "run")
    assert not (tmp_path / "nosuch").exists()


def test_solve_takes_a_problem():
    """Data instead of a problem: the message shows how to make one."""
    with pytest.raises(
        InputError, match=r"takes a Problem, not a ndarray; did you mean solve\(Problem\(data"
    ):
        package.solve(np.zeros((3, 2)))  # type: ignore[arg-type]


def test_a_path_is_not_data():
    """The name of a file instead of its content: the message says how to read it."""
    with pytest.raises(
        InputError, match=r"'x.csv' is a text, not data; read the file first: pandas.read_csv"
    ):
        Problem("x.csv", 2, variance=1.0)
