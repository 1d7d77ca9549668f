"""What the estimators share: options from parameters, names of samples and features, and what a fit must have."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from certmix.errors import CertmixError, InfeasibleError, InputError
from certmix.local.rounding import rounded_labels
from certmix.options import Options, checked_engine_options, options_of
from certmix.presolve.instance import reduce
from certmix.problem import Problem, is_feasible
from certmix.problem.constraints import is_blank, size_limits
from certmix.problem.hardening import hardened
from certmix.problem.measurements import refuse_kinds
from certmix.problem.problem import MISSING
from certmix.problem.rules import listed
from certmix.result import Result
from certmix.status import Status, Termination


class Given(NamedTuple):
    """The samples of a fit: all, which of them count where some do not, and what a problem is made of."""

    every: np.ndarray
    kept: np.ndarray | None
    data: Any
    about: dict[str, Any]


@dataclass(repr=False, eq=False)
class CertifiedClustering(ClusterMixin, BaseEstimator):
    """A clustering estimator whose parameters hold, among others, the options of a run.

    Parameters are fields: scikit-learn reads them from the ``__init__`` that a dataclass has.
    """

    _: KW_ONLY
    min_size: int | None = None
    max_size: int | None = None
    noise_max: int | None = None
    noise_min: int | None = None
    missing: str = "error"
    engine: str = "auto"
    gap: float = 1e-6
    absolute_gap: float = 0.0
    time_limit: float | None = None
    node_limit: int | None = None
    memory_limit: int | str | None = None
    threads: int | None = None
    random_state: Any = None
    n_init: int | None = None
    init: Any = None
    engine_options: dict[str, Any] | None = None
    verify: Any = "auto"
    certificate: bool | None = None
    verbose: bool = False
    labels_: np.ndarray = field(init=False)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, constraints: Any = None) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            The index of a DataFrame names the samples.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How many samples each stands for: whole numbers, which sizes count too; or, for k-means and for weights of
            components that are fixed, how much each counts, any positive numbers. One of weight 0 is left out, and has
            the label of its most probable component, or nearest centre.
        constraints : iterable of constraints, optional
            Side constraints (:class:`certmix.MustLink` and so on), by sample name or position.

        Returns
        -------
        self

        Raises
        ------
        InfeasibleError
            When the constraints contradict each other; the message names a smallest set that does.
        """
        given = self._given(X, sample_weight, constraints)
        self._fit(given)
        if given.kept is not None:
            labels = np.array(self._alone(given.every))
            labels[given.kept] = self.labels_
            self.labels_ = labels
        return self

    def fit_predict(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, constraints: Any = None
    ) -> np.ndarray:
        """Cluster the samples and return ``labels_``."""
        return np.array(self.fit(X, y, sample_weight, constraints=constraints).labels_)

    def _fit(self, given: Given) -> None:
        """Cluster the samples that count."""
        raise NotImplementedError

    def _alone(self, data: np.ndarray) -> np.ndarray:
        """The component in which each sample would be by itself."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "keep"
        return tags

    def _validated(self, X: Any, *, reset: bool = True) -> np.ndarray:
        """Samples, in which values may be missing if that is kept."""
        if self.missing not in MISSING:
            raise InputError(f"missing must be 'error' or 'keep', not {self.missing!r}")
        finite: Any = "allow-nan" if self.missing == "keep" else True
        return np.asarray(validate_data(self, X, dtype=np.float64, reset=reset, ensure_all_finite=finite))

    def _options(self, problem: Problem | None = None, kept: np.ndarray | None = None) -> Options:
        """The options that are parameters here, and those of single engines; ``init`` is about the problem."""
        own = {name: value for name, value in vars(self).items() if name in options_of(Options)}
        specific = checked_engine_options(self.engine_options)
        if self.n_init not in (None, "auto"):
            if own.get("restarts") is not None:
                raise InputError("n_init and restarts are two names of one thing: give one of them")
            if not isinstance(self.n_init, (int, np.integer)) or self.n_init < 1:
                raise InputError(f"n_init must be a whole number >= 1, or 'auto', not {self.n_init!r}")
            own["restarts"] = self.n_init
        own["start"] = None if problem is None else _start(self.init, problem, kept)
        return Options(**own, **specific, seed=seed_of(self.random_state))

    def _named(self, data: np.ndarray, names: list[Any] | None) -> Any:
        """The validated data, with the names of their features where there are any."""
        columns = getattr(self, "feature_names_in_", None)
        if columns is None:
            return data
        import pandas as pd

        return pd.DataFrame(data, columns=columns, index=names)

    def _given(self, X: Any, sample_weight: Any, constraints: Any) -> Given:
        """What is given to ``fit``, validated. A weight of zero leaves a sample out, as scikit-learn has it."""
        refuse_kinds(X)
        names = sample_names(X, constraints)
        every = data = self._validated(X)
        weight = kept = None
        if sample_weight is not None:
            weight = weights_of(sample_weight, len(data))
            if not weight.any():
                raise InputError("all sample weights are zero")
            if not weight.all():
                kept = weight != 0.0
                known = list(range(len(data))) if names is None else names
                data, weight = data[kept], weight[kept]
                names = [known[i] for i in np.flatnonzero(kept)]
        about = {
            "constraints": listed(constraints) + size_limits(self),
            "names": names,
            "sample_weight": weight,
            "missing": self.missing,
        }
        return Given(every, kept, self._named(data, names), about)


def weights_of(given: Any, n_samples: int) -> np.ndarray:
    """Weights as numbers, one for each sample; one number is that of all."""
    try:
        found = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("sample_weight must be numbers, one for each sample") from None
    if found.ndim and found.shape != (n_samples,):
        raise InputError(
            f"sample_weight must be {n_samples} numbers, one for each sample; it has shape {found.shape}"
        )
    wrong = np.flatnonzero(~(np.isfinite(found) & (found >= 0.0)))
    if len(wrong):
        raise InputError(
            f"sample_weight: sample {wrong[0]} has weight {found.flat[wrong[0]]:g}; weights are numbers >= 0"
        )
    return np.broadcast_to(found, n_samples)


def _start(init: Any, problem: Problem, kept: np.ndarray | None) -> Any:
    """The clustering to start from: labels or a result as they are; the nearest of given centres, as far as the side
    constraints allow.
    """
    if init is None or isinstance(init, Result):
        return init
    given = np.asarray(init)
    if given.ndim == 1:
        return given if kept is None else given[kept]
    K, d = problem.n_clusters, problem.n_features
    if given.shape != (K, d) or given.dtype.kind not in "biuf" or not np.isfinite(given).all():
        raise InputError(
            f"init must be labels, a Result, or {K} centres with {d} features, all finite; it has shape {given.shape}"
        )
    away = np.stack(
        [np.nansum((problem.data - centre) ** 2, axis=1) for centre in given.astype(np.float64)], axis=1
    )
    labels = away.argmin(axis=1)
    if is_feasible(problem, labels):
        return labels
    known = hardened(problem.at_scale(1.0) if problem.covariance.unknown else problem, ())
    costs = np.full((len(away), known.n_components), np.inf)
    costs[:, :K] = away
    return rounded_labels(reduce(known), costs)


@contextmanager
def naming() -> Iterator[None]:
    """Within the block, an error about names that are not there says where an index may have been lost."""
    try:
        yield
    except InputError as error:
        if "the samples have no names" not in str(error):
            raise
        raise InputError(
            f"{error}. X came without an index: in a pipeline, let the steps before keep it, with "
            'set_output(transform="pandas"), or name the samples by position'
        ) from None


def require_clustering(result: Result) -> None:
    """An error where a run found no clustering, a warning where it stopped before it had proved what it was asked."""
    if result.status is Status.INFEASIBLE:
        raise InfeasibleError(result.message or "no clustering satisfies the constraints")
    if result.labels is None or result.means is None or result.weights is None:
        raise CertmixError(result.sentence())
    if result.status is not Status.OPTIMAL and result.termination is not Termination.CONVERGED:
        warnings.warn(result.sentence(), ConvergenceWarning, stacklevel=5)


def seed_of(random_state: Any) -> int:
    """The seed of a run; None stands for 0."""
    if random_state is None:
        return 0
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def sample_names(X: Any, constraints: Any) -> list[Any] | None:
    """The index of a DataFrame; where samples share a name (as in a bootstrap) or have none a warning, and numbers."""
    index = getattr(X, "index", None)
    if index is None or callable(index):
        return None
    names = list(index)
    seen: set[str] = set()
    twice = next((name for name in map(str, names) if name in seen or seen.add(name)), None)  # type: ignore[func-returns-value]
    blank = any(map(is_blank, names))
    if (
        twice is None and not blank
    ) or constraints is not None:  # the problem refuses names that name no sample
        return names
    what = "blank names" if blank else f"{twice!r} twice"
    warnings.warn(f"the index of X holds {what}, so the samples are numbered instead of named", stacklevel=4)
    return None
