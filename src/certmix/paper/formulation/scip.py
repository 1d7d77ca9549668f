"""SCIP through PySCIPOpt."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pyscipopt
from pyscipopt import SCIP_EVENTTYPE, SCIP_PARAMSETTING, SCIP_RESULT, SCIP_STAGE, Eventhdlr, Model

from certmix.paper.formulation.model import Formulation
from certmix.paper.formulation.running import run_interruptible
from certmix.paper.formulation.solvers import Ending, Limits, Watch
from certmix.paper.formulation.translate import Interface, Translator, summands

# Tighter than the usual 1e-6: what a constraint may be violated by comes back in the bound. Below 1e-7 the LP solver
# reaches the limits of double precision and says so on standard output.
FEASIBILITY = 1e-7
_EVENTS = (
    SCIP_EVENTTYPE.BESTSOLFOUND
    | SCIP_EVENTTYPE.NODESOLVED
    | SCIP_EVENTTYPE.DUALBOUNDIMPROVED
    | SCIP_EVENTTYPE.FIRSTLPSOLVED
)


class Scip:
    """SCIP, for both models."""

    def __init__(self) -> None:
        probe = Model()
        self.title = f"SCIP {probe.getMajorVersion()}.{probe.getMinorVersion()}"

    def slack(self, formulation: Formulation) -> float:
        return 5e-7

    def refusal(self, formulation: Formulation) -> str | None:
        return None

    def solve(self, formulation: Formulation, watch: Watch, limits: Limits) -> Ending:
        translated = _translated(formulation)
        scip = translated.scip
        scip.hideOutput()
        scip.setParam("misc/catchctrlc", False)
        scip.setParam("numerics/feastol", FEASIBILITY)
        # The tolerance of the LP solver is left alone: its limits are near.
        scip.setParam("constraints/nonlinear/tightenlpfeastol", False)
        scip.setParam("randomization/randomseedshift", limits.seed % 2**31)
        scip.setParam("lp/threads", min(limits.threads, 64))
        scip.setParam("limits/gap", limits.gap)
        scip.setParam("limits/absgap", limits.absolute_gap)
        if math.isfinite(limits.seconds):
            scip.setParam("limits/time", max(0.0, limits.seconds))
        if limits.nodes is not None:
            scip.setParam("limits/totalnodes", limits.nodes)
        assign = [translated.variables[id(v)] for v in formulation.assign.values()]
        # Two parts of SCIP 10.0 were seen to cut off the optimum of small models: its symmetry handling (the order of
        # components is broken by rows of ours) and the inequalities for products that it derives with bounds.
        scip.setParam("misc/usesymmetry", 0)
        scip.setParam("propagating/obbt/createbilinineqs", False)
        # Many rounds of cuts cost more than they bring on these models, and so do heuristics, whose clusterings seldom
        # beat the first incumbent.
        scip.setParam("separating/aggregation/freq", -1)
        scip.setParam("separating/maxroundsroot", 20)
        scip.setParam("separating/maxrounds", 1)
        scip.setHeuristics(SCIP_PARAMSETTING.OFF if limits.start else SCIP_PARAMSETTING.FAST)
        if limits.start:
            translated.add_start(formulation)
        handler = _Reporter(watch, assign)
        scip.includeEventhdlr(handler, "certmix", "reports incumbents and bounds")
        try:
            run_interruptible(scip.optimizeNogil, lambda: _break_off(scip, handler))
        except Exception as error:  # PySCIPOpt has no class of its own for SCIP's errors
            if not str(error).startswith("SCIP:"):
                raise
            return Ending.FAILED
        finally:
            handler.deaf = True
        if handler.error is not None:
            raise handler.error
        return _ending(scip, handler, watch, assign)


class _Reporter(Eventhdlr):
    """Tells the watch of every better solution and of the bound after every node."""

    def __init__(self, watch: Watch, assign: list[Any]) -> None:
        self._watch = watch
        self._assign = assign
        self.error: BaseException | None = None
        self.asked = False
        self.deaf = False
        """SCIP tells of a bound that means nothing when it takes its tree down, after a run or a break."""

    def eventinit(self) -> None:
        self.model.catchEvent(_EVENTS, self)

    def eventexit(self) -> None:
        self.model.dropEvent(_EVENTS, self)

    def eventexec(self, event: Any) -> dict[str, Any]:
        if self.deaf:
            return {"result": SCIP_RESULT.DIDNOTRUN}
        try:
            if event.getType() == SCIP_EVENTTYPE.BESTSOLFOUND:
                self._watch.incumbent(_values(self.model, self._assign))
            stop = self._watch.bound(_dual_bound(self.model), self.model.getNTotalNodes(), _open(self.model))
        except BaseException as error:  # it must not be lost in SCIP's C code
            self.error, stop = error, True
        if stop:
            self.asked = self.deaf = True
            self.model.interruptSolve()
        return {"result": SCIP_RESULT.DIDNOTRUN}


def _break_off(scip: Model, handler: _Reporter) -> None:
    handler.deaf = True
    scip.interruptSolve()


def _values(scip: Model, variables: list[Any]) -> np.ndarray:
    best = scip.getBestSol()
    return np.array([scip.getSolVal(best, v) for v in variables])


def _open(scip: Model) -> int:
    if scip.getStage() != SCIP_STAGE.SOLVING:  # there is no tree
        return 0
    return int(scip.getNLeaves() + scip.getNChildren() + scip.getNSiblings())


def _dual_bound(scip: Model) -> float:
    bound = float(scip.getDualbound())
    return math.copysign(math.inf, bound) if abs(bound) >= scip.infinity() else bound


def _ending(scip: Model, handler: _Reporter, watch: Watch, assign: list[Any]) -> Ending:
    status = scip.getStatus()
    if scip.getNSols() > 0:
        watch.incumbent(_values(scip, assign))
        watch.bound(_dual_bound(scip), scip.getNTotalNodes(), 0)
    elif status != "infeasible" and math.isfinite(_dual_bound(scip)):
        watch.bound(_dual_bound(scip), scip.getNTotalNodes(), 0)
    if status == "infeasible":
        return Ending.INFEASIBLE
    if status in ("optimal", "gaplimit"):
        return Ending.FINISHED
    if handler.asked or status == "userinterrupt":
        return Ending.ASKED
    return Ending.NODES if status in ("nodelimit", "totalnodelimit") else Ending.TIME


@dataclass
class _Translated:
    """A model in SCIP."""

    scip: Model
    variables: dict[int, Any]
    """SCIP's variable by the id of Pyomo's."""
    above: list[tuple[Any, Any]]
    """SCIP's variables that stand for nonlinear summands of the objective, and Pyomo's expressions of those."""

    def add_start(self, formulation: Formulation) -> None:
        """The values of the model's variables as a first solution."""
        scip = self.scip
        start = scip.createSol()
        for v in formulation.model.component_data_objects(pyo.Var):
            scip.setSolVal(start, self.variables[id(v)], v.value)
        for variable, expression in self.above:
            value = pyo.value(expression)
            # A hair above, so that rounding does not make it infeasible.
            scip.setSolVal(start, variable, value + 0.1 * FEASIBILITY * max(1.0, abs(value)))
        scip.addSol(start)


