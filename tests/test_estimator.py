"""The estimator: scikit-learn's own checks, names, routing, and what it promises beyond them."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import certmix
from certmix import (
    CannotLink,
    CertifiedGaussianMixture,
    DirichletPrior,
    InfeasibleError,
    InputError,
    MustLink,
    Problem,
)


@parametrize_with_checks(
    [
        CertifiedGaussianMixture(3, variance=0.1, engine="hard-em", restarts=2),
        CertifiedGaussianMixture(node_limit=1000, gap=0.05),  # some checks have samples without clusters
    ]
)
def test_scikit_learn_checks(estimator, check):
    """scikit-learn's own estimator checks pass, with no expected failure."""
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([CertifiedGaussianMixture()])
def test_scikit_learn_checks_without_limit(estimator, check):
    """They pass with the defaults too, every fit being certified where ``auto`` tries."""
    check(estimator)


@pytest.fixture
def blobs() -> np.ndarray:
    """Eleven samples in two groups: few enough to enumerate."""
    rng = np.random.default_rng(0)
    return np.vstack([rng.normal(0, 1, (5, 2)), rng.normal(4, 1, (6, 2))])


def test_attributes_agree_with_solve(blobs):
    """fit gives what solve gives on the same problem."""
    model = CertifiedGaussianMixture(2, variance=0.8, engine="enumerate").fit(blobs)
    result = certmix.solve(Problem(blobs, 2, variance=0.8), "enumerate")
    assert model.objective_ == result.objective
    assert model.lower_bound_ == result.lower_bound
    assert model.gap_ == result.gap_relative <= 1e-6
    np.testing.assert_array_equal(model.labels_, result.labels)
    np.testing.assert_array_equal(model.means_, result.means)
    np.testing.assert_array_equal(model.weights_, result.weights)
    assert model.result_.status == "optimal"
    assert model.n_features_in_ == 2


def test_its_proof_is_checked(blobs, monkeypatch):
    """``verify`` is that of ``solve``: within a budget by default, and nothing of it with False."""
    monkeypatch.setattr(certmix.proving, "LEAST_BUDGET", 120.0)  # however busy the machine is
    model = CertifiedGaussianMixture(3, variance=0.1)
    assert model.fit(blobs).result_.certificate_level == "verified"
    assert model.set_params(verify=False).fit(blobs).result_.certificate_level == "computed"
    with pytest.raises(InputError, match="verify must be True, False or 'auto'"):
        model.set_params(verify="yes").fit(blobs)


def test_score_is_the_mixtures_log_density(blobs):
    """score_samples is the log-density of the mixture, normalising constants included; score is its mean."""
    precision = np.array([[1.0, 0.3], [0.3, 2.0]])
    model = CertifiedGaussianMixture(2, precision=precision, engine="enumerate").fit(blobs)
    density = sum(
        w * multivariate_normal(mean, np.linalg.inv(precision)).pdf(blobs)
        for w, mean in zip(model.weights_, model.means_, strict=True)
    )
    np.testing.assert_allclose(model.score_samples(blobs), np.log(density))
    assert model.score(blobs) == pytest.approx(np.log(density).mean())


def test_one_covariance_per_component(blobs):
    """With one variance per component the densities use each component's own."""
    model = CertifiedGaussianMixture(2, variance=[0.5, 2.0], engine="enumerate").fit(blobs)
    density = sum(
        w * multivariate_normal(mean, v * np.eye(2)).pdf(blobs)
        for w, mean, v in zip(model.weights_, model.means_, [0.5, 2.0], strict=True)
    )
    np.testing.assert_allclose(model.score_samples(blobs), np.log(density))


def test_probabilities_add_up_and_agree_with_predict(blobs):
    """predict is the most probable component; probabilities of a far sample are numbers too."""
    model = CertifiedGaussianMixture(2, variance=1.0, engine="enumerate").fit(blobs)
    probabilities = model.predict_proba(np.vstack([blobs, [[1e6, 1e6]]]))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(probabilities[:-1].argmax(axis=1), model.predict(blobs))
    np.testing.assert_array_equal(model.predict(blobs), model.labels_)


