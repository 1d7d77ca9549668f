"""A constant column is no error: every engine finds the same clustering with it and without it."""

from __future__ import annotations

import numpy as np
import pytest

from certmix import CertifiedGaussianMixture, GaussianPrior, Problem, solve
from certmix.engines import NAMES
from certmix.verifying import verify

_RNG = np.random.default_rng(0)
DATA = np.concatenate([_RNG.normal(size=(5, 2)), _RNG.normal(size=(5, 2)) + 4])
WITH = np.insert(DATA, 1, 3.3, axis=1)


@pytest.mark.parametrize("engine", [name for name in NAMES if name not in ("dynamic", "bandi")])
def test_every_engine_copes(engine):
    """The value is that without the column, and the bound of a certified engine is as good."""
    plain = solve(Problem(DATA, 2, variance=1.0), engine, threads=1, time_limit=300)
    result = solve(Problem(WITH, 2, variance=1.0), engine, threads=1, time_limit=300)
    assert result.status is plain.status
    assert result.objective == pytest.approx(plain.objective, rel=1e-12)
    assert result.lower_bound <= plain.objective
    np.testing.assert_allclose(result.means[:, 1], 3.3)


@pytest.mark.parametrize("engine", [name for name in NAMES if name != "dynamic"])
def test_samples_that_are_all_alike(engine):
    """When nothing varies, the weights alone decide: one sample, and all the others."""
    result = solve(Problem(np.full((6, 2), 2.5), 2, variance=1.0), engine, threads=1, time_limit=300)
    assert sorted(result.sizes.tolist()) == [1, 5]
    assert result.objective == pytest.approx(-np.log(1 / 6) - 5 * np.log(5 / 6))


OPTIONS = {
    "a full precision": {"precision": [[2, 0.5, 0.1], [0.5, 1, 0.2], [0.1, 0.2, 3]]},
    "a variance for each": {"variance": [1.0, 2.0]},
    "a prior": {"variance": 1.0, "prior": GaussianPrior(mean=1.0, covariance=4.0)},
    "a box": {"variance": 1.0, "mean_bounds": ([0, 0, 0], [5, 2, 5])},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_bounds_hold_with_it(options):
    """Where the column is a feature like any other, the certified engines agree with enumeration."""
    problem = Problem(WITH, 2, **options)
    truth = solve(problem, "enumerate").objective
    for engine in ("interval", "dual", "bnb"):
        result = solve(problem, engine, threads=1, time_limit=300)
        assert result.objective == pytest.approx(truth, rel=1e-9)
        assert truth - 1e-5 * abs(truth) <= result.lower_bound <= truth


@pytest.mark.parametrize("engine", ["enumerate", "dual", "sdp"])
def test_its_certificate_holds(engine):
    """A certificate of data with a constant column is verified."""
    problem = Problem(WITH, 2, variance=1.0)
    result = solve(problem, engine, certificate=True, threads=1)
    assert result.certificate is not None
    assert verify(result.certificate, problem).verified


def test_it_is_named(capsys):
    """The log names the column."""
    problem = Problem(WITH, 2, variance=1.0)
    assert problem.notes == ("column 1 is constant and cannot separate anything",)
    solve(problem, "enumerate", verbose=True)
    assert "note: column 1 is constant" in capsys.readouterr().err


def test_digits_are_accepted():
    """scikit-learn's digits have three constant columns."""
    datasets = pytest.importorskip("sklearn.datasets")
    data = datasets.load_digits().data
    assert len(Problem(data, 10, variance=1.0).samples.constant) == 3
    model = CertifiedGaussianMixture(10, variance=20.0, engine="hard-em", restarts=1).fit(data)
    assert len(set(model.labels_.tolist())) == 10
