"""Certificates written by somebody who wants a false claim verified: statements, clusterings numbers at the edge."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from claiming import determinant

import certmix
from certmix.certificate.statement import state
from certmix.io.certificates import Certificate
from certmix.problem import CannotLink, DirichletPrior, GaussianPrior, Problem
from certmix.verify import dynamic, enumeration
from certmix.verify import statement as statements
from certmix.verify.check import VERSION, Verdict, check
from certmix.verify.coordinates import coordinates
from certmix.verify.domain import Domain
from certmix.verify.evidence import Evidence, Rejected
from certmix.verify.root import Root
from certmix.verify.rounding import proved_semidefinite
from certmix.verify.statement import data_digest, digest

STEPS = ("enumerate", "dynamic")
LINE = np.array([[0.0], [1.0], [2.0]])


def verdict(
    data: np.ndarray,
    K: int,
    clustering: tuple[Any, Any, Any],
    objective: float,
    bound: float,
    kind: str,
    **said: Any,
) -> Verdict:
    """What the checker says of a certificate of one step about a problem with some entries changed."""
    entry = {**state(Problem(data, K, variance=1.0)), **said}
    document = {
        "format": "certmix-certificate",
        "version": VERSION,
        "claim": "bound",
        "objective": objective,
        "bound": bound,
        "digests": {"statement": digest(entry), "data": data_digest(data)},
        "steps": [{"node": 0, "kind": kind}],
        "statement": entry,
    }
    labels, means, weights = clustering
    arrays = {
        "incumbent/labels": np.array(labels),
        "incumbent/means": np.array(means, dtype=float),
        "incumbent/weights": np.array(weights, dtype=float),
        "tree/parent": np.array([-1]),
        "tree/kind": np.array([0]),
        "tree/args": np.zeros((1, 3), dtype=int),
    }
    return check(document, arrays, data)


def one_cluster(mean: float, precision: float, centre: float) -> float:
    """The objective of LINE in one cluster under a Gaussian prior."""
    return float(0.5 * ((LINE - mean) ** 2).sum() + 0.5 * precision * (mean - centre) ** 2)


@pytest.mark.parametrize("kind", STEPS)
def test_a_prior_that_pushes_is_rejected(kind: str) -> None:
    """With a negative prior precision the objective is lower than without a prior, which may not be left out."""
    clustering = [0, 0, 0], [[1.0]], [1.0]
    said = {"prior_mean": [[5.0]], "prior_precision": [[[2.0]]]}
    fine = one_cluster(13 / 5, 2.0, 5.0)
    assert verdict(LINE, 1, ([0, 0, 0], [[13 / 5]], [1.0]), fine, fine - 1e-6, kind, **said).verified
    said["prior_precision"] = [[[-2.0]]]
    assert one_cluster(-7.0, -2.0, 5.0) < -40.0
    value = one_cluster(1.0, -2.0, 5.0)
    assert not verdict(LINE, 1, clustering, value, value, kind, **said).verified


@pytest.mark.parametrize("kind", STEPS)
def test_numbers_that_overflow_prove_nothing(kind: str) -> None:
    """A prior so strong that squares overflow: what is not a number is no bound."""
    said = {"prior_mean": [[1e60]], "prior_precision": [[[1e200]]]}
    clustering = [0, 0, 0], [[1e60]], [1.0]
    value = one_cluster(1e60, 1e200, 1e60)
    for bound in (value, 1e130):
        assert not verdict(LINE, 1, clustering, value, bound, kind, **said).verified


def rooted(problem: Problem, **said: Any) -> Root:
    return Root(statements.read({**state(problem), **said}), problem.data)


@pytest.mark.parametrize("step", [dynamic.dynamic, enumeration.enumerate_all])
def test_what_is_not_a_number_is_minus_infinity(step: Any) -> None:
    """Even if an overflow were not noticed before, a step would not take it for an impossible clustering."""
    root = rooted(Problem(LINE, 1, variance=1.0, prior=GaussianPrior(2.0, 1.0)))
    root.prior_mean[:] = 1e200
    try:
        with np.errstate(all="ignore"):
            found = step(root, Domain.of(root), Evidence({}, {}), -math.inf)
    except Rejected:
        return
    assert found == -math.inf


def test_semidefinite_is_proved_or_not() -> None:
    """Never of a matrix with a negative eigenvalue, always of a well-conditioned positive definite one."""
    assert proved_semidefinite(np.zeros((2, 2)))
    assert proved_semidefinite(np.diag([0.0, 1e-300]))
    assert not proved_semidefinite(np.diag([1.0, -1e-300]))
    assert not proved_semidefinite(np.ones((2, 2)))  # it is, but there is nothing to spare
    assert not proved_semidefinite(np.array([[1.0, 1.0 + 1e-15], [1.0 + 1e-15, 1.0]]))
    assert not proved_semidefinite(np.array([[0.0, 1e-9], [1e-9, 1.0]]))
    assert proved_semidefinite(np.array([[1.0, 0.999999], [0.999999, 1.0]]))
    assert proved_semidefinite(np.array([[1e200, 1e4], [1e4, 1e-180]]))


def test_an_indefinite_precision_is_rejected() -> None:
    """A factorisation that runs through by rounding alone does not make a matrix positive definite."""
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(400):
        a = rng.normal(size=(3, 2)) @ np.diag(10.0 ** rng.uniform(-3, 3, size=2))
        matrix = a @ a.T  # singular; rounding decides about the sign of its smallest eigenvalue
        matrix = np.triu(matrix) + np.triu(matrix, 1).T
        try:
            _, _, ratio = coordinates(matrix, np.zeros((3, 3)))
        except Rejected:
            refused += 1
            continue
        assert ratio < 1.0
        assert determinant(matrix) > 0
    assert refused > 100


def test_a_bound_above_the_clusterings_own_value_is_rejected() -> None:
    """It contradicts the clustering beside it, whatever the proof."""
    clustering = [0, 0, 0], [[1.0]], [1.0]
    assert verdict(LINE, 1, clustering, 1.0, 1.0 - 1e-9, "enumerate").verified
    found = verdict(LINE, 1, clustering, 1.0, 1.0 + 1e-9, "enumerate")
    assert "above the objective" in found.sentence


def test_tied_parameters_are_what_they_are_tied_to() -> None:
    """Means that are to be averages and weights that are to be shares may not be a little better than that."""
    said = {
        "estimators": ["means", "weights"],
        "prior_mean": [[9.0], [9.0]],
        "prior_precision": [[[1.0]], [[1.0]]],
    }
    alpha = {"alpha": [40.0, 1.0]}
    labels, means, weights = np.array([0, 0, 1]), np.array([0.5, 2.0]), np.array([2 / 3, 1 / 3])

    def value(means: np.ndarray, weights: np.ndarray) -> float:
        quadratic = 0.5 * ((LINE[:, 0] - means[labels]) ** 2).sum() + 0.5 * ((means - 9.0) ** 2).sum()
        return float(quadratic - np.array([2 + 39.0, 1.0]) @ np.log(weights))

    for shift, share, good in ((0.0, 0.0, True), (5e-8, 0.0, False), (0.0, 5e-10, False)):
        m, w = means + shift, weights + share * np.array([1.0, -1.0])
        clustering = labels, m[:, None], w
        found = verdict(LINE, 2, clustering, value(m, w), -1e9, "enumerate", **said, **alpha)
        assert found.verified == good, found.sentence


def test_fixed_weights_respect_their_bounds() -> None:
    """Weights that are fixed outside the bounds on weights satisfy no constraint."""
    clustering = [0, 0, 1], [[0.5], [2.0]], [0.5, 0.5]
    value = 0.25 + 3 * math.log(2)
    said: dict[str, Any] = {"fixed_weights": [0.5, 0.5]}
    assert verdict(LINE, 2, clustering, value, -1e9, "enumerate", **said).verified
    said |= {"weight_lower": [0.6, 0.0], "weight_upper": [1.0, 1.0]}
    assert not verdict(LINE, 2, clustering, value, -1e9, "enumerate", **said).verified


def test_a_problem_is_compared_as_a_whole_even_with_constraints() -> None:
    """Constraints given beside a Problem replace its own; everything else must still be the same."""
    rules = [CannotLink(0, 1)]
    problem = Problem(np.arange(6.0)[:, None], 2, variance=1.0, constraints=rules)
    certificate = certmix.solve(problem, certificate=True).certificate
    assert isinstance(certificate, Certificate)
    assert certmix.verify(certificate, problem, rules).verified
    assert certmix.verify(certificate, problem.replace(constraints=()), rules).verified
    assert not certmix.verify(certificate, problem, [CannotLink(0, 2)]).verified
    assert not certmix.verify(certificate, problem, []).verified
    for other in ({"precision": [[2.0]]}, {"weights": "uniform"}, {"prior": DirichletPrior(2.0)}):
        assert not certmix.verify(certificate, problem.replace(**other), rules).verified


@pytest.mark.parametrize("size", [2**62, 2**31, 7])
def test_sizes_beyond_the_samples_are_no_decisions(size: int) -> None:
    """Numbers that could wrap around are refused."""
    problem = Problem(np.arange(6.0)[:, None], 2, variance=1.0)
    result = certmix.solve(problem, certificate=True)
    assert result.certificate is not None
    arrays = dict(result.certificate.arrays)
    arrays["tree/parent"], arrays["tree/kind"] = np.array([-1, 0, 0]), np.array([0, 3, 4])
    arrays["tree/args"] = np.array([[0, 0, 0], [0, 3, 0], [0, 3, 0]])
    steps = [{"node": 1, "kind": "enumerate"}, {"node": 2, "kind": "enumerate"}]
    document = {**result.certificate.document, "steps": steps, "bound": result.objective - 1.0}
    assert check(document, arrays, problem.data).verified
    arrays["tree/args"] = np.array([[0, 0, 0], [0, size, 0], [0, size, 0]])
    assert not check(document, arrays, problem.data).verified


def test_large_full_matrices_are_refused() -> None:
    """A full matrix of more than a thousand features is refused in a sentence; the diagonal of one is not."""
    d = 1001
    data = np.arange(2.0 * d).reshape(2, d)
    matrix = np.eye(d)
    matrix[0, 1] = matrix[1, 0] = 0.5
    clustering = [0, 0], [data.mean(axis=0)], [1.0]
    value = 0.5 * float(((data - data.mean(axis=0)) ** 2).sum())
    assert verdict(data, 1, clustering, value, 0.0, "enumerate").verified
    for entry, matrices in {"precision": [matrix.tolist()], "prior_precision": [matrix.tolist()]}.items():
        found = verdict(data, 1, clustering, value, 0.0, "enumerate", **{entry: matrices})
        assert not found.verified
        assert "its matrices of 1,001 x 1,001 numbers are too large to check" in found.sentence


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("alpha", [1e101, 1.0]),
        ("half_log_det", [-1e308, 0.0]),
        ("mean_upper", [[1e200], [None]]),
        ("precision", [[1e-101]]),
        ("prior_precision", [[1e-300], [1.0]]),
    ],
)
def test_numbers_beyond_all_measure_are_rejected(name: str, value: Any) -> None:
    """Sums of larger ones would overflow, and shares of smaller ones would be lost."""
    with pytest.raises(Rejected):
        statements.read({**state(Problem(LINE, 2, variance=1.0)), name: value})


def test_samples_without_end_are_not_counted() -> None:
    """Sizes of that many samples are not listed, before the data have been looked at."""
    entry = {**state(Problem(LINE, 2, variance=1.0)), "n_samples": 10**9, "estimators": ["weights"]}
    with pytest.raises(Rejected, match="at a time"):
        statements.read(entry)


def test_rounding_of_the_smallest_numbers_is_accounted_for() -> None:
    """The squares of tiny samples are rounded to twice themselves, so nothing above zero is proved of them."""
    tiny = np.array([[1.6e-162], [-1.6e-162]])
    root = Root(statements.read({**state(Problem(LINE[:2], 1, variance=1.0))}), tiny)
    assert enumeration.enumerate_all(root, Domain.of(root), Evidence({}, {}), 1.0) <= 0.0
