"""What is worked on next: time goes where the gap is."""

from __future__ import annotations

import math
from dataclasses import dataclass

from certmix.parts.account import Account, Part
from certmix.status import Tolerances


@dataclass(frozen=True)
class Tuning:
    """Shares of the gap and of the time, and how they change."""

    coarse: float = 5e-5  # relative gap of parts at first, where the partition loses too much
    most_lost: float = 0.8  # share of the gap that the partition may take: smaller parts gain more
    hope: float = 0.85  # share of what the partition leaves of the gap that parts take at first
    beside: float = 0.25  # of what the partition loses, where that is too much already
    nearly: float = 0.95  # share of what the partition leaves of the gap that parts take in the end
    finer: float = 8.0  # by so much gaps become smaller where the inside of the parts is what is left
    more_nodes: int = 8  # times as many when it is tried again
    enough: int = 8  # parts of which the time is known, to tell what the others will take
    spare: float = 0.25  # share of the time that nobody seems to need which one part may take beside its own


TUNING = Tuning()


@dataclass(frozen=True)
class Job:
    """One part, and what is asked of it."""

    part: Part
    gap: float
    nodes: int


class Turns:
    """How long parts may take that are worked on one after the other, some at the same time, until an end.

    Every part has its turn: it may take an equal share of the time that is left when it begins. A part that is cut
    short proves little or nothing, so it may take more where the others are seen to need less.
    """

    def __init__(self, parts: int, slots: int) -> None:
        self.waiting, self._slots = parts, slots
        self._taken: list[float] = []

    def next(self, left: float) -> float:
        """The seconds that the next one may take of those that are left for all."""
        turns = -(-self.waiting // self._slots)
        self.waiting -= 1
        spare = 0.0
        if len(self._taken) >= TUNING.enough and math.isfinite(left):
            spare = max(0.0, left - turns * math.fsum(self._taken) / len(self._taken))
        return max(0.0, left) / turns + TUNING.spare * spare

    def took(self, seconds: float) -> None:
        """Hear what one of them has taken."""
        self._taken.append(seconds)


def first_gap(allowed: float, loss: float) -> float:
    """The relative gap that is asked of parts at first, when the partition loses so much."""
    if loss < allowed:  # the parts alone can close the gap
        return TUNING.hope * max(allowed - loss, (1.0 - TUNING.most_lost) * allowed)
    return max(TUNING.coarse, min(TUNING.hope * allowed, TUNING.beside * loss))


def next_jobs(
    account: Account, upper: float, tolerances: Tolerances, first: int, nodes: float, larger: bool = True
) -> list[Job]:
    """The parts to work on now, those with the largest gaps first; none when that would not help.

    A part may have ``first`` nodes when it is tried first, and no more than ``nodes`` may be explored in all of them
    together. Where there is no time for ``larger`` parts, those that there are get on with theirs.
    """
    gaps = _wanted(account, upper, tolerances, larger)
    budget = max(1.0, nodes / max(1, len(gaps)))
    return [
        Job(part, gaps[part], int(min(budget, first * TUNING.more_nodes ** min(part.tries, 8))))
        for part in sorted(gaps, key=lambda part: -part.inner)
    ]


def _wanted(account: Account, upper: float, tolerances: Tolerances, larger: bool) -> dict[Part, float]:
    """The parts that have to be worked on, and the gap that is asked of each."""
    parts = account.parts
    fresh = [part for part in parts if part.tries == 0]
    partition, inner = account.gaps(upper)
    if not math.isfinite(partition):  # of the whole, or of some part, no clustering is known
        if fresh:
            return {part: TUNING.coarse * max(1.0, _size(part)) for part in fresh}
        return {part: _size(part) / TUNING.finer for part in parts if math.isinf(part.inner)}
    allowed, total = tolerances.allowed(upper), math.fsum(map(_size, parts)) or 1.0
    if fresh:
        relative = first_gap(allowed / total, partition / total)
        return {part: relative * max(1.0, _size(part)) for part in fresh}
    if allowed > partition:  # the parts alone can close the gap
        level = _level([(part.inner, _size(part)) for part in parts], TUNING.nearly * (allowed - partition))
        return {part: level * _size(part) for part in parts if part.inner > 1.01 * level * _size(part)}
    if larger and inner < partition:
        return {}
    return {
        part: min(part.inner, _size(part)) / TUNING.finer for part in parts if part.inner > inner / len(parts)
    }


def _level(gaps: list[tuple[float, float]], budget: float) -> float:
    """The relative gap to which the largest gaps must come down so that all add up to the budget.

    ``gaps`` and sizes of parts. Small gaps stay as they are, so what is still open may keep more.
    """
    left, total = budget, math.fsum(size for _, size in gaps)
    for gap, size in sorted(gaps, key=lambda one: one[0] / (one[1] or 1.0)):
        if gap * total >= left * size:
            return left / (total or 1.0)
        left, total = left - gap, total - size
    return math.inf


def _size(part: Part) -> float:
    """How large the objective of a part is, as far as anything is known of it."""
    return next((abs(x) for x in (part.share, part.value, part.bound) if math.isfinite(x)), 1.0)
