"""One run with soft links: a search over which of them are kept and which are broken.

A node has decided some links: those that are kept have to hold, those that are broken are paid for and forgotten, and
so are, for nothing, the undecided ones. Its problem has no soft links, so that any engine can bound it; that bound and
the penalties that were paid bound every clustering in it. A node whose best clustering breaks no undecided link is
settled. Otherwise such a link is decided: where it is broken the problem is the same, and the bound rises by the
penalty without any work.
"""

from __future__ import annotations

import heapq
import itertools
import math
from dataclasses import dataclass, replace

import numpy as np

from certmix.certificate.softlinks import SoftRecord, Solved
from certmix.concluding import build_result
from certmix.engines import Engine
from certmix.errors import InfeasibleError
from certmix.ledger import Ledger, Progress
from certmix.options import Options
from certmix.presolve.feasibility import check_feasible
from certmix.problem import Problem
from certmix.problem.hardening import hardened
from certmix.search.stopping import stop_reason
from certmix.softlinks.local import descended
from certmix.status import Termination, Tolerances
from certmix.verify.rounding import total_below

SHARE = 0.5  # of the allowed gap: how precisely a node is solved
FINISHED = (Termination.GAP, Termination.TARGET, Termination.EXHAUSTED, Termination.CONVERGED)


@dataclass(frozen=True)
class Node:
    """Links that are kept and broken, as positions in ``rules.soft``; ``place`` is its own in the record."""

    place: int
    kept: frozenset[int] = frozenset()
    broken: frozenset[int] = frozenset()
    solved: Solved | None = None
    """The problem that bounds it: its own, or that of a node with fewer links kept."""

    @property
    def own(self) -> Solved | None:
        return self.solved if self.solved is not None and self.solved.kept == self.kept else None


