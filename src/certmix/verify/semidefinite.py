r"""The steps ``semidefinite`` and ``name``.

A semidefinite step holds numbers T_s for every point s (a group, or several groups that are surely in one component),
and for intervals of sizes ("blocks") of every pool of components with one cost function the multipliers of
:mod:`.blocks`. Every point is in one cluster, so for every clustering in the domain

    objective  >=  sum_s T_s + sum_k psi(n_k),      psi(m) = level of m's block + entropy[m] - slope m,

(psi(0) is entropy[0])
and the cheapest sizes that add up to n are found by dynamic programming. From the same numbers it follows what costs
the target or more: sizes (their best combination does), points in a component, and pairs of points in one cluster
(:func:`.blocks.hopeless`). Sizes are excluded wherever that follows, the other two where the file says so.

The points, pools and candidates of a step are those of the file; it is checked that they allow everything that the
domain allows. A domain that is narrower than the one that the file's author had does no harm.

Arrays of all semidefinite steps are stored one after another under ``semidefinite/``; ``length`` (steps, fields) holds
how many entries of each field belong to which step:

==============  =====================================================================================================
point           (N,) the point of every group
pool            (K,) the pool of every component, -1 for components that are empty
candidates      (pools, points) as bits: the points that may be in a pool
T               (points,)
blocks          (blocks, 3): pool, low, high
slope, level    (blocks,): the slope beta, and what the smallest eigenvalue is claimed to be at least
over, under     for every block one number for each candidate of its pool, >= 0
cut_count       (blocks,), how many cuts each block has
cuts            (3, cuts): positions i, j, k among the pool's candidates; k = -1 for a pair, -2 for an anchor i
cut_multiplier  (cuts,), >= 0
grain           (blocks,): N is a whole multiple of it
N2, N4          the multiples, upper triangles row by row, block after block: in whichever of the two is not empty
members         (pools, points) as bits: points that are claimed not to be in a pool
pairs           upper triangle of (points, points) without the diagonal as bits: pairs claimed to be apart, or nothing
==============  =====================================================================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from certmix.verify.blocks import Block, Pool, hopeless, proved_level
from certmix.verify.domain import Domain
from certmix.verify.evidence import Evidence, Rejected
from certmix.verify.root import Root
from certmix.verify.rounding import gamma, total_below

FIELDS = (
    "point",
    "pool",
    "candidates",
    "T",
    "blocks",
    "slope",
    "level",
    "over",
    "under",
    "cut_count",
    "cuts",
    "cut_multiplier",
    "grain",
    "N2",
    "N4",
    "members",
    "pairs",
)
LARGEST = 1e100  # numbers beyond are no multipliers of anything


def name(root: Root, domain: Domain, evidence: Evidence, target: float) -> float:
    """Groups that are pairwise apart and must be in exchangeable components get one of these each.

    Nothing in the domain tells the components of such a set apart, so every clustering in it can be renamed to have
    the groups where the step puts them.
    """
    groups = evidence.integers("groups", None, low=0, high=root.N - 1)
    names = evidence.integers("components", len(groups), low=0, high=root.K - 1)
    apart = domain.need_apart(root)
    for alike in domain.exchangeable(root):
        here = np.isin(names, alike)
        chosen, taken = groups[here], names[here]
        if len(chosen) == 0:
            continue
        if len(np.unique(taken)) < len(taken):
            raise Rejected("a step names a component twice")
        others = np.ones(root.K, dtype=bool)
        others[alike] = False
        if domain.allowed[np.ix_(chosen, others)].any():
            raise Rejected("a group that gets the name of a component may be elsewhere")
        if not (apart[np.ix_(chosen, chosen)] | np.eye(len(chosen), dtype=bool)).all():
            raise Rejected("groups that get the names of components are not pairwise apart")
    for group, k in zip(groups.tolist(), names.tolist(), strict=True):
        domain.put(group, k)
    return -math.inf


def semidefinite(root: Root, domain: Domain, evidence: Evidence, target: float) -> float:
    """Check the multipliers of one step, exclude what they exclude, and return what they prove."""
    step = _read(root, domain, _part(evidence))
    sizes = domain.possible_sizes(root)
    psi, magnitude = _costs(root, step, sizes)
    bound, prices = _profile(psi)
    # The sum of T is rounded once, downwards; each psi is a sum of three terms, and K of them are added up.
    base = total_below(step.T) - root.error
    lost = gamma(root.K + 8) * (magnitude + abs(base))
    if not math.isfinite(base - lost):
        raise Rejected("the numbers of a step are too large to be added up")
    bound, prices = bound + base - lost, prices + base - lost

    pool_prices = [prices[pool.components].min(axis=0) for pool in step.pools]
    live = [
        sizes[pool.components].any(axis=0) & (price < target)
        for pool, price in zip(step.pools, pool_prices, strict=True)
    ]
    _check_exclusions(step, pool_prices, live, target)
    _exclude(root, domain, step, live)
    return bound


@dataclass(frozen=True)
class _Read:
    """A step with everything in its place."""

    point: np.ndarray
    T: np.ndarray
    pools: list[Pool]
    blocks: list[list[Block]]  # of every pool
    level: list[list[float]]
    members: np.ndarray  # (pools, points) bool
    pairs: np.ndarray  # (p, 2)


def _part(evidence: Evidence) -> Evidence:
    """The arrays of one step, cut out of those of all steps."""
    ends = evidence.integers("length", None, len(FIELDS), low=0, high=2**40).cumsum(axis=0)
    at = evidence.whole("at", 0, len(ends) - 1)
    arrays = {}
    for f, field in enumerate(FIELDS):
        whole = evidence.arrays.get(f"{evidence.numbers.get('arrays', '')}{field}")
        if not isinstance(whole, np.ndarray) or whole.ndim != 1 or len(whole) != ends[-1, f]:
            raise Rejected(f"array {field} of the semidefinite steps is missing or has the wrong length")
        arrays[field] = whole[ends[at - 1, f] if at else 0 : ends[at, f]]
    return Evidence({}, arrays)


def _read(root: Root, domain: Domain, e: Evidence) -> _Read:
    T = _numbers(e, "T", None)
    M = len(T)
    point = e.integers("point", root.N, low=0, high=M - 1)
    held = np.bincount(point, minlength=M)
    inside = domain.inside()
    sure = np.zeros((M, root.K), dtype=np.int64)  # groups of a point that are surely in a component
    np.add.at(sure, point, inside)
    if (held == 0).any() or ((held > 1) & (sure.max(axis=1) < held)).any():
        raise Rejected("a step takes groups together that are not surely in one component")
    pool_of = e.integers("pool", root.K, low=-1, high=root.K - 1)
    count = int(pool_of.max()) + 1
    if count == 0:
        raise Rejected("a step has no pools")
    candidates = _bits(e, "candidates", count * M).reshape(count, M)
    apart = np.zeros((M, M), dtype=bool)
    i, j = np.nonzero(domain.need_apart(root))
    apart[point[i], point[j]] = True
    sizes = domain.possible_sizes(root)
    pools = []
    for p in range(count):
        components = np.flatnonzero(pool_of == p)
        if len(components) == 0 or len(np.unique(root.classes[components])) > 1:
            raise Rejected("a pool of a step is empty or holds components of different cost")
        allowed = domain.allowed[:, components].any(axis=1)
        if not candidates[p, point[allowed]].all() or not candidates[p].any():
            raise Rejected("a pool of a step lacks a group that may be in it")
        pools.append(_pool(root, components, np.flatnonzero(candidates[p]), point, held, sure, apart))
    if sizes[pool_of < 0, 1:].any():
        raise Rejected("a component that may hold samples is in no pool of a step")
    blocks, level = _blocks(root, e, pools, T)
    covered = np.zeros((count, root.n + 1), dtype=np.int64)
    for p, mine in enumerate(blocks):
        for b in mine:
            covered[p, b.low : b.high + 1] += 1
        needed = sizes[pools[p].components].any(axis=0)
        needed[0] = False
        if (covered[p] > 1).any() or (needed & (covered[p] == 0)).any():
            raise Rejected("the blocks of a step do not hold every possible size once")
    pairs = np.zeros((0, 2), dtype=np.int64)
    if len(e.integers("pairs", None)):
        first, second = np.triu_indices(M, 1)
        chosen = _bits(e, "pairs", len(first))
        pairs = np.stack([first[chosen], second[chosen]], axis=1)
    members = _bits(e, "members", count * M).reshape(count, M)
    return _Read(point, T, pools, blocks, level, members, pairs)


def _numbers(e: Evidence, field: str, length: int | None) -> np.ndarray:
    found = e.floats(field, length)
    if found.size and np.abs(found).max() > LARGEST:
        raise Rejected(f"array {field} of a step holds a number beyond {LARGEST}")
    return found


def _bits(e: Evidence, field: str, count: int) -> np.ndarray:
    packed = e.integers(field, (count + 7) // 8, low=0, high=255).astype(np.uint8)
    return np.unpackbits(packed, count=count).astype(bool)


def _pool(
    root: Root,
    components: np.ndarray,
    points: np.ndarray,
    point: np.ndarray,
    held: np.ndarray,
    sure: np.ndarray,
    apart: np.ndarray,
) -> Pool:
    """A pool's costs; coordinates relative to the prior's mean."""
    k = int(components[0])
    c, M = int(root.system[k]), len(held)
    away = root.points[c] - root.prior_mean[k]
    w = root.weight.astype(np.float64)
    linear, vector, size = np.zeros(M), np.zeros((M, root.d)), np.zeros((M, root.d))
    np.add.at(linear, point, root.scatter[c] + 0.5 * w * (away**2).sum(axis=1))
    np.add.at(vector, point, w[:, None] * away)
    np.add.at(size, point, w[:, None] * np.abs(away))
    weight = np.bincount(point, weights=w, minlength=M)[points]
    return Pool(
        components=components,
        points=points,
        weight=np.round(weight).astype(np.int64),
        root=np.sqrt(weight),
        linear=linear[points],
        vector=vector[points],
        size=size[points],
        gamma=root.prior_weight[k],
        apart=apart[np.ix_(points, points)],
        anchors=(sure[points, k] > 0) & (len(components) == 1),
        terms=int(held[points].max()) + 4,
    )


def _blocks(
    root: Root, e: Evidence, pools: list[Pool], T: np.ndarray
) -> tuple[list[list[Block]], list[list[float]]]:
    """The blocks of every pool, and the levels that are proved of them."""
    heads = e.integers("blocks", None)
    if len(heads) % 3:
        raise Rejected("the blocks of a step are not triples")
    heads = heads.reshape(-1, 3)
    if len(heads) and (heads.min() < 0 or heads[:, 0].max() >= len(pools) or heads[:, 2].max() > root.n):
        raise Rejected("a block of a step lies outside its pool")
    B = len(heads)
    orders = np.array([len(pools[p].points) for p in heads[:, 0]], dtype=np.int64)
    slope, level, grain = (_numbers(e, field, B) for field in ("slope", "level", "grain"))
    over, under = (_numbers(e, field, int(orders.sum())) for field in ("over", "under"))
    counts = e.integers("cut_count", B, low=0)
    multiplier = _numbers(e, "cut_multiplier", int(counts.sum()))
    cuts = e.integers("cuts", 3 * len(multiplier), low=-2).reshape(3, -1).T
    if (over < 0).any() or (under < 0).any() or (multiplier < 0).any() or (grain < 0).any():
        raise Rejected("a multiplier of a step is negative")
    triangles = orders * (orders + 1) // 2
    whole = e.integers("N2", None) if e.arrays["N2"].size else e.integers("N4", None)
    if len(whole) != triangles.sum():
        raise Rejected("the multipliers N of a step have the wrong length")
    blocks: list[list[Block]] = [[] for _ in pools]
    levels: list[list[float]] = [[] for _ in pools]
    at, cut, entry = 0, 0, 0
    for b, (p, low, high) in enumerate(heads.tolist()):
        pool, P = pools[p], int(orders[b])
        mine, last = slice(at, at + P), slice(cut, cut + int(counts[b]))
        N = np.zeros((P, P))
        N[np.triu_indices(P)] = whole[entry : entry + triangles[b]] * grain[b]
        N = N + np.triu(N, 1).T
        at, cut, entry = at + P, last.stop, entry + int(triangles[b])
        if not 1 <= low <= high:
            raise Rejected("a block of a step has no sizes")
        if (N < 0.0)[~pool.apart].any():
            raise Rejected("N is negative where two points may be together")
        _check_cuts(cuts[last], pool)
        block = Block(
            low, high, float(slope[b]), float(level[b]), T[pool.points], over[mine], under[mine], cuts[last],
            multiplier[last], N,
        )  # fmt: skip
        blocks[p].append(block)
        levels[p].append(proved_level(pool, block))
    return blocks, levels


def _check_cuts(cuts: np.ndarray, pool: Pool) -> None:
    i, j, k = cuts.T
    if len(cuts) and (min(i.min(), j.min()) < 0 or cuts.max() >= len(pool.points)):
        raise Rejected("a cut of a step is about a point that is not in its pool")
    if not pool.anchors[i[k == -2]].all():
        raise Rejected("a cut of a step rests on a point that is not surely in the cluster")


def _costs(root: Root, step: _Read, sizes: np.ndarray) -> tuple[np.ndarray, float]:
    """psi_k(m) for every component, infinite for impossible sizes, and how large K of them are at most."""
    psi, terms = np.full((2, root.K, root.n + 1), np.inf)
    m = np.arange(root.n + 1)
    psi[:, 0], terms[:, 0] = root.entropy[:, 0], np.abs(root.entropy[:, 0])
    for pool, blocks, levels in zip(step.pools, step.blocks, step.level, strict=True):
        for k in pool.components:
            for b, level in zip(blocks, levels, strict=True):
                part = slice(b.low, b.high + 1)
                psi[k, part] = level + root.entropy[k, part] - b.slope * m[part]
                terms[k, part] = abs(level) + np.abs(root.entropy[k, part]) + abs(b.slope) * m[part]
    largest = float(terms[np.isfinite(terms)].max(initial=0.0))
    return np.where(sizes, psi, np.inf), root.K * largest


def _profile(psi: np.ndarray) -> tuple[float, np.ndarray]:
    """The least sum of psi_k(n_k) over sizes that add up to n, and the same with n_k = m for every k and m."""
    K, n = len(psi), psi.shape[1] - 1
    nothing = np.full(n + 1, np.inf)
    nothing[0] = 0.0
    before, after = [nothing], [nothing]
    for k in range(K - 1):
        before.append(_both(before[-1], psi[k]))
        after.append(_both(after[-1], psi[K - 1 - k]))
    prices = np.empty_like(psi)
    for k in range(K):
        prices[k] = psi[k] + _both(before[k], after[K - 1 - k])[::-1]
    return float(prices[0].min()), prices


def _both(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The cheapest way to have a total, one part from either table."""
    out = np.full(len(first), np.inf)
    for m in np.flatnonzero(np.isfinite(second)):
        np.minimum(out[m:], first[: len(first) - m] + second[m], out=out[m:])
    return out


