"""``alternatives``: the distinct clusterings within delta of the reported one, best first."""

from __future__ import annotations

import heapq
import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from certmix import interruption
from certmix.io.strict_json import finite
from certmix.ledger import Observer
from certmix.options import Options
from certmix.presolve.groups import group_samples
from certmix.problem import Problem
from certmix.result import Result
from certmix.sensitivity.asking import asked, checked_limit
from certmix.sensitivity.forced import under
from certmix.sensitivity.known import Known
from certmix.sensitivity.margins import Stability, about
from certmix.sensitivity.partitions import Piece, canonical, namings
from certmix.sensitivity.run import LEAST, Run
from certmix.sensitivity.witnesses import aligned, as_shown, value_of
from certmix.status import Status, Termination

SHARE = 0.5  # of the time, for what all clusterings within delta have in common
FIRST, LONGER = 10.0, 4.0  # seconds of the first look at a piece; so many times as long is the next
SHOWN = 8  # names in a sentence


@dataclass(frozen=True)
class Alternative:
    """A clustering within delta.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        Interchangeable components are named so that it resembles the reported clustering most.
    objective, extra : float
        Its objective, and how much more that is than the reported one.
    moved : tuple of (sample, from, to)
        By name: who is in another component than in the reported clustering.
    """

    labels: np.ndarray
    objective: float
    extra: float
    moved: tuple[tuple[str, str, str], ...]

    @property
    def words(self) -> str:
        """What differs from the reported clustering."""
        if not self.moved:
            return "the reported clustering"
        parts = []
        ways = sorted({(a, b) for _, a, b in self.moved})
        for a, b in ways:
            names = [name for name, *way in self.moved if tuple(way) == (a, b)]
            more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            parts.append(f"{', '.join(names[:SHOWN])}{more} from {a} to {b}")
        return "; ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        return {
            "objective": self.objective,
            "extra": self.extra,
            "words": self.words,
            "moved": [{"name": name, "from": a, "to": b} for name, a, b in self.moved],
            "labels": self.labels.tolist(),
        }


