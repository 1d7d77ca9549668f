"""``path``: short runs with every number of components first, then those that could still be the best, by turns."""

from __future__ import annotations

import json
import math
import pathlib
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from certmix import interruption, memory, proving
from certmix.certificate.statement import state
from certmix.errors import InputError
from certmix.interruption import held
from certmix.ledger import Observer
from certmix.options import ENGINE_OPTIONS, PROOF_TIME, Options, changed, options_of
from certmix.problem import Problem, is_feasible
from certmix.result import Result
from certmix.selection.comparison import compared
from certmix.selection.criterion import ICL, SQUARES
from certmix.selection.kept import Kept
from certmix.selection.known import FIRST, Known
from certmix.selection.mixture import bic
from certmix.selection.path import Path, Row, judged
from certmix.selection.problems import maker, numbers, problems
from certmix.solving import Run, solve
from certmix.status import Status, Termination
from certmix.stopping import Abandoned, Stop, attend
from certmix.verify.claims import criteria

LONGER = 4.0  # so many times as long is the next: what a turn cuts short begins anew in part
LEAST = 0.05  # seconds: less is no turn
MOMENT = 1.0  # seconds that the comparison may take after Ctrl-C
BEYOND = (
    1e-7  # relatively, how far beyond what rules a number out its run goes: the checker rounds in other ways
)
WORTHWHILE = 0.05  # share of the time that is worth more turns when proofs have not needed it
SOFT = 0.02  # share of the time that EM may take for every number
LOCAL = "hard-em"
UNCHECKED = "no certificate of the comparison: there was no time left to check it"
NOT_HERE = ("start", "target")


def path(
    data: Any,
    k: Any = range(1, 9),
    *,
    criterion: str | None = None,
    options: Options | None = None,
    verbose: bool = False,
    listener: Callable[[Path], None] | None = None,
    observers: Sequence[Observer] = (),
    keep: str | pathlib.Path | None = None,
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
    keep : path, optional
        A folder in which the run with every number is kept while it goes on (k1, k2, ...), for ``resume``.
    **given
        Arguments of :class:`Problem`, and options of a run, which count instead of ``options``. With ``resume`` the
        runs in that folder go on.

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
        keep,
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
    keep: str | pathlib.Path | None = None,
) -> Path:
    """Compare problems that differ in their numbers of components only, which are ascending."""
    known = [Known.of(p, criterion) for p in problems]
    return _Turns(known, criterion, options, tell, observers, Kept.of(keep, options.resume)).run()


def _limit(seconds: float) -> float | None:
    return max(LEAST, seconds) if math.isfinite(seconds) else None


