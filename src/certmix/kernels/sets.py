"""Local search for cheap sets of groups.

The reduced cost of a set for a component is defined in :mod:`certmix.kernels.pricing`.
"""

from __future__ import annotations

import numpy as np

from certmix.kernels.compiled import njit
from certmix.kernels.contraction import mass_step


@njit(nogil=True)
def improve_set(members, place, status, conflict_start, conflict_with, sweeps):
    """Local search for a cheap set: single groups join or leave while the reduced cost falls. Returns its value.

    ``members`` is changed in place and stays admissible with respect to sizes and conflicts if it was.
    """
    points, weight, cost, mass = place.points, place.weight, place.cost, place.mass
    N, d = points.shape
    step = mass_step(mass)
    size = 0.0
    load = np.zeros(d)
    total = np.zeros(d)
    square = 0.0
    constant = 0.0
    for g in range(N):
        if members[g]:
            size += weight[g]
            constant += cost[g]
            for j in range(d):
                m = mass[g, j * step]
                load[j] += m
                total[j] += m * points[g, j]
                square += m * points[g, j] ** 2
    value = _value(size, load, total, square, constant, place)
    moved = np.empty(d)
    loaded = np.empty(d)
    for _ in range(sweeps):
        changed = False
        for g in range(N):
            if status[g] != 0:
                continue
            sign = -1.0 if members[g] else 1.0
            new_size = size + sign * weight[g]
            if new_size < max(place.a, 1.0) or new_size > place.b:
                continue
            if sign > 0:
                clash = False
                for p in range(conflict_start[g], conflict_start[g + 1]):
                    if members[conflict_with[p]]:
                        clash = True
                if clash:
                    continue
            norm = 0.0
            for j in range(d):
                m = mass[g, j * step]
                loaded[j] = max(load[j] + sign * m, 0.0)
                moved[j] = total[j] + sign * m * points[g, j]
                norm += m * points[g, j] ** 2
            new_value = _value(
                new_size, loaded, moved, square + sign * norm, constant + sign * cost[g], place
            )
            if new_value < value - 1e-10 * (1.0 + abs(value)):
                value = new_value
                size = new_size
                square += sign * norm
                constant += sign * cost[g]
                for j in range(d):
                    load[j] = loaded[j]
                    total[j] = moved[j]
                members[g] = not members[g]
                changed = True
        if not changed:
            break
    return value


@njit(nogil=True)
def _value(size, load, total, square, constant, place):
    """Reduced cost from sufficient statistics."""
    gamma, prior_mean, lower, upper = place.gamma, place.prior_mean, place.lo, place.hi
    out = 0.5 * square + constant + place.entropy[int(size)]
    for j in range(total.shape[0]):
        full = load[j] + gamma[j]
        push = total[j] + gamma[j] * prior_mean[j]
        mean = min(max(push / full if full > 0 else 0.0, lower[j]), upper[j])
        out += 0.5 * full * mean * mean - push * mean + 0.5 * gamma[j] * prior_mean[j] ** 2
    return out


@njit(nogil=True)
def local_sets(starts, slopes, place, status, conflict_start, conflict_with, sweeps, sets, values):
    """Cheap sets found by local search from several (mean, slope) starts; rows of ``sets`` with their ``values``.

    A start whose set breaks a size limit or a conflict is repaired or given up (value infinite).
    """
    points, weight, cost, mass = place.points, place.weight, place.cost, place.mass
    N, d = points.shape
    step = mass_step(mass)
    for i in range(starts.shape[0]):
        members = sets[i]
        size = 0.0
        for g in range(N):
            members[g] = status[g] == 1
            if members[g]:
                size += weight[g]
        nearest = -1
        least = np.inf
        for g in range(N):
            if status[g] != 0:
                continue
            norm = 0.0
            for j in range(d):
                norm += mass[g, j * step] * (points[g, j] - starts[i, j]) ** 2
            q = 0.5 * norm + weight[g] * slopes[i] + cost[g]
            if q < least:
                least = q
                nearest = g
            if q < 0 and size + weight[g] <= place.b:
                clash = False
                for p in range(conflict_start[g], conflict_start[g + 1]):
                    if members[conflict_with[p]]:
                        clash = True
                if not clash:
                    members[g] = True
                    size += weight[g]
        if size == 0 and nearest >= 0:
            members[nearest] = True
            size = weight[nearest]
        if size < place.a or size == 0 or size > place.b:
            values[i] = np.inf
            continue
        values[i] = improve_set(members, place, status, conflict_start, conflict_with, sweeps)
