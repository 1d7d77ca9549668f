"""Every clustering of a small instance in plain NumPy: what the compiled search is compared with."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from certmix.errors import InfeasibleError
from certmix.kernels.arrays import Arrays
from certmix.presolve.instance import Instance
from certmix.problem import is_feasible


@dataclass
class Node:
    """Boxes for the means, intervals for the sizes, candidate components (bits of a number) for every group."""

    lo: np.ndarray
    hi: np.ndarray
    a: np.ndarray
    b: np.ndarray
    mask: np.ndarray

    def copy(self) -> Node:
        return Node(*(getattr(self, name).copy() for name in ("lo", "hi", "a", "b", "mask")))

    @property
    def words(self) -> np.ndarray:
        """The candidate sets as kernels have them, which may change them."""
        return self.mask[:, None]

    def candidates(self, K: int) -> np.ndarray:
        """(N, K) bool."""
        return (self.mask[:, None] >> np.arange(K)) & 1 == 1


class Clusterings:
    """All K^N labellings of an instance's groups with their sizes, means, costs and objectives.

    Attributes
    ----------
    labels : (L, N); sizes : (L, K); means : (L, K, d), the best ones for the instance's cost
    cost : (L,), the instance's cost
    objective : (L,), by the one evaluator; infinite where a constraint is broken
    """

    def __init__(self, instance: Instance, arrays: Arrays) -> None:
        self.instance, self.arrays = instance, arrays
        N, K = instance.n_groups, instance.n_components
        self.labels = np.array(list(itertools.product(range(K), repeat=N)))
        self.members = self.labels[:, :, None] == np.arange(K)  # (L, N, K)
        self.sizes = np.einsum("lgk,g->lk", self.members, instance.weight)
        self.means = self._means(instance.mean_lower, instance.mean_upper)
        self.cost = self.value_at(self.means)
        self.objective = np.array([self._objective(labels) for labels in self.labels])

    def _system(self, k: int) -> int:
        return 0 if self.instance.shared else k

    def _means(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """The best mean of every component within a box."""
        i = self.instance
        out = np.empty((len(self.labels), i.n_components, i.n_features))
        for k in range(i.n_components):
            total = self.members[:, :, k] @ (i.mass * i.points[self._system(k)])
            full = self.members[:, :, k] @ i.mass + i.prior_weight[k]
            push = total + i.prior_weight[k] * i.prior_mean[k]
            out[:, k] = np.clip(
                np.where(full > 0, push / np.where(full > 0, full, 1.0), 0.0), lower[k], upper[k]
            )
        return out

    def value_at(self, means: np.ndarray) -> np.ndarray:
        """The instance's cost of every labelling with given means, shape (L, K, d) or (K, d)."""
        i = self.instance
        means = np.broadcast_to(means, (len(self.labels), *means.shape[-2:]))
        total = np.zeros(len(self.labels))
        for k in range(i.n_components):
            c = self._system(k)
            away = (i.mass * (i.points[c][None] - means[:, k, None]) ** 2).sum(axis=2)
            total += (self.members[:, :, k] * (0.5 * away + i.scatter[c])).sum(axis=1)
            total += 0.5 * (means[:, k] - i.prior_mean[k]) ** 2 @ i.prior_weight[k]
            total += i.entropy[k, self.sizes[:, k]]
        return total

    def value_in(self, node: Node) -> np.ndarray:
        """The instance's cost of every labelling with the best means in the node's boxes."""
        return self.value_at(self._means(node.lo, node.hi))

    def _objective(self, labels: np.ndarray) -> float:
        problem = self.instance.problem
        expanded = self.instance.expand(labels)
        if not is_feasible(problem, expanded):
            return np.inf
        try:
            return float(problem.objective.best(expanded).value)
        except InfeasibleError:
            return np.inf

    @property
    def feasible(self) -> np.ndarray:
        return np.isfinite(self.objective)

    def ordered(self) -> np.ndarray:
        """Whether interchangeable components are numbered as the search numbers them.

        Empty ones first, the others by increasing mean along one coordinate.
        """
        good = np.ones(len(self.labels), dtype=bool)
        for k, m in itertools.combinations(range(self.instance.n_components), 2):
            if self.arrays.classes[k] != self.arrays.classes[m]:
                continue
            good &= ~((self.sizes[:, m] == 0) & (self.sizes[:, k] > 0))
            along = self.means[:, :, self.arrays.axis]
            good &= (self.sizes[:, k] == 0) | (along[:, k] <= along[:, m])
        return good

    def stable(self) -> np.ndarray:
        """Feasible labellings that no move of a single group improves, as far as exchange arguments may look."""
        N, K = self.labels.shape[1], self.instance.n_components
        good = self.feasible.copy()
        number = np.arange(len(self.labels))
        place = K ** np.arange(N - 1, -1, -1)
        cost = np.where(self.feasible, self.cost, np.inf)
        aim = np.where(self.feasible, cost, 0.0)
        aim = np.where(self.feasible, aim - 1e-12 * (1.0 + np.abs(aim)), -np.inf)
        for g in np.flatnonzero(self.arrays.movable):
            for k in range(K):
                moved = number + (k - self.labels[:, g]) * place[g]
                good &= cost[moved] >= aim
        return good

    def inside(self, node: Node, slack: float = 0.0) -> np.ndarray:
        """The labellings whose components, sizes and means the node admits."""
        N, K = self.labels.shape[1], self.instance.n_components
        good = node.candidates(K)[np.arange(N), self.labels].all(axis=1)
        good &= ((self.sizes >= node.a) & (self.sizes <= node.b)).all(axis=1)
        room = slack * (1.0 + self.arrays.largest)
        within = ((self.means >= node.lo - room) & (self.means <= node.hi + room)).all(axis=2)
        return good & (within | (self.sizes == 0)).all(axis=1)


