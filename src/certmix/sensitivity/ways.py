"""Ways to settle many questions at once, before each is asked on its own, in the order in which they are tried."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from certmix.parts.contraction import TogetherTask
from certmix.presolve.groups import group_samples
from certmix.sensitivity.boxes import together_in_boxes
from certmix.sensitivity.known import Known
from certmix.sensitivity.prices import applies, together_by_prices
from certmix.sensitivity.questions import Question
from certmix.sensitivity.witnesses import value_of
from certmix.stopping import Stop


@dataclass(frozen=True)
class Tuning:
    """When a way is worth its time."""

    boxed_groups: int = 40  # so few are settled by boxes in no time, without exchange arguments or a bound
    box_nodes: int = 2000  # that a search by boxes explores ...
    more_nodes: int = 15  # ... or so many times those of the reported run
    not_boxed: tuple[str, ...] = ("sdp", "parts")  # engines that found the clustering where boxes are no use
    far: float = 0.1  # share of delta: those whose best known opposite is nearer are not for prices
    finely: float = 0.3  # of that, and of other shares, once most samples are linked
    pricing_seconds: float = 4.0  # that a proof by prices may take ...
    pricing_times: float = 3.0  # ... or so many times as long as the reported run


TUNING = Tuning()


def by_prices(known: Known, asked: Sequence[Question], stop: Stop) -> Sequence[Question]:
    """By multipliers from the middle of those that prove the bound: samples that are far from delta."""
    whole = known.linked()
    finely = 1.0 if whole is known.problem else TUNING.finely
    far = known.cutoff + finely * TUNING.far * (known.cutoff - known.upper)
    pairs = [(q.first, q.second) for q in asked if known.value[known.questions.place(q)] > far]
    few = group_samples(whole).n_groups <= TUNING.boxed_groups
    if few or len(pairs) < BY_PRICES.fewest or not applies(whole):
        return ()
    seconds = max(TUNING.pricing_seconds, TUNING.pricing_times * known.result.seconds)
    asked_of = whole, known.labels, pairs, known.upper, known.proved
    part = together_by_prices(*asked_of, seconds, stop, finely)
    if part is None:
        return ()
    known.proof.by_prices(part)
    return [Question(i, j, bool(together)) for i, j, together in part.pairs]


def by_boxes(known: Known, asked: Sequence[Question], stop: Stop) -> Sequence[Question]:
    """By one search over all clusterings below the target, with all that is known already."""
    whole, result = known.linked(), known.result
    lower, groups = known.proof.lower(whole), group_samples(whole).n_groups
    first = whole is known.problem and result.engine not in TUNING.not_boxed and math.isfinite(lower)
    if not (first or groups <= TUNING.boxed_groups):
        return ()

    def told(labels: np.ndarray) -> float:
        value = value_of(known.problem, labels)
        if math.isfinite(value):
            known.meet(labels, value)
        return value

    pairs = np.array([(q.first, q.second) for q in asked])
    nodes = known.proof.most_nodes(max(TUNING.box_nodes, TUNING.more_nodes * result.nodes), groups)
    found = together_in_boxes(whole, pairs, known.target, lower, told, nodes, stop, known.proof.splits())
    if found.bound is None:
        return ()
    settled = [q for q, together in zip(asked, found.together, strict=True) if together]
    return known.proof.by_boxes(settled, whole, found.bound, lower, known.proved)


def by_matrices(known: Known, asked: Sequence[Question], stop: Stop) -> Sequence[Question]:
    """By the roots of the semidefinite bound at the target: what is excluded there takes no exchange argument."""
    whole, recorder = known.linked(), known.proof.recorder()
    number = TogetherTask(whole, known.labels, known.target, stop.left)(stop, recorder)
    settled = [q for q in asked if number[q.first] == number[q.second]]
    known.proof.settle(settled, whole, recorder, known.proved)
    return settled


@dataclass(frozen=True)
class Way:
    """A way to settle pairs that are together.

    Attributes
    ----------
    settle : which of the questions it settles
    engines : with which it is tried
    fewest, fewest_left : questions, of all and where others have settled some: with fewer, each is asked on its own
    again : share of the groups of the last time: it is tried again with fewer
    """

    settle: Callable[[Known, Sequence[Question], Stop], Sequence[Question]]
    engines: tuple[str, ...]
    fewest: int = 3
    fewest_left: int = 3
    again: float = 1.0


BY_PRICES = Way(by_prices, ("auto", "race", "dual"), fewest_left=4)
BY_BOXES = Way(by_boxes, ("auto", "race", "dual", "interval", "enumerate"), fewest_left=6)
BY_MATRICES = Way(by_matrices, ("auto", "race", "sdp", "dual"), fewest_left=20, again=0.25)
WAYS = (BY_PRICES, BY_PRICES, BY_BOXES, BY_MATRICES, BY_MATRICES, BY_MATRICES, BY_BOXES)
