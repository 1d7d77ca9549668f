"""Noise: one more component without a mean, against a sum over all labellings that knows nothing of the program."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certmix import InputError, Problem, path, solve, verify
from certmix.certificate.statement import state
from certmix.errors import UnsupportedError
from certmix.problem import (
    CannotLink,
    DirichletPrior,
    GaussianPrior,
    Label,
    MaximumSize,
    MinimumSize,
    MustLink,
)
from certmix.problem.noise import Noise
from certmix.result import Result
from certmix.verify.evidence import Rejected
from certmix.verify.statement import read

DATA = np.random.default_rng(5).normal(size=(7, 2)) + np.array(
    [[5.0, 0.0]] * 3 + [[0.0, 0.0]] * 3 + [[20.0, 9.0]]
)
CERTIFIED = ("enumerate", "interval", "dual", "sdp", "parts")


def best(
    data: np.ndarray, variance: float, density: float, least: int = 0, most: int = 7
) -> tuple[float, Any]:
    """The least cost of two clusters and noise, from the densities: an empty cluster is not allowed."""
    n, d = data.shape
    found: tuple[float, Any] = (math.inf, None)
    for labels in itertools.product((0, 1, -1), repeat=n):
        z = np.array(labels)
        sizes = [np.count_nonzero(z == k) for k in (0, 1, -1)]
        if min(sizes[:2]) < 1 or not least <= sizes[2] <= most:
            continue
        cost = 0.0
        for k, size in zip((0, 1), sizes, strict=False):
            away = data[z == k] - data[z == k].mean(axis=0)
            gaussian = 0.5 * (away**2).sum() / variance + 0.5 * size * d * math.log(2 * math.pi * variance)
            cost += gaussian - size * math.log(size / n)
        if sizes[2]:
            cost -= sizes[2] * (math.log(density) + math.log(sizes[2] / n))
        if cost < found[0]:
            found = cost, z
    return found


def trimmed(data: np.ndarray, most: int) -> float:
    """The least sum of squares of two clusters without so many samples."""
    every = itertools.product((0, 1, 2), repeat=len(data))
    labels = [np.array(z) for z in every if z.count(2) == most and 0 in z and 1 in z]
    return min(sum(((data[z == k] - data[z == k].mean(axis=0)) ** 2).sum() for k in (0, 1)) for z in labels)


@pytest.mark.parametrize("engine", CERTIFIED)
@pytest.mark.parametrize("limits", [(0, 7), (0, 0), (3, 3), (2, 7)])
def test_the_optimum_is_that_of_all_labellings(engine: str, limits: tuple[int, int]) -> None:
    """The objective leaves out d/2 log 2 pi for every sample, in clusters and in the noise."""
    density = 0.002
    rules = [MinimumSize(limits[0], "noise"), MaximumSize(limits[1], "noise")]
    given = {"part_size": 4} if engine == "parts" else {}
    problem = Problem(DATA, 2, variance=0.7, noise=density, constraints=rules)
    result = solve(problem, engine, verify=True, **given)  # type: ignore[arg-type]
    cost, labels = best(DATA, 0.7, density, *limits)
    assert result.objective + 7 * math.log(2 * math.pi) == pytest.approx(cost, rel=1e-9)
    assert result.labels is not None
    assert np.array_equal(result.labels < 0, labels < 0)
    assert (result.status, result.certificate_level) == ("optimal", "verified")


@pytest.mark.parametrize("engine", CERTIFIED)
@pytest.mark.parametrize("most", [1, 3])
def test_trimmed_k_means(engine: str, most: int) -> None:
    """Noise costs nothing in k-means, and holds as many samples as it may."""
    problem = Problem(DATA, 2, weights="none", noise="trimmed", constraints=[MaximumSize(most, "noise")])
    result = solve(problem, engine, verify=True)
    assert result.sse == pytest.approx(trimmed(DATA, most), rel=1e-9)
    assert result.sizes is not None
    assert result.sizes[-1] == most
    assert (result.status, result.certificate_level) == ("optimal", "verified")


def test_hard_em_finds_noise() -> None:
    """The local search has the same objective."""
    problem = Problem(DATA, 2, variance=0.7, noise=0.002)
    assert solve(problem, "hard-em").objective == pytest.approx(solve(problem).objective, rel=1e-9)


def test_priors_boxes_and_full_matrices_are_those_of_the_clusters() -> None:
    """Whatever is said of means and weights is not said of the noise; all engines agree."""
    problem = Problem(
        DATA,
        2,
        covariance=np.array([[0.8, 0.2], [0.2, 0.5]]),
        noise=0.01,
        prior=[GaussianPrior(0.0, 9.0), DirichletPrior([1.5, 2.0])],
        weight_bounds=(0.1, 0.8),
        constraints=[MinimumSize(2)],
    )
    assert problem.size_lower.tolist() == [2, 2, 0]
    assert problem.prior.alpha.tolist() == [1.5, 2.0, 1.0]
    assert (problem.weight_lower[-1], problem.weight_upper[-1]) == (0.0, 1.0)
    known = solve(problem, "enumerate")
    assert known.status == "optimal"
    for engine in ("interval", "dual", "sdp"):
        assert solve(problem, engine).objective == pytest.approx(known.objective, rel=1e-6)


def test_samples_that_do_not_vary_in_a_feature() -> None:
    """The checker drops that feature for clusters and noise alike."""
    data = np.column_stack([DATA, np.full(7, 3.0)])
    result = solve(Problem(data, 2, variance=0.7, noise=0.002), "interval")
    assert (result.status, result.certificate_level) == ("optimal", "verified")


def test_links_and_labels_see_noise_as_a_component() -> None:
    """Samples that may not be together are not both noise; a label may say that a sample is noise."""
    rules = [CannotLink(0, 6), Label(0, "noise"), MustLink(1, 2)]
    labels = solve(Problem(DATA, 2, variance=0.7, noise=0.002, constraints=rules)).labels
    assert labels is not None
    assert labels[0] == -1 != labels[6]
    same = Problem(DATA, 2, variance=0.7, noise=0.002, constraints=[Label(0, -1), *rules[:1], rules[2]])
    assert state(same) == state(Problem(DATA, 2, variance=0.7, noise=0.002, constraints=rules))


def test_weighted_samples_and_noise() -> None:
    """Noise counts copies: a sample that stands for two fills a limit of two."""
    weight = [1, 1, 1, 1, 1, 1, 2]
    rules = [MaximumSize(1, "noise")]
    labels = solve(
        Problem(DATA, 2, variance=0.7, noise=0.002, sample_weight=weight, constraints=rules)
    ).labels
    assert labels is not None
    assert labels[6] != -1
    rules = [MaximumSize(2, "noise")]
    problem = Problem(DATA, 2, variance=0.7, noise=0.002, sample_weight=weight, constraints=rules)
    result = solve(problem, verify=True)
    assert result.labels is not None
    assert result.labels[6] == -1
    assert result.certificate_level == "verified"


def test_auto_is_uniform_over_the_box() -> None:
    """Its density is one by the volume."""
    noise = Problem(DATA, 2, variance=1.0, noise="auto").noise
    assert noise is not None
    assert noise.log_density == pytest.approx(-np.log(np.ptp(DATA, axis=0)).sum())


def test_a_result_with_noise_is_saved_and_loaded(tmp_path: Path) -> None:
    """Label -1, one weight more than means, and who is far from everything is predicted to be noise."""
    result = solve(Problem(DATA, 2, variance=0.7, noise=0.002), certificate=True)
    loaded = Result.load(result.save(tmp_path / "result"))
    for one in (result, loaded):
        assert one.labels is not None
        assert one.labels.tolist() == result.labels.tolist()  # type: ignore[union-attr]
        assert one.means is not None
        assert one.weights is not None
        assert one.sizes is not None
        assert (len(one.means), len(one.weights), one.n_clusters) == (2, 3, 2)
        assert one.sizes[-1] == np.count_nonzero(one.labels == -1) > 0
        assert one.component_names[-1] == "noise"
        assert one.noise == Noise(math.log(0.002))
        assert one.predict([[100.0, 100.0], DATA[0]]).tolist() == [-1, one.labels[0]]
        assert one.predict_proba(DATA).shape == (7, 3)
    assert "2 and noise" in result.summary()
    assert loaded.to_pandas()["component"].tolist()[-1] == "noise"


def test_a_clustering_with_noise_can_be_a_start() -> None:
    """Its label is -1 there, too."""
    problem = Problem(DATA, 2, variance=0.7, noise=0.002)
    result = solve(problem)
    again = solve(problem, "hard-em", start=result)
    assert again.labels is not None
    assert again.objective == pytest.approx(result.objective)
    assert solve(problem, "hard-em", start=result.labels).objective == pytest.approx(result.objective)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"noise": 0.1}, "with noise the variance must be known"),
        ({"noise": 0.1, "variance": "unknown"}, "with noise the variance must be known"),
        ({"noise": -1.0, "variance": 1.0}, "must be a positive number, not -1.0"),
        ({"noise": "autos", "variance": 1.0}, "did you mean 'auto'"),
        ({"noise": "trimmed", "variance": 1.0}, "is for k-means"),
        ({"noise": 0.1, "weights": "none"}, "noise='trimmed'"),
        ({"noise": "trimmed", "weights": "none"}, "say how many samples it may have"),
        ({"noise": 0.1, "variance": 1.0, "weights": [0.5, 0.5]}, "weights must be 3 numbers"),
        ({"noise": 0.1, "variance": 1.0, "component_names": ["a", "noise"]}, "stands twice"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Problem(DATA, 2, **given)


def test_auto_needs_a_volume() -> None:
    data = np.column_stack([DATA, np.ones(7)])
    with pytest.raises(InputError, match="no volume: column 2"):
        Problem(data, 2, variance=1.0, noise="auto")


@pytest.mark.parametrize("engine", ["bnb", "kmeans", "em", "variational", "minlp"])
def test_engines_that_do_not_know_noise_say_so(engine: str) -> None:
    with pytest.raises(UnsupportedError, match=r"does not handle noise \(engines that can: .*interval"):
        solve(Problem(DATA, 2, variance=1.0, noise=0.1), engine)


def test_paths_do_not_know_noise() -> None:
    """Before any work."""
    with pytest.raises(InputError, match="noise"):
        path(DATA, range(1, 3), variance=1.0, noise=0.1)


def test_noise_can_be_changed_and_taken_away() -> None:
    """The covariance and the prior of the clusters stay."""
    plain = Problem(DATA, 2, variance=0.7, prior=DirichletPrior(2.0))
    noisy = plain.replace(noise=0.002)
    assert state(noisy) == state(Problem(DATA, 2, variance=0.7, prior=DirichletPrior(2.0), noise=0.002))
    assert state(noisy.replace(noise=0.5)) == state(plain.replace(noise=0.5))
    assert state(noisy.replace(noise=None)) == state(plain)
    more = Problem(DATA, 2, variance=0.7, noise=0.002).replace(n_components=3)
    assert state(more) == state(Problem(DATA, 3, variance=0.7, noise=0.002))


def test_a_certificate_says_how_dense_the_noise_is() -> None:
    """Of another density it proves nothing."""
    problem = Problem(DATA, 2, variance=0.7, noise=0.002, constraints=[MaximumSize(3, "noise")])
    certificate = solve(problem, certificate=True).certificate
    assert certificate is not None
    assert verify(certificate, problem).verified
    other = problem.replace(noise=0.001)
    assert verify(certificate, other).sentence.endswith("it differs in covariance.")
    assert not verify(certificate, problem.replace(noise=None, constraints=())).verified
    assert verify(certificate, DATA, constraints=[MaximumSize(3, "noise")]).verified
    assert not verify(certificate, DATA, constraints=[MaximumSize(2, "noise")]).verified


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prior_precision": [[1.0, 1.0]] * 3}, "precision zero"),
        ({"variance": [0.0, None]}, "precision zero"),
        ({"half_log_det": [0.0, 0.5, 1.0]}, "half_log_det"),
        ({"alpha": [1.0, 1.0, 0.5]}, "no minimum"),
    ],
)
def test_the_checker_refuses_what_cannot_be_said_of_noise(change: dict[str, Any], message: str) -> None:
    """Half a log-determinant is the statement's to say for noise alone."""
    stated = state(Problem(DATA, 2, variance=0.7, noise=0.002))
    assert read(stated).without_mean.tolist() == [False, False, True]
    with pytest.raises(Rejected, match=message):
        read({**stated, **change})


def test_soft_links_beside_noise() -> None:
    """A penalty is paid where one of two samples is noise, and the optimum is that of all labellings."""
    rules = [MustLink(0, 3, penalty=1.3), CannotLink(4, 5, penalty=2.0)]
    problem = Problem(DATA[:6], 2, variance=0.7, noise=0.02, constraints=rules)
    labellings = [np.array(z) for z in itertools.product((0, 1, -1), repeat=6) if 0 in z and 1 in z]
    least = min(problem.objective.best(z).value for z in labellings)
    result = solve(problem, "interval")
    assert result.objective == pytest.approx(least, rel=1e-9)
    assert (result.status, result.certificate_level) == ("optimal", "verified")
