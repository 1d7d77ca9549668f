"""The engines ``minlp`` and ``miqp``: a model, a solver, and the ledger between them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from certmix import memory
from certmix.engines import Outcome
from certmix.errors import InfeasibleError, UnsupportedError
from certmix.ledger import Ledger
from certmix.local.hard_em import offered
from certmix.options import Options
from certmix.paper.formulation.solvers import Ending, Limits, Solver, Watch, require_solver, solver
from certmix.presolve.feasibility import find_feasible
from certmix.presolve.instance import Instance
from certmix.problem import Problem, is_feasible
from certmix.problem.features import EVERY_FEATURE, MASSES, Feature
from certmix.search.engines import reduced
from certmix.status import Termination

if TYPE_CHECKING:
    from certmix.paper.formulation.approximation import Approximation
    from certmix.paper.formulation.model import Formulation


class _ModelEngine:
    """What the two engines share."""

    name = ""
    certified = True
    attested = True  # its bound is a solver's word
    honours = EVERY_FEATURE - {Feature.NOISE} - MASSES

    def refusal(self, problem: Problem) -> str | None:
        return None

    def check(self, options: Options) -> None:
        """Say in one sentence what is missing, before any work."""
        require_solver(options.own("solver"), self.name)

    def run(self, problem: Problem, ledger: Ledger, options: Options) -> Outcome:
        backend = solver(options.own("solver"), self.name)
        ledger.certificate_level = f"attested by {backend.title}"
        instance = reduced(problem, ledger)
        if instance.groups.contradiction:
            return Outcome(Termination.EXHAUSTED, infeasible=True, certificate_level="computed")
        run = _Run(instance, ledger, options, backend)
        outcome = self._rounds(run)
        infeasible = outcome is Termination.EXHAUSTED and run.infeasible and ledger.incumbent is None
        return Outcome(outcome, infeasible=infeasible, certificate_level=ledger.certificate_level)

    def _rounds(self, run: _Run) -> Termination:
        raise NotImplementedError


class MinlpEngine(_ModelEngine):
    """Problem 1 of the paper as a mixed-integer nonlinear program, solved by SCIP or another solver."""

    name = "minlp"

    def _rounds(self, run: _Run) -> Termination:
        from certmix.paper.formulation.minlp import minlp

        formulation = minlp(run.instance)
        run.prepare(formulation)
        while True:
            reason = run.solve(formulation)
            if reason is not None:
                return reason
            if not run.forbid_last(formulation):
                run.tell_tolerance()
                return Termination.EXHAUSTED


class MiqpEngine(_ModelEngine):
    """The paper's quadratic program with a piecewise-linear logarithm, refined and solved until the gap is met."""

    name = "miqp"

    def _rounds(self, run: _Run) -> Termination:
        from certmix.paper.formulation.approximation import first_approximation
        from certmix.paper.formulation.miqp import miqp

        options = run.options
        approximation = first_approximation(
            run.instance.problem,
            options.own("logarithm"),
            options.own("breakpoints"),
            options.own("adaptive"),
        )
        forbidden: list[np.ndarray] = []
        prepared = False
        while True:
            formulation = miqp(run.instance, None if approximation is None else approximation.logarithms)
            for labels in forbidden:
                formulation.forbid(labels)
            if not prepared:
                run.prepare(formulation)
                prepared = True
            run.lowered = _announce(run.ledger, approximation)
            reason = run.solve(formulation)
            if reason is not None:
                return reason
            if run.forbid_last(formulation):
                forbidden = list(formulation.forbidden)
                continue
            finer = None if approximation is None else approximation.refined(run.last_weights())
            if approximation is None or finer is None or not run.worth_refining(approximation, finer):
                run.tell_tolerance()
                return Termination.EXHAUSTED
            approximation = finer


def _announce(ledger: Ledger, approximation: Approximation | None) -> float:
    """Tell how far the logarithm can be off; return by how much the model's bound has to be lowered for it."""
    if approximation is None:
        return 0.0
    variant, error = approximation.logarithms[0].variant, approximation.error
    meaning = (
        "its tangents lie below, so the model's bound holds for the exact problem"
        if variant == "tangent"
        else "its chords lie above, so the model's bound is lowered by that much"
    )
    ledger.message(
        f"piecewise-linear logarithm ({variant}): up to {approximation.n_breakpoints} breakpoints a component, "
        f"off by at most {error:.3g} nats in all; {meaning}"
    )
    return error if variant == "chord" else 0.0


_REASONS = {
    Ending.TIME: Termination.TIME,
    Ending.NODES: Termination.NODES,
    Ending.FAILED: Termination.FAILED,
}


