"""``--weight-column``: rows that stand for several samples."""

from __future__ import annotations

import csv

import pytest

DATA = "id,a,n\ns1,0.0,2\ns2,0.5,1\ns3,4.0,3\ns4,4.5,1\ns5,9.0,2\n"


@pytest.fixture
def weighted(files):
    (files / "weighted.csv").write_text(DATA)
    rows = list(csv.reader(DATA.splitlines()))[1:]
    lines = [f"{name}.{c},{a}" for name, a, n in rows for c in range(int(n))]
    (files / "copies.csv").write_text("\n".join(["id,a", *lines, ""]))
    links = [f"must-link,{name}.0;{name}.{c},," for name, _, n in rows for c in range(1, int(n))]
    (files / "links.csv").write_text("\n".join(["type,samples,component,limit", *links, ""]))
    return files


@pytest.mark.parametrize("command", ["kmeans", "solve --variance 1", "solve"])
def test_weights_are_copies(certmix, weighted, command):
    """The same numbers as the file with copies and links between them, and one label for each row."""
    own = certmix(f"{command} weighted.csv -k 2 --weight-column n --max-size 6 --json -q").json
    copies = certmix(f"{command} copies.csv -k 2 --constraints links.csv --max-size 6 --json -q").json
    for key in ("objective", "lower_bound", "sizes", "means", "status"):
        assert own[key] == copies[key], key
    assert own["names"] == ["s1", "s2", "s3", "s4", "s5"]
    assert own["labels"] == [copies["labels"][i] for i in (0, 2, 3, 6, 7)]
    assert own["sample_weight"] == [2, 1, 3, 1, 2]
    assert own["n_samples"] == 5


def test_files_and_their_check(certmix, weighted):
    """The certificate is about the copies, which the same option makes again."""
    assert certmix("kmeans weighted.csv -k 2 --weight-column n --out run -q").code == 0
    with (weighted / "run/assignments.csv").open() as stream:
        assert len(list(csv.reader(stream))) == 6
    assert certmix("verify run weighted.csv --weight-column n --weights none").code == 0
    assert certmix("verify run weighted.csv --weights none").code == 1
    again = certmix(
        "kmeans weighted.csv -k 2 --weight-column n --start run/assignments.csv --engine hard-em --json -q"
    )
    assert again.json["sse"] > 0


@pytest.mark.parametrize("cell", ["0", "-1", "many", ""])
def test_a_weight_that_is_none_is_named(certmix, weighted, cell):
    """The error says whose weight it is."""
    (weighted / "weighted.csv").write_text(DATA.replace("4.5,1", f"4.5,{cell}"))
    answer = certmix("kmeans weighted.csv -k 2 --weight-column n")
    assert answer.code == 2
    assert "weight" in answer.err


def test_weights_need_not_be_whole(certmix, weighted):
    """Half of all weights is half of the sum of squares, with the same clusters."""
    whole = certmix("kmeans weighted.csv -k 2 --weight-column n --json -q").json
    head, *rows = DATA.splitlines()
    halves = [f"{row.rpartition(',')[0]},{float(row.rpartition(',')[2]) / 2}" for row in rows]
    (weighted / "weighted.csv").write_text("\n".join([head, *halves]) + "\n")
    half = certmix("kmeans weighted.csv -k 2 --weight-column n --json -q").json
    assert half["sse"] == pytest.approx(whole["sse"] / 2)
    assert half["labels"] == whole["labels"]
    assert half["status"] == "optimal"
