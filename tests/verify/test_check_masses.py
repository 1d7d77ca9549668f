"""Certificates of data with missing values and of samples with weights: made, checked, and not to be tampered with."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from claiming import rooted

import certmix
from certmix.certificate import boxes, lagrangian
from certmix.certificate.statement import state
from certmix.io.certificates import Certificate
from certmix.problem import CannotLink, MinimumSize, MustLink, Problem
from certmix.problem.masses import RealWeights
from certmix.problem.restriction import Restriction
from certmix.verify.check import check
from certmix.verify.claims.criteria import loss
from certmix.verify.claims.parts import Partition
from certmix.verify.domain import Domain
from certmix.verify.dynamic import dynamic
from certmix.verify.evidence import Evidence, Rejected
from certmix.verify.exact import Exact
from certmix.verify.incumbent import value
from certmix.verify.lagrangian import Pricing
from certmix.verify.narrowing import Boxes
from certmix.verify.semidefinite import semidefinite
from certmix.verify.statement import data_digest, digest, read

RNG = np.random.default_rng(8)
FULL = np.concatenate([RNG.normal(size=(10, 2)), RNG.normal([4.0, 3.0], size=(10, 2))])
WEIGHT = RNG.uniform(0.3, 2.5, size=20)
GAPS = np.where(np.random.default_rng(9).random(FULL.shape) < 0.2, np.nan, FULL)
GAPS[np.isnan(GAPS).all(axis=1)] = 1.0
OWN = np.stack([np.diag([1.0, 0.5]), np.diag([2.0, 0.8])])
RULES = [MustLink(0, 1), MustLink(10, 12), CannotLink(2, 11), MinimumSize(4)]
CASES: dict[str, dict[str, Any]] = {
    "weights": {"data": FULL, "variance": 1.0, "weights": "uniform", "sample_weight": RealWeights(WEIGHT)},
    "gaps": {"data": GAPS, "variance": 1.0, "missing": "keep"},
    "gaps and weights": {
        "data": GAPS,
        "covariance": OWN,
        "missing": "keep",
        "weights": [0.3, 0.7],
        "sample_weight": RealWeights(WEIGHT),
    },
    "k-means": {"data": GAPS, "weights": "none", "missing": "keep", "sample_weight": RealWeights(WEIGHT)},
}


def problem_of(name: str) -> Problem:
    return Problem(n_components=2, constraints=RULES, **CASES[name])


def certified(name: str, how: str) -> tuple[Problem, Certificate]:
    problem = problem_of(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("certmix.certificate.prove.MOST", 0)  # not by enumeration
        if how == "lagrangian":
            patch.setattr(boxes, "TUNING", replace(boxes.TUNING, entries=0))
            patch.setattr(lagrangian, "TUNING", replace(lagrangian.TUNING, few_clusterings=1))
        engine = {"boxes": "interval", "lagrangian": "dual"}.get(how, how)
        more = {"part_size": 8} if how == "parts" else {}
        result = certmix.solve(problem, engine, certificate=True, **more)
    assert result.certificate is not None, result.reason
    return problem, result.certificate


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("how", ["boxes", "lagrangian", "parts"])
def test_a_run_is_verified(name: str, how: str) -> None:
    """By its tree of boxes, by multipliers, and by parts of the samples; and the optimum is not below its bound."""
    problem, certificate = certified(name, how)
    verdict = check(certificate.document, certificate.arrays, problem.data)
    assert verdict.verified, verdict.sentence
    kinds = {step["kind"] for step in certificate.document.get("steps", ())}
    assert how in kinds or (how == "parts" and certificate.document["claim"] in ("sum", "bound"))
    assert verdict.gap < 1e-3 * abs(verdict.value)


@pytest.mark.parametrize("name", CASES)
def test_the_statement_of_a_part_is_that_of_its_own_samples(name: str) -> None:
    """The checker makes it of the whole's; with the weights of these samples, not of others."""
    problem = Problem(n_components=2, **CASES[name])
    entry, of = json.loads(json.dumps(state(problem))), np.arange(problem.n_samples) % 2
    parts = Partition(entry, read(entry), of, 2)
    for t in range(2):
        samples = np.flatnonzero(of == t)
        assert parts.samples(t).tolist() == samples.tolist()
        own = state(Restriction(problem).part(samples))
        assert parts.statement(t) == json.loads(json.dumps({**own, "component_names": ["0", "1"]}))


