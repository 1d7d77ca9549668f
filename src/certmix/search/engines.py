"""The certified engines: a bound, a first incumbent, and the one loop."""

from __future__ import annotations

import math
from dataclasses import dataclass

from threadpoolctl import threadpool_limits

from certmix.cluster import Cluster, opened
from certmix.engines import Outcome
from certmix.ledger import Ledger
from certmix.local.hard_em import again, offered
from certmix.options import Options
from certmix.presolve.feasibility import find_feasible
from certmix.presolve.first_bound import first_bound
from certmix.presolve.instance import Instance, reduce
from certmix.problem import Problem
from certmix.problem.features import EVERY_FEATURE
from certmix.search.bounds.counting import CountingBound
from certmix.search.bounds.dual import DualBound
from certmix.search.bounds.interval import IntervalBound
from certmix.search.bounds.line import MANY_SAMPLES, LineBound, applies
from certmix.search.loop import Search, search
from certmix.search.record import NO_SPLITS, RunRecord, Splits
from certmix.search.spread import finish_on
from certmix.search.stopping import stop_reason
from certmix.state import State
from certmix.status import Termination
from certmix.threads import Threads


@dataclass(frozen=True)
class Tuning:
    """How long the turns of boxes and multipliers are, in triples of a pricing node, a group and a coordinate."""

    first_turn: float = 2e8  # at most, and ...
    first_nodes: int = 500  # ... in interval nodes
    interval_node: int = 40  # times a pricing node, for each component: what an interval node costs, about
    growth: float = 1.5  # of the turns
    many_components: int = 10  # with so many, boxes of means close little that multipliers do not: ...
    many_share: float = 0.1  # ... of a turn they have this share


TUNING = Tuning()
NODES_PER_THREAD = 3  # of a tree of planes in a batch
MORE_SHARE = 0.1  # of the time that is left, for a better clustering before a tree of planes


class SearchEngine:
    """What certified engines by search have in common: the problem is reduced, and what an exhausted search says."""

    certified = True
    honours = EVERY_FEATURE

    def refusal(self, problem: Problem) -> str | None:
        return None

    def run(self, problem: Problem, ledger: Ledger, options: Options) -> Outcome:
        reason = self.searched(reduced(problem, ledger), ledger, options)
        return Outcome(reason, infeasible=reason is Termination.EXHAUSTED and ledger.incumbent is None)

    def searched(self, instance: Instance, ledger: Ledger, options: Options) -> Termination:
        raise NotImplementedError


class IntervalEngine(SearchEngine):
    """Branch and bound over boxes of means and intervals of sizes; for few components in few dimensions."""

    name = "interval"

    def searched(self, instance: Instance, ledger: Ledger, options: Options) -> Termination:
        if instance.n_samples > MANY_SAMPLES and applies(instance.problem) is None:
            ledger.phase = "cuts between sorted samples"
            line = LineBound(instance)  # it finds good clusterings sooner than hard EM does
            ledger.offer(line.start(), "intervals")
            return search(line, ledger, options)
        first_incumbent(instance, ledger, options)
        with Threads(options.n_threads) as threads:
            ledger.phase = "boxes of means"
            boxes = interval_search(instance, threads, ledger, options, ledger.resumed)
            ledger.record, ledger.resumable = RunRecord(boxes), boxes
            return boxes.finish()


class DualEngine(SearchEngine):
    """Lagrangian bound with exact pricing, branching where the root leaves a gap; for up to four or five dimensions."""

    name = "dual"

    def searched(self, instance: Instance, ledger: Ledger, options: Options) -> Termination:
        if ledger.resumed.of("search"):  # a node of the tree of another process, and nothing else
            return self._explored(instance, ledger, options)
        first_incumbent(instance, ledger, options)
        with Threads(options.n_threads) as threads, threadpool_limits(1), opened(options) as cluster:
            pair = Pair(instance, threads, ledger, options, ledger.resumed, cluster)
            ledger.record, ledger.resumable = pair.record, pair
            return pair.finish()

    def _explored(self, instance: Instance, ledger: Ledger, options: Options) -> Termination:
        with Threads(options.n_threads) as threads, threadpool_limits(1):
            return search(dual_bound(instance, threads, ledger, options), ledger, options)


