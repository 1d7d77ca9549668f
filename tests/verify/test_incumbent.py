"""The clustering of a certificate counts where its means and weights are admissible, exactly."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import certmix
from certmix.certificate.statement import state
from certmix.problem import (
    CannotLink,
    Covering,
    DirichletPrior,
    GaussianPrior,
    Implication,
    Label,
    MaximumSize,
    MinimumSize,
    MustLink,
    Packing,
    Partitioning,
    Problem,
)
from certmix.problem.constraints import Constraint
from certmix.verify import incumbent, statement
from certmix.verify.check import VERSION, Verdict, check
from certmix.verify.evidence import Evidence, Rejected
from certmix.verify.statement import data_digest, digest


def forged(
    problem: Problem,
    labels: Any,
    means: Any,
    weights: Any,
    objective: float,
    slack: float = 0.0,
    **said: Any,
) -> Verdict:
    """What the checker says of a clustering with these parameters, called optimal to the slack."""
    entry = {**state(problem), **said}
    document = {
        "format": "certmix-certificate",
        "version": VERSION,
        "claim": "bound",
        "objective": objective,
        "bound": objective - slack,
        "component_names": list(problem.component_names),
        "digests": {"statement": digest(entry), "data": data_digest(problem.data)},
        "steps": [{"node": 0, "kind": "enumerate"}],
        "statement": entry,
    }
    arrays = {
        "incumbent/labels": np.asarray(labels),
        "incumbent/means": np.asarray(means, dtype=float).reshape(problem.n_components, -1),
        "incumbent/weights": np.asarray(weights, dtype=float),
        "tree/parent": np.array([-1]),
        "tree/kind": np.array([0]),
        "tree/args": np.zeros((1, 3), dtype=int),
    }
    return check(document, arrays, problem.data)


def worth(problem: Problem, labels: Any, means: Any, weights: Any) -> tuple[float, float]:
    """The checker's value of a clustering and the error that comes with it."""
    arrays = {
        "incumbent/labels": np.asarray(labels),
        "incumbent/means": np.asarray(means, dtype=float).reshape(problem.n_components, -1),
        "incumbent/weights": np.asarray(weights, dtype=float),
    }
    return incumbent.value(statement.read(state(problem)), problem.data, Evidence({}, arrays))


def rejected(problem: Problem, labels: Any, means: Any, weights: Any, why: str) -> None:
    """The clustering is refused for this reason, whatever its objective is called."""
    labels = np.asarray(labels)
    means = np.asarray(means, dtype=float).reshape(problem.n_components, -1)
    weights = np.asarray(weights, dtype=float)
    found = forged(problem, labels, means, weights, problem.objective.value(labels, means, weights))
    assert not found.verified
    assert why in found.sentence


def test_a_box_around_data_of_scale_1e_10_is_kept() -> None:
    """Means 1e-9 outside their bounds are ten clusters away here."""
    y = 1e-10 * np.array([[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]])
    problem = Problem(y, 2, variance=1e-20, mean_bounds=(0.0, 5e-10))
    assert certmix.solve(problem, "enumerate").objective > 20
    rejected(problem, [0, 0, 0, 1, 1, 1], [1e-10, 9e-10], [0.5, 0.5], "outside its bounds")


def test_a_box_around_data_at_1e9_is_kept() -> None:
    """There 1e-9 relatively is more than the clusters are wide."""
    y = 1.7e9 + np.array([[0.0], [1.0], [2.0], [5.0], [6.0], [7.0]])
    problem = Problem(y, 2, variance=1.0, mean_bounds=(1.7e9, 1.7e9 + 5))
    rejected(problem, [0, 0, 0, 1, 1, 1], [1.7e9 + 1, 1.7e9 + 6], [0.5, 0.5], "outside its bounds")


def test_averages_at_1e9_keep_their_box() -> None:
    """No average reaches the box of component 1; a clustering that breaks it is not verified."""
    y = 1.7e9 + np.array([[0.0], [1.0], [2.0], [5.0], [6.0], [7.0]])
    bounds = ([[1.7e9], [1.7e9 + 7.5]], [[1.7e9 + 3], [1.7e9 + 9]])
    problem = Problem(y, 2, variance=1.0, mean_bounds=bounds, estimators=["means"])
    rejected(problem, [0, 0, 0, 1, 1, 1], [1.7e9 + 1, 1.7e9 + 6], [0.5, 0.5], "outside its bounds")