@pytest.mark.parametrize("name", CASES)
def test_what_was_tampered_with_is_rejected(name: str) -> None:
    """Other weights and other gaps, the digests put right: then the clustering has another value."""
    problem, certificate = certified(name, "boxes")

    def verified(data: np.ndarray, **changes: Any) -> bool:
        document = copy.deepcopy(certificate.document)
        document["statement"].update(changes)
        document["digests"] = {"statement": digest(document["statement"]), "data": data_digest(data)}
        return check(document, certificate.arrays, data).verified

    assert verified(problem.data)
    away = np.array(problem.data)
    away[0, 0] = away[0, 0] + 1.0 if np.isnan(away[0, 1]) else np.nan
    assert not verified(away)
    infinite = np.array(problem.data)
    infinite[0, 0] = np.inf
    assert not verified(infinite)
    if np.isnan(problem.data).any():
        assert not verified(np.where(np.isnan(problem.data), 0.0, problem.data))
    for wrong in (
        [2.0] * 20,
        (WEIGHT * 1.001).tolist(),
        [0.0] * 20,
        [-1.0] * 20,
        [1.0] * 19,
        1.0,
        [1e-300] * 20,
    ):
        assert not verified(problem.data, sample_weight=wrong)


@pytest.mark.parametrize("name", CASES)
def test_one_clustering_costs_what_the_objective_says(name: str) -> None:
    """In fractions, in the root's coordinates, and at its means: the cost of labels is that of the evaluator."""
    problem = problem_of(name).replace(constraints=[MustLink(0, 1), MustLink(10, 12)])
    root = rooted(problem)
    exact, boxes, rng = Exact(root), Boxes(root, np.inf), np.random.default_rng(0)
    for _ in range(5):
        groups = rng.integers(2, size=root.N)
        best = problem.objective.best(groups[root.group])
        arrays = {"labels": best.labels, "means": best.means, "weights": best.weights}
        evidence = Evidence({}, {f"incumbent/{what}": array for what, array in arrays.items()})
        for found in (
            exact.cost(groups),
            boxes.decided(groups[None])[0],
            value(root.statement, problem.data, evidence)[0],
        ):
            assert found == pytest.approx(best.value, rel=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_sets_of_one_sample_are_priced(name: str) -> None:
    """The cheapest is a sample's constant and what its size costs, less its multiplier: its mean is where it is."""
    root = rooted(problem_of(name).replace(constraints=[], allow_empty=True))
    multipliers = np.random.default_rng(1).normal(size=root.N)
    for k in range(2):
        pricing = Pricing.of(root, Domain.of(root), k, multipliers, np.zeros((0, 2), dtype=np.int64))
        cheapest = (root.beside[k] - multipliers).min() + root.entropy[k, 1]
        assert pricing.single_samples().min() == pytest.approx(cheapest, rel=1e-9)


def test_steps_that_count_samples_refuse() -> None:
    """The semidefinite bound has sizes in its matrices, the shortest path in its tables."""
    root = rooted(problem_of("gaps"))
    with pytest.raises(Rejected, match="does not know missing values"):
        semidefinite(root, Domain.of(root), Evidence({}, {}), 0.0)
    line = Problem(FULL[:, :1], 2, variance=1.0, weights="uniform", sample_weight=RealWeights(WEIGHT))
    root = rooted(line)
    with pytest.raises(Rejected, match="values do not count once"):
        dynamic(root, Domain.of(root), Evidence({}, {}), 0.0)


@pytest.mark.parametrize(
    ("name", "changes", "match"),
    [
        ("weights", {"fixed_weights": None}, "those of components are not fixed"),
        ("weights", {"estimators": ["means"]}, "those of components are not fixed"),
        ("weights", {"variance": [0.0, None]}, "those of components are not fixed"),
        ("weights", {"sample_weight": [1e-10] * 20}, "weights outside"),
        ("gaps", {"precision": [[[1.0, 0.1], [0.1, 1.0]]]}, "matrices must be diagonal"),
        ("gaps", {"estimators": ["weights"]}, "no estimators"),
        ("gaps", {"variance": [0.0, None]}, "variances known"),
        ("gaps and weights", {"half_log_det": [[0.0, 0.0], [0.0, 0.0]]}, "half_log_det is not that"),
    ],
)
def test_what_is_not_defined_is_refused(name: str, changes: dict[str, Any], match: str) -> None:
    """In words."""
    problem = problem_of(name)
    with pytest.raises(Rejected, match=match):
        rooted_with(problem, **changes)


def rooted_with(problem: Problem, **changes: Any) -> None:
    from certmix.verify.root import Root

    Root(read({**state(problem), **changes}), problem.data)


def test_a_component_more_is_worth_what_is_not_known() -> None:
    """With weights of samples no bound is carried from one number of components to the next."""
    problem = Problem(
        FULL, 2, variance=1.0, weights="uniform", sample_weight=RealWeights(WEIGHT), allow_empty=True
    )
    more = problem.replace(n_components=3, weights="uniform")
    assert loss(read(state(problem)), read(state(more))) == np.inf
