"""The units of an instance: what its bounds call a little and a lot.

Scaling data changes no k-means clustering, and with free weights only what the data cost beside the sizes. So the
radii, temperatures, penalties and tolerances of a bound are multiples of these units, never numbers of nats. What
keeps a proof sound is not theirs to say: rounding is relative to the numbers that are rounded.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from certmix.presolve.instance import Instance


@dataclass(frozen=True)
class Scale:
    """Units made from a clustering; at the variance that fits it best the unit of costs is one nat."""

    cost: float  # nats, the variance of the samples around the means of the clustering in their widest directions
    level: float  # nats that the sizes cost, for each sample: multipliers are counted from there

    @classmethod
    def of(cls, instance: Instance, labels: np.ndarray) -> Scale:
        """The units around a clustering of the groups."""
        K = instance.n_components
        sizes = np.bincount(labels, weights=instance.weight, minlength=K).astype(np.int64)
        paid = instance.entropy[np.arange(K), sizes]
        level = float(paid[np.isfinite(paid)].sum()) / instance.n_samples
        spread = _spread(instance, labels)
        # Sizes that do not cost the same each have a scale of their own, which is the nat.
        least = 0.0 if _linear(instance.entropy) else 1.0
        return cls(max(spread, least) or 1.0, level)

    @property
    def length(self) -> float:
        """The root of the cost, in the coordinates of the instance."""
        return float(np.sqrt(self.cost))

    def offset(self, scatter: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Where the multipliers of groups are counted from: the scatter inside of groups is always paid."""
        return scatter + self.level * weight


def _spread(instance: Instance, labels: np.ndarray) -> float:
    """The mean variance over directions, each weighted by its variance: coordinates that hardly vary do not count."""
    shape = instance.n_groups, instance.n_features
    mass, away = np.broadcast_to(instance.mass, shape), np.zeros(shape)
    for k in range(instance.n_components):
        mine = labels == k
        if mine.any():
            x = instance.points[0 if instance.shared else k][mine]
            load = mass[mine].sum(axis=0)
            away[mine] = x - (mass[mine] * x).sum(axis=0) / np.where(load > 0, load, 1.0)
    away *= np.sqrt(mass)
    total = float((away**2).sum())
    if not total > 0.0:
        return 0.0
    away /= np.sqrt(total)
    products = away @ away.T if len(away) < away.shape[1] else away.T @ away
    return total / instance.n_samples * float((products**2).sum())


def _linear(entropy: np.ndarray) -> bool:
    """Whether a component costs the same for each of its samples, however many they are."""
    for table in entropy:
        sizes = np.flatnonzero(np.isfinite(table))
        if len(sizes) < 3:
            continue
        chord = np.interp(sizes, sizes[[0, -1]], table[sizes[[0, -1]]])
        if np.abs(table[sizes] - chord).max() > 1e-9 * max(1.0, float(np.abs(table[sizes]).max())):
            return False
    return True