class SoftRun:
    """The state of one run; ``inner`` is the engine that sees no soft links."""

    def __init__(self, problem: Problem, ledger: Ledger, options: Options, inner: Engine) -> None:
        self.problem, self.ledger, self.options, self.inner = problem, ledger, options, inner
        self.soft = problem.rules.soft
        self.record = SoftRecord()
        self.infeasible = False  # as long as no node has a clustering
        self._turns = itertools.count()
        self._open: list[tuple[float, int, Node]] = []
        self._solved: list[Solved] = []
        self._settled = math.inf  # the least bound of what needs no more work

    # -- the search ------------------------------------------------------------------------------------------
    def run(self) -> Termination:
        """Work until the gap is reached, a limit strikes or every link is decided."""
        self._first_clustering()
        self._push(Node(0), -math.inf)
        while self._open:
            reason = stop_reason(self.ledger, self.options)
            if reason is not None and (self.record.nodes or reason is not Termination.GAP):
                return reason  # what is closed from the start is looked at for the record
            bound, _, node = heapq.heappop(self._open)
            node, reason = self._bounded(node)
            if reason is not None:
                if not node.place and node.solved is not None:
                    self._note(0, node.solved)
                self._push(node, bound)
                return reason
            assert node.solved is not None
            bound = max(bound, self._bound(node, node.solved))
            self._note(node.place, node.solved)
            self._decide(node, bound)
            self.ledger.raise_bound(self.least())
        self.infeasible = self.ledger.incumbent is None and self._settled == math.inf
        return Termination.GAP if self.ledger.closed else Termination.EXHAUSTED

    def _bounded(self, node: Node) -> tuple[Node, Termination | None]:
        """The node with its own problem solved, unless it is closed without that; and why that was cut short."""
        if node.own is not None:
            return node, None
        fewer = [one for one in self._solved if one.kept <= node.kept]
        best = max(fewer, key=lambda one: self._bound(node, one), default=None)
        if best is not None and self._bound(node, best) >= self.ledger.cutoff:
            return replace(node, solved=best), None
        solved, reason = self._solve(node)
        half_done = reason is not None and node.solved is not None
        return node if solved is None or half_done else replace(node, solved=solved), reason

    def _note(self, place: int, solved: Solved) -> None:
        """Bound a node by a problem, in the record."""
        self.record.nodes[place : place + 1] = [solved]

    def _decide(self, node: Node, bound: float) -> None:
        """Settle a node, or decide the dearest link of those that its best clustering breaks."""
        solved = node.solved
        assert solved is not None
        labels = solved.result.labels
        undecided = [
            i
            for i, link in enumerate(self.soft)
            if i not in node.kept | node.broken
            and link.penalty > 0.0
            and labels is not None
            and link.broken(labels)
        ]
        if bound >= self.ledger.cutoff or solved.infeasible or not (undecided or self._rough(solved)):
            self._settled = min(self._settled, bound)
            return
        if not undecided:
            self._push(replace(node, solved=None), bound)
            return
        i = max(undecided, key=lambda i: self.soft[i].penalty)
        nodes = self.record.nodes
        kept = Node(len(nodes), node.kept | {i}, node.broken, solved)
        broken = Node(len(nodes) + 1, node.kept, node.broken | {i}, solved)
        nodes[node.place] = (i, kept.place, broken.place)
        nodes += [solved, solved]
        self._push(kept, bound)
        self._push(broken, max(bound, self._bound(broken, solved)))

    def _rough(self, solved: Solved) -> bool:
        """Whether a problem was solved less precisely than is asked by now: the incumbent may have been far worse."""
        found, asked = solved.result, SHARE * self.ledger.tolerances.allowed(self.ledger.upper)
        used = replace(found.tolerances, target=math.inf).allowed(found.objective)
        return found.gap_absolute > asked and used > 1.1 * asked

    def _bound(self, node: Node, solved: Solved) -> float:
        """What every clustering of a node costs, by the bound of a problem with no more links."""
        if solved.infeasible:
            return math.inf
        return self.worth(solved.result.lower_bound, node)

    def worth(self, bound: float, node: Node) -> float:
        """A bound without penalties, and those that a node has paid."""
        if not math.isfinite(bound):
            return bound
        return total_below(np.array([bound, *(self.soft[i].penalty for i in node.broken)]))

    def _push(self, node: Node, bound: float) -> None:
        heapq.heappush(self._open, (bound, next(self._turns), node))
        self.ledger.open_nodes = len(self._open)

    def least(self) -> float:
        """What all nodes cost that nobody is working on."""
        return min(self._settled, self._open[0][0] if self._open else math.inf)

    # -- nodes -----------------------------------------------------------------------------------------------
    def _solve(self, node: Node) -> tuple[Solved | None, Termination | None]:
        """A node's problem, solved as precisely as is of use; or why it was not."""
        known, ledger = hardened(self.problem, node.kept), self.ledger
        inner = Inner(known, self._tolerances(node), self, node)
        infeasible, reason = False, Termination.EXHAUSTED
        try:
            if node.kept:
                check_feasible(known)
            if ledger.incumbent is not None:
                inner.offer(ledger.incumbent.labels, "start")
            outcome = self.inner.run(known, inner, self._options(node))
            reason, infeasible = outcome.termination, outcome.infeasible
            ledger.certificate_level = outcome.certificate_level
        except InfeasibleError:
            infeasible = True
        ledger.nodes = inner.nodes_before + inner.nodes
        cut_short = None
        if ledger.stop.raised or (not infeasible and reason not in FINISHED and not inner.closed):
            infeasible, cut_short = False, ledger.stop.reason or reason
            if inner.incumbent is None or not math.isfinite(inner.bound):
                return None, cut_short
        result = build_result(
            known,
            inner,
            engine=self.inner.name,
            termination=reason,
            infeasible=infeasible and inner.incumbent is None,
            certificate_level=ledger.certificate_level,
        )
        proved = f"bound {self.problem.quantity.shown(inner.bound):.10g}"
        words = "cannot be met" if infeasible else f"{proved}, {inner.seconds:.3g} s"
        ledger.message(f"soft links: {len(node.kept)} kept, {len(node.broken)} broken: {words}")
        if inner.incumbent is not None and not (node.kept and self.inner.certified):
            self._improve(inner.incumbent.labels)
        solved = Solved(node.kept, known, result, inner.record)
        if cut_short is None:
            self._solved.append(solved)
        return solved, cut_short

    def _tolerances(self, node: Node) -> Tolerances:
        """Half the gap; and no more than what closes the node."""
        asked, upper = self.ledger.tolerances, self.ledger.upper
        if not math.isfinite(upper):
            return Tolerances(SHARE * asked.relative, SHARE * asked.absolute)
        paid = math.fsum(self.soft[i].penalty for i in node.broken)
        target = self.ledger.cutoff - paid
        return Tolerances(0.0, SHARE * asked.allowed(upper), target + 1e-15 * (abs(target) + paid))

    def _options(self, node: Node) -> Options:
        """Where links are kept a good clustering is of little use: bounds are compared with the one for all."""
        options, ledger = self.options, self.ledger
        few = options.restarts or (1 if node.kept and self.inner.certified else None)
        left = options.time_left(ledger.seconds)
        return replace(
            options,
            engine=self.inner.name,
            target=None,
            time_limit=None if math.isinf(left) else max(0.0, left),
            node_limit=None if options.node_limit is None else max(0, options.node_limit - ledger.nodes),
            restarts=few,
            start=None,
            resume=None,
        )

    # -- clusterings -----------------------------------------------------------------------------------------
    def locally(self) -> Termination:
        """With an engine that proves nothing: the links as the best clustering so far has them, until that settles."""
        self._first_clustering()
        kept: frozenset[int] = frozenset()
        while True:
            before = self.ledger.upper
            _, reason = self._solve(Node(0, kept))
            found = self.ledger.incumbent
            if reason is not None or found is None or not self.ledger.upper < before:
                return reason or self.ledger.stop.reason or Termination.CONVERGED
            kept = frozenset(i for i, link in enumerate(self.soft) if not link.broken(found.labels))

    def _first_clustering(self) -> None:
        """A good clustering that keeps all links, if there is one."""
        from certmix.local.hard_em import offered
        from certmix.presolve.instance import reduce

        self.ledger.phase = "hard EM"
        known = hardened(self.problem)
        if known.covariance.unknown:
            known = known.at_scale(1.0 / _variance(known))
        try:
            check_feasible(known)
            instance = reduce(known)
        except InfeasibleError:
            return

        offered(instance, self.ledger, self.options, share=0.1)
        if self.ledger.incumbent is not None:
            self._improve(self.ledger.incumbent.labels)

    def _improve(self, labels: np.ndarray) -> None:
        """Samples of soft links go where they are better off, penalties counted."""
        better = descended(self.problem, labels, lambda: stop_reason(self.ledger, self.options) is not None)
        self.ledger.offer(better, "soft links")


