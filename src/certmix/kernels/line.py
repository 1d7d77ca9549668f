r"""Lower bounds for one-dimensional problems with very many samples: coarse-to-fine dynamic programming.

The samples are sorted, the clusters are intervals of them, and a clustering is a path of cuts
:math:`0 = c_0 < c_1 < \dots < c_K = n` that costs :math:`\sum_k g(c_k, c_{k+1})` with
:math:`g(s, e) = \tfrac P2 \mathrm{SSE}(s, e) + h(e - s)`. Neighbouring positions of a cut are gathered in *cells*; an
arc between two cells carries a lower bound on g over all pairs of positions in them, so the shortest path over cells is
a lower bound on the optimum, and a cell through which every path is too long can go. What is left is split and the
shortest path found again, until the gap is closed or every cell is one position, where the path is the optimum.

**Potential.** For any function :math:`\phi` of positions the lengths :math:`g(s, e) - \phi(e) + \phi(s)` order the
paths just as g does. With :math:`\phi` the running sum of :math:`T_i = \min_j \tfrac P2 (x_i - m_j)^2 + q_j`, for means
and slopes of a good clustering, lengths hardly change when a good cut moves: the loss of a cell is of second order in
its width.

**Arc.** Let s be in [s0, s1], e in [e0, e1] and s1 < e0. The samples I = [s1, e0) are members; those of [s, s1) and
[e0, e) may be. The mean lies in M = [mean(s0, e0), mean(s1, e1)], and the entropy above its chord
:math:`\alpha + \beta m`, so

.. math:: g(s, e) \ge \tfrac P2 \mathrm{SSE}(I) + \alpha + \beta |I| + \sum_{\text{others in } [s, e)}
          \bigl( \tfrac P2 \operatorname{dist}(x_i, M)^2 + \beta \bigr).

Less :math:`T_i \le \tfrac P2 (x_i - m_j)^2 + q_j`, the last bracket is at least a linear function of :math:`x_i` for
every j, hence at least the largest over j of its values at the worse end of the cell.

No exchange argument is used, so size limits and clusters of one sample need no exemption.

**Rounding.** Running sums of x and x^2 are kept as pairs of doubles (relative error about 2^-104); every arc is
lowered by a multiple of the absolute values that were added up, every sum of arcs is rounded down.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certmix.kernels.compiled import njit
from certmix.kernels.pairs import pair_square, pair_sum, two_product, two_sum
from certmix.rounding import EPS


class Line(NamedTuple):
    """A sorted sample: offsets ``x`` from a reference, entropy by size."""

    x: np.ndarray
    sums: np.ndarray  # (4, n + 1): running sums of x and x^2, as pairs
    entropy: np.ndarray
    precision: float
    smallest: int
    largest: int


class Potential(NamedTuple):
    """``T`` is the parabola with ``means[j]`` and ``slopes[j]`` for the samples ``border[j] ... border[j + 1] - 1``.

    ``before[j]`` is the running sum up to a border; ``error`` bounds the rounding of any running sum; with ``shift``
    added to it, T is nowhere negative.
    """

    means: np.ndarray
    slopes: np.ndarray
    border: np.ndarray
    before: np.ndarray
    shift: float
    error: float


class Ladder(NamedTuple):
    """Cells ``[low, high]`` of every cut, cut by cut; ``rung[k]`` is the first cell of cut k.

    Arcs lead from cell c to the cells ``first[c] ... last[c] - 1`` of the next cut.
    """

    low: np.ndarray
    high: np.ndarray
    rung: np.ndarray
    first: np.ndarray
    last: np.ndarray


@njit()
def running_sums(y, reference):
    """Offsets of sorted samples from a reference and the running sums of them and their squares."""
    n = y.shape[0]
    x = np.empty(n)
    sums = np.zeros((4, n + 1))
    for i in range(n):
        a, b = two_sum(y[i], -reference)
        x[i] = a
        sums[0, i + 1], sums[1, i + 1] = pair_sum(sums[0, i], sums[1, i], a, b)
        p, q = pair_square(a, b)
        sums[2, i + 1], sums[3, i + 1] = pair_sum(sums[2, i], sums[3, i], p, q)
    return x, sums


@njit()
def half_scatter(i, j, line):
    """Half the precision times the sum of squares of the samples i ... j - 1 about their mean."""
    m = j - i
    if m <= 1:
        return 0.0
    sums = line.sums
    a, b = pair_sum(sums[0, j], sums[1, j], -sums[0, i], -sums[1, i])
    p, q = pair_square(a, b)
    high = p / m
    back, rest = two_product(high, float(m))
    low = (((p - back) - rest) + q) / m
    c, d = pair_sum(sums[2, j], sums[3, j], -sums[2, i], -sums[3, i])
    s, e = pair_sum(c, d, -high, -low)
    return 0.5 * line.precision * max(0.0, s + e)


@njit(inline="always")
def mean_of(i, j, line):
    high, low = line.sums[0], line.sums[1]
    return ((high[j] - high[i]) + (low[j] - low[i])) / (j - i)


@njit()
def slope_at(m, entropy):
    """What one more sample changes in the entropy of a component of size m, between going and coming."""
    n = entropy.shape[0] - 1
    left = max(m - 1, 1)
    right = min(m + 1, n)
    return (entropy[right] - entropy[left]) / (right - left) if right > left else 0.0


# -- the potential -------------------------------------------------------------------------------------------
@njit()
def parabola_sum(i, j, mean, slope, line):
    """Sum of ``P/2 (x - mean)^2 + slope`` over the samples i ... j - 1."""
    if j <= i:
        return 0.0
    away = mean_of(i, j, line) - mean
    return half_scatter(i, j, line) + (j - i) * (0.5 * line.precision * away * away + slope)


@njit()
def potential_of(cuts, line):
    """The potential of the clustering with these cuts: the lower envelope of its components' costs."""
    K = cuts.shape[0] - 1
    n = line.x.shape[0]
    half = 0.5 * line.precision
    means = np.empty(K)
    slopes = np.empty(K)
    edge = np.empty(K)  # where the parabola begins to be the lowest
    size = 0
    shift = 0.0
    for k in range(K):
        m = mean_of(cuts[k], cuts[k + 1], line)
        q = slope_at(cuts[k + 1] - cuts[k], line.entropy)
        shift = max(shift, -q)
        start = -np.inf
        while size > 0:
            if m > means[size - 1]:
                gap = m - means[size - 1]
                start = 0.5 * (m + means[size - 1]) + (q - slopes[size - 1]) / (line.precision * gap)
                if start > edge[size - 1]:
                    break
                size -= 1
                start = -np.inf
            elif q < slopes[size - 1]:
                size -= 1
            else:
                start = np.inf
                break
        if start < np.inf:
            means[size] = m
            slopes[size] = q
            edge[size] = start
            size += 1
    border = np.zeros(size + 1, dtype=np.int64)
    before = np.zeros(size + 1)
    border[size] = n
    for j in range(1, size):
        border[j] = max(border[j - 1], np.searchsorted(line.x, edge[j]))
    reach = max(abs(line.x[0]), abs(line.x[n - 1]))
    error = 0.0
    for j in range(size):
        own = parabola_sum(border[j], border[j + 1], means[j], slopes[j], line)
        before[j + 1] = before[j] + own
        members = border[j + 1] - border[j]
        scatter = max(0.0, own - members * slopes[j]) / half
        error += half * scatter + 2.0 * abs(slopes[j]) * members
        error += line.precision * (reach + abs(means[j])) * np.sqrt(members * scatter)
    return Potential(
        means[:size].copy(), slopes[:size].copy(), border, before, shift, 16.0 * (size + 4) * EPS * error
    )


