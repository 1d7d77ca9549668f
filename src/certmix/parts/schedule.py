"""What is worked on next, and for how long: time goes where the gap is."""

from __future__ import annotations

import math
from dataclasses import dataclass

from certmix.options import Options
from certmix.parts.account import Account, Part
from certmix.status import Tolerances

COARSE = 5e-5  # relative gap of parts at first, unless less will do
HOPE = 0.8  # share of what the partition leaves of the gap that parts take at first
FINER = 8.0  # by so much gaps become smaller where the inside of the parts is what is left
FIRST_NODES = 200  # of a part when it is first tried
MORE_NODES = 8  # times as many when it is tried again
PATIENCE = 1.0  # a part may take so many times its share of the time that is left: all of them get their turn


@dataclass(frozen=True)
class Job:
    """One part, and what is asked of it."""

    part: Part
    gap: float
    seconds: float
    nodes: int


def next_jobs(
    account: Account,
    upper: float,
    tolerances: Tolerances,
    options: Options,
    seconds: float,
    nodes: int,
    slots: int,
) -> list[Job]:
    """The parts to work on now, those with the largest gaps first; none when that would not help.

    ``seconds`` and ``nodes`` were used until now; ``slots`` parts are worked on at the same time.
    """
    gaps = _wanted(account, upper, tolerances)
    chosen = sorted(gaps, key=lambda part: -part.inner)
    if not chosen:
        return []
    left = options.time_left(seconds)
    each = PATIENCE * left * slots / len(chosen)
    budget = math.inf if options.node_limit is None else max(1, (options.node_limit - nodes) // len(chosen))
    return [
        Job(
            part,
            gaps[part],
            min(left, each),
            int(min(budget, FIRST_NODES * MORE_NODES ** min(part.tries, 8))),
        )
        for part in chosen
    ]


def _wanted(account: Account, upper: float, tolerances: Tolerances) -> dict[Part, float]:
    """The parts that have to be worked on, and the gap that is asked of each."""
    parts = account.parts
    fresh = {part: COARSE * max(1.0, _size(part)) for part in parts if part.tries == 0}
    partition, inner = account.gaps(upper)
    if not math.isfinite(partition):  # of the whole, or of some part, no clustering is known
        return fresh or {part: _size(part) / FINER for part in parts if math.isinf(part.inner)}
    room = tolerances.allowed(upper) - partition
    total = math.fsum(map(_size, parts)) or 1.0
    if fresh:
        return {part: max(gap, HOPE * room * _size(part) / total) for part, gap in fresh.items()}
    if room > 0.0:  # the parts alone can close the gap
        wanted = {part: 0.9 * room * _size(part) / total for part in parts}
        return {part: gap for part, gap in wanted.items() if part.inner > 1.01 * gap}
    if inner < partition:
        return {}
    return {part: min(part.inner, _size(part)) / FINER for part in parts if part.inner > inner / len(parts)}


def _size(part: Part) -> float:
    """How large the objective of a part is, as far as anything is known of it."""
    return next((abs(x) for x in (part.share, part.value, part.bound) if math.isfinite(x)), 1.0)
