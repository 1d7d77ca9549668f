"""COPT through coptpy, where it is installed."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import coptpy
import numpy as np
import pyomo.environ as pyo
from coptpy import COPT

from certmix.paper.formulation.model import Formulation
from certmix.paper.formulation.running import run_interruptible
from certmix.paper.formulation.solvers import Ending, Limits, Watch
from certmix.paper.formulation.translate import Interface, Translator

_TOO_LARGE = 4  # COPT's return code for a licence that does not suffice


class Copt:
    """COPT, for the MIQP; without a licence it takes 2,000 variables."""

    def __init__(self) -> None:
        self.title = f"COPT {COPT.VERSION_MAJOR}.{COPT.VERSION_MINOR}"
        settings = coptpy.EnvrConfig()
        settings.set("nobanner", "1")
        with _standard_output_to_error():
            self._environment = coptpy.Envr(settings)

    def slack(self, formulation: Formulation) -> float:
        return 5e-7

    def refusal(self, formulation: Formulation) -> str | None:
        """Hand the model over with next to no time: a licence that is too small says so."""
        model, _ = self._translated(formulation)
        model.setParam(COPT.Param.TimeLimit, 0.01)
        try:
            model.solve()
        except coptpy.CoptError as error:
            if error.retcode != _TOO_LARGE:
                return str(error)
            return (
                f"without a licence it is limited in size (2,000 variables or rows) and the model has "
                f"{model.cols:,} variables and {model.rows:,} rows; use a full licence, or the solver scip"
            )
        return None

    def solve(self, formulation: Formulation, watch: Watch, limits: Limits) -> Ending:
        model, variables = self._translated(formulation)
        model.setParam(COPT.Param.FeasTol, 1e-9)
        model.setParam(COPT.Param.IntTol, 1e-9)
        model.setParam(COPT.Param.RelGap, limits.gap)
        model.setParam(COPT.Param.AbsGap, limits.absolute_gap)
        model.setParam(COPT.Param.Threads, limits.threads)
        if math.isfinite(limits.seconds):
            model.setParam(COPT.Param.TimeLimit, max(0.01, limits.seconds))
        if limits.nodes is not None:
            model.setParam(COPT.Param.NodeLimit, limits.nodes)
        if limits.start:
            pairs = [(variables[id(v)], v.value) for v in formulation.model.component_data_objects(pyo.Var)]
            model.setMipStart([v for v, _ in pairs], [value for _, value in pairs])
            model.loadMipStart()
        reporter = _Reporter(watch, [variables[id(v)] for v in formulation.assign.values()], model)
        model.setCallback(reporter, COPT.CBCONTEXT_INCUMBENT | COPT.CBCONTEXT_MIPNODE)
        try:
            run_interruptible(model.solve, model.interrupt)
        except coptpy.CoptError:
            return Ending.FAILED
        if reporter.error is not None:
            raise reporter.error
        return reporter.ending()

    def _translated(self, formulation: Formulation) -> tuple[Any, dict[int, Any]]:
        source = formulation.model
        model = self._environment.createModel("certmix")
        model.setParam(COPT.Param.Logging, 0)
        variables: dict[int, Any] = {}
        for v in source.component_data_objects(pyo.Var):
            kind = COPT.BINARY if v.is_binary() else COPT.INTEGER if v.is_integer() else COPT.CONTINUOUS
            lower = -COPT.INFINITY if v.lb is None else v.lb
            upper = COPT.INFINITY if v.ub is None else v.ub
            variables[id(v)] = model.addVar(lb=lower, ub=upper, vtype=kind, name=v.name)
        translate = Translator(Interface(coptpy.quicksum), variables)
        for row in source.component_data_objects(pyo.Constraint, active=True):
            lower, body, upper = pyo.value(row.lower), translate(row.body), pyo.value(row.upper)
            if lower is not None and lower == upper:
                model.addConstr(body == lower)
                continue
            if lower is not None:
                model.addConstr(body >= lower)
            if upper is not None:
                model.addConstr(body <= upper)
        model.setObjective(translate(source.cost.expr), COPT.MINIMIZE)
        return model, variables


class _Reporter(coptpy.CallbackBase):
    """COPT's callback: tells the watch of every better solution and of the bound."""

    def __init__(self, watch: Watch, assign: list[Any], model: Any) -> None:
        super().__init__()
        self._watch = watch
        self._assign = assign
        self._model = model
        self._nodes = 0  # COPT does not tell while it runs: counted by its calls
        self.error: BaseException | None = None

    def callback(self) -> None:
        try:
            if self.where() == COPT.CBCONTEXT_INCUMBENT:
                self._watch.incumbent(np.array([self.getIncumbent(v) for v in self._assign]))
            else:
                self._nodes += 1
            stop = self._watch.bound(_finite(self.getInfo(COPT.CBInfo.BestBnd)), self._nodes, 0)
        except BaseException as error:
            self.error, stop = error, True
        if stop:
            self.interrupt()

    def ending(self) -> Ending:
        model = self._model
        if model.status == COPT.INFEASIBLE:
            return Ending.INFEASIBLE
        if model.hasmipsol:
            self._watch.incumbent(np.array([v.x for v in self._assign]))
        self._watch.bound(_finite(model.bestbnd), int(model.nodecnt), 0)
        return {
            COPT.OPTIMAL: Ending.FINISHED,
            COPT.INTERRUPTED: Ending.ASKED,
            COPT.TIMEOUT: Ending.TIME,
            COPT.NODELIMIT: Ending.NODES,
        }.get(model.status, Ending.FAILED)


@contextmanager
def _standard_output_to_error() -> Iterator[None]:
    """What COPT says about its licence must not get between the results on standard output."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _finite(bound: float) -> float:
    return math.copysign(math.inf, bound) if abs(bound) >= COPT.INFINITY else float(bound)