class _Turns:
    """The runs, in turns, until one number is proved the best and solved, or the time is over."""

    def __init__(
        self,
        known: list[Known],
        criterion: str,
        options: Options,
        tell: Callable[[Path], None],
        observers: Sequence[Observer],
        kept: Kept,
    ) -> None:
        self.known, self.criterion, self.options = known, criterion, replace(options, resume=None)
        self.tell, self.observers, self.kept = tell, observers, kept
        self.losses = criteria.losses([json.loads(json.dumps(state(one.problem))) for one in known])
        self.begin = time.perf_counter()
        self.interrupted = False
        proofs = self._proving and options.time_limit is not None
        self.proof_time = PROOF_TIME * options.time_limit if proofs and options.time_limit else 0.0

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.begin

    @property
    def left(self) -> float:
        return self.options.time_left(self.seconds)

    @property
    def left_for_turns(self) -> float:
        """Without what proofs may need at the end: those that have not been made."""
        lacking = sum(one.result is None or one.result.certificate is None for one in self.known)
        return self.left_for_proofs - self.proof_time * lacking / len(self.known)

    @property
    def left_for_proofs(self) -> float:
        """Without the short run that the comparison needs at the end, if the best number has no certificate."""
        short = 0.0 if self._uncertified is None else min(0.5 * self.proof_time, LONGER * FIRST)
        return self.left - short

    @property
    def _uncertified(self) -> Known | None:
        """The best number so far, if it has no certificate."""
        best = next((one for one in self.known if one.problem.n_components == self._leader), None)
        return None if best is None or best.result is None or best.result.certificate is not None else best

    def _time_left_over(self) -> bool:
        """Whether proofs have left enough of their time for more turns; then most of it is for these."""
        limit = self.options.time_limit
        if limit is None or self.left < WORTHWHILE * limit or not self._open():
            return False
        self.proof_time = PROOF_TIME * self.left
        return True

    @property
    def _proving(self) -> bool:
        return proving.wants_proof(self.options)

    def run(self) -> Path:
        try:
            self._first_clusterings()
            while True:
                while not self.interrupted and self.left_for_turns > LEAST and (waiting := self._open()):
                    if waiting[0].problem.n_components == self._leader and self._alone(waiting):
                        self._prove([one for one in self.known if one.lacks_proof and one is not waiting[0]])
                    self._turn(waiting[0], alone=self._alone(waiting))
                self._prove_the_rest()
                if self.interrupted or not self._time_left_over():
                    break
            self._prove_something_of_the_best()
        except KeyboardInterrupt:
            self.interrupted = True
        for one in self.known:
            one.end()
        return self._concluded()

    # -- one turn --------------------------------------------------------------------------------------------
    def _first_clusterings(self) -> None:
        """Local search with every number: what is good enough to rule others out is known from then on."""
        for i, one in enumerate(self.known):
            share = self.left / (2 * (len(self.known) - i))  # half of the time at most
            if (earlier := self.kept.finished(one.problem)) is not None:
                one.learn(earlier)
            else:
                self._local(one, share)
            if self.interrupted:
                return
            if self.criterion == ICL and one.result is not None and one.result.labels is not None:
                soft = min(SOFT * self.left, 10.0) if math.isfinite(self.left) else 10.0
                one.bic = bic(one.problem, one.problem.samples.expand(one.result.labels), soft)
        self.tell(self._state())

    def _local(self, one: Known, limit: float) -> None:
        """A local search, which proves nothing."""
        changes: dict[str, Any] = dict.fromkeys((*ENGINE_OPTIONS, "certificate"))
        changes |= {"time_limit": _limit(limit), "engine": LOCAL, "start": self._start(one)}
        options = replace(self.options, **changes)
        one.learn(solve(one.problem, options=options, observers=self.observers))
        self.interrupted = interruption.heard()

    def _turn(self, one: Known, *, alone: bool) -> None:
        """Go on with one number for a while; once nothing more is wanted of it, its proof is made."""
        limit = self.left_for_turns if alone else min(one.limit, self.left_for_turns)
        last = limit >= self.left_for_turns
        one.limit *= LONGER
        with held(), memory.limited(memory.parsed(self.options.memory_limit)):
            found = self._search(one, limit)
            one.learn(found)
            one.over = found.termination not in (Termination.TIME, Termination.TARGET)
            # A signal that came after the turn's own limit did not end the run, but it ends the turns.
            self.interrupted = found.termination is Termination.INTERRUPTED or interruption.heard()
            self._carry()
            if not self.interrupted and (last or one.over or not self._wanted(one)):
                one.prove(self.options, self.left_for_proofs)
                self.interrupted = interruption.heard()
            one.tell()
        self.tell(self._state())

    def _search(self, one: Known, limit: float) -> Result:
        options = replace(
            self.options,
            time_limit=_limit(limit),
            target=self._target(one),
            start=self._start(one) if one.run is None else None,
            restarts=self.options.restarts or 1,  # the others have been made
            certificate=self._proving or self.options.certificate,
        )
        if one.run is None:
            k, own = one.problem.n_components, (*self.observers, *self.kept.observers(one.problem))
            one.run = Run(one.problem, replace(options, resume=self.kept.unfinished(k)), own)
        else:
            one.run.take_up(options)
        # What is cut short begins anew: unless the time is over, there is some more to come to rest in.
        return one.run.search(options, grace=max(0.0, min(limit, self.left_for_turns - limit)))

    def _prove_the_rest(self) -> None:
        """What is left of the time that proofs may take, for those that were not done in theirs."""
        self._prove([one for one in self.known if one.lacks_proof])

    def _prove(self, lacking: Sequence[Known]) -> None:
        for i, one in enumerate(lacking):
            if self.interrupted or not self._proving:
                return
            spent = math.fsum(other.proving for other in self.known)
            least = proving.LEAST_BUDGET * len(self.known)
            budget = max(least, self.options.verify_budget * (self.seconds - spent) - spent)
            share = self.left_for_proofs / (1 if one is lacking[-1] else len(lacking) - i)
            verify = self.options.verify and True
            with held():
                one.prove(replace(self.options, verify=verify), min(share, budget))
            self.interrupted = interruption.heard()
            self.tell(self._state())

    def _prove_something_of_the_best(self) -> None:
        """The comparison needs a certificate of the best number, whatever its bound."""
        one, proved = self._uncertified, judged(self._rows())[1]
        if one is None or not (proved and self._proving and self.left > LEAST):
            return
        changes: dict[str, Any] = {"time_limit": min(self.left, LONGER * FIRST), "start": self._start(one)}
        with held():
            one.prove_less(replace(self.options, **changes, restarts=1, certificate=True))
            self.interrupted = interruption.heard()

    def _start(self, one: Known) -> Any:
        """Its own best clustering; or that with fewer components, if others may be empty."""
        expand = one.problem.samples.expand  # results are about samples, problems about their copies
        if one.result is not None:
            return None if one.result.labels is None else expand(one.result.labels)
        found = [k.result.labels for k in self.known if k.result is not None]
        fewer = [expand(labels) for labels in found if labels is not None]
        usable = [labels for labels in fewer if is_feasible(one.problem, labels)]
        return usable[-1] if usable else None

    def _target(self, one: Known) -> float | None:
        """The bound from which on this number cannot be the best."""
        rows = self._rows()
        best = judged(rows)[0]
        if one.icl is None or best is None or best == one.problem.n_components:
            return None
        least = one.icl.reaching(next(row.icl for row in rows if row.k == best))  # type: ignore[arg-type]
        return least + BEYOND * max(1.0, abs(least))

    def _carry(self) -> None:
        """A bound for more components is one for fewer, less what their new component may cost."""
        found = criteria.carried(self.losses, [max(one.lower, one.carried) for one in self.known])
        for one, bound in zip(self.known, found, strict=True):
            one.carried = bound if bound > one.lower else -math.inf

    # -- what is open ----------------------------------------------------------------------------------------
    def _open(self) -> list[Known]:
        """Who has a turn next: shortest turns first, then who is nearest to being ruled out by its own runs.

        The best so far comes first, as it may become better, and then last: it need not be closed to be the best.
        """
        rows = self._rows(own=True)
        best, _, possible = judged(rows)

        def urgency(one: Known, row: Row) -> tuple[float, bool, float, int]:
            leads = row.k == best and one.icl is not None
            least = row.lower_bound if row.icl_lower_bound is None else row.icl_lower_bound
            return math.inf if leads and one.limit > FIRST else one.limit, not leads, -least, row.k

        waiting = [
            (urgency(one, row), one)
            for one, row in zip(self.known, rows, strict=True)
            if not one.over and self._unsettled(one, row, possible)
        ]
        return [one for _, one in sorted(waiting, key=lambda entry: entry[0])]

    def _alone(self, waiting: Sequence[Known]) -> bool:
        """Whether nobody needs a turn after the first of these: the best so far need not be closed to be the best."""
        return all(one.problem.n_components == self._leader and one.limit > FIRST for one in waiting[1:])

    @property
    def _leader(self) -> int | None:
        """The best number so far, by what was found."""
        return None if self.criterion == SQUARES else judged(self._rows())[0]

    def _unsettled(self, one: Known, row: Row, possible: Sequence[int]) -> bool:
        ruled_out = one.icl is not None and row.k not in possible
        return not ruled_out and row.status not in (Status.OPTIMAL, Status.INFEASIBLE)

    def _wanted(self, one: Known) -> bool:
        """Whether more is wanted of a number, by what its own runs have proved."""
        return self._unsettled(one, one.row(own=True), judged(self._rows(own=True))[2])

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
                found = attend(lambda: compared(found, self.known[0].problem.data), stop, limit)
        except (Abandoned, KeyboardInterrupt):  # proofs that were made but not checked take their time
            cut = found.interrupted or stop.reason is not Termination.TIME
            return replace(found, notes=(*found.notes, UNCHECKED), interrupted=cut)
        for one, part in zip(self.known, () if found.verdict is None else found.verdict.parts, strict=False):
            one.checked = part.bound
        rows = zip(self.known, found.rows, strict=True)
        return replace(found, rows=tuple(replace(one.row(), possible=row.possible) for one, row in rows))
