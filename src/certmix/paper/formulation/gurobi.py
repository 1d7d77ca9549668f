"""Gurobi through gurobipy, where it is installed."""

from __future__ import annotations

import math
from typing import Any

import gurobipy
import numpy as np
import pyomo.environ as pyo
from gurobipy import GRB, nlfunc

from certmix.paper.formulation.model import Formulation
from certmix.paper.formulation.running import run_interruptible
from certmix.paper.formulation.solvers import Ending, Limits, Watch
from certmix.paper.formulation.translate import Interface, Translator

_TOO_LARGE = 10010  # Gurobi's error code for a model beyond a size-limited licence


class Gurobi:
    """Gurobi, for both models; its free licence takes 200 variables in a model that is not linear."""

    def __init__(self) -> None:
        major, minor, _ = gurobipy.gurobi.version()
        self.title = f"Gurobi {major}.{minor}"
        self._environment = gurobipy.Env(empty=True)
        self._environment.setParam("OutputFlag", 0)
        self._environment.start()

    def slack(self, formulation: Formulation) -> float:
        """Its logarithm is good to 1e-6 or so: bounds of the MINLP were seen 6e-7 above the optimum."""
        return 5e-6 if formulation.name == "minlp" else 5e-7

    def refusal(self, formulation: Formulation) -> str | None:
        """Hand the model over with no time to solve it: a licence that is too small says so."""
        model, _ = self._translated(formulation)
        model.Params.TimeLimit = 0
        try:
            model.optimize()
        except gurobipy.GurobiError as error:
            if error.errno != _TOO_LARGE:
                return str(error)
            return (
                f"its licence is limited in size (200 variables where a model is not linear) and the model has "
                f"{model.NumVars:,}; use a full licence, or the solver scip"
            )
        return None

    def solve(self, formulation: Formulation, watch: Watch, limits: Limits) -> Ending:
        model, variables = self._translated(formulation)
        for name in ("FeasibilityTol", "IntFeasTol", "OptimalityTol"):
            model.setParam(name, 1e-9)
        model.Params.MIPGap = limits.gap
        model.Params.MIPGapAbs = limits.absolute_gap
        model.Params.Threads = limits.threads
        model.Params.Seed = limits.seed % 2_000_000_000
        if math.isfinite(limits.seconds):
            model.Params.TimeLimit = max(0.0, limits.seconds)
        if limits.nodes is not None:
            model.Params.NodeLimit = limits.nodes
        if limits.start:
            for v in formulation.model.component_data_objects(pyo.Var):
                variables[id(v)].Start = v.value
        reporter = _Reporter(watch, [variables[id(v)] for v in formulation.assign.values()])
        try:
            run_interruptible(lambda: model.optimize(reporter), model.terminate)
        except gurobipy.GurobiError:
            return Ending.FAILED
        if reporter.error is not None:
            raise reporter.error
        return reporter.ending(model)

    def _translated(self, formulation: Formulation) -> tuple[gurobipy.Model, dict[int, Any]]:
        source = formulation.model
        model = gurobipy.Model(env=self._environment)
        variables: dict[int, Any] = {}
        for v in source.component_data_objects(pyo.Var):
            kind = GRB.BINARY if v.is_binary() else GRB.INTEGER if v.is_integer() else GRB.CONTINUOUS
            lower, upper = (-GRB.INFINITY if v.lb is None else v.lb), (GRB.INFINITY if v.ub is None else v.ub)
            variables[id(v)] = model.addVar(lower, upper, vtype=kind, name=v.name)

        def logarithm(argument: Any) -> Any:
            value = model.addVar(-GRB.INFINITY, GRB.INFINITY)
            model.addGenConstrNL(value, nlfunc.log(argument))
            return value

        translate = Translator(Interface(gurobipy.quicksum, logarithm), variables)
        for row in source.component_data_objects(pyo.Constraint, active=True):
            lower, body, upper = pyo.value(row.lower), translate(row.body), pyo.value(row.upper)
            if lower is not None and lower == upper:
                model.addConstr(body == lower)
                continue
            if lower is not None:
                model.addConstr(body >= lower)
            if upper is not None:
                model.addConstr(body <= upper)
        model.setObjective(translate(source.cost.expr), GRB.MINIMIZE)
        model.update()
        return model, variables


class _Reporter:
    """Gurobi's callback: tells the watch of every better solution and of the bound."""

    def __init__(self, watch: Watch, assign: list[Any]) -> None:
        self._watch = watch
        self._assign = assign
        self.asked = False
        self.error: BaseException | None = None

    def __call__(self, model: Any, where: int) -> None:
        codes = GRB.Callback
        try:
            if where == codes.MIPSOL:
                self._watch.incumbent(np.array(model.cbGetSolution(self._assign)))
                bound, nodes = model.cbGet(codes.MIPSOL_OBJBND), model.cbGet(codes.MIPSOL_NODCNT)
                stop = self._watch.bound(_finite(bound), int(nodes), 0)
            elif where == codes.MIP:
                bound, nodes = model.cbGet(codes.MIP_OBJBND), model.cbGet(codes.MIP_NODCNT)
                stop = self._watch.bound(_finite(bound), int(nodes), int(model.cbGet(codes.MIP_NODLFT)))
            else:
                return
        except BaseException as error:
            self.error, stop = error, True
        if stop and not self.asked:
            self.asked = True
            model.terminate()

    def ending(self, model: gurobipy.Model) -> Ending:
        infeasible = model.Status in (GRB.INFEASIBLE, GRB.INF_OR_UNBD)
        if model.SolCount:
            self._watch.incumbent(np.array([v.X for v in self._assign]))
        if not infeasible:
            self._watch.bound(_finite(model.ObjBound), int(model.NodeCount), 0)
        if infeasible:
            return Ending.INFEASIBLE
        return {
            GRB.OPTIMAL: Ending.FINISHED,
            GRB.INTERRUPTED: Ending.ASKED,
            GRB.TIME_LIMIT: Ending.TIME,
            GRB.NODE_LIMIT: Ending.NODES,
        }.get(model.Status, Ending.FAILED)


def _finite(bound: float) -> float:
    return math.copysign(math.inf, bound) if abs(bound) >= GRB.INFINITY else float(bound)