@njit()
def potential_at(c, line, potential):
    """The sum of T over the first c samples."""
    j = potential.means.shape[0] - 1
    while potential.border[j] > c:
        j -= 1
    return potential.before[j] + parabola_sum(
        potential.border[j], c, potential.means[j], potential.slopes[j], line
    )


# -- arcs ----------------------------------------------------------------------------------------------------
@njit()
def least_extra(x_first, x_last, mean, apart, beta, line, potential):
    """At most ``P/2 (x - mean)^2 + beta - T(x)`` for x between the ends; without the square if not ``apart``."""
    half = 0.5 * line.precision
    best = -np.inf
    for j in range(potential.means.shape[0]):
        m = potential.means[j]
        q = potential.slopes[j]
        if apart:
            at_first = (m - mean) * ((x_first - mean) + (x_first - m))
            at_last = (m - mean) * ((x_last - mean) + (x_last - m))
            value = half * min(at_first, at_last) + beta - q
        else:
            value = beta - q - half * max((x_first - m) ** 2, (x_last - m) ** 2)
        size = abs(x_first) + abs(x_last) + abs(mean) + abs(m)
        best = max(best, value - 32.0 * EPS * (half * size * size + abs(beta) + abs(q)))
    return best


@njit()
def arc(c, t, low, high, phi_low, phi_high, line, potential):
    """A lower bound on ``g(s, e) - phi(e) + phi(s)`` for s in cell c and e in cell t; infinite if there is none.

    phi at the ends of cells is taken at its word; that other values of phi differ from those by the sums of T only up
    to rounding is in ``potential.error``.
    """
    s0, s1, e0, e1 = low[c], high[c], low[t], high[t]
    a = max(line.smallest, e0 - s1)
    b = min(line.largest, e1 - s0)
    if a > b:
        return np.inf
    h_a = line.entropy[a]
    h_b = line.entropy[b]
    if s1 >= e0:  # no sample is a member for sure
        gain = (phi_high[t] - phi_low[c]) + potential.shift * (e1 - s0)
        value = min(h_a, h_b) - gain - 4.0 * potential.error
        return value - 8.0 * EPS * (abs(h_a) + abs(h_b) + abs(gain) + potential.shift * (e1 - s0))
    beta = (h_b - h_a) / (b - a) if b > a else slope_at(a, line.entropy)
    alpha = min(h_a - beta * a, h_b - beta * b)
    scatter = half_scatter(s1, e0, line)
    members = beta * (e0 - s1)
    gain = phi_low[t] - phi_high[c]
    value = scatter + alpha + members - gain
    size = scatter + abs(h_a) + abs(h_b) + 3.0 * abs(beta) * b + abs(gain)
    for side in range(2):  # what may be a member: before and behind
        i, j = (s0, s1) if side == 0 else (e0, e1)
        if j > i:
            mean = mean_of(s0, e0, line) if side == 0 else mean_of(s1, e1, line)
            x_first, x_last = line.x[i], line.x[j - 1]
            apart = x_last <= mean if side == 0 else x_first >= mean
            extra = least_extra(x_first, x_last, mean, apart, beta, line, potential)
            extra = (j - i) * min(0.0, extra)
            value += extra - 2.0 * potential.error
            size += abs(extra)
    return value - 16.0 * EPS * size


