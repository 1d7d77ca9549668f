"""The prover for few dimensions: multipliers from the search's ascent, pricing trees, branching where a gap remains.

Nothing here is trusted: the multipliers may come from anywhere, and every bound that counts is the checker's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field

import numpy as np
from threadpoolctl import threadpool_limits

from certmix.certificate.draft import Draft, Unproved
from certmix.certificate.growing import Split, grow
from certmix.certificate.recording import Walk, walk
from certmix.rounding import EPS
from certmix.search.bounds.ascent import Ascent
from certmix.search.bounds.counting import CountingBound
from certmix.search.bounds.dual import DualBound
from certmix.search.bounds.planes import best_plane
from certmix.search.bounds.pricer import PricingClass
from certmix.search.bounds.sides import Side, Sides
from certmix.threads import Threads
from certmix.verify import tree
from certmix.verify.domain import Domain
from certmix.verify.lagrangian import Pricing, cells, combine, limits
from certmix.verify.root import Root
from certmix.verify.trios import Trios


@dataclass(frozen=True)
class Tuning:
    """How long multipliers and trees are worked on."""

    few_clusterings: int = 1 << 16  # enumerated rather than priced
    pricing_nodes: int = 600_000  # of all pricing trees
    branch_pricing_nodes: int = 30_000  # of one below the root
    nodes: int = 4000  # of the tree of decisions
    iterations: int = 60  # of the ascent in a node below the root
    turn: int = 10  # iterations that must bring ...
    enough: float = 0.3  # ... this share of what is lacking, lest the node is split
    near: float = 3e-3  # relative gap that is worth all iterations
    coarseness: float = 0.05  # far from the target prices need not be exact
    patience: int = 25  # iterations at the root that must bring ...
    patient_share: float = 0.02  # ... this share of what is lacking
    tries: int = 4  # to share the slack among the prices
    aimed: float = 0.5  # share of the slack that the search for a price gives away
    claimed: float = 0.999  # likewise, the claim
    pair_seconds: float = 1e-7  # that the checker takes for a node and a group, about


TUNING = Tuning()


@dataclass(eq=False)
class LagrangianProver:
    """Fills a draft with a proof that everything costs at least the target."""

    root: Root
    dual: DualBound  # features, pricer and perhaps the multipliers of a run
    target: float
    _: KW_ONLY
    ahead: float  # how far above the target the ascent aims: the slack that keeps pricing trees small
    counting: CountingBound | None = None  # the run's nodes by the sides of planes
    should_stop: Callable[[], bool] = lambda: False
    pricing_nodes: int = field(default=0, init=False)
    checking: float = field(default=0.0, init=False)  # seconds that a check will take at most
    root_decided: int = field(default=-1, init=False)  # groups that are decided at the root

    def __post_init__(self) -> None:
        partner = self.dual.pricer.partner  # the same pairs as the search's pricing
        first = np.flatnonzero(np.arange(self.root.N) < partner)
        self.pairs = np.column_stack([first, partner[first]])

    def prove(self, draft: Draft) -> None:
        """Add nodes and steps until every leaf is settled; raises :class:`Unproved` otherwise."""

        def settle(node: int, domain: Domain, told: np.ndarray | None) -> Split | None:
            return self._settle(draft, node, domain, told)

        limits = TUNING.few_clusterings, TUNING.nodes, self.should_stop
        with threadpool_limits(1):  # matrices are small, and threads that wait for each other are not free
            enumerated = grow(draft, self.root, self.target, settle, *limits)
        self.checking += enumerated  # only now: growing has added to it

    # -- one node --------------------------------------------------------------------------------------------
    def _settle(
        self, draft: Draft, node: int, domain: Domain, multipliers: np.ndarray | None
    ) -> Split | None:
        """Prove the node, or say how to split it; its children begin at its multipliers."""
        if node == 0:
            self.root_decided = int(domain.decided.sum())
        if self.counting is not None and (domain.sides or self.counting.split):
            return self._count(self.counting, draft, node, domain, multipliers)
        maybe_empty = np.flatnonzero((domain.low == 0) & (domain.high > 0))
        if len(maybe_empty) and node > 0:
            return Split(tree.AT_MOST, int(maybe_empty[0]), 0, multipliers)
        sets = [m for m in domain.exchangeable(self.root) if domain.high[m[0]] > 0]
        ascent = self._ascent(node, domain, multipliers, sets)
        if self._proved(draft, node, ascent, domain, sets):
            return None
        if len(maybe_empty):
            return Split(tree.AT_MOST, int(maybe_empty[0]), 0, ascent.best_t)
        return Split(tree.IN, *self._branch(ascent, domain, sets), ascent.best_t)

    def _proved(
        self, draft: Draft, node: int, ascent: Ascent, domain: Domain, sets: list[np.ndarray]
    ) -> bool:
        """Whether an ascent proves a node; then it has a step."""
        enough = ascent.best + self._shift(domain) >= self.target
        found = self._trees(ascent, domain, sets) if enough else None
        if found is not None:
            draft.step(node, "lagrangian", found)
        return found is not None

    def _count(
        self, counting: CountingBound, draft: Draft, node: int, domain: Domain, told: np.ndarray | None
    ) -> Split | None:
        """Follow the run's nodes by the sides of planes, where it split one or proved it; else do as it would."""
        sides = Sides(tuple(Side(s.axis, s.at, s.least, s.left) for s in domain.sides))
        plane = counting.split.get(sides)
        if plane is None:
            t, worth = np.zeros(self.root.N) if told is None else told, np.zeros(len(sides))
            t, worth = counting.proved.get(sides, (t, worth))
            ascent = counting.ascent(sides, t, worth, self.target + self.ahead)
            told = ascent.best_t
            sets = [m for m in domain.exchangeable(self.root) if domain.high[m[0]] > 0]
            if self._proved(draft, node, ascent, domain, sets):
                return None
            plane = best_plane(ascent, self.target + self.ahead - ascent.best - self._shift(domain))
        if plane is None:
            raise Unproved("a node is left that no plane splits")
        return Split(tree.LEFT, plane.axis, plane.least, told, plane.at)

    def _shift(self, domain: Domain) -> float:
        return float(self.root.entropy[domain.high == 0, 0].sum()) - self.root.error

    def _ascent(
        self, node: int, domain: Domain, multipliers: np.ndarray | None, sets: list[np.ndarray]
    ) -> Ascent:
        """Multipliers for a domain."""
        aim = self.target + self.ahead - self._shift(domain)
        dual = self.dual
        if node == 0:
            dual.advance_root(self.target + self.ahead, 0.0)
            if dual.root_ascent is not None:
                return self._climb(dual.root_ascent, aim, dual.node_limit(True))
        limit = dual.node_limit(False)
        ascent = dual.begun(
            [self._pricing_class(domain, members) for members in sets],
            np.zeros(self.root.N) if multipliers is None else multipliers,
            aim,
            limit,
            seed=node,
            resolution=dual.resolution_for(self.ahead),
            threads=Threads(1),
            should_stop=self.should_stop,
            coarseness=TUNING.coarseness,
        )
        while ascent.best < aim and ascent.iterations < TUNING.iterations and not self.should_stop():
            before, gone = ascent.best, ascent.iterations
            ascent.advance(aim, min(gone + TUNING.turn, TUNING.iterations), limit, 4 * limit)
            gained, lacking = ascent.best - before, aim - ascent.best
            near = lacking < TUNING.near * max(1.0, abs(aim))
            if ascent.iterations == gone or (not near and gained < TUNING.enough * lacking):
                break  # splitting is cheaper
        return ascent

    def _climb(self, ascent: Ascent, aim: float, limit: int) -> Ascent:
        """Ascend as long as it pays."""
        ascent.coarseness = TUNING.coarseness
        while ascent.best < aim and not self.should_stop():
            before, iterations = ascent.best, ascent.iterations
            ascent.advance(aim, iterations + TUNING.patience, limit)
            gained, lacking = ascent.best - before, aim - ascent.best
            if ascent.iterations == iterations or gained < TUNING.patient_share * lacking:
                break
        return ascent

    def _pricing_class(self, domain: Domain, members: np.ndarray) -> PricingClass:
        root, k = self.root, int(members[0])
        inside = domain.inside()[:, k]
        status = np.where(inside, 1, np.where(domain.allowed[:, k], 0, -1)).astype(np.int64)
        sets = Pricing.of(root, domain, k, np.zeros(root.N), np.zeros((0, 2), dtype=np.int64))
        lo, hi = (end[0] for end in sets.boxes().box())
        sizes = float(sets.root.size_lower[0]), float(sets.root.size_upper[0])
        names = tuple(int(m) for m in members)
        empty = float(root.entropy[k, 0]) if domain.low[k] == 0 else math.inf
        return PricingClass(k, len(members), names, status, *sizes, lo, hi, empty)

    def _trees(self, ascent: Ascent, domain: Domain, sets: list[np.ndarray]) -> dict[str, np.ndarray] | None:
        """Pricing trees for the ascent's multipliers; None when the prices turn out too low."""
        root, t = self.root, ascent.best_t
        counts = np.array([len(m) for m in sets])
        pairs = self.pairs
        between, worth, paid = cells(domain.sides, root.d), ascent.best_prices, ascent.best_trios.paid()
        trios = Trios(paid.groups, paid.prices)
        whole = [Pricing.of(root, domain, int(m[0]), t, pairs, trios) for m in sets]
        pricings = {(i, c): cell.of(p) for i, p in enumerate(whole) for c, cell in enumerate(between)}
        off = np.array([worth[cell.left].sum() for cell in between])
        sides = (*(worth * limits(domain.sides)).tolist(), *(-trios.prices * trios.limits).tolist())
        expected = ascent.expected(t, worth, paid)
        if len(expected) != len(sets) or not np.isfinite(expected).all():
            return None
        empty = [(1, float(root.entropy[k, 0])) for k in np.flatnonzero(domain.high == 0)]
        walks: dict[tuple[int, int], tuple[float, Walk]] = {}
        for _ in range(TUNING.tries):
            prices = [*zip(counts.tolist(), expected.tolist(), strict=True), *empty]
            slack = combine(root, t, prices, sides) - self.target
            claims = expected - TUNING.claimed * slack / counts.sum()
            prices = [*zip(counts.tolist(), claims.tolist(), strict=True), *empty]
            if not slack > 0 or not combine(root, t, prices, sides) >= self.target:
                return None
            short = False
            for (i, c), pricing in pricings.items():
                claim = float(claims[i] + off[c] + 4 * EPS * abs(off[c]))
                if (i, c) in walks and walks[i, c][0] >= claim:
                    continue
                left = TUNING.pricing_nodes - self.pricing_nodes
                at_root = domain.decided.sum() == self.root_decided
                most = left if at_root else min(left, TUNING.branch_pricing_nodes)
                aim = float(expected[i] + off[c] - TUNING.aimed * slack / counts.sum())
                found = walk(pricing, aim, most)
                self.pricing_nodes += found.nodes
                self.checking += TUNING.pair_seconds * found.nodes * root.N
                if self.should_stop():
                    raise Unproved("it took too long")
                if not found.complete and most < left:
                    return None  # rather split the node
                if not found.complete:
                    raise Unproved("the pricing trees grow too large")
                if found.bound < aim:  # cheaper sets than local search had seen: share the slack anew
                    expected[i] = found.bound - off[c]
                    short = True
                    break
                walks[i, c] = claim, found
            if not short:
                return self._arrays(t, worth, trios, domain, sets, walks)
        return None

    def _arrays(
        self,
        t: np.ndarray,
        worth: np.ndarray,
        trios: Trios,
        domain: Domain,
        sets: list[np.ndarray],
        walks: dict[tuple[int, int], tuple[float, Walk]],
    ) -> dict[str, np.ndarray]:
        every, count = domain.exchangeable(self.root), 1 + max(c for _, c in walks)
        arrays = {"multipliers": t, "psi": np.zeros(count * len(every))}
        if len(self.pairs):
            arrays["pairs"] = self.pairs.astype(np.int32)
        if len(worth):
            arrays["sides"] = worth
        if len(trios.prices):
            arrays["trios"], arrays["trio_prices"] = trios.groups.astype(np.int32), trios.prices
        place = {int(m[0]): i for i, m in enumerate(every)}
        for (i, c), (claim, found) in walks.items():
            number = place[int(sets[i][0])] * count + c
            arrays["psi"][number] = claim
            arrays[f"axis/{number}"], arrays[f"cut/{number}"] = found.axis, found.cut
        return arrays

    # -- branching -------------------------------------------------------------------------------------------
    def _branch(self, ascent: Ascent, domain: Domain, sets: list[np.ndarray]) -> tuple[int, int]:
        """Which group to put into which component, or not."""
        root = self.root
        free = ~domain.decided
        alike = [m for m in sets if len(m) > 1]
        if alike:
            members = alike[0]
            able = free & domain.allowed[:, members].all(axis=1)
            if able.any():
                return self._anchor(domain, able), int(members[0])
        share = np.zeros((root.N, root.K))
        shares = ascent.shares()
        if shares is not None:
            for (chosen, i), weight in zip(ascent.master.sets(), shares, strict=True):
                share[chosen, ascent.classes[i].component] += weight
        share = np.where(domain.allowed, share, 0.0)
        split = np.where(free, np.minimum(1.0, share.sum(axis=1)) - share.max(axis=1), -1.0)
        g = int(split.argmax())
        if split[g] < 1e-3:  # the master is whole: take the group that hesitates most
            costs = np.where(domain.allowed, self._costs(), math.inf)
            two = np.sort(costs, axis=1)[:, :2]
            g = int(np.where(free, two[:, 1] - two[:, 0], math.inf).argmin())
            return g, int(costs[g].argmin())
        return g, int(share[g].argmax())

    def _anchor(self, domain: Domain, able: np.ndarray) -> int:
        """A group in the heart of a cluster that has none yet, one with conflicts if there are such."""
        costs = self._costs()
        own = np.stack(self.dual.partition).argmax(axis=0)
        taken = set(own[domain.decided].tolist())
        fresh = able & ~np.isin(own, list(taken))
        able = fresh if fresh.any() else able
        degree = np.bincount(self.root.conflicts.ravel(), minlength=self.root.N)
        score = costs[np.arange(self.root.N), own] - 1e3 * degree
        return int(np.where(able, score, math.inf).argmin())

    def _costs(self) -> np.ndarray:
        """Cost per sample of every group in every component of the incumbent."""
        out = np.empty((self.root.N, self.root.K))
        for k, members in enumerate(self.dual.partition):
            x, m, w = self.root.points[k], self.root.mass, self.root.weight
            total = m[members].sum(axis=0)
            mean = (m * x)[members].sum(axis=0) / np.where(total > 0, total, 1.0)
            share = max(1, w[members].sum()) / self.root.n
            out[:, k] = 0.5 * (m / w[:, None] * (x - mean) ** 2).sum(axis=1) - math.log(share)
        return out