def test_missing_values_of_new_samples(blobs):
    """Their density is that of what is there; where that says nothing they are refused."""
    gaps = blobs.copy()
    gaps[2, 1] = gaps[8, 0] = np.nan
    model = CertifiedGaussianMixture(2, variance=[0.5, 2.0], missing="keep").fit(gaps)
    alone = [
        multivariate_normal(model.means_[k, 0], v).pdf(gaps[2, 0]) * model.weights_[k]
        for k, v in enumerate([0.5, 2.0])
    ]
    assert model.score_samples(gaps)[2] == pytest.approx(np.log(sum(alone)))
    np.testing.assert_allclose(model.predict_proba(gaps)[2], np.array(alone) / sum(alone))
    np.testing.assert_array_equal(model.predict(gaps), model.labels_)
    np.testing.assert_array_equal(model.result_.predict(gaps), model.labels_)
    left_out = model.fit(gaps, sample_weight=[1, 1, 0, *[1] * 8])
    assert left_out.labels_[2] == left_out.predict(gaps)[2]
    with pytest.raises(ValueError, match="NaN"):
        CertifiedGaussianMixture(2, variance=1.0).fit(blobs).predict(gaps)
    full = CertifiedGaussianMixture(2, covariance=[[1.0, 0.5], [0.5, 1.0]]).fit(blobs)
    with pytest.raises(InputError, match="sample 2, feature 1: the value is missing, and the covariance"):
        full.result_.predict(gaps)
    with pytest.raises(InputError, match="sample 0, feature 0: the value is inf"):
        full.result_.predict([[np.inf, 0.0]])


def test_predict_ignores_constraints_and_says_so(blobs):
    """Labels obey a constraint that predict, which sees samples one at a time, does not know."""
    model = CertifiedGaussianMixture(2, variance=1.0, engine="enumerate")
    model.fit(blobs, constraints=[MustLink(0, 10)])
    assert model.labels_[0] == model.labels_[10]
    assert model.predict(blobs)[0] != model.predict(blobs)[10]
    assert "ignored" in CertifiedGaussianMixture.predict.__doc__
    assert all(c.satisfied for c in model.result_.constraints)


def test_fit_predict_takes_constraints(blobs):
    """fit_predict returns the constrained labels."""
    model = CertifiedGaussianMixture(2, variance=1.0, engine="enumerate")
    labels = model.fit_predict(blobs, constraints=[CannotLink(0, 1)])
    assert labels[0] != labels[1]
    np.testing.assert_array_equal(labels, model.labels_)


def test_names_of_a_frame_are_kept(blobs):
    """Columns become feature names, the index names the samples in constraints and in the result."""
    frame = pd.DataFrame(blobs, columns=["u", "v"], index=[f"s{i}" for i in range(11)])
    model = CertifiedGaussianMixture(2, variance=1.0, engine="enumerate").fit(
        frame, constraints=[MustLink("s0", "s10")]
    )
    assert model.feature_names_in_.tolist() == ["u", "v"]
    assert model.result_.names[:2] == ("s0", "s1")
    assert model.result_.feature_names == ("u", "v")
    assert model.labels_[0] == model.labels_[10]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["v", "u"]])


def test_duplicated_index_is_no_name(blobs):
    """A frame with a repeating index is clustered; its samples go by position, and a warning says so."""
    frame = pd.DataFrame(blobs, columns=["u", "v"], index=["s"] * 11)
    with pytest.warns(UserWarning, match="'s' twice"):
        assert (
            CertifiedGaussianMixture(2, variance=1.0, engine="enumerate").fit(frame).result_.names[3] == "3"
        )


def test_in_a_pipeline_with_constraints(blobs):
    """Without routing, constraints reach the last step by its name; with routing, by request."""
    constraints = [MustLink(0, 10)]
    model = CertifiedGaussianMixture(2, variance=0.2, engine="enumerate")
    pipeline = make_pipeline(StandardScaler(), model)
    pipeline.fit(blobs, certifiedgaussianmixture__constraints=constraints)
    assert pipeline[-1].labels_[0] == pipeline[-1].labels_[10]
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), clone(model).set_fit_request(constraints=True))
        pipeline.fit(blobs, constraints=constraints)
    assert pipeline[-1].labels_[0] == pipeline[-1].labels_[10]
    assert pipeline.predict(blobs).shape == (11,)
    assert math.isfinite(pipeline.score(blobs))


