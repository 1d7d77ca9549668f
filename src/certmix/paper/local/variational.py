"""Variational EM with known covariance: distributions of means and weights instead of point estimates."""

from __future__ import annotations

import time

import numpy as np
from scipy.special import digamma, gammaln, xlogy

from certmix.local.em import DURING, starting_labels
from certmix.local.parameters import best_parameters, group_costs, one_hot
from certmix.local.rounding import conclude
from certmix.local.solution import LocalSolution
from certmix.presolve.instance import Instance, reduce
from certmix.problem import Problem

_LEAST = 1e-8  # samples of which a component's posterior still makes sense under a flat prior


def variational_em(
    problem: Problem,
    *,
    seed: int = 0,
    start: np.ndarray | None = None,
    max_iterations: int = 5_000,
    tolerance: float = 1e-13,
    time_limit: float | None = None,
) -> LocalSolution:
    r"""Mean-field approximation :math:`q(z)\, q(\pi)\, \prod_k q(\mu_k)` of the posterior.

    :math:`q(\pi)` is Dirichlet(:math:`\hat\alpha`), :math:`\hat\alpha_k = \alpha_k + N_k`, and
    :math:`q(\mu_k)` Gaussian with precision :math:`\Lambda_k + N_k P_k`; :math:`N_k` is the sum of the
    responsibilities

    .. math::

        \log r_{ik} = \psi(\hat\alpha_k) - \psi\bigl(\textstyle\sum_l \hat\alpha_l\bigr)
            - \tfrac12\log\det\Sigma_k - \tfrac12 |y_i - \hat m_k|^2_{P_k}
            - \tfrac12 \operatorname{tr} P_k (\Lambda_k + N_k P_k)^{-1} + \text{const}.

    The history is the negative evidence bound up to a constant. A flat prior is the limit of a vague one.
    Boxes on the means move :math:`\hat m_k` into the box; fixed weights replace the expectation of
    :math:`\log\pi_k`.

    Parameters
    ----------
    As those of :func:`certmix.local.em.em`.

    Returns
    -------
    LocalSolution
        ``means`` and ``weights`` are the posterior means (the weights moved into their bounds).
    """
    begin = time.perf_counter()
    instance = reduce(problem)
    shares = one_hot(starting_labels(problem, seed, start), problem.n_components)
    history: list[float] = []
    converged = False
    for _ in range(max_iterations):
        posterior = _Posterior(problem, shares)
        responsibilities = posterior.responsibilities(instance)
        history.append(posterior.negative_bound(instance, responsibilities))
        if len(history) > 1 and abs(history[-2] - history[-1]) <= tolerance * max(1.0, abs(history[-1])):
            converged = True
            break
        if time_limit is not None and time.perf_counter() - begin > time_limit:
            break
        shares = responsibilities[instance.groups.of]
    notes = []
    if problem.has_mean_box or problem.has_weight_box or problem.estimators:
        notes.append(
            "variational EM treats bounds and estimator constraints as projections of its posterior means"
        )
    return conclude(
        instance,
        method="variational EM",
        means=posterior.means,
        weights=posterior.weights,
        own_labels=instance.expand(responsibilities.argmax(axis=1)),
        responsibilities=responsibilities[instance.groups.of],
        history=history,
        iterations=len(history),
        converged=converged,
        during=DURING,
        notes=notes,
    )


class _Posterior:
    """The posterior of means and weights for given shares of the samples."""

    def __init__(self, problem: Problem, shares: np.ndarray) -> None:
        self.problem = problem
        self.sizes = np.maximum(shares.sum(axis=0), _LEAST)
        self.means, _ = best_parameters(problem, shares)
        self.alpha = problem.prior.alpha + self.sizes
        spread = [problem.prior.precision[k] + m * problem.covariance.of(k) for k, m in enumerate(self.sizes)]
        self.precision = np.stack(spread)
        covariance = np.linalg.inv(self.precision)
        self.trace = np.array(
            [np.trace(problem.covariance.of(k) @ covariance[k]) for k in range(len(covariance))]
        )
        self.prior_trace = np.einsum("kij,kji->k", problem.prior.precision, covariance)
        if problem.fixed_weights is not None:
            self.log_weights = np.log(problem.fixed_weights)
        else:
            self.log_weights = digamma(self.alpha) - digamma(self.alpha.sum())

    @property
    def weights(self) -> np.ndarray:
        problem = self.problem
        if problem.fixed_weights is not None:
            return problem.fixed_weights
        mean = np.clip(self.alpha / self.alpha.sum(), problem.weight_lower, problem.weight_upper)
        return np.asarray(mean / mean.sum())

    def _costs(self, instance: Instance) -> np.ndarray:
        """Expected costs of the groups."""
        distances = self.problem.objective.component_costs(self.means, np.ones(self.problem.n_components))
        return group_costs(instance, distances + 0.5 * self.trace - self.log_weights)

    def responsibilities(self, instance: Instance) -> np.ndarray:
        costs = self._costs(instance)
        odds = np.exp(costs.min(axis=1, keepdims=True) - costs)
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def negative_bound(self, instance: Instance, responsibilities: np.ndarray) -> float:
        """``-E[log p(y, z, mu, pi)] + E[log q]`` up to a constant."""
        problem = self.problem
        costs = np.where(responsibilities > 0, self._costs(instance), 0.0)
        value = float((responsibilities * costs).sum() + xlogy(responsibilities, responsibilities).sum())
        if problem.fixed_weights is None:
            value += float(((self.alpha - problem.prior.alpha) * self.log_weights).sum())
            value += float(gammaln(self.alpha.sum()) - gammaln(self.alpha).sum())
        value += problem.objective.mean_prior_cost(self.means) + 0.5 * float(self.prior_trace.sum())
        return value + 0.5 * float(np.linalg.slogdet(self.precision)[1].sum())
