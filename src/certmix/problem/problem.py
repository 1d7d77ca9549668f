"""What is asked: data, covariance, weights, priors, boxes and side constraints, validated once."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from certmix.errors import CovarianceWarning, InputError, about
from certmix.hints import did_you_mean
from certmix.problem.boxes import fixed_weights, mean_box, refuse_beside_squares, weight_box
from certmix.problem.components import component_count, component_position, names_of_components, numbered
from certmix.problem.constraints import Constraint, Copies
from certmix.problem.copies import CopiedSamples
from certmix.problem.covariance import Covariance, covariance_of
from certmix.problem.masses import Masses, RealWeights, check_masses, masses_of, real_weights
from certmix.problem.noise import (
    ENDLESS,
    KNOWN,
    Noise,
    beside_noise,
    noise_of,
    prior_beside_noise,
    without_noise,
)
from certmix.problem.notes import dominated, notes
from certmix.problem.priors import Prior, PriorLike, combine_priors
from certmix.problem.quantity import NATS, Quantity, kmeans_variance, sum_of_squares
from certmix.problem.rules import Rules, listed, resolve_rules
from certmix.problem.samples import Samples
from certmix.problem.sizes import estimator_sizes, size_limits

ESTIMATORS = ("weights", "means")
MISSING = ("error", "keep")
ELSEWHERE = "elsewhere"  # of a part: values are missing in others, and what is said of it is said as there


class Problem:
    r"""MAP clustering under a Gaussian mixture with known covariance (Problem 1 of Flaherty et al. 2020).

    Minimise over labels :math:`z`, means :math:`\mu` and weights :math:`\pi`

    .. math::

        f = \sum_i \Bigl[ \tfrac12 (y_i-\mu_{z_i})^\top P_{z_i} (y_i-\mu_{z_i}) - \log \pi_{z_i} \Bigr]
            - \log p(\mu, \pi)

    subject to the side constraints and boxes. Constants that do not depend on the clustering are left out;
    with one covariance per component, and with an unknown variance, :math:`\tfrac12 \log\det \Sigma_{z_i}` is added
    for every sample.

    Parameters
    ----------
    data : array-like of shape (n, d) or DataFrame
        The samples. A DataFrame's index gives their names.
    n_components : int
        K, the number of components.
    variance, precision, covariance : optional, at most one of them
        The known covariance: a scalar variance (or one per component), a precision matrix or a covariance
        matrix, shape (d, d), (d,) for the diagonal of a diagonal one, or (K, d, d) for one per component.

        ``variance="unknown"``: the covariance is known but for a factor, which is found together with the clustering. A
        precision or covariance beside it is the shape that the factor multiplies; the identity when none is given.

        ``variance="diagonal"``: every feature has a variance of its own, which is found; for two or three features.

        Default: ``"unknown"``; with uniform weights, where the clustering does not depend on it, unit variance.
    variance_range : (smallest, largest), optional
        Between which an unknown variance lies; None for an end that is open.
    weights : "free", "uniform", "none" or array of shape (K,)
        Mixing weights to be found, or fixed. ``"none"`` is k-means: the objective is the sum of squares and nothing
        else, and there is no covariance to give (see ``quantity``). With uniform weights and a shared covariance the
        clustering is that of k-means in the whitened space.
    mean_bounds : (lower, upper), optional
        Box on the component means; each side a number, (d,) or (K, d). Infinite entries are allowed.
    weight_bounds : (lower, upper), optional
        Box on the weights; each side a number or (K,).
    prior : "flat", "jeffreys", GaussianPrior, DirichletPrior or a list of them
    constraints : iterable of constraints
    estimators : subset of {"weights", "means"}
        Force ``pi_k = n_k / n`` and/or ``mu_k`` = the cluster's mean. Changes the optimum only under priors,
        boxes or fixed weights.
    allow_empty : bool
        Whether a component may hold no sample. By default every component holds at least one.
    names, component_names : sequences of names, optional
    sample_weight : n positive numbers, optional
        Whole numbers: how many samples each sample stands for. It counts as so many copies that are together: in the
        objective, in sizes and their limits, and in constraints that count. Any others: how often its cost counts in
        the objective, for weights of components that are fixed; sizes and what counts samples count each once.
    missing : "error" or "keep"
        What is done about values that are missing (not a number). Kept: distances and means are over what is there,
        which needs a known diagonal covariance.
    noise : density, "auto" or "trimmed", optional
        One more component, the last, without a mean: a sample in it costs ``-log(density) - log(pi)``, and it may be
        empty. ``"auto"`` is uniform over the box around the samples. ``"trimmed"`` is for k-means, where noise costs
        nothing and needs a limit on its size: ``MaximumSize(m, "noise")``. Its name is ``"noise"``, its label -1.
        Weights that are given have one for the noise, the last. ``n_components`` of the problem counts it.

    Raises
    ------
    InputError
        When anything is wrong with the input; the message names the culprit.
    """

    def __init__(
        self,
        data: Any,
        n_components: int,
        *,
        variance: Any = None,
        precision: Any = None,
        covariance: Any = None,
        variance_range: tuple[float | None, float | None] | None = None,
        weights: Any = "free",
        mean_bounds: tuple[Any, Any] | None = None,
        weight_bounds: tuple[Any, Any] | None = None,
        prior: PriorLike | Prior | Iterable[PriorLike] = None,
        constraints: Iterable[Constraint] | None = (),
        estimators: Iterable[str] = (),
        allow_empty: bool = False,
        names: Sequence[Any] | None = None,
        component_names: Sequence[str] | None = None,
        sample_weight: Any = None,
        noise: Any = None,
        missing: str = "error",
    ) -> None:
        if missing not in (*MISSING, ELSEWHERE):
            raise InputError(f"missing must be 'error' or 'keep', not {missing!r}")
        self.samples = Samples(data, names, gaps=missing != "error", elsewhere=missing == ELSEWHERE)
        rows = self.samples.n_samples
        self.sample_weight: np.ndarray | None = None
        with about("sample_weight"):
            real = None if sample_weight is None else real_weights(sample_weight, self.samples)
        if sample_weight is not None and real is None:
            with about("sample_weight"):
                self.samples = copied = CopiedSamples(self.samples, sample_weight)
            self.sample_weight = copied.weight
            constraints = [*listed(constraints), *copied.ties]
        self.masses: Masses | None = masses_of(self.samples, real)
        self.allow_empty = bool(allow_empty)
        with about("n_components"):
            clusters = component_count(n_components, rows, self.allow_empty)
        self.squares = isinstance(weights, str) and weights == "none"
        with about("noise"):
            self.noise: Noise | None = noise_of(noise, self.samples, squares=self.squares)
        more = int(self.noise is not None)
        self.n_components = clusters + more
        self.component_names = names_of_components(component_names, clusters, self.noise)
        if self.squares:
            # of the problem that this is a part of
            own = isinstance(covariance, Covariance) and (covariance.scalar or covariance.without_mean.any())
            with about("weights"):
                refuse_beside_squares(
                    variance=variance,
                    precision=precision,
                    covariance=None if own else covariance,
                    variance_range=variance_range,
                    weight_bounds=weight_bounds,
                )
            variance = None if own else kmeans_variance(self.samples.filled)
        self.estimators = frozenset(_estimators(estimators))
        with about("weights"):
            self.fixed_weights = fixed_weights(weights, self.n_components)
        self.weight_lower, self.weight_upper = weight_box(
            weight_bounds, clusters, self.fixed_weights, tied="weights" in self.estimators, more=more
        )
        self.mean_lower, self.mean_upper = mean_box(mean_bounds, clusters, self.samples, more=more)
        with about("prior"):
            whole = isinstance(prior, Prior) and len(prior.alpha) > clusters  # noise has its part in it
            self.prior: Prior = combine_priors(prior, clusters + more * whole, self.n_features)
        self.assumed = variance is None and precision is None and covariance is None
        if self.assumed and self.noise is not None:
            with about("noise"):
                raise InputError(KNOWN)
        if self.assumed and (variance_range is not None or self._depends_on_variance):
            variance = "unknown"
        with about("precision" if variance is None else "variance"):
            known = isinstance(covariance, Covariance) and bool(covariance.without_mean.any())
            self.covariance: Covariance = covariance_of(
                n_components=clusters + more * known,
                n_features=self.n_features,
                variance=variance,
                precision=precision,
                covariance=covariance,
                variance_range=variance_range,
            )
        if self.noise is not None:
            with about("noise"):
                self.covariance = beside_noise(self.covariance, self.noise)
            self.prior = self.prior if whole else prior_beside_noise(self.prior)
        if self.covariance.per_feature and (self.prior.on_means or self.has_mean_box):
            raise InputError(
                "with an unknown variance for every feature there can be no prior on the means and no bounds on them"
            )
        if self.assumed and self.samples.dominating is not None:
            warnings.warn(dominated(self.samples), CovarianceWarning, stacklevel=2)
        if self.masses is not None:
            with about("missing" if self.masses.missing else "sample_weight"):
                check_masses(self)
        if self.allow_empty and self.fixed_weights is None and np.any(self.prior.alpha < 1):
            raise InputError(
                "a Dirichlet prior with alpha < 1 (Jeffreys) and allow_empty together have no optimum: the "
                "weight of an empty component would go to zero and the objective to minus infinity"
            )
        if self.squares:
            with about("weights"):
                refuse_beside_squares(
                    prior=self.prior if self.prior.on_means or self.prior.on_weights else None,
                    estimators="weights" if "weights" in self.estimators else None,
                )
        count = None if self.noise is None else self.n_clusters
        self.rules: Rules = resolve_rules(
            constraints, self.samples, self.component, self._quantity().objective, count
        )
        self.size_lower, self.size_upper = size_limits(self)
        if isinstance(noise, str) and self.squares and self.size_upper[-1] >= self.n_samples:
            with about("noise_max"):
                raise InputError(ENDLESS)

    # -- shape -----------------------------------------------------------------------------------------------
    @property
    def data(self) -> np.ndarray:
        """The samples, (n, d), read-only; not a number where a value is missing."""
        return self.samples.values

    @property
    def given_sample_weight(self) -> np.ndarray | RealWeights | None:
        """What to give as ``sample_weight`` for the same ones."""
        real = None if self.masses is None else self.masses.weight
        return self.sample_weight if real is None else RealWeights(real)

    @property
    def given_missing(self) -> str:
        """What to give as ``missing``."""
        return "error" if self.samples.gaps is None else ELSEWHERE if self.samples.elsewhere else "keep"

    @property
    def n_samples(self) -> int:
        return self.samples.n_samples

    @property
    def n_features(self) -> int:
        return self.samples.n_features

    @property
    def n_clusters(self) -> int:
        """The number of components with a mean: all but the noise."""
        return self.n_components - (self.noise is not None)

    @property
    def names(self) -> tuple[str, ...]:
        return self.samples.names

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        return self.rules.constraints

    @property
    def given_constraints(self) -> tuple[Constraint, ...]:
        """The side constraints without those that keep copies of weighted samples together."""
        return tuple(item for item in self.constraints if not isinstance(item, Copies))

    @property
    def quantity(self) -> Quantity:
        """What the objective is called and counted in: nats, or for k-means the sum of squares."""
        return self._quantity(penalised=bool(self.rules.soft))

    def _quantity(self, *, penalised: bool = False) -> Quantity:
        if not self.squares:
            return NATS
        factor = 2.0 / float(self.covariance.precision.entries[0, 0])
        return sum_of_squares(factor, penalised=penalised)

    @property
    def given_weights(self) -> Any:
        """What to give as ``weights`` for the same ones."""
        if self.squares:
            return "none"
        if self.fixed_weights is None:
            return "free"
        return "uniform" if np.all(self.fixed_weights == 1.0 / self.n_components) else self.fixed_weights

    @property
    def given_mean_bounds(self) -> tuple[np.ndarray, np.ndarray] | None:
        """What to give as ``mean_bounds`` for the same ones."""
        K = self.n_clusters
        return (self.mean_lower[:K], self.mean_upper[:K]) if self.has_mean_box else None

    @property
    def given_weight_bounds(self) -> tuple[np.ndarray, np.ndarray] | None:
        """What to give as ``weight_bounds`` for the same ones."""
        K = self.n_clusters
        return (self.weight_lower[:K], self.weight_upper[:K]) if self.has_weight_box else None

    @property
    def has_mean_box(self) -> bool:
        return bool(np.any(np.isfinite(self.mean_lower)) or np.any(np.isfinite(self.mean_upper)))

    @property
    def has_weight_box(self) -> bool:
        """True when the weights are free but bounded by more than the simplex."""
        return self.fixed_weights is None and bool(
            np.any(self.weight_lower > 0) or np.any(self.weight_upper < 1)
        )

    @cached_property
    def estimator_sizes(self) -> tuple[np.ndarray, np.ndarray]:
        """The sizes that the estimator constraint ``pi_k = n_k / n`` leaves."""
        return estimator_sizes(self)

    @property
    def _depends_on_variance(self) -> bool:
        """Whether the best clustering depends on the variance: unless only the sum of squares varies."""
        weights = self.fixed_weights
        return weights is None or bool(np.any(weights != weights[0])) or self.prior.on_means

    def component(self, ref: Any) -> int:
        """The position of a component given by name or position."""
        return component_position(ref, self.component_names, self.n_clusters)

    @property
    def named_components(self) -> bool:
        return not numbered(self.component_names, self.n_clusters)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What is worth knowing about data and covariance before the samples are clustered, in words."""
        return notes(self)

    @cached_property
    def objective(self) -> Any:
        """The one evaluator of this problem's objective (:class:`certmix.problem.objective.Objective`)."""
        from certmix.problem.objective import Objective

        return Objective(self)

    def at_scale(self, scale: float | np.ndarray) -> Problem:
        """The same problem with a known variance, ``1 / scale``: its precision is so many times the shape's.

        Of a diagonal covariance: a scale for every feature.
        """
        found = copy.copy(self)
        for computed in ("objective", "_instance"):
            vars(found).pop(computed, None)
        found.covariance = self.covariance.scaled(scale)
        return found

    def replace(self, **changes: Any) -> Problem:
        """A new problem with some of the constructor's arguments changed."""
        arguments: dict[str, Any] = {
            "data": self.samples.original.values,
            "sample_weight": self.given_sample_weight,
            "missing": self.given_missing,
            "n_components": self.n_clusters,
            "noise": self.noise,
            "covariance": self.covariance,
            "weights": self.given_weights,
            "mean_bounds": self.given_mean_bounds,
            "weight_bounds": self.given_weight_bounds,
            "prior": self.prior,
            "constraints": self.given_constraints,
            "estimators": self.estimators,
            "allow_empty": self.allow_empty,
            "names": self.samples.given_names if self.samples.named else None,
            "component_names": self.component_names[: self.n_clusters] if self.named_components else None,
        }
        weights = changes.get("weights", arguments["weights"])
        squares = self.squares or (isinstance(weights, str) and weights == "none")
        # K-means has a variance of its own, by the data.
        if changes.keys() & ({"variance", "precision"} | ({"data", "weights"} if squares else set())):
            del arguments["covariance"]
        if changes.keys() & {"noise", "n_components"} and self.noise is not None:
            arguments = {name: without_noise(value) for name, value in arguments.items()}
        arguments.update(changes)
        changed = Problem(arguments.pop("data"), arguments.pop("n_components"), **arguments)
        if "data" not in changes:
            changed.samples.columns = changed.samples.original.columns = self.samples.columns
        return changed

    def __repr__(self) -> str:
        return (
            f"Problem({self.n_samples} samples x {self.n_features} features, {self.n_clusters} components"
            f"{' and noise' if self.noise is not None else ''}, "
            f"{len(self.given_constraints)} constraints)"
        )


def _estimators(estimators: Iterable[str]) -> Iterable[str]:
    if isinstance(estimators, str):
        estimators = (estimators,)
    for item in estimators:
        if item not in ESTIMATORS:
            raise InputError(f"unknown estimator constraint {item!r}{did_you_mean(str(item), ESTIMATORS)}")
        yield item