def test_clone_and_parameters(blobs):
    """clone keeps every parameter, priors and boxes included, and a fitted model can be pickled."""
    model = CertifiedGaussianMixture(
        2,
        covariance=np.eye(2),
        prior=DirichletPrior(2.0),
        mean_bounds=(-10, 10),
        weight_bounds=(0.1, 0.9),
        engine="enumerate",
    )
    assert clone(model).get_params()["prior"] == DirichletPrior(2.0)
    model.fit(blobs)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(blobs), model.predict(blobs))


def test_infeasible_constraints_are_an_error(blobs):
    """Contradictory constraints: InfeasibleError with the reason."""
    model = CertifiedGaussianMixture(2, variance=1.0, engine="enumerate")
    with pytest.raises(InfeasibleError, match="together"):
        model.fit(blobs, constraints=[MustLink(0, 1), CannotLink(0, 1)])
    with pytest.raises(NotFittedError):
        model.predict(blobs)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "at least 1"),
        ({"n_components": 12}, "only 11 samples"),
        ({"n_components": 2.0}, "whole number"),
        ({"variance": -1.0}, "positive"),
        ({"variance": 1.0, "precision": np.eye(2)}, "only one of"),
        ({"weights": "equal"}, "'equal'"),
        ({"engine": "magic"}, "'magic'"),
        ({"gap": -1.0}, "relative gap"),
        ({"time_limit": -1}, "time limit"),
        ({"prior": "strong"}, "'strong'"),
        ({"mean_bounds": (1, 0)}, "exclude everything"),
        ({"random_state": -3}, "seed"),
    ],
)
def test_bad_parameters_are_told_at_fit(blobs, parameters, message):
    """Every wrong parameter is a ValueError at fit that names it."""
    with pytest.raises(InputError, match=message):
        CertifiedGaussianMixture(**{"n_components": 2, **parameters}).fit(blobs)


def test_wrong_constraints_are_told(blobs):
    """A constraint on an absent sample names it."""
    with pytest.raises(InputError, match="99"):
        CertifiedGaussianMixture(2, variance=1.0).fit(blobs, constraints=[MustLink(0, 99)])


@pytest.mark.parametrize("state", [None, 3, np.random.RandomState(3)])
def test_random_states(blobs, state):
    """None, numbers and generators are all taken."""
    model = CertifiedGaussianMixture(2, variance=1.0, engine="enumerate", random_state=state).fit(blobs)
    assert model.result_.status == "optimal"


def test_verbose_logs_to_standard_error(blobs, capsys):
    """verbose=True writes the log, and not to standard output."""
    CertifiedGaussianMixture(2, variance=1.0, engine="enumerate", verbose=True).fit(blobs)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "engine enumerate" in captured.err


def test_one_component_has_certain_probabilities(blobs):
    """With a single component every probability is one."""
    model = CertifiedGaussianMixture(1, variance=1.0, engine="enumerate").fit(blobs)
    np.testing.assert_array_equal(model.predict_proba(blobs), np.ones((11, 1)))


def test_the_number_of_components_is_found_and_proved():
    """Two groups of samples: ``auto`` takes two components, with the interval of their ICL; without bounds it warns."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(10, 2)), rng.normal(7.0, size=(10, 2))])
    model = CertifiedGaussianMixture("auto", n_components_range=(1, 4), variance=1.0).fit(X)
    assert model.n_components_ == 2
    assert model.path_.proved
    assert sorted(np.bincount(model.labels_)) == [10, 10]
    low, high = model.icl_interval_
    assert low <= high < low + 1e-3
    assert model.path_[2].icl == high
    assert CertifiedGaussianMixture(2, variance=1.0).fit(X).icl_interval_[1] == pytest.approx(high)
    with pytest.warns(ConvergenceWarning, match="remain possible"):
        CertifiedGaussianMixture("auto", variance=1.0, engine="hard-em").fit(X)
    with pytest.raises(InputError, match="needs a variance"):
        CertifiedGaussianMixture("auto", weights="uniform").fit(X)
