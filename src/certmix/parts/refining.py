"""A better partition: parts that do much better alone than in the whole are dealt anew, together with others."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from certmix.parts.account import Part
from certmix.parts.partition import Imitation


@dataclass(frozen=True)
class Tuning:
    """How many parts are dealt anew, and how often."""

    together: int = 3  # parts that are dealt anew at a time
    trials: int = 6  # of a part
    most_trials: int = 1000  # of all parts, and four of each
    fruitless: int = 20  # trials in a row that gain nothing: then the others would hardly
    worth: float = 0.02  # units of costs: a part that does better alone by less is left as it is


TUNING = Tuning()


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
    rng, worth = np.random.default_rng([seed, 1]), TUNING.worth * imitation.unit
    parts, tried = list(parts), np.zeros(len(parts), dtype=np.int64)
    end = time.perf_counter() + seconds
    left, fruitless = min(4 * len(parts), TUNING.most_trials), 0
    while left > 0 and fruitless < TUNING.fruitless and not over() and time.perf_counter() < end:
        below = np.array(
            [part.below if t < TUNING.trials else -1.0 for part, t in zip(parts, tried, strict=True)]
        )
        order = np.argsort(-below, kind="stable")
        worst = order[: min(at_once, len(parts) // TUNING.together, int(np.count_nonzero(below >= worth)))]
        if not len(worst):
            break
        others = rng.permutation(order[len(worst) :])[: (TUNING.together - 1) * len(worst)]
        threes = np.column_stack([worst, others.reshape(len(worst), TUNING.together - 1)]).tolist()
        dealt = [
            imitation.parts(
                np.concatenate([parts[t].groups for t in three]), TUNING.together, int(rng.integers(2**31))
            )
            for three in threes
        ]
        made = iter(make([piece for pieces in dealt for piece in pieces]))
        left -= len(worst)
        tried[worst] += 1
        for three, pieces in zip(threes, dealt, strict=True):
            found = [next(made) for _ in pieces]
            fruitless += 1
            if len(found) == TUNING.together and _value(found) > _value([parts[t] for t in three]) + worth:
                fruitless = 0
                for t, part in zip(three, found, strict=True):
                    parts[t], tried[t] = part, 0
    return parts


def _value(parts: list[Part]) -> float:
    return math.fsum(part.value for part in parts)