class Inner(Ledger):
    """The ledger of a node's problem; the outer one hears at once of what it means for the whole."""

    def __init__(self, problem: Problem, tolerances: Tolerances, outer: SoftRun, node: Node) -> None:
        super().__init__(problem, tolerances, (), outer.ledger.stop)
        self.observers = (self,)  # type: ignore[assignment]
        self.keeps_proof = outer.ledger.keeps_proof
        self.outer, self.node = outer, node
        self.nodes_before = outer.ledger.nodes

    @property
    def closed(self) -> bool:
        """Also when the node needs no more: the whole is closed, or the penalties do the rest."""
        return super().closed or self.outer.ledger.closed or self._worth >= self.outer.ledger.cutoff

    @property
    def _worth(self) -> float:
        return self.outer.worth(self.bound, self.node)

    def message(self, text: str) -> None:
        pass

    def progressed(self, progress: Progress) -> None:
        ledger = self.outer.ledger
        ledger.nodes = self.nodes_before + progress.nodes
        ledger.phase = progress.phase
        if progress.source and self.incumbent is not None:
            ledger.offer(self.incumbent.labels, progress.source)
        if math.isfinite(progress.bound):
            ledger.raise_bound(min(self.outer.least(), self._worth))


def _variance(problem: Problem) -> float | np.ndarray:
    """About that of a clustering: the data's own, in as many numbers as there are."""
    away = problem.data - problem.data.mean(axis=0)
    found = np.mean(away**2, axis=0 if problem.covariance.per_feature else None) / problem.n_components
    return np.where(found > 0.0, found, 1.0)
