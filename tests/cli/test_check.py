"""Constraint files on the command line: obeyed, checked, and explained when they contradict each other."""

from __future__ import annotations

import re

import pytest

SMALL = "solve data.csv -k 2 --columns a,b --variance 0.5 --engine enumerate --constraints"
CHECK = "constraints check data.csv {} -k 2 --columns a,b"


@pytest.fixture
def write(files):
    """Write a constraints file and return its name."""

    def put(text: str, name: str = "c.csv") -> str:
        if name.endswith(".csv"):
            text = "type,samples,component,limit\n" + text
        (files / name).write_text(text)
        return name

    return put


def test_a_csv_file_is_obeyed(certmix, write):
    """Links by sample name hold in the result, and each is listed with its line."""
    name = write("must-link,s1;s3,,\ncannot-link,s1;s2,,\n")
    answer = certmix(f"{SMALL} {name} --json")
    labels = dict(zip(answer.json["names"], answer.json["labels"], strict=True))
    assert labels["s1"] == labels["s3"] != labels["s2"]
    assert [c["source"] for c in answer.json["constraints"]] == ["line 2", "line 3"]
    assert all(c["satisfied"] for c in answer.json["constraints"])


def test_a_toml_file_is_obeyed(certmix, write):
    """The TOML form does the same."""
    name = write('must-link = [["s1", "s3"]]\nmin-size = 2\n', "c.toml")
    answer = certmix(f"{SMALL} {name} --json")
    assert answer.json["labels"][0] == answer.json["labels"][2]
    assert min(answer.json["sizes"]) >= 2


def test_a_column_of_the_data_can_be_named(certmix, write):
    """same-value links samples by a text column that is no feature."""
    answer = certmix(f"{SMALL} {write('same-value,group,,')} --json")
    labels = answer.json["labels"]
    assert labels[0] == labels[1] == labels[4]
    assert labels[2] == labels[3] == labels[5]


def test_names_of_components_come_from_the_file(certmix, write):
    """Components that the file calls by name are called so in the result."""
    name = write("label,s1,tall,\nlabel,s3,small,\npacking,s2;s5,tall,1\n")
    answer = certmix(f"{SMALL} {name} --json")
    assert answer.json["component_names"] == ["small", "tall"]
    assert answer.json["labels"][0] == 1
    assert answer.json["labels"][2] == 0
    assert [answer.json["labels"][i] for i in (1, 4)].count(1) <= 1


def test_labels_that_count_from_one_are_names(certmix, write):
    """Labels 1 and 2 of two components name them, in order."""
    answer = certmix(f"{SMALL} {write('label,s1,1,')}")
    assert answer.code == 0
    name = write("label,s1,1,\nlabel,s3,2,")
    answer = certmix(f"{SMALL} {name} --json")
    assert answer.json["component_names"] == ["1", "2"]


CONTRADICTIONS = {
    "together and apart": ("must-link,s1;s2,,\ncannot-link,s1;s2,,\n", ["s1", "s2", "line 2", "line 3"]),
    "by a detour": (
        "must-link,s1;s2,,\nmust-link,s2;s3,,\ncannot-link,s1;s3,,\n",
        ["line 2", "line 3", "line 4"],
    ),
    "two labels": ("label,s1,0,\nlabel,s1,1,\n", ["s1", "line 2", "line 3"]),
    "linked labels": ("must-link,s1;s2,,\nlabel,s1,0,\nlabel,s2,1,\n", ["line 2", "line 3", "line 4"]),
    "three apart in two": ("cannot-link,s1;s2;s3,,\n", ["line 2"]),
    "too large": ("min-size,,,4\n", ["line 2"]),
    "too small": ("max-size,,,2\n", ["line 2"]),
    "group over the limit": ("must-link,s1;s2;s3;s4,,\nmax-size,,,3\n", ["line 2", "line 3"]),
    "cover what is packed": ("packing,s1;s2,0,1\ncovering,s1;s2,0,2\n", ["line 2", "line 3"]),
    "cover more than there are": ("covering,s1;s2,0,3\n", ["line 2"]),
    "partition against labels": ("label,s1,0,\npartitioning,s1;s2,0,0\n", ["line 2", "line 3"]),
    "implied label": ("label,s1,0,\nimplication,s1;s2,0,\nlabel,s2,1,\n", ["line 2", "line 3", "line 4"]),
}


