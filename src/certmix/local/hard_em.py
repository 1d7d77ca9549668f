"""Hard EM (classification EM) with local search and restarts: the incumbent heuristic of every engine.

One restart makes a start, descends to a local optimum and then perturbs it (a component is put elsewhere,
two components trade members, a few groups are moved at random) for as long as that helps; moving one
component is far stronger than starting all of them afresh. Starts under coupling constraints and size
limits come from the exact assignment step. With many components a restart is short, and what restarts have found is
crossed (:mod:`.crossover`) for as long as that finds something better.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from certmix import memory
from certmix.errors import InputError
from certmix.kernels.clustering import Model, State, linear_costs
from certmix.kernels.restarts import AT_LABELS, GO_ON, SPREAD_EVENLY, SPREAD_UNEVENLY, UNIFORM_EVENLY, explore
from certmix.kernels.sweeps import hartigan, lloyd
from certmix.ledger import Ledger
from certmix.local.assignment import satisfies
from certmix.local.crossover import Parents, crossed
from certmix.local.moves import SWAP_LIMIT, LocalSearch, binding
from certmix.local.subsample import sampled_model
from certmix.options import Options
from certmix.presolve.instance import Instance
from certmix.problem.features import tight_sizes
from certmix.stopping import current
from certmix.threads import Threads

# Above this many groups the restarts run on a sample of them.
MANY_GROUPS = 10_000
_GROUPS_DRAWN = 4_000
# From so many components on, clusterings are crossed: moving one component at a time, a restart takes too long.
MANY_COMPONENTS = 12
_STARTS_CROSSED = 3  # by default
_TRIALS = 12  # perturbations of one clustering, for each component
_LITTER = 4  # clusterings that climb side by side, always as many: the answer does not depend on threads
_FAILED = 8  # offspring in a row that are no better than the best, ...
_FAILED_EACH = 0.25  # ... or so many for each component, ...
_LONGER = 3  # ... where a proof has not begun; so many times more where it takes long
# Clusterings that are rescored and polished when the instance's cost is only a bound on the objective.
_POLISHED = 8
_BY_SIZE = 5  # steps of k-means, before means are dealt to components whose sizes fit
# Starts take turns.
_STARTS = (SPREAD_EVENLY, SPREAD_EVENLY, UNIFORM_EVENLY, SPREAD_UNEVENLY)

Callback = Callable[[np.ndarray, float], object]
Begun = Callable[[LocalSearch], int | None]  # loads where a climb begins, and says how; None when it cannot


@dataclass(frozen=True)
class Found:
    """The best clustering of a run: labels of the instance's groups, and their objective by the one evaluator."""

    labels: np.ndarray
    value: float
    complete: bool  # False when the time limit cut the run short


def hard_em(
    instance: Instance,
    *,
    restarts: int | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    start: np.ndarray | None = None,
    callback: Callback | None = None,
    heartbeat: Callable[[], None] = lambda: None,
    failed: int | None = None,
    n_threads: int = 1,
) -> Found | None:
    """Search for a good clustering of an instance; no proof. None when none that satisfies every constraint was found.

    ``restarts`` are the starts (:func:`default_restarts`), of which one is made at least, whatever the time limit in
    seconds. ``start`` are labels of the samples, tried first. The callback hears the labels of the groups and the
    objective at every improvement, the heartbeat of every start. Clusterings are crossed until so many offspring in a
    row have ``failed`` (a few), some of them side by side if there are threads. The same seed gives the same answer,
    unless the time limit cuts the run short.
    """
    run = _Run(instance, seed, time_limit, callback, heartbeat)
    if start is not None:
        run.take_start(np.asarray(start))
    count = default_restarts(instance) if restarts is None else restarts
    if _crossing(instance):
        complete = run.crossing(count, _most_failed(instance) if failed is None else failed, n_threads)
    else:
        complete = run.large(count) if instance.n_groups > MANY_GROUPS else run.small(count)
    if run.pool:
        run.polish()
    return None if run.labels is None else Found(run.labels, run.value, complete)


