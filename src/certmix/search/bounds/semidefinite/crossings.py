"""Sets of samples that clusters of allowed sizes cannot hold apart from the others, and prices for that.

With a of its w(S) samples in a cluster of m, a set S has a (m - a) / m pairs with others there, each counted 1 / m.
Over all clusters that adds up to something that the sizes say: five samples too many for one cluster have to go
elsewhere. The relaxation takes a tenth of a cluster more instead. A price for the least sum makes it see that
(docs/bounds.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from certmix.search.bounds.semidefinite.pools import ComponentPool, cost_matrix

if TYPE_CHECKING:
    from certmix.search.bounds.semidefinite.admm import Method


@dataclass(frozen=True)
class Tuning:
    """Which sets get a price, and how it changes."""

    most: int = 16  # sets of a node
    new: int = 4  # in a round
    together: tuple[float, ...] = (0.1, 0.3, 0.6)  # points are in one set when they are so far together
    lacking: float = 0.3  # share of what sizes demand that is missing where a set is worth a price
    step: float = 0.5  # of the gap, which a price would close if what is missing stayed the same ...
    steady: float = 0.3  # ... but less where no more than this share is missing


TUNING = Tuning()


@dataclass(frozen=True)
class Crossing:
    """A set of super-points and the price of what it shares with others."""

    inside: np.ndarray  # (M,) bool
    price: float

    def mixed(self, index: np.ndarray, r: np.ndarray) -> np.ndarray:
        """What the price takes from the cost of every pair of a pool's points."""
        mine = np.where(self.inside[index], r, 0.0)
        half = 0.5 * self.price * np.outer(mine, r - mine)
        return np.asarray(half + half.T)


def least_crossings(pools: list[ComponentPool]) -> np.ndarray:
    """``least[w]``: what a set of w samples shares with others at least, in clusters of the sizes that are left."""
    n = len(pools[0].sizes) - 1
    total = np.full(n + 1, np.inf)
    total[0] = 0.0
    for pool in pools:
        allowed = np.flatnonzero(pool.sizes)
        part = np.arange(allowed[-1] + 1.0)
        size = np.maximum(allowed[np.searchsorted(allowed, part)], 1)
        alone = part * (size - part) / size
        for _ in range(pool.count):
            total = _both(total, alone)
    return np.where(np.isfinite(total), total, 0.0)


def _both(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    out = np.full(len(first), np.inf)
    for m, value in enumerate(second.tolist()):
        np.minimum(out[m:], first[: len(first) - m] + value, out=out[m:])
    return out


def demanded(method: Method) -> float:
    """What the priced sets add to the bound, rounded to nearest."""
    if not method.crossings:
        return 0.0
    least, weight = least_crossings(method.pools), method.root**2
    return float(sum(c.price * least[round(float(weight[c.inside].sum()))] for c in method.crossings))


def costs(method: Method, p: int, high: int, slope: float) -> np.ndarray:
    """The cost matrix of a block, less what the sets take."""
    pool, r = method.pools[p], method.roots[p]
    cost = cost_matrix(pool, method.root, high, slope)
    for crossing in method.crossings:
        cost -= crossing.mixed(pool.index, r)
    return cost


def carried(crossings: list[Crossing], into: np.ndarray, count: int) -> list[Crossing]:
    """The sets after super-points were merged; one that is cut by a new super-point is given up."""
    found = []
    for crossing in crossings:
        inside, outside = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        inside[into[crossing.inside]] = True
        outside[into[~crossing.inside]] = True
        if not np.any(inside & outside):
            found.append(replace(crossing, inside=inside))
    return found


def reprice(method: Method, gap: float) -> None:
    """Change the prices by what their sets lack."""
    if method.crossings:
        least, held = least_crossings(method.pools), _together(method)
        _set(method, [_moved(c, held, least, method.root, gap) for c in method.crossings])


def price_sets(method: Method, gap: float) -> bool:
    """Give a price to sets that share much less with others than sizes demand; True when there are some."""
    least = least_crossings(method.pools)
    if not least.any() or len(method.crossings) >= TUNING.most or not 0.0 < gap < np.inf:
        return False
    new = _lacking(method, _together(method), least, gap)
    if new:
        _set(method, [*method.crossings, *new])
    return bool(new)


def _set(method: Method, crossings: list[Crossing]) -> None:
    method.crossings = [c for c in crossings if c.price > 0.0]
    for b in method.blocks:
        b.cost = costs(method, b.pool, b.high, b.slope)


def _together(method: Method) -> np.ndarray:
    """The sum of all blocks."""
    held = np.zeros((len(method.root), len(method.root)))
    for b in method.blocks:
        index = method.pools[b.pool].index
        held[np.ix_(index, index)] += b.x
    return held


def _shared(inside: np.ndarray, held: np.ndarray, root: np.ndarray) -> float:
    return float(np.where(inside, root, 0.0) @ held @ np.where(inside, 0.0, root))


def _moved(crossing: Crossing, held: np.ndarray, least: np.ndarray, root: np.ndarray, gap: float) -> Crossing:
    asked = float(least[round(float((root[crossing.inside] ** 2).sum()))])
    missing = asked - _shared(crossing.inside, held, root)
    return replace(crossing, price=max(0.0, crossing.price + _step(missing, asked, gap)))


def _step(missing: float, asked: float, gap: float) -> float:
    size = max(abs(missing), TUNING.steady * asked)
    return TUNING.step * gap * missing / (size * size) if size > 0.0 else 0.0


def _lacking(method: Method, held: np.ndarray, least: np.ndarray, gap: float) -> list[Crossing]:
    """Sets of points that are together, and share less with others than sizes demand: those that lack most."""
    root, diagonal = method.root, np.diag(held)
    alike = held / np.outer(root, root)
    own = np.maximum(diagonal / (root * root), np.finfo(float).tiny)
    alike /= np.minimum(own[:, None], own)
    known = {c.inside.tobytes() for c in method.crossings}
    found: list[tuple[float, float, np.ndarray]] = []
    for level in TUNING.together:
        count, of = connected_components(csr_matrix(alike > level), directed=False)
        for i in range(count if count > 1 else 0):
            inside = of == i
            asked = float(least[round(float((root[inside] ** 2).sum()))])
            missing = asked - _shared(inside, held, root) if asked > 0.0 else 0.0
            if missing > TUNING.lacking * asked and inside.tobytes() not in known:
                known.add(inside.tobytes())
                found.append((missing, asked, inside))
    found.sort(key=lambda each: -each[0])
    some = found[: min(TUNING.new, TUNING.most - len(method.crossings))]
    return [Crossing(inside, _step(missing, asked, gap) / len(some)) for missing, asked, inside in some]
