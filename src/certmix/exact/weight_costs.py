"""The cost of the weights for given sizes when the weights are bounded: it does not separate by component."""

from __future__ import annotations

import math

import numpy as np

from certmix.problem import Problem


class WeightCosts:
    r"""Least cost of the weights for vectors of sizes, remembered.

    The cost :math:`\min_\pi -\sum_k c_k \log \pi_k` over :math:`L \le \pi \le U,\ \sum_k \pi_k = 1` is
    convex, so its dual

    .. math:: -\lambda + \sum_k \min_{L_k \le \pi \le U_k} (-c_k \log \pi + \lambda \pi)

    is a lower bound for every :math:`\lambda` and equal to the cost at the right one, which at the
    evaluator's solution is :math:`c_k / \pi_k` of some component, or zero when a component without samples
    takes what the others must leave.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._known: dict[tuple[int, ...], float] = {}

    def __call__(self, sizes: np.ndarray) -> np.ndarray:
        """A tight lower bound on the cost for every row of sizes, (L, K) -> (L,)."""
        distinct, inverse = np.unique(sizes, axis=0, return_inverse=True)
        costs = np.array([self._cost(row) for row in distinct])
        return np.asarray(costs[inverse.reshape(-1)])

    def _cost(self, sizes: np.ndarray) -> float:
        key = tuple(int(m) for m in sizes)
        if key not in self._known:
            self._known[key] = self._dual(sizes)
        return self._known[key]

    def _dual(self, sizes: np.ndarray) -> float:
        problem = self.problem
        power = sizes + problem.prior.alpha - 1.0
        if np.any(power < 0):
            return np.inf
        weights = problem.objective.best_weights(sizes)
        used = power > 0
        best = float(-(power[used] @ np.log(problem.weight_upper[used])))  # level zero
        for level in power[used] / weights[used]:
            pi = np.clip(power / level, problem.weight_lower, problem.weight_upper)
            excess = math.fsum(
                (*pi.tolist(), -1.0)
            )  # a steep level would blow up the rounding of a plain sum
            best = max(best, float(-(power[used] @ np.log(pi[used])) + level * excess))
        return best
