"""Products of assignment and mean as variables, and the estimator equalities that they make linear."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo

from certmix.paper.formulation.model import Formulation


def add_products(formulation: Formulation) -> None:
    r"""``product[g, k, j]`` :math:`t = z \mu`, by four rows over the range :math:`[M^L, M^U]` of the mean.

    .. math::

        M^L z \le t \le M^U z, \qquad \mu - M^U (1 - z) \le t \le \mu - M^L (1 - z)
    """
    instance, model, means = formulation.instance, formulation.model, formulation.means
    triples = [(g, k, j) for g, k in model.assign for j in range(instance.n_features)]

    def bounds(_: Any, g: int, k: int, j: int) -> tuple[float, float]:
        return min(0.0, float(means.lower[k, j])), max(0.0, float(means.upper[k, j]))

    model.product = pyo.Var(triples, domain=pyo.Reals, bounds=bounds)
    model.product_rows = pyo.ConstraintList()
    for g, k, j in triples:
        z, t, mu = model.assign[g, k], model.product[g, k, j], model.mean[k, j]
        low, high = float(means.lower[k, j]), float(means.upper[k, j])
        model.product_rows.add(low * z - t <= 0)
        model.product_rows.add(t - high * z <= 0)
        model.product_rows.add(mu + high * z - t <= high)
        model.product_rows.add(t - mu - low * z <= -low)

    def follow() -> None:
        for g, k, j in triples:
            model.product[g, k, j].set_value(model.mean[k, j].value if model.assign[g, k].value else 0.0)

    formulation.followers.append(follow)


def add_mean_estimator(formulation: Formulation) -> None:
    """The mean of a component is the average of its samples: ``sum_g w_g (t_gk - x_g z_gk) = 0``."""
    instance, model = formulation.instance, formulation.model
    model.mean_estimator = pyo.ConstraintList()
    for k in range(instance.n_components):
        points = instance.points[0 if instance.shared else k]
        members = np.flatnonzero(instance.allowed[:, k]).tolist()
        for j in range(instance.n_features if members else 0):
            model.mean_estimator.add(
                sum(
                    float(instance.weight[g])
                    * (model.product[g, k, j] - float(points[g, j]) * model.assign[g, k])
                    for g in members
                )
                == 0
            )
