"""What is known of every sample's margin: states, intervals, and the page that shows them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from certmix.io.strict_json import finite
from certmix.result import Result

if TYPE_CHECKING:
    import pandas as pd

    from certmix.io.certificates import Certificate
    from certmix.verify.check import Verdict


class State(StrEnum):
    """What is known of a margin."""

    FIXED = "fixed"
    """It is proved to be above delta."""
    OPEN = "open"
    """A clustering within delta is known that has the opposite."""
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Margin:
    """The least extra cost (nats; of k-means, sums of squares) of what has the opposite of the reported clustering.

    Attributes
    ----------
    state : State
    lower, upper : float
        Between which the margin lies; ``upper`` is infinite while no such clustering is known, ``lower`` when it is
        proved that there is none.
    witness : ndarray of n labels, or None
        A clustering that has the opposite and costs ``upper`` more.
    """

    state: State
    lower: float
    upper: float
    witness: np.ndarray | None = None

    def told(self, within: float) -> float:
        """The lower end as a number that JSON has: where there is no limit at all, that it is no smaller than delta."""
        return self.lower if math.isfinite(self.lower) else within


@dataclass(frozen=True)
class SampleMargin(Margin):
    """Of a sample: what it costs to separate it from the representative of its component.

    Attributes
    ----------
    name, component, representative : names; the representative is None for a sample that is alone in its component,
        whose margin is that of not being alone
    goes_to : str or None
        The name of its component in the witness.
    """

    name: str = ""
    component: str = ""
    representative: str | None = None
    goes_to: str | None = None

    def to_dict(self, within: float) -> dict[str, Any]:
        return {
            "name": self.name,
            "component": self.component,
            "representative": self.representative,
            "state": str(self.state),
            "margin_lower": self.told(within),
            "margin_upper": finite(self.upper),
            "goes_to": self.goes_to,
        }


@dataclass(frozen=True)
class PairMargin(Margin):
    """Of two samples: what it costs to separate them, or to have them together."""

    first: str = ""
    second: str = ""
    together: bool = True

    @property
    def words(self) -> str:
        """``together`` or ``apart`` where that is proved, ``open`` or ``undecided``."""
        if self.state is State.FIXED:
            return "together" if self.together else "apart"
        return str(self.state)

    def to_dict(self, within: float) -> dict[str, Any]:
        return {
            "first": self.first,
            "second": self.second,
            "together": self.together,
            "state": self.words,
            "margin_lower": self.told(within),
            "margin_upper": finite(self.upper),
        }


@dataclass(frozen=True)
class Stability:
    """How sure every assignment of a clustering is.

    Attributes
    ----------
    within : float
        Delta, in the same units.
    result : Result
        The clustering; margins count from its objective.
    samples : tuple of SampleMargin, in the order of the samples
    pairs : tuple of PairMargin, those that were asked for
    certificate : Certificate or None
        Of the samples and pairs that are ``fixed``, as far as that could be put on record.
    verdict : Verdict or None
        What the checker says of it.
    seconds : float, without solving
    interrupted : bool
    notes : tuple of str
    """

    within: float
    result: Result
    samples: tuple[SampleMargin, ...]
    pairs: tuple[PairMargin, ...] = ()
    certificate: Certificate | None = None
    verdict: Verdict | None = None
    seconds: float = 0.0
    interrupted: bool = False
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> SampleMargin:
        """The margin of a sample by its name."""
        return next(sample for sample in self.samples if sample.name == name)

    @property
    def states(self) -> np.ndarray:
        """The state of every sample, (n,)."""
        return np.array([str(sample.state) for sample in self.samples])

    def count(self, state: str) -> int:
        """How many samples are in a state."""
        return sum(sample.state == state for sample in self.samples)

    @property
    def settled(self) -> bool:
        """Whether no sample and no pair is left undecided."""
        return all(margin.state is not State.UNDECIDED for margin in (*self.samples, *self.pairs))

    @property
    def level(self) -> str:
        """``verified`` when the checker has confirmed all that is ``fixed``, else ``computed``.

        The certificate has no words for samples that are alone in their component.
        """
        alone = any(s.state is State.FIXED and s.representative is None for s in self.samples)
        checked = self.verdict is not None and self.verdict.verified
        return "verified" if checked and not alone else "computed"

    def sentence(self) -> str:
        """What is known, in words."""
        fixed, is_open, left = (self.count(s) for s in (State.FIXED, State.OPEN, State.UNDECIDED))
        rest = f"; {left} {_are(left)} undecided" if left else ""
        return (
            f"Of {len(self.samples)} samples, {fixed} {_are(fixed)} with their representative in every clustering "
            f"within {about(self)}, {is_open} {_are(is_open)} not"
            f"{rest}."
        )

    def summary(self) -> str:
        """A table of the samples that are not fixed, and the sentence."""
        from certmix.sensitivity.table import table

        return table(self)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, ready for JSON."""
        found: dict[str, Any] = {
            "within": self.within,
            "objective": finite(self.result.quantity.shown(self.result.objective)),
            "samples": [sample.to_dict(self.within) for sample in self.samples],
        }
        return {**found, "pairs": [pair.to_dict(self.within) for pair in self.pairs]} if self.pairs else found

    def to_pandas(self) -> pd.DataFrame:
        """One row per sample."""
        import pandas as pd

        rows = [sample.to_dict(self.within) for sample in self.samples]
        return pd.DataFrame(rows).set_index("name").rename_axis("sample")

    def __repr__(self) -> str:
        return f"Stability({self.sentence()})"


def about(found: Any) -> str:
    """Delta and the objective that it counts from, in words."""
    quantity = found.result.quantity
    objective = f"{quantity.name} {quantity.shown(found.result.objective):.10g}"
    return f"{quantity.with_unit(f'{found.within:g}')} of {objective}"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
