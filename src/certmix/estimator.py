"""The scikit-learn estimator."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from certmix.errors import CertmixError, InfeasibleError, InputError
from certmix.fitting import CertifiedClustering, Given, naming, require_clustering, seed_of
from certmix.mixture import log_joint, most_probable, probabilities
from certmix.problem import Problem
from certmix.result import Result
from certmix.selection.criterion import icl, n_parameters
from certmix.selection.path import Path
from certmix.selection.turns import path
from certmix.solving import solve
from certmix.status import Status

_COVARIANCE = ("variance", "precision", "covariance", "variance_range")
_OF_PROBLEM = (*_COVARIANCE, "weights", "prior", "mean_bounds", "weight_bounds", "noise")


@dataclass(repr=False, eq=False)
class CertifiedGaussianMixture(CertifiedClustering):
    r"""Gaussian mixture clustering with a proof of how good the clustering is.

    ``fit`` minimises, over labels :math:`z`, means :math:`\mu` and weights :math:`\pi`,

    .. math::

        f = \sum_i \Bigl[ \tfrac12 (x_i-\mu_{z_i})^\top P (x_i-\mu_{z_i}) - \log \pi_{z_i} \Bigr]
            - \log p(\mu, \pi)

    subject to side constraints, and reports a lower bound on the minimum: no clustering whatever has an
    :math:`f` smaller than ``lower_bound_``.

    Parameters
    ----------
    n_components : int or "auto", default=2
        ``"auto"`` takes the number in ``n_components_range`` with the smallest ICL; see :func:`certmix.path`.
    n_components_range : pair of int, default=(1, 8)
        Smallest and largest number that ``"auto"`` compares.
    variance, precision, covariance : optional, at most one of them
        The known covariance: a scalar variance (or one per component), or a matrix of shape (d, d), or
        (K, d, d) for one per component.
        ``variance="unknown"`` finds the variance with the clustering; a precision or covariance is then its shape.
        Default: ``"unknown"``; with uniform weights, where the clustering does not depend on it, unit variance.
    variance_range : (smallest, largest), optional
        Of an unknown variance.
    weights : "free", "uniform" or array of shape (n_components,)
        Mixing weights to be found, or fixed.
    prior : "flat", "jeffreys", GaussianPrior, DirichletPrior or a list of them, optional
    mean_bounds, weight_bounds : (lower, upper), optional
        Boxes on the means and on the weights.
    engine : str, default="auto"
        See ``certmix engines``. ``auto`` chooses one that proves its result wherever there is one that can take the
        problem; with a local engine (``hard-em``, ``em``, …) ``lower_bound_`` is minus infinity.
    gap, absolute_gap : float
        Stop when the relative gap, or the absolute gap in nats, is reached.
    time_limit : float, optional
        Seconds. A run that stops there keeps the best clustering and bound it had, with a warning. Without a limit
        ``fit`` takes as long as the proof does, which is long for data without clear clusters.
    node_limit, threads, restarts : int, optional
    n_init : int, optional
        How many starts the local search makes, scikit-learn's name for ``restarts``.
    init : array of shape (n_components, n_features) or (n_samples,), or Result, optional
        Means, labels or an earlier result to start from; the answer is no worse.
    min_size, max_size : int, optional
        How many samples every component has at least, at most.
    missing : "error" or "keep"
        With ``"keep"`` values may be missing (NaN): distances, means and densities are over what is there, for a known
        diagonal covariance.
    noise : density or "auto", optional
        One more component without a mean, for samples that are in no cluster: their label is -1. ``"auto"`` is uniform
        over the box around the samples. The variance must be known.
    noise_max, noise_min : int, optional
        How many samples are noise at most, at least.
    memory_limit : int or str, optional
        Bytes, or a text like ``4G``; as for :func:`certmix.solve`.
    engine_options : dict, optional
        Options of single engines, as :func:`certmix.solve` takes them: ``{"solver": "scip", "logarithm": "chord"}``.
    verify : "auto", True or False
        Whether the proof is checked, so that ``result_.certificate_level`` is ``verified``: within half of the solving
        time (at least a second), however long it takes, or not at all.
    certificate : bool, optional
        Whether to make a certificate, however long it takes; it is ``result_.certificate``.
    random_state : int, RandomState instance or None
        None stands for 0: the same data give the same answer.
    verbose : bool
        Write a log to standard error.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Component of every sample, under all side constraints; -1 for noise.
    means_ : ndarray of shape (n_components, n_features)
    weights_ : ndarray of shape (n_components,)
    noise_weight_ : float
        The weight of the noise; only with ``noise``.
    precisions_ : ndarray of shape (1, n_features, n_features), or (n_components, …) for one per component; beyond 1,000
        features only the diagonals of diagonal matrices, (1, n_features) or (n_components, n_features)
        The known precision, as it was used; of an unknown variance, with the one that was found.
    covariances_ : ndarray of the same shape
        Their inverses.
    variance_ : float
        The variance that was found, where it was unknown.
    objective_ : float
        The value of the clustering found.
    lower_bound_ : float
        Proved lower bound on the value of every clustering; minus infinity when the engine proves nothing.
    gap_ : float
        Relative gap ``(objective_ - lower_bound_) / max(1, |objective_|)``.
    n_components_ : int
        The number of components.
    icl_interval_ : pair of float
        Between which the ICL of the best clustering lies, rounded outwards.
    path_ : Path
        All numbers of components that were compared; only with ``n_components="auto"``. ``path_.proved`` says whether
        the number is proved the best.
    result_ : Result
        Everything about the run: status, trace, constraint satisfaction, ``summary()``.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only when X has feature names that are all strings.

    Examples
    --------
    >>> import numpy as np
    >>> from certmix import CertifiedGaussianMixture, MustLink
    >>> X = np.array([[0.0], [0.2], [4.0], [4.1]])
    >>> model = CertifiedGaussianMixture(2, variance=0.04).fit(X, constraints=[MustLink(0, 1)])
    >>> model.result_.sizes.tolist()
    [2, 2]
    """

    n_components: int | str = 2
    _: KW_ONLY
    n_components_range: Any = (1, 8)
    variance: Any = None
    precision: Any = None
    covariance: Any = None
    variance_range: Any = None
    weights: Any = "free"
    prior: Any = None
    mean_bounds: Any = None
    weight_bounds: Any = None
    restarts: int | None = None
    noise: Any = None

    # -- fitting ---------------------------------------------------------------------------------------------
    def _fit(self, given: Given) -> None:
        own = {name: getattr(self, name) for name in _OF_PROBLEM}

        def make(count: Any) -> Problem:
            return Problem(given.data, count, **own, **given.about)

        if isinstance(self.n_components, str) and self.n_components == "auto":
            self.path_, result = self._best(make, len(given.data))
            problem = make(self.path_.best)
        else:
            with naming():
                problem = make(self.n_components)
            options = self._options(problem, given.kept)
            result = solve(problem, options=options, verbose=self.verbose)
        self._keep(problem, result)

    def _best(self, make: Any, n_samples: int) -> tuple[Path, Result]:
        """The comparison of all numbers of components, and the clustering of the best."""
        try:
            least, most = map(int, self.n_components_range)
        except (TypeError, ValueError):
            raise InputError(
                f"n_components_range must be two numbers, not {self.n_components_range!r}"
            ) from None
        given = any(getattr(self, name) is not None for name in _COVARIANCE)
        if isinstance(self.weights, str) and self.weights == "uniform" and not given:
            raise InputError(
                'n_components="auto" with uniform weights needs a variance: the ICL depends on it'
            )
        if self.init is not None:
            raise InputError(
                'init is about one number of components; with n_components="auto" there are many'
            )
        own = self._options()
        with naming():
            found = path(make, range(least, min(most, n_samples) + 1), options=own, verbose=self.verbose)
        if found.result is None:
            if all(row.status is Status.INFEASIBLE for row in found.rows):
                raise InfeasibleError(found.sentence())
            raise CertmixError(found.sentence())
        if not found.proved:
            warnings.warn(found.sentence(), ConvergenceWarning, stacklevel=4)
        return found, found.result

    def _keep(self, problem: Problem, result: Result) -> None:
        require_clustering(result)
        self.result_ = result
        self.n_components_ = problem.n_clusters
        criterion = icl(problem)
        self.icl_interval_ = criterion.below(result.lower_bound), criterion.above(result.objective)
        self.labels_ = np.array(result.labels)
        self.means_ = np.array(result.means)
        self.weights_ = np.array(result.weights)[: problem.n_clusters]
        if result.weights is not None and result.noise is not None:
            self.noise_weight_ = float(result.weights[-1])
        self.precisions_ = np.array(result.precision)
        self.covariances_ = (
            1.0 / self.precisions_ if self.precisions_.ndim == 2 else np.linalg.inv(self.precisions_)
        )
        if result.variance is not None:
            self.variance_ = result.variance
        self._n_parameters = n_parameters(problem)
        self.objective_ = result.objective
        self.lower_bound_ = result.lower_bound
        self.gap_ = result.gap_relative

    # -- new samples -----------------------------------------------------------------------------------------
    def predict(self, X: Any) -> np.ndarray:
        """The most probable component of every sample, each on its own.

        The side constraints given to ``fit`` are about the samples it saw and are ignored here. So
        ``predict`` on those samples may differ from ``labels_``, which satisfies the constraints.
        """
        check_is_fitted(self, "means_")
        return self._alone(self._validated(X, reset=False))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Posterior probability of every component, noise last, for every sample; ignores side constraints too."""
        return probabilities(self._log_joint(X))

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-density of every sample under the fitted mixture."""
        joint = self._log_joint(X)
        top = joint.max(axis=1)
        return np.asarray(top + np.log(np.exp(joint - top[:, None]).sum(axis=1)))

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-density of the samples under the fitted mixture."""
        return float(self.score_samples(X).mean())

    def bic(self, X: Any) -> float:
        """Bayesian information criterion of the mixture for these samples; smaller is better."""
        density = self.score_samples(X)
        return float(-2.0 * density.sum() + self._n_parameters * np.log(len(density)))

    def aic(self, X: Any) -> float:
        """Akaike information criterion of the mixture for these samples; smaller is better."""
        return float(-2.0 * self.score_samples(X).sum() + 2.0 * self._n_parameters)

    def sample(self, n_samples: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Random samples of the fitted mixture, and their components in ascending order; seeded by ``random_state``."""
        check_is_fitted(self, "means_")
        if self.result_.noise is not None:
            raise InputError("samples cannot be drawn from noise: it has a density, but no place")
        if not isinstance(n_samples, (int, np.integer)) or n_samples < 1:
            raise InputError(f"n_samples must be a whole number >= 1, not {n_samples!r}")
        rng = np.random.default_rng(seed_of(self.random_state))
        sizes = rng.multinomial(n_samples, self.weights_ / self.weights_.sum())
        rows = []
        for k, size in enumerate(sizes):
            own = self.covariances_[min(k, len(self.covariances_) - 1)]
            noise = rng.normal(size=(size, self.n_features_in_))
            away = noise * np.sqrt(own) if own.ndim == 1 else noise @ np.linalg.cholesky(own).T
            rows.append(self.means_[k] + away)
        return np.concatenate(rows), np.repeat(np.arange(len(sizes)), sizes)

    def _log_joint(self, X: Any) -> np.ndarray:
        """``log pi_k + log N(x; mu_k, P_k^-1)`` for every sample and component; the last is the noise."""
        check_is_fitted(self, "means_")
        return self._joint(self._validated(X, reset=False))

    def _joint(self, data: np.ndarray) -> np.ndarray:
        weights = np.append(self.weights_, getattr(self, "noise_weight_", []))
        return log_joint(data, self.means_, weights, self.precisions_, self.result_.noise)

    def _alone(self, data: np.ndarray) -> np.ndarray:
        return most_probable(self._joint(data), len(self.means_))
