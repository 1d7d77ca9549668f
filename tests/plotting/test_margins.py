"""Margins are those of the result, or are refused."""

from __future__ import annotations

import json
import math

import pytest
from plotted_results import margins_document, solved

from certmix.errors import InputError
from certmix.plotting.margins import margins_of


def test_margins_of_a_file(tmp_path):
    """A file, its content, and an object that gives it are read alike; a missing end is open."""
    result = solved()
    document = margins_document(result)
    document["samples"][0]["margin_upper"] = None
    path = tmp_path / "stability.json"
    path.write_text(json.dumps(document))

    class Made:
        def to_dict(self):
            return document

    for given in (path, document, Made()):
        found = margins_of(result, given)
        assert found.within == 2.0
        assert found.states[:2] == ("fixed", "open")
        assert found.upper[0] == math.inf
        assert found.goes_to[1] == result.component_names[1 - result.labels[1]]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d["samples"].pop(), "not those of the result"),
        (lambda d: d["samples"][0].update(component=1 - d["samples"][0]["component"]), "another clustering"),
        (lambda d: d["samples"][0].pop("state"), "'state' is missing"),
        (lambda d: d.pop("within"), "'within' is missing"),
        (lambda d: d.update(samples=3), "is damaged"),
        (lambda d: d["samples"][0].update(margin_lower="a"), "is damaged"),
    ],
)
def test_margins_of_something_else_are_refused(change, words):
    """Margins of other samples or of another clustering, or damaged ones, are refused in words."""
    result = solved()
    document = margins_document(result)
    change(document)
    with pytest.raises(InputError, match=words):
        margins_of(result, document)


def test_a_file_that_is_not_json(tmp_path):
    """The error names the file."""
    (tmp_path / "stability.json").write_text("{")
    with pytest.raises(InputError, match=r"stability\.json cannot be read"):
        margins_of(solved(), tmp_path / "stability.json")
