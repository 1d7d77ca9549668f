"""The cost of every set of groups as the content of every component.

Side constraints and costs separate by component: whether a component may hold exactly the groups S, and
what that costs, depends on S alone. With at most a dozen groups there are few sets, so a table replaces all
later arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from certmix.exact.boxed_means import box_penalty
from certmix.presolve.instance import Instance
from certmix.problem.averages import average_in_box
from certmix.rounding import EPS


@dataclass(frozen=True)
class SubsetTable:
    """Costs of sets of groups; a set is the number whose binary digits are its members.

    Attributes
    ----------
    row : (K,), the row of the tables that holds a component; interchangeable components share one
    cost : (R, 2^N), infinite where the component may not hold exactly this set
    blocked : (R, 2^N) bool, where the component may hold neither this set nor any larger one
    size : (2^N,), samples in the set
    error : how far the sum of the costs of a clustering can exceed its objective because of rounding
    """

    row: np.ndarray
    cost: np.ndarray
    blocked: np.ndarray
    size: np.ndarray
    error: float


def subset_table(instance: Instance) -> SubsetTable:
    """Tabulate the cost of every set of groups in every component.

    With bounds on the weights the tables leave out the cost of the weights, which then does not separate.
    """
    problem = instance.problem
    members = (np.arange(1 << instance.n_groups)[:, None] >> np.arange(instance.n_groups)) & 1
    size = members @ instance.weight
    first = np.unique(instance.classes, return_index=True)[1]
    tied = "means" in problem.estimators
    turned = problem.has_mean_box and not all(system.straight for system in instance.systems)
    cost, blocked, error = [], [], _rounding(instance)
    for k in map(int, first):
        never, now = _forbidden(instance, k, members, size)
        own = _quadratic_costs(instance, k, members, size, tied=tied, boxed=not turned)
        if tied and problem.has_mean_box:
            now = now | _average_outside(instance, k, members, size)
        if turned:
            penalty, rounding = _turned_box(instance, k, members, size)
            own = own + (np.where(size > 0, 0.0, penalty) if tied else penalty)
            error += rounding * int(np.count_nonzero(instance.classes == instance.classes[k]))
        if instance.entropy_exact:
            own = own + instance.entropy[k, size]
        else:
            half = problem.covariance.half_log_det[k] if instance.counted else 0.0
            own = own + size * half + instance.constant / instance.n_components
        own[never | now] = np.inf
        cost.append(own)
        blocked.append(never)
    return SubsetTable(
        row=instance.classes,
        cost=np.stack(cost),
        blocked=np.stack(blocked),
        size=size,
        error=error,
    )


def _forbidden(
    instance: Instance, k: int, members: np.ndarray, size: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sets that component k may not hold: those that no further member can mend, and the others."""
    never = size > instance.size_upper[k]
    never |= (members[:, ~instance.allowed[:, k]] != 0).any(axis=1)
    now = size < instance.size_lower[k]
    for a, b in instance.conflicts:
        never |= (members[:, a] & members[:, b]).astype(bool)
    for group, then, component in instance.implications:
        if component in (-1, k):
            now |= (members[:, group] & ~members[:, then] & 1).astype(bool)
    for rule in instance.counts:
        if rule.component == k:
            count = members[:, rule.groups] @ rule.coefficient
            never |= count > rule.high
            now |= count < rule.low
    return never, now


def _quadratic_costs(
    instance: Instance, k: int, members: np.ndarray, size: np.ndarray, *, tied: bool, boxed: bool
) -> np.ndarray:
    """The part of the cost that depends on the mean: at the average if tied, else at the best mean."""
    c = 0 if instance.shared else k
    x, gamma, prior_mean = instance.points[c], instance.prior_weight[k], instance.prior_mean[k]
    total, weight = members @ (instance.mass * x), members @ instance.mass + gamma
    mean = np.where(weight > 0, (total + gamma * prior_mean) / np.where(weight > 0, weight, 1.0), 0.0)
    if boxed:
        mean = np.clip(mean, instance.mean_lower[k], instance.mean_upper[k])
    if tied:
        mean = np.where(size[:, None] > 0, total / np.maximum(size, 1)[:, None], mean)
    cost = members @ instance.scatter[c]
    for g in range(instance.n_groups):
        away = x[g] - mean
        cost = cost + 0.5 * members[:, g] * np.einsum("sj,sj->s", instance.mass[g] * away, away)
    return np.asarray(cost + 0.5 * (mean - prior_mean) ** 2 @ gamma)