class _Run:
    """One run of an engine: what is told between solver and ledger."""

    def __init__(self, instance: Instance, ledger: Ledger, options: Options, backend: Solver) -> None:
        self.instance = instance
        self.ledger = ledger
        self.options = options
        self.backend = backend
        self.lowered = 0.0
        self.infeasible = False
        self._nodes = 0
        self._last: np.ndarray | None = None
        self._formulation: Formulation

    def prepare(self, formulation: Formulation) -> None:
        """Refuse what the solver cannot take, then look for a first incumbent where one is wanted."""
        reason = self.backend.refusal(formulation)
        if reason is not None:
            raise UnsupportedError(f"{self.backend.title} cannot take this model: {reason}")
        model = formulation.model
        self.ledger.message(
            f"{formulation.name} model for {self.backend.title}: {model.nvariables():,} variables "
            f"({len(formulation.assign):,} of them assignments), {model.nconstraints():,} constraints"
        )
        if self.options.own("warm_start"):
            self.ledger.phase = "hard EM"
            start = None if self.ledger.incumbent is None else self.ledger.incumbent.labels
            offered(self.instance, self.ledger, self.options, share=0.5, start=start)

    def solve(self, formulation: Formulation) -> Termination | None:
        """One call of the solver; None when it finished and the gap is still open."""
        ledger, options = self.ledger, self.options
        self._last = None
        self._formulation = formulation
        ledger.phase = self.backend.title
        nodes = None if options.node_limit is None else options.node_limit - self._nodes
        left = options.time_left(ledger.seconds)
        if left <= 0:
            return Termination.TIME
        if nodes is not None and nodes <= 0:
            return Termination.NODES
        start = ledger.incumbent is not None
        if ledger.incumbent is not None:
            formulation.set_start(self.instance.contract(ledger.incumbent.labels))
        before = self._nodes
        ending = self.backend.solve(
            formulation,
            Watch(self._incumbent, lambda bound, done, left: self._bound(bound, before + done, left)),
            Limits(
                left,
                nodes,
                options.n_threads,
                options.seed,
                start,
                0.25 * options.gap,
                0.25 * options.absolute_gap,
            ),
        )
        if ledger.closed:
            return Termination.GAP
        if ending is Ending.INFEASIBLE:
            return self._called_infeasible()
        return _REASONS.get(ending)

    def _called_infeasible(self) -> Termination:
        """Believe the solver, unless a clustering is known that satisfies everything."""
        ledger = self.ledger
        if ledger.incumbent is None:
            labels = find_feasible(self.instance.problem)
            if labels is not None:
                ledger.offer(labels, "presolve")
        if ledger.incumbent is None:
            self.infeasible = True
            return Termination.EXHAUSTED
        ledger.message(f"{self.backend.title} calls the model infeasible, but there is a clustering")
        return Termination.FAILED

    def _offer(self, labels: np.ndarray, source: str) -> None:
        self.ledger.offer(self.instance.expand(labels), source)

    def _incumbent(self, values: np.ndarray) -> None:
        self._last = self._formulation.group_labels(values)
        self._offer(self._last, self.backend.title.split()[0])

    def _bound(self, bound: float, nodes: int, open_nodes: int) -> bool:
        """The solver's bound, lowered by what its tolerances, rounding and the approximation may add to it."""
        ledger = self.ledger
        ledger.nodes, ledger.open_nodes, self._nodes = nodes, open_nodes, nodes
        if math.isfinite(bound):
            slack = self.backend.slack(self._formulation) * max(1.0, abs(bound))
            ledger.raise_bound(bound - slack - self.instance.error - self.lowered)
        ledger.tick()
        memory.check()
        return ledger.closed

    def last_weights(self) -> np.ndarray | None:
        """The best weights of the clusterings around which breakpoints matter: the solver's and the incumbent."""
        found = [] if self.ledger.incumbent is None else [self.ledger.incumbent.weights]
        if self._last is not None:
            sizes = np.bincount(
                self._last, weights=self.instance.weight, minlength=self.instance.n_components
            )
            found.append(self.instance.problem.objective.best_weights(sizes.astype(np.int64)))
        return np.concatenate(found) if found else None

    def forbid_last(self, formulation: Formulation) -> bool:
        """Exclude the solver's clustering where the evaluator knows no parameters for it (an average on the edge)."""
        if self._last is None:
            return False
        labels = self.instance.expand(self._last)
        problem = self.instance.problem
        try:
            if is_feasible(problem, labels) and math.isfinite(problem.objective.best(labels).value):
                return False
        except InfeasibleError:
            pass
        formulation.forbid(self._last)
        return True

    def worth_refining(self, coarse: Approximation, fine: Approximation) -> bool:
        """Whether breakpoints were added and what they can bring is more than what the solver's tolerances hide."""
        if fine.n_breakpoints == coarse.n_breakpoints and all(
            len(a.breakpoints) == len(b.breakpoints)
            for a, b in zip(coarse.logarithms, fine.logarithms, strict=True)
        ):
            return False
        size = max(1.0, abs(self.ledger.upper)) if self.ledger.incumbent is not None else 0.0
        return coarse.error > 0.1 * self.backend.slack(self._formulation) * size

    def tell_tolerance(self) -> None:
        self.ledger.message(
            f"{self.backend.title} has solved its model; the gap that is left is below what its tolerances can tell"
        )
