"""Local search for cheap sets of groups.

The reduced cost of a set for a component is defined in :mod:`certmix.kernels.pricing`.
"""

from __future__ import annotations

import numpy as np

from certmix.kernels.compiled import njit
from certmix.kernels.mass import add_mass, mass_of, own_mass, shared_mass, take_mass
from certmix.kernels.trios import due, joins


@njit(nogil=True)
def improve_set(members, place, status, conflict_start, conflict_with, sweeps, trios):
    """Local search for a cheap set: single groups join or leave while the reduced cost falls. Returns its value.

    ``members`` is changed in place and stays admissible with respect to sizes and conflicts if it was.
    """
    points, weight, cost, mass, entropy = place.points, place.weight, place.cost, place.mass, place.entropy
    prior, box = (place.gamma, place.prior_mean), (place.lo, place.hi)
    N, d = points.shape
    smallest, largest = max(place.a, 1.0), place.b
    size = 0.0
    load = np.zeros((1, *mass.shape[1:]))
    total = np.zeros(d)
    square = 0.0
    constant = 0.0
    counted = np.zeros(trios.price.shape[0], dtype=np.int8)
    for g in range(N):
        if members[g]:
            size += weight[g]
            constant += cost[g] + joins(trios, g, counted)
            add_mass(load, 0, 1.0, mass, g)
            for j in range(d):
                m = mass_of(mass, g, j)
                total[j] += m * points[g, j]
                square += m * points[g, j] ** 2
    value = 0.5 * square + constant + entropy[int(size)]
    value = _with_mean(value, load, total, 0, 0.0, points, mass, prior, box)
    for _ in range(sweeps):
        changed = False
        for g in range(N):
            if status[g] != 0:
                continue
            sign = -1.0 if members[g] else 1.0
            new_size = size + sign * weight[g]
            if new_size < smallest or new_size > largest:
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
                norm += own_mass(mass, g, j) * points[g, j] ** 2
            new_square = square + sign * shared_mass(mass, g) * norm
            new_constant = constant + sign * (cost[g] + due(trios, g, counted, members[g]))
            new_value = 0.5 * new_square + new_constant + entropy[int(new_size)]
            new_value = _with_mean(new_value, load, total, g, sign, points, mass, prior, box)
            if new_value < value - 1e-10 * (1.0 + abs(value)):
                value, size, square, constant = new_value, new_size, new_square, new_constant
                if sign > 0:
                    add_mass(load, 0, 1.0, mass, g)
                else:
                    take_mass(load, 0, mass, g)
                for j in range(d):
                    total[j] += sign * mass_of(mass, g, j) * points[g, j]
                for p in range(trios.start[g], trios.start[g + 1]):
                    counted[trios.of[p]] += 1 if sign > 0 else -1
                members[g] = not members[g]
                changed = True
        if not changed:
            break
    return value


@njit(nogil=True)
def _with_mean(cost, load, total, g, sign, points, mass, prior, box):
    """The cost of a set with that of its best mean, once group g has joined (sign 1) or left (-1); 0 for neither."""
    (gamma, prior_mean), (lower, upper) = prior, box
    for j in range(total.shape[0]):
        m = sign * mass_of(mass, g, j)
        full = max(mass_of(load, 0, j) + m, 0.0) + gamma[j]
        push = total[j] + m * points[g, j] + gamma[j] * prior_mean[j]
        mean = min(max(push / full if full > 0 else 0.0, lower[j]), upper[j])
        cost += 0.5 * full * mean * mean - push * mean + 0.5 * gamma[j] * prior_mean[j] ** 2
    return cost


@njit(nogil=True)
def local_sets(
    starts, slopes, place, status, conflict_start, conflict_with, sweeps, sets, values, trios, held
):
    """Cheap sets found by local search from several (mean, slope) starts; rows of ``sets`` with their ``values``.

    A start whose set breaks a size limit or a conflict is repaired or given up (value infinite). Where ``held`` has
    rows they say which groups of trios a set begins with.
    """
    points, weight, cost, mass = place.points, place.weight, place.cost, place.mass
    N, d = points.shape
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
                norm += own_mass(mass, g, j) * (points[g, j] - starts[i, j]) ** 2
            q = 0.5 * shared_mass(mass, g) * norm + weight[g] * slopes[i] + cost[g]
            if q < least:
                least = q
                nearest = g
            wanted = q < 0
            if i < held.shape[0] and trios.place[g] >= 0:
                wanted = held[i, trios.place[g]]
            if wanted and size + weight[g] <= place.b:
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
        values[i] = improve_set(members, place, status, conflict_start, conflict_with, sweeps, trios)
