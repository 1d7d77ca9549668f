"""An unknown variance for every feature: the joint optimum against enumeration, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import certmix
from certmix.engines import engine
from certmix.errors import InputError
from certmix.ledger import Ledger
from certmix.options import Options
from certmix.problem import GaussianPrior, MustLink, Problem
from certmix.result import Result
from certmix.selection.criterion import n_parameters
from certmix.status import Status, Tolerances
from certmix.variance.diagonal import DiagonalRun
from random_instances import random_problem
from unknown_variance import agreement, takes_diagonal, with_unknown_diagonal

ROUNDING = 1e-8


def blobs(n: int = 12, d: int = 2, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    apart = 5.0 * (np.arange(n) % 2)[:, None] * np.arange(1, d + 1)
    return rng.normal(size=(n, d)) * np.array([0.3, 2.0, 10.0])[:d] + apart


def assert_agrees(seed: int) -> str:
    """One random problem: its bound is not above the optimum, and a closed run has found it."""
    rng = np.random.default_rng([seed, 78])
    while not takes_diagonal(problem := random_problem(rng, max_samples=6, max_components=3)):
        pass
    problem = with_unknown_diagonal(problem, rng)
    return agreement(problem, rng, f"seed {seed}")


def test_bounds_agree_with_enumeration() -> None:
    """Constraints, weights, priors on them and ranges of all kinds: no bound above the optimum, closed runs equal."""
    found = [assert_agrees(seed) for seed in range(6)]
    assert found.count("optimal") >= 2
    assert set(found) <= {"optimal", "feasible", "infeasible", "unbounded"}


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_bounds_agree_with_enumeration_on_many_problems(block: int) -> None:
    """The same on a thousand problems."""
    for seed in range(10_000 + 100 * block, 10_100 + 100 * block):
        assert assert_agrees(seed) in ("optimal", "feasible", "infeasible", "unbounded"), f"seed {seed}"


def test_every_solve_cuts_off_what_was_lowest() -> None:
    """A run goes from vertex to vertex: no known variances are solved for twice, and a dozen or so are enough."""
    problem = Problem(blobs(30, 3), 2, variance="diagonal")
    run = DiagonalRun(problem, engine("dual"))
    run.take_up(Ledger(problem, Tolerances()), Options(restarts=1))
    run.run()
    at = [tuple(one.scale) for one in run.solved if one.feature is None]  # type: ignore[arg-type]
    assert run.ledger.closed
    assert len(set(at)) == len(at) <= 25


def test_other_units_of_a_feature_change_nothing_else() -> None:
    """A feature times c: the objective grows by n log c, its variance by c^2, and the clustering stays."""
    first = certmix.solve(Problem(blobs(), 2, variance="diagonal"), verify=False)
    second = certmix.solve(Problem(blobs() * [100.0, 1.0], 2, variance="diagonal"), verify=False)
    assert first.status is second.status is Status.OPTIMAL
    assert second.objective - first.objective == pytest.approx(12 * math.log(100.0), rel=1e-9)
    assert np.array_equal(first.labels, second.labels)
    assert np.allclose(second.variance, first.variance * np.array([1e4, 1.0]))  # type: ignore[operator]


def test_it_is_told_saved_and_used(tmp_path: Any) -> None:
    """Variances are in the summary and the files, posteriors and the estimator use them; it is verified."""
    problem = Problem(blobs(), 2, variance="diagonal")
    result = certmix.solve(problem, verify=True)
    assert result.certificate_level == "verified"
    assert "Variances found with the clustering: x0" in result.summary()
    result.save(tmp_path / "result.json")
    assert np.array_equal(Result.load(tmp_path / "result.json").variance, result.variance)  # type: ignore[arg-type]
    model = certmix.CertifiedGaussianMixture(2, variance="diagonal").fit(blobs())
    assert np.allclose(np.diag(model.covariances_[0]), result.variance)
    assert n_parameters(problem) == 2 * 2 + 1 + 2
    local = certmix.solve(problem, "hard-em")
    assert local.objective >= result.lower_bound


def test_a_sample_that_stands_for_several_is_so_many_copies() -> None:
    """Weights of samples count in the variances of features, too."""
    data, times = blobs(6), [1, 3, 1, 1, 2, 1]
    weighted = certmix.solve(Problem(data, 2, variance="diagonal", sample_weight=times), verify=False)
    links = [MustLink(1, 6), MustLink(1, 7), MustLink(4, 8)]
    copied = certmix.solve(
        Problem(data[[0, 1, 2, 3, 4, 5, 1, 1, 4]], 2, variance="diagonal", constraints=links), verify=False
    )
    assert weighted.status is copied.status is Status.OPTIMAL
    assert weighted.objective == pytest.approx(copied.objective, abs=1e-5)


def test_with_one_feature_it_is_the_unknown_variance() -> None:
    """One feature, one variance."""
    data = blobs()[:, :1]
    diagonal = certmix.solve(Problem(data, 2, variance="diagonal"), verify=False)
    unknown = certmix.solve(Problem(data, 2, variance="unknown"), verify=False)
    assert diagonal.objective == unknown.objective


@pytest.mark.parametrize(
    ("data", "arguments", "words"),
    [
        (blobs(d=3).repeat(2, axis=1), {}, "up to 3 features, and there are 6"),
        (blobs(), {"precision": np.eye(2)}, "has no shape"),
        (blobs(), {"prior": GaussianPrior(0.0, 1.0)}, "no prior on the means"),
        (blobs(), {"mean_bounds": (0.0, 1.0)}, "no bounds on them"),
    ],
)
def test_what_cannot_be_had_is_refused(data: np.ndarray, arguments: dict[str, Any], words: str) -> None:
    """Before any work, in words."""
    with pytest.raises(InputError, match=words):
        Problem(data, 2, variance="diagonal", **arguments)


def test_a_feature_of_few_values_has_no_maximum() -> None:
    """Two values and two components: the variance of that feature can be as small as one likes."""
    data = np.column_stack([blobs()[:, 0], np.arange(12) % 2])
    with pytest.raises(InputError, match="no scatter in column 1"):
        certmix.solve(Problem(data, 2, variance="diagonal"))
    limited = Problem(data, 2, variance="diagonal", variance_range=(0.01, None))
    result = certmix.solve(limited, verify=False)
    assert result.status is Status.OPTIMAL
    assert result.variance[1] == 0.01  # type: ignore[index]