def _averages(instance: Instance, members: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Average of every set in the original coordinates, as deviation from the centre."""
    offset = np.zeros((instance.n_groups, instance.n_features))
    np.add.at(offset, instance.groups.of, instance.problem.data - instance.centre)
    return np.asarray((members @ offset) / np.maximum(size, 1)[:, None])


def _average_outside(instance: Instance, k: int, members: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Sets whose average lies outside the box: by sums where those are clear, else exactly."""
    problem, of = instance.problem, instance.groups.of
    outside = np.zeros(len(size), dtype=bool)
    unclear = np.zeros(len(size), dtype=bool)
    for sign, bound in ((1.0, problem.mean_lower[k]), (-1.0, problem.mean_upper[k])):
        j = np.flatnonzero(np.isfinite(bound))
        away = sign * (problem.data[:, j] - bound[j])
        inside, spread = np.zeros((2, instance.n_groups, len(j)))
        np.add.at(inside, of, away)
        np.add.at(spread, of, np.abs(away))
        error = 2 * (len(of) + instance.n_groups + 4) * EPS * (members @ spread)
        total = members @ inside
        outside |= (total < -error).any(axis=1)
        unclear |= (np.abs(total) <= error).any(axis=1)
    for s in np.flatnonzero(unclear & ~outside & (size > 0)):
        samples = problem.data[members[s, of] != 0]
        outside[s] = not average_in_box(samples, problem.mean_lower[k], problem.mean_upper[k])
    return outside & (size > 0)


def _turned_box(
    instance: Instance, k: int, members: np.ndarray, size: np.ndarray
) -> tuple[np.ndarray, float]:
    """What the box on the mean of component k costs every set, and the rounding in it."""
    problem = instance.problem
    precision, prior = problem.covariance.of(k), problem.prior.precision[k]
    target = _averages(instance, members, size)
    reach = np.abs(target)
    if np.any(prior):
        reach = reach + np.abs(problem.prior.mean[k] - instance.centre)
        pull = (problem.prior.mean[k] - instance.centre - target) @ prior
        target = target + np.linalg.solve(size[:, None, None] * precision + prior, pull[:, :, None])[:, :, 0]
    lower, upper = problem.mean_lower[k] - instance.centre, problem.mean_upper[k] - instance.centre
    return box_penalty(size, precision, prior, target, reach, lower, upper)


def _rounding(instance: Instance) -> float:
    r"""How far the tabulated cost of a clustering can exceed its objective.

    The whitening is in ``instance.error``. What is added here: a cost is a sum of at most N + K terms of d
    coordinates, each computed from a difference ``x - mu`` of numbers no larger than ``|x| + M``, where M
    bounds every mean that can occur; so its rounding is at most a small multiple of ``(N + K + d) eps``
    times

    .. math::

        Q = \sum_g \Bigl[ w_g \sum_j (|x_{gj}| + M_j)^2 + 2\,\mathrm{scatter}_g \Bigr]
            + \sum_{kj} \gamma_{kj} (|m_{kj}| + M_j)^2 .

    A mean that is off by its own rounding adds a term of second order, within the same multiple. Merging
    averages of up to n samples moves group means by at most ``(n + 1) eps`` times their average size, which
    changes the cost by at most ``2 (n + 2) eps Q`` (Cauchy-Schwarz). The logarithms err by a few eps times
    the entropy's terms.
    """
    n, N, K, d = instance.n_samples, instance.n_groups, instance.n_components, instance.n_features
    samples, prior = np.zeros(N), 0.0
    for k in range(K):
        c = 0 if instance.shared else k
        x, gamma, prior_mean = instance.points[c], instance.prior_weight[k], instance.prior_mean[k]
        ends = np.concatenate([x, prior_mean[None], np.zeros((1, d))])
        ends = np.concatenate([ends, np.clip(ends, instance.mean_lower[k], instance.mean_upper[k])])
        largest = np.abs(ends).max(axis=0)
        here = (instance.mass * (np.abs(x) + largest) ** 2).sum(axis=1) + 2 * instance.scatter[c]
        samples = np.maximum(samples, here)
        prior += float(gamma @ (np.abs(prior_mean) + largest) ** 2)
    quadratic = float(samples.sum()) + prior
    terms = np.where(np.isfinite(instance.entropy), np.abs(instance.entropy), 0.0)
    entropy = float(terms.max(axis=1).sum() + np.abs(instance.problem.prior.alpha).sum()) + K * (n + 40.0)
    merged = n if n > N else 0
    factor = 2 * merged + 4 * (N + K + d) + 32
    return float(instance.error + EPS * (factor * quadratic + (2 * K + 8) * entropy))
