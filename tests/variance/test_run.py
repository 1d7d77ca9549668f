"""An unknown variance: the joint optimum over clusterings and sigma^2, against enumeration and known values."""

from __future__ import annotations

import math

import numpy as np
import pytest

import certmix
from certmix.errors import InputError
from certmix.problem import GaussianPrior, Problem
from certmix.status import Status, Termination
from unknown_variance import best_value, truth_with_variance

ROUNDING = 1e-8


def blobs(n: int = 12, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)) + 6.0 * (np.arange(n) % 2)[:, None]


def iris() -> np.ndarray:
    from sklearn.datasets import load_iris

    return np.asarray(load_iris().data)


@pytest.mark.parametrize(
    ("components", "objective", "variance", "sizes"),
    [(2, -13.80592, 0.253913, [53, 97]), (3, -146.92568, 0.131419, [50, 62, 38])],
)
def test_iris(components: int, objective: float, variance: float, sizes: list[int]) -> None:
    """The optimum over clusterings and the variance is proved in a few solves at known variances."""
    result = certmix.solve(Problem(iris(), components, variance="unknown"), verify=False)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(objective, abs=1e-5)
    assert result.variance == pytest.approx(variance, abs=1e-6)
    assert result.sizes is not None
    assert result.sizes.tolist() == sizes
    assert result.envelope is not None
    assert len(result.envelope) <= 10
    assert result.variance_interval is not None
    low, high = result.variance_interval
    assert low < result.variance < high


def test_the_clustering_is_optimal_at_every_variance_of_the_interval() -> None:
    """Solved at known variances inside of the interval, nothing is better by more than the gap that was asked for."""
    problem = Problem(blobs(14, 3), 3, variance="unknown")
    result = certmix.solve(problem, verify=False)
    assert result.variance_interval is not None
    allowed = result.tolerances.allowed(result.objective)
    low, high = result.variance_interval
    for variance in np.geomspace(max(low, 1e-3), min(high, 1e3), 7):
        known = problem.at_scale(1.0 / variance)
        own = known.objective.best(result.labels).value
        best = certmix.solve(known, verify=False, gap=1e-9)
        assert own <= best.objective + allowed + 1e-8


@pytest.mark.parametrize("c", [37.0, 1e-80, 1e80])
def test_scaled_data_shift_the_objective_and_nothing_else(c: float) -> None:
    """With c times the data the objective is n d log c more, and the clustering is the same."""
    data = blobs(20, 1)
    one = certmix.solve(Problem(data, 3, variance="unknown"), verify=False)
    other = certmix.solve(Problem(c * data, 3, variance="unknown"), verify=False)
    assert one.status == other.status == "optimal"
    assert np.array_equal(one.labels, other.labels)
    assert other.objective == pytest.approx(one.objective + data.size * math.log(c), rel=1e-9)
    assert other.variance == pytest.approx(c**2 * one.variance, rel=1e-9)


def test_a_shape_adds_its_determinant() -> None:
    """A shape is a change of coordinates: the objective in whitened ones, plus n/2 log det of the shape."""
    data, shape = blobs(16, 2), np.array([[2.0, 0.6], [0.6, 1.0]])
    shaped = certmix.solve(Problem(data, 2, variance="unknown", covariance=shape), verify=False)
    whitened = data @ np.linalg.inv(np.linalg.cholesky(shape)).T
    plain = certmix.solve(Problem(whitened, 2, variance="unknown"), verify=False)
    added = 0.5 * len(data) * np.linalg.slogdet(shape)[1]
    assert shaped.objective == pytest.approx(plain.objective + added, abs=1e-6)
    assert shaped.variance == pytest.approx(plain.variance, rel=1e-8)


def test_uniform_weights_take_one_solve() -> None:
    """Then the clustering does not depend on the variance: one known variance says all."""
    result = certmix.solve(Problem(blobs(20, 4), 3, variance="unknown", weights="uniform"), verify=False)
    assert result.status is Status.OPTIMAL
    assert result.envelope is not None
    assert len(result.envelope) == 2  # with the end at eta = 0


@pytest.mark.parametrize("limits", [(3.0, None), (None, 0.05), (3.0, 4.0)])
def test_a_range_binds(limits: tuple[float | None, float | None]) -> None:
    """A variance outside of its range is moved to the nearer end, and the optimum is proved there."""
    problem = Problem(blobs(9, 5), 2, variance="unknown", variance_range=limits)
    result = certmix.solve(problem, verify=False)
    assert result.status is Status.OPTIMAL
    assert result.variance == (limits[0] or limits[1])
    assert result.objective == pytest.approx(truth_with_variance(problem).optimum, abs=1e-5)


