"""The state of a run on disk, so that a killed run loses nothing and can be taken up again."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from certmix.errors import InputError, OutputError
from certmix.ledger import Progress
from certmix.observers.base import Silent
from certmix.status import Termination, decide

if TYPE_CHECKING:
    from certmix.ledger import Ledger
    from certmix.problem import Problem
    from certmix.result import Result

NAME = "snapshot.json"
# Ends of runs that can be taken up again.
RESUMABLE = frozenset(
    {
        Termination.TIME,
        Termination.NODES,
        Termination.MEMORY,
        Termination.INTERRUPTED,
        Termination.FAILED,
    }
)


class Pace:
    """How often something is written: every so many seconds, more seldom where it takes long."""

    def __init__(self, every: float, share: float) -> None:
        self._every, self._share = every, share
        self._last, self._cost = -float("inf"), 0.0

    def due(self, *, at_once: bool = False) -> bool:
        wait = self._cost / self._share if self._cost > 0.02 else 0.0
        return time.perf_counter() - self._last >= (wait if at_once else max(wait, self._every))

    def took(self, begin: float) -> None:
        """It has been done, since then."""
        self._last = time.perf_counter()
        self._cost = self._last - begin


class Snapshot(Silent):
    """Keep ``DIRECTORY/snapshot.json`` up to date: incumbent and bound, a file that ``Result.load`` reads.

    It is written at every new incumbent and otherwise at most every few seconds, each time in one step: at any moment
    the file is whole. What the engine can go on from (:mod:`certmix.state`) is beside it, ``snapshot-1.npz`` say, for
    ``solve(problem, resume=DIRECTORY)``. Where writing is slow it is spaced, so that it takes a small share of time.

    Parameters
    ----------
    directory : path
        Made if it is not there.
    every : float
        Seconds between writings when there is no new incumbent.
    share : float
        Share of the time that slow writing may take.
    overwrite : bool
        Whether an unfinished run that the directory holds may be lost.
    """

    def __init__(
        self, directory: str | Path, every: float = 3.0, share: float = 0.03, *, overwrite: bool = False
    ) -> None:
        from certmix.io.states import StateFiles

        self.path = Path(directory) / NAME
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not overwrite:
            refuse_unfinished(self.path.parent)
        self._pace, self._state_pace = Pace(every, share), Pace(every, share)
        self._run: tuple[Problem, str, Ledger] | None = None
        self._files = StateFiles(self.path.with_suffix(""))
        self._new_incumbent = self._complained = self._holds_labels = False
        self._open = -math.inf  # the bound that was last written while the gap was open
        self._writing = threading.RLock()  # a run that is late does not wait for whoever is writing

    def started(self, problem: Problem, engine: str, ledger: Ledger) -> None:
        if self._run is None:  # else the same run goes on, from the state that is there
            self._files.entry = ledger.resumed_from
        self._run = (problem, engine, ledger)
        self.write()

    def progressed(self, progress: Progress) -> None:
        self._new_incumbent |= bool(progress.source)
        with self._writing, self._complaining():
            with_state = self._state_pace.due() and self._write_state()
            first = self._new_incumbent and not self._holds_labels  # without it everything would be lost
            if first or with_state or self._pace.due(at_once=self._new_incumbent):
                self.write()

    def finished(self, result: Result) -> None:
        with self._writing, self._complaining():
            self._write_state()
            self.write(result.termination)

    @contextmanager
    def _complaining(self) -> Iterator[None]:
        """Where nothing can be written the run goes on, and says so once."""
        try:
            yield
        except OutputError as error:
            if self._run is not None and not self._complained:
                self._complained = True
                self._run[2].message(f"warning: this run cannot be resumed: {error}")

    def write(self, termination: Termination = Termination.INTERRUPTED) -> None:
        """Write incumbent and bound, and which state there is to go on from."""
        from certmix.concluding import build_result, with_noise_apart
        from certmix.io.atomic import write_text
        from certmix.io.strict_json import dumps
        from certmix.saving import as_dict

        if self._run is None:
            return
        problem, engine, ledger = self._run
        begin = time.perf_counter()
        # Whoever finds this file finds it because the run was cut short.
        result = build_result(
            problem,
            ledger,
            engine=engine,
            termination=termination,
            certificate_level=ledger.certificate_level,
        )
        if ledger.resumable is None or not ledger.closed or termination is not Termination.INTERRUPTED:
            self._open = result.lower_bound
        else:
            result = self._still_open(result)
        identity = None if ledger.identity is None else dict(ledger.identity)
        state = None if self._files.entry is None else dict(self._files.entry)
        write_text(
            self.path, dumps({**as_dict(with_noise_apart(result, problem)), "run": identity, "state": state})
        )
        self._files.tidy()
        self._pace.took(begin)
        self._new_incumbent, self._holds_labels = False, result.labels is not None

    def _still_open(self, result: Result) -> Result:
        """The result as it was before its gap was closed.

        The state on disk may be older than the bound. A run that began with a closed gap would stop at once, with a
        record of a tree that is not settled, and nothing could be proved. So it has to close the gap itself.
        """
        lower = min(result.lower_bound, self._open)
        return replace(
            result,
            status=decide(result.objective, lower, result.tolerances),
            lower_bound=lower,
            trace=tuple(point for point in result.trace if point.bound <= lower),
            certificate_level=result.certificate_level if math.isfinite(lower) else "none",
        )

    def _write_state(self) -> bool:
        """Write what the engine can go on from, if there is anything; it counts once :meth:`write` has said so."""
        ledger = None if self._run is None else self._run[2]
        if ledger is None or ledger.resumable is None or ledger.identity is None:
            return False
        begin = time.perf_counter()
        self._files.write(ledger.resumable.state())
        self._state_pace.took(begin)
        return True

    def remove(self) -> None:
        """Delete the files, once the result itself has been written."""
        self.path.unlink(missing_ok=True)
        self._files.remove()


def refuse_unfinished(directory: Path) -> None:
    """An error in words where a run that was cut short would be lost."""
    from certmix.saving import read

    path = directory / NAME
    if not path.is_file():
        return
    with suppress(InputError):  # a file that nobody can read is not lost unasked either
        if read(path)["termination"] not in RESUMABLE:
            return
    raise InputError(
        f"{directory} holds a run that was cut short ({NAME}); "
        f"go on with it (--resume {directory}), name another directory, or say --overwrite"
    )
