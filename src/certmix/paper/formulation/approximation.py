"""Which piecewise-linear logarithms an MIQP has, how far they can be off, and how they are refined."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from certmix.paper.formulation.logarithm import PiecewiseLog, Variant, regular
from certmix.paper.formulation.ranges import WeightRanges, weight_ranges
from certmix.problem import Problem


@dataclass(frozen=True)
class Approximation:
    """One piecewise-linear logarithm per component."""

    problem: Problem
    ranges: WeightRanges
    logarithms: list[PiecewiseLog]
    adaptive: bool
    count: int

    @property
    def n_breakpoints(self) -> int:
        """The most that any component has."""
        return max(len(log.breakpoints) for log in self.logarithms)

    @property
    def error(self) -> float:
        r"""How far, in nats, the model's cost of any clustering with its best weights can be from the exact one.

        It is at most the sum of powers :math:`\sum_k p_k = n + \sum_k (\alpha_k - 1)` times the largest distance of a
        line from the logarithm. Where the best weight is a function of the size alone (:meth:`attainable`) it is also
        at most :math:`\sum_k \max_m p_k(m) |\text{error at } \pi_k(m)|`.
        """
        problem = self.problem
        total = problem.n_samples + float((problem.prior.alpha - 1.0).sum())
        error = total * max(log.error for log in self.logarithms)
        listed = 0.0
        for k, log in enumerate(self.logarithms):
            found = self.attainable(k)
            if found is None:
                return error
            powers, weights = found
            listed += float((powers * np.abs(-np.log(weights) - log.value(weights))).max(initial=0.0))
        return min(error, listed)

    def attainable(self, k: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Powers and best weights of a component for every size that it can have; None with bounds on the weights."""
        problem = self.problem
        tied = "weights" in problem.estimators
        if problem.has_weight_box and not tied:
            return None
        low = max(self.ranges.size_lower[k], 1.0 if self.ranges.optional[k] else 0.0)
        sizes = np.arange(low, self.ranges.size_upper[k] + 1)
        powers = sizes + problem.prior.alpha[k] - 1.0
        total = problem.n_samples + float((problem.prior.alpha - 1.0).sum())
        return powers, sizes / problem.n_samples if tied else powers / total

    def refined(self, weights: np.ndarray | None) -> Approximation:
        """More breakpoints: twice as many regular ones, or where they matter, around a clustering's best weights.

        Tangents at the best weights of a clustering make the model's cost of that clustering exact (optimality
        conditions of the weights), so every round settles one clustering and the rounds come to an end. Chords are
        refined where an attainable weight has the largest error.
        """
        if not self.adaptive:
            count = 2 * self.count
            logs = [
                regular(log.variant, float(log.breakpoints[0]), float(log.breakpoints[-1]), count)
                for log in self.logarithms
            ]
            return replace(self, logarithms=logs, count=count)
        logs = []
        for k, log in enumerate(self.logarithms):
            points = np.array([]) if weights is None else weights  # those of all components: symmetry is kept
            if log.variant == "chord":
                points = np.append(points, self._worst(k, log))
            logs.append(log.refined(points))
        return replace(self, logarithms=logs)

    def _worst(self, k: int, log: PiecewiseLog) -> np.ndarray:
        """Where the chords are farthest from the logarithm: as many points as there are breakpoints."""
        found = self.attainable(k)
        if found is None:
            return 0.5 * (log.breakpoints[:-1] + log.breakpoints[1:])
        powers, weights = found
        loss = powers * np.abs(-np.log(weights) - log.value(weights))
        order = np.argsort(loss)[::-1][: len(log.breakpoints)]
        return np.asarray(weights[order[loss[order] > 0]])


def first_approximation(
    problem: Problem, variant: Variant, count: int, adaptive: bool
) -> Approximation | None:
    """Regular breakpoints over the range of every weight; None when the weights are fixed."""
    ranges = weight_ranges(problem)
    if ranges.fixed is not None:
        return None
    logs = [
        regular(variant, float(low), float(high), count)
        for low, high in zip(ranges.lower, ranges.upper, strict=True)
    ]
    return Approximation(problem, ranges, logs, adaptive, count)