def offered(
    instance: Instance, ledger: Ledger, options: Options, *, share: float = 1.0, **settings: Any
) -> Found | None:
    """The same, for a share of the time that is left; the ledger hears of every better clustering."""
    left = options.time_left(ledger.seconds)
    return hard_em(
        instance,
        restarts=options.restarts,
        seed=options.seed,
        time_limit=None if math.isinf(left) else max(0.0, share * left),
        callback=lambda labels, _: ledger.offer(instance.expand(labels), "hard EM"),
        n_threads=options.n_threads,
        **settings,
    )


def again(
    instance: Instance, start: np.ndarray, seed: int, time_limit: float, n_threads: int = 1
) -> np.ndarray | None:
    """Labels of the samples from another and longer run, where the start's cost more to prove than to look for better.

    None where clusterings are not crossed: there further restarts would find what the first ones did.
    """
    if not _crossing(instance):
        return None
    limit = None if math.isinf(time_limit) else time_limit
    failed = _LONGER * _most_failed(instance)
    found = hard_em(
        instance, seed=seed + 1, time_limit=limit, start=start, failed=failed, n_threads=n_threads
    )
    return None if found is None else instance.expand(found.labels)


def default_restarts(instance: Instance) -> int:
    """As many as take a fraction of a second where that is possible: from 2 for many groups to 16 for few.

    Four times as many where sizes are tight: there a move needs another one, and more clusterings are hard to leave.
    """
    if instance.n_groups > MANY_GROUPS:
        return 4 if instance.n_groups < 10 * MANY_GROUPS else 2
    if _crossing(instance):
        return _STARTS_CROSSED
    work = instance.n_groups * instance.n_components * (instance.n_features + 2) * _patience(instance)
    return int(np.clip(4e6 / work, 2, 16)) * (4 if tight_sizes(instance.problem) else 1)


def _crossing(instance: Instance) -> bool:
    """Whether clusterings are crossed: components are many, and the instance's cost is the objective."""
    return instance.n_components >= MANY_COMPONENTS and instance.exact and instance.n_groups <= MANY_GROUPS


def _most_failed(instance: Instance) -> int:
    """Offspring in a row that may be no better than the best."""
    return max(_FAILED, round(_FAILED_EACH * instance.n_components))


def _patience(instance: Instance) -> int:
    """Perturbations in a row that may fail before a restart ends."""
    return 16 + 4 * instance.n_components