def test_an_unbounded_likelihood_is_refused_before_any_work() -> None:
    """Samples in no more places than components: the error names the option that helps."""
    data = np.array([0.1, 0.1, 0.1, 0.7, 0.7])[:, None]
    with pytest.raises(InputError, match="--variance-range"):
        certmix.solve(Problem(data, 2, variance="unknown"))
    bounded = certmix.solve(Problem(data, 2, variance="unknown", variance_range=(1e-3, None)), verify=False)
    assert bounded.status is Status.OPTIMAL
    assert bounded.variance == 1e-3


def test_a_prior_on_the_means_can_have_two_best_variances() -> None:
    """The prior pulls at the mean, and more so at a large variance: the better of two local minima is taken."""
    data = np.array([-0.1, 0.0, 0.1, 0.05])[:, None] + 10.0
    for strength in (0.3, 1.0, 3.0, 10.0, 30.0):
        prior = GaussianPrior(mean=0.0, covariance=strength)
        problem = Problem(data, 1, variance="unknown", prior=prior)
        labels = np.zeros(4, dtype=np.int64)
        assert problem.objective.best(labels).value == pytest.approx(best_value(problem, labels), abs=1e-9)


@pytest.mark.parametrize("variance", ["unknown", "diagonal"])
def test_values_too_near_to_each_other_are_refused(variance: str) -> None:
    """Squares that vanish, or scales that overflow, are an error in words; a smallest variance makes them harmless."""
    for unit in (1e-82, 1e-155, 1e-200):
        with pytest.raises(InputError, match="rescale"):
            certmix.solve(Problem(unit * blobs(), 2, variance=variance))
    near = Problem(1e-155 * blobs(), 2, variance=variance, variance_range=(1e-3, None))
    assert certmix.solve(near, verify=False).status is Status.OPTIMAL


@pytest.mark.parametrize("engine", ["interval", "dual", "sdp", "parts"])
def test_every_engine_can_be_inside(engine: str) -> None:
    """The engine that is asked for solves the problems with known variances."""
    problem = Problem(blobs(30, 6), 2, variance="unknown")
    result = certmix.solve(problem, engine, verify=False)
    assert result.engine == engine
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(certmix.solve(problem, verify=False).objective, rel=1e-6)


def test_a_local_engine_proves_nothing() -> None:
    """It finds a clustering and a variance, and no bound."""
    result = certmix.solve(Problem(blobs(30, 6), 2, variance="unknown"), "hard-em")
    assert result.termination is Termination.CONVERGED
    assert result.lower_bound == -math.inf
    assert result.variance is not None


def test_a_run_that_is_cut_short_has_a_bound() -> None:
    """The bound of the whole follows from what the solves at known variances have proved until then."""
    rng = np.random.default_rng(8)
    problem = Problem(rng.normal(size=(60, 3)), 4, variance="unknown")
    result = certmix.solve(problem, "interval", node_limit=300, verify=False)
    assert result.status is Status.FEASIBLE
    assert result.termination is Termination.NODES
    assert math.isfinite(result.lower_bound)


def test_predictions_use_the_variance_that_was_found(tmp_path: object) -> None:
    """A result has the precision of the mixture that was found, also after it was saved."""
    result = certmix.solve(Problem(blobs(20, 7), 2, variance="unknown"), verify=False)
    assert result.variance is not None
    assert result.precision is not None
    assert np.allclose(result.precision[0], np.eye(2) / result.variance)
    loaded = certmix.Result.load(result.save(f"{tmp_path}/r"))
    assert loaded.variance == result.variance
    assert loaded.variance_interval == result.variance_interval
    assert np.array_equal(loaded.envelope, result.envelope)
    assert "Variance" in loaded.summary()


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"variance": "unknown", "variance_range": (2.0, 1.0)}, "smallest < largest"),
        ({"variance": "unknown", "variance_range": 3.0}, "pair"),
        ({"variance": 1.0, "variance_range": (1.0, 2.0)}, "not unknown"),
        ({"variance": "any"}, "'unknown'"),
    ],
)
def test_what_is_wrong_is_said(arguments: dict[str, object], word: str) -> None:
    """Options that make no sense are refused in words."""
    with pytest.raises(InputError, match=word):
        Problem(blobs(), 2, **arguments)  # type: ignore[arg-type]
