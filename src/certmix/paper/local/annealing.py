"""Simulated annealing: scipy's basin hopping over the means and weights."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, basinhopping

from certmix.local.em import DURING, starting_labels
from certmix.local.parameters import best_parameters, group_costs, one_hot
from certmix.local.rounding import conclude
from certmix.local.solution import LocalSolution
from certmix.presolve.instance import Instance, reduce
from certmix.problem import Problem


def annealing(
    problem: Problem,
    *,
    seed: int = 0,
    start: np.ndarray | None = None,
    hops: int = 100,
    temperature: float = 1.0,
    step: float = 1.0,
    max_descent: int = 200,
    time_limit: float | None = None,
) -> LocalSolution:
    r"""Basin hopping on the objective with the labels minimised out.

    The energy of means and weights is :math:`\sum_g \min_k c_{gk} - \log p(\mu, \pi)`, with :math:`c_{gk}`
    the cost of group g in component k. A hop moves the means at random (in whitened units; scipy adapts the
    step), and a descent that alternates labels and parameters leads to the bottom of the basin; hops
    upwards are accepted at the given temperature.

    Parameters
    ----------
    problem : Problem
    seed : int
    start : array of n labels, optional
        Start from these clusters; k-means by default.
    hops : int
    temperature : float
        In nats.
    step : float
        First length of a hop, in standard deviations.
    max_descent : int
        Most iterations of one descent.
    time_limit : float, optional
        Seconds.
    """
    begin = time.perf_counter()
    basins = _Basins(reduce(problem), max_descent)
    labels = starting_labels(problem, seed, start)
    first = basins.pack(*best_parameters(problem, one_hot(labels, problem.n_components)))
    history: list[float] = []

    def watch(_x: np.ndarray, energy: float, _accepted: bool) -> bool:
        history.append(min(energy, history[-1]) if history else energy)
        return time_limit is not None and time.perf_counter() - begin > time_limit

    found = basinhopping(
        basins.energy,
        first,
        niter=hops,
        T=temperature,
        stepsize=step,
        minimizer_kwargs={"method": basins.descend},
        callback=watch,
        rng=np.random.default_rng(seed),
    )
    means, weights = basins.unpack(found.x)
    return conclude(
        basins.instance,
        method="annealing",
        means=means,
        weights=weights,
        own_labels=basins.instance.expand(basins.costs(means, weights).argmin(axis=1)),
        history=history,
        iterations=len(history),
        converged=len(history) > hops,
        during=DURING,
    )


class _Basins:
    """The energy, and the way down from a point; a point is (means in whitened coordinates, log weights)."""

    def __init__(self, instance: Instance, max_descent: int) -> None:
        self.instance = instance
        self.max_descent = max_descent

    def pack(self, means: np.ndarray, weights: np.ndarray) -> np.ndarray:
        points = [self.instance.whitened(k, m) for k, m in enumerate(means)]
        return np.concatenate([np.concatenate(points), np.log(np.maximum(weights, 1e-300))])

    def unpack(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        K, d = self.instance.n_components, self.instance.n_features
        points = x[: K * d].reshape(K, d)
        means = [self.instance.original(k, p) for k, p in enumerate(points)]
        problem = self.instance.problem
        if problem.fixed_weights is not None:
            weights = problem.fixed_weights
        else:
            weights = np.exp(x[K * d :] - x[K * d :].max())
            weights = weights / weights.sum()
        return np.clip(np.stack(means), problem.mean_lower, problem.mean_upper), weights

    def costs(self, means: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return group_costs(self.instance, self.instance.problem.objective.component_costs(means, weights))

    def energy(self, x: np.ndarray) -> float:
        return self._energy(*self.unpack(x))

    def _energy(self, means: np.ndarray, weights: np.ndarray) -> float:
        objective = self.instance.problem.objective
        value = float(self.costs(means, weights).min(axis=1).sum()) + objective.mean_prior_cost(means)
        return float(value + objective.weight_cost(np.zeros(len(weights)), weights))

    def descend(self, _energy: Any, x: np.ndarray, *_args: Any, **_options: Any) -> OptimizeResult:
        """Alternate labels and parameters until the labels stay."""
        problem = self.instance.problem
        means, weights = self.unpack(x)
        labels = np.full(self.instance.n_groups, -1)
        steps = 0
        for steps in range(1, self.max_descent + 1):  # noqa: B007
            new = self.costs(means, weights).argmin(axis=1)
            if np.array_equal(new, labels):
                break
            labels = new
            means, weights = best_parameters(
                problem, one_hot(self.instance.expand(labels), problem.n_components)
            )
        return OptimizeResult(
            x=self.pack(means, weights),
            fun=self._energy(means, weights),
            success=True,
            nit=steps,
            nfev=steps,
            message="",
        )
