"""Pairs that are together below a target, by prices: trees, refined until the checker sees it in their leaves."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from certmix.certificate.draft import Draft, Unproved, as_checked
from certmix.certificate.margins import MarginPart, Pair, settled
from certmix.certificate.recording import placed, shortened, walk
from certmix.kernels.price_parts import set_cost
from certmix.problem import Problem
from certmix.search.record import Splits
from certmix.verify.boxes import GROUP, INNER, LEAF, MEAN, SIZE, split
from certmix.verify.claims.margins import Chain
from certmix.verify.claims.prices import Torn, torn_sets
from certmix.verify.claims.prices import by_prices as confirmed
from certmix.verify.domain import Domain
from certmix.verify.evidence import Evidence, Rejected
from certmix.verify.lagrangian import Pricing, priced_tree
from certmix.verify.narrowing import Nodes


@dataclass(frozen=True)
class Tuning:
    """How exactly prices are known, and how trees are refined."""

    pricing_nodes: int = 200_000  # of the tree that finds a price
    exactly: float = 0.03  # share of what two sets have to cost more: how exactly prices are known, usually
    batch: int = 128  # nodes that are split in one go
    single: float = 0.5  # a group with this share of what the best coordinate loses is decided


TUNING = Tuning()


def by_prices(
    pairs: Sequence[Pair],
    problem: Problem,
    multipliers: np.ndarray,
    apart: np.ndarray,
    target: float,
    exactly: float,
    most: int,
    should_stop: Callable[[], bool] = lambda: False,
) -> MarginPart:
    """The part of those pairs for which the checker confirms it.

    Parameters
    ----------
    multipliers : of the groups
    apart : disjoint pairs of groups that are apart
    target : what is claimed
    exactly : how far the prices of all sets may be from the best ones, in all
    most : nodes of trees that are refined
    """
    whole, root = as_checked(problem)
    domain = Domain.of(root)
    domain.propagate(root)
    groups = root.group[np.array(pairs)[:, :2]]
    sets = domain.exchangeable(root)
    psi = np.zeros(len(sets))
    for i, members in enumerate(sets):
        if domain.high[members[0]] > 0:
            pricing = Pricing.of(root, domain, int(members[0]), multipliers, apart)
            found = walk(pricing, math.inf, TUNING.pricing_nodes, exactly / root.K)
            psi[i] = found.bound - exactly / root.K
    try:
        torn = torn_sets(root, domain, multipliers, apart, psi, groups, target)
    except Rejected as error:
        raise Unproved(str(error)) from None
    trees = [None if one is None else _Tree(one, most) for one in torn]
    together, left = np.ones(len(pairs), dtype=bool), most
    for tree in trees:
        left = left if tree is None else tree.grow(together, left, should_stop)
    arrays: dict[str, np.ndarray] = {"multipliers": multipliers, "psi": psi}
    if len(apart):
        arrays["pairs"] = apart.astype(np.int32)
    for i, tree in enumerate(trees):
        if tree is not None:
            arrays[f"axis/{i}"], arrays[f"cut/{i}"] = tree.arrays()
    if should_stop():
        raise Unproved("it took too long")
    draft = Draft()
    draft.step(0, "prices", arrays)
    try:  # as it is written, so that nothing is left to be checked once more
        together &= confirmed(root, domain, Evidence(draft.steps[0], draft.arrays), target, groups)
    except Rejected as error:
        raise Unproved(str(error)) from None
    kept = np.array(pairs)[together]
    return settled(kept, draft, Chain(whole, root.statement), problem, -math.inf, target)


class _Tree:
    """A pricing tree, and its leaves in which a set that tears a pair may be cheap."""

    def __init__(self, torn: Torn, most: int) -> None:
        self.torn, self.splits, self.spare, self.place = torn, Splits(), most, placed(torn.pricing)
        found = walk(torn.pricing, torn.psi, most)
        kind, k, index, at = priced_tree(torn.pricing, found.axis.astype(np.int64), found.cut.astype(float))
        self.splits.roots(1)
        inner = np.flatnonzero(kind != LEAF)
        self.splits.split(inner, kind[inner], k[inner], index[inner], at[inner])
        self.nodes = torn.left(found.axis.astype(np.int64), found.cut.astype(float), last=False)

    @np.errstate(all="ignore")  # what is not a number proves nothing
    def grow(self, together: np.ndarray, most: int, should_stop: Callable[[], bool]) -> int:
        """Split leaves until none is left in question; pairs that are torn nevertheless are not together.

        Returns how many of the nodes that may be looked at are left.
        """
        torn, boxes = self.torn, self.torn.boxes
        together &= ~torn.alone()[1]
        waiting = deque([self.nodes])  # the first comes first: what is left at the end is hard, not just late
        while waiting and not should_stop():
            nodes = waiting.popleft()
            nodes, rest = nodes.take(slice(TUNING.batch)), nodes.take(slice(TUNING.batch, None))
            if len(rest.entry):
                waiting.appendleft(rest)
            if not len(nodes.entry):
                continue
            departures = boxes.departures(nodes)
            cheaper, cheap = torn.cheap(nodes, departures)
            if most <= 0:  # what is left is not settled, but prices have to hold
                together &= ~cheap[~cheaper].any(axis=0)
            critical = cheaper | (cheap[:, together].any(axis=1) & (most > 0))
            _, joining, leaving, _ = (array[critical] for array in departures)
            some = nodes.take(critical)
            together &= ~self._found(some, cheap[critical] & together, joining, leaving)
            decisions = self._decisions(some, cheap[critical] & together, joining, leaving)
            stuck = decisions[0] == LEAF
            together &= ~cheap[critical][stuck].any(axis=0)
            rows = np.flatnonzero(critical)[~stuck]
            if not len(rows):
                continue
            if most <= -self.spare:
                together[:] = False
                break
            kind, k, index, at = (column[~stuck] for column in decisions)
            first, _ = self.splits.split(nodes.entry[rows], kind, k, index, at)
            most -= 2 * len(rows)
            waiting.append(
                boxes.narrow(split(boxes.root, nodes.take(rows), first, kind, k, index, at), *INNER)
            )
        return most

    def _found(self, s: Nodes, torn: np.ndarray, joining: np.ndarray, leaving: np.ndarray) -> np.ndarray:
        """Which pairs are torn by a set that is as cheap: no tree would settle them.

        Where what is open would rather be in, or would rather be outside, whatever the mean is, the cheapest set that
        tears a pair differs from the cheapest one by that. The search for multipliers has missed those that are found.
        """
        N, found = self.torn.boxes.root.N, np.zeros(torn.shape[1], dtype=bool)
        clear = ~((s.candidates() > 1) & (joining == 0) & (leaving == 0)).any(axis=1)
        for row in np.flatnonzero(clear & torn.any(axis=1)).tolist():
            least = s.allowed[row, 0] & (~s.allowed[row, 1] | (leaving[row] > 0))
            join, leave = np.append(joining[row], math.inf), np.append(leaving[row], 0.0)
            for pair in np.flatnonzero(torn[row] & ~found).tolist():
                i, j = int(self.torn.first[pair]), int(self.torn.second[pair])
                enters, leaves = (i, j) if join[i] + leave[j] <= join[j] + leave[i] else (j, i)
                members = np.append(least, False)
                members[enters], members[leaves] = True, False
                found[pair] = self._cheap(members[:N])
        return found

    def _cheap(self, members: np.ndarray) -> bool:
        """Whether a set costs less than the target, and may be."""
        size = float(self.place.weight[members].sum())
        return self.place.a <= size <= self.place.b and set_cost(members, self.place) < self.torn.target

    def _decisions(
        self, s: Nodes, torn: np.ndarray, joining: np.ndarray, leaving: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """Where nodes are split: kind (a leaf where there is nothing), component, index and place.

        ``torn`` are the pairs (M, pairs) in question: what their groups cost varies with the mean, as does what groups
        cost that are better in with some means and outside with others.
        """
        c, rows, is_open = self.torn.boxes.root, np.arange(len(s.entry)), s.candidates() > 1
        asked = np.zeros((len(rows), c.N + 1), dtype=bool)
        for ends in (self.torn.first, self.torn.second):
            node, pair = np.nonzero(torn)
            asked[node, ends[pair]] = True
        some = np.flatnonzero(is_open.any(axis=0))
        loose = (is_open & (joining == 0) & (leaving == 0))[:, some]
        middle, half = 0.5 * (s.lo + s.hi)[:, 0], 0.5 * (s.hi - s.lo)[:, 0]
        away = np.abs(c.points[0][some] - middle[:, None]) * half[:, None]  # (M, open groups, d)
        vary = c.mass[some] * away
        lost = 0.5 * vary * loose[:, :, None]
        wanted = vary * (is_open & asked[:, : c.N])[:, some, None]
        axes, groups = lost.sum(axis=1) + wanted.max(axis=1, initial=0.0), lost.sum(axis=2)
        a, b, h = s.a[:, 0], s.b[:, 0], c.entropy[0]
        size = (a + b) // 2
        chord = h[a] + (h[b] - h[a]) * (size - a) / np.maximum(b - a, 1)
        sized = np.where(b > a, np.maximum(h[size] - chord, 0.0), -1.0)
        axis, most, one = axes.argmax(axis=1), axes.max(axis=1), groups.max(axis=1, initial=0.0)
        group = some[groups.argmax(axis=1)] if len(some) else axis
        nothing = np.maximum(most, sized) <= 0  # then a size, or a group that would rather be where it is
        easiest = np.where(is_open, np.maximum(joining, leaving), math.inf).argmin(axis=1)
        choices = [
            (nothing & (b == a) & ~is_open.any(axis=1), LEAF, 0),
            (nothing & (b == a), GROUP, easiest),
            (nothing | (sized > np.maximum(most, one)), SIZE, size),
            (one > TUNING.single * most, GROUP, group),
        ]
        when = [choice[0] for choice in choices]
        kind = np.select(when, [choice[1] for choice in choices], MEAN)
        index = np.select(when, [choice[2] for choice in choices], axis)
        at, short = middle[rows, axis], middle[rows, axis].astype(np.float32)
        inside = (s.lo[rows, 0, axis] < short) & (short < s.hi[rows, 0, axis])
        return kind, np.zeros(len(rows), dtype=np.int64), index, np.where(inside, short, at)

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """As the checker reads it."""
        kind, _, index, at, _ = self.splits.levels()
        d = self.torn.pricing.root.d
        group = d + 1 + self.torn.pricing.groups[np.where(kind == GROUP, index, 0)]
        axis = np.select([kind == LEAF, kind == MEAN, kind == SIZE], [LEAF, index, d], group)
        place = np.where(kind == SIZE, index, at)
        return shortened(axis, place[(kind == MEAN) | (kind == SIZE)])
