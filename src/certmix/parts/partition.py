"""A partition of the groups that imitates a clustering: every part is a small picture of the whole.

Every part gets its share of every cluster. Then two groups of one cluster change places between two parts for as long
as that brings the parts' moments together (:mod:`certmix.kernels.exchanges`), those of the clusters and those of the
posterior probabilities. The means and weights of the clustering are then nearly best for every part by itself, and
giving every part its own costs next to nothing. Any other partition is as valid, and weaker.
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass

import numpy as np

from certmix.kernels.exchanges import exchange, tally
from certmix.presolve.instance import Instance
from certmix.problem import Point
from certmix.search.bounds.scale import Scale
from certmix.stopping import current
from certmix.threads import Threads


@dataclass(frozen=True)
class Tuning:
    """How parts exchange, and what counts."""

    sweeps: int = 100  # rounds in which every part meets another
    reach: int = 8  # members that a group is compared with at first; twice as many in every sweep
    sharpness: float = 2.0  # of posteriors: they tell which groups change clusters when means move
    soft: float = 4.0  # weight of the moments of posteriors: fewer samples change clusters
    least_posterior: float = 1e-6


TUNING = Tuning()


class Imitation:
    """Makes partitions in the image of one clustering.

    Parameters
    ----------
    instance : Instance
    point : the clustering, with its means and weights
    threads : that exchange; what they come to does not depend on how many they are

    Attributes
    ----------
    unit : nats: the unit of costs, so that data in other units are dealt in the same way
    """

    def __init__(self, instance: Instance, point: Point, threads: Threads | None = None) -> None:
        self.instance, self.threads = instance, threads or Threads(1)
        self.label = instance.contract(point.labels)
        self.unit = Scale.of(instance, self.label).cost
        self.posterior = _posterior(instance, point)
        self.points = np.ascontiguousarray(instance.points)
        K = instance.n_components
        self.system = np.zeros(K, dtype=np.int64) if instance.shared else np.arange(K)
        self.weight = instance.weight.astype(np.float64)
        hard = np.zeros(self.posterior.shape)
        hard[np.arange(instance.n_groups), self.label] = 1.0
        self.hard, self.soft = (self._centres(share) for share in (hard, self.posterior))

    def _centres(self, share: np.ndarray) -> np.ndarray:
        """The centre of every component when groups belong to it by so much."""
        K = self.instance.n_components
        mass = share * self.weight[:, None]
        total = np.maximum(mass.sum(axis=0), 1e-300)
        return np.stack([mass[:, k] @ self.points[self.system[k]] / total[k] for k in range(K)])

    def parts(self, groups: np.ndarray, count: int, seed: int, seconds: float = np.inf) -> list[np.ndarray]:
        """Deal groups into so many parts and exchange for a while; each part is an ascending array of groups."""
        rng = np.random.default_rng(seed)
        groups = rng.permutation(groups)
        part = _dealt(self.label[groups], self.instance.weight[groups], count, self.instance.n_components)
        if count > 1:
            groups, part = self._exchanged(groups, part, count, rng, seconds)
        order = np.argsort(part, kind="stable")
        ends = np.cumsum(np.bincount(part, minlength=count))[:-1]
        return [np.sort(some) for some in np.split(groups[order], ends) if len(some)]

    def _exchanged(
        self, groups: np.ndarray, part: np.ndarray, count: int, rng: np.random.Generator, seconds: float
    ) -> tuple[np.ndarray, np.ndarray]:
        K, d = self.hard.shape
        label = self.label[groups]
        order = np.argsort(part * K + label, kind="stable")
        groups, part, label = groups[order], part[order], label[order]
        cells = np.cumsum(np.bincount(part * K + label, minlength=count * K)).reshape(count, K)
        start = np.concatenate([np.concatenate([[0], cells[:-1, -1]])[:, None], cells], axis=1)
        sizes = np.bincount(label, self.weight[groups], minlength=K)
        scale = np.outer([1.0, TUNING.soft], count / (2.0 * self.unit * np.maximum(sizes, 1.0)))
        points = np.ascontiguousarray(self.points[:, groups])
        given = points, self.system, self.posterior[groups], self.weight[groups]
        members = np.arange(len(groups))
        sums = np.zeros((count, 2, K, d + 1))
        tally(*given, label, self.hard, self.soft, part, sums)
        stop, end = current(), time.perf_counter() + seconds

        def meet(pairs: np.ndarray, reach: int) -> bool:
            """Let pairs of parts exchange, of which none has a part of another; whether they did."""
            made = np.zeros(len(pairs), dtype=np.int64)

            def work(first: int, last: int) -> None:
                mine = pairs[first:last]
                made[first:last] = exchange(
                    *given, self.hard, self.soft, scale, members, start, sums, mine, reach, stop.flag
                )

            work(0, 0)  # so that threads do not load the kernel at the same time
            self.threads.over(len(pairs), work)
            return bool(made.any())

        for sweep in range(TUNING.sweeps):
            pairs = rng.permutation(count)[: count // 2 * 2].reshape(-1, 2)
            if not meet(pairs, min(TUNING.reach * 2**sweep, len(groups))) or time.perf_counter() > end:
                break
        return groups[members], part


def _posterior(instance: Instance, point: Point) -> np.ndarray:
    """The probability of every group to be in every component, given means and weights; tiny ones are zero.

    The costs are scaled to the spread that the clusters have, so that what lies between two of them counts for both
    even where the known variance is far from the samples'.
    """
    problem = instance.problem
    costs = problem.objective.component_costs(point.means, point.weights)
    spread = problem.objective.distances_to_own(point.labels, point.means).sum()
    with np.errstate(over="ignore"):  # samples that differ from no mean have no spread
        costs *= TUNING.sharpness * instance.n_features * problem.n_samples / max(float(spread), 1e-300)
        if instance.n_groups < problem.n_samples:
            merged = np.zeros((instance.n_groups, instance.n_components))
            np.add.at(merged, instance.groups.of, costs)
            costs = merged
    costs[~instance.allowed] = np.inf
    label = instance.contract(point.labels)
    rows = np.arange(len(costs))
    own = costs[rows, label]
    nowhere = ~np.isfinite(own)  # a weight of zero: such a group is in its own component and no other
    costs[nowhere], costs[rows[nowhere], label[nowhere]] = np.inf, 0.0
    costs -= np.where(nowhere, 0.0, own)[:, None]
    found = np.exp(-np.clip(costs, -50.0, np.inf))
    found /= found.sum(axis=1, keepdims=True)
    found[found < TUNING.least_posterior] = 0.0
    return np.ascontiguousarray(found)


def _dealt(label: np.ndarray, weight: np.ndarray, count: int, n_components: int) -> np.ndarray:
    """A part for every group: heavy groups first, each to the part that has least of its cluster, then least of all."""
    part = np.zeros(len(label), dtype=np.int64)
    filled = np.zeros(count, dtype=np.int64)
    for k in range(n_components):
        mine = np.flatnonzero(label == k)
        mine = mine[np.argsort(-weight[mine], kind="stable")]
        parts = [(0, int(filled[t]), t) for t in range(count)]
        heapq.heapify(parts)
        for g, w in zip(mine.tolist(), weight[mine].tolist(), strict=True):
            own, total, t = parts[0]
            heapq.heapreplace(parts, (own + w, total + w, t))
            part[g] = t
        for _, total, t in parts:
            filled[t] = total
    return part
