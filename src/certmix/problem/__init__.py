"""What is asked: data, covariance, weights, priors, side constraints and the objective. Imports no solver."""

from certmix.problem.constraints import (
    CannotLink,
    Constraint,
    Covering,
    Implication,
    Label,
    MaximumSize,
    MinimumSize,
    MustLink,
    Packing,
    Partitioning,
    component_names,
    component_names_from,
    labels_from,
    same_value,
)
from certmix.problem.covariance import estimate_precision
from certmix.problem.objective import Objective, Point
from certmix.problem.priors import DirichletPrior, GaussianPrior, JeffreysPrior
from certmix.problem.problem import Problem
from certmix.problem.satisfaction import is_feasible, satisfaction_table
from certmix.problem.symmetry import in_order, interchangeable

__all__ = [
    "CannotLink",
    "Constraint",
    "Covering",
    "DirichletPrior",
    "GaussianPrior",
    "Implication",
    "JeffreysPrior",
    "Label",
    "MaximumSize",
    "MinimumSize",
    "MustLink",
    "Objective",
    "Packing",
    "Partitioning",
    "Point",
    "Problem",
    "component_names",
    "component_names_from",
    "estimate_precision",
    "in_order",
    "interchangeable",
    "is_feasible",
    "labels_from",
    "same_value",
    "satisfaction_table",
]