def wide_node(instance: Instance, arrays: Arrays) -> Node:
    """The node that admits everything in which no component is empty."""
    K, n = instance.n_components, instance.n_samples
    far = 2.0 * (arrays.largest + 1.0)
    return Node(
        np.where(np.isfinite(instance.mean_lower), instance.mean_lower, -far),
        np.where(np.isfinite(instance.mean_upper), instance.mean_upper, far),
        np.maximum(instance.size_lower, 1).astype(float),
        np.minimum(instance.size_upper, n).astype(float),
        (instance.allowed * (1 << np.arange(K))).sum(axis=1).astype(np.int64),
    )


def node_around(rng: np.random.Generator, found: Clusterings, row: int) -> Node:
    """A random node that admits one labelling: boxes, sizes and candidate sets around it."""
    instance, arrays = found.instance, found.arrays
    node = wide_node(instance, arrays)
    N, K = instance.n_groups, instance.n_components
    labels, sizes, means = found.labels[row], found.sizes[row], found.means[row]
    empty = sizes == 0
    node.a[empty] = node.b[empty] = 0.0
    every = np.int64(((1 << np.arange(K)) * ~empty).sum())
    node.mask &= every
    narrow = rng.random() < 0.7
    spread = instance.points.std() + 1e-3
    for k in np.flatnonzero(~empty):
        if narrow and rng.random() < 0.8:
            reach = spread * rng.exponential(rng.choice([0.0, 0.1, 1.0]), size=(2, instance.n_features))
            node.lo[k] = np.maximum(node.lo[k], means[k] - reach[0])
            node.hi[k] = np.minimum(node.hi[k], means[k] + reach[1])
        if rng.random() < 0.5:
            node.a[k] = max(node.a[k], sizes[k] - rng.integers(0, 3))
        if rng.random() < 0.5:
            node.b[k] = min(node.b[k], sizes[k] + rng.integers(0, 3))
    keep = rng.choice([0.2, 0.6, 1.0])
    for g in range(N):
        kept = (rng.random(K) < keep) | (np.arange(K) == labels[g])
        node.mask[g] &= np.int64(((1 << np.arange(K)) * kept).sum()) | np.int64(1 << int(labels[g]))
    return node