def _translated(formulation: Formulation) -> _Translated:
    """The model in SCIP. Its objective must be linear: every nonlinear summand gets a variable above it."""
    model = formulation.model
    scip = Model("certmix")
    variables: dict[int, Any] = {}
    for v in model.component_data_objects(pyo.Var):
        kind = "B" if v.is_binary() else "I" if v.is_integer() else "C"
        variables[id(v)] = scip.addVar(v.name, vtype=kind, lb=v.lb, ub=v.ub)
    translate = Translator(Interface(pyscipopt.quicksum, pyscipopt.log), variables)
    for row in model.component_data_objects(pyo.Constraint, active=True):
        lower, body, upper = pyo.value(row.lower), translate(row.body), pyo.value(row.upper)
        if lower is not None and lower == upper:
            scip.addCons(body == lower, name=row.name)
            continue
        if lower is not None:
            scip.addCons(body >= lower, name=row.name)
        if upper is not None:
            scip.addCons(body <= upper, name=row.name)
    linear, quadratic, other = summands(model)
    cost = [translate(part) for part in linear]
    above = []
    for number, part in enumerate([*quadratic, *other]):
        variable = scip.addVar(f"cost[{number}]", lb=None, ub=None)
        scip.addCons(variable >= translate(part), name=f"above[{number}]")
        above.append((variable, part))
    cost += [variable for variable, _ in above]
    scip.setObjective(pyscipopt.quicksum(cost), "minimize")
    return _Translated(scip, variables, above)
