"""A small version of every piece runs through and leaves its page, tables and figures."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from certmix.paper.study import paper
from certmix.paper.study.pieces import PIECES
from certmix.paper.study.runner import run
from certmix.paper.study.settings import Settings
from expression_file import write_expression

SMALL = {
    "time_limit": 1.0,
    "data_sets": ("iris1d",),
    "sizes": (6, 9),
    "more_sizes": (12,),
    "convergence": 9,
    "restarts": 4,
    "directions": 4,
}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """The whole study, small, in one directory."""
    directory = tmp_path_factory.mktemp("study")
    data = write_expression(directory / "data")
    settings = Settings(pam50=data, samples=("S01",), **SMALL)
    assert run(PIECES, settings, directory, lambda _: None) == list(PIECES)
    return directory


def records(directory: Path, name: str) -> list[dict[str, str]]:
    with (directory / "tables" / f"{name}.csv").open() as stream:
        return list(csv.DictReader(stream))


def test_page_links_to_what_is_there(made):
    """Both formats of the page exist, and every table and figure they name does too."""
    import re

    for page in ("report.md", "report.html"):
        text = (made / page).read_text()
        links = set(re.findall(r"(?:tables|figures)/[\w.-]+\.(?:csv|png|svg)", text))
        assert len(links) >= 12
        assert all((made / link).stat().st_size > 100 for link in links)


def test_every_figure_is_there_in_both_formats(made):
    """PNG and SVG for each, and both are what they claim to be."""
    names = {path.stem for path in (made / "figures").iterdir()}
    wanted = {"figure1a", "figure1b", "restarts", "pam50-gap", "pam50-assignments", "pam50-profile-S01"}
    assert wanted <= names
    for name in names:
        assert (made / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in (made / "figures" / f"{name}.svg").read_bytes()[:2000]


def test_table_2_has_every_method_and_metric(made):
    """Six methods; the paper's value and its place stand beside ours; certmix's gap is proved."""
    found = records(made, "table2-iris1d")
    assert {r["method"] for r in found} == {"EM", "SLSQP", "SA", "MINLP", "MIQP", "certmix"}
    value = {(r["method"], r["metric"]): r for r in found}
    assert (
        280.0196 < float(value["EM", "objective"]["ours"]) < 300
    )  # without its last digits on a slow machine
    assert value["EM", "objective"]["paper"] == paper.printed("table2/iris1d/em/objective")
    assert "Table 2" in value["EM", "objective"]["place in the paper"]
    assert float(value["certmix", "objective"]["ours"]) == pytest.approx(280.0197, abs=1e-4)
    assert float(value["certmix", "gap_relative"]["ours"]) < 1e-6
    assert value["certmix", "certificate"]["ours"] == "verified"
    assert value["MINLP", "certificate"]["ours"].startswith(("attested by SCIP", "none"))


def test_figure_1_covers_all_methods_and_sizes(made):
    """Bounds never exceed incumbents along the curves, and every size has its runs."""
    curves = records(made, "figure1a")
    assert {r["method"] for r in curves} >= {"MINLP", "MIQP", "certmix", "certmix dual"}
    both = [(float(r["incumbent"]), float(r["bound"])) for r in curves if r["incumbent"] and r["bound"]]
    assert both
    assert all(bound <= incumbent for incumbent, bound in both)
    times = records(made, "figure1b")
    assert {(r["n"], r["method"]) for r in times} >= {
        ("6", "MINLP"),
        ("9", "MIQP"),
        ("12", "certmix"),
        ("9", "certmix dual"),
    }


def test_restarts_are_counted(made):
    """At most four restarts of each of three kinds (a slow machine has less in its second), none below the optimum."""
    found = records(made, "restarts")
    assert len({r["start"] for r in found}) == 3
    assert len(found) <= 3 * 4
    optimum = min(
        float(r["objective"]) for r in records(made, "figure1b") if r["n"] == "9" and r["objective"]
    )
    assert all(float(r["value"]) >= optimum - 1e-6 for r in found)


def test_bandi_is_beside_the_paper(made):
    """An accuracy for the data set, and the paper's with its place."""
    (found,) = records(made, "bandi")
    assert 0.5 < float(found["accuracy"]) <= 1
    assert found["paper"] == paper.printed("bandi/iris1d/accuracy")
    assert "Bandi" in found["place in the paper"]


def test_pam50_agreement_and_differences(made):
    """With labels certmix has every known sample right; the list of differences is what the two columns say."""
    found = {r["method"]: r for r in records(made, "pam50-agreement")}
    assert float(found["certmix"]["accuracy on the known"]) == 1.0
    assert {
        "PAM, published centroids",
        "PAM, centroids of the known",
        "certmix without labels",
    } <= found.keys()
    assert all(r["PAM"] != r["certmix"] for r in records(made, "pam50-differing"))
    gaps = records(made, "pam50-gap")
    assert {r["labels"] for r in gaps} == {"with labels", "without labels"}
    assert np.all([float(r["relative gap"]) >= 0 for r in gaps])
