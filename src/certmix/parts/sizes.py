"""How large parts are: as small as the gap that is asked for allows, and no larger than there is time for.

Both are measured. What a partition loses is looked at on a few parts of every size: local search says what each could
do better alone than in the whole. What a part costs is timed on one of the smallest size; larger ones cost more by a
known power.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from certmix.auto import MOST_DIMENSIONS
from certmix.parts.account import Part
from certmix.parts.partition import Imitation
from certmix.presolve.instance import Instance

FEW_DIMENSIONS = (250, 500, 1000, 2000)
MANY_DIMENSIONS = (100, 150, 200, 300, 400, 500)
POWER = 2.4  # of its size, that the time for a part grows with
SAMPLED = 8  # parts of a size that are looked at
LOSS = 0.5  # share of the gap that the partition may take
TIME = 0.6  # share of the time left that a first round may take

Make = Callable[[np.ndarray], Part]
"""Makes a part of groups."""
Share = Callable[[np.ndarray], float]
"""What the incumbent costs in groups alone."""
Timed = Callable[[Part, float], float]
"""Seconds that a part takes; no more than given."""


def sizes_for(instance: Instance) -> list[int]:
    """Sizes of parts that are worth a thought, the smallest first; none where parts are no help."""
    sizes = FEW_DIMENSIONS if instance.n_features <= MOST_DIMENSIONS else MANY_DIMENSIONS
    return [size for size in sizes if size < instance.n_groups] if instance.n_groups > sizes[-1] else []


def chosen_size(
    imitation: Imitation,
    make: Make,
    share: Share,
    timed: Timed,
    over: Callable[[], bool],
    *,
    allowed: float,
    left: float,
    slots: int,
) -> int:
    """Groups in a part.

    Parameters
    ----------
    over : says when to stop
    allowed : the relative gap that is good enough
    left : seconds; slots : parts that are worked on at the same time
    """
    sizes, N = sizes_for(imitation.instance), imitation.instance.n_groups
    wanted = len(sizes) - 1
    for i, size in enumerate(sizes):
        if over() or _loss(imitation, make, share, size) < LOSS * allowed:
            wanted = i
            break
    if math.isfinite(left) and wanted > 0 and not over():
        # The first one may have to wait for kernels to be loaded.
        probes = [timed(make(groups), TIME * left) for groups in _sample(imitation, sizes[0])[:2]]
        seconds = min(probes) * N / sizes[0] / slots
        while wanted > 0 and seconds * (sizes[wanted] / sizes[0]) ** (POWER - 1.0) > TIME * left:
            wanted -= 1
    return sizes[wanted]


def _sample(imitation: Imitation, size: int) -> list[np.ndarray]:
    """A few parts of that size, made of some of the groups."""
    N = imitation.instance.n_groups
    groups = np.random.default_rng(size).choice(N, size=min(N, SAMPLED * size), replace=False)
    return imitation.parts(groups, -(-len(groups) // size), size)


def _loss(imitation: Imitation, make: Make, share: Share, size: int) -> float:
    """What a partition into parts of that size loses, relatively, as far as local search can tell."""
    pieces = _sample(imitation, size)
    whole = share(np.sort(np.concatenate(pieces)))
    return (whole - math.fsum(make(groups).value for groups in pieces)) / max(1.0, abs(whole))
