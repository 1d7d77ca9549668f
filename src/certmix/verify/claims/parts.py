"""A partition of the samples: the statement of every part, from the whole's alone (docs/certificates.md, Sums).

With the means and weights of any clustering of the whole, its restrictions to the parts are admissible there, and their
objectives add up to no more than its own. So bounds of the parts add up to a bound of the whole.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from certmix.verify.evidence import Document, Rejected
from certmix.verify.proof import Proof
from certmix.verify.rounding import UNIT, Array
from certmix.verify.statement import WEIGHT, Statement

LESS = 8 * UNIT  # relatively, what is taken off a share of the prior: more than its roundings can add


def proved(whole: Proof, bound: float) -> str:
    """The bounds of the parts of a partition, proved one after the other; their exact sum has to reach the bound."""
    count = len(whole.parts)
    of = whole.evidence.integers("partition", whole.stated.n, low=0, high=count - 1)
    partition = Partition(whole.entry, whole.stated, of, count)
    bounds = [whole.part(t, partition.statement(t), whole.data[partition.samples(t)]) for t in range(count)]
    if math.fsum((*bounds, -bound)) < 0.0:  # rounded once: the sign is right
        raise Rejected(f"the bounds of its parts add up to {math.fsum(bounds)!r}, not to its bound {bound!r}")
    return f" (the sum of what {count} parts of the samples cost at least)"


class Partition:
    """``of`` is the part of every sample, 0 .. count - 1; ``whole`` is the statement as written, ``s`` as read."""

    def __init__(self, whole: Document, s: Statement, of: Array, count: int) -> None:
        self.whole, self.s, self.of = whole, s, of
        self.size = np.bincount(of, minlength=count)
        if (s.alpha < 1).any():
            raise Rejected("a Dirichlet parameter below one cannot be shared out to parts")
        self.order = np.argsort(of, kind="stable")
        self.first = np.cumsum(self.size) - self.size
        self.place = np.empty(s.n, dtype=np.int64)  # of every sample in its part
        self.place[self.order] = np.arange(s.n) - np.repeat(self.first, self.size)
        tied = np.concatenate([s.together, s.implications[s.implications[:, 2] < 0, :2]])
        for i, j in tied[of[tied[:, 0]] != of[tied[:, 1]]].tolist():
            raise Rejected(f"samples {i} and {j} belong together and are in parts {of[i]} and {of[j]}")
        self.rules = {
            name: self._inside(getattr(s, name), ends)
            for name, ends in (("together", 2), ("apart", 2), ("implications", 2), ("labels", 1))
        }
        self.counts: list[list[Any]] = [[] for _ in range(count)]
        for k, low, high, samples in s.counts:
            for t, inside in enumerate(self._inside(samples[:, None], 1)):
                self._count(t, k, low - (len(samples) - len(inside)), high, sorted(inside[:, 0].tolist()))
        self.low, self.high = (limit.tolist() for limit in s.size_limits())

    def _inside(self, rows: Array, ends: int) -> list[Array]:
        """The rows all of whose samples are in one part, part by part, with the samples' places."""
        part = self.of[rows[:, :ends]]
        rows, part = rows[kept := (part == part[:, :1]).all(axis=1)].copy(), part[kept, 0]
        rows[:, :ends] = self.place[rows[:, :ends]]
        order = np.argsort(part, kind="stable")
        return np.split(rows[order], np.searchsorted(part[order], np.arange(1, len(self.size))))

    def _count(self, t: int, k: int, low: int, high: int, samples: list[int]) -> None:
        """At least what cannot be outside, at most what the whole may have."""
        if low > 0:
            self.counts[t].append([k, low, len(samples), samples])
        if high < len(samples):
            self.counts[t].append([k, 0, high, samples])

    def samples(self, t: int) -> Array:
        """The samples of a part, ascending."""
        return self.order[self.first[t] : self.first[t] + self.size[t]]

    def statement(self, t: int) -> dict[str, Any]:
        """The statement of a part."""
        s, m, low, high = self.s, int(self.size[t]), self.low, self.high
        sizes = [[k, low[k] - (s.n - m), m] for k in range(s.K) if low[k] > s.n - m]
        sizes += [[k, 0, high[k]] for k in range(s.K) if high[k] < m]
        alpha = np.maximum(1.0, (1.0 + (s.alpha - 1.0) * (m / s.n)) * (1.0 - LESS))
        free = {"weight_lower": [0.0] * s.K, "weight_upper": [1.0] * s.K} if "weights" in s.estimators else {}
        own = {WEIGHT: s.weight[self.samples(t)].tolist()} if s.weighted else {}
        return {
            **self.whole,
            **free,
            **own,
            "n_samples": m,
            "component_names": [str(k) for k in range(s.K)],
            "alpha": alpha.tolist(),
            "prior_precision": self._precision(m / s.n),
            "estimators": [],
            "allow_empty": True,
            "sizes": sorted(sizes),
            "counts": sorted(self.counts[t]),
            **{name: rows[t].tolist() for name, rows in self.rules.items()},
        }

    def _precision(self, share: float) -> Any:
        """A share of the prior's precision, lowered on the diagonal by more than all that its rows can err."""
        if self.whole["prior_precision"] is None:
            return None
        found = share * self.s.prior_precision
        lost = LESS * np.abs(found)
        if found.ndim == 3:
            lost = np.eye(self.s.d) * lost.sum(axis=2)[:, :, None]
        return (found - lost).tolist()
