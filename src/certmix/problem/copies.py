"""Samples that stand for several: each is as many copies as its weight says, which stay together.

So whatever counts samples counts the weights, and there is nothing else to say of them: a weighted problem is the one
with copies, to the last digit of its objective, for every engine and for the checker.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from certmix.errors import InputError
from certmix.problem.constraints import Copies, Row
from certmix.problem.samples import Samples

MOST = 20_000_000  # copies in all


class CopiedSamples(Samples):
    """Samples as copies in a row. Positions count copies, names and messages are about the samples.

    Attributes
    ----------
    original : the samples
    weight : (n,), how many copies of each there are
    first : (n,), the position of the first of them
    of : (copies,), whose copy each is
    """

    def __init__(self, original: Samples, weight: Any) -> None:
        self._original = original
        self.weight = sample_weights(weight, original)
        self.first = np.cumsum(self.weight) - self.weight
        self.of = np.repeat(np.arange(original.n_samples), self.weight)
        self.values = original.values[self.of]
        self.values.setflags(write=False)
        self.columns, self.named = original.columns, original.named
        self.given_names = original.given_names
        place = np.arange(len(self.of)) - self.first[self.of]
        self.names = tuple(
            original.names[i] if c == 0 else f"{original.names[i]} (copy {c + 1})"
            for i, c in zip(self.of.tolist(), place.tolist(), strict=True)
        )

    @property
    def original(self) -> Samples:
        return self._original

    def position(self, ref: Any) -> int:
        return int(self.first[self._original.position(ref)])

    def sample(self, i: int) -> str:
        return self._original.sample(int(self.of[i]))

    def ref(self, i: int) -> Row:
        return Row(int(self.of[i]), len(self.weight))

    def copies(self, rows: Iterable[int]) -> list[int]:
        return [i for row in rows for i in range(row, row + int(self.weight[self.of[row]]))]

    def expand(self, labels: np.ndarray) -> np.ndarray:
        return np.asarray(labels)[self.of] if len(labels) == len(self.weight) else np.asarray(labels)

    @property
    def ties(self) -> list[Copies]:
        """What keeps copies together."""
        n = len(self.weight)
        return [Copies(Row(i, n), int(self.weight[i])) for i in np.flatnonzero(self.weight > 1).tolist()]


def sample_weights(given: Any, samples: Samples) -> np.ndarray:
    """Positive whole numbers, one for each sample, or an error that names the sample at fault."""
    try:
        found = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("sample weights must be numbers") from None
    if found.shape != (samples.n_samples,):
        raise InputError(
            f"sample_weight must be {samples.n_samples} numbers, one for each sample; it has shape {found.shape}"
        )
    wrong = ~(np.isfinite(found) & (found > 0.0))
    wrong = wrong if wrong.any() else found != np.rint(found)
    if wrong.any():
        i = int(np.argmax(wrong))
        raise InputError(
            f"{samples.sample(i)} has weight {found[i]:g}; weights are positive numbers, whole ones for how many "
            "samples each stands for"
        )
    if found.sum() > MOST:
        raise InputError(f"the sample weights add up to {found.sum():.3g}, more than {MOST:,}; divide them")
    whole = found.astype(np.int64)
    whole.setflags(write=False)
    return whole
