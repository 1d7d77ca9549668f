"""Many questions at once, by prices: multipliers at which every set that tears a pair is dear.

Any multipliers bound the cost of all clusterings (docs/bounds.md, The dual bound). Those of a solve are at the edge of
what proves its bound, where many sets cost no more than the clusters do. Here they are taken from the middle: a set
that has one sample of a pair in question without the other shall cost half of delta more than its price, for two such
sets are in every clustering that separates a pair. The sets that differ from a cluster by one group are known
beforehand; pricing finds the others, which are few.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_limits

from certmix.certificate.draft import Unproved
from certmix.certificate.margins import MarginPart
from certmix.certificate.prices import TUNING as PROVING
from certmix.certificate.prices import by_prices
from certmix.engines import engine, why_not
from certmix.presolve.instance import Instance, reduce
from certmix.problem import Problem
from certmix.search.bounds.dual import DualBound
from certmix.search.bounds.interior import LinearProgram, Point, central
from certmix.search.bounds.pricer import PricingClass
from certmix.stopping import Stop, attempt


@dataclass(frozen=True)
class Tuning:
    """How multipliers from the middle are looked for; shares are of delta."""

    dimensions: int = 4
    groups: int = 1500
    node_seconds: float = 5e-7  # that a proof takes for a node and a group, about ...
    node_groups: int = 100  # ... and for a node apart from that, in groups
    rounds: int = 30
    pricing_nodes: int = 100_000
    kept_sets: int = 5000  # of a pricing search: most nodes offer one that others have offered
    ahead: float = 0.15  # share by which sets shall cost more than they have to: proofs are not exact
    precision: float = 0.05  # share to which the program is solved
    worth: float = 0.02  # share: how near to the objective its value has to be
    narrowest: float = 1e-3  # share that is left to a multiplier at least
    near: float = 1e-3  # share: sets that lack less are left as they are
    paid: float = 0.01  # weight of a set that is in the way
    few: float = 0.05  # share of the pairs that such a set may tear
    rows: int = 150  # sets that are added to the program in a round, the cheapest ones, of every class
    places: int = 20  # cheap sets, the cheapest ones, near which others are looked for


TUNING = Tuning()


def applies(problem: Problem) -> bool:
    """Whether sets of a problem can be priced."""
    known = not (problem.covariance.unknown or problem.rules.soft) and problem.masses is None
    return known and problem.n_features <= TUNING.dimensions and why_not(engine("dual"), problem) is None


def together_by_prices(
    problem: Problem,
    labels: np.ndarray,
    pairs: Sequence[tuple[int, int]],
    upper: float,
    target: float,
    seconds: float,
    stop: Stop,
    finely: float = 1.0,
) -> MarginPart | None:
    """Pairs that are together in every clustering whose objective is below the target, and the proof of that.

    Parameters
    ----------
    labels : a clustering that costs ``upper`` and has all pairs together
    seconds : that the proof may take, about
    finely : share of what multipliers usually are ahead, and of how exactly things are known: for pairs that are nearer
        to delta, where groups are few
    """

    def found() -> MarginPart | None:
        instance, delta = reduce(problem), target - upper
        if instance.n_groups > TUNING.groups or not delta > 0:
            return None
        with threadpool_limits(1):  # small matrices: threads would only get in each other's way
            search = _Search(instance, labels, instance.groups.of[np.array(pairs)], delta, stop, finely)
            if not search.run(upper - finely * TUNING.worth * delta) or not len(search.first):
                return None
            most = int(seconds / (TUNING.node_seconds * (instance.n_groups + TUNING.node_groups)))
            asked, of = set(zip(search.first, search.second, strict=True)), instance.groups.of
            rows = [(i, j, 1) for i, j in pairs if (of[i], of[j]) in asked]
            exactly = finely * PROVING.exactly * delta
            return by_prices(
                rows, problem, search.t, search.apart, target, exactly, most, lambda: stop.raised
            )

    try:
        return attempt(found, stop, stop.left)
    except Unproved:
        return None


class _Search:
    """Sets, what they may cost at most, and multipliers in the middle of what these leave.

    A cluster costs its price, nearly. So sets that differ from one by a group say between which ends the multiplier of
    the group lies, and only the others are rows of the program.

    Attributes
    ----------
    t, prices : multipliers of the groups (zero where the component is known), prices of the classes of components
    sets, of, cost : groups of every set, its class, its cost
    extra : what it has to cost more than its price
    leave, join : (N,), (N, K): what clusters save without a group, and cost more with it
    """

    def __init__(
        self,
        instance: Instance,
        labels: np.ndarray,
        pairs: np.ndarray,
        delta: float,
        stop: Stop,
        finely: float = 1.0,
    ) -> None:
        self.instance, self.stop, self.delta, self.finely = instance, stop, delta, finely
        self.more = 0.5 * (1.0 + finely * TUNING.ahead) * delta
        self.first, self.second = pairs[pairs[:, 0] != pairs[:, 1]].T
        self.dual = DualBound(instance, labels, allowed=delta)
        self.clusters = self.dual.partition
        self.classes = self.dual.root_classes()
        self.counts = np.array([c.count for c in self.classes], dtype=float)
        self.free = np.all(np.stack([c.status for c in self.classes]) != 1, axis=0)
        self.seen: set[tuple[int, bytes]] = set()
        self.sets: list[np.ndarray] = []
        self.of: list[int] = []
        self.cost: list[float] = []
        self.extra: list[float] = []
        self.weight = np.zeros(0)  # of sets in the program
        for c, which in enumerate(self.classes):
            if math.isfinite(which.empty):
                self._keep(c, np.zeros(len(self.free), dtype=bool), which.empty)
            for k in which.members:
                self.add(c, self.clusters[k])
        self._look_around()
        self._ends()
        self.t = np.where(self.free, 0.5 * (self.low + self.high), 0.0)
        self.prices = np.full(len(self.classes), math.inf)
        np.minimum.at(self.prices, self.of, np.array(self.cost) - np.array(self.sets) @ self.t)

    def _look_around(self) -> None:
        """What it costs to move a group; infinitely much where that is not allowed, and nothing is saved then."""
        shape = len(self.free), len(self.clusters)
        self.leave, self.join = np.full(shape[0], -math.inf), np.full(shape, math.inf)
        self.own = np.full(shape[0], math.inf)  # what the cluster costs that a group may not leave
        for which in self.classes:
            for k in which.members:
                own = self.clusters[k]
                cost = self._cost(which, own) if own.any() else which.empty
                for g in np.flatnonzero(which.status == 0).tolist():
                    moved = own ^ (np.arange(shape[0]) == g)
                    if own[g] and self._fits(which, moved):
                        self.leave[g] = cost - self._cost(which, moved)
                    elif own[g]:
                        self.own[g] = cost
                    elif self._fits(which, moved):
                        self.join[g, k] = self._cost(which, moved) - cost

    def _ends(self) -> None:
        """Between which ends multipliers lie; pairs of groups that go elsewhere for too little are passed over."""
        join, room = self.join.min(axis=1), 2.0 * max(self.delta, self.dual.scale.cost)
        near = join - self.leave < 2.0 * self.more
        gone = near[self.first] | near[self.second]
        self.first, self.second = self.first[~gone], self.second[~gone]
        extra = np.where(np.isin(np.arange(len(near)), (*self.first, *self.second)), self.more, 0.0)
        low, high = self.leave + extra, join - extra
        low, high = (
            np.where(np.isfinite(low), low, np.minimum(high, self.own) - room),
            np.where(np.isfinite(high), high, low + room),
        )
        known = np.isfinite(low) & np.isfinite(high)  # what is nowhere else to go may have any multiplier
        low, high = np.where(known, low, -room), np.where(known, high, room)
        middle, half = 0.5 * (low + high), np.maximum(0.5 * (high - low), TUNING.narrowest * self.delta)
        self.low, self.high = middle - half, middle + half

    def _fits(self, which: PricingClass, members: np.ndarray) -> bool:
        """Whether a set has a size that it may have."""
        return max(1.0, which.a) <= float(self.instance.weight[members].sum()) <= which.b

    def _cost(self, which: PricingClass, members: np.ndarray) -> float:
        return self.dual.pricer.full_cost(which, members)

    def add(self, c: int, members: np.ndarray) -> bool:
        """A set; whether it is new and of a size that it may have."""
        key = c, np.packbits(members).tobytes()
        if key in self.seen or not self._fits(self.classes[c], members):
            return False
        self.seen.add(key)
        self._keep(c, members, self._cost(self.classes[c], members))
        return True

    def _keep(self, c: int, members: np.ndarray, cost: float) -> None:
        self.sets.append(members)
        self.of.append(c)
        self.cost.append(cost)
        self.extra.append(self._extra(members))

    @property
    def apart(self) -> np.ndarray:
        """Disjoint pairs of groups that are priced as apart."""
        partner = self.dual.pricer.partner
        first = np.flatnonzero(np.arange(len(partner)) < partner)
        return np.column_stack([first, partner[first]])

    def _torn(self, members: np.ndarray) -> np.ndarray:
        """Which pairs a set tears."""
        return np.asarray(members[self.first] != members[self.second])

    def _extra(self, members: np.ndarray) -> float:
        return self.more if self._torn(members).any() else 0.0

    def run(self, enough: float) -> bool:
        """Whether multipliers were found that prove so much, sets that tear pairs being cheaper by their extra."""
        for _ in range(TUNING.rounds if self.free.any() else 0):
            if self.stop.raised or not self._centre():
                return False
            if self._worth(self.prices) < enough:
                if not self._let_go():
                    return False
                continue
            proved, added = self._priced()
            if self._worth(proved) >= enough:
                return not self.stop.raised
            if not added:
                return False
        return False

    def _worth(self, prices: np.ndarray) -> float:
        return float(self.t.sum() + self.counts @ prices)

    def _centre(self) -> bool:
        """Go to the middle of what the sets leave."""
        n, unit, sets = int(self.free.sum()), self.delta, np.array(self.sets)
        of_class = np.array(self.of)[:, None] == np.arange(len(self.classes))
        matrix = csr_matrix(np.hstack([sets[:, self.free], of_class]).astype(float))
        cost, ends = (np.array(self.cost) - np.array(self.extra)) / unit, np.full(len(self.classes), math.inf)
        low, high = np.append(self.low[self.free] / unit, -ends), np.append(self.high[self.free] / unit, ends)
        gain, y = np.append(np.ones(n), self.counts), np.append(self.t[self.free], self.prices) / unit
        weight, sides = np.full(len(cost), 1e-2), np.full(len(y), 1e-2)
        weight[: len(self.weight)] = np.maximum(self.weight, 1e-8)
        inside = np.where(np.isfinite(low), 1e-3 * (high - low), 0.0)
        start = Point(np.clip(y, low + inside, high - inside), weight, sides, sides)
        program = LinearProgram(matrix, cost, gain, low, high, len(self.classes))
        solved = central(program, start, self.finely * TUNING.precision, 0.0 * y, y)
        if solved is None:
            return False
        self.t[self.free], self.prices = unit * solved.point.y[:n], unit * solved.point.y[n:]
        self.weight = solved.point.rows
        return True

    def _let_go(self) -> bool:
        """Ask no more about pairs which sets tear that the program would have; whether there are some."""
        paid = np.flatnonzero((self.weight > TUNING.paid) & (np.array(self.extra) > 0))
        torn = np.array([self._torn(self.sets[row]) for row in paid]).reshape(len(paid), len(self.first))
        count = torn.sum(axis=1)
        few = max(TUNING.few * len(self.first), count.min(initial=len(self.first)))
        gone = torn[count <= few].any(axis=0)
        self.first, self.second = self.first[~gone], self.second[~gone]
        self.extra = [self._extra(members) for members in self.sets]
        self._ends()
        return bool(gone.any())

    # -- pricing ---------------------------------------------------------------------------------------------------
    def _priced(self) -> tuple[np.ndarray, int]:
        """Prices that hold for the sets that are found, cheaper by their extra; how many of those are new."""
        proved, added = self.prices.copy(), 0
        for c, which in enumerate(self.classes):
            own = [self.clusters[k] for k in which.members if self.clusters[k].any()]
            for further in (0.0, self.more):  # most sets that lack something are near those that are cheapest
                sets = self._around(c, own + self._exact(which, self.prices[c] + further, -further))
                found = sorted(((self._reduced(which, x) - self._extra(x), i) for i, x in enumerate(sets)))
                lacking = [i for least, i in found if least < self.prices[c] - TUNING.near * self.delta]
                proved[c] = min([proved[c], *(least for least, _ in found[:1])])
                if lacking:
                    added += sum(self.add(c, sets[i]) for i in lacking[: TUNING.rows])
                    break
        return proved, added

    def _exact(self, which: PricingClass, threshold: float, tolerance: float) -> list[np.ndarray]:
        """Sets that cost less, where exact pricing meets them."""
        goal = threshold, tolerance, TUNING.pricing_nodes
        found = self.dual.pricer.exact(which, self.t, *goal, keep=TUNING.kept_sets)
        _, different = np.unique(found.values, return_index=True)
        return self._local(which, found.means[different], found.slopes[different])

    def _reduced(self, which: PricingClass, members: np.ndarray) -> float:
        return self._cost(which, members) - float(self.t[members].sum())

    def _local(self, which: PricingClass, means: np.ndarray, slopes: np.ndarray) -> list[np.ndarray]:
        return list(self.dual.pricer.local(which, self.t, means, slopes)[0]) if len(means) else []

    def _near(self, which: PricingClass, own: np.ndarray) -> list[int]:
        """Groups that tear a pair when they move into a set or out of it, and for little more than they should."""
        tearing = np.isin(np.arange(len(self.free)), (*self.first, *self.second)) & (which.status == 0)
        mean, slope = self._place(which, own)
        away = self.dual.arrays.points[self.dual.arrays.system[which.component]] - mean
        worth = 0.5 * (self.dual.arrays.mass.reshape(len(away), -1) * away**2).sum(axis=1)
        worth += self.instance.weight * slope + self.dual.pricer.cost(which, self.t)
        return np.flatnonzero(tearing & (np.where(own, -worth, worth) < 2.0 * self.more)).tolist()

    def _place(self, which: PricingClass, members: np.ndarray) -> tuple[np.ndarray, float]:
        """The mean of a set, and what a sample more costs for the size."""
        size, table = int(self.instance.weight[members].sum()), self.instance.entropy[which.component]
        slope = table[min(size + 1, len(table) - 1)] - table[size]
        return self.dual.pricer.means_of(which, members), float(slope if np.isfinite(slope) else 0.0)

    def _around(self, c: int, sets: list[np.ndarray]) -> list[np.ndarray]:
        """Sets, each once, and what is cheapest near the cheapest of them once a group has moved that tears a pair."""
        which, below = self.classes[c], self.prices[c] + self.more
        worth = {np.packbits(x).tobytes(): (self._reduced(which, x), i) for i, x in enumerate(sets)}
        cheapest = sorted(one for one in worth.values() if one[0] < below)
        found = [sets[i] for _, i in worth.values()]
        for _, i in cheapest[: TUNING.places]:
            for g in self._near(which, sets[i]):
                found += self._moved(which, sets[i], g)
        return list({np.packbits(x).tobytes(): x for x in found}.values())

    def _moved(self, which: PricingClass, own: np.ndarray, group: int) -> list[np.ndarray]:
        """The cheapest set near another whose group has moved, and stays where it is."""
        members, status = own.copy(), which.status.copy()
        members[group] = not members[group]
        if not self._fits(which, members):
            return []
        status[group] = 1 if members[group] else -1
        mean, slope = self._place(which, members)
        return self._local(replace(which, status=status), mean[None], np.array([slope]))
