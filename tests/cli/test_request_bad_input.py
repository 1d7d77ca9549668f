"""Whatever is wrong with the input: one sentence that names the culprit, and exit code 2 or 4."""

from __future__ import annotations

import re

import numpy as np
import pytest

# arguments | exit code | what the sentence must name
USAGE = """
                                              | 2 |
solve                                         | 2 | DATA
solve data.csv                                | 2 | -k
solve data.csv -k                             | 2 | -k
solve data.csv -k two                         | 2 | 'two'
solve data.csv -k 2.5                         | 2 | '2.5'
solve data.csv -k 0  --columns a,b           | 2 | at least 1
solve data.csv -k -3 --columns a,b           | 2 | at least 1
solve data.csv -k 7  --columns a,b           | 2 | only 6 samples
solve data.csv other.csv -k 2                 | 2 | other.csv
solve data.csv -k 2 --clusters 3              | 2 | --clusters
slove data.csv -k 2                           | 2 | slove
constraints                                   | 2 |
constraints chek data.csv c.csv               | 2 | chek
constraints check data.csv                    | 2 | FILE
engines extra                                 | 2 | extra
--unknown                                     | 2 | --unknown
"""

DATA = """
solve absent.csv -k 2                         | 2 | no file 'absent.csv'
solve iriss -k 3                              | 2 | built-in data set
solve . -k 2                                  | 2 | directory
solve data.xlsx -k 2                          | 2 | data.xlsx
solve empty.csv -k 2                          | 2 | empty.csv is empty
solve header.csv -k 2                         | 2 | no samples
solve ragged.csv -k 2                         | 2 | ragged.csv, line 3
solve twice.csv -k 2                          | 2 | named 'a'
solve unnamed.csv -k 2                        | 2 | column 2 has no name
solve missing.csv -k 2                        | 2 | sample 's2' in column 'a' is missing
solve nan.csv -k 2                            | 2 | is missing
solve inf.csv -k 2                            | 2 | is inf
solve slip.csv -k 2                           | 2 | '1O' is not a number
solve texts.csv -k 2                          | 2 | no numeric column
solve latin.csv -k 2                          | 2 | not UTF-8
solve zip.csv -k 2                            | 2 | zip.csv
solve quote.csv -k 2                          | 2 | quote.csv, line
solve huge.csv -k 2                           | 2 | rescale
solve text.npy -k 2                           | 2 | not a NumPy array file
solve objects.npy -k 2                        | 2 | Python objects
solve cube.npy -k 2                           | 2 | 3 dimensions
solve nothing.npy -k 2                        | 2 | empty
solve complex.npy -k 2                        | 2 | complex
solve fake.parquet -k 2                       | 2 | fake.parquet
solve data.csv -k 2 --columns a,c             | 2 | no column 'c'
solve data.csv -k 2 --columns a,,b            | 2 | empty name
solve data.csv -k 2 --columns a,a             | 2 | 'a' twice
solve data.csv -k 2 --columns group           | 2 | 'x' is not a number
solve data.csv -k 2 --name-column ident       | 2 | no column 'ident'
solve data.csv -k 2 --name-column group       | 2 | 'x' in column 'group' stands twice
solve data.csv -k 2 --name-column label       | 2 | no name in column 'label'
solve data.csv -k 2 --name-column a --no-name-column | 2 | contradict
solve missing.csv -k 2 --missing skip         | 2 | --missing 'skip'
solve data.csv -k 2 --sep xx                  | 2 | --sep 'xx'
solve data.csv -k 2 --decimal ;               | 2 | --decimal ';'
solve data.csv -k 2 --encoding klingon        | 2 | --encoding 'klingon'
solve iris -k 3 --missing mean                | 2 | --missing is for files
solve iris -k 3 --sep ;                       | 2 | --sep is for files
solve data.csv -k 2 --pca 0                   | 2 | --pca 0
solve data.csv -k 2 --pca 9                   | 2 | --pca 9
solve data.csv -k 2 --pca two                 | 2 | 'two'
solve data.csv -k 2 --transpose               | 2 | data.csv
solve iris -k 3 --columns a                   | 2 | --columns is for files
solve iris -k 3 --pca 2                       | 2 | --pca is for files
solve iris -k 3 --transpose                   | 2 | --transpose is for files
solve iris -k 3 --standardize                 | 2 | --standardize is for files
solve iris -k 3 --name-column x               | 2 | --name-column is for files
solve iris:rows -k 3                          | 2 | option=value
solve iris:colour=red -k 3                    | 2 | colour
solve iris -k 151                             | 2 | only 150 samples
solve iris1d:n=44                             | 2 | multiple of 3
solve iris1d:n=many                           | 2 | 'many'
solve iris1d:sigma=-1                         | 2 | sigma
solve iris1d:sigma=wide                       | 2 | wide
solve mixture:separation=far                  | 2 | separation=far
solve mixture:k=0                             | 2 | k must be
solve wine:rounded=maybe                      | 2 | 'maybe'
solve iris --label-column species             | 2 | no column 'species'
"""