@dataclass(frozen=True)
class Alternatives:
    """The clusterings within delta, best first; the reported one is among them.

    Attributes
    ----------
    within : float, delta
    result : Result, the reported clustering
    clusterings : tuple of Alternative
    complete : bool
        Whether it is proved that there are no others within delta.
    stability : Stability
        What all of them have in common, as far as that is known.
    seconds : float
    interrupted : bool
    """

    within: float
    result: Result
    clusterings: tuple[Alternative, ...]
    complete: bool
    stability: Stability
    seconds: float = 0.0
    interrupted: bool = False

    def sentence(self) -> str:
        """What is known, in words."""
        count = len(self.clusterings)
        found = f"{count} distinct clustering{'s' * (count != 1)} within {about(self)}"
        proved = f"{'These are' if count != 1 else 'This is'} all: it is proved that there are no others."
        return f"{found}. {proved if self.complete else 'There may be others.'}"

    def summary(self) -> str:
        """A line for every clustering, and the sentence."""
        from certmix.sensitivity.table import listing

        return listing(self)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, ready for JSON."""
        return {
            "within": self.within,
            "objective": finite(self.result.quantity.shown(self.result.objective)),
            "complete": self.complete,
            "clusterings": [one.to_dict() for one in self.clusterings],
        }

    def __repr__(self) -> str:
        return f"Alternatives({self.sentence()})"


def alternatives(
    result: Result | Problem,
    within: float | None = None,
    *,
    limit: int = 10,
    problem: Problem | None = None,
    options: Options | None = None,
    listener: Callable[[Alternatives], None] | None = None,
    observers: Sequence[Observer] = (),
    **given: Any,
) -> Alternatives:
    """The distinct clusterings whose objective is within delta of the reported one, best first.

    Clusterings that differ in the names of interchangeable components only are the same.

    Parameters
    ----------
    result : Result, or a Problem, which is then solved first
    within : delta, as for :func:`certmix.stability`
    limit : how many clusterings are looked for beside the reported one
    problem : Problem, optional
        Of the result; needed where that was loaded from a file.
    options : Options, optional
        Of the runs. The time limit is that of all of them together.
    listener : function of Alternatives, optional
        Is told about every clustering that is found.
    observers : sequence of Observer, of every run
    **given
        Options of a run, which count instead of ``options``.

    Returns
    -------
    Alternatives
        ``alternatives.complete`` says whether there are no others.
    """
    limit = checked_limit(limit)
    problem, result, within, options = asked(result, within, problem, options, given, observers)
    return _Search(problem, result, within, limit, options, listener, observers).run()


class _Search:
    """Pieces of what is left, the one with the best clustering first."""

    def __init__(
        self,
        problem: Problem,
        result: Result,
        within: float,
        limit: int,
        options: Options,
        listener: Callable[[Alternatives], None] | None,
        observers: Sequence[Observer],
    ) -> None:
        self.problem, self.result, self.within, self.limit = problem, result, within, limit
        self.options, self.listener, self.observers = options, listener, observers
        self.begin = time.perf_counter()
        share = None if options.time_limit is None else SHARE * options.time_limit
        common = replace(options, time_limit=share, verify=False, certificate=False)
        self.known = Known(problem, result, within, (), common)
        self.margins = Run(self.known, common, observers=observers)
        self.found: dict[tuple[int, ...], tuple[float, np.ndarray]] = {}
        # Clusterings within delta, and the pieces that they are the best of (none for clusters that were renamed).
        self.waiting: list[tuple[float, int, Piece | None, np.ndarray]] = []
        # Pieces of which too little is known, and the seconds of the next look.
        self.unsettled: list[tuple[Piece, float]] = []
        self.number = itertools.count()
        self.every_name = True
        self.interrupted = False

    @property
    def left(self) -> float:
        return self.options.time_left(time.perf_counter() - self.begin)

    def run(self) -> Alternatives:
        self.stability = self.margins.run()
        self.interrupted = self.stability.interrupted
        self.linked = self.problem.replace(constraints=[*self.problem.given_constraints, *self.known.links()])
        self.order = self._order(self.linked)
        labels = self.known.labels
        heapq.heappush(self.waiting, (self.result.objective, next(self.number), Piece(), labels))
        try:
            while not self._over():
                self._step()
        except KeyboardInterrupt:
            self.interrupted = True
        return self.state()

    def _over(self) -> bool:
        late = self.interrupted or self.left <= LEAST
        return late or len(self.found) > self.limit or not (self.waiting or self.unsettled)

    def _order(self, linked: Problem) -> list[int]:
        """A sample of every group, large groups first: they say what the clusters are."""
        groups = group_samples(linked)
        first = np.unique(groups.of, return_index=True)[1]
        return [int(i) for i in first[np.argsort(-groups.weight, kind="stable")]]

    def _step(self) -> None:
        if not self.waiting:
            self._look(*self.unsettled.pop(0))
            return
        value, _, piece, labels = heapq.heappop(self.waiting)
        self.found[canonical(self.problem, labels)] = value, labels
        if self.listener is not None:
            self.listener(self.state())
        if piece is None:
            return
        self._rename(labels)
        if len(self.found) > self.limit:
            # What is left was not looked at: the clustering is out of the piece, the rest of it is not.
            self.unsettled.append((piece, FIRST))
            return
        for rest in piece.without(labels, self.order, self.problem.samples.ref):
            if self.interrupted:
                self.unsettled.append((rest, FIRST))
            else:
                self._look(rest, FIRST)

    def _look(self, piece: Piece, seconds: float) -> None:
        """Find the best clustering of a piece, or that it has none within delta."""
        limit = min(seconds, self.left)
        if limit <= LEAST:
            self.unsettled.append((piece, seconds))
            return
        target = self.known.target
        options = replace(
            self.options,
            time_limit=limit if math.isfinite(limit) else None,
            verify=False,
            certificate=False,
        )
        found = under(self.linked, piece.all, options, target, observers=self.observers)
        if interruption.heard() or found.termination is Termination.INTERRUPTED:
            self.interrupted = True
        if found.positions is not None and found.objective <= self.known.cutoff:
            labels = self.problem.samples.expand(found.positions)
            heapq.heappush(self.waiting, (found.objective, next(self.number), piece, labels))
        elif found.status is not Status.INFEASIBLE and not found.lower_bound > self.known.cutoff:
            self.unsettled.append((piece, seconds * LONGER))
            if found.termination not in (Termination.TIME, Termination.TARGET):
                self.interrupted = True  # it cannot be told, however long one waits

    def _rename(self, labels: np.ndarray) -> None:
        """The same clusters with other components are other clusterings, where components differ."""
        named = namings(self.problem, labels)
        self.every_name = self.every_name and named is not None
        for one in named or ():
            value = value_of(self.problem, one)
            if value <= self.known.cutoff and canonical(self.problem, one) not in self.found:
                heapq.heappush(self.waiting, (value, next(self.number), None, one))

    def state(self) -> Alternatives:
        """Everything that is known now."""
        p, reported = self.problem, self.known.labels
        found = []
        for value, labels in sorted(self.found.values(), key=lambda one: one[0]):
            own, rows = aligned(p, labels, reported), p.samples.first
            moved = tuple(
                (p.names[i], p.component_names[reported[i]], p.component_names[own[i]])
                for i in rows[own[rows] != reported[rows]].tolist()
            )
            given, extra = as_shown(p, own), max(0.0, value - self.result.objective)
            assert given is not None
            found.append(Alternative(given, p.quantity.shown(value), p.quantity.shown(extra), moved))
        complete = self.every_name and not (self.waiting or self.unsettled) and bool(self.found)
        return Alternatives(
            self.within,
            self.result,
            tuple(found),
            complete,
            self.stability,
            time.perf_counter() - self.begin,
            self.interrupted,
        )
