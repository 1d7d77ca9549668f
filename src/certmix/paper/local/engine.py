"""The paper's local methods as engines: they find clusterings and prove nothing."""

from __future__ import annotations

from typing import Any

from certmix.local.engine import LocalMethod
from certmix.local.solution import LocalSolution
from certmix.problem import Problem


class VariationalEM(LocalMethod):
    """Variational EM, from a k-means start."""

    name = "variational"
    source = "variational EM"

    def method(self, problem: Problem, **arguments: Any) -> LocalSolution:
        from certmix.paper.local.variational import variational_em

        return variational_em(problem, **arguments)


class Slsqp(LocalMethod):
    """Sequential least squares on the relaxed problem, from a k-means start."""

    name = "slsqp"
    source = "SLSQP"

    def refusal(self, problem: Problem) -> str | None:
        from certmix.paper.local.slsqp import MOST_VARIABLES, n_variables

        count = n_variables(problem)
        if count > MOST_VARIABLES:
            return f"it takes up to {MOST_VARIABLES:,} variables, and the relaxed problem has {count:,}"
        return None

    def method(self, problem: Problem, **arguments: Any) -> LocalSolution:
        from certmix.paper.local.slsqp import slsqp

        return slsqp(problem, **arguments)


class Annealing(LocalMethod):
    """Simulated annealing by basin hopping, from a k-means start."""

    name = "annealing"
    source = "annealing"

    def method(self, problem: Problem, **arguments: Any) -> LocalSolution:
        from certmix.paper.local.annealing import annealing

        return annealing(problem, **arguments)


class Bandi(LocalMethod):
    """The method of Bandi, Bertsimas and Mazumder: parameters by mixed-integer optimisation, then labels."""

    name = "bandi"
    source = "Bandi et al."

    def method(self, problem: Problem, **arguments: Any) -> LocalSolution:
        from certmix.paper.local.bandi import bandi

        return bandi(problem, **arguments)
