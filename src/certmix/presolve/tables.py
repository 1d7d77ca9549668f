"""The part of a component's cost that depends on its size alone, tabulated for every size."""

from __future__ import annotations

import numpy as np

from certmix.problem import Problem
from certmix.problem.masses import sizes_cost


def entropy_tables(problem: Problem, multiplier: float | None = None) -> tuple[np.ndarray, bool]:
    r"""``entropy[k, m]`` for m = 0 … n, and whether the tables add up to the exact cost.

    With :math:`c = m + \alpha_k - 1` and :math:`C = n + \sum_k (\alpha_k - 1)` the tables hold

    - free weights: :math:`-c \log(c / C)`, whose sum over k is exact;
    - fixed weights: :math:`-c \log \pi_k`;
    - weights tied to ``n_k / n``: :math:`-c \log(m / n)`;
    - free weights with bounds: :math:`\min_{L_k \le \pi \le U_k} -c \log \pi + \lambda (\pi - c / C)`, whose sum over k
      is a lower bound for every multiplier :math:`\lambda` (default C) by Lagrangian duality on
      :math:`\sum_k \pi_k = 1`, and exact where the bounds do not bind.

    To all of them :math:`\tfrac m2 \log\det\Sigma_k` is added with one covariance per component. Where values do not
    count once, that and the cost of weights of samples are no matter of sizes (:mod:`certmix.problem.masses`).
    """
    n, K = problem.n_samples, problem.n_components
    sizes = np.arange(n + 1, dtype=np.float64)
    total = n + float((problem.prior.alpha - 1.0).sum())
    tables = np.empty((K, n + 1))
    exact = True
    for k in range(K):
        power = sizes * sizes_cost(problem) + (problem.prior.alpha[k] - 1.0)
        if problem.fixed_weights is not None:
            cost = -power * np.log(problem.fixed_weights[k])
        elif "weights" in problem.estimators:
            cost = _minus_xlog(power, sizes / n)
        elif problem.has_weight_box:
            level = total if multiplier is None else multiplier
            weight = np.clip(np.maximum(power, 0.0) / level, problem.weight_lower[k], problem.weight_upper[k])
            cost = _minus_xlog(power, weight) + level * (weight - power / total)
            exact = False
        else:
            cost = _minus_xlog(power, np.maximum(power, 0.0) / total) if total > 0 else np.zeros(n + 1)
        tables[k] = cost
        if problem.masses is None:
            tables[k] += sizes * problem.covariance.half_log_det[k]
    tables.setflags(write=False)
    return tables, exact


def _minus_xlog(power: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """``-power log weight`` with ``0 log 0 = 0``; infinite where a positive power meets weight zero."""
    out = np.zeros_like(power)
    used = power != 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        out[used] = -power[used] * np.log(weight[used])
    # Below zero: sizes that no clustering can have (an empty component, alpha < 1).
    return np.where(power < 0, np.inf, out)
