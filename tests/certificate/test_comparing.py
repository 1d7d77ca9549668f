"""What is given is compared with the certificate, names included, and what was not given is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certmix
from certmix.certificate.comparing import PARTS, RULES, different
from certmix.certificate.statement import state
from certmix.errors import InputError
from certmix.io.certificates import Certificate
from certmix.problem import GaussianPrior, Label, MaximumSize, MinimumSize, Problem
from certmix.verify import statement as statements
from certmix.verify.check import check
from certmix.verify.evidence import Rejected

RNG = np.random.default_rng(0)
Y = np.concatenate([RNG.normal(0, 1, (5, 1)), RNG.normal(3, 1, (3, 1))])
KNOWN = [Label(0, "A")]


def certified(problem: Problem) -> Certificate:
    certificate = certmix.solve(problem, certificate=True).certificate
    assert certificate is not None
    return certificate


def named(*names: str, **options: Any) -> Problem:
    return Problem(Y, 2, weights=[0.1, 0.9], component_names=names, **{"variance": 1.0, **options})


def test_names_are_those_of_the_problem_given() -> None:
    """A bound for "sample 0 is in A" is not one for a problem in which A is the other component."""
    certificate = certified(named("A", "B", constraints=KNOWN))
    optimum = certmix.solve(named("B", "A", constraints=KNOWN)).objective
    assert certificate.bound > optimum + 1.0
    assert certmix.verify(certificate, named("A", "B"), KNOWN).verified
    assert certmix.verify(certificate, named("A", "B", constraints=KNOWN)).verified
    for other in (named("B", "A"), named("A", "C")):
        assert not certmix.verify(certificate, other, KNOWN).verified
        assert not certmix.verify(certificate, other.replace(constraints=KNOWN)).verified


def test_names_are_covered_by_the_digest() -> None:
    """Names that were exchanged in the file are noticed, and stated anew they are those of another problem."""
    problem = named("A", "B", constraints=KNOWN)
    certificate = certified(problem)
    changed = {**certificate.document["statement"], "component_names": ["B", "A"]}
    forged = Certificate({**certificate.document, "statement": changed}, certificate.arrays)
    assert "digest" in certmix.verify(forged, Y).sentence
    digests = {**certificate.document["digests"], "statement": statements.digest(changed)}
    forged = Certificate({**forged.document, "digests": digests}, certificate.arrays)
    found = certmix.verify(forged, problem)
    assert not found.verified
    assert "component names" in found.sentence


def test_names_of_samples_stand_for_those_of_the_data_given() -> None:
    """The same constraint by name is about another sample when the data name their samples otherwise."""
    import pandas as pd

    frame = pd.DataFrame(Y, index=list("abcdefgh"))
    rules = [Label("a", 0)]
    certificate = certified(Problem(frame, 2, variance=1.0, weights=[0.1, 0.9], constraints=rules))
    assert certmix.verify(certificate, frame, rules).verified
    assert not certmix.verify(certificate, frame.set_axis(list("hgfedcba")), rules).verified


def test_samples_alone_leave_the_rest_to_the_certificate_and_the_sentence_says_so() -> None:
    """With an array the numbers that nobody compared are named; with a Problem there are none."""
    problem = Problem(
        Y, 2, variance=0.5, weights=[0.1, 0.9], mean_bounds=(-9.0, 9.0), prior=GaussianPrior(0.0, 4.0),
        constraints=[MinimumSize(2)],
    )  # fmt: skip
    certificate = certified(problem)
    whole, alone = certmix.verify(certificate, problem), certmix.verify(certificate, Y)
    assert whole.verified
    assert alone.verified
    assert whole.taken == ()
    assert "taken" not in whole.sentence.lower()
    numbers = ("2 components", "variance 0.5", "weights 0.1, 0.9")
    for words in (*numbers, "a Gaussian prior", "bounds on the means", "1 side constraint"):
        assert words in alone.taken
        assert words in alone.sentence
    given = certmix.verify(certificate, Y, [MinimumSize(2)])
    assert given.verified
    assert not any("constraint" in words for words in given.taken)


def test_component_names_taken_from_the_certificate_are_named() -> None:
    """Constraints by name beside an array can only mean the certificate's names."""
    certificate = certified(named("A", "B", constraints=KNOWN))
    found = certmix.verify(certificate, Y, KNOWN)
    assert found.verified
    assert "the component names A, B" in found.taken
    assert not certmix.verify(certificate, Y, [Label(0, "C")]).verified


CHANGES: dict[str, dict[str, Any]] = {
    "components": {"n_components": 3, "weights": "uniform"},
    "covariance": {"variance": 2.0},
    "weights": {"weights": "free"},
    "prior": {"prior": GaussianPrior(0.0, 4.0)},
    "bounds": {"mean_bounds": (-9.0, 9.0)},
    "estimators": {"estimators": ["means"]},
    "empty components": {"allow_empty": True},
    "weights of samples": {"sample_weight": np.linspace(0.5, 1.5, len(Y))},
    "side constraints": {"constraints": [MaximumSize(6)]},
    "component names": {"component_names": ["p", "q"]},
}


@pytest.mark.parametrize("part", PARTS)
def test_every_part_is_compared(part: str) -> None:
    """A problem that differs in one part is another problem, and the sentence says in which part."""
    problem = Problem(Y, 2, weights="uniform")
    certificate = certified(problem)
    found = certmix.verify(certificate, problem.replace(**CHANGES[part]))
    assert not found.verified
    assert part in found.sentence


