"""Iterations of the alternating direction method on small blocks, all in one compiled call.

The same steps as in :mod:`certmix.search.bounds.semidefinite.admm`, which says what they are for; there every step is a
call of its own, here the blocks lie one after the other in padded arrays and no interpreter is needed. No proof rests
on what this computes.
"""

from __future__ import annotations

import numpy as np

from certmix.kernels.compiled import njit
from certmix.kernels.semidefinite import point_of, project, relax, row_sums, update_sizes


@njit(nogil=True)
def improve_pairs(matrix, vectors):
    """Approximately the largest eigenvalues and vectors, ascending, from as many of a matrix nearby.

    Rayleigh-Ritz on the block Krylov space of two multiplications.
    """
    count = vectors.shape[1]
    once = matrix @ vectors
    residual = once - vectors @ (np.ascontiguousarray(vectors.T) @ once)
    wide = np.empty((matrix.shape[0], 3 * count))
    wide[:, :count] = vectors
    wide[:, count : 2 * count] = residual
    wide[:, 2 * count :] = matrix @ residual
    basis = np.ascontiguousarray(np.linalg.qr(wide)[0])
    small = np.ascontiguousarray(basis.T) @ (matrix @ basis)
    values, turned = np.linalg.eigh(0.5 * (small + small.T))
    return values[-count:].copy(), basis @ np.ascontiguousarray(turned[:, -count:])


@njit(nogil=True)
def find_awake(pool, trace, counts, faint, asleep, awake):
    """Which blocks to work on: all but those that held next to nothing, next to nothing together as well."""
    awake[:] = True
    for p in range(counts.shape[0]):
        sleeping = 0.0
        fullest = -1
        for b in range(pool.shape[0]):
            if pool[b] == p and (fullest < 0 or trace[b] > trace[fullest]):
                fullest = b
        for b in np.argsort(trace):
            if pool[b] != p or b == fullest:
                continue
            sleeping += trace[b]
            if trace[b] > faint or sleeping > asleep * counts[p]:
                break
            awake[b] = False


@njit(nogil=True)
def level_of(values, total, count):
    """The level above which the first ``total`` of the values add up to ``count``."""
    ordered = np.sort(values[:total])[::-1]
    best = ordered[0]
    running = 0.0
    for i in range(total):
        running += ordered[i]
        level = (running - count) / (i + 1)
        if ordered[i] > level:
            best = level
    return best


