"""The reduced problem that every engine works on: merged groups in whitened coordinates, costs as tables.

For component k, a set S of groups and m samples in it, the cost is

    c_k(S) = min over mu in the box of  sum_{g in S} [ scatter_g + sum_j m_gj/2 (x_gj - mu_j)^2 ]
                                        + sum_j gamma_kj/2 (mu_j - m_kj)^2 + entropy[k, m]

and the objective of a clustering is the sum over k (a lower bound on it where ``mean_exact`` or ``entropy_exact`` is
False; the one evaluator has the last word). Coordinates are chosen so that the precision is the identity and the
prior's precision diagonal: ``x = A (y - centre)``, in as few coordinates as the samples need. The mass m_gj is the
number of samples in g, but for missing values and weights of samples (:mod:`certmix.problem.masses`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from certmix import memory
from certmix.errors import UnsupportedError
from certmix.presolve.groups import Groups, group_samples
from certmix.presolve.tables import entropy_tables
from certmix.presolve.whitening import Coordinates, centre_of, system_of, whitening_error
from certmix.problem import Problem, interchangeable
from certmix.problem.masses import linear_costs, linear_sizes
from certmix.problem.rules import Count
from certmix.rounding import EPS

__all__ = ["CountRow", "Instance", "reduce"]


@dataclass(frozen=True)
class CountRow:
    """``low <= sum of coefficient over the groups in the component <= high``."""

    groups: np.ndarray
    coefficient: np.ndarray
    component: int
    low: int
    high: int

    @classmethod
    def of(cls, rule: Count, groups: Groups) -> CountRow:
        members, coefficient = np.unique(groups.of[rule.samples], return_counts=True)
        return cls(members, coefficient, rule.component, rule.low, rule.high)


@dataclass(frozen=True)
class Instance:
    """A problem reduced to arrays. K components, N groups, d dimensions, C = 1 or K coordinate systems.

    d is the number of coordinates, not of features: see :mod:`certmix.presolve.rotation`.

    Attributes
    ----------
    points : (C, N, d), mean of every group in whitened coordinates; C = K when components have their own coordinates
    scatter : (C, N), half the sum of squares inside every group, and what else it costs whatever the sizes are
    weight : (N,), samples in every group
    mass : (N, d), how much every coordinate of a group counts, or (N, 1) where all count the same
    counted : whether that is the number of samples
    prior_weight, prior_mean : (K, d), precision and mean of the Gaussian prior on the means, in whitened coordinates
    mean_lower, mean_upper : (K, d), box on the means in whitened coordinates
    mean_exact : whether box and mean estimators are represented exactly (otherwise relaxed)
    entropy : (K, n + 1), the part of the cost that depends on the size alone
    constant : what of the tables, a K-th in each, is a constant of the masses
    entropy_exact : whether the tables add up to the exact cost (with bounds on the weights they may stay below it)
    allowed : (N, K) bool
    size_lower, size_upper : (K,)
    conflicts : (p, 2); implications : (q, 3); counts : tuple of CountRow
    classes : (K,), interchangeable components have equal numbers
    error : bound on how much the objective of any clustering can exceed the exact one because of whitening
    """

    problem: Problem
    groups: Groups
    centre: np.ndarray
    systems: tuple[Coordinates, ...]
    points: np.ndarray
    scatter: np.ndarray
    weight: np.ndarray
    mass: np.ndarray
    counted: bool
    prior_weight: np.ndarray
    prior_mean: np.ndarray
    mean_lower: np.ndarray
    mean_upper: np.ndarray
    mean_exact: bool
    entropy: np.ndarray
    constant: float
    entropy_exact: bool
    allowed: np.ndarray
    size_lower: np.ndarray
    size_upper: np.ndarray
    conflicts: np.ndarray
    implications: np.ndarray
    counts: tuple[CountRow, ...]
    classes: np.ndarray
    error: float

    @property
    def n_groups(self) -> int:
        return int(self.points.shape[1])

    @property
    def n_samples(self) -> int:
        return self.problem.n_samples

    @property
    def n_components(self) -> int:
        return int(self.entropy.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.points.shape[2])

    @property
    def shared(self) -> bool:
        """One coordinate system for all components."""
        return self.points.shape[0] == 1

    @property
    def exact(self) -> bool:
        """Whether the cost of the instance equals the objective up to rounding."""
        return self.mean_exact and self.entropy_exact

    @property
    def limited(self) -> bool:
        """Whether there are limits on sizes."""
        return bool(np.any(self.size_lower > 1) or np.any(self.size_upper < self.n_samples))

    @property
    def coupled(self) -> bool:
        """Whether conflicts, implications or counts tie groups together (size limits aside)."""
        return bool(len(self.conflicts) or len(self.implications) or self.counts)

    def system(self, k: int) -> Coordinates:
        """The coordinates of component k."""
        return self.systems[0 if self.shared else k]

    def whitened(self, k: int, mean: np.ndarray) -> np.ndarray:
        """A mean of component k in its coordinates."""
        return self.system(k).forward(mean - self.centre)

    def original(self, k: int, x: np.ndarray) -> np.ndarray:
        """A mean of component k, given in its coordinates, as a point among the data."""
        return np.asarray(self.centre + self.system(k).back(x, len(self.centre)))

    def expand(self, group_labels: np.ndarray) -> np.ndarray:
        """Labels of the samples from labels of the groups."""
        return np.asarray(group_labels)[self.groups.of]

    def contract(self, labels: np.ndarray) -> np.ndarray:
        """Labels of the groups from labels of the samples (that respect the must-links)."""
        out = np.empty(self.n_groups, dtype=np.int64)
        out[self.groups.of] = labels
        return out


def reduce(problem: Problem) -> Instance:
    """Whiten, merge must-links, propagate labels, tabulate the entropy. Done once for a problem."""
    known = vars(problem).get("_instance")
    if known is None:
        known = vars(problem)["_instance"] = _reduced(problem)
    assert isinstance(known, Instance)
    return known


def _reduced(problem: Problem) -> Instance:
    if problem.covariance.unknown:
        raise UnsupportedError(
            "this takes a known variance only (--variance V, or variance=V); certmix.solve takes an unknown one"
        )
    groups = group_samples(problem)
    centre = centre_of(problem.samples.filled)
    beside = None if problem.masses is None else _beside(problem, groups)
    shared = problem.covariance.shared and problem.prior.precision.alike
    shared = shared and (beside is None or bool(np.all(beside.cost == beside.cost[:1])))
    K = problem.n_components
    most = 8.0 * problem.n_samples * (4 * (1 if shared else K) * problem.n_features + 3 * K)
    memory.require(most, "the whitened samples and the size tables")
    systems = tuple(system_of(problem, c, centre) for c in range(1 if shared else K))
    whitened = np.stack([system.points for system in systems])
    each = None if problem.masses is None else problem.masses.over(systems[0].columns)
    points, scatter, mass = _merge(whitened, each, groups)
    of = [systems[0 if shared else k] for k in range(K)]
    prior_weight = np.stack([system.prior_weight for system in of])
    prior_mean = np.zeros(prior_weight.shape)
    for k in np.flatnonzero(prior_weight.any(axis=1)):
        prior_mean[k] = of[k].forward(problem.prior.mean[k] - centre)
    prior_mean[prior_weight == 0] = 0.0
    lower, upper, box_exact = _box(problem, of, centre)
    entropy, entropy_exact = entropy_tables(problem)
    error = whitening_error(problem, groups, systems, centre, scatter, prior_mean, lower, upper)
    if beside is not None:
        scatter = scatter + beside.cost[: len(systems)]
        entropy = entropy + beside.constant / K
        error += beside.error
    tied = "means" in problem.estimators and (problem.prior.on_means or problem.has_mean_box)
    return Instance(
        problem=problem,
        groups=groups,
        centre=centre,
        systems=systems,
        points=points,
        scatter=scatter,
        weight=groups.weight,
        mass=mass,
        counted=problem.masses is None,
        prior_weight=prior_weight,
        prior_mean=prior_mean,
        mean_lower=lower,
        mean_upper=upper,
        mean_exact=box_exact and not tied,
        entropy=entropy,
        constant=0.0 if beside is None else beside.constant,
        entropy_exact=entropy_exact,
        allowed=groups.allowed,
        size_lower=problem.size_lower,
        size_upper=problem.size_upper,
        conflicts=groups.conflicts,
        implications=groups.implications,
        counts=tuple(CountRow.of(rule, groups) for rule in problem.rules.counts),
        classes=interchangeable(problem),
        error=error,
    )


@dataclass(frozen=True)
class _Beside:
    """What groups cost in every component whatever the sizes are: nowhere less than nothing, but for a constant."""

    cost: np.ndarray  # (K, N)
    constant: float
    error: float  # of these sums, for any clustering


def _beside(problem: Problem, groups: Groups) -> _Beside:
    each = linear_costs(problem)
    cost, size = np.zeros((2, groups.n_groups, problem.n_components))
    np.add.at(cost, groups.of, each)
    np.add.at(size, groups.of, linear_sizes(problem))
    low = np.minimum(cost.min(axis=1), 0.0)
    rounding = (int(groups.weight.max()) + problem.n_features + 16) * EPS * float(size.max(axis=1).sum())
    constant = float(low.sum())
    rounding += (groups.n_groups + 8) * EPS * float(np.abs(low).sum())
    return _Beside((cost - low[:, None]).T, constant, rounding)


def _merge(
    whitened: np.ndarray, each: np.ndarray | None, groups: Groups
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Masses add up, coordinate by coordinate; a group is where its masses balance, at zero where it has none.

    Without masses every sample counts once.
    """
    C, n, d = whitened.shape
    scatter = np.zeros((C, groups.n_groups))
    if each is None:
        each = np.ones((n, 1))
        if groups.n_groups == n:
            return whitened, scatter, each
    points, mass = np.zeros((C, groups.n_groups, d)), np.zeros((groups.n_groups, each.shape[1]))
    np.add.at(mass, groups.of, each)
    alone = (groups.weight == 1)[groups.of]
    for c in range(C):
        there = np.where(each > 0, whitened[c], 0.0)
        np.add.at(points[c], groups.of, each * there)
        points[c] /= np.where(mass > 0, mass, 1.0)
        points[c][groups.of[alone]] = there[alone]
        residual = there - points[c][groups.of]
        np.add.at(scatter[c], groups.of, 0.5 * np.einsum("ij,ij->i", each * residual, residual))
    return points, scatter, mass