@pytest.mark.parametrize(("text", "named"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_contradictions_are_explained(certmix, write, text, named):
    """Exit code 4, and the explanation names the lines (and no others)."""
    name = write(f"{text}must-link,s5;s6,,\n")  # the last line is innocent
    answer = certmix(f"{SMALL} {name} --quiet")
    assert answer.code == 4
    assert "Traceback" not in answer.err
    rows = {
        int(n) for group in re.findall(r"lines? ([\d, and]+)", answer.err) for n in re.findall(r"\d+", group)
    }
    assert rows == {int(words[5:]) for words in named if words.startswith("line ")}
    for sample in (words for words in named if not words.startswith("line ")):
        assert re.search(rf"\b{sample}\b", answer.err)


WRONG = {
    "unknown type": ("must-lnik,s1;s2,,\n", "did you mean 'must-link'"),
    "no type": (",s1;s2,,\n", "line 2"),
    "unknown sample": ("must-link,s1;s9,,\n", "'s9'"),
    "unknown component": ("packing,s1;s2,5,1\n", "no component 5"),
    "too many component names": ("label,s1,u,\nlabel,s2,v,\nlabel,s3,w,\n", "3 different values"),
    "one sample": ("must-link,s1,,\n", "at least 2"),
    "itself": ("cannot-link,s1;s1,,\n", "s1"),
    "no limit": ("min-size,,,\n", "needs a limit"),
    "half a limit": ("min-size,,,1.5\n", "1.5"),
    "negative limit": ("max-size,,,-2\n", "-2"),
    "text limit": ("packing,s1;s2,0,few\n", "few"),
    "limit too many": ("must-link,s1;s2,,3\n", "takes no limit"),
    "component too many": ("must-link,s1;s2,1,\n", "takes no component"),
    "no component": ("label,s1,,\n", "needs a component"),
    "empty name": ("must-link,s1;;s2,,\n", "missing"),
    "unknown column": ("same-value,batch,,\n", "'batch'"),
    "samples by commas": ("must-link,s1,s2,s3,s4\n", "semicolons"),
    "sample twice": ("packing,s1;s1,0,1\n", "twice"),
    "open quote": ('must-link,"s1;s2,,\n', "quot"),
}
WRONG_TOML = {
    "not TOML": ("must-link = [[\n", "TOML"),
    "unknown key": ("mustlink = [['s1', 's2']]\n", "mustlink"),
    "no list": ("must-link = 's1'\n", "must-link"),
    "no table": ("label = 3\n", "label"),
    "text size": ("min-size = 'few'\n", "few"),
    "unknown entry": ("[[constraint]]\ntype = 'must-link'\nsample = ['s1', 's2']\n", "'sample'"),
}
CASES = [(text, culprit, "c.csv") for text, culprit in WRONG.values()]
CASES += [(text, culprit, "c.toml") for text, culprit in WRONG_TOML.values()]


@pytest.mark.parametrize(("text", "culprit", "name"), CASES, ids=[*WRONG, *WRONG_TOML])
@pytest.mark.parametrize("command", ["solve", "check"])
def test_wrong_files_are_refused(certmix, write, text, culprit, name, command):
    """Exit code 2 and one sentence that names the culprit, from solve and from check."""
    write(text, name)
    answer = certmix(f"{SMALL} {name} --quiet" if command == "solve" else CHECK.format(name))
    assert answer.code == 2
    assert culprit in answer.err
    assert answer.err.count("\n") == 1
    assert answer.out == ""


def test_check_lists_the_constraints_in_words(certmix, write):
    """`certmix constraints check` says every constraint in words and that they can hold together."""
    answer = certmix(CHECK.format(write("must-link,s1;s2,,\nmin-size,,,2\n")))
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert lines[0] == "s1 and s2 must be together (line 2)"
    assert lines[1] == "every component has at least 2 samples (line 3)"
    assert "2 constraints can hold together" in lines[-1]


def test_check_explains_a_contradiction(certmix, write):
    """The same explanation and exit code as solve."""
    answer = certmix(CHECK.format(write("must-link,s1;s2,,\ncannot-link,s2;s1,,\n")))
    assert answer.code == 4
    assert "infeasible" in answer.err


def test_soft_links_are_broken_at_a_cost_that_is_said(certmix, write):
    """A link with a penalty may be broken; JSON and summary say which, and that it is paid for."""
    name = write(
        '[[constraint]]\ntype = "must-link"\nsamples = ["s1", "s2"]\npenalty = 0.25\n'
        '[[constraint]]\ntype = "cannot-link"\nsamples = ["s1", "s2"]\npenalty = 100\n',
        "soft.toml",
    )
    answer = certmix(f"{SMALL} {name} --json")
    assert [(c["satisfied"], c["penalty"]) for c in answer.json["constraints"]] == [
        (False, 0.25),
        (True, 100.0),
    ]
    assert "1 broken for 0.25" in certmix(f"{SMALL} {name}").out


def test_soft_links_that_contradict_each_other_are_not_said_to_hold_together(certmix, write):
    """They may be broken, which is what the answer says of them."""
    links = [
        f'[[constraint]]\ntype = "{t}-link"\nsamples = ["s1", "s2"]\npenalty = 1\n'
        for t in ("must", "cannot")
    ]
    out = certmix(CHECK.format(write("".join(links), "soft.toml"))).out
    assert "hold together" not in out
    assert "2 soft links have a penalty and may be broken" in out
