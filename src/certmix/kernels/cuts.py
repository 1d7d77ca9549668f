"""Cuts of the semidefinite relaxation: rows with at most four entries, of the form ``sum_e sign_e Z_(s_e, t_e) <= 0``.

Z is X without its scaling, ``Z_st = X_st / (r_s r_t)``; for a cluster of m samples it is 1/m on the cluster. There

    Z_ij <= Z_ii,    Z_ij + Z_ik <= Z_ii + Z_jk,    and Z_jj <= Z_aj if the super-point a is in the cluster anyway.

A cut is stored as ``ends[c, e] = (s, t)`` and ``signs[c, e]`` (0 for an entry that is not used).
"""

from __future__ import annotations

import numpy as np

from certmix.kernels.compiled import njit


@njit()
def sweep_cuts(ends, signs, multiplier, r, w, force):
    """One pass of coordinate ascent on the multipliers; ``w`` (before clipping) and ``force`` follow."""
    for c in range(ends.shape[0]):
        excess = 0.0
        norm = 0.0
        for e in range(4):
            if signs[c, e] == 0.0:
                continue
            s = ends[c, e, 0]
            t = ends[c, e, 1]
            scale = 1.0 / (r[s] * r[t])
            excess += signs[c, e] * scale * max(0.0, w[s, t])
            norm += scale * scale * (1.0 if s == t else 0.5)
        if norm == 0.0:
            continue
        new = max(0.0, multiplier[c] + excess / norm)
        step = new - multiplier[c]
        if step == 0.0:
            continue
        multiplier[c] = new
        for e in range(4):
            if signs[c, e] == 0.0:
                continue
            s = ends[c, e, 0]
            t = ends[c, e, 1]
            change = step * signs[c, e] / (r[s] * r[t])
            if s == t:
                w[s, s] -= change
                force[s, s] += change
            else:
                w[s, t] -= 0.5 * change
                w[t, s] = w[s, t]
                force[s, t] += 0.5 * change
                force[t, s] = force[s, t]


@njit()
def violated(x, r, least, per_row, most, turn, found, values):
    """The most violated cuts around every i: up to ``per_row`` triples (i, j, k), k = -1 for a pair. Returns how many.

    Triangles are looked at with up to ``most`` partners k for every (i, j); which ones changes with ``turn``.
    ``found`` is (n * per_row, 3), ``values`` as long.
    """
    n = r.shape[0]
    z = x / np.outer(r, r)
    total = 0
    near = np.empty(n, dtype=np.int64)
    for i in range(n):
        begin = total
        count = 0
        for j in range(n):
            if j != i and z[i, j] > least:
                near[count] = j
                count += 1
        half = count // 2
        looks = min(most, half)
        for a in range(count):
            j = near[a]
            for look in range(looks + 1):
                # Every pair {j, k} of neighbours is a + offset for one offset up to half their number.
                k = -1
                if look == 0:
                    value = z[i, j] - z[i, i]
                else:
                    offset = 1 + ((look - 1) * half // looks + turn) % half
                    if 2 * offset == count and a >= half:
                        continue
                    k = near[(a + offset) % count]
                    value = z[i, j] + z[i, k] - z[i, i] - z[j, k]
                if value <= least:
                    continue
                if total - begin < per_row:
                    at = total
                    total += 1
                else:
                    at = begin
                    for q in range(begin + 1, total):
                        if values[q] < values[at]:
                            at = q
                    if values[at] >= value:
                        continue
                found[at, 0] = i
                found[at, 1] = j if k < 0 else min(j, k)
                found[at, 2] = -1 if k < 0 else max(j, k)
                values[at] = value
    return total