def _box(
    problem: Problem, systems: list[Coordinates], centre: np.ndarray
) -> tuple[np.ndarray, np.ndarray, bool]:
    """The mean box in whitened coordinates: exact when those keep the axes, else the smallest box around it."""
    shape = len(systems), systems[0].points.shape[1]
    lower, upper = np.full(shape, -np.inf), np.full(shape, np.inf)
    exact = True
    for k, system in enumerate(systems):
        low, high = problem.mean_lower[k] - centre, problem.mean_upper[k] - centre
        if not (np.any(np.isfinite(low)) or np.any(np.isfinite(high))):
            continue
        assert system.basis is not None  # boxes keep the coordinates
        exact &= system.straight
        a = system.basis
        reach = np.where(np.isfinite(low), np.abs(low), 0.0) + np.where(np.isfinite(high), np.abs(high), 0.0)
        if system.straight:
            slack = 8 * EPS * a * reach
            lower[k], upper[k] = a * low - slack, a * high + slack
            continue
        with np.errstate(invalid="ignore"):
            ends = np.stack([a * low, a * high])
        ends[:, a == 0] = 0.0
        slack = 8 * EPS * (len(a) + 2) * (np.abs(a) @ reach)
        lower[k] = ends.min(axis=0).sum(axis=1) - slack
        upper[k] = ends.max(axis=0).sum(axis=1) + slack
    return lower, upper, bool(exact)
