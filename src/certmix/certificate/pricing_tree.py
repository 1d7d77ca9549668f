"""Grows the trees that prove prices, with the checker's own bound: what it accepts here it accepts there."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from certmix.verify.lagrangian import LEAF, NARROW, WORK, Pricing, split

SMALLEST = 1e-13  # losses below this share of a bound cannot be cut away


@dataclass(frozen=True)
class Grown:
    """A pricing tree, or why there is none: ``least`` is a bound that splitting could not lift."""

    axis: np.ndarray
    cut: np.ndarray
    nodes: int
    complete: bool
    least: float


def grow(
    pricing: Pricing, threshold: float, most: int, should_stop: Callable[[], bool] = lambda: False
) -> Grown:
    """A tree whose leaves all reach the threshold, level by level; incomplete when ``most`` nodes do not suffice."""
    d, N = pricing.x.shape[1], len(pricing.w)
    lo, hi = pricing.lo[None], pricing.hi[None]
    a, b = np.array([pricing.a]), np.array([pricing.b])
    status: np.ndarray | None = None
    axes, cuts, nodes = [], [], 0
    step = max(1, WORK // max(1, N))
    while len(a):
        nodes += len(a)
        code = np.full(len(a), LEAF, dtype=np.int64)
        after = np.zeros(len(a), dtype=np.int64)
        for first in range(0, len(a), step):
            if nodes > most or should_stop():
                return Grown(np.zeros(0), np.zeros(0), nodes, False, -math.inf)
            rows = slice(first, first + step)
            some = None if status is None else status[rows]
            code[rows], after[rows], stuck = _where(
                pricing, lo[rows], hi[rows], a[rows], b[rows], some, threshold
            )
            if stuck < threshold:
                return Grown(np.zeros(0), np.zeros(0), nodes, False, stuck)
        axes.append(code)
        cuts.append(after[code == d])
        inner = code != LEAF
        code, lo, hi, a, b = (array[inner] for array in (code, lo, hi, a, b))
        status = None if status is None else status[inner]
        lo, hi, a, b, status = split(pricing, code, lo, hi, a, b, status, cuts[-1])
    axis = np.concatenate(axes)
    small = (
        np.int8
        if d + pricing.position.size < 127
        else np.int16
        if d + pricing.position.size < 32767
        else np.int32
    )
    return Grown(axis.astype(small), np.concatenate(cuts).astype(np.int32), nodes, True, threshold)


def _where(
    pricing: Pricing,
    lo: np.ndarray,
    hi: np.ndarray,
    a: np.ndarray,
    b: np.ndarray,
    status: np.ndarray | None,
    threshold: float,
) -> tuple[np.ndarray, np.ndarray, float]:
    """For every node: leaf, or where to cut it (and after which size); and the least bound that has nothing to cut."""
    found = pricing._some(lo, hi, a, b, status)
    d = lo.shape[1]
    code, after = np.full(len(a), LEAF, dtype=np.int64), np.zeros(len(a), dtype=np.int64)
    short = np.flatnonzero(found[0] < threshold)
    if not len(short):
        return code, after, math.inf
    bound, near, far, s, theta, active, beta = (array[short] for array in found)
    lo, hi, a, b = lo[short], hi[short], a[short], b[short]
    x, w = pricing.x, pricing.w
    pulled = theta * w
    quadratic = pulled.sum(axis=1)[:, None] + pricing.prior_weight
    linear = pulled @ x + pricing.prior_weight * pricing.prior_mean
    with np.errstate(divide="ignore", invalid="ignore"):
        mu = np.clip(np.where(quadratic > 0, linear / quadratic, 0.5 * (lo + hi)), lo, hi)
    distance = sum((x[:, j] - mu[:, j, None]) ** 2 for j in range(d))
    q = w * (0.5 * distance + beta[:, None]) + pricing.constant
    uncertain = active & (theta < 1.0)
    least = np.minimum(q, 0.0)
    for i, j in pricing.pairs.tolist():
        least[:, i] = least[:, j] = np.minimum(least[:, i], least[:, j])
    loss = np.where(uncertain, np.maximum(least - theta * q - (1 - theta) * s, 0.0), 0.0)
    score = np.zeros((len(short), d + 2))
    per = loss * w / np.maximum(far - near, 1e-300)
    for j in range(d):
        under, over = lo[:, j, None] - x[:, j], x[:, j] - hi[:, j, None]
        width = np.minimum(under, over) ** 2 - np.maximum(np.maximum(under, over), 0.0) ** 2
        score[:, j] = 0.5 * (per * width).sum(axis=1)
        score[lo[:, j] >= hi[:, j], j] = 0.0
    inside = (theta == 1.0) | (active & (q < 0))
    taken = (inside * w).sum(axis=1).astype(np.int64)
    m = np.clip(taken, a, b)
    chords = np.array([pricing.chord(i, j) for i, j in zip(a.tolist(), b.tolist(), strict=True)])
    h = pricing.entropy[m]
    gap = np.where(np.isfinite(h), h - chords[:, 0] - chords[:, 1] * m, 0.0)
    # Where the cheapest set has a size outside the interval, narrow intervals with a slope of their own help.
    wrong = (m != taken) & (b - a > NARROW)
    gap = np.where(wrong, np.maximum(gap, 0.2 * (threshold - bound)), gap)
    score[:, d] = np.where(a < b, np.maximum(gap, 0.0), 0.0)
    # There the slope of its own loses where the box is wide, which the losses above do not show.
    narrow = (m != taken) & (b - a <= NARROW)
    width = (hi - lo) / np.maximum(pricing.hi - pricing.lo, 1e-300)
    lacking = np.where(narrow & (width.max(axis=1) > 1e-6), threshold - bound, 0.0)
    score[:, :d] = np.maximum(score[:, :d], 0.2 * lacking[:, None] * width)
    score[:, d] = np.where(a < b, np.maximum(score[:, d], 0.02 * lacking * (b - a)), score[:, d])
    score[:, d + 1] = loss.max(axis=1, initial=0.0)
    choice = score.argmax(axis=1)
    one = (a == 1) & (b > 8)  # sets of one group are priced exactly: set them apart at once
    choice = np.where(one, d, choice)
    code[short] = np.where(choice <= d, choice, d + 1 + pricing.groups[loss.argmax(axis=1)])
    middle = (a + b) // 2
    middle = np.where(wrong & (taken < a), np.minimum(a + NARROW, middle), middle)
    middle = np.where(wrong & (taken > b), np.maximum(b - NARROW - 1, middle), middle)
    after[short] = np.where(one, 1, middle)
    nothing = (score.max(axis=1) <= SMALLEST * (1.0 + np.abs(bound))) & ~one
    return code, after, float(bound[nothing].min(initial=math.inf))
