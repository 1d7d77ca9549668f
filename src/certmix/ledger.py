"""The owner of the incumbent and of the global lower bound.

Whatever an engine finds or proves goes through here: a clustering is checked against every constraint and scored by
the one evaluator before it counts, and the bound never falls. An interrupted run loses nothing, because what it had is
here. Once the flag is up (:mod:`certmix.stopping`) no bound is taken: whoever computed it may have been cut short.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from certmix.errors import InfeasibleError
from certmix.problem import Point, Problem, in_order, interchangeable, is_feasible
from certmix.problem.envelope import Envelope
from certmix.state import Resumable, State
from certmix.status import Tolerances
from certmix.stopping import Stop, current

if TYPE_CHECKING:
    from certmix.result import Result

BEAT = 0.5  # seconds between two looks at whether observers were told


@dataclass(frozen=True)
class TracePoint:
    """One step of the run: after ``seconds``, the incumbent and the bound."""

    seconds: float
    incumbent: float
    bound: float


@dataclass(frozen=True)
class Progress:
    """The state of a run at one moment."""

    seconds: float
    nodes: int
    open_nodes: int
    incumbent: float
    bound: float
    source: str = ""
    """Where a new incumbent came from; empty when there is none."""
    phase: str = ""
    """What is being done, in words."""


class Observer(Protocol):
    """Who is told how a run goes. Every method may do nothing.

    They are called by one thread at a time, but not always by the same.
    """

    def started(self, problem: Problem, engine: str, ledger: Ledger) -> None: ...

    def message(self, text: str) -> None: ...

    def progressed(self, progress: Progress) -> None: ...

    def finished(self, result: Result) -> None: ...


class Ledger:
    """Incumbent, lower bound and their history for one run; it may be told by several threads."""

    def __init__(
        self,
        problem: Problem,
        tolerances: Tolerances,
        observers: Sequence[Observer] = (),
        stop: Stop | None = None,
    ) -> None:
        self.problem = problem
        self.stop = stop or current()
        self.tolerances = tolerances
        self.observers = tuple(observers)
        self.incumbent: Point | None = None
        self.source = ""
        self.bound = -math.inf
        self.certificate_level = (
            "computed"  # level of the bound's proof; an engine that relies on a solver says so
        )
        self.record: Any = None  # what an engine leaves for the maker of a certificate; nothing reads it here
        self.envelope: Envelope | None = None  # of an unknown variance: bounds at known ones
        self.keeps_proof = False  # whether the certificate is wanted, or only that it has been checked
        self.resumed = State()  # what an earlier run left for its engine to go on from
        self.resumable: Resumable | None = None  # who knows what a later run can go on from
        self.kept: Any = None  # what its engine goes on from when the run is taken up in the same process
        self.resumed_from: Mapping[str, Any] | None = None  # where it is on disk, until there is a new one
        self.identity: Mapping[str, Any] | None = None  # of problem and engine: whose state it is
        self.resumes = 0  # how often the run was taken up again
        self.seconds_before = 0.0  # that the run took before
        self.nodes = 0
        self.open_nodes = 0
        self.trace: list[TracePoint] = []
        self.phase = ""  # what is being done, in words
        self._start = time.perf_counter()
        self._told = 0.0
        self._telling = threading.RLock()
        self.sealed = False

    @property
    def seconds(self) -> float:
        """Since this process took the run up; limits of time are about these."""
        return time.perf_counter() - self._start

    @property
    def elapsed(self) -> float:
        """Seconds of the whole run, those before it was taken up again included."""
        return self.seconds_before + self.seconds

    @property
    def upper(self) -> float:
        """The incumbent's value; infinite when there is none."""
        return math.inf if self.incumbent is None else self.incumbent.value

    @property
    def cutoff(self) -> float:
        """A node whose bound reaches this is closed."""
        return self.tolerances.cutoff(self.upper)

    @property
    def closed(self) -> bool:
        return self.tolerances.closed(self.upper, self.bound)

    def offer(self, labels: np.ndarray, source: str) -> bool:
        """Propose a clustering; True when it is feasible and better than the incumbent."""
        labels = self.problem.objective.checked_labels(np.asarray(labels))
        if not is_feasible(self.problem, labels):
            return False
        try:
            point = self._scored(labels)
        except InfeasibleError:
            return False
        with self._telling:
            if self.sealed or not math.isfinite(point.value) or point.value >= self.upper:
                return False
            self.incumbent = replace(point, labels=labels.copy())
            self.source = source
            self._record(source)
        return True

    def _scored(self, labels: np.ndarray) -> Point:
        """The best point of a clustering; valued with interchangeable components in order: a value for each."""
        objective = self.problem.objective
        point = objective.best(labels)
        if not point.value < self.upper:
            return point
        place = np.argsort(in_order(self._classes, point.means))
        return replace(point, value=objective.best(place[labels]).value)

    @cached_property
    def _classes(self) -> np.ndarray:
        return interchangeable(self.problem)

    def raise_bound(self, bound: float, *, whole: bool = False) -> None:
        """Record a proved lower bound on the optimum; a weaker one than the present changes nothing.

        ``whole`` says that nothing it was computed by looks at the flag: then it counts even when that is up.
        """
        if math.isnan(bound):
            raise AssertionError("a bound is not a number")
        with self._telling:
            if self.sealed or (self.stop.raised and not whole):
                return
            bound = min(bound, self.upper)  # the optimum is at most the incumbent, whatever the leaves say
            if bound > self.bound:
                self.bound = bound
                self._record("")

    def message(self, text: str) -> None:
        """Tell the observers something in words."""
        with self._telling:
            for observer in self._listening:
                observer.message(text)

    def progress(self, source: str = "") -> None:
        """Tell the observers how things stand."""
        with self._telling:
            self._told = self.seconds
            state = Progress(
                self.elapsed, self.nodes, self.open_nodes, self.upper, self.bound, source, self.phase
            )
            for observer in self._listening:
                observer.progressed(state)

    def tick(self) -> None:
        """Tell the observers how things stand if they have not been told for a second."""
        if self.seconds - self._told > 1.0:
            self.progress()

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Within the block the observers hear every second how things stand, even while a kernel is busy."""
        ended = threading.Event()

        def beat() -> None:
            while not ended.wait(BEAT):
                self.tick()

        threading.Thread(target=beat, name="certmix log", daemon=True).start()
        try:
            yield
        finally:
            ended.set()

    def seal(self) -> None:
        """Take nothing more from whoever has not heard that the run is over, and tell the observers nothing more."""
        # An observer may be writing; a run that is late does not wait for it for long.
        held = self._telling.acquire(timeout=BEAT)
        self.sealed = True
        if held:
            self._telling.release()

    @property
    def _listening(self) -> tuple[Observer, ...]:
        return () if self.sealed else self.observers

    def _record(self, source: str) -> None:
        self.trace.append(TracePoint(self.elapsed, self.upper, self.bound))
        self.progress(source)
