"""What the two models share: assignment, sizes, side constraints, weights, means, and the way back to labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyomo.environ as pyo

from certmix.paper.formulation.ranges import MeanRanges, WeightRanges, mean_ranges, weight_ranges
from certmix.presolve.instance import Instance
from certmix.presolve.rows import apart, counted, implied

# Coordinates below this are taken as zero; what it changes is far below any solver's tolerance.
TINY = 1e-11


@dataclass
class Formulation:
    """A Pyomo model of a problem and what is needed to read its solutions.

    Attributes
    ----------
    name : ``minlp`` or ``miqp``
    instance : the reduced problem that the model states
    model : the Pyomo model; ``assign[g, k]`` is one when group g is in component k
    exact : whether the model's optimum is a lower bound on the problem's
    """

    name: str
    instance: Instance
    model: pyo.ConcreteModel
    means: MeanRanges
    weights: WeightRanges
    exact: bool = True
    followers: list[Callable[[], None]] = field(default_factory=list)
    """Set the values of the variables that follow from those of the base model."""
    forbidden: list[np.ndarray] = field(default_factory=list)

    @property
    def assign(self) -> pyo.Var:
        return self.model.assign

    def group_labels(self, values: np.ndarray) -> np.ndarray:
        """Labels of the groups from the values of ``assign``, in the order of its keys."""
        instance = self.instance
        table = np.full((instance.n_groups, instance.n_components), -np.inf)
        for (g, k), value in zip(self.assign, values, strict=True):
            table[g, k] = value
        return np.asarray(table.argmax(axis=1))

    def forbid(self, labels: np.ndarray) -> None:
        """Exclude one labelling of the groups (the evaluator found no parameters for it)."""
        self.forbidden.append(labels)
        self.model.forbidden.add(sum(self.assign[g, int(k)] for g, k in enumerate(labels)) <= len(labels) - 1)

    def set_start(self, labels: np.ndarray) -> None:
        """Give every variable its value at a labelling of the groups with its best parameters.

        Components are taken in the model's order. What stands above a function lies on it, so the values satisfy the
        model's rows up to rounding.
        """
        instance, model, weights = self.instance, self.model, self.weights
        labels = in_order(instance, labels)
        point = instance.problem.objective.best(instance.expand(labels))
        sizes = np.bincount(labels, weights=instance.weight, minlength=instance.n_components)
        for g, k in self.assign:
            self.assign[g, k].set_value(int(labels[g] == k))
        for k in range(instance.n_components):
            model.size[k].set_value(int(sizes[k]))
            mean = instance.whitened(k, point.means[k])
            for j, x in enumerate(np.clip(mean, self.means.lower[k], self.means.upper[k]).tolist()):
                model.mean[k, j].set_value(x)
            if weights.fixed is None:
                empty = weights.optional[k] and sizes[k] == 0
                value = point.weights[k] + (weights.lower[k] if empty else 0.0)
                model.argument[k].set_value(float(np.clip(value, weights.lower[k], weights.upper[k])))
                if weights.optional[k]:
                    model.used[k].set_value(int(not empty))
        for set_values in self.followers:
            set_values()


def in_order(instance: Instance, labels: np.ndarray) -> np.ndarray:
    """The same clustering with interchangeable components by increasing size, as the models want it."""
    sizes = np.bincount(labels, weights=instance.weight, minlength=instance.n_components)
    new = np.arange(instance.n_components)
    for c in np.unique(instance.classes):
        members = np.flatnonzero(instance.classes == c)
        new[members[np.argsort(sizes[members], kind="stable")]] = members
    return np.asarray(new[labels])


def base_model(instance: Instance, name: str) -> Formulation:
    """Assignment, sizes, side constraints, weights and means; the objective is left to the formulation.

    Rows, with w the number of samples in a group:

    - ``sum_k assign[g, k] = 1`` for every group, ``size[k] = sum_g w_g assign[g, k]`` within its limits;
    - cannot-link ``assign[g, k] + assign[h, k] <= 1``; implication ``assign[g, k] <= assign[h, k]``;
      packing, partitioning, covering: limits on sums over a set of groups;
    - ``sum_k weight_k = 1``, and interchangeable components by increasing size and weight;
    - estimators ``n weight_k = size_k`` where they are asked for, and boxes on the means.
    """
    # A sample in the centre has coordinates of 1e-16, and coefficients of that size lead solvers astray.
    instance = replace(instance, points=np.where(np.abs(instance.points) < TINY, 0.0, instance.points))
    K, d = instance.n_components, instance.n_features
    weights, means = weight_ranges(instance.problem), mean_ranges(instance)
    model = pyo.ConcreteModel(name=f"certmix_{name}")
    groups, components = range(instance.n_groups), range(K)
    model.assign = pyo.Var(
        [(g, k) for g in groups for k in components if instance.allowed[g, k]], domain=pyo.Binary
    )
    model.size = pyo.Var(
        components,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda _, k: (int(weights.size_lower[k]), int(weights.size_upper[k])),
    )
    model.mean = pyo.Var(
        components,
        range(d),
        domain=pyo.Reals,
        bounds=lambda _, k, j: (float(means.lower[k, j]), float(means.upper[k, j])),
    )
    model.forbidden = pyo.ConstraintList()
    formulation = Formulation(name, instance, model, means, weights)
    _add_assignment(model, instance)
    _add_side_constraints(model, instance)
    _add_weights(model, instance, weights)
    _add_order(model, instance, weights)
    model.box = pyo.ConstraintList()
    for row in means.rows:
        body = sum(float(c) * model.mean[row.component, j] for j, c in enumerate(row.coefficient) if c != 0)
        low, high = (None if np.isinf(x) else x for x in (row.low, row.high))
        model.box.add((low, body, high))
    return formulation


def _members(instance: Instance, k: int) -> list[int]:
    return np.flatnonzero(instance.allowed[:, k]).tolist()


def _add_assignment(model: pyo.ConcreteModel, instance: Instance) -> None:
    allowed = instance.allowed
    model.once = pyo.Constraint(
        range(instance.n_groups),
        rule=lambda m, g: sum(m.assign[g, int(k)] for k in np.flatnonzero(allowed[g])) == 1,
    )
    model.count = pyo.Constraint(
        range(instance.n_components),
        rule=lambda m, k: (
            sum(int(instance.weight[g]) * m.assign[g, k] for g in _members(instance, k)) - m.size[k] == 0
        ),
    )


def _add_side_constraints(model: pyo.ConcreteModel, instance: Instance) -> None:
    shape = instance.allowed.shape
    model.cannot_link, model.implication = pyo.ConstraintList(), pyo.ConstraintList()
    model.counting = pyo.ConstraintList()
    for constraints, rows in (
        (model.cannot_link, apart(instance.conflicts, shape)),
        (model.implication, implied(instance.implications, shape)),
        (model.counting, counted(instance.counts, shape)),
    ):
        rows = rows.binding(instance.allowed)
        for r, (low, high) in enumerate(zip(rows.low.tolist(), rows.high.tolist(), strict=True)):
            row = rows.matrix[r]
            terms = [
                int(c) * model.assign[divmod(at, shape[1])]
                for at, c in zip(row.indices.tolist(), row.data.tolist(), strict=True)
            ]
            if terms:
                constraints.add((None if np.isinf(low) else int(low), sum(terms), int(high)))
            else:
                constraints.add(model.size[0] <= -1)  # none of them may be there: infeasible


def _add_weights(model: pyo.ConcreteModel, instance: Instance, weights: WeightRanges) -> None:
    """The argument of every logarithm, and the weights that add up to one."""
    if weights.fixed is not None:
        return
    K, n = instance.n_components, instance.n_samples
    model.argument = pyo.Var(
        range(K),
        domain=pyo.PositiveReals,
        bounds=lambda _, k: (float(weights.lower[k]), float(weights.upper[k])),
    )
    optional = np.flatnonzero(weights.optional).tolist()
    model.used = pyo.Var(optional, domain=pyo.Binary)
    model.use = pyo.ConstraintList()
    for k in optional:
        for g in _members(instance, k):
            model.use.add(model.assign[g, k] - model.used[k] <= 0)
        model.use.add(model.used[k] - model.size[k] <= 0)
    model.weight = pyo.Expression(
        range(K),
        rule=lambda m, k: (
            m.argument[k] - float(weights.lower[k]) * (1 - m.used[k]) if k in optional else m.argument[k]
        ),
    )
    model.simplex = pyo.Constraint(expr=sum(model.weight[k] for k in range(K)) == 1)
    if "weights" in instance.problem.estimators:
        model.weight_estimator = pyo.Constraint(range(K), rule=lambda m, k: n * m.weight[k] - m.size[k] == 0)


def _add_order(model: pyo.ConcreteModel, instance: Instance, weights: WeightRanges) -> None:
    """Interchangeable components by increasing size; with the size the best weight grows too (paper, Section 3)."""
    model.order = pyo.ConstraintList()
    for c in np.unique(instance.classes):
        members = np.flatnonzero(instance.classes == c).tolist()
        for a, b in pairwise(members):
            model.order.add(model.size[a] - model.size[b] <= 0)
            if weights.fixed is None:
                model.order.add(model.weight[a] - model.weight[b] <= 0)


def linear_terms(formulation: Formulation) -> list[Any]:
    """What is linear in the assignment: scatter inside groups, log-determinants, and fixed weights."""
    instance, model, weights = formulation.instance, formulation.model, formulation.weights
    problem = instance.problem
    terms: list[Any] = []
    for g, k in model.assign:
        scatter = float(instance.scatter[0 if instance.shared else k][g])
        if scatter:
            terms.append(scatter * model.assign[g, k])
    constant = 0.0
    for k in range(instance.n_components):
        rate = float(problem.covariance.half_log_det[k])
        if weights.fixed is not None:
            minus_log = -float(np.log(weights.fixed[k]))
            rate += minus_log
            constant += float(problem.prior.alpha[k] - 1.0) * minus_log
        if rate:
            terms.append(rate * model.size[k])
    return [*terms, constant]


def prior_terms(formulation: Formulation) -> list[Any]:
    """``gamma/2 (mu - m)^2``, written around the middle of the mean's range, where no large numbers cancel."""
    instance, model, means = formulation.instance, formulation.model, formulation.means
    terms: list[Any] = []
    constant = 0.0
    for (k, j), gamma in np.ndenumerate(instance.prior_weight):
        if gamma > 0:
            middle = 0.5 * float(means.lower[k, j] + means.upper[k, j])
            away = middle - float(instance.prior_mean[k, j])
            terms.append(0.5 * float(gamma) * (model.mean[k, j] - middle) ** 2)
            if abs(gamma * away) > TINY:
                terms.append(float(gamma) * away * (model.mean[k, j] - middle))
            constant += 0.5 * float(gamma) * away**2
    return [*terms, constant]
