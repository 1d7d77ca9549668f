"""``--report`` and ``certmix report``."""

from __future__ import annotations

import json

import pytest

SMALL = "solve data.csv -k 2 --columns a,b --variance 0.5 --engine enumerate --quiet"


def test_solve_writes_a_report(certmix, files):
    """--report writes a page that holds the samples, the sentence and the command."""
    answer = certmix(f"{SMALL} --min-size 3 --report page.html")
    assert answer.code == 0
    text = (files / "page.html").read_text()
    assert "proved optimal" in text
    assert "certmix solve data.csv --components 2 --columns a,b --variance 0.5" in text
    assert '"s6"' in text
    assert "no room" in text


def test_the_command_in_a_report_repeats_the_run(certmix, files):
    """What the page calls the command that repeats the run gives the same result."""
    certmix(f"{SMALL} --seed 3 --no-verify --out one")
    first = json.loads((files / "one" / "result.json").read_text())
    again = certmix(*first["command"].split()[1:], "--json", "--quiet").json
    assert again["command"] == first["command"]
    for key in ("labels", "objective", "certificate"):
        assert again[key] == first[key]


def test_report_of_a_folder(certmix, files):
    """certmix report writes report.html into the folder, the same page as --report, or the one that is named."""
    certmix(f"{SMALL} --out one --report page.html")
    answer = certmix("report one")
    assert answer.code == 0
    assert answer.out.strip() == "one/report.html"
    assert certmix("report one/result.json --out other.html").code == 0
    pages = [(files / name).read_text() for name in ("one/report.html", "other.html", "page.html")]
    assert pages[0] == pages[1] == pages[2]


def test_report_shows_margins_that_lie_in_the_folder(certmix, files):
    """stability.json beside the result is read, and refused when it is about something else."""
    certmix(f"{SMALL} --out one")
    result = json.loads((files / "one" / "result.json").read_text())
    samples = [
        {
            "name": name,
            "component": label,
            "representative": name,
            "state": "fixed",
            "margin_lower": 2.5,
            "margin_upper": None,
            "goes_to": None,
        }
        for name, label in zip(result["names"], result["labels"], strict=True)
    ]
    stability = files / "one" / "stability.json"
    stability.write_text(json.dumps({"within": 2.0, "objective": 0.0, "samples": samples}))
    certmix("report one")
    assert "at least 2.5" in (files / "one" / "report.html").read_text()
    stability.write_text(json.dumps({"within": 2.0, "objective": 0.0, "samples": samples[1:]}))
    answer = certmix("report one")
    assert answer.code == 2
    assert "not those of the result" in answer.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (f"{SMALL} --report page.txt", "must end with .html"),
        (f"{SMALL} --report nowhere/page.html", "there is no folder"),
        ("report .", "directory without a result.json"),
        ("report missing", "missing"),
    ],
)
def test_a_page_that_cannot_be_is_refused_before_any_work(certmix, files, words, said):
    """Bad names are bad usage, and nothing is written."""
    answer = certmix(words)
    assert answer.code == 2
    assert said in answer.err
    assert not list(files.glob("*.html"))


def test_a_report_of_an_infeasible_problem(certmix, files):
    """What cannot be met before a run starts leaves no page, and the reason is said."""
    answer = certmix(f"{SMALL} --min-size 4 --report page.html")
    assert answer.code == 4
    assert "--min-size" in answer.err


def test_plot_draws_the_result(certmix, files):
    """--plot writes a picture, with the run or afterwards; other endings are refused before any work."""
    answer = certmix(f"{SMALL} --out one --plot page.svg")
    assert answer.code == 0
    assert "<svg" in (files / "page.svg").read_text()
    assert certmix("report one --plot page.png").out.split() == ["one/report.html", "page.png"]
    assert (files / "page.png").read_bytes().startswith(b"\x89PNG")
    refused = certmix(f"{SMALL} --out two --plot page.gif")
    assert refused.code == 2
    assert "must end with" in refused.err
    assert not (files / "two").exists()


@pytest.mark.parametrize("command", ["stability", "alternatives"])
def test_margins_that_were_just_proved_are_on_the_page(certmix, files, command):
    """certmix stability and alternatives write the page with their margins, the same as certmix report afterwards."""
    words = SMALL.replace("solve", command)
    assert certmix(f"{words} --within 1 --out one --report page.html --plot page.png").code == 0
    text = (files / "page.html").read_text()
    assert "<h2>Margins</h2>" in text
    assert "6 fixed, 0 open, 0 undecided" in text
    assert (files / "page.png").is_file()
    certmix("report one")
    assert (files / "one" / "report.html").read_text() == text


def test_constraint_costs(certmix):
    """With --constraint-costs every constraint has an interval of what dropping it would gain; without, none."""
    words = f"{SMALL} --min-size 3 --max-size 5 --json"
    costs = [line["cost"] for line in certmix(f"{words} --constraint-costs").json["constraints"]]
    assert all(low >= 0.0 and low <= high for low, high in costs)
    assert [line["cost"] for line in certmix(words).json["constraints"]] == [None, None]
