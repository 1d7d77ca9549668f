"""Local search on an instance: compiled on its cost, slower on the objective where the two differ."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from certmix.errors import InfeasibleError
from certmix.kernels.clustering import CONFLICT, COUNT, IMPLIED, IMPLIES, Model, linear_costs, state_of
from certmix.kernels.mass import for_kernels
from certmix.kernels.restarts import AT_LABELS, GO_ON, explore
from certmix.local.assignment import Assigner, satisfies
from certmix.presolve.instance import Instance
from certmix.presolve.tables import entropy_tables
from certmix.problem.objective import water_fill
from certmix.stopping import current

# How dear a centre outside its box is when the mean must be the cluster's mean (then the box is a hard
# constraint).
_TIED_PENALTY = 100.0
# Pairs of groups tried for a swap between two components.
SWAP_LIMIT = 20_000


class LocalSearch:
    """Improves clusterings of one instance. Labels are those of groups; they must satisfy every constraint.

    The time limit, in seconds, is that of one integer program of the exact assignment step.
    """

    def __init__(self, instance: Instance, *, time_limit: float | None = None) -> None:
        self.instance = instance
        self.assigner = Assigner(instance, time_limit=time_limit)
        self.model = search_model(instance)
        self.state = state_of(self.model, np.zeros(instance.n_groups, dtype=np.int64))
        self.mean, self.price = np.zeros_like(self.state.centre), np.zeros(instance.n_components)
        self.rng = np.zeros(1, dtype=np.uint64)  # state of the kernels' generator

    def load(self, labels: np.ndarray) -> float:
        """Take over labels and their means and prices; returns their cost in the instance."""
        self.state.label[:] = labels
        return self.explore(GO_ON)

    def explore(self, start: int, *, patience: int = 1, trials: int = 0) -> float:
        """Local search from the state, in one call (:func:`certmix.kernels.restarts.explore`)."""
        place = self.model, self.state, self.rng, self.mean, self.price
        return float(explore(*place, start, patience, SWAP_LIMIT, trials, np.zeros(1, dtype=np.int64)))

    def improve(self, labels: np.ndarray, *, deep: bool = True) -> tuple[np.ndarray, float]:
        """A local optimum below the given labels, and its cost in the instance.

        Where constraints tie groups together, with the exact assignment step.
        """
        exact = binding(self.instance)
        cost = self.load(labels)
        kept = self.state.label.copy()
        while True:
            found = self.explore(AT_LABELS, patience=0 if deep else 1)
            if found < cost - 1e-12 * (1 + abs(cost)):
                cost = found
                kept[:] = self.state.label
            if not exact or not self.descend(kept, cost):
                return kept, cost

    def perturbed(self, labels: np.ndarray, patience: int, most: int) -> tuple[np.ndarray, float]:
        """The best local optimum by ``most`` perturbations, or until so many in a row bring nothing, and its cost."""
        cost = self.load(labels)
        found = self.explore(AT_LABELS, patience=patience, trials=most)
        return (self.state.label.copy(), found) if found < cost else (labels, cost)

    def descend(self, labels: np.ndarray, cost: float, steps: int = 50) -> bool:
        """Exact classification EM from labels of that cost; True if better ones are now in the state."""
        self.load(labels)
        better = False
        for _ in range(steps):
            found = self.assigner(linear_costs(self.model, self.mean, self.price))
            if found is None:
                break
            new = self.load(found)
            if not new < cost - 1e-10 * (1 + abs(cost)):
                break
            labels, cost, better = found, new, True
        self.load(labels)
        return better

    def from_means(self, means: np.ndarray) -> tuple[np.ndarray, float] | None:
        """The local optimum below the best assignment to means in whitened coordinates; None without one."""
        price = np.zeros(self.instance.n_components)
        mean = np.ascontiguousarray(means, dtype=np.float64)
        labels = self.assigner(linear_costs(self.model, mean, price))
        return None if labels is None else self.improve(labels)

    def polish(self, labels: np.ndarray, budget: int) -> tuple[np.ndarray, float, int]:
        """Single moves and swaps by the one evaluator, where the cost is only a bound on the objective.

        Labels whose mean leaves its box although it may not are compared by how far it does, so that the
        search finds its way into the box. Makes at most ``budget`` evaluations and returns how many are
        left.
        """
        best = labels.copy()
        merit = self.merit(best)
        N, K = self.instance.allowed.shape
        improved = True
        while improved and budget > 0:
            improved = False
            for trial in _neighbours(best, N, K):
                if not satisfies(self.instance, trial):
                    continue
                budget -= 1
                found = self.merit(trial)
                if found < (merit[0], merit[1] - 1e-12 * (1 + abs(merit[1]))):
                    best, merit, improved = trial, found, True
                    break
                if budget <= 0:
                    break
        return best, merit[1], budget

    def merit(self, labels: np.ndarray) -> tuple[float, float]:
        """How far labels are from being possible (0: they are), and their objective."""
        problem = self.instance.problem
        samples = self.instance.expand(labels)
        try:
            return 0.0, float(problem.objective.best(samples).value)
        except InfeasibleError:
            outside = 0.0
            for k in range(problem.n_components):
                rows = samples == k
                if rows.any():
                    mean = problem.data[rows].mean(axis=0)
                    gap = mean - np.clip(mean, problem.mean_lower[k], problem.mean_upper[k])
                    outside += float(gap @ gap)
            return max(outside, 5e-324), math.inf

    def adapt(self, labels: np.ndarray) -> None:
        """With bounds on the weights, make the cost exact at these labels' sizes, a lower bound elsewhere."""
        problem = self.instance.problem
        if not problem.has_weight_box or "weights" in problem.estimators:
            return
        low, high = problem.weight_lower, problem.weight_upper
        sizes = np.bincount(self.instance.expand(labels), minlength=problem.n_components)
        power = sizes + problem.prior.alpha - 1.0
        weights = water_fill(power, low, high)
        inside = (weights > low * (1 + 1e-9)) & (weights < high * (1 - 1e-9)) & (power > 0)
        if inside.any():
            level = float(power[inside].sum() / weights[inside].sum())
            self.model = self.model._replace(entropy=np.array(entropy_tables(problem, level)[0]))


