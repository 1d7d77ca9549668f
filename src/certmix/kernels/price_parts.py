"""What the pricing search (:mod:`.pricing`) is made of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certmix.kernels.compiled import njit
from certmix.kernels.mass import mass_of, weighed
from certmix.kernels.records import record_split


class Place(NamedTuple):
    """A pricing problem: N groups, the box of their mean, the table of the size's cost, and the sizes allowed."""

    points: np.ndarray  # (N, d)
    weight: np.ndarray  # (N,) samples
    mass: np.ndarray  # (N,) or (N, d)
    cost: np.ndarray  # (N,) scatter - T
    gamma: np.ndarray  # (d,) precision of the prior on the mean
    prior_mean: np.ndarray  # (d,)
    lo: np.ndarray  # (d,)
    hi: np.ndarray
    entropy: np.ndarray  # (n + 1,)
    concave: bool
    a: float
    b: float


class Goal(NamedTuple):
    """When a search ends, and whether it writes down its tree."""

    threshold: float  # what has to be proved, at most
    tolerance: float  # how far below the best set seen a bound may stay
    node_limit: int
    start: float  # value of some set, or infinite
    stop: np.ndarray  # the flag of certmix.stopping
    recording: bool


class Cheap(NamedTuple):
    """The cheapest sets seen: all groups with negative q at a mean and slope; infinite where there is none.

    Whether groups of trios are in is told apart.
    """

    value: np.ndarray
    mean: np.ndarray
    slope: np.ndarray
    held: np.ndarray  # (sets, groups of trios) which of these are in


class Sums(NamedTuple):
    """Of groups that must be in."""

    weight: float  # samples
    mass: np.ndarray  # (1,) or (1, d)
    total: np.ndarray  # sum of m x
    constant: float  # costs, with half the sum of m x^2
    magnitude: float  # sum of the absolute values in that
    farthest: float  # largest coordinate
    groups: int


def sums(place: Place, inside: np.ndarray) -> Sums:
    """Of some of the groups."""
    mass, x, cost = place.mass[inside], place.points[inside], place.cost[inside]
    half = float(0.5 * weighed(mass, x**2).sum())
    constant, magnitude = half + float(cost.sum()), half + float(np.abs(cost).sum())
    farthest = float(np.abs(x).max(initial=0.0))
    load = mass.sum(axis=0, keepdims=True)
    samples, total = float(place.weight[inside].sum()), weighed(mass, x)
    return Sums(samples, load, total, constant, magnitude, farthest, len(x))


def set_cost(members: np.ndarray, place: Place) -> float:
    """Exact reduced cost of a set; ``members`` is a bool array."""
    m, x = place.mass[members], place.points[members]
    full = m.sum(axis=0) + place.gamma
    mean = (weighed(m, x) + place.gamma * place.prior_mean) / np.where(full > 0, full, 1.0)
    mean = np.clip(mean, place.lo, place.hi)
    away = 0.5 * place.gamma @ (mean - place.prior_mean) ** 2 + 0.5 * weighed(m, (x - mean) ** 2).sum()
    return float(place.cost[members].sum() + place.entropy[int(place.weight[members].sum())] + away)


def room_for(sets: int, d: int, tied: int = 0) -> Cheap:
    """Room for so many cheap sets, with so many groups of trios."""
    held = np.zeros((sets, tied), dtype=np.bool_)
    return Cheap(np.full(sets, np.inf), np.empty((sets, d)), np.empty(sets), held)


@njit()
def keep_cheap(cheap, value, mean, slope, held):
    """Put a set in the place of the dearest one that is kept, if it is cheaper."""
    worst = 0
    for i in range(cheap.value.shape[0]):
        if cheap.value[i] > cheap.value[worst]:
            worst = i
    if value < cheap.value[worst]:
        cheap.value[worst] = value
        cheap.slope[worst] = slope
        cheap.held[worst] = held
        for j in range(mean.shape[0]):
            cheap.mean[worst, j] = mean[j]


