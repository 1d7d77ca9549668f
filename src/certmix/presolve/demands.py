"""Everything that a clustering must satisfy, in a form small enough to test many subsets of it.

Samples that no constraint mentions are all alike and only counted, so the work depends on the constraints
and not on the number of samples.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from certmix.problem import Problem
from certmix.problem.averages import average_in_box
from certmix.problem.rules import Count, Implies, Known, Link, Rules

NONEMPTY, WEIGHTS, MEANS = "nonempty", "weights", "means"


@dataclass(frozen=True)
class MeanBox:
    """Component means that are tied to the cluster means must lie in the boxes.

    Linear in z: ``sum_i z_ik (y_ij - lower_kj) >= 0``, and likewise above.
    """

    data: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def holds(self, labels: np.ndarray, n_components: int) -> bool:
        """Whether the exact cluster means lie in their boxes."""
        held = ((k, self.data[labels == k]) for k in range(n_components))
        return all(
            average_in_box(samples, self.lower[k], self.upper[k]) for k, samples in held if len(samples)
        )


@dataclass(frozen=True)
class Demands:
    """Rules over the samples that they mention, and the conditions that come with every problem.

    Attributes
    ----------
    rules : Rules
        Side constraints; samples are numbered by their place in :attr:`samples`.
    samples : ndarray of shape (m,)
        The samples that some constraint mentions (all of them under a mean box), by position in the problem.
    n_free : int
        How many other samples there are.
    conditions : frozenset of {"nonempty", "weights", "means"}
        Which conditions beside the constraints are in force: every component but the noise needs a sample;
        ``pi_k = n_k / n``; cluster means in their boxes.
    weight_sizes : (lower, upper)
        The sizes that ``pi_k = n_k / n`` leaves.
    box : MeanBox or None
    """

    rules: Rules
    samples: np.ndarray
    n_free: int
    n_components: int
    n_clusters: int
    conditions: frozenset[str]
    weight_sizes: tuple[np.ndarray, np.ndarray]
    box: MeanBox | None

    @property
    def n_samples(self) -> int:
        return len(self.samples) + self.n_free

    @property
    def active_box(self) -> MeanBox | None:
        return self.box if MEANS in self.conditions else None

    def size_limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Limits on the sizes from the rules and conditions in force."""
        n, K = self.n_samples, self.n_components
        lower = np.full(K, 1 if NONEMPTY in self.conditions else 0, dtype=np.int64)
        lower[self.n_clusters :] = 0
        lower, upper = self.rules.size_limits(lower, np.full(K, n, dtype=np.int64))
        if WEIGHTS in self.conditions:
            lower, upper = np.maximum(lower, self.weight_sizes[0]), np.minimum(upper, self.weight_sizes[1])
        return lower, upper

    def only(self, origins: Iterable[int], conditions: frozenset[str] | None = None) -> Demands:
        """The demands of some constraint objects, with all or some of the conditions."""
        kept = self.conditions if conditions is None else conditions
        return replace(self, rules=self.rules.only(origins), conditions=kept)

    def labels(self, mentioned: np.ndarray, free_counts: np.ndarray) -> np.ndarray:
        """Labels of all samples from those of the mentioned ones and the numbers of the others."""
        out = np.full(self.n_samples, -1, dtype=np.int64)
        out[self.samples] = mentioned
        out[out < 0] = np.repeat(np.arange(self.n_components), free_counts)
        return out


def demands(problem: Problem) -> Demands:
    """Everything that the labels of a problem must satisfy."""
    conditions = set()
    if not problem.allow_empty:
        conditions.add(NONEMPTY)
    if "weights" in problem.estimators:
        conditions.add(WEIGHTS)
    box = None
    if "means" in problem.estimators and problem.has_mean_box:
        conditions.add(MEANS)
        box = MeanBox(problem.data, problem.mean_lower, problem.mean_upper)
    rules, n = problem.rules, problem.n_samples
    parts = [rules.together_array[:, :2], rules.apart_array[:, :2], rules.implication_array[:, :2]]
    parts += [rules.label_array[:, :1], *(count.samples for count in rules.counts)]
    samples = np.arange(n) if box else np.unique(np.concatenate([part.ravel() for part in parts]))
    return Demands(
        rules=_renumbered(rules, samples),
        samples=samples,
        n_free=n - len(samples),
        n_components=problem.n_components,
        n_clusters=problem.n_clusters,
        conditions=frozenset(conditions),
        weight_sizes=problem.estimator_sizes,
        box=box,
    )


def _renumbered(rules: Rules, samples: np.ndarray) -> Rules:
    place = {int(i): a for a, i in enumerate(samples)}
    return Rules(
        rules.constraints,
        tuple(Link(place[r.i], place[r.j], r.origin) for r in rules.together),
        tuple(Link(place[r.i], place[r.j], r.origin) for r in rules.apart),
        tuple(Implies(place[r.sample], place[r.then], r.component, r.origin) for r in rules.implications),
        tuple(Known(place[r.sample], r.component, r.origin) for r in rules.labels),
        rules.sizes,
        tuple(
            Count(np.searchsorted(samples, r.samples), r.component, r.low, r.high, r.origin)
            for r in rules.counts
        ),
    )