def test_a_weight_bound_of_1e_12_is_kept() -> None:
    """The logarithm of a weight of 1e-9 is another one than that of 1e-12."""
    y = np.array([[0.0], [0.1], [0.2], [9.0]])
    problem = Problem(y, 2, variance=1.0, weight_bounds=([0.0, 0.0], [1.0, 1e-12]))
    labels, means = [0, 0, 0, 1], [0.1, 9.0]
    rejected(problem, labels, means, [1 - 1e-9, 1e-9], "a weight lies outside its bounds")
    best = certmix.solve(problem, "enumerate")
    assert best.objective == pytest.approx(12 * math.log(10), abs=0.1)
    assert sum(worth(problem, best.labels, best.means, best.weights)) == pytest.approx(best.objective)


def test_tied_means_under_a_prior_are_averages() -> None:
    """A steep prior pays for every step away from the average."""
    y = 1e-10 * np.array([[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]])
    prior = GaussianPrior(5e-10, 1e-20 / 4)
    problem = Problem(y, 2, variance=1e-20, prior=prior, estimators=["means"])
    labels, average = [0, 0, 0, 1, 1, 1], np.array([1e-10, 9e-10])
    rejected(problem, labels, average + np.array([2e-10, -2e-10]), [0.5, 0.5], "not the average")
    v, error = worth(problem, labels, average, [0.5, 0.5])
    assert v == pytest.approx(problem.objective.best(np.array(labels)).value, rel=1e-12)
    assert error < 1e-12


def test_what_a_rounded_average_saves_the_prior_is_charged() -> None:
    """Of the doubles next to an average, the one nearer to the prior's mean is cheaper; the error covers that."""
    y = 1e9 + np.array([[0.0], [1.0], [1.0]])
    problem = Problem(y, 1, variance=1.0, prior=GaussianPrior(1e9 - 1e6, 1.0), estimators=["means"])
    near = math.nextafter(1e9 + 2 / 3, 0.0)
    way = float(Fraction(2, 3) - (Fraction(near) - 10**9))  # to the exact average
    error = worth(problem, [0, 0, 0], near, [1.0])[1]
    assert way > 0
    assert error >= way * 1e6  # the slope of the prior


@pytest.mark.parametrize("top", [0.3, 0.1 + 0.2])
def test_a_share_counts_as_the_nearest_double(top: float) -> None:
    """Three of ten samples keep a bound of 0.3, although three tenths are more than that double."""
    y = np.array([[0.0]] * 7 + [[9.0]] * 3) + 0.1 * np.arange(10)[:, None]
    problem = Problem(y, 2, variance=1.0, weight_bounds=([0.0, 0.0], [1.0, top]), estimators=["weights"])
    labels = np.repeat([0, 1], [7, 3])
    best = problem.objective.best(labels)
    v, error = worth(problem, labels, best.means, best.weights)
    assert v + error >= best.value - 1e-12
    with pytest.raises(Rejected, match="size limit"):
        worth(problem, np.repeat([0, 1], [6, 4]), best.means, [0.6, 0.4])
    with pytest.raises(Rejected, match="not the shares"):
        worth(problem, labels, best.means, [0.7, math.nextafter(0.3, 0)])


def test_weights_that_add_up_to_a_little_more_are_charged() -> None:
    """What the excess saves is in the error; much of an excess is refused, and so is any without room."""
    y = np.arange(6.0)[:, None]
    problem, labels = Problem(y, 2, variance=1.0), [0, 0, 0, 1, 1, 1]
    means = [1.0, 4.0]
    up = math.nextafter(0.5, 1)
    (v, error), (exact, _) = (worth(problem, labels, means, w) for w in ([up, up], [0.5, 0.5]))
    assert v + error >= exact
    assert error < 1e-13
    with pytest.raises(Rejected, match="add up to one"):
        worth(problem, labels, means, [0.5, 0.5 + 1e-10])
    fixed = Problem(y, 2, variance=1.0, weight_bounds=([0.5, 0.5], [1.0, 1.0]))
    assert worth(fixed, labels, means, [0.5, 0.5])[0] == exact
    tiny = Problem(y, 2, variance=1.0, weight_bounds=([1 - 2**-52, 0.0], [1.0, 1.0]))
    with pytest.raises(Rejected, match="no room"):
        worth(tiny, labels, means, [1 - 2**-52, 4 * 2**-52])


