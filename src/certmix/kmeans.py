"""K-means as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from certmix.errors import InputError
from certmix.fitting import CertifiedClustering, Given, naming, require_clustering, weights_of
from certmix.problem import Problem
from certmix.result import Result
from certmix.solving import solve


@dataclass(repr=False, eq=False)
class CertifiedKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, CertifiedClustering):
    r"""K-means with a proof of how good the clustering is.

    ``fit`` minimises the sum of squares :math:`\sum_i |x_i - \mu_{z_i}|^2` over labels :math:`z` and centres
    :math:`\mu`, subject to side constraints, and reports a lower bound on the minimum: no clustering whatever has an
    inertia smaller than ``inertia_lower_bound_`` (with links that may bend: none whose broken links cost no more).

    Parameters
    ----------
    n_clusters : int, default=8
    min_size, max_size : int, optional
        How many samples every cluster has at least, at most.
    missing : "error" or "keep"
        With ``"keep"`` values may be missing (NaN): distances and centres are over what is there.
    noise_max, noise_min : int, optional
        Trimmed k-means: at most, at least so many samples are noise, which costs nothing. Their label is -1, and the
        inertia is that of the others. As no noise is ever cheaper, there are ``noise_max`` samples of it, unless side
        constraints or samples at the centres themselves leave fewer.
    engine : str, default="auto"
        See ``certmix engines``. ``auto`` chooses one that proves its result wherever there is one that can take the
        problem; with a local engine (``hard-em``, ``kmeans``, …) ``inertia_lower_bound_`` is minus infinity.
    gap : float
        Stop when the gap, relative to the inertia, is reached.
    absolute_gap : float
        Or this difference of inertias.
    time_limit : float, optional
        Seconds. A run that stops there keeps the best clustering and bound it had, with a warning. Without a limit
        ``fit`` takes as long as the proof does, which is long for data without clear clusters.
    node_limit, threads : int, optional
    n_init : int, optional
        How many starts the local search makes. Default: each engine has its own.
    init : array of shape (n_clusters, n_features) or (n_samples,), or Result, optional
        Centres, labels or an earlier result to start from; the answer is no worse.
    memory_limit : int or str, optional
        Bytes, or a text like ``4G``; as for :func:`certmix.solve`.
    engine_options : dict, optional
        Options of single engines, as :func:`certmix.solve` takes them.
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
        Cluster of every sample, under all side constraints; -1 for noise.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
    inertia_ : float
        Sum of squared distances of the samples to the centres of their clusters, each times its weight.
    inertia_lower_bound_ : float
        Proved: no clustering has a smaller inertia. Minus infinity when the engine proves nothing. With links that may
        bend what is least, and bounded, is the inertia and the penalties of broken links together; this is then the
        bound without ``penalty_``, which no clustering is below whose broken links cost no more.
    penalty_ : float
        What the links cost that are broken; 0 where none may be.
    gap_ : float
        ``(inertia_ - inertia_lower_bound_) / (inertia_ + penalty_)``. Where that sum is less than about a
        hundred-millionth of the inertia of a single cluster, relative to that.
    result_ : Result
        Everything about the run: status, trace, constraint satisfaction, ``summary()``.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only when X has feature names that are all strings.

    Examples
    --------
    >>> import numpy as np
    >>> from certmix import CertifiedKMeans
    >>> X = np.array([[0.0], [0.5], [4.0], [4.5], [9.0]])
    >>> model = CertifiedKMeans(2, max_size=3).fit(X)
    >>> model.labels_.tolist(), model.inertia_
    ([0, 0, 1, 1, 1], 15.291666666666666)
    """

    n_clusters: int = 8

    def _fit(self, given: Given) -> None:
        noise = None if self.noise_max is None and self.noise_min is None else "trimmed"
        try:
            with naming():
                problem = Problem(given.data, self.n_clusters, weights="none", noise=noise, **given.about)
        except InputError as error:
            raise InputError(str(error).replace("n_components", "n_clusters")) from None
        self._keep(solve(problem, options=self._options(problem, given.kept), verbose=self.verbose))

    def _keep(self, result: Result) -> None:
        require_clustering(result)
        self.result_ = result
        self.labels_ = np.array(result.labels)
        self.cluster_centers_ = np.array(result.means)
        self.inertia_ = result.sse
        self.inertia_lower_bound_ = result.sse_lower_bound
        self.penalty_ = result.penalty
        self.gap_ = result.gap_relative

    def fit_transform(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, constraints: Any = None
    ) -> np.ndarray:
        """Cluster the samples and return their distances to the centres."""
        return self.fit(X, y, sample_weight, constraints=constraints).transform(X)

    # -- new samples -----------------------------------------------------------------------------------------
    def predict(self, X: Any) -> np.ndarray:
        """The cluster with the nearest centre for every sample; none is noise.

        The side constraints given to ``fit`` are about the samples it saw and are ignored here. So
        ``predict`` on those samples may differ from ``labels_``, which satisfies the constraints.
        """
        return np.asarray(self._distances(X).argmin(axis=1))

    def transform(self, X: Any) -> np.ndarray:
        """Distance of every sample to every centre, (n_samples, n_clusters)."""
        return self._distances(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the sum of squared distances of the samples to their nearest centres, each times its weight."""
        squares = self._distances(X).min(axis=1) ** 2
        return -float(
            np.sum(squares * weights_of(1.0 if sample_weight is None else sample_weight, len(squares)))
        )

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def _distances(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "cluster_centers_")
        return self._away(self._validated(X, reset=False))

    def _alone(self, data: np.ndarray) -> np.ndarray:
        return np.asarray(self._away(data).argmin(axis=1))

    def _away(self, data: np.ndarray) -> np.ndarray:
        away = np.empty((len(data), len(self.cluster_centers_)))
        for k, centre in enumerate(self.cluster_centers_):
            away[:, k] = np.sqrt(np.nansum((data - centre) ** 2, axis=1))
        return away