class _Run:
    """One run: the generator's state, the clock and the best so far."""

    def __init__(
        self,
        instance: Instance,
        seed: int,
        time_limit: float | None,
        callback: Callback | None,
        heartbeat: Callable[[], None],
    ) -> None:
        self.instance, self.callback, self.heartbeat = instance, callback, heartbeat
        count = _LITTER if _crossing(instance) else 1
        self.searches = [LocalSearch(instance, time_limit=time_limit) for _ in range(count)]
        for search, state in zip(
            self.searches, np.random.SeedSequence(seed).generate_state(count, np.uint64), strict=True
        ):
            search.rng[:] = state
        self.search = self.searches[0]
        self.deadline = np.inf if time_limit is None else time.perf_counter() + time_limit
        self.stop = current()
        self.labels: np.ndarray | None = None
        self.cost = np.inf
        self.value = np.inf
        self.pool: dict[bytes, tuple[float, np.ndarray]] = {}
        self.patience = _patience(instance)
        self.tight = instance.shared and tight_sizes(instance.problem)

    @property
    def late(self) -> bool:
        memory.check()
        return time.perf_counter() > self.deadline or self.stop.raised

    def take_start(self, labels: np.ndarray) -> None:
        labels = self.instance.problem.objective.checked_labels(labels)
        groups = self.instance.contract(labels)
        if not np.array_equal(self.instance.expand(groups), labels) or not satisfies(self.instance, groups):
            raise InputError("the clustering given as start violates a constraint")
        self.record(groups, self.search.load(groups))

    # -- restarts --------------------------------------------------------------------------------------------
    def small(self, count: int) -> bool:
        """Restarts on all groups; whether all of them were made."""
        search, tied = self.search, binding(self.instance)
        base = self.labels
        for r in range(count):
            if r and self.late:
                return False
            start = AT_LABELS if r == 0 and self.labels is not None else _STARTS[r % 4]
            if start != AT_LABELS and (tied or base is None):
                labels = self.exact_start(search, start)
                base = labels if base is None else base
                if base is None:
                    return False
                start = start if labels is None or not tied else AT_LABELS
                search.load(base if labels is None else labels)
            else:
                search.load(base)  # type: ignore[arg-type]
            self.record(*self.climb(search, start, tied))
            if not self.instance.exact and self.labels is not None:
                search.adapt(self.labels)
            self.heartbeat()
        return True

    def climb(
        self, search: LocalSearch, start: int, tied: bool, trials: int | None = None
    ) -> tuple[np.ndarray, float]:
        """The end of a restart from what is loaded."""
        cost = self.explore(search, search.model, search.state, start, self.patience, SWAP_LIMIT, trials)
        labels = search.state.label.copy()
        return search.improve(labels, deep=False) if tied else (labels, cost)

    def crossing(self, count: int, most_failed: int, n_threads: int) -> bool:
        """Restarts, and offspring of two of the best as further ones, as long as one in a few is the best so far."""
        tied, parents = binding(self.instance), Parents()
        given = [] if self.labels is None else [self.labels]
        starts = [_STARTS[r % 4] for r in range(len(given), count)]

        def seeded(search: LocalSearch, start: int) -> int | None:
            labels = self.exact_start(search, start)
            if labels is not None:
                search.load(labels)
            return None if labels is None else AT_LABELS if tied else start

        def loaded(search: LocalSearch, labels: np.ndarray | None) -> int | None:
            if labels is not None:
                search.load(labels)
            return None if labels is None else AT_LABELS

        def offspring(search: LocalSearch, one: np.ndarray, other: np.ndarray) -> int | None:
            return loaded(search, crossed(search, one, other))

        begun: list[Begun] = [partial(loaded, labels=labels) for labels in given]
        begun += [partial(seeded, start=start) for start in starts]
        with Threads(n_threads) as threads:
            while begun:
                if (len(parents) or self.labels is not None) and self.late:
                    return False
                self.litter(begun[:_LITTER], tied, parents, threads)
                begun = begun[_LITTER:]
            failed = 0
            while failed < most_failed and len(parents) > 1 and not self.late:
                best = self.cost
                pairs = [parents.drawn(self.search.rng) for _ in range(_LITTER)]
                self.litter([partial(offspring, one=a, other=b) for a, b in pairs], tied, parents, threads)
                failed = 0 if self.cost < best else failed + _LITTER
        if self.labels is not None and not self.late:
            self.record(*self.search.improve(self.labels))
        return True

    def litter(self, begun: list[Begun], tied: bool, parents: Parents, threads: Threads) -> None:
        """Climb from several beginnings side by side."""
        trials = _TRIALS * self.instance.n_components
        found: list[tuple[np.ndarray, float] | None] = [None] * len(begun)

        def work(first: int, last: int) -> None:
            for i in range(first, last):
                start = begun[i](self.searches[i])
                if start is not None:
                    found[i] = self.climb(self.searches[i], start, tied, trials)

        threads.over(len(begun), work)
        for end in found:
            if end is not None:
                self.record(*end)
                parents.add(*end)
        self.heartbeat()

    def explore(
        self,
        search: LocalSearch,
        model: Model,
        state: State,
        start: int,
        patience: int,
        limit: int,
        most: int | None = None,
    ) -> float:
        """One compiled restart, in short steps so that the clock and Ctrl-C are heard; ``most`` perturbations."""
        rng, mean, price = search.rng, search.mean, search.price
        trials = max(1, int(1e6 / (model.points.shape[1] * mean.size)))
        left = np.inf if most is None else most
        failures = np.zeros(1, dtype=np.int64)
        while True:
            now = int(min(trials, left))
            cost = explore(model, state, rng, mean, price, start, patience, limit, now, failures)
            left -= now
            if failures[0] < 0 or left <= 0 or self.late:
                return float(cost)
            start = GO_ON

    def exact_start(self, search: LocalSearch, start: int) -> np.ndarray | None:
        """The best assignment to random means under every constraint."""
        search.explore(start, trials=-1)  # seeds only
        if self.tight:
            search.mean[:] = _by_size(self.instance, search.mean)
        return search.assigner(linear_costs(search.model, search.mean, search.price))

    def large(self, count: int) -> bool:
        """Restarts on samples of the groups; the means of each are carried over to all of them."""
        search = self.search
        for r in range(count):
            if r and self.late:
                return False
            small = sampled_model(search.model, search.rng, _GROUPS_DRAWN)
            self.explore(search, *small, _STARTS[1 + r % 3], self.patience // 2, _GROUPS_DRAWN)
            self.explore(search, *small, GO_ON, 1, _GROUPS_DRAWN, most=0)
            labels = search.assigner(linear_costs(search.model, search.mean, search.price))
            if labels is None:
                return False
            self.record(*self.descend(labels))
            self.heartbeat()
        return True

    def descend(self, labels: np.ndarray) -> tuple[np.ndarray, float]:
        """Classification EM and single moves, in short compiled steps: passes over very many groups take long."""
        search = self.search
        cost = search.load(labels)
        if binding(self.instance):
            while not self.late and search.descend(search.state.label.copy(), cost, 3):
                cost = search.load(search.state.label)
            labels = search.state.label.copy()
        before = np.full((len(search.price), search.mean.shape[1] + 1), np.nan)
        for _ in range(40):
            if self.late or lloyd(search.model, search.state, search.mean, search.price, 5, before) < 5:
                break
        active = np.ones(len(search.price), dtype=np.bool_)
        for _ in range(40):
            if self.late or hartigan(search.model, search.state, 3, active, -math.inf) == 0:
                break
        found = search.explore(GO_ON)
        return (search.state.label.copy(), found) if found <= cost else (labels, cost)

    # -- bookkeeping -----------------------------------------------------------------------------------------
    def record(self, labels: np.ndarray, cost: float) -> None:
        """Score a clustering by the evaluator if it may be the best."""
        if self.instance.exact and not cost < self.cost - 1e-12 * (1 + abs(cost)):
            return
        if self.instance.exact:
            self.cost = cost
        elif labels.tobytes() in self.pool:
            return
        outside, value = self.search.merit(labels)
        if not self.instance.exact:
            self.pool[labels.tobytes()] = (outside + cost if outside else value, labels)
        self.offer(labels, value)

    def offer(self, labels: np.ndarray, value: float) -> None:
        if value < self.value or (self.labels is None and np.isfinite(value)):
            self.labels, self.value = labels.copy(), value
            if self.callback is not None:
                self.callback(self.labels, value)

    def polish(self) -> None:
        """Polish the best few, then some fresh starts, by the evaluator: it sees what the cost does not."""
        budget = int(np.clip(4e5 / self.instance.n_samples, 20, 4000))
        for _, labels in sorted(self.pool.values(), key=lambda item: item[0])[:_POLISHED]:
            if self.late or budget <= 0:
                return
            labels, value, budget = self.search.polish(labels, budget)
            self.offer(labels, value)
        for r in range(2 * _POLISHED):
            fresh = self.exact_start(self.search, _STARTS[1 + r % 3])
            if self.late or budget <= 0 or fresh is None:
                return
            labels, value, budget = self.search.polish(fresh, budget)
            self.offer(labels, value)


def _by_size(instance: Instance, means: np.ndarray) -> np.ndarray:
    """A few steps of k-means from these means (K, d), dealt to the components whose size limits fit their clusters."""
    x, w = instance.points[0], instance.weight.astype(np.float64)  # a start: masses may do as they like
    K = len(means)
    for _ in range(_BY_SIZE):
        nearest = ((x**2).sum(axis=1)[:, None] - 2.0 * x @ means.T + (means**2).sum(axis=1)).argmin(axis=1)
        sizes = np.bincount(nearest, weights=w, minlength=K)
        sums = np.zeros_like(means)
        np.add.at(sums, nearest, w[:, None] * x)
        means = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1.0)[:, None], means)
    wrong = sizes[:, None] - np.clip(sizes[:, None], instance.size_lower, instance.size_upper)
    of, component = linear_sum_assignment(np.abs(wrong))
    dealt = np.empty_like(means)
    dealt[component] = means[of]
    return dealt
