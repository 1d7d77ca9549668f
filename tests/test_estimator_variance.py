"""The estimator and the plot of an unknown variance."""

from __future__ import annotations

import numpy as np
import pytest

import certmix
from certmix.errors import InputError
from certmix.plotting import plot_envelope


def data() -> np.ndarray:
    rng = np.random.default_rng(3)
    return 0.5 * rng.normal(size=(40, 2)) + 4.0 * (np.arange(40) % 2)[:, None]


def test_the_variance_is_an_attribute_and_densities_use_it() -> None:
    """Covariances, densities and criteria are those of the variance that was found."""
    model = certmix.CertifiedGaussianMixture(2, variance="unknown").fit(data())
    assert model.variance_ == pytest.approx(0.25, rel=0.5)
    assert np.allclose(model.covariances_[0], model.variance_ * np.eye(2))
    total = model.score_samples(data()).sum()
    assert model.bic(data()) == pytest.approx(-2 * total + 6 * np.log(40))  # 4 means, 1 weight, 1 variance
    assert model.aic(data()) == pytest.approx(-2 * total + 12)


def test_criteria_are_those_of_scikit_learn() -> None:
    """The same mixture has the same densities and samples there, a parameter of the variance more or less."""
    from sklearn.mixture import GaussianMixture

    model = certmix.CertifiedGaussianMixture(2, variance="unknown").fit(data())
    peer = GaussianMixture(2, covariance_type="tied")
    peer.weights_, peer.means_ = model.weights_, model.means_
    peer.covariances_ = model.covariances_[0]
    peer.precisions_cholesky_ = np.linalg.cholesky(model.precisions_[0])
    assert np.allclose(peer.score_samples(data()), model.score_samples(data()))


def test_samples_are_drawn_from_the_mixture() -> None:
    """As many as asked for, near their components' means, the same for the same seed."""
    model = certmix.CertifiedGaussianMixture(2, variance="unknown", random_state=5).fit(data())
    drawn, labels = model.sample(500)
    assert drawn.shape == (500, 2)
    for k in range(2):
        own = drawn[labels == k]
        assert np.allclose(own.mean(axis=0), model.means_[k], atol=0.2)
        assert np.allclose(np.cov(own.T), model.covariances_[0], atol=0.1)
    assert np.array_equal(drawn, model.sample(500)[0])
    with pytest.raises(InputError, match="n_samples"):
        model.sample(0)


def test_a_range_is_a_parameter() -> None:
    """The variance stays within it."""
    model = certmix.CertifiedGaussianMixture(2, variance="unknown", variance_range=(1.0, None)).fit(data())
    assert model.variance_ == 1.0


def test_the_envelope_is_drawn() -> None:
    """Bound, clustering and solves; the bound lies below the clustering everywhere."""
    result = certmix.solve(certmix.Problem(data(), 3, variance="unknown"), verify=False)
    axes = plot_envelope(result)
    bound, _, own, _ = axes.get_lines()[:4]
    assert np.all(bound.get_ydata() <= own.get_ydata() + 1e-3)
    known = certmix.solve(certmix.Problem(data(), 2, variance=1.0), verify=False)
    with pytest.raises(InputError, match="unknown variance"):
        plot_envelope(known)