def _check_exclusions(step: _Read, prices: list[np.ndarray], live: list[np.ndarray], target: float) -> None:
    """Refuse a step that claims more exclusions than it proves."""
    for p, pool in enumerate(step.pools):
        place = np.full(len(step.T), -1)  # of every point among those of the pool
        place[pool.points] = np.arange(len(pool.points))
        alone = place[step.members[p] & (place >= 0)]
        i, j = place[step.pairs[(place[step.pairs] >= 0).all(axis=1)]].T
        known = step.blocks[p], prices[p], live[p], target
        if not _never(pool, alone, np.full(len(alone), -1), *known):
            raise Rejected("a step excludes a group from a component without proof")
        if not _never(pool, i, j, *known):
            raise Rejected("a step calls two groups apart without proof")


def _never(
    pool: Pool,
    i: np.ndarray,
    j: np.ndarray,
    blocks: list[Block],
    price: np.ndarray,
    live: np.ndarray,
    target: float,
) -> bool:
    """Whether none of the pairs is in a cluster of any block that costs less than the target."""
    for b in blocks:
        sizes = np.flatnonzero(live[b.low : b.high + 1]) + b.low
        if len(sizes) and len(i) and not hopeless(pool, b, i, j, price, sizes, target).all():
            return False
    return True


def _exclude(root: Root, domain: Domain, step: _Read, live: list[np.ndarray]) -> None:
    """Take what is proved to cost the target or more out of the domain."""
    if domain.sizes is None:
        domain.sizes = np.ones((root.K, root.n + 1), dtype=bool)
    for p, pool in enumerate(step.pools):
        domain.sizes[pool.components] &= live[p]
        domain.allowed[np.ix_(step.members[p][step.point], pool.components)] = False
    if len(step.pairs):
        i, j = step.pairs.T
        apart = np.zeros((len(step.T), len(step.T)), dtype=bool)
        apart[i, j] = apart[j, i] = True
        domain.apart = domain.need_apart(root) | apart[np.ix_(step.point, step.point)]
