"""Problem 1 of the paper as a mixed-integer nonlinear program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo

from certmix.paper.formulation.model import Formulation, base_model, linear_terms, prior_terms
from certmix.paper.formulation.products import add_mean_estimator, add_products
from certmix.presolve.instance import Instance


def minlp(instance: Instance) -> Formulation:
    r"""Problem 1 in d dimensions, in the coordinates of the instance (precision one, prior precision diagonal).

    .. math::

        \min \sum_{g,k} z_{gk} \Bigl[ s_{gk} + \tfrac{w_g}2 \sum_j (x_{gkj} - \mu_{kj})^2 \Bigr]
             - \sum_k (n_k + \alpha_k - 1) \log \pi_k + \sum_k \tfrac{n_k}2 \log\det\Sigma_k
             + \sum_{k,j} \tfrac{\gamma_{kj}}2 (\mu_{kj} - m_{kj})^2

    The half squared distance and the minus logarithm are variables above convex functions, so that what is left in the
    objective are products of two variables: solvers bound those far better than the cubic terms that come of writing
    Problem 1 down as it stands.
    """
    formulation = base_model(instance, "minlp")
    instance, model = formulation.instance, formulation.model
    terms: list[Any] = [*linear_terms(formulation), *prior_terms(formulation)]
    terms += _distance_terms(formulation)
    if formulation.weights.fixed is None:
        terms += _logarithm_terms(formulation)
    if "means" in instance.problem.estimators:
        add_products(
            formulation
        )  # linear rows: on n_k mu_k = sum_g w_g z_gk x_g itself SCIP 10.0 made mistakes
        add_mean_estimator(formulation)
    model.cost = pyo.Objective(expr=pyo.quicksum(terms), sense=pyo.minimize)
    return formulation


def _distance_terms(formulation: Formulation) -> list[Any]:
    """``assign[g, k] distance[g, k]``, the distance being at least ``w_g / 2 |x_g - mu_k|^2``."""
    instance, model, means = formulation.instance, formulation.model, formulation.means
    pairs = list(model.assign)

    def point(g: int, k: int) -> np.ndarray:
        return np.asarray(instance.points[0 if instance.shared else k][g])

    def farthest(_: Any, g: int, k: int) -> tuple[float, float]:
        x = point(g, k)
        reach = np.maximum(np.abs(x - means.lower[k]), np.abs(x - means.upper[k]))
        return 0.0, 0.5 * float(instance.weight[g]) * float(reach @ reach)

    def above(m: Any, g: int, k: int) -> Any:
        squares = sum((m.mean[k, j] - float(x)) ** 2 for j, x in enumerate(point(g, k)))
        return 0.5 * float(instance.weight[g]) * squares - m.distance[g, k] <= 0

    model.distance = pyo.Var(pairs, domain=pyo.NonNegativeReals, bounds=farthest)
    model.distance_above = pyo.Constraint(pairs, rule=above)

    def follow() -> None:
        for g, k in pairs:
            away = np.array([model.mean[k, j].value for j in range(instance.n_features)]) - point(g, k)
            model.distance[g, k].set_value(0.5 * float(instance.weight[g]) * float(away @ away))

    formulation.followers.append(follow)
    return [model.assign[g, k] * model.distance[g, k] for g, k in pairs]


def _logarithm_terms(formulation: Formulation) -> list[Any]:
    """``(n_k + alpha_k - 1) minus_log[k]``, with ``minus_log[k] >= -log(argument[k])``."""
    instance, model, weights = formulation.instance, formulation.model, formulation.weights
    components = range(instance.n_components)
    model.minus_log = pyo.Var(
        components,
        domain=pyo.Reals,
        bounds=lambda _, k: (-float(np.log(weights.upper[k])), -float(np.log(weights.lower[k]))),
    )
    model.log_above = pyo.Constraint(
        components, rule=lambda m, k: -pyo.log(m.argument[k]) - m.minus_log[k] <= 0
    )

    def follow() -> None:
        for k in components:
            model.minus_log[k].set_value(-float(np.log(model.argument[k].value)))

    formulation.followers.append(follow)
    alpha = instance.problem.prior.alpha
    return [(model.size[k] + float(alpha[k] - 1.0)) * model.minus_log[k] for k in components]
