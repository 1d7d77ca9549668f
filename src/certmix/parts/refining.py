"""A better partition: parts that do much better alone than in the whole are dealt anew, together with others."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from certmix.parts.account import Part
from certmix.parts.partition import Imitation

TOGETHER = 3  # parts that are dealt anew at a time
TRIALS = 6  # of a part
MOST_TRIALS = 1000  # of all parts, and four of each
WORTH = 0.02  # units of costs: a part that does better alone by less is left as it is


def refined(
    parts: list[Part],
    imitation: Imitation,
    make: Callable[[np.ndarray], Part],
    *,
    seed: int,
    seconds: float,
    over: Callable[[], bool],
) -> list[Part]:
    """The parts after some of them were dealt anew; what local search comes to in them adds up to more."""
    rng, worth = np.random.default_rng([seed, 1]), WORTH * imitation.unit
    parts, tried = list(parts), np.zeros(len(parts), dtype=np.int64)
    end = time.perf_counter() + seconds
    for _ in range(min(4 * len(parts), MOST_TRIALS)):
        if len(parts) < TOGETHER or over() or time.perf_counter() > end:
            break
        below = np.array([part.below for part in parts])
        worst = int(np.argmax(np.where(tried < TRIALS, below, -1.0)))
        if tried[worst] >= TRIALS or below[worst] < worth:
            break
        others = np.delete(np.arange(len(parts)), worst)
        chosen = [worst, *rng.choice(others, size=TOGETHER - 1, replace=False).tolist()]
        groups = np.concatenate([parts[t].groups for t in chosen])
        found = [make(piece) for piece in imitation.parts(groups, TOGETHER, int(rng.integers(2**31)))]
        tried[worst] += 1
        if len(found) == TOGETHER and _value(found) > _value([parts[t] for t in chosen]) + worth:
            for t, part in zip(chosen, found, strict=True):
                parts[t], tried[t] = part, 0
    return parts


def _value(parts: list[Part]) -> float:
    return math.fsum(part.value for part in parts)
