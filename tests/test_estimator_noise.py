"""Noise in the estimators: label -1, as in hdbscan."""

from __future__ import annotations

import numpy as np
import pytest

from certmix import CertifiedGaussianMixture, CertifiedKMeans, InputError

RNG = np.random.default_rng(2)
DATA = np.concatenate(
    [RNG.normal(size=(8, 2)), RNG.normal(size=(8, 2)) + 9.0, [[30.0, -20.0], [-25.0, 14.0]]]
)


def test_a_mixture_with_noise() -> None:
    """The two samples that are far from both clusters are noise, also when they are predicted."""
    model = CertifiedGaussianMixture(2, variance=1.0, noise="auto", verify=True).fit(DATA)
    assert np.flatnonzero(model.labels_ == -1).tolist() == [16, 17]
    assert np.array_equal(model.predict(DATA), model.labels_)
    assert model.means_.shape == (2, 2)
    assert model.weights_.shape == (2,)
    assert model.noise_weight_ == pytest.approx(2 / 18)
    assert model.weights_.sum() + model.noise_weight_ == pytest.approx(1.0)
    assert model.precisions_.shape == (1, 2, 2)
    assert model.n_components_ == 2
    assert model.result_.certificate_level == "verified"
    assert model.predict_proba(DATA).shape == (18, 3)
    assert model.icl_interval_[0] <= model.icl_interval_[1]
    assert np.exp(model.score_samples([[1e6, 1e6]])[0]) == pytest.approx(
        model.noise_weight_ / np.prod(np.ptp(DATA, axis=0))
    )
    with pytest.raises(InputError, match="noise"):
        model.sample(3)


def test_limits_on_noise() -> None:
    """No more, and no fewer."""
    model = CertifiedGaussianMixture(2, variance=1.0, noise="auto", noise_max=1).fit(DATA)
    assert np.count_nonzero(model.labels_ == -1) == 1
    model = CertifiedGaussianMixture(2, variance=1.0, noise="auto", noise_min=3).fit(DATA)
    assert np.count_nonzero(model.labels_ == -1) == 3
    with pytest.raises(InputError, match="no component 'noise'"):
        CertifiedGaussianMixture(2, variance=1.0, noise_max=1).fit(DATA)


def test_samples_of_weight_zero_may_be_noise() -> None:
    """They have the label of their most probable component."""
    weight = np.ones(18, dtype=int)
    weight[17] = 0
    model = CertifiedGaussianMixture(2, variance=1.0, noise=1e-3).fit(DATA, sample_weight=weight)
    assert model.labels_[16:].tolist() == [-1, -1]


def test_trimmed_k_means() -> None:
    """The inertia is that of the others; new samples go to the nearest centre."""
    model = CertifiedKMeans(2, noise_max=2).fit(DATA)
    assert np.flatnonzero(model.labels_ == -1).tolist() == [16, 17]
    plain = CertifiedKMeans(2).fit(DATA[:16])
    assert model.inertia_ == pytest.approx(plain.inertia_)
    assert model.inertia_lower_bound_ == pytest.approx(plain.inertia_, rel=1e-5)
    assert np.allclose(model.cluster_centers_, plain.cluster_centers_)
    assert set(model.predict(DATA)) == {0, 1}
    assert model.transform(DATA).shape == (18, 2)
