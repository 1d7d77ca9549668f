"""How large parts are: as small as the gap that is asked for allows, and such that there is time for them.

Both are measured. Of every size some parts are made, of all groups where these are not too many, and local search says
what each could do better alone than in the whole: that is what the partition loses. Then a few of them are worked on
for the time that each would have. The size that promises the smallest gap is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from certmix.auto import MOST_DIMENSIONS
from certmix.parts import schedule
from certmix.parts.account import Part
from certmix.parts.partition import Imitation
from certmix.presolve.instance import Instance


@dataclass(frozen=True)
class Tuning:
    """Which sizes of parts are tried."""

    few_dimensions: tuple[int, ...] = (250, 500, 1000, 2000)
    many_dimensions: tuple[int, ...] = (100, 150, 200, 300, 400, 500, 600)
    most_dealt: int = 100  # parts: where a size makes no more, all groups are dealt
    most_made: int = 20  # parts of a size that are looked at; of more, half as many are
    wide: int = 20  # features: with more, a small gap inside of parts takes much longer than a wide one, ...
    most_lost: float = 0.5  # ... and the partition may take only this share of the gap
    worth: float = 0.33  # share of the gap of larger parts that the partition into smaller ones may lose
    hopeless: float = 0.02  # relative gap: where parts are left with more, only ...
    much_smaller: float = 0.7  # ... times as large ones are tried
    hope: float = 1.3  # times what may be lost: parts that lose less are dealt anew


TUNING = Tuning()


@dataclass
class Trial:
    """Parts of one size.

    Attributes
    ----------
    rest : groups of the other parts, nothing else of which is known
    complete : whether all these are a partition of all groups
    whole : what the incumbent costs in the parts together
    """

    size: int
    parts: list[Part]
    rest: list[np.ndarray]
    complete: bool
    whole: float

    @property
    def loss(self) -> float:
        """What they lose compared with the whole, relatively, as far as local search can tell."""
        return (self.whole - math.fsum(part.value for part in self.parts)) / max(1.0, abs(self.whole))


def sizes_for(instance: Instance) -> list[int]:
    """Sizes of parts that are worth a thought, the smallest first; none where parts are no help."""
    sizes = TUNING.few_dimensions if instance.n_features <= MOST_DIMENSIONS else TUNING.many_dimensions
    return [size for size in sizes if size < instance.n_groups] if instance.n_groups > sizes[-1] else []


def first_nodes(instance: Instance) -> int:
    """How many nodes a part may have when it is first tried: seconds, of nodes that take a tenth or thousandths."""
    return 2000 if instance.n_features <= MOST_DIMENSIONS else 200


def tried(
    imitation: Imitation,
    size: int,
    make: Callable[[list[np.ndarray]], list[Part]],
    share: Callable[[np.ndarray], float],
    seed: int,
    seconds: float = math.inf,
) -> Trial:
    """Parts of that size; ``make`` makes them of groups, ``share`` is what the incumbent costs in groups alone."""
    N, few = imitation.instance.n_groups, TUNING.most_made // 2
    groups, complete = np.arange(N), TUNING.most_dealt * size >= N
    if not complete:
        groups = np.random.default_rng([seed, size]).choice(N, size=few * size, replace=False)
    pieces = imitation.parts(groups, -(-len(groups) // size), seed, seconds)
    made = len(pieces) if len(pieces) <= TUNING.most_made else few
    parts = make(pieces[:made])
    return Trial(size, parts, pieces[made:], complete, share(np.sort(np.concatenate(pieces[:made]))))


def most_lost(n_features: int) -> float:
    """The share of the gap that the partition may take: larger parts cost more than a smaller gap inside of them."""
    return TUNING.most_lost if n_features > TUNING.wide else schedule.TUNING.most_lost


def chosen(
    sizes: Sequence[int],
    trial: Callable[[int], Trial],
    refine: Callable[[Trial], list[Part]],
    work: Callable[[Trial], float] | None,
    allowed: float,
    lost: float,
    over: Callable[[], bool],
) -> Trial:
    """The trial of the size to take.

    Parameters
    ----------
    refine : deals parts anew that do much better alone
    work : works on some parts of a trial for their share of the time, and says which relative gap is left inside of
        them; None when time does not matter
    allowed : the relative gap that is good enough
    lost : the share of it that the partition may take
    over : says when to stop
    """
    trials: list[Trial] = []
    for size in sizes:
        trials.append(found := trial(size))
        if found.loss < TUNING.hope * lost * allowed or size == sizes[-1]:
            found.parts = refine(found)
        if over() or found.loss < lost * allowed:
            break
    best, least = trials[-1], math.inf
    while work is not None and trials and not over() and trials[-1].loss < TUNING.worth * least:
        found = trials.pop()
        inside = work(found)
        if found.loss + inside < least:
            best, least = found, found.loss + inside
        elif inside < found.loss:  # smaller ones lose more
            break
        if least <= allowed:
            break
        if inside > TUNING.hopeless:
            trials = [trial for trial in trials if trial.size <= TUNING.much_smaller * found.size]
    return best
