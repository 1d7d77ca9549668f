"""Where a root is split by the size of its smallest component."""

from __future__ import annotations

import numpy as np

from certmix.presolve.instance import Instance
from certmix.search.bounds.semidefinite.contraction import Region, contract
from certmix.search.bounds.semidefinite.pools import bend, pools_of

SPLIT_SHARE = 0.5  # of the incumbent's smallest cluster: the size at which a root is split
LEAST_SPLIT = 10  # samples: it is not split below
HARDLY_BENT = 0.02  # of what the samples cost: sizes matter little where the entropy is so close to a line


def smallest_size(
    region: Region, instance: Instance, labels: np.ndarray, unit: float, fewest: int
) -> tuple[np.ndarray, int] | None:
    """Exchangeable components and a size: one of them has at most that many samples, or none has.

    The first is far from optimal as a rule, and soon closed. But as long as both are in one node, the multipliers have
    to hold for very small clusters too, which are many, and hardly a pair of groups can be shown to be apart. None
    where a split is not worth it: components that all differ, an incumbent with a very small cluster, an entropy that
    is nearly a line beside the distances (``unit`` is their variance), so that sizes do not matter.
    """
    alike = max(region.untouched(instance), key=len, default=np.zeros(0, dtype=np.int64))
    if len(alike) < 2:
        return None
    held = np.bincount(labels, weights=instance.weight, minlength=instance.n_components)
    size = int(SPLIT_SHARE * held[alike].min())
    low, high = int(region.a[alike[0]]), int(region.b[alike[0]])
    if size < max(low, fewest) or size >= high:
        return None
    pools = pools_of(region, contract(region, instance), instance)
    pool = next(p for p in pools if alike[0] in p.components)
    distances = 0.5 * instance.n_features * instance.n_samples * unit
    if not pool.sizes.any() or bend(pool, low, high) <= HARDLY_BENT * distances:
        return None
    return alike, size
