"""The paper's mixed-integer quadratic program: products linearised, the logarithm piecewise linear (Section 3.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo

from certmix.paper.formulation.logarithm import PiecewiseLog
from certmix.paper.formulation.model import Formulation, base_model, linear_terms, prior_terms
from certmix.paper.formulation.products import add_mean_estimator, add_products
from certmix.presolve.instance import Instance


def miqp(instance: Instance, logarithms: list[PiecewiseLog] | None) -> Formulation:
    r"""The MIQP with one piecewise-linear logarithm per component (None when the weights are fixed).

    With ``product[g, k, j]`` :math:`t = z \mu` (:func:`~certmix.paper.formulation.products.add_products`) the squares
    are :math:`\tfrac{w_g}2 (x_g - \sum_k t_{gk})^2`. Where every component has its own coordinates, that sum is no
    distance, and they are :math:`\tfrac{w_g}2 \sum_k (x_{gk} z_{gk} - t_{gk})^2` instead.

    With ``minus_log[k]`` above the lines of the piecewise-linear logarithm, ``entropy[g, k]`` is at least
    ``minus_log[k]`` where :math:`z_{gk} = 1`, by one more row of that kind. The continuous relaxation is a convex
    quadratic program.
    """
    formulation = base_model(instance, "miqp")
    instance, model = formulation.instance, formulation.model
    terms: list[Any] = [*linear_terms(formulation), *prior_terms(formulation)]
    add_products(formulation)
    terms += _square_terms(formulation)
    if logarithms is not None:
        formulation.exact = all(log.variant == "tangent" for log in logarithms)
        terms += _entropy_terms(formulation, logarithms)
    if "means" in instance.problem.estimators:
        add_mean_estimator(formulation)
    model.cost = pyo.Objective(expr=pyo.quicksum(terms), sense=pyo.minimize)
    return formulation


def _square_terms(formulation: Formulation) -> list[Any]:
    instance, model = formulation.instance, formulation.model
    terms: list[Any] = []
    for g in range(instance.n_groups):
        half = 0.5 * float(instance.weight[g])
        components = np.flatnonzero(instance.allowed[g]).tolist()
        for j in range(instance.n_features):
            if instance.shared:
                total = sum(model.product[g, k, j] for k in components)
                terms.append(half * (total - float(instance.points[0][g, j])) ** 2)
                continue
            for k in components:
                away = model.product[g, k, j] - float(instance.points[k][g, j]) * model.assign[g, k]
                terms.append(half * away**2)
    return terms


def _entropy_terms(formulation: Formulation, logarithms: list[PiecewiseLog]) -> list[Any]:
    instance, model = formulation.instance, formulation.model
    components = range(instance.n_components)
    ends = [log.value(log.breakpoints[[-1, 0]]) for log in logarithms]
    model.minus_log = pyo.Var(
        components, domain=pyo.Reals, bounds=lambda _, k: (float(ends[k][0]), float(ends[k][1]))
    )
    model.entropy = pyo.Var(
        list(model.assign),
        domain=pyo.Reals,
        bounds=lambda _, g, k: (min(0.0, float(ends[k][0])), float(ends[k][1])),
    )
    model.lines = pyo.ConstraintList()
    model.entropy_rows = pyo.ConstraintList()
    for k in components:
        for slope, intercept in logarithms[k].lines:
            model.lines.add(slope * model.argument[k] - model.minus_log[k] <= -intercept)
    for g, k in model.assign:
        low, high = (float(x) for x in ends[k])
        z, e = model.assign[g, k], model.entropy[g, k]
        model.entropy_rows.add(low * z - e <= 0)
        model.entropy_rows.add(model.minus_log[k] + high * z - e <= high)

    def follow() -> None:
        for k in components:
            value = float(logarithms[k].value(np.array([model.argument[k].value]))[0])
            model.minus_log[k].set_value(float(np.clip(value, *ends[k])))
        for g, k in model.assign:
            model.entropy[g, k].set_value(model.minus_log[k].value if model.assign[g, k].value else 0.0)

    formulation.followers.append(follow)
    alpha = instance.problem.prior.alpha
    terms = [float(instance.weight[g]) * model.entropy[g, k] for g, k in model.assign]
    terms += [float(alpha[k] - 1.0) * model.minus_log[k] for k in components if alpha[k] != 1.0]
    return terms
