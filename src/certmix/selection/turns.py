"""``path``: short runs with every number of components first, then those that could still be the best, by turns."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from certmix import interruption, proving
from certmix.errors import InputError
from certmix.ledger import Observer
from certmix.options import ENGINE_OPTIONS, Options, changed, options_of
from certmix.problem import Problem, is_feasible
from certmix.result import Result
from certmix.selection.comparison import compared
from certmix.selection.criterion import ICL, SQUARES, Affine, icl, sum_of_squares, total_squares
from certmix.selection.mixture import bic
from certmix.selection.monotone import loss
from certmix.selection.path import Path, Row, judged
from certmix.selection.problems import maker, numbers, problems
from certmix.solving import solve
from certmix.status import Status, Termination
from certmix.stopping import Abandoned, Stop, attend

FIRST = 2.0  # seconds of the first turn
LONGER = 4.0  # so many times as long is the next: runs begin anew, so less would be wasteful
LEAST = 0.05  # seconds: less is no turn
MOMENT = 1.0  # seconds that the comparison may take after Ctrl-C
BEYOND = (
    1e-7  # relatively, how far beyond what rules a number out its run goes: the checker rounds in other ways
)
SOFT = 0.02  # share of the time that EM may take for every number
LOCAL = "hard-em"
UNCHECKED = "no certificate of the comparison: there was no time left to check it"
NOT_HERE = ("start", "resume", "target")


def path(
    data: Any,
    k: Any = range(1, 9),
    *,
    criterion: str | None = None,
    options: Options | None = None,
    verbose: bool = False,
    listener: Callable[[Path], None] | None = None,
    observers: Sequence[Observer] = (),
    **given: Any,
) -> Path:
    """Compare numbers of components, and prove which is the best.

    Parameters
    ----------
    data : what :class:`Problem` takes, or a function of the number of components that makes a :class:`Problem`
    k : range, numbers, or a text such as ``"1:8"`` (both included)
    criterion : "icl", or "sse" for the sum of squares alone; by default the former, unless weights are uniform and no
        variance is given
    options : Options, optional
        Of the runs. The time limit is that of all runs together.
    verbose : bool
        Write a line to standard error after every turn.
    listener : function of a Path, optional
        Is told after every turn.
    observers : sequence of Observer, of every run
    **given
        Arguments of :class:`Problem`, and options of a run, which count instead of ``options``.

    Returns
    -------
    Path
        ``path.best`` is the number of components with the smallest ICL that was found, ``path.proved`` whether every
        other has a larger one, ``path.sentence()`` what is known otherwise.
    """
    own = {name: value for name, value in given.items() if name in options_of(Options)}
    arguments = {name: value for name, value in given.items() if name not in own}
    options = changed(options or Options(), own)
    for name in NOT_HERE:
        if getattr(options, name) is not None:
            raise InputError(f"the option {name} is about one number of components; path has many")
    if criterion not in (None, ICL, SQUARES):
        raise InputError(f"unknown criterion {criterion!r}: it is {ICL!r} or {SQUARES!r}")
    return compare(
        problems(maker(data, arguments), numbers(k)),
        criterion or _criterion(arguments),
        options,
        _teller(listener, verbose),
        observers,
    )


def _criterion(arguments: dict[str, Any]) -> str:
    """Of k-means users, who have no variance, only the sum of squares makes sense."""
    options = ("variance", "precision", "covariance", "variance_range")
    known = any(arguments.get(name) is not None for name in options)
    weights = arguments.get("weights")
    equal = isinstance(weights, str) and weights in ("uniform", "none")
    return SQUARES if equal and not known else ICL


def _teller(listener: Callable[[Path], None] | None, verbose: bool) -> Callable[[Path], None]:
    def tell(found: Path) -> None:
        if listener is not None:
            listener(found)
        if verbose:
            from certmix.selection.table import progress

            progress(found)

    return tell


def compare(
    problems: Sequence[Problem],
    criterion: str,
    options: Options,
    tell: Callable[[Path], None] = lambda _: None,
    observers: Sequence[Observer] = (),
) -> Path:
    """Compare problems that differ in their numbers of components only, which are ascending."""
    return _Turns([_Known.of(p, criterion) for p in problems], criterion, options, tell, observers).run()


@dataclass
class _Known:
    """What is known with one number of components."""

    problem: Problem
    icl: Affine | None
    squares: Affine | None
    total: float
    result: Result | None = None
    lower: float = -math.inf
    carried: float = -math.inf  # from more components; no certificate knows of it
    bic: float | None = None
    over: bool = False  # another run would not do better
    limit: float = field(default=FIRST)

    @staticmethod
    def of(problem: Problem, criterion: str) -> _Known:
        squares = sum_of_squares(problem)
        total = 0.0 if squares is None else total_squares(problem)
        return _Known(problem, icl(problem) if criterion == ICL else None, squares, total)

    @property
    def upper(self) -> float:
        return math.inf if self.result is None else self.result.objective

    def learn(self, found: Result) -> None:
        """Keep the better of two results, and the better bound."""
        infeasible = found.status is Status.INFEASIBLE
        self.lower = math.inf if infeasible else max(self.lower, found.lower_bound)
        known = self.result
        if known is None or found.objective < known.objective or _worth(found) >= _worth(known):
            self.result = found

    def row(self, *, own: bool = False) -> Row:
        """What is known; ``own``: by runs with this number alone."""
        assert self.result is not None
        lower = self.lower if own else max(self.lower, self.carried)
        upper, lower = self.upper, min(lower, self.upper)
        values: dict[str, Any] = {}
        if self.icl is not None:
            values = {"icl": self.icl.above(upper), "icl_lower_bound": self.icl.below(lower)}
        if self.squares is not None:
            most = self.squares.above(upper)
            share = max(0.0, 1.0 - most / self.total) if self.total > 0 and math.isfinite(most) else None
            least = max(0.0, self.squares.below(lower))
            values |= {"sse": most, "sse_lower_bound": least, "explained": share}
        return Row(self.problem.n_components, self.result, upper, lower, bic=self.bic, **values)


def _worth(result: Result) -> tuple[bool, bool, float]:
    closed = result.status in (Status.OPTIMAL, Status.INFEASIBLE)
    return closed, result.certificate is not None, result.lower_bound


class _Turns:
    """The runs, in turns, until one number is proved the best and solved, or the time is over."""

    def __init__(
        self,
        known: list[_Known],
        criterion: str,
        options: Options,
        tell: Callable[[Path], None],
        observers: Sequence[Observer],
    ) -> None:
        self.known, self.criterion, self.options = known, criterion, options
        self.tell, self.observers = tell, observers
        self.begin = time.perf_counter()
        self.interrupted = False

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.begin

    @property
    def left(self) -> float:
        return self.options.time_left(self.seconds)

    def run(self) -> Path:
        try:
            self._first_clusterings()
            while not self.interrupted and self.left > LEAST and (waiting := self._open()):
                self._turn(waiting[0], alone=len(waiting) == 1)
        except KeyboardInterrupt:
            self.interrupted = True
        return self._concluded()

    # -- one turn --------------------------------------------------------------------------------------------
    def _first_clusterings(self) -> None:
        """Local search with every number: what is good enough to rule others out is known from then on."""
        for i, one in enumerate(self.known):
            share = self.left / (2 * (len(self.known) - i))  # half of the time at most
            self._solve(one, share, engine=LOCAL)
            if self.interrupted:
                return
            if one.result is not None and one.result.labels is not None:
                soft = min(SOFT * self.left, 10.0) if math.isfinite(self.left) else 10.0
                one.bic = bic(one.problem, one.result.labels, soft)
        self.tell(self._state())

    def _turn(self, one: _Known, *, alone: bool) -> None:
        limit = self.left if alone else min(one.limit, self.left)
        one.over = limit >= self.left
        one.limit *= LONGER
        found = self._solve(one, limit, target=self._target(one))
        if found.termination not in (Termination.TIME, Termination.TARGET):
            one.over = True
        self._carry()
        self.tell(self._state())

    def _solve(
        self, one: _Known, limit: float, *, target: float | None = None, engine: str | None = None
    ) -> Result:
        changes: dict[str, Any] = {
            "time_limit": max(LEAST, limit) if math.isfinite(limit) else None,
            "target": target,
            "start": self._start(one),
        }
        if engine:
            changes |= {"engine": engine, **dict.fromkeys((*ENGINE_OPTIONS, "certificate"))}
        options = replace(self.options, **changes)
        found = solve(one.problem, options=options, observers=self.observers)
        # A signal that came after the turn's own limit did not end the run, but it ends the turns.
        self.interrupted = found.termination is Termination.INTERRUPTED or interruption.heard()
        one.learn(found)
        return found

    def _start(self, one: _Known) -> Any:
        """Its own best clustering; or that with fewer components, if others may be empty."""
        if one.result is not None:
            return one.result.labels
        fewer = [k.result.labels for k in self.known if k.result is not None and k.result.labels is not None]
        usable = [labels for labels in fewer if is_feasible(one.problem, labels)]
        return usable[-1] if usable else None

    def _target(self, one: _Known) -> float | None:
        """The bound from which on this number cannot be the best."""
        rows = self._rows()
        best = judged(rows)[0]
        if one.icl is None or best is None or best == one.problem.n_components:
            return None
        least = one.icl.reaching(next(row.icl for row in rows if row.k == best))  # type: ignore[arg-type]
        return least + BEYOND * max(1.0, abs(least))

    def _carry(self) -> None:
        """A bound for more components is one for fewer, less what their new component may cost."""
        for one, more in reversed(list(zip(self.known[:-1], self.known[1:], strict=True))):
            bound = max(more.lower, more.carried)
            if more.problem.n_components == one.problem.n_components + 1 and math.isfinite(bound):
                one.carried = max(one.carried, bound - loss(one.problem))

    # -- what is open ----------------------------------------------------------------------------------------
    def _open(self) -> list[_Known]:
        """Who has a turn next: shortest turns first, then who could still have the smallest ICL by its own runs.

        The best so far comes first, as it may become better, and then last: it need not be closed to be the best.
        """
        rows = self._rows(own=True)
        best, _, possible = judged(rows)

        def urgency(one: _Known, row: Row) -> tuple[float, bool, float, int]:
            leads = row.k == best and one.icl is not None
            least = row.lower_bound if row.icl_lower_bound is None else row.icl_lower_bound
            return math.inf if leads and one.limit > FIRST else one.limit, not leads, least, row.k

        waiting = [
            (urgency(one, row), one)
            for one, row in zip(self.known, rows, strict=True)
            if not one.over and (self._lacks_proof(one) or self._unsettled(one, row, possible))
        ]
        return [one for _, one in sorted(waiting, key=lambda entry: entry[0])]

    def _unsettled(self, one: _Known, row: Row, possible: Sequence[int]) -> bool:
        ruled_out = one.icl is not None and row.k not in possible
        return not ruled_out and row.status not in (Status.OPTIMAL, Status.INFEASIBLE)

    def _lacks_proof(self, one: _Known) -> bool:
        """Whether a proof was wanted, and cut short by the turn rather than by its own budget."""
        found, options = one.result, self.options
        assert found is not None
        if one.limit == FIRST or found.certificate is not None or found.certificate_level != "computed":
            return False
        budget = max(proving.LEAST_BUDGET, options.verify_budget * found.seconds)
        cut = options.verify is not False and found.seconds + budget > one.limit / LONGER
        return options.certificate is True or options.verify is True or cut

    # -- what is known ---------------------------------------------------------------------------------------
    def _rows(self, *, own: bool = False) -> list[Row]:
        return [one.row(own=own) for one in self.known if one.result is not None]

    def _state(self) -> Path:
        rows = self._rows()
        best, proved, possible = judged(rows)
        if self.criterion == SQUARES:
            best, proved, possible = None, False, tuple(row.k for row in rows)
        rows = [replace(row, possible=row.k in possible) for row in rows]
        return Path(
            self.criterion, tuple(rows), best, proved, self.seconds, self.interrupted, notes=self._notes(best)
        )

    def _notes(self, best: int | None) -> tuple[str, ...]:
        prior, counts = self.known[0].problem.prior, [one.problem.n_components for one in self.known]
        found = []
        if self.criterion == ICL and (prior.on_means or prior.on_weights):
            found.append(
                "the prior counts in the ICL as it does in the objective, without its normalising constant"
            )
        if best is not None and best == counts[-1] > counts[0]:
            found.append(f"{best} is the largest number that was compared; a larger one may be better")
        return tuple(found)

    def _concluded(self) -> Path:
        found = self._state()
        if len(found.rows) < len(self.known):  # interrupted before every number had its first clustering
            return replace(found, proved=False)
        if self.options.verify is False and self.options.certificate is not True:
            return found
        limit = math.inf if self.options.time_limit is None else self.options.time_limit
        stop = Stop(max(LEAST, MOMENT if self.interrupted else self.left))
        try:
            with interruption.raising():
                return attend(lambda: compared(found, self.known[0].problem.data), stop, limit)
        except (Abandoned, KeyboardInterrupt):  # proofs that were made but not checked take their time
            cut = found.interrupted or stop.reason is not Termination.TIME
            return replace(found, notes=(*found.notes, UNCHECKED), interrupted=cut)
