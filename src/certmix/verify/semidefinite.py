"""The step ``semidefinite``; docs/certificates.md has the table of arrays and the proofs.

The points, pools and candidates of a step are those of the file; it is checked that they allow everything that the
domain allows. A domain that is narrower than the one that the file's author had does no harm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from certmix.verify.blocks import Block, Pool, hopeless, proved_level
from certmix.verify.domain import Domain
from certmix.verify.evidence import Evidence, Rejected, room
from certmix.verify.root import Root
from certmix.verify.rounding import Array, gamma, total_below

FIELDS = (
    "point", "pool", "candidates", "T", "blocks", "slope", "level", "over", "under", "cut_count", "cuts",
    "cut_multiplier", "grain", "N2", "N4", "members", "pairs", "sets", "set_price",
)  # fmt: skip


@dataclass(frozen=True)
class _Read:
    """A step with everything in its place."""

    point: Array  # (N,), the point of every group
    T: Array  # (points,)
    pools: list[Pool]
    blocks: list[list[Block]]  # of every pool, with the levels that are proved
    members: Array  # (pools, points) bool: claimed not to be in the pool
    apart: Array  # (points, points) bool, above the diagonal: claimed to be apart
    sets: Array  # (c, points) bool
    set_price: Array  # (c,), of what each of them shares with others


def semidefinite(root: Root, domain: Domain, evidence: Evidence, target: float) -> float:
    """Check the multipliers of one step, exclude what they exclude, and return what they prove."""
    if not root.counted:
        raise Rejected("the semidefinite bound does not know missing values, nor weights of samples")
    step = _read(root, domain, _part(evidence))
    sizes = domain.possible_sizes(root)
    psi, magnitude = _costs(root, step, sizes)
    bound, prices = _profile(psi)
    # The sum of T is rounded once, downwards; each psi is a sum of three terms, and K of them are added up.
    weight = np.bincount(step.point, weights=root.weight, minlength=len(step.T))
    shared = math.fsum(step.set_price * least_shared(root, sizes)[(step.sets @ weight).astype(np.int64)])
    base = total_below(step.T) + shared - root.error
    lost = gamma(root.K + 8) * (magnitude + abs(base) + shared)
    if not math.isfinite(base - lost):
        raise Rejected("the numbers of a step are too large to be added up")
    bound, prices = bound + base - lost, prices + base - lost
    for p, pool in enumerate(step.pools):
        price = prices[pool.components].min(axis=0)
        live = sizes[pool.components].any(axis=0) & (price < target)
        _check_exclusions(step, p, price, live, target)
        domain.sizes[pool.components] &= live
        domain.allowed[np.ix_(step.members[p][step.point], pool.components)] = False
    if step.apart.any():
        room(root.N, root.N, each=24)
        apart = (step.apart | step.apart.T)[np.ix_(step.point, step.point)]
        apart[tuple(domain.apart.T)] = True
        domain.apart = np.argwhere(apart).astype(np.int32)  # may be most of all pairs
    return bound


def _part(evidence: Evidence) -> Evidence:
    """The arrays of one step, cut out of those of all steps."""
    ends = evidence.integers("length", None, len(FIELDS), low=0, high=2**40).cumsum(axis=0)
    at = evidence.whole("at", 0, len(ends) - 1)
    arrays = {}
    for f, field in enumerate(FIELDS):
        whole = evidence.arrays.get(evidence.full(field))
        if not isinstance(whole, np.ndarray) or whole.ndim != 1 or len(whole) != ends[-1, f]:
            raise Rejected(f"array {field} of the semidefinite steps is missing or has the wrong length")
        arrays[field] = whole[ends[at - 1, f] if at else 0 : ends[at, f]]
    return Evidence({}, arrays)


def _read(root: Root, domain: Domain, e: Evidence) -> _Read:
    T = e.floats("T", None)
    M = len(T)
    room(M, 4 * max(M, root.K))
    point = e.integers("point", root.N, low=0, high=M - 1)
    held = np.bincount(point, minlength=M)
    sure = np.zeros((M, root.K), dtype=np.int64)  # groups of a point that are surely in a component
    np.add.at(sure, point, domain.inside())
    if (held == 0).any() or ((held > 1) & (sure.max(axis=1) < held)).any():
        raise Rejected("a step takes groups together that are not surely in one component")
    pool_of = e.integers("pool", root.K, low=-1, high=root.K - 1)
    count = int(pool_of.max()) + 1
    if count == 0:
        raise Rejected("a step has no pools")
    candidates, members = _bits(e, "candidates", count, M), _bits(e, "members", count, M)
    apart = np.zeros((M, M), dtype=bool)
    i, j = domain.apart.T
    apart[point[i], point[j]] = True
    sizes = domain.possible_sizes(root)
    price = e.floats("set_price", None)
    if (price < 0.0).any():
        raise Rejected("the price of a set of a step is negative")
    room(len(price), max(M, root.n))
    sets = _bits(e, "sets", len(price), M)
    pools = []
    for p in range(count):
        components = np.flatnonzero(pool_of == p)
        if len(components) == 0 or len(np.unique(root.classes[components])) > 1:
            raise Rejected("a pool of a step is empty or holds components of different cost")
        allowed = domain.allowed[:, components].any(axis=1)
        if not candidates[p, point[allowed]].all() or not candidates[p].any():
            raise Rejected("a pool of a step lacks a group that may be in it")
        points = np.flatnonzero(candidates[p])
        pools.append(_pool(root, components, points, point, sure, apart, price, sets))
    if sizes[pool_of < 0, 1:].any():
        raise Rejected("a component that may hold samples is in no pool of a step")
    blocks = _blocks(root, e, pools, T)
    for pool, mine in zip(pools, blocks, strict=True):
        covered = np.zeros(root.n + 1, dtype=np.int64)
        for b in mine:
            covered[b.low : b.high + 1] += 1
        needed = sizes[pool.components].any(axis=0)
        if (covered > 1).any() or (needed & (covered == 0))[1:].any():
            raise Rejected("the blocks of a step do not hold every possible size once")
    pairs = np.zeros((M, M), dtype=bool)
    if len(e.integers("pairs", None)):
        pairs[np.triu_indices(M, 1)] = _bits(e, "pairs", M * (M - 1) // 2)
    return _Read(point, T, pools, blocks, members, pairs, sets, price)


def _bits(e: Evidence, field: str, *shape: int) -> Array:
    count = math.prod(shape)
    packed = e.integers(field, (count + 7) // 8, low=0, high=255).astype(np.uint8)
    return np.unpackbits(packed, count=count).astype(bool).reshape(shape)


def _pool(
    root: Root, components: Array, points: Array, point: Array, sure: Array, apart: Array, *shared: Array
) -> Pool:
    """A pool's costs, relative to the prior's mean, and what the prices of sets take from its matrices."""
    k, M = int(components[0]), len(sure)
    away, w = root.points[k] - root.prior_mean[k], root.weight.astype(np.float64)
    linear, vector, size = np.zeros(M), np.zeros((M, root.d)), np.zeros((M, root.d))
    np.add.at(linear, point, root.scatter[k] + 0.5 * w * (away**2).sum(axis=1))
    np.add.at(vector, point, w[:, None] * away)
    np.add.at(size, point, w[:, None] * np.abs(away))
    weight = np.bincount(point, weights=w, minlength=M)[points]
    r, (price, sets) = np.sqrt(weight), shared
    inside = np.where(sets[:, points], r, 0.0)
    half = 0.5 * (price[:, None] * inside).T @ (r - inside)
    return Pool(
        components=components,
        points=points,
        weight=np.round(weight).astype(np.int64),
        root=r,
        linear=linear[points],
        vector=vector[points],
        size=size[points],
        gamma=root.prior_weight[k],
        apart=apart[np.ix_(points, points)],
        anchors=(sure[points, k] > 0) & (len(components) == 1),
        mixed=half + half.T,
        terms=int(np.bincount(point, minlength=M)[points].max()) + 4 + 4 * len(price),
    )


def least_shared(root: Root, sizes: Array) -> Array:
    """``c[w]``: what a set of w samples shares with others at least, over all clusters of the sizes that are left.

    In a cluster of m samples, a of them of the set, that is a (m - a) / m: least for the smallest m that can hold them.
    """
    total, part = np.full(root.n + 1, np.inf), np.arange(root.n + 1)
    total[0] = 0.0
    for k in range(root.K):
        allowed = np.append(np.flatnonzero(sizes[k]), root.n + 1)
        size = np.maximum(allowed[np.searchsorted(allowed, part)], 1)
        total = _both(total, np.where(size <= root.n, part * (size - part) / size, np.inf))
    return np.where(np.isfinite(total), total, 0.0) * (1.0 - gamma(root.K + 8))


def _blocks(root: Root, e: Evidence, pools: list[Pool], T: Array) -> list[list[Block]]:
    """The blocks of every pool, with the levels that are proved of them."""
    heads = e.integers("blocks", None, low=0)
    if len(heads) % 3:
        raise Rejected("the blocks of a step are not triples")
    heads = heads.reshape(-1, 3)
    _, low, high = heads.T
    if (heads > [len(pools) - 1, root.n, root.n]).any() or (low < 1).any() or (low > high).any():
        raise Rejected("a block of a step lies outside its pool or has no sizes")
    orders = np.array([len(pools[p].points) for p in heads[:, 0]], dtype=np.int64)
    slope, level, grain = (e.floats(field, len(heads)) for field in ("slope", "level", "grain"))
    over, under = (e.floats(field, int(orders.sum())) for field in ("over", "under"))
    counts = e.integers("cut_count", len(heads), low=0)
    multiplier = e.floats("cut_multiplier", int(counts.sum()))
    cuts = e.integers("cuts", 3 * len(multiplier), low=-2).reshape(3, -1).T
    if any((numbers < 0).any() for numbers in (over, under, multiplier, grain)):
        raise Rejected("a multiplier of a step is negative")
    room(2, int((orders**2).sum()))
    room(10, int(orders.max(initial=0)) ** 2)  # what the matrix of one block is made of
    triangles = orders * (orders + 1) // 2
    whole = e.integers("N2" if e.arrays["N2"].size else "N4", None)
    if len(whole) != triangles.sum():
        raise Rejected("the multipliers N of a step have the wrong length")
    blocks: list[list[Block]] = [[] for _ in pools]
    at, cut, entry = (np.concatenate([[0], np.cumsum(lengths)]) for lengths in (orders, counts, triangles))
    for b, (p, low, high) in enumerate(heads.tolist()):
        pool, P = pools[p], int(orders[b])
        mine, own = slice(at[b], at[b + 1]), slice(cut[b], cut[b + 1])
        N = np.zeros((P, P))
        N[np.triu_indices(P)] = whole[entry[b] : entry[b + 1]] * grain[b]
        N = N + np.triu(N, 1).T
        if (N < 0.0)[~pool.apart].any():
            raise Rejected("N is negative where two points may be together")
        i, j, k = cuts[own].T
        if (i < 0).any() or (j < 0).any() or (cuts[own] >= P).any():
            raise Rejected("a cut of a step is about a point that is not in its pool")
        if not pool.anchors[i[k == -2]].all():
            raise Rejected("a cut of a step rests on a point that is not surely in the cluster")
        multipliers = T[pool.points], over[mine], under[mine], cuts[own], multiplier[own]
        block = Block(low, high, float(slope[b]), float(level[b]), *multipliers, N)
        blocks[p].append(replace(block, level=proved_level(pool, block)))
    return blocks


def _costs(root: Root, step: _Read, sizes: Array) -> tuple[Array, float]:
    """psi_k(m) for every component, infinite for impossible sizes, and how large K of them are at most."""
    psi, terms = np.full((2, root.K, root.n + 1), np.inf)
    psi[:, 0], terms[:, 0] = root.entropy[:, 0], np.abs(root.entropy[:, 0])
    for pool, blocks in zip(step.pools, step.blocks, strict=True):
        h = root.entropy[pool.components]
        for b in blocks:
            part, m = slice(b.low, b.high + 1), np.arange(b.low, b.high + 1)
            psi[pool.components, part] = b.level + h[:, part] - b.slope * m
            terms[pool.components, part] = abs(b.level) + np.abs(h[:, part]) + abs(b.slope) * m
    return np.where(sizes, psi, np.inf), root.K * float(terms[np.isfinite(terms)].max(initial=0.0))


def _profile(psi: Array) -> tuple[float, Array]:
    """The least sum of psi_k(n_k) over sizes that add up to n, and the same with n_k = m for every k and m."""
    K, n = len(psi), psi.shape[1] - 1
    nothing = np.full(n + 1, np.inf)
    nothing[0] = 0.0
    before, after = [nothing], [nothing]
    for k in range(K - 1):
        before.append(_both(before[-1], psi[k]))
        after.append(_both(after[-1], psi[K - 1 - k]))
    prices = np.stack([psi[k] + _both(before[k], after[K - 1 - k])[::-1] for k in range(K)])
    return float(prices[0].min()), prices


def _both(first: Array, second: Array) -> Array:
    """The cheapest way to have a total, one part from either table."""
    out = np.full(len(first), np.inf)
    for m in np.flatnonzero(np.isfinite(second)):
        np.minimum(out[m:], first[: len(first) - m] + second[m], out=out[m:])
    return out


def _check_exclusions(step: _Read, p: int, price: Array, live: Array, target: float) -> None:
    """Refuse a step that claims more exclusions in a pool than it proves."""
    pool = step.pools[p]
    alone = np.flatnonzero(step.members[p, pool.points])
    i, j = np.nonzero(step.apart[np.ix_(pool.points, pool.points)])
    for b in step.blocks[p]:
        sizes = np.flatnonzero(live[b.low : b.high + 1]) + b.low
        if len(sizes) and not hopeless(pool, b, alone, np.full(len(alone), -1), price, sizes, target).all():
            raise Rejected("a step excludes a group from a component without proof")
        if len(sizes) and not hopeless(pool, b, i, j, price, sizes, target).all():
            raise Rejected("a step calls two groups apart without proof")
