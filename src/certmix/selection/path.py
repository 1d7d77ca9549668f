"""What is known over numbers of components: rows, which number is best, and whether that is proved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from certmix.io.certificates import Certificate
from certmix.io.strict_json import finite
from certmix.result import Result
from certmix.selection.criterion import SQUARES
from certmix.status import Status
from certmix.verify.check import Verdict


@dataclass(frozen=True)
class Row:
    """One number of components.

    Attributes
    ----------
    k : int
    result : Result, of the run that proved most
    objective, lower_bound : best of all runs; the bound may come from another number of components
    icl, icl_lower_bound : between which the ICL of the best clustering lies, rounded outwards; None without a variance
    sse, sse_lower_bound, explained : with uniform weights, sum of squares (without penalties of broken links; the bound
        is that of clusterings whose broken links cost no more) and what share of the total is explained
    bic : of the mixture that EM found; not certified
    possible : whether this number may still be the best
    checked : what the checker of the comparison says that the objective is at least
    """

    k: int
    result: Result
    objective: float
    lower_bound: float
    icl: float | None = None
    icl_lower_bound: float | None = None
    sse: float | None = None
    sse_lower_bound: float | None = None
    explained: float | None = None
    bic: float | None = None
    possible: bool = True
    checked: float = -math.inf

    @property
    def status(self) -> Status:
        return self.result.status

    @property
    def level(self) -> str:
        """That of its result; ``computed`` where the bound is better than what was checked."""
        own = self.result
        carried = own.status is not Status.INFEASIBLE and self.lower_bound > max(
            own.lower_bound, self.checked
        )
        return "computed" if carried and own.certificate_level == "verified" else own.certificate_level

    def to_dict(self) -> dict[str, Any]:
        more = ("sse", "sse_lower_bound", "explained", "bic")
        shown = self.result.quantity.shown  # nats, or sums of squares
        return {
            "k": self.k,
            "objective": _plain(shown(self.objective)),
            "lower_bound": _plain(shown(self.lower_bound)),
            **{name: _plain(getattr(self, name)) for name in ("icl", "icl_lower_bound")},
            "status": str(self.status),
            "possible": self.possible,
            "certificate": self.level,
            **{name: _plain(getattr(self, name)) for name in more},
            "engine": self.result.engine,
            "termination": str(self.result.termination),
        }


@dataclass(frozen=True)
class Path:
    """Every number of components of a range, compared.

    Attributes
    ----------
    criterion : ``icl``; or ``sse`` with uniform weights and no variance, where no number is the best
    rows : tuple of Row, ascending
    best : int or None
        The number whose clustering has the least ICL.
    proved : bool
        Whether every other number has a larger one for sure.
    interrupted : bool
    certificate : Certificate or None
        Of the comparison, made of those of all numbers, where these have one.
    verdict : Verdict or None
        What the checker says of it.
    """

    criterion: str
    rows: tuple[Row, ...]
    best: int | None
    proved: bool
    seconds: float
    interrupted: bool = False
    certificate: Certificate | None = None
    verdict: Verdict | None = None
    notes: tuple[str, ...] = ()

    def __getitem__(self, k: int) -> Row:
        """The row of a number of components."""
        return next(row for row in self.rows if row.k == k)

    @property
    def result(self) -> Result | None:
        """The clustering with the best number of components."""
        return None if self.best is None else self[self.best].result

    @property
    def possible(self) -> tuple[int, ...]:
        """The numbers that may still be the best."""
        return tuple(row.k for row in self.rows if row.possible)

    @property
    def level(self) -> str:
        """``verified`` when the checker has confirmed which number is the best, ``computed`` when that is proved."""
        if not self.proved:
            return "none"
        claimed = self.certificate is not None and self.certificate.document["best"] is not None
        return "verified" if claimed and self.verdict is not None and self.verdict.verified else "computed"

    def sentence(self) -> str:
        """What is proved about the number of components."""
        groups = f"{self.rows[0].result.quantity.group}s"
        told = (
            f"{self.rows[0].k} to {self.rows[-1].k} {groups}"
            if len(self.rows) > 1
            else f"K = {self.rows[0].k}"
        )
        if all(row.status is Status.INFEASIBLE for row in self.rows):
            return f"Infeasible: no clustering satisfies the constraints with {told}."
        if self.criterion == SQUARES:
            return (
                f"With uniform weights and no variance there is only the sum of squares, which says of no number of "
                f"{groups} that it is the best."
            )
        if self.best is None:
            return "Nothing was found before the run stopped."
        if self.proved:
            lead = min((_lower(row) for row in self.rows if row.k != self.best), default=math.inf) - _upper(
                self[self.best]
            )
            by = f", by {lead:.4g} or more" if math.isfinite(lead) else ""
            return f"Of {told}, {self.best} is proved to have the smallest ICL{by}."
        others = [k for k in self.possible if k != self.best]
        return (
            f"Of {told}, {self.best} has the smallest ICL that was found, but {_listed(others)} "
            f"{'remain' if len(others) > 1 else 'remains'} possible."
        )

    def summary(self) -> str:
        """A table, and the sentence."""
        from certmix.selection.table import table

        return table(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the clusterings as plain values, ready for JSON."""
        return {
            "criterion": self.criterion,
            "best": self.best,
            "proved": self.proved,
            "rows": [row.to_dict() for row in self.rows],
            "possible": list(self.possible),
            "certificate": self.level,
            "sentence": self.sentence(),
            "notes": list(self.notes),
            "seconds": self.seconds,
        }

    def __repr__(self) -> str:
        return f"Path({self.criterion}, K = {self.rows[0].k} .. {self.rows[-1].k}: {self.sentence()})"


def judged(rows: Sequence[Row]) -> tuple[int | None, bool, tuple[int, ...]]:
    """The best number by what was found, whether that is proved, and the numbers that may be the best."""
    found = [row for row in rows if math.isfinite(_upper(row))]
    if not found:
        return None, False, tuple(row.k for row in rows if _lower(row) < math.inf)
    best = min(found, key=lambda row: (_upper(row), row.k))
    possible = tuple(row.k for row in rows if row is best or not _lower(row) > _upper(best))
    return best.k, possible == (best.k,), possible


def _upper(row: Row) -> float:
    return math.inf if row.icl is None else row.icl


def _lower(row: Row) -> float:
    return -math.inf if row.icl_lower_bound is None else row.icl_lower_bound


def _plain(value: float | None) -> float | None:
    return None if value is None else finite(value)


def _listed(numbers: Sequence[int]) -> str:
    words = [str(k) for k in numbers]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
