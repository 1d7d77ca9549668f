"""Pricing trees for certificates: the walk of the compiled search over the checker's own numbers, written down."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from certmix.kernels.cells import cells_of
from certmix.kernels.mass import for_kernels
from certmix.kernels.price_parts import Goal, Place, room_for, sums
from certmix.kernels.pricing import price
from certmix.kernels.trios import Trios, trios_of
from certmix.stopping import current
from certmix.verify.boxes import LEAF
from certmix.verify.lagrangian import Pricing


@dataclass(frozen=True)
class Walk:
    """A tree as the checker reads it, and the bound that the search proved."""

    axis: np.ndarray
    cut: np.ndarray
    bound: float
    nodes: int
    complete: bool


def placed(pricing: Pricing) -> Place:
    """The sets of a component as the compiled search has them."""
    root, boxes, node = pricing.root, pricing.boxes(), pricing.node()
    (lo, hi), sizes = boxes.box(), (float(node.a[0, 0]), float(node.b[0, 0]))
    groups = boxes.x[0], root.weight.astype(np.float64), for_kernels(root.mass), boxes.constant[0]
    prior = np.array(root.prior_weight[0]), np.array(root.prior_mean[0])
    table = np.array(root.entropy[0]), bool(boxes.straight[0])
    return Place(*groups, *prior, lo[0], hi[0], *table, *sizes)


def walk(pricing: Pricing, threshold: float, most: int, tolerance: float = 0.0) -> Walk:
    """Price every set of a component, up to a threshold, in at most so many nodes.

    What is within the tolerance of the cheapest set is not looked at; below zero, what is dearer by less is, too.
    """
    root, free, place = pricing.root, ~pricing.forced, placed(pricing)
    alone = float(pricing.single_samples().min(initial=math.inf))
    if place.a > place.b:
        return Walk(np.array([LEAF], dtype=np.int8), np.zeros(0), alone, 1, True)
    seen = _seen(pricing)
    goal = Goal(threshold, tolerance, most, math.inf, current().flag, True)
    cheap = room_for(1, root.d, seen.tied)
    partner = np.full(root.N, -1)
    i, j = root.conflicts.T
    partner[i], partner[j] = j, i
    cells = cells_of(place.points, place.weight, place.mass, free, partner)
    forced, constant = sums(place, pricing.forced), place.cost[free]
    bound, _, nodes, complete, record = price(cells, constant, place, forced, goal, cheap, seen)
    axis, cut = _levels(record, root.d, pricing.groups[free])
    return Walk(axis, cut, min(bound, alone), nodes, complete)


def _seen(pricing: Pricing) -> Trios:
    """The trios as the search has them: those of groups that have to be in are left to the checker."""
    trios, free = pricing.trios, ~pricing.forced
    position = np.append(np.where(free, np.cumsum(free) - 1, -1), -1)  # the last for what is no candidate
    kept = ~np.append(pricing.forced, False)[trios.groups].any(axis=1)
    return trios_of(trios.groups[kept], trios.prices[kept], position, int(free.sum()))


def _levels(record: np.ndarray, d: int, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Level by level."""
    code, child = record[:, 0].astype(np.int64), record[:, 2].astype(np.int64)
    level, order = np.zeros(1, dtype=np.int64), []
    while len(level):
        order.append(level)
        first = child[level[code[level] != LEAF]]
        level = np.column_stack([first, first + 1]).ravel()
    rows = np.concatenate(order)
    axis = code[rows]
    cut = record[rows, 1][(axis != LEAF) & (axis <= d)]
    axis[axis > d] = d + 1 + groups[axis[axis > d] - d - 1]
    return shortened(axis, cut)


def shortened(axis: np.ndarray, cut: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """In the smallest types that hold the numbers."""
    small = next(t for t in (np.int8, np.int16, np.int32) if axis.max() <= np.iinfo(t).max)
    with np.errstate(over="ignore"):  # infinite is another number
        short = next(t for t in (np.float16, np.float32, np.float64) if (cut.astype(t) == cut).all())
    return axis.astype(small), cut.astype(short)