class Pair:
    """Interval and dual search by turns, each on its own tree, sharing incumbent and bound.

    The interval search closes easy and tightly constrained instances before the dual has warmed up; the dual closes
    what the interval bound never would. Turns are measured in work, not in time, so that runs can be repeated. The
    workers of a cluster, where there is one, explore the dual's tree of boxes to the end: then there are no more turns.
    """

    def __init__(
        self,
        instance: Instance,
        threads: Threads,
        ledger: Ledger,
        options: Options,
        earlier: State,
        cluster: Cluster | None = None,
    ) -> None:
        self.instance, self.threads, self.ledger, self.options = instance, threads, ledger, options
        self.earlier, self.cluster = earlier, cluster
        self.interval = interval_search(instance, threads, ledger, options, self.earlier.of("interval"))
        self.bound: DualBound | None = None
        self.dual: Search | None = None
        self.counting = bool(self.earlier.of("own").numbers.get("counting", False))
        self.per_node = instance.n_groups * instance.n_components * instance.n_features
        self.per_node *= TUNING.interval_node
        self.share = TUNING.many_share if instance.n_components >= TUNING.many_components else 1.0
        first = min(TUNING.first_turn, TUNING.first_nodes * self.per_node)
        self.turn = self.earlier.of("own").numbers.get("turn", first)
        self.record = RunRecord(self.interval)

    @property
    def work(self) -> float:
        """What both have done, in triples of a pricing node, a group and a coordinate."""
        return self.interval.nodes * self.per_node + (0.0 if self.bound is None else self.bound.work)

    @property
    def next_work(self) -> float:
        """What the next turn of both will be, about."""
        return (self.share + TUNING.growth) * self.turn

    @property
    def proved(self) -> float:
        """The bound of the whole problem that either has proved."""
        tree = -math.inf if self.dual is None else self.dual.proved
        return max(self.interval.proved, self.record.root, tree)

    def state(self) -> State:
        """Both trees, and the multipliers of the root while the dual has none."""
        root, tree = self.bound, self.dual
        return State.joined(
            own=State({"turn": self.turn, "counting": float(self.counting)}),
            interval=self.interval.state(),
            root=self.earlier.of("root") if root is None else root.state(),
            dual=self.earlier.of("dual") if tree is None else tree.state(),
        )

    def finish(self) -> Termination:
        """Take turns to the end."""
        while (reason := self.go_on()) is None:
            pass
        return reason

    def go_on(self) -> Termination | None:
        """A turn of each, the next ones are longer; None when neither has come to an end."""
        end = self.interval.nodes + int(self.share * self.turn / self.per_node)
        self.ledger.phase = "boxes of means"
        reason = self.interval.run(pause=lambda: self.interval.nodes >= end)
        self.turn *= TUNING.growth
        if reason is None and self.ledger.incumbent is not None:
            self.ledger.phase = "multipliers"
            reason = self._dual_turn(self.bound or self._begun())
        return reason

    def _begun(self) -> DualBound:
        bound = dual_bound(self.instance, self.threads, self.ledger, self.options)
        bound.begin_from(self.earlier.of("root"))
        if tree := self.earlier.of("dual"):
            self.dual = self._tree(bound, tree)
        self.bound = self.record.dual = bound
        return bound

    def _dual_turn(self, bound: DualBound) -> Termination | None:
        ledger = self.ledger
        if self.dual is None:
            finished = bound.advance_root(ledger.cutoff, self.turn)
            if finished and not ledger.closed:
                bound.cover(ledger.cutoff)
            for labels in bound.clusterings():
                ledger.offer(labels, "master")
            if finished and bound.counts and not ledger.closed:
                self._look_again()
            if finished and not ledger.closed:
                # Workers take nodes of a tree of boxes.
                few = self.instance.n_components < TUNING.many_components
                self.counting = bound.counts and not (few and self.cluster is not None)
                self.dual = self._tree(bound)
            return None
        tree = self.dual
        if self.cluster is not None and not self.counting:
            return finish_on(tree, DualEngine.name, self.cluster)
        until = bound.work + self.turn
        reason = tree.run(
            pause=lambda: bound.work >= until or (self.counting and tree.leaves < ledger.cutoff)
        )
        if self.counting and reason in (None, Termination.EXHAUSTED) and tree.leaves < ledger.cutoff:
            self.counting = False  # a leaf is left that no plane splits
            self.record.counting = None
            self.dual = self._tree(bound)
            return None
        return reason

    def _look_again(self) -> None:
        """For a better clustering, before a tree whose nodes take longer than that."""
        ledger = self.ledger
        assert ledger.incumbent is not None
        limit = MORE_SHARE * self.options.time_left(ledger.seconds)
        labels = again(
            self.instance, ledger.incumbent.labels, self.options.seed, limit, self.options.n_threads
        )
        if labels is not None:
            ledger.offer(labels, "hard EM")

    def _tree(self, bound: DualBound, state: State | None = None) -> Search:
        """Of how many means are on the sides of planes, or of boxes of means."""
        if not self.counting:
            return Search(bound, self.ledger, self.options, state=state)
        counting = self.record.counting = CountingBound(bound)
        # A node takes seconds: threads that are done early take another one, and seldom wait for the last.
        batch = NODES_PER_THREAD * self.options.n_threads if self.options.n_threads > 1 else 1
        return Search(
            counting, self.ledger, self.options, state=state, largest_batch=batch, first_batch=batch
        )


def dual_bound(instance: Instance, threads: Threads, ledger: Ledger, options: Options) -> DualBound:
    """The Lagrangian bound around the incumbent, which there must be."""
    assert ledger.incumbent is not None
    return DualBound(
        instance,
        ledger.incumbent.labels,
        allowed=ledger.tolerances.allowed(ledger.upper),
        seed=options.seed,
        threads=threads,
        should_stop=lambda: stop_reason(ledger, options) is not None,
        on_root_bound=ledger.raise_bound,
    )


def interval_search(
    instance: Instance, threads: Threads, ledger: Ledger, options: Options, state: State
) -> Search:
    """A search over boxes of means that writes its splits down if somebody will ask for them."""
    bound = IntervalBound(instance, threads, Splits() if options.certificate else NO_SPLITS)
    return Search(bound, ledger, options, state=state)


def reduced(problem: Problem, ledger: Ledger) -> Instance:
    """The instance that engines work on; a first bound goes to the ledger before anything long begins."""
    ledger.phase = "reducing the problem"
    instance = reduce(problem)
    ledger.raise_bound(first_bound(instance), whole=True)
    return instance


def first_incumbent(instance: Instance, ledger: Ledger, options: Options) -> None:
    """A good clustering before the proof begins."""
    ledger.phase = "hard EM"
    start = None if ledger.incumbent is None else ledger.incumbent.labels
    if start is None and options.time_limit is not None:  # something rather than nothing
        labels = find_feasible(instance.problem)
        if labels is not None:
            ledger.offer(labels, "presolve")
    offered(instance, ledger, options, share=0.5, start=start)
