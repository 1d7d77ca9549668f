"""The state of a run on disk, so that a killed run loses nothing."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from certmix.ledger import Progress
from certmix.observers.base import Silent
from certmix.status import Termination

if TYPE_CHECKING:
    from certmix.ledger import Ledger
    from certmix.problem import Problem

NAME = "snapshot.json"


class Snapshot(Silent):
    """Keep ``DIRECTORY/snapshot.json`` up to date: incumbent and bound, a file that ``Result.load`` reads.

    It is written at every new incumbent and otherwise at most every few seconds, each time in one step: at
    any moment the file is whole. Where writing is slow (many samples), it is spaced so that it takes a small
    share of the time at most.

    Parameters
    ----------
    directory : path
        Made if it is not there.
    every : float
        Seconds between writings when only the bound moves.
    share : float
        Share of the time that slow writing may take.
    """

    def __init__(self, directory: str | Path, every: float = 5.0, share: float = 0.1) -> None:
        self.path = Path(directory) / NAME
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._every = every
        self._share = share
        self._run: tuple[Problem, str, Ledger] | None = None
        self._last = -float("inf")
        self._cost = 0.0
        self._new_incumbent = False

    def started(self, problem: Problem, engine: str, ledger: Ledger) -> None:
        self._run = (problem, engine, ledger)

    def progressed(self, progress: Progress) -> None:
        self._new_incumbent |= bool(progress.source)
        since = time.perf_counter() - self._last
        wait = self._cost / self._share if self._cost > 0.02 else 0.0
        if since >= (wait if self._new_incumbent else max(wait, self._every)):
            self.write()

    def write(self) -> None:
        """Write the present state, if there is a clustering."""
        from certmix.io.atomic import write_text
        from certmix.io.strict_json import dumps
        from certmix.result import build_result
        from certmix.saving import as_dict

        if self._run is None or self._run[2].incumbent is None:
            return
        problem, engine, ledger = self._run
        begin = time.perf_counter()
        # Whoever finds this file finds it because the run was cut short.
        result = build_result(
            problem,
            ledger,
            engine=engine,
            termination=Termination.INTERRUPTED,
            certificate_level=ledger.certificate_level,
        )
        write_text(self.path, dumps(as_dict(result)))
        self._last = time.perf_counter()
        self._cost = self._last - begin
        self._new_incumbent = False

    def remove(self) -> None:
        """Delete the file, once the result itself has been written."""
        self.path.unlink(missing_ok=True)
