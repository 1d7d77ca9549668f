"""The page says what the result says, needs nothing else, and hostile names are only names."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from plotted_results import HOSTILE, margins_document, solved

import certmix
from certmix.errors import InputError
from certmix.io.transform import Transform
from certmix.plotting.margins import margins_of
from certmix.reporting import page, report
from certmix.reporting.charts import convergence
from certmix.reporting.samples import MOST_POINTS, Shown
from certmix.result import Result
from certmix.status import Status


class Reader(HTMLParser):
    """Elements, their attributes, and the text of the page by section."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.sections: dict[str, str] = {}
        self.current = ""
        self.data = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.elements.append((tag, found))
        if tag in ("section", "header"):
            self.current = found.get("id") or tag
            self.sections[self.current] = ""
        if tag not in ("meta", "input", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] == ["script"]:
            if self.elements[-1][1].get("id") == "data":
                self.data += data
        elif self.current:
            self.sections[self.current] += data + " "


def test_the_page_says_what_the_result_says():
    """Sentence, question, components, means, constraints with their tightness, command and versions are there."""
    result = solved()
    read = Reader(page(result))
    assert not read.open
    said = {name: " ".join(text.split()) for name, text in read.sections.items()}
    assert result.sentence() in said["header"]
    assert "my data.csv" in said["header"]
    assert "variance 1" in said["asked"]
    assert "time limit" in said["found"]
    for k in range(2):
        assert f" {result.sizes[k]} " in said["components"]
        for value in result.means[k]:
            assert f"{value:.4g}" in said["means"]
    assert all(name in said["means"] for name in result.feature_names)
    assert "no room" in said["constraints"]
    assert "tight" in said["constraints"]
    assert result.command in said["repeat"]
    assert f"numpy {np.__version__}" in said["repeat"]
    assert {"clusters", "certainty", "uncertain", "convergence", "certificate"} <= said.keys()
    assert "S1 " in said["uncertain"]


def test_the_page_needs_nothing_else():
    """No address, no file, no style sheet of another: the page is whole, and says so to the browser."""
    text = page(solved())
    read = Reader(text)
    for name, attributes in read.elements:
        assert name not in ("link", "img", "iframe", "object", "base", "form")
        assert not {"src", "href", "srcset", "action", "data"} & attributes.keys()
        assert not [key for key in attributes if key.startswith("on")]
    assert "url(" not in text
    assert "@import" not in text
    assert "default-src 'none'" in text


def test_no_two_elements_go_by_one_name():
    """Script and style speak of elements by their ids."""
    ids = [found["id"] for _, found in Reader(page(solved())).elements if "id" in found]
    assert len(ids) == len(set(ids)) > 10


def test_hostile_names_are_only_names():
    """Names with markup, quotes and signs of templates add no element and stay whole."""
    plain, hostile = (Reader(page(solved(names=n))) for n in ((), HOSTILE))
    assert [name for name, _ in plain.elements] == [name for name, _ in hostile.elements]
    assert json.loads(hostile.data)["samples"]["name"][: len(HOSTILE)] == list(HOSTILE)
    assert HOSTILE[0] in hostile.sections["means"]


def test_what_is_near_has_different_words_beside_it():
    result = solved()
    near = result.objective * (1.0 - 3e-10)
    drawn = convergence(replace(result, trace=(), lower_bound=near))
    words = re.findall(r"<span style=.top:[^>]*>([^<]*)<", str(drawn))
    assert len(set(words)) == len(words) >= 3


def test_a_broken_link_is_counted():
    """Links that may bend: the words above the table say how many are broken; no column is empty from top to bottom."""
    links = [certmix.MustLink(0, 3, penalty=0.5), certmix.MustLink(0, 1)]
    result = certmix.solve(
        certmix.Problem(np.array([0.0, 0.1, 9.0, 9.1]), 2, variance=1.0, constraints=links), "enumerate"
    )
    said = " ".join(Reader(page(result)).sections["constraints"].split())
    assert "2 side constraints, 0 of them tight, 1 broken." in said
    assert "constraint met how tight" in said


def test_only_the_script_of_the_page_may_run():
    """The policy names the digest of the script that is in the page."""
    import base64
    import hashlib

    text = page(solved())
    (script,) = re.findall(r"<script>(.*?)</script>", text, flags=re.S)
    (allowed,) = re.findall(r"script-src 'sha256-([^']+)'", text)
    assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() == allowed


