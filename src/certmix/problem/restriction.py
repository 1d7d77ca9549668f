"""The problem of some of the samples: the optima of the parts of a partition add up to no more than the whole's.

Every clustering that is feasible for the whole problem, with its means and weights, is feasible for every part, and the
objectives of the parts there add up to the whole's or less; so the sum of the parts' minima is a lower bound. What
becomes of each option, and why, is in docs/bounds.md (Parts of the samples).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from certmix.errors import InputError
from certmix.problem.constraints import (
    CannotLink,
    Constraint,
    Covering,
    Implication,
    Label,
    MaximumSize,
    MinimumSize,
    MustLink,
    Packing,
)
from certmix.problem.masses import RealWeights
from certmix.problem.priors import Prior
from certmix.problem.problem import ELSEWHERE, Problem
from certmix.problem.rules import ALL
from certmix.problem.symmetric_matrices import Matrices

LESS = 2.0**-50  # relatively; more than the few roundings of a share can add to it


def partition_refusal(problem: Problem) -> str | None:
    """Why the bound of this problem cannot be had from parts of its samples, in words; None when it can."""
    if np.any(problem.prior.alpha < 1):
        return (
            "a Dirichlet prior with alpha < 1 (Jeffreys) cannot be shared out to parts of the samples: a component may "
            "be empty in a part, and the objective of that part has no minimum"
        )
    full = problem.prior.precision
    if problem.prior.on_means and not full.diagonal:
        try:
            np.linalg.cholesky(_share(full.entries, 1.0 - LESS))
        except np.linalg.LinAlgError:
            return "the covariance of the Gaussian prior is too ill-conditioned to share it out to parts of the samples"
    return None


class Restriction:
    """Makes the problems of parts; the constraints of the whole are indexed once. Threads may share it.

    An :class:`InputError` says where parts are no use for the problem, see :func:`partition_refusal`.
    """

    def __init__(self, problem: Problem) -> None:
        refusal = partition_refusal(problem)
        if refusal is not None:
            raise InputError(refusal)
        self.problem, rules = problem, problem.rules
        tied = rules.implication_array[:, 2] == ALL  # "for all components" is a must-link
        self._together = _Links(np.vstack([rules.together_array[:, :2], rules.implication_array[tied, :2]]))
        self._apart = _Links(rules.apart_array[:, :2])
        self._implications = _Links(rules.implication_array[~tied, :3])
        self._labels = _Index(rules.label_array[:, 0])
        self._counted = _Index(np.concatenate([np.zeros(0, np.int64), *(c.samples for c in rules.counts)]))
        self._count_of = np.repeat(np.arange(len(rules.counts)), [len(c.samples) for c in rules.counts])

    def part(self, samples: np.ndarray) -> Problem:
        """The problem of some of the samples, which are given by position, in ascending order.

        Its samples are in that order and have no names; its components have the same numbers and no names.

        Raises
        ------
        InputError
            When samples are not ascending, or when samples that belong together are in different parts.
        """
        p = self.problem
        samples = np.ascontiguousarray(samples, dtype=np.int64)
        bad = np.diff(samples) <= 0
        if samples.ndim != 1 or not len(samples) or bad.any() or samples[0] < 0 or samples[-1] >= p.n_samples:
            raise InputError("a part needs different samples of the problem, in ascending order")
        tied, given = "weights" in p.estimators, p.given_sample_weight
        return Problem(
            p.data[samples],
            p.n_clusters,
            noise=p.noise,
            covariance=p.covariance,
            weights=p.given_weights,
            mean_bounds=p.given_mean_bounds,
            # Weights tied to n_k / n keep bounds when rounded, not exactly; the sizes have these bounds anyway.
            weight_bounds=None if tied else p.given_weight_bounds,
            prior=self._prior(len(samples)),
            constraints=[*self._links(samples), *self._sizes(len(samples)), *self._counts(samples)],
            allow_empty=True,
            sample_weight=given.part(samples) if isinstance(given, RealWeights) else None,
            missing="error" if p.given_missing == "error" else ELSEWHERE,
        )

    def _prior(self, m: int) -> Prior:
        """The share m / n of the log prior, rounded so that the shares of all parts never exceed the whole."""
        prior, share = self.problem.prior, m / self.problem.n_samples
        alpha = np.maximum(1.0, (1.0 + (prior.alpha - 1.0) * share) * (1.0 - LESS))
        return Prior(alpha, prior.mean, Matrices(_share(prior.precision.entries, share)))

    def _links(self, samples: np.ndarray) -> Iterator[Constraint]:
        inside, cut = self._together.within(samples)
        if len(cut):
            i, j = (self.problem.samples.sample(int(x)) for x in cut[0])
            raise InputError(f"{i} and {j} belong together, but only one of them is in the part")
        for i, j in inside.tolist():
            yield MustLink(i, j)
        for i, j in self._apart.within(samples)[0].tolist():
            yield CannotLink(i, j)
        for i, j, k in self._implications.within(samples)[0].tolist():
            yield Implication(i, j, k)
        rows = self.problem.rules.label_array[self._labels.of(samples)]
        for i, k in zip(np.searchsorted(samples, rows[:, 0]).tolist(), rows[:, 1].tolist(), strict=True):
            yield Label(i, k)

    def _sizes(self, m: int) -> Iterator[Constraint]:
        outside = self.problem.n_samples - m
        limits = zip(self.problem.size_lower.tolist(), self.problem.size_upper.tolist(), strict=True)
        for k, (low, high) in enumerate(limits):
            if low > outside:
                yield MinimumSize(low - outside, k)
            if high < m:
                yield MaximumSize(high, k)

    def _counts(self, samples: np.ndarray) -> Iterator[Constraint]:
        entries = self._counted.of(samples)
        which = self._count_of[entries]
        here = np.searchsorted(samples, self._counted.samples[entries])
        for c in np.unique(which).tolist():
            count, some = self.problem.rules.counts[c], np.sort(here[which == c]).tolist()
            least = count.low - (len(count.samples) - len(some))
            if least > 0:
                yield Covering(some, count.component, least)
            if count.high < len(some):
                yield Packing(some, count.component, count.high)


def _share(matrices: np.ndarray, share: float) -> np.ndarray:
    r"""``share`` times precisions, or their diagonals, no larger than that in the order of quadratic forms.

    Entries err by less than ``LESS / 2`` of themselves. Each diagonal entry is lowered by more than all that its row
    can err, so what was taken off is diagonally dominant with a nonnegative diagonal: positive semidefinite.
    """
    found = share * matrices
    if matrices.ndim == 2:
        return found - LESS * np.abs(found)
    j = np.arange(found.shape[1])
    found[:, j, j] -= LESS * np.abs(found).sum(axis=2)
    return found


class _Index:
    """Rows by their sample."""

    def __init__(self, samples: np.ndarray) -> None:
        self.samples = samples
        self._order = np.argsort(samples, kind="stable")
        self._sorted = samples[self._order]

    def of(self, samples: np.ndarray) -> np.ndarray:
        """The rows of these samples, in order of samples."""
        first, last = (np.searchsorted(self._sorted, samples, side=s) for s in ("left", "right"))
        many = last - first
        before = np.cumsum(many) - many
        return self._order[np.repeat(first - before, many) + np.arange(many.sum())]


class _Links:
    """Rows (sample, sample, anything) by either sample."""

    def __init__(self, rows: np.ndarray) -> None:
        self.rows = rows
        self._index = _Index(rows[:, :2].ravel())

    def within(self, samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows with both samples in the part, by positions in it; and those with one sample in it, as they are."""
        rows = self.rows[np.unique(self._index.of(samples) // 2)]
        place = np.searchsorted(samples, rows[:, :2])
        inside = (samples[np.minimum(place, len(samples) - 1)] == rows[:, :2]).all(axis=1)
        return np.concatenate([place, rows[:, 2:]], axis=1)[inside], rows[~inside, :2]