# All on two good columns.
MODEL = """
--variance 0                                  | 2 | variance must be positive
--variance -1                                 | 2 | variance must be positive
--variance big                                | 2 | 'big' is not a number
--variance 1,2,3                              | 2 | 2 components
--variance nan                                | 2 | not finite
--variance 1,,2                               | 2 | '' is not a number
--variance 1 --precision precision.csv        | 2 | --variance and --precision
--variance 1 --precision-from pooled          | 2 | --variance and --precision-from
--precision absent.csv                        | 2 | no file 'absent.csv'
--precision data.csv                          | 2 | data.csv
--precision wide.csv                          | 2 | 3 numbers
--precision short.csv                         | 2 | 1 rows
--precision singular.csv                      | 2 | singular
--precision indefinite.csv                    | 2 | positive definite
--precision crooked.csv                       | 2 | not symmetric
--precision words.csv                         | 2 | is not a number
--precision stack.npy                         | 2 | shape
--precision-from pooled                       | 2 | needs --class-column
--precision-from best --class-column group    | 2 | 'best'
--precision-from pooled --class-column klass  | 2 | 'klass'
--precision-from pooled --class-column label  | 2 | has only 1 sample
--precision-from pooled --class-column blank  | 2 | 'blank'
--class-column group                          | 2 | add --precision-from
--weights some                                | 2 | 'some'
--weights 0.5                                 | 2 | 2 numbers
--weights 0.2,0.3,0.5                         | 2 | 2 numbers
--weights 0.2,0.3                             | 2 | add up to 0.5
--weights 1.5,-0.5                            | 2 | positive
--weights 0.5,half                            | 2 | 'half'
--weights 1,0                                 | 2 | positive
--prior strong                                | 2 | 'strong'
--prior dirichlet                             | 2 | number is missing
--prior dirichlet=                            | 2 | number is missing
--prior dirichlet=0                           | 2 | positive
--prior dirichlet=1,2,3                       | 2 | alpha
--prior dirichlet=x                           | 2 | 'x' is not a number
--prior gaussian=1,2                          | 2 | one number
--prior gaussian=-1                           | 2 | --prior: the variance of the Gaussian prior must be positive
--prior gaussian                              | 2 | number is missing
--prior flat=1                                | 2 | takes no number
--prior jeffreys --prior dirichlet=2          | 2 | two priors
"""

RUN = """
--engine magic                                | 2 | 'magic'
--engine dynamic                              | 2 | 'dynamic' cannot solve
--engine dual --solver gurobi                 | 2 | --solver
--engine dual --branching strong              | 2 | only bnb
--branching strong                            | 2 | only bnb
--engine minlp --breakpoints 5                | 2 | only miqp
--engine hard-em --cold-start                 | 2 | minlp and miqp
--gap -1                                      | 2 | relative gap
--gap x                                       | 2 | 'x'
--gap nan                                     | 2 | relative gap
--gap inf                                     | 2 | relative gap
--absolute-gap -0.1                           | 2 | absolute gap
--time-limit -1                               | 2 | time limit
--time-limit soon                             | 2 | 'soon'
--time-limit nan                              | 2 | time limit
--node-limit -1                               | 2 | --node-limit
--node-limit 1.5                              | 2 | '1.5'
--threads 0                                   | 2 | threads
--seed -1                                     | 2 | seed
--seed x                                      | 2 | 'x'
--out data.csv                                | 2 | --out data.csv
--out data.csv/deeper                         | 2 | --out data.csv/deeper
"""