@njit(inline="always")
def down(value):
    """Not above the exact sum that was rounded to this value."""
    return value - 2.0 * EPS * abs(value) if np.isfinite(value) else value


# -- shortest paths over cells -------------------------------------------------------------------------------
@njit()
def sweep(ladder, line, potential, threshold):
    """Shortest path over the cells, forwards and backwards.

    Returns its length, its cells, and the ladder's arcs reduced to the hull of those on paths shorter than the
    threshold (``first >= last`` for a cell on no such path).
    """
    low, high, rung = ladder.low, ladder.high, ladder.rung
    N = low.shape[0]
    K = rung.shape[0] - 2
    arcs = np.empty(np.maximum(ladder.last - ladder.first, 0).sum())
    ahead = np.full(N, np.inf)
    behind = np.full(N, np.inf)
    origin = np.full(N, -1, dtype=np.int64)
    ahead[0] = 0.0
    phi_low = np.empty(N)
    phi_high = np.empty(N)
    for c in range(N):
        phi_low[c] = potential_at(low[c], line, potential)
        phi_high[c] = potential_at(high[c], line, potential) if high[c] > low[c] else phi_low[c]
    at = 0
    for c in range(N):
        for t in range(ladder.first[c], ladder.last[c]):
            if ahead[c] < np.inf:
                arcs[at] = arc(c, t, low, high, phi_low, phi_high, line, potential)
                if np.isnan(arcs[at]):  # nothing is known; it must not drop out of the comparisons
                    arcs[at] = -np.inf
                reached = down(ahead[c] + arcs[at])
                if reached < ahead[t]:
                    ahead[t] = reached
                    origin[t] = c
            else:
                arcs[at] = np.inf
            at += 1
    first = np.zeros(N, dtype=np.int64)
    last = np.zeros(N, dtype=np.int64)
    behind[N - 1] = 0.0
    for c in range(N - 2, -1, -1):
        for t in range(ladder.last[c] - 1, ladder.first[c] - 1, -1):
            at -= 1
            left = down(arcs[at] + behind[t])
            if left < behind[c]:
                behind[c] = left
            if down(ahead[c] + left) < threshold:
                if last[c] == 0:
                    last[c] = t + 1
                first[c] = t
    path = np.full(K + 1, -1, dtype=np.int64)
    if ahead[N - 1] < np.inf:
        c = N - 1
        for k in range(K, -1, -1):
            path[k] = c
            c = origin[c]
    return ahead[N - 1], path, first, last


# -- clusterings ---------------------------------------------------------------------------------------------
@njit()
def cost_of(cuts, line):
    """The cost of a clustering; infinite outside the size limits."""
    total = 0.0
    for k in range(cuts.shape[0] - 1):
        m = cuts[k + 1] - cuts[k]
        if m < line.smallest or m > line.largest:
            return np.inf
        total += half_scatter(cuts[k], cuts[k + 1], line) + line.entropy[m]
    return total


@njit()
def descend(cuts, low, high, line):
    """Improve cuts in place, one at a time by steps of every length; returns the cost.

    A cut that lies within its limits ``low`` and ``high`` stays there.
    """
    K = cuts.shape[0] - 1
    n = line.x.shape[0]
    best = cost_of(cuts, line)
    for _ in range(50):
        before = best
        step = max(1, n // 4)
        while step > 0:
            for k in range(1, K):
                for way in (-step, step):
                    old = cuts[k]
                    if max(cuts[k - 1], low[k] - 1) < old + way < min(cuts[k + 1], high[k] + 1):
                        cuts[k] = old + way
                        cost = cost_of(cuts, line)
                        if cost < best:
                            best = cost
                        else:
                            cuts[k] = old
            step //= 2
        if not best < before:
            break
    return best