def test_parts_are_the_whole_statement() -> None:
    """No entry of the statement is left out but the shape of the data, which the data have."""
    entries = {entry for part in PARTS.values() for entry in part}
    checked = statements.ENTRIES | {statements.UNKNOWN, statements.SOFT, statements.WEIGHT}
    assert entries | {"n_samples", "n_features"} == checked
    assert set(RULES) <= entries
    own = state(Problem(Y, 2, variance=1.0))
    assert different(own, own) == []
    assert different({}, own) == [part for part in PARTS if part != "weights of samples"]
    assert different(state(Problem(Y, 2, variance="unknown")), own) == ["covariance"]


def test_weights_and_gaps_that_were_not_there_are_noticed() -> None:
    """A statement with weights of samples is another one: its clustering has another value; so have gaps."""
    certificate = certified(Problem(Y, 2, weights="uniform", variance=1.0))
    weights = np.full(len(Y), 0.5)
    changed = {**certificate.document["statement"], "sample_weight": weights.tolist()}
    digests = {**certificate.document["digests"], "statement": statements.digest(changed)}
    forged = Certificate(
        {**certificate.document, "statement": changed, "digests": digests}, certificate.arrays
    )
    problem = Problem(Y, 2, weights="uniform", variance=1.0, sample_weight=weights)
    assert not certmix.verify(forged, problem).verified
    assert not certmix.verify(forged, Y).verified
    gaps = np.where(np.arange(len(Y))[:, None] == 1, np.nan, Y)
    digests = {**certificate.document["digests"], "data": statements.data_digest(gaps)}
    forged = Certificate({**certificate.document, "digests": digests}, certificate.arrays)
    assert "the clustering has objective" in check(forged.document, forged.arrays, gaps).sentence


def test_weights_of_samples_are_compared() -> None:
    """Whoever has other weights, or none, has another problem."""
    weights = np.linspace(0.5, 1.2, len(Y))
    problem = Problem(Y, 2, weights="uniform", variance=1.0, sample_weight=weights)
    certificate = certified(problem)
    assert certmix.verify(certificate, problem).verified
    assert (
        "weights of samples"
        in certmix.verify(certificate, problem.replace(sample_weight=2.0 * weights)).sentence
    )
    found = certmix.verify(certificate, Y)
    assert found.verified
    assert "weights of samples" in found.taken


def test_built_in_sets_are_compared_as_a_whole() -> None:
    """A certificate about the samples of a built-in set, but another model of them, is not about that set."""
    data = certmix.datasets.load("iris1d")
    good, box = data.problem(), Problem(data.data, 1, variance=5.0)
    assert certmix.verify(certified(good), "iris1d").verified
    assert certmix.verify(certified(good), "iris1d").taken == ()
    found = certmix.verify(certified(box), "iris1d")
    assert not found.verified
    assert "components" in found.sentence
    hidden = good.replace(mean_bounds=(-100.0, 100.0))
    assert "bounds" in certmix.verify(certified(hidden), "iris1d").sentence


LOOSE: dict[str, Any] = {
    "estimators": [{}, "", {"weights": 1}, "weights", ["weights", "weights"], [1]],
    "component_names": [{}, ["a"], ["a", "a"], ["a", 1], ["a", ""], "ab", None],
    "together": [{}, "", None, [{}], [{"0": 1, "1": 2}], [[0, 1.0]], [[0, True]], [[0]]],
    "counts": [{}, "", [{"a": 1, "b": 2, "c": 3, "d": 4}], [[0, 0, 1, {}]], [[0, 0, 1, ""]], [[0, 0, 1, [1.0]]]],
    "labels": [{}, "", [[0, "0"]]],
    "sizes": [{}, [[0, 1, 2.0]]],
    "n_samples": [True, 8.0, "8", None],
    "n_components": [True, 2.0, "2"],
    "allow_empty": [0, 1, "", None],
    "alpha": [{}, ["1", "1"], [True, True], [None, None], [[1.0], [1.0]]],
    "precision": [{}, "", 1.0, [1.0], [[["1"]]]],
    "fixed_weights": [False, 0, [], "", [0.5, True]],
    "prior_precision": [False, 0, [], "", {}],
}  # fmt: skip


@pytest.mark.parametrize("entry", LOOSE)
def test_entries_of_another_type_are_refused(entry: str) -> None:
    """A list is a list, a whole number a whole number, a text a text: nothing else that happens to work."""
    statement = json.loads(json.dumps(state(Problem(Y, 2, variance=1.0))))
    statements.read(statement)
    for value in LOOSE[entry]:
        with pytest.raises(Rejected):
            statements.read({**statement, entry: value})


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5, 7, 6.0, "6", True, None])
def test_other_versions_are_refused_in_a_sentence(version: Any, tmp_path: Path) -> None:
    """Neither an older format nor a number of another type is read."""
    certificate = certified(Problem(Y, 2, variance=1.0))
    certificate = Certificate({**certificate.document, "version": version}, certificate.arrays)
    assert "version" in certmix.verify(certificate, Y).sentence
    path = certificate.save(tmp_path / "c")
    with pytest.raises(InputError, match="version"):
        Certificate.load(path)


def test_an_entry_that_stands_twice_is_refused(tmp_path: Path) -> None:
    """Another reader of JSON could take the first of two statements where ours takes the last."""
    path = certified(Problem(Y, 2, variance=1.0)).save(tmp_path / "c")
    text = path.read_text()
    path.write_text(text.replace('"bound":', '"bound": -1e9,\n  "bound":', 1))
    assert "stands twice" in certmix.verify(path, Y).sentence