CONSTRAINTS = """
--constraints absent.csv                      | 2 | absent.csv
--constraints .                               | 2 | .
--constraints notes.doc                       | 2 | notes.doc
--label-column klass                          | 2 | 'klass'
--label-column group3                         | 2 | 3 different values
--label-column a                              | 2 | different values
--min-size -1                                 | 2 | min-size
--min-size x                                  | 2 | 'x'
--max-size -1                                 | 2 | max-size
--min-size 4                                  | 4 | --min-size
--max-size 2                                  | 4 | --max-size
--max-size 0                                  | 4 | --max-size
--min-size 3 --max-size 2                     | 4 | --max-size
--min-size 1000000                            | 4 | --min-size
"""


def cases(block: str, prefix: str = "") -> list:
    found = []
    for line in block.strip("\n").splitlines():
        arguments, code, culprit = (part.strip() for part in line.split("|"))
        found.append(
            pytest.param(f"{prefix} {arguments}".strip(), int(code), culprit, id=arguments or "nothing")
        )
    return found


BASE = "solve data.csv -k 2 --columns a,b"
ALL = (
    cases(USAGE)
    + cases(DATA)
    + cases(MODEL, BASE)
    + cases(RUN, BASE)
    + cases(CONSTRAINTS, f"{BASE} --variance 1")
)


def test_there_are_more_than_a_hundred_kinds():
    """The promise is a hundred kinds of bad input."""
    assert len({case.values[0] for case in ALL}) > 100


@pytest.fixture
def wrong_files(files):
    """One file for each thing that can be wrong with one."""
    texts = {
        "data.xlsx": "a",
        "empty.csv": "",
        "header.csv": "a,b\n",
        "ragged.csv": "a,b\n1,2\n3\n",
        "twice.csv": "a,a\n1,2\n",
        "unnamed.csv": "a,,b\n1,2,3\n",
        "missing.csv": "id,a\ns1,1\ns2,\ns3,2\n",
        "nan.csv": "a,b\n1,nan\n2,3\n",
        "inf.csv": "a,b\n1,inf\n2,3\n",
        "slip.csv": "a\n1\n2\n1O\n",
        "texts.csv": "a,b\nu,v\nu,w\n",
        "quote.csv": 'a,b\n1,"2\n3,4\n',
        "huge.csv": "a\n1e200\n2\n",
        "constant.csv": "a,b\n1,2\n1,3\n1,4\n",
        "one.csv": "a,b\n1,2\n",
        "text.npy": "a,b\n1,2\n",
        "fake.parquet": "PAR1",
        "wide.csv": "1,0,0\n0,1,0\n0,0,1\n",
        "short.csv": "1,0\n",
        "singular.csv": "1,1\n1,1\n",
        "indefinite.csv": "1,0\n0,-1\n",
        "crooked.csv": "1,0.5\n0,1\n",
        "words.csv": "1,0\n0,one\n",
        "notes.doc": "must-link s1 s2",
    }
    for name, text in texts.items():
        (files / name).write_text(text)
    (files / "latin.csv").write_bytes(b"a,b\n1,\xe9\n")
    (files / "zip.csv").write_bytes(b"PK\x03\x04\0\0\0")
    np.save(files / "objects.npy", np.array([{}, 1], dtype=object), allow_pickle=True)
    np.save(files / "cube.npy", np.zeros((2, 2, 2)))
    np.save(files / "nothing.npy", np.zeros((0, 2)))
    np.save(files / "complex.npy", np.array([1j, 2.0]))
    np.save(files / "stack.npy", np.array([np.eye(2)] * 3))
    rows = (files / "data.csv").read_text().splitlines()
    extra = ["group3,blank"] + [f"{'uvw'[i % 3]}," for i in range(6)]
    (files / "data.csv").write_text("\n".join(f"{row},{more}" for row, more in zip(rows, extra, strict=True)))


@pytest.mark.parametrize(("arguments", "code", "culprit"), ALL)
@pytest.mark.usefixtures("wrong_files")
def test_bad_input_is_refused_in_one_sentence(certmix, arguments, code, culprit):
    """The exit code is right, the culprit is named, no result is printed, and there is no traceback."""
    answer = certmix(*arguments.split())
    assert answer.code == code
    assert "Traceback" not in answer.err + answer.out
    assert culprit in answer.err
    if code == 2 and culprit:
        assert answer.out == ""
        assert re.fullmatch(r"(note: .*\n|warning: .*\n)*certmix: error: .*\n", answer.err)
