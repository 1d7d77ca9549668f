"""What it costs at least to put two super-points into one cluster, from the multipliers of X >= 0.

A cluster S of m samples pays ``sum_{s,t in S} r_s r_t N_st / m`` on top of the bound. If i and j are in S, that is at
least ``(2 / m) (R_ij + sum_{p in S} (R_ip + R_jp))`` with ``R_st = r_s r_t N_st``, and S has to be filled up to m
samples with others that are apart from neither: the cheapest fractional filling bounds the sum from below.
"""

from __future__ import annotations

import numpy as np

from certmix.kernels.compiled import njit


@njit()
def _fill(i, j, slack, r, weight, apart, must, ratio, heavy):
    """Costs per sample and weights of whoever may join i and j; -1 when the one that must join cannot."""
    count = 0
    for p in range(r.shape[0]):
        if p in (i, j):
            continue
        if apart[i, p] or (j >= 0 and apart[j, p]):
            if p == must:
                return -1
            continue
        cost = r[i] * r[p] * slack[i, p]
        if j >= 0:
            cost += r[j] * r[p] * slack[j, p]
        ratio[count] = cost / weight[p]
        heavy[count] = weight[p]
        count += 1
    return count


@njit()
def sift_down(ratio, heavy, at, count):
    """Restore the heap (cheapest first) below ``at``. Sorting only as far as needed is faster than sorting all."""
    own = ratio[at]
    weight = heavy[at]
    while 2 * at + 1 < count:
        child = 2 * at + 1
        if child + 1 < count and ratio[child + 1] < ratio[child]:
            child += 1
        if ratio[child] >= own:
            break
        ratio[at] = ratio[child]
        heavy[at] = heavy[child]
        at = child
    ratio[at] = own
    heavy[at] = weight


@njit()
def together(i, j, slack, r, weight, apart, must, price, low, high, size, cutoff, ratio, heavy):
    """Can i and j (j = -1: i alone) be together in a cluster of this block at less than ``cutoff``?

    ``price[m]`` is the bound when some component of this pool has m samples, ``must`` a super-point that is in the
    cluster anyway (or -1), ``[low, high]`` the sizes of this block. Most pairs can be together at ``size`` (0: none) in
    whatever order others join: that is looked at first, and saves the exact test.
    """
    count = _fill(i, j, slack, r, weight, apart, must, ratio, heavy)
    if count < 0:
        return False
    start = weight[i]
    base = 0.0
    if j >= 0:
        start += weight[j]
        base = r[i] * r[j] * slack[i, j]
    budget = 0.5 * size * (cutoff - price[size]) - base
    if start <= size and price[size] < cutoff and budget >= 0:
        # Whoever costs no more than the average that is left may come: if they fill the cluster, it is affordable.
        filled = start
        for p in range(count):
            if filled >= size:
                break
            if ratio[p] * (size - start) <= budget:
                filled += heavy[p]
        if filled >= size:
            return True
    for p in range(count // 2 - 1, -1, -1):
        sift_down(ratio, heavy, p, count)
    filled = start
    paid = base
    for m in range(low, high + 1):
        if m < start:
            continue
        while count > 0 and filled + heavy[0] <= m:
            filled += heavy[0]
            paid += ratio[0] * heavy[0]
            count -= 1
            ratio[0], heavy[0] = ratio[count], heavy[count]
            sift_down(ratio, heavy, 0, count)
        if count == 0 and filled < m:
            return False
        rest = paid if filled >= m else paid + ratio[0] * (m - filled)
        # A relative 1e-12 covers the rounding of these sums of nonnegative terms.
        if price[m] + 2.0 / m * rest * (1.0 - 1e-12) < cutoff:
            return True
    return False


@njit()
def find_apart(
    first, last, rows, columns, slack, r, weight, apart, must, price, low, high, size, cutoff, result
):
    """For the pairs ``(rows[q], columns[q])``: ``result[q]`` becomes False where they cannot be together here."""
    n = r.shape[0]
    ratio = np.empty(n)
    heavy = np.empty(n)
    for q in range(first, last):
        i = rows[q]
        j = columns[q]
        result[q] = not (j >= 0 and apart[i, j]) and together(
            i, j, slack, r, weight, apart, must, price, low, high, size, cutoff, ratio, heavy
        )
