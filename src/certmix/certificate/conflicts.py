"""Conflicts in a proof by multipliers: which of them a cheap clustering breaks, and where to branch for that.

Pricing trees know conflicts only as disjoint pairs, and pairs that pull at each other make them large. So conflicts
are left out of the ascent. As long as some clustering that ignores them costs less than the target, no multipliers can
do; the node is split at the conflict that it breaks at the greatest gain. Only when no such clustering is found
are multipliers looked for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from certmix.local.hard_em import hard_em
from certmix.presolve.instance import Instance
from certmix.search.bounds.multipliers import component_costs
from certmix.verify.domain import Domain
from certmix.verify.root import Root

RESTARTS = 2


@dataclass(frozen=True)
class Relaxed:
    """A clustering of the groups in a domain that may break conflicts, and its objective."""

    labels: np.ndarray
    value: float


class Conflicts:
    """Cheap clusterings that ignore conflicts.

    Parameters
    ----------
    instance : Instance
        Without conflicts.
    """

    def __init__(self, root: Root, instance: Instance) -> None:
        self.root, self.instance = root, instance

    def cheapest(self, domain: Domain) -> Relaxed | None:
        """A cheap clustering of the domain; None when none was found."""
        instance = replace(
            self.instance,
            allowed=domain.allowed,
            size_lower=domain.low.astype(self.instance.size_lower.dtype),
            size_upper=domain.high.astype(self.instance.size_upper.dtype),
        )
        found = hard_em(instance, restarts=RESTARTS)
        return None if found is None else Relaxed(found.labels, found.value)

    def worst(self, domain: Domain, found: Relaxed) -> tuple[int, int] | None:
        """The conflict that the clustering breaks at the greatest gain: a group of it, and the component it is in."""
        i, j = self.root.conflicts.T
        broken = found.labels[i] == found.labels[j]
        if not broken.any():
            return None
        i, j = i[broken], j[broken]
        costs = component_costs(self.instance, self.instance.expand(found.labels)) * self.root.weight[:, None]
        costs = np.where(domain.allowed, costs, np.inf)
        k = found.labels[i]
        regret = np.empty((2, len(i)))
        for side, group in enumerate((i, j)):  # what it costs that this one of the two has to go elsewhere
            others = costs[group].copy()
            others[np.arange(len(group)), k] = np.inf
            regret[side] = others.min(axis=1) - costs[group, k]
        at = int(regret.min(axis=0).argmax())
        dearer = int(i[at] if regret[0, at] >= regret[1, at] else j[at])
        return dearer, int(k[at])
