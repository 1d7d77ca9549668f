"""Certificates inside a certificate: each is checked by itself, and nothing follows that they do not say together."""

from __future__ import annotations

import copy
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certmix
from certmix.certificate.draft import compare
from certmix.io.certificates import Certificate
from certmix.problem import CannotLink, Label, Problem
from certmix.verify.check import Verdict, check

RNG = np.random.default_rng(0)
DATA = np.concatenate([RNG.normal(size=(6, 2)), RNG.normal(6.0, size=(6, 2))])
PENALTY = [6.0, 12.0, 18.0]


def certificate(problem: Problem) -> Certificate:
    found = certmix.solve(problem, gap=1e-6, certificate=True).certificate
    assert found is not None
    return found


@pytest.fixture(scope="module")
def parts() -> list[Certificate]:
    """One, two and three components for two clusters."""
    return [certificate(Problem(DATA, k, variance=1.0)) for k in (1, 2, 3)]


def verdict(given: Certificate, data: np.ndarray = DATA) -> Verdict:
    return check(given.document, given.arrays, data)


def test_every_part_is_verified_and_told(parts: list[Certificate]) -> None:
    """The sentence has one entry for each problem; bounds and values are those of the parts."""
    found = verdict(compare(parts))
    assert found.verified, found.sentence
    assert "3 problems about the same samples" in found.sentence
    assert [v.bound for v in found.parts] == [part.bound for part in parts]
    assert found.bound == -math.inf
    assert found.value == math.inf


def test_the_best_of_them_is_proved_or_not_claimed(parts: list[Certificate]) -> None:
    """With a penalty for every component two are best; no other choice is, nor two against a bounty for three."""
    found = verdict(compare(parts, PENALTY, best=1))
    assert found.verified, found.sentence
    assert "the best is 1" in found.sentence
    values = [part.objective + penalty for part, penalty in zip(parts, PENALTY, strict=True)]
    by = float(found.sentence.split("by ")[1].split(" nats or more")[0])
    assert 0 < by <= min(values[0], values[2]) - values[1]
    for best, offsets in (
        (0, PENALTY),
        (2, PENALTY),
        (1, [0.0, 0.0, -100.0]),
        (3, PENALTY),
        (-1, PENALTY),
        (True, PENALTY),
    ):
        assert not verdict(compare(parts, offsets, best)).verified
    assert verdict(compare(parts, [0.0, 0.0, -100.0], best=2)).verified


def test_a_tie_is_no_lead(parts: list[Certificate]) -> None:
    """A problem is not better than itself, for its bound lies below its value."""
    assert not verdict(compare([parts[1], parts[1]], best=0)).verified


def test_an_infeasible_problem_is_worse_than_any_and_never_the_best(parts: list[Certificate]) -> None:
    rules = [Label(0, 0), Label(1, 0), CannotLink(0, 1)]
    none = certmix.solve(Problem(DATA, 2, variance=1.0, constraints=rules), certificate=True).certificate
    assert none is not None
    assert verdict(compare([parts[1], none], best=0)).verified
    assert not verdict(compare([parts[1], none], best=1)).verified
    assert not verdict(compare([none], best=0)).verified


def test_files_and_the_way_in(parts: list[Certificate], tmp_path: Path) -> None:
    """Written, read and verified against samples; a comparison is about no problem in particular."""
    path = compare(parts, PENALTY, 1).save(tmp_path / "comparison")
    loaded = Certificate.load(path)
    assert [part.objective for part in loaded.parts] == [part.objective for part in parts]
    assert all(certmix.verify(part, DATA).verified for part in loaded.parts)
    found = certmix.verify(path, DATA)
    assert found.verified
    assert found.taken == ("everything but the samples",)
    refused = certmix.verify(path, DATA, [CannotLink(0, 1)])
    assert "give the samples alone" in refused.sentence


FORGERIES: dict[str, Any] = {
    "a part's bound": lambda d, a: d["parts"][0].update(bound=d["parts"][0]["objective"] + 1e-3),
    "a part's objective": lambda d, a: d["parts"][1].update(objective=d["parts"][1]["objective"] - 1.0),
    "a part's statement": lambda d, a: d["parts"][2]["statement"].update(n_components=4),
    "a part's version": lambda d, a: d["parts"][2].update(version=3),
    "a part without its arrays": lambda d, a: [
        a.pop(name) for name in list(a) if name.startswith("parts/1/")
    ],
    "parts exchanged": lambda d, a: d["parts"].reverse(),
    "labels of another part": lambda d, a: a.update(
        {"parts/0/incumbent/labels": a["parts/1/incumbent/labels"]}
    ),
    "a part that is none": lambda d, a: d["parts"].__setitem__(0, None),
    "a comparison inside": lambda d, a: d["parts"].__setitem__(0, copy.deepcopy(d)),
    "an offset that is none": lambda d, a: d["offsets"].__setitem__(0, "6"),
    "an infinite offset": lambda d, a: d["offsets"].__setitem__(0, math.inf),
    "an offset too few": lambda d, a: d["offsets"].pop(),
    "no parts": lambda d, a: d.update(parts=[], offsets=[]),
    "another best": lambda d, a: d.update(best=0),
    "a smaller offset": lambda d, a: d["offsets"].__setitem__(2, -100.0),
    "another claim": lambda d, a: d.update(claim="sum"),
    "another version": lambda d, a: d.update(version=3),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forgeries_are_rejected(name: str, parts: list[Certificate]) -> None:
    """In a sentence, which names the part at fault where there is one."""
    whole = compare(parts, PENALTY, 1)
    document, arrays = copy.deepcopy(dict(whole.document)), dict(whole.arrays)
    FORGERIES[name](document, arrays)
    found = check(document, arrays, DATA)
    assert not found.verified
    assert found.sentence.startswith("Rejected: ")
    if name.startswith("a part's"):
        assert "part " in found.sentence


def test_other_samples_are_rejected(parts: list[Certificate]) -> None:
    assert not verdict(compare(parts, PENALTY, 1), DATA + 1e-9).verified
