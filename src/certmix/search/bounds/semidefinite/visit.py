"""One node of the semidefinite search: contract and bound it until it is closed or stalls."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

import numpy as np

from certmix import memory
from certmix.kernels.arrays import Arrays
from certmix.presolve.instance import Instance
from certmix.search.bounds.leaves import exact_value
from certmix.search.bounds.semidefinite.admm import Method
from certmix.search.bounds.semidefinite.contraction import Contraction, Region, contract, undecided
from certmix.search.bounds.semidefinite.crossings import price_sets, reprice
from certmix.search.bounds.semidefinite.fixing import (
    Exclusions,
    margins,
    members_gone,
    pairs_apart,
    sizes_left,
)
from certmix.search.bounds.semidefinite.pools import ComponentPool, pools_of
from certmix.search.bounds.semidefinite.record import Note
from certmix.search.bounds.semidefinite.refining import refine, separate
from certmix.search.bounds.semidefinite.safe import Proof, prove
from certmix.search.bounds.semidefinite.states import Multipliers, Warm, keep
from certmix.search.bounds.semidefinite.steps import grain_for
from certmix.search.bounds.semidefinite.warm import cold_start, warm_start
from certmix.threads import Threads


@dataclass(frozen=True)
class Tuning:
    """When a node goes on, is refined, or gives up."""

    iterations: int = 15  # of the method between two proofs: a round
    penalty: float = 2.0  # of the method at first, per sample, in units of the scale
    root_rounds: int = 60  # the most in a root ...
    node_rounds: int = 30  # ... and in any other node
    stall_rounds: int = 3  # a node stalls when so many rounds close ...
    stall_gain: float = 0.1  # ... less than this share of the gap
    refine_rounds: int = 2  # likewise, for narrower blocks
    refine_gain: float = 0.3
    paired_points: int = 200  # with named components and more super-points, pairs are not looked at
    paired_gain: float = 0.8  # share of the gap that must be left at most since pairs were last looked at
    largest_gap: float = 0.05  # per sample, in units of the scale: larger ones are rounded like this


TUNING = Tuning()


class Next(Enum):
    """What to do after a round."""

    GO_ON = auto()
    CONTRACT = auto()  # something was decided: the matrices become smaller
    CLOSE = auto()  # nothing in the node beats the cutoff
    BRANCH = auto()  # going on would not close it soon


@dataclass
class VisitedNode:
    """A node after bounding."""

    region: Region
    bound: float
    open: bool
    warm: Warm | None = None
    group: int = -1
    component: int = -1
    found: np.ndarray | None = None


@dataclass(frozen=True)
class Surroundings:
    """What all visits of a search share.

    Attributes
    ----------
    labels : of the groups, of a good clustering
    T : (N,), multipliers to start from
    unit : nats: the unit of costs
    most_entries : that one matrix of every block of a node may have together
    stop : asked between rounds
    improved : a clustering of the groups by local search from means, or None
    worked : told how many entries the matrices of a round had
    """

    instance: Instance
    arrays: Arrays
    labels: np.ndarray
    T: np.ndarray
    unit: float
    most_entries: float
    stop: Callable[[], bool]
    improved: Callable[[np.ndarray], np.ndarray | None]
    worked: Callable[[int], None]


class NodeVisit:
    """The state of one visit; :meth:`run` makes it.

    Parameters
    ----------
    region, warm, bound : the node: what is possible, where the method starts, what is proved already
    cutoff : what is not below it need not be found
    note : what is used of the proofs is written there
    root : None, or told about every bound that is proved; then the node is a root
    """

    def __init__(
        self,
        around: Surroundings,
        region: Region,
        warm: Warm | Multipliers | None,
        bound: float,
        cutoff: float,
        threads: Threads,
        note: Note,
        root: Callable[[float], None] | None = None,
    ) -> None:
        self.around, self.instance = around, around.instance
        self.region, self.warm, self.bound, self.cutoff = region, warm, bound, cutoff
        self.threads, self.note, self.root = threads, note, root
        self.rounds = 0
        self.history: list[float] = []  # what the proofs since the last contraction have come to
        self.paired = math.inf  # the gap when pairs were last looked at
        self.shape: Contraction
        self.method: Method

    def run(self) -> VisitedNode:
        while True:
            settled = self._prepared()
            if settled is not None:
                return settled
            decision = Next.GO_ON
            while decision is Next.GO_ON:
                decision = Next.BRANCH if self.around.stop() else self._round()
            if decision is Next.CLOSE:
                return VisitedNode(self.region, self.bound, open=False)
            if decision is Next.BRANCH:
                return self._open()
            self.warm = Warm(self.shape, self.method, alone=True)

    def glance(self) -> tuple[float, Warm | None]:
        """What a few iterations prove, and where they stopped; nothing is taken from the node."""
        if self._prepared() is not None:
            return self.bound, None
        self._iterate()
        self._proved()
        self.note.stalled()
        return self.bound, keep(self.shape, self.method)

    def _prepared(self) -> VisitedNode | None:
        """Propagate, contract and set the method up; the node, if that settles it."""
        region, instance = self.region, self.instance
        nothing = VisitedNode(region, math.inf, open=False)
        named = True
        while named:
            if not region.propagate(instance, self.around.arrays):
                return nothing
            named = self._named()
        where = region.decided()
        if np.all(where >= 0):
            value = exact_value(instance.problem, instance.expand(where))
            return VisitedNode(region, value, open=False, found=where)
        self.constant = math.fsum(instance.entropy[region.b <= 0, 0].tolist())
        if self.constant == math.inf:
            return nothing  # a component that cannot be empty
        self.shape = contract(region, instance)
        pools = pools_of(region, self.shape, instance)
        idle = [pool for pool in pools if not pool.sizes[1:].any() or len(pool.index) == 0]
        if not idle:
            self.method, self.history = self._started(pools), []
            used = {b.pool for b in self.method.blocks}
            # Every other size that is left for such a pool was ruled out in a parent, against the cutoff.
            idle = [pool for p, pool in enumerate(pools) if p not in used]
            if idle:
                self.warm = Warm(self.shape, self.method, alone=True)
        if any(not pool.sizes[0] for pool in idle):
            return nothing
        for pool in idle:
            region.b[pool.components] = 0
        return self._prepared() if idle else None

    def _started(self, pools: list[ComponentPool]) -> Method:
        """The method where the last one stopped, or from multipliers; the matrices of the last one are given up."""
        memory.give_back()  # the matrices of the last node
        warm, self.warm = self.warm, None
        if isinstance(warm, Warm):
            return warm_start(self.shape, pools, warm, self.threads, self.around.most_entries)
        around = self.around
        T, sigma = around.T, TUNING.penalty * around.unit * self.instance.n_samples
        if warm is not None:
            T, sigma = warm.T, warm.sigma
        return cold_start(self.shape, pools, T, around.labels, sigma, self.threads, around.most_entries)

    def _round(self) -> Next:
        """Iterate, prove, and use the proof."""
        memory.give_back()  # the matrices of the last round
        self._iterate()
        self.around.worked(sum(block.x.size for block in self.method.blocks))
        if self.method.stop.raised:  # a proof would count no more, and whoever raised it waits
            return Next.BRANCH
        self.rounds += 1
        proof = self._proved()
        if self.bound >= self.cutoff:
            self.note.closed()
            return Next.CLOSE
        if math.isfinite(self.cutoff):
            used = self._exclude(proof)
            self.method.forget_slack()
            if used is not Next.GO_ON:
                return used
            separate(self.method)
            reprice(self.method, self._gap)
            slow = self._slow(TUNING.refine_rounds, TUNING.refine_gain)
            if slow and refine(self.method, self._gap, self.around.most_entries):
                self.history = self.history[-1:]
                return Next.GO_ON
        if not self._stalls():
            return Next.GO_ON
        if self.instance.limited and self.rounds < self._most_rounds and price_sets(self.method, self._gap):
            self.history = self.history[-1:]
            return Next.GO_ON
        return Next.BRANCH

    @property
    def _gap(self) -> float:
        return self.cutoff - self.bound

    @property
    def _largest_gap(self) -> float:
        return TUNING.largest_gap * self.around.unit * self.instance.n_samples

    def _iterate(self) -> None:
        self.method.run(TUNING.iterations, min(self._gap, self._largest_gap))

    def _proved(self) -> Proof:
        instance = self.instance
        grain = grain_for(
            self._gap, self.cutoff, self._largest_gap, instance.n_components, len(self.shape.root)
        )
        terms = instance.n_groups + instance.n_features
        proof = prove(self.method, self.constant, instance.error, terms, grain)
        self.note.proved(self.shape, self.method, proof)
        self.bound = max(self.bound, proof.bound)
        self.history.append(proof.bound)
        if self.root is not None:
            # What was ruled out was compared with the cutoff, so no more than that is proved.
            self.root(min(self.bound, self.cutoff))
        return proof

    def _exclude(self, proof: Proof) -> Next:
        """Take from the node what the proof rules out."""
        region, shape, method = self.region, self.shape, self.method
        sizes = sizes_left(method, proof, self.cutoff)
        if not all(left.any() for left in sizes):
            self.note.closed()
            self.bound = math.inf
            return Next.CLOSE
        gone = members_gone(shape, method, proof, self.cutoff)
        found = Exclusions(sizes, gone, self._pairs_apart(proof))
        if not found.anything(method):
            return Next.GO_ON
        names = found.pairs.any() and self._would_name(found)
        last = found.gone.any() and self._stalls()
        if not (names or last or found.worth(shape, method)):
            return Next.GO_ON
        self.note.excluded(found.gone, found.pairs)
        found.apply(region, shape, method)
        if names:
            self._named()
        emptied = len({b.pool for b in method.blocks}) < len(method.pools)
        return Next.CONTRACT if names or emptied or found.gone.any() else Next.GO_ON

    def _pairs_apart(self, proof: Proof) -> np.ndarray:
        shape, method = self.shape, self.method
        named = all(pool.count == 1 for pool in method.pools)
        few = not named or len(shape.root) <= TUNING.paired_points
        if few and self._gap < TUNING.paired_gain * self.paired:
            self.paired = self._gap
            return pairs_apart(shape, method, proof, self.cutoff, self.around.labels)
        return np.zeros((0, 0), dtype=bool)

    def _would_name(self, found: Exclusions) -> bool:
        """Whether pairs that are apart now would give components their names."""
        trial = self.region.copy()
        found.narrow(trial, self.shape, self.method.pools)
        return trial.anchor(self.instance, self.around.labels)

    def _named(self) -> bool:
        """Give names to components where that is possible."""
        before = self.region.allowed.copy()
        named = self.region.anchor(self.instance, self.around.labels)
        if named:
            self.note.named(before, self.region.allowed)
        return named

    def _stalls(self) -> bool:
        """Whether going on would not close the node soon."""
        return self.rounds >= self._most_rounds or self._slow(TUNING.stall_rounds, TUNING.stall_gain)

    @property
    def _most_rounds(self) -> int:
        return TUNING.node_rounds if self.root is None else TUNING.root_rounds

    def _slow(self, rounds: int, share: float) -> bool:
        """Whether the last rounds closed less than the given share of the gap."""
        history = self.history
        if len(history) <= rounds:
            return False
        # The best so far, for a proof may be worse than the one before.
        best, before = max(history), max(history[:-rounds])
        if not math.isfinite(self.cutoff):
            return best - before < 1e-3 * max(self.around.unit, abs(best))
        return best - before < share * (self.cutoff - best)

    def _open(self) -> VisitedNode:
        self.note.stalled()
        group, component = choice(self.shape, self.method, self.around.labels)
        means = None if self.method.stop.raised else means_of(self.instance, self.shape, self.method)
        found = None if means is None else self.around.improved(means)
        return VisitedNode(
            self.region, self.bound, True, keep(self.shape, self.method), group, component, found
        )


def means_of(instance: Instance, shape: Contraction, method: Method) -> np.ndarray | None:
    """Means of what the components hold, once all of them have names."""
    if any(pool.count > 1 for pool in method.pools):
        return None
    means = np.zeros((instance.n_components, instance.n_features))
    share = method.coverage() * shape.weight[:, None]
    for p, pool in enumerate(method.pools):
        k = int(pool.components[0])
        if share[:, p].sum() <= 0.0:
            return None
        means[k] = np.average(shape.points[0 if instance.shared else k], axis=0, weights=share[:, p])
    return means


def choice(shape: Contraction, method: Method, labels: np.ndarray) -> tuple[int, int]:
    """The group and component to branch on."""
    several = np.flatnonzero(undecided(shape.allowed))
    shared = [pool for pool in method.pools if pool.count > 1]
    if shared:
        # Name a component: by a group far from all clusters but its own, which no named component holds yet.
        pool = shared[0]
        inside = np.intersect1d(several, pool.index)
        by_point = labels[shape.first]
        held = {int(by_point[q.index[q.must]]) for q in method.pools if q.must >= 0}
        fresh = np.array([s for s in inside if int(by_point[s]) not in held], dtype=np.int64)
        pick = fresh if len(fresh) else inside
        s = int(pick[np.argmax(margins(shape, by_point)[pick])])
        return int(shape.first[s]), int(pool.components[0])
    share = method.coverage()[several]
    top = np.argsort(share, axis=1)[:, ::-1]
    most = share[np.arange(len(several)), top[:, 0]]
    i = int(np.argmax(np.minimum(most, 1.0 - most) * shape.weight[several]))
    s = int(several[i])
    for p in top[i]:
        k = int(method.pools[p].components[0])
        if shape.allowed[s, k]:
            return int(shape.first[s]), k
    raise AssertionError("an undecided super-point has no candidate")
