"""Sequential least squares on the relaxed problem, in which a sample may be shared among components."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.optimize import Bounds, minimize

from certmix.errors import UnsupportedError
from certmix.local.em import starting_labels
from certmix.local.parameters import best_parameters, one_hot
from certmix.local.rounding import conclude
from certmix.local.solution import CONSTRAINTS, LocalSolution
from certmix.presolve.instance import Instance, reduce
from certmix.presolve.rows import side_rows, sizes
from certmix.problem import Problem

# SLSQP works with dense matrices: its time grows with the cube of the number of variables, to some seconds an
# iteration for a thousand.
MOST_VARIABLES = 1_000
DURING = frozenset(CONSTRAINTS)
_LEAST_WEIGHT = 1e-6


def n_variables(problem: Problem) -> int:
    """Variables of the relaxed problem: shares of samples in all components but one, means and weights."""
    return problem.n_samples * (problem.n_components - 1) + problem.n_components * (problem.n_features + 1)


def slsqp(
    problem: Problem,
    *,
    seed: int = 0,
    start: np.ndarray | None = None,
    max_iterations: int = 200,
    tolerance: float = 1e-9,
    time_limit: float | None = None,
) -> LocalSolution:
    r"""Scipy's SLSQP on Problem 1 with :math:`z_{gk} \in [0, 1]`.

    The variables are the shares z of the groups (the last component takes what is left, which makes the
    solver an order of magnitude faster than one equation for every group), the means in whitened
    coordinates and the weights. Every side constraint is linear in z and holds in the end up to the
    solver's tolerance; bounds on means that whitening turns are replaced by the smallest box around them,
    and means tied to averages are free.

    Parameters
    ----------
    problem : Problem
        With at most :data:`MOST_VARIABLES` variables (see :func:`n_variables`).
    seed, start, time_limit
        As in :func:`certmix.local.em.em`.
    max_iterations : int
    tolerance : float
        Of the value, relative.
    """
    count = n_variables(problem)
    if count > MOST_VARIABLES:
        raise UnsupportedError(
            f"SLSQP takes up to {MOST_VARIABLES:,} variables, and the problem has {count:,}"
        )
    begin = time.perf_counter()
    relaxed = _Relaxed(reduce(problem))
    labels = starting_labels(problem, seed, start)
    first = relaxed.pack(*_start(relaxed.instance, labels))
    history: list[float] = []

    def watch(v: np.ndarray) -> None:
        history.append(relaxed.value(v)[0])
        if time_limit is not None and time.perf_counter() - begin > time_limit:
            raise StopIteration

    found = minimize(
        relaxed.value,
        first,
        jac=True,
        method="SLSQP",
        bounds=relaxed.bounds(),
        constraints=relaxed.constraints(),
        callback=watch,
        options={"maxiter": max_iterations, "ftol": tolerance * max(1.0, abs(relaxed.value(first)[0]))},
    )
    shares, points, weights = relaxed.unpack(found.x)
    means = relaxed.original(points)
    own = relaxed.instance.expand(np.where(relaxed.instance.allowed, shares, -1.0).argmax(axis=1))
    notes = []
    if "means" in problem.estimators:
        notes.append("SLSQP ties the means to averages only when its answer is rounded")
    return conclude(
        relaxed.instance,
        method="SLSQP",
        means=means,
        weights=weights / weights.sum(),
        own_labels=own,
        responsibilities=np.clip(shares, 0.0, 1.0)[relaxed.instance.groups.of],
        history=history or [float(found.fun)],
        iterations=int(found.nit),
        converged=bool(found.success),
        during=DURING,
        notes=notes,
    )


def _start(instance: Instance, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    problem = instance.problem
    means, weights = best_parameters(problem, one_hot(labels, problem.n_components))
    points = np.stack([instance.whitened(k, mean) for k, mean in enumerate(means)])
    return one_hot(instance.contract(labels), problem.n_components), points, weights


class _Relaxed:
    """Value, gradient and constraints of the relaxed problem over (z but its last column, means, weights)."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.N, self.K, self.d = instance.n_groups, instance.n_components, instance.n_features

    def pack(self, shares: np.ndarray, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return np.concatenate([shares[:, :-1].ravel(), points.ravel(), np.maximum(weights, _LEAST_WEIGHT)])

    def unpack(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Shares of all components, means in whitened coordinates, weights."""
        cut = self.N * (self.K - 1)
        shares = v[:cut].reshape(self.N, self.K - 1)
        shares = np.column_stack([shares, 1.0 - shares.sum(axis=1)])
        return shares, v[cut : -self.K].reshape(self.K, self.d), v[-self.K :]

    def original(self, points: np.ndarray) -> np.ndarray:
        """Means in the coordinates of the data."""
        means = [self.instance.original(k, x) for k, x in enumerate(points)]
        problem = self.instance.problem
        return np.clip(np.stack(means), problem.mean_lower, problem.mean_upper)

    def value(self, v: np.ndarray) -> tuple[float, np.ndarray]:
        """The objective and its gradient."""
        instance, (shares, points, weights) = self.instance, self.unpack(v)
        problem, w = instance.problem, instance.weight[:, None]
        away = instance.points.transpose(1, 0, 2) - points  # (N, K, d); one system serves all components
        positive = np.maximum(weights, 0.1 * _LEAST_WEIGHT)
        logs = np.log(positive)
        costs = instance.scatter.T + w * (
            0.5 * (away**2).sum(axis=2) + problem.covariance.half_log_det - logs
        )
        apart = points - instance.prior_mean
        extra = problem.prior.alpha - 1.0
        value = float((shares * costs).sum()) + 0.5 * float((instance.prior_weight * apart**2).sum())
        of_points = -np.einsum("gk,gkj->kj", w * shares, away) + instance.prior_weight * apart
        of_weights = -((w * shares).sum(axis=0) + extra) / positive
        of_shares = costs[:, :-1] - costs[:, -1:]
        return value - float(extra @ logs), np.concatenate([of_shares.ravel(), of_points.ravel(), of_weights])

    def bounds(self) -> Bounds:
        instance, problem = self.instance, self.instance.problem
        fixed = problem.fixed_weights
        low = np.maximum(problem.weight_lower if fixed is None else fixed, _LEAST_WEIGHT)
        high = np.maximum(problem.weight_upper if fixed is None else fixed, low)
        # The upper bound 1 on a share follows from the others.
        most = np.where(instance.allowed[:, :-1], np.inf, 0.0)
        lower = np.concatenate([np.zeros(most.size), instance.mean_lower.ravel(), low])
        return Bounds(lower, np.concatenate([most.ravel(), instance.mean_upper.ravel(), high]))

    def constraints(self) -> list[dict[str, Any]]:
        """Linear constraints: the last component's shares, weights that add up to one, and the user's."""
        instance, columns = self.instance, self.N * self.K
        limits = sizes(instance.weight, instance.size_lower, instance.size_upper)
        last, is_open = np.eye(columns)[self.K - 1 :: self.K], instance.allowed[:, -1]
        equal = [self._system(last[~is_open])]
        if instance.problem.fixed_weights is None:
            equal.append(self._system(np.zeros((1, columns)), 1.0, np.ones((1, self.K))))
            if "weights" in instance.problem.estimators:
                shares = limits.matrix.toarray()[:-1] / -instance.n_samples
                equal.append(self._system(shares, weights=np.eye(self.K)[:-1]))
        matrix, right = (limits + side_rows(instance)).binding(instance.allowed).at_most()
        above = [self._system(last[is_open]), self._system(-matrix.toarray(), -right)]
        return [*_constraint("eq", equal), *_constraint("ineq", above)]

    def _system(
        self, shares: np.ndarray, right: np.ndarray | float = 0.0, weights: np.ndarray | float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """``matrix v = (or >=) right`` from coefficients of all shares, (rows, N K), and of the weights, (rows, K)."""
        shares, free = shares.reshape(-1, self.N, self.K), self.N * (self.K - 1)
        matrix = np.zeros((len(shares), free + self.K * (self.d + 1)))
        matrix[:, :free] = (shares[:, :, :-1] - shares[:, :, -1:]).reshape(len(shares), free)
        matrix[:, -self.K :] = weights
        said = matrix.any(axis=1)  # with one component everything is decided
        return matrix[said], (right - shares[:, :, -1].sum(axis=1))[said]


def _constraint(kind: str, systems: list[tuple[np.ndarray, np.ndarray]]) -> list[dict[str, Any]]:
    """What SciPy makes of systems put together; nothing of none."""
    matrix, right = np.vstack([s[0] for s in systems]), np.concatenate([s[1] for s in systems])
    return (
        [{"type": kind, "fun": lambda v: matrix @ v - right, "jac": lambda v: matrix}] if len(right) else []
    )
