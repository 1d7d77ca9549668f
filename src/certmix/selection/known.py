"""What is known with one number of components: its run, the best result, bounds of its own and of others."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from certmix.options import Options
from certmix.problem import Problem
from certmix.result import Result
from certmix.selection.criterion import ICL, Affine, icl, sum_of_squares, total_squares
from certmix.selection.path import Row
from certmix.solving import Run, solve
from certmix.status import Status

FIRST = 2.0  # seconds of the first turn
ALIKE = 1e-9  # relatively: objectives of one clustering may differ by so much, as sums are rounded
HAIR = 1e-8  # relatively: by so much less may be checked than was computed


@dataclass
class Known:
    """What is known with one number of components."""

    problem: Problem
    icl: Affine | None
    squares: Affine | None
    total: float
    result: Result | None = None
    searched: Result | None = None  # of the last search, unless it is proved
    lower: float = -math.inf
    carried: float = -math.inf  # from more components
    checked: float = -math.inf  # what the checker has concluded from all numbers
    bic: float | None = None
    over: bool = False  # another turn would not do better
    limit: float = FIRST
    run: Run | None = None
    proving: float = 0.0  # seconds that proofs took

    @staticmethod
    def of(problem: Problem, criterion: str) -> Known:
        squares = sum_of_squares(problem)
        total = 0.0 if squares is None else total_squares(problem)
        return Known(problem, icl(problem) if criterion == ICL else None, squares, total)

    @property
    def upper(self) -> float:
        return math.inf if self.result is None else self.result.objective

    def learn(self, found: Result) -> None:
        """Keep the better of two results, and the better bound."""
        infeasible = found.status is Status.INFEASIBLE
        self.searched = found
        self.lower = math.inf if infeasible else max(self.lower, found.lower_bound)
        known = self.result
        if known is None or infeasible or known.labels is None:
            self.result = found
            return
        slack = ALIKE * max(1.0, abs(known.objective))
        better = found.objective < known.objective - slack
        if better or (found.objective <= known.objective + slack and _worth(found) >= _worth(known)):
            self.result = found

    @property
    def lacks_proof(self) -> bool:
        """Whether there is a bound without a certificate."""
        return self.searched is not None and self.searched.certificate_level == "computed"

    def prove(self, options: Options, seconds: float) -> None:
        """Make and check the proof of what the last search has found, within so many seconds."""
        run, found = self.run, self.searched
        if run is None or found is None or run.ledger.bound < found.lower_bound:
            return
        begin = run.ledger.seconds
        limit = begin + seconds if math.isfinite(seconds) else None
        proved = run.proved(found, replace(options, time_limit=limit))
        self.learn(proved)
        if proved.certificate is not None or proved.certificate_level == "verified":
            self.searched = None
        if proved.certificate_level == "verified" and proved.status is not Status.INFEASIBLE:
            self.lower = proved.lower_bound  # what is shown beside that word is what was checked
        self.proving += run.ledger.seconds - begin

    def prove_less(self, options: Options) -> None:
        """A certificate of a short run, where the proof of all that was found could not be made.

        It is of a clustering that is no worse, with a weaker bound: enough for the best number of a comparison, of
        which no bound is needed.
        """
        found = solve(self.problem, options=options)
        self.learn(found)
        if found.certificate is None or self.result is None or self.result.certificate is not None:
            return
        less = f"not verified: the proof reaches {found.certificate.bound:.10g} only"
        self.result = replace(
            self.result, certificate=found.certificate, verdict=found.verdict, verification=less
        )

    def tell(self) -> None:
        """The observers of its run hear that a turn is over."""
        if self.run is not None and self.result is not None:
            self.run.tell(self.result)

    def end(self) -> None:
        """Nothing more is wanted of its run."""
        if self.run is not None and self.result is not None:
            self.result = self.run.closed(self.result)
            self.run = None

    def row(self, *, own: bool = False) -> Row:
        """What is known; ``own``: by runs with this number alone."""
        assert self.result is not None
        lower = self.lower if own else max(self.lower, self.carried)
        if not own and self.checked < lower <= self.checked + HAIR * max(1.0, abs(self.checked)) < math.inf:
            lower = self.checked  # what is shown as verified is what was checked
        upper, lower = self.upper, min(lower, self.upper)
        values: dict[str, Any] = {}
        if self.icl is not None:
            values = {"icl": self.icl.above(upper), "icl_lower_bound": self.icl.below(lower)}
        if self.squares is not None:
            most, least = self.squares.above(upper), self.squares.below(lower)
            if paid := self.squares.factor * self.result.quantity.objective(self.result.penalty):
                most, least = math.nextafter(most - paid, math.inf), least - paid * (1.0 + HAIR)
            share = max(0.0, 1.0 - most / self.total) if self.total > 0 and math.isfinite(most) else None
            least = max(0.0, least)
            values |= {"sse": most, "sse_lower_bound": least, "explained": share}
        return Row(
            self.problem.n_components, self.result, upper, lower, bic=self.bic, checked=self.checked, **values
        )


def _worth(result: Result) -> tuple[bool, bool, float]:
    closed = result.status in (Status.OPTIMAL, Status.INFEASIBLE)
    return closed, result.certificate is not None, result.lower_bound