@njit(nogil=True)
def iterate(
    iterations,
    done,
    sigma,
    relaxation,
    spare,
    exact,
    idle,
    faint,
    asleep,
    root,
    cover,
    counts,
    index,
    apart,
    pool,
    order,
    low,
    high,
    offset,
    cost,
    x,
    u,
    over,
    under,
    held,
    rank,
    trace,
    basis,
    based,
    ends,
    signs,
    first_cut,
    multiplier,
    force,
):
    """So many iterations; the state is changed in place. Returns the primal and the dual residual.

    Blocks b have ``order[b]`` super-points ``index[pool[b]]``; ``basis[b]`` holds the last ``based[b]`` eigenvectors,
    cuts ``first_cut[b] .. first_cut[b + 1] - 1`` are those of block b. ``done`` iterations were made before.
    """
    B = pool.shape[0]
    Q = x.shape[1]
    M = root.shape[0]
    P = counts.shape[0]
    values = np.empty((B, Q))
    found = np.zeros(B, dtype=np.int64)
    vectors = np.empty((B, Q, Q))
    awake = np.ones(B, dtype=np.bool_)
    level = np.zeros(P)
    pile = np.empty(B * Q)
    rows = np.empty((B, Q))
    free = np.empty((B, Q))
    diagonal = np.empty((B, Q))
    y = np.empty((B, Q, Q))
    near = np.empty((B, Q, Q))
    scratch = np.empty(Q)
    primal = 0.0
    dual = 0.0
    for step in range(done, done + iterations):
        whole = step % idle == 0
        if whole:
            awake[:] = True
        else:
            find_awake(pool, trace, counts, faint, asleep, awake)
        for b in range(B):
            if not awake[b]:
                continue
            n = order[b]
            m = np.empty((n, n))
            point_of(x[b, :n, :n], u[b, :n, :n], cost[b, :n, :n], offset[b], sigma, m)
            wanted = min(n, rank[b] + spare + rank[b] // 3)
            if step % exact == 0 or based[b] < wanted or 8 * wanted > n:
                some, turned = np.linalg.eigh(m)
                found[b] = n
            else:
                some, turned = improve_pairs(
                    m, np.ascontiguousarray(basis[b, :n, based[b] - wanted : based[b]])
                )
                found[b] = wanted
            values[b, : found[b]] = some
            vectors[b, :n, : found[b]] = turned
        for again in range(2):
            for p in range(P):
                total = 0
                count = counts[p]
                for b in range(B):
                    if pool[b] != p:
                        continue
                    if awake[b]:
                        pile[total : total + found[b]] = values[b, : found[b]]
                        total += found[b]
                    else:
                        count -= trace[b]
                level[p] = level_of(pile, total, count)
            short = False
            if again == 0:
                for b in range(B):
                    if awake[b] and found[b] < order[b] and values[b, 0] > level[pool[b]]:
                        # Eigenvalues are missing, so that the level came out too low.
                        n = order[b]
                        m = np.empty((n, n))
                        point_of(x[b, :n, :n], u[b, :n, :n], cost[b, :n, :n], offset[b], sigma, m)
                        some, turned = np.linalg.eigh(m)
                        values[b, :n] = some
                        vectors[b, :n, :n] = turned
                        found[b] = n
                        short = True
            if not short:
                break
        have = np.zeros(M)
        movable = np.zeros(M)
        for b in range(B):
            n = order[b]
            if not awake[b]:
                for s in range(n):
                    have[index[pool[b], s]] += held[b, s]
                continue
            used = 0
            mass = 0.0
            for e in range(found[b] - 1, -1, -1):
                if values[b, e] <= level[pool[b]]:
                    break
                used += 1
                mass += values[b, e] - level[pool[b]]
            half = np.empty((n, used))
            for e in range(used):
                at = found[b] - used + e
                scale = np.sqrt(values[b, at] - level[pool[b]])
                for s in range(n):
                    half[s, e] = vectors[b, s, at] * scale
            z = half @ np.ascontiguousarray(half.T) if used else np.zeros((n, n))
            rank[b] = max(1, used)
            trace[b] = mass
            based[b] = found[b]
            basis[b, :n, : found[b]] = vectors[b, :n, : found[b]]
            near[b, :n, :n] = z
            relax(z, x[b, :n, :n], u[b, :n, :n], relaxation, y[b, :n, :n])
        for turn in range(2):
            for b in range(B):
                if not awake[b]:
                    continue
                n = order[b]
                mine = index[pool[b], :n]
                row_sums(
                    y[b, :n, :n],
                    force[b, :n, :n],
                    cover[mine],
                    over[b, :n],
                    under[b, :n],
                    root[mine],
                    low[b],
                    high[b],
                    apart[pool[b], :n, :n],
                    scratch[:n],
                    rows[b, :n],
                    free[b, :n],
                    diagonal[b, :n],
                )
            if turn == 1:
                break
            for b in range(B):
                if not awake[b]:
                    continue
                samples = 0.0
                for s in range(order[b]):
                    samples += root[index[pool[b], s]] ** 2
                for s in range(order[b]):
                    have[index[pool[b], s]] += rows[b, s]
                    movable[index[pool[b], s]] += free[b, s] + 0.5 * samples
            for s in range(M):
                cover[s] += 0.5 * (have[s] - root[s]) / max(movable[s], 1.0)
        primal = 0.0
        dual = 0.0
        for b in range(B):
            if not awake[b]:
                continue
            n = order[b]
            mine = index[pool[b], :n]
            r = root[mine]
            update_sizes(
                rows[b, :n], free[b, :n], diagonal[b, :n], r, low[b], high[b], over[b, :n], under[b, :n]
            )
            first, last = first_cut[b], first_cut[b + 1]
            change, distance = project(
                y[b, :n, :n],
                near[b, :n, :n],
                cover[mine],
                over[b, :n],
                under[b, :n],
                r,
                low[b],
                high[b],
                apart[pool[b], :n, :n],
                ends[first:last],
                signs[first:last],
                multiplier[first:last],
                force[b, :n, :n],
                np.empty((n, n)),
                scratch[:n],
                x[b, :n, :n],
                u[b, :n, :n],
                held[b, :n],
            )
            primal += distance
            dual += change
    return np.sqrt(primal), np.sqrt(dual)