def _neighbours(labels: np.ndarray, N: int, K: int) -> Iterator[np.ndarray]:
    """Every single move, then every swap."""
    for g, k in itertools.product(range(N), range(K)):
        if k != labels[g]:
            moved = labels.copy()
            moved[g] = k
            yield moved
    for g in range(N):
        for h in np.flatnonzero(labels[:g] != labels[g]):
            swapped = labels.copy()
            swapped[g], swapped[h] = labels[h], labels[g]
            yield swapped


def binding(instance: Instance) -> bool:
    """Whether constraints beyond labels and non-empty components may bind the assignment."""
    return instance.coupled or bool(
        np.any(instance.size_lower > 1) or np.any(instance.size_upper < instance.n_samples)
    )


def search_model(instance: Instance) -> Model:
    """Lay out an instance for the kernels."""
    N, d = instance.n_groups, instance.n_features
    table = _links(instance)
    group, links = table[:, 0], table[:, 1:]
    order = np.argsort(group, kind="stable")
    single = np.ones(N, dtype=np.bool_)
    single[group[links[:, 0] != COUNT]] = False
    entropy = np.array(instance.entropy)
    # A size whose cost is infinite is as good as forbidden.
    first = np.argmax(np.isfinite(entropy), axis=1)
    boxed = bool(np.any(np.isfinite(instance.mean_lower)) or np.any(np.isfinite(instance.mean_upper)))
    tied = "means" in instance.problem.estimators and boxed
    region = np.stack([instance.prior_weight, instance.prior_mean, instance.mean_lower, instance.mean_upper])
    return Model(
        points=_fresh(instance.points, np.float64),
        scatter=_fresh(instance.scatter, np.float64),
        weight=_fresh(instance.weight, np.int64),
        mass=_fresh(for_kernels(instance.mass), np.float64),
        region=_fresh(region.reshape(4, -1, d), np.float64),
        entropy=entropy,
        allowed=_fresh(instance.allowed, np.bool_),
        limits=_fresh(np.stack([np.maximum(instance.size_lower, first), instance.size_upper]), np.int64),
        classes=_fresh(instance.classes, np.int64),
        link_start=_fresh(np.concatenate([[0], np.cumsum(np.bincount(group, minlength=N))]), np.int64),
        links=_fresh(links[order], np.int64),
        rows=np.array([[r.component, r.low, r.high] for r in instance.counts], dtype=np.int64).reshape(-1, 3),
        single=single,
        penalty=_TIED_PENALTY if tied else 1.0,
        counted=instance.counted,
        plain=instance.counted and not (boxed or bool(np.any(instance.prior_weight))),
        coupled=instance.coupled,
        stop=current().flag,
    )


def _links(instance: Instance) -> np.ndarray:
    """What ties a group to others: the group, and (kind, other or row, component or coefficient)."""
    a, b = instance.conflicts.T
    group, then, component = instance.implications.T
    parts = [(a, CONFLICT, b, 0), (b, CONFLICT, a, 0), (group, IMPLIES, then, component)]
    parts += [(then, IMPLIED, group, component)]
    parts += [(row.groups, COUNT, r, row.coefficient) for r, row in enumerate(instance.counts)]
    return np.concatenate([np.column_stack(np.broadcast_arrays(*part)) for part in parts]).astype(np.int64)


def _fresh(array: np.ndarray, dtype: type) -> np.ndarray:
    """A writeable contiguous copy: numba compiles read-only arrays a second time."""
    return np.array(array, dtype=dtype, order="C")
