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
FRUITLESS = 20  # trials in a row that gain nothing: then the others would hardly
WORTH = 0.02  # units of costs: a part that does better alone by less is left as it is


def refined(
    parts: list[Part],
    imitation: Imitation,
    make: Callable[[list[np.ndarray]], list[Part]],
    *,
    at_once: int,
    seed: int,
    seconds: float,
    over: Callable[[], bool],
) -> list[Part]:
    """The parts after some of them were dealt anew, ``at_once`` threes at a time; local search comes to more in all."""
    rng, worth = np.random.default_rng([seed, 1]), WORTH * imitation.unit
    parts, tried = list(parts), np.zeros(len(parts), dtype=np.int64)
    end = time.perf_counter() + seconds
    left, fruitless = min(4 * len(parts), MOST_TRIALS), 0
    while left > 0 and fruitless < FRUITLESS and not over() and time.perf_counter() < end:
        below = np.array([part.below if t < TRIALS else -1.0 for part, t in zip(parts, tried, strict=True)])
        order = np.argsort(-below, kind="stable")
        worst = order[: min(at_once, len(parts) // TOGETHER, int(np.count_nonzero(below >= worth)))]
        if not len(worst):
            break
        others = rng.permutation(order[len(worst) :])[: (TOGETHER - 1) * len(worst)]
        threes = np.column_stack([worst, others.reshape(len(worst), TOGETHER - 1)]).tolist()
        dealt = [
            imitation.parts(
                np.concatenate([parts[t].groups for t in three]), TOGETHER, int(rng.integers(2**31))
            )
            for three in threes
        ]
        made = iter(make([piece for pieces in dealt for piece in pieces]))
        left -= len(worst)
        tried[worst] += 1
        for three, pieces in zip(threes, dealt, strict=True):
            found = [next(made) for _ in pieces]
            fruitless += 1
            if len(found) == TOGETHER and _value(found) > _value([parts[t] for t in three]) + worth:
                fruitless = 0
                for t, part in zip(three, found, strict=True):
                    parts[t], tried[t] = part, 0
    return parts


def _value(parts: list[Part]) -> float:
    return math.fsum(part.value for part in parts)