def test_margins_are_shown_where_they_are_known():
    """With margins the table lists open samples first, with their margin; the profile is one of margins."""
    result = solved()
    read = Reader(page(result, margins_of(result, margins_document(result))))
    said = {name: " ".join(text.split()) for name, text in read.sections.items()}
    assert "58 fixed, 1 open, 1 undecided" in said["certainty"]
    assert said["uncertain"].index("0.25 open") < said["uncertain"].index("0.5 to 3 undecided")
    assert json.loads(read.data)["samples"]["margin"][1] == "0.25"


def test_a_report_of_a_saved_result_is_the_same(tmp_path):
    """What was saved and loaded gives the same page, letter by letter."""
    result = solved()
    result.save(tmp_path / "run")
    assert report(result, tmp_path / "a.html") == tmp_path / "a.html"
    certmix.report(Result.load(tmp_path / "run"), tmp_path / "b.html")
    assert (tmp_path / "a.html").read_text() == (tmp_path / "b.html").read_text()


def test_without_a_clustering_there_is_a_page_too():
    """An infeasible problem has a page that says why, without the sections about clusters."""
    result = solved()
    nothing = dict.fromkeys(("labels", "means", "weights", "posterior", "runner_up", "fixed"))
    infeasible = replace(
        result, **nothing, status=Status.INFEASIBLE, objective=np.inf, constraints=(), message="A and B."
    )
    read = Reader(page(infeasible))
    assert "Infeasible: A and B." in read.sections["header"]
    assert "clusters" not in read.sections


def test_without_samples_there_is_a_page_too():
    """A result that does not hold its samples is shown without their picture; given samples are drawn."""
    result = solved()
    bare = replace(result, data=None)
    read = Reader(page(bare))
    assert "were not kept" in read.sections["clusters"]
    assert "certainty" not in read.sections
    assert page(bare, data=result.data) == page(result)


@pytest.mark.parametrize(("d", "K"), [(1, 2), (2, 1), (2, 12), (5, 3)])
def test_any_number_of_features_and_components(d, K):
    """One feature, one component, more components than colours: there is a page, and every sample is in it."""
    result = solved(d=d, K=K, rules=False)
    samples = json.loads(Reader(page(result)).data)["samples"]
    assert len(samples["at"]) == len(result.names)
    assert np.isfinite(np.array(samples["at"])).all()


def test_k_means_has_no_weights_and_no_covariance():
    """The page speaks of weights and of a covariance only where the model has them."""
    data = np.array([[0.0, 1.0, 0.0], [0.5, 0.0, 0.0], [4.0, 0.0, 1.0], [4.5, 1.0, 1.0]])
    mixture = certmix.Problem(data, 2, variance=1.0)
    kmeans = certmix.Problem(data, 2, weights="none")
    for problem, weighted in ((mixture, True), (kmeans, False)):
        read = Reader(page(certmix.solve(problem)))
        assert ("weight" in read.sections["components"]) is weighted
        assert ("units of the covariance" in read.sections["clusters"]) is weighted


def test_means_in_the_units_of_the_file():
    """Where the data were standardised the means are also given as they were measured."""
    result = solved(d=2, rules=False)
    transform = Transform(
        ("width", "height"), np.array([100.0, 0.0]), np.array([10.0, 1.0]), standardized=True
    )
    read = Reader(page(replace(result, transform=transform)))
    assert f"{100 + 10 * result.means[0, 0]:.4g}" in read.sections["means"]
    assert "standardized" in read.sections["asked"]


def test_many_features_are_cut_to_those_that_differ():
    """With a hundred features the sixty on which the means differ most are shown, and the rest is counted."""
    read = Reader(page(solved(d=100)))
    assert "40 more features" in read.sections["means"]


def test_many_samples_are_thinned(monkeypatch):
    """Beyond a limit the least certain samples are drawn, with a choice of the others, and the page says so."""
    monkeypatch.setattr("certmix.reporting.samples.MOST_POINTS", 20)
    assert MOST_POINTS == 20_000
    result = solved()
    shown = Shown(result)
    assert len(np.unique(shown.drawn)) == 20
    assert 1 in shown.drawn
    assert "20 of 60 samples are drawn" in Reader(page(result)).sections["clusters"]


def test_a_page_that_cannot_be_written_is_an_error(tmp_path):
    """A folder that does not exist is named."""
    with pytest.raises(InputError, match="there is no folder"):
        report(solved(), tmp_path / "nowhere" / "a.html")