def test_bounds_that_no_weights_can_keep_are_refused() -> None:
    """Ten lower bounds of the double 0.1 add up to more than one."""
    y = np.arange(10.0)[:, None]
    entry = state(Problem(y, 10, variance=1.0)) | {"weight_lower": [0.1] * 10}
    arrays = {
        "incumbent/labels": np.arange(10),
        "incumbent/means": y,
        "incumbent/weights": np.full(10, 0.1),
    }
    with pytest.raises(Rejected, match="no weights within their bounds"):
        incumbent.value(statement.read(entry), y, Evidence({}, arrays))


def test_a_power_that_nearly_cancels_is_not_rounded_twice() -> None:
    """One sample and a Dirichlet parameter of 1e-12 leave a power of 1e-12, to all digits."""
    alpha = 1e-12
    problem = Problem(np.array([[0.0], [1.0]]), 2, variance=1.0, prior=DirichletPrior([alpha, 5.0]))
    weights = problem.objective.best(np.array([0, 1])).weights
    v, error = worth(problem, [0, 1], [0.0, 1.0], weights)
    exact = -alpha * math.log(weights[0]) - 5.0 * math.log(weights[1])
    assert abs(v - exact) <= error
    assert abs(v - exact) < 1e-25


CLUMPS = Problem(
    [[0.0], [0.1], [0.3], [8.0], [8.2], [8.3], [8.7]], 2, variance=1.0, constraints=[Label(0, 0)]
)


def broken(problem: Problem, **said: Any) -> str:
    """What the checker says of the clustering that is best without a rule, under that rule.

    It is cheaper than any clustering that keeps the rule, so but for the rule its proof stands.
    """
    labels = np.array([0, 0, 0, 1, 1, 1, 1])
    best = CLUMPS.objective.best(labels)
    assert forged(CLUMPS, labels, best.means, best.weights, best.value, 1e-9).verified
    found = forged(problem, labels, best.means, best.weights, best.value, 1e-9, **said)
    assert not found.verified
    return found.sentence


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (MustLink(2, 3), "a must-link"),
        (CannotLink(0, 1), "a cannot-link"),
        (Implication(2, 3, 0), "an implication"),
        (Label(6, 0), "a known label"),
        (Packing([0, 1, 2], 0, 2), "a count"),
        (Covering([1, 4, 5], 1, 3), "a count"),
        (Partitioning([0, 1, 3], 0, 1), "a count"),
        (MinimumSize(4, 0), "a size limit"),
        (MaximumSize(3, 1), "a size limit"),
    ],
    ids=lambda case: case.kind if isinstance(case, Constraint) else "",
)
def test_a_clustering_that_breaks_one_rule_is_rejected(rule: Constraint, why: str) -> None:
    """Whichever rule it is, and for that reason."""
    under = CLUMPS.replace(constraints=[*CLUMPS.constraints, rule])
    assert f"the clustering violates {why}" in broken(under)


def test_an_implication_for_every_component_is_a_rule() -> None:
    """A statement may have it, although ours write a must-link."""
    assert "the clustering violates an implication" in broken(CLUMPS, implications=[[2, 3, -1]])
    assert "the clustering violates an implication" in broken(CLUMPS, implications=[[3, 2, -1]])


def test_an_empty_component_is_a_size() -> None:
    """Where no component may be empty, a clustering without one is rejected."""
    data = np.array([[0.0], [1.0], [2.0]])
    labels, means, weights = [0, 0, 0], [1.0, 0.0], [1.0, 0.0]
    assert forged(
        Problem(data, 2, variance=1.0, allow_empty=True), labels, means, weights, 1.0, 1e-9
    ).verified
    found = forged(Problem(data, 2, variance=1.0), labels, means, weights, 1.0, 1e-9)
    assert "the clustering violates a size limit" in found.sentence