@njit()
def parts_of_sizes(place, a, b, heaviest, single, record):
    """Sizes near the limits, large sizes near the limits and the rest: ``(three intervals, their rows, record, rows)``.

    The exchange arguments fail for sizes so near a limit that one group's leaving or joining would cross it. Those
    sizes are split off, so that the arguments serve everywhere else, if they do at all. Sizes below ``a`` were looked
    at one by one if ``single``.
    """
    d = place.lo.shape[0]
    least = max(place.a, 1.0)
    cut_low = a
    if place.concave and a - heaviest < least:
        cut_low = min(least + heaviest, b + 1.0)
    cut_high = b
    if place.concave and place.b < place.entropy.shape[0] - 1 and b + heaviest > place.b:
        cut_high = max(place.b - heaviest, cut_low - 1.0)
    parts = np.empty((3, 2))
    parts[0, 0], parts[0, 1] = a, cut_low - 1.0
    parts[1, 0], parts[1, 1] = max(cut_high + 1.0, cut_low), b
    parts[2, 0], parts[2, 1] = cut_low, cut_high
    row = np.zeros(3, dtype=np.int64)
    rows = 1
    rest = 0
    if single:
        record = record_split(record, rest, d, a - 1.0, rows)
        rest = rows + 1
        rows += 2
    row[0] = rest
    if a < cut_low <= b:
        record = record_split(record, rest, d, cut_low - 1.0, rows)
        row[0] = rows
        rest = rows + 1
        rows += 2
    row[1] = row[2] = rest
    if cut_low <= cut_high < b:
        record = record_split(record, rest, d, cut_high, rows)
        row[2] = rows
        row[1] = rows + 1
        rows += 2
    return parts, row, record, rows


@njit()
def minimise(quad, total, gamma, lo, hi, bar, at):
    """The least value of a quadratic over a box, prior included, and the size of what was added up for it.

    ``bar`` minimises it anywhere, ``at`` in the box.
    """
    value = 0.0
    size = 0.0
    for j in range(lo.shape[0]):
        full = mass_of(quad, 0, j) + gamma[j]
        bar[j] = total[j] / full if full > 0 else 0.5 * (lo[j] + hi[j])
        at[j] = min(max(bar[j], lo[j]), hi[j])
        curved, tilted = 0.5 * full * at[j] * at[j], total[j] * at[j]
        value += curved - tilted
        size += curved + abs(tilted)
    return value, size


@njit()
def cut_box(rest, quad, gamma, bar, at, rounding, farthest, lo, hi):
    """Cut off where the quadratic is more than ``rest`` above its least value; ``(nothing is left, much is gone)``."""
    closed = False
    shrunk = False
    if not np.isfinite(rest):
        return closed, shrunk
    for j in range(lo.shape[0]):
        full = mass_of(quad, 0, j) + gamma[j]
        if full <= 0:
            continue
        reach = np.sqrt(2.0 * rest / full + (at[j] - bar[j]) ** 2) * (1.0 + 1e-9)
        reach += rounding * (farthest + abs(bar[j]))
        width = hi[j] - lo[j]
        lo[j] = max(lo[j], bar[j] - reach)
        hi[j] = min(hi[j], bar[j] + reach)
        if lo[j] > hi[j]:
            closed = True
        elif hi[j] - lo[j] < 0.8 * width:
            shrunk = True
    return closed, shrunk


@njit()
def widest_loss(share, lo, hi, at):
    """The coordinate with the largest share in what the bound loses, -1 if there is none to cut."""
    split = -1
    largest = 0.0
    for j in range(lo.shape[0]):
        if share[j] > largest and hi[j] - lo[j] > 1e-9 * (1.0 + abs(at[j])):
            largest = share[j]
            split = j
    return split


@njit()
def cut_size(m, a, b):
    """After which size to cut, and which child is below: the one around ``m`` is 1, the one that is explored first."""
    cut = float(min(max(int(0.5 * (m + 0.5 * (a + b))), int(a)), int(b) - 1))
    return cut, 1 if m <= cut else 0


@njit()
def cut_interval(wanted, low, high, recording):
    """Where to cut an interval: near a point, in its middle part; recorded cuts are short numbers. And as above."""
    width = high - low
    cut = min(max(wanted, low + 0.3 * width), high - 0.3 * width)
    if recording:
        grain = 2.0 ** np.floor(np.log2(0.1 * width))
        rounded = np.floor(cut / grain + 0.5) * grain
        if low < rounded < high:
            cut = rounded
    return cut, 1 if wanted <= cut else 0
