"""The paper's numbers: each has a place, is read as it is printed, and is used."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path

import pytest

from certmix.paper.study import paper

STUDY = Path(paper.__file__).parent


def test_every_value_has_a_place_and_an_id_of_its_own():
    """No value without the table, figure or section it is printed in; no id twice."""
    entries = json.loads((files("certmix.paper.study") / "paper.json").read_text())["values"]
    assert len({entry["id"] for entry in entries}) == len(entries) > 90
    for entry in entries:
        assert re.match(r"(Table|Section|Supplement|Figure) [A-Z0-9]", entry["place"]), entry["id"]
        assert entry["value"] not in (None, "")


def test_values_are_kept_as_they_are_printed():
    """The digits of the paper survive, and the number is what they say."""
    assert paper.printed("table2/iris1d/em/objective") == "280.60"
    assert paper.number("table2/wine/minlp/lower_bound") == -220_000
    assert paper.printed("table2/wine/em/lower_bound") == "–"


def test_table_2_is_complete():
    """Five methods, three data sets: four metrics for all of them, a bound for the two that give one."""
    ids = [id for id in paper.values() if id.startswith("table2/") and id.count("/") == 3]
    assert len(ids) == 3 * (5 * 4 + 2)
    assert sum(id.endswith("lower_bound") for id in ids) == 3 * 2


def test_the_supplement_lists_45_samples():
    """Its table has a row for each sample that the paper counts, and no row in which both agree."""
    pairs = paper.rows("pam50/differing-pairs")
    assert len(pairs) == int(paper.printed("pam50/differing"))
    assert all(first != second for first, second in pairs)
    known, pam, ours = paper.rows("pam50/figure3/known")
    assert known == ours
    assert pairs[12] == [pam, ours]
    assert pairs[23] == paper.rows("pam50/figure3/unknown")[1:]


def test_no_value_is_typed_into_code_again():
    """What has four digits or more in the paper does not stand in the code of the study."""
    numbers = [str(v.value) for v in paper.values().values() if isinstance(v.value, str)]
    long = {n for n in numbers if len(re.sub(r"\D", "", n)) >= 4}
    assert len(long) > 20
    for source in STUDY.rglob("*.py"):
        text = source.read_text()
        assert not {n for n in long if n in text}, source


def test_an_unknown_id_is_an_error():
    """Asking for a number that the paper does not have does not go unnoticed."""
    with pytest.raises(KeyError):
        paper.number("table2/iris1d/em/colour")
