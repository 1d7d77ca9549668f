"""Exchanges of two groups of one cluster between two parts, so that every part resembles the whole.

A part is described by sums over its groups: for every cluster the weight and the moments of its members (*hard*), and
for every component the same with every group counted by its probability to be there (*soft*). Exchanges bring the sums
of two parts nearer to each other; visited in random pairs, all of them come to lie near their average.
"""

from __future__ import annotations

import numpy as np

from certmix.kernels.compiled import njit

LOOSE = {"reassoc", "contract", "nsz"}  # sums may be added up in any order: any partition is valid
ROUNDS = 4  # over the members of two parts, before others have their turn
GAIN = 1e-9  # half of it: an exchange that gains less, in units of the scale, is not made
SAMPLED = 32  # pairs of two parts, which tell how near to each other groups of one cluster are at least ...
NEAR = 0.8  # ... about: this share of the nearest of them
STRIDE = 8  # coordinates between two looks at whether a distance is too large already


@njit()
def exchange(points, system, posterior, weight, hard, soft, scale, members, start, sums, pairs, reach, stop):
    """Exchange groups between the two parts of every pair as long as that brings their sums together.

    Parameters
    ----------
    points : (C, N, d); system : (K,), coordinates of every component; posterior : (N, K); weight : (N,)
    hard, soft : (K, d), centres from which moments are measured
    scale : (2, K), what the square of a difference costs, hard and soft
    members : groups sorted by part and cluster; start : (T, K + 1), where those of a part and cluster begin
    sums : (T, 2, K, d + 1), moments and weight of every part, hard and soft; kept up to date
    pairs : (P, 2), parts; reach : how many members of the other part a group is compared with; stop : ends the work

    Returns how many exchanges were made.
    """
    K, d = hard.shape
    given = points, system, posterior, weight, hard, soft
    before, apart = np.empty((2, K, d + 1)), np.empty((2, K, d + 1))
    most = np.max(start[:, 1:] - start[:, :-1])
    known, since = np.empty(most), np.empty(most, dtype=np.int64)  # pulls, and after how many exchanges
    made = 0
    for p in range(pairs.shape[0]):
        if stop[0]:
            break
        s, t = pairs[p, 0], pairs[p, 1]
        before[:] = sums[s] - sums[t]
        apart[:] = before
        for _ in range(ROUNDS):
            last = made
            for k in range(K):
                first, many = start[s, k], start[s, k + 1] - start[s, k]
                since[:many] = -1
                least = np.inf
                for j in range(min(SAMPLED, many, start[t, k + 1] - start[t, k])):
                    a, b = members[first + j], members[start[t, k] + j]
                    found = distance(*given, scale, k, a, b, np.inf)
                    least = min(least, NEAR * found)
                for i in range(start[t, k], start[t, k + 1]):
                    a, b = -1, members[i]
                    best = GAIN
                    back = pull(*given, scale, apart, k, b)
                    for look in range(min(reach, many)):
                        j = (i + look) % many
                        if since[j] != made:
                            known[j] = pull(*given, scale, apart, k, members[first + j])
                            since[j] = made
                        room = known[j] - back - best
                        if room <= least:
                            continue
                        found = distance(*given, scale, k, members[first + j], b, room)
                        if found < room:
                            best, a = best + room - found, first + j
                    if a >= 0:
                        members[i], members[a] = members[a], b
                        add(*given, apart, k, members[i], -2.0)
                        add(*given, apart, k, b, 2.0)
                        made += 1
            if made == last:
                break
        half = 0.5 * (apart - before)
        sums[s] += half
        sums[t] -= half
    return made


@njit(fastmath=LOOSE)
def pull(points, system, posterior, weight, hard, soft, scale, apart, k, g):
    """How much of the difference of two parts' sums a group of cluster k is: their scalar product.

    ``apart`` is the sums of the first part minus those of the second. When a of the first and b of the second change
    places the sums take a step ``s``, and the squares of both change by ``2 (|s|^2 - apart s)``: twice the distance of
    a and b less the pull of a, plus that of b.
    """
    K, d = hard.shape
    own = system[k]
    v = weight[g]
    total = apart[0, k, d]
    for j in range(d):
        total += (points[own, g, j] - hard[k, j]) * apart[0, k, j]
    total *= v * scale[0, k]
    for c in range(K):
        r = v * posterior[g, c]
        if r == 0.0:
            continue
        own = system[c]
        part = apart[1, c, d]
        for j in range(d):
            part += (points[own, g, j] - soft[c, j]) * apart[1, c, j]
        total += r * scale[1, c] * part
    return total


@njit(fastmath=LOOSE)
def distance(points, system, posterior, weight, hard, soft, scale, k, a, b, most):
    """The square of how the sums change when two groups of cluster k change places; if above ``most``, part of it."""
    K, d = hard.shape
    own = system[k]
    v, w = weight[a], weight[b]
    total = scale[0, k] * (v - w) * (v - w)
    for first in range(0, d, STRIDE):
        part = 0.0
        for j in range(first, min(d, first + STRIDE)):
            step = v * (points[own, a, j] - hard[k, j]) - w * (points[own, b, j] - hard[k, j])
            part += step * step
        total += scale[0, k] * part
        if total > most:
            return total
    for c in range(K):
        r, q = v * posterior[a, c], w * posterior[b, c]
        if r == 0.0 and q == 0.0:
            continue
        own = system[c]
        part = (r - q) * (r - q)
        for j in range(d):
            step = r * (points[own, a, j] - soft[c, j]) - q * (points[own, b, j] - soft[c, j])
            part += step * step
        total += scale[1, c] * part
        if total > most:
            return total
    return total


@njit()
def add(points, system, posterior, weight, hard, soft, sums, k, g, times):
    """Add a group of cluster k to the sums of a part, so many times."""
    K, d = hard.shape
    v = times * weight[g]
    sums[0, k, d] += v
    for j in range(d):
        sums[0, k, j] += v * (points[system[k], g, j] - hard[k, j])
    for c in range(K):
        r = v * posterior[g, c]
        if r != 0.0:
            sums[1, c, d] += r
            for j in range(d):
                sums[1, c, j] += r * (points[system[c], g, j] - soft[c, j])


@njit()
def tally(points, system, posterior, weight, label, hard, soft, part, sums):
    """Add every group to the sums of its part."""
    for g in range(part.shape[0]):
        add(points, system, posterior, weight, hard, soft, sums[part[g]], label[g], g, 1.0)
