"""The plain log: a banner, a line for each new incumbent or every few seconds, one sentence at the end."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from typing import IO, TYPE_CHECKING

from certmix.ledger import Progress
from certmix.observers.wording import banner, header, letter, row
from certmix.problem.quantity import NATS

if TYPE_CHECKING:
    from certmix.ledger import Ledger
    from certmix.problem import Problem
    from certmix.result import Result

# After so many lines there is one every so many seconds: often enough to see that a run is alive.
_EAGER_LINES = 20
_LONGEST_PACE = 4.0


class PlainLog:
    """Write the run to a stream.

    Parameters
    ----------
    stream : text stream, optional
        Default: standard error.
    every : float
        Seconds between lines at first; a new incumbent is reported ten times as eagerly.
    """

    def __init__(self, stream: IO[str] | None = None, every: float = 2.0) -> None:
        self._stream = stream
        self._every = every
        self._last = -float("inf")
        self._lines = 0
        self._pending: Progress | None = None
        self._shown = (math.inf, -math.inf)
        self._open = 0
        self._explained: set[str] = set()
        self._quantity = NATS

    def started(self, problem: Problem, engine: str, ledger: Ledger) -> None:
        self._quantity = problem.quantity
        for line in banner(problem, engine):
            self._write(line)

    def message(self, text: str) -> None:
        self._write(text)

    def progressed(self, progress: Progress) -> None:
        if self._pending is not None and not progress.source:
            progress = replace(progress, source=self._pending.source)  # an incumbent not yet reported
        self._pending = progress
        self._open = progress.open_nodes
        pace = max(self._every, _LONGEST_PACE) if self._lines >= _EAGER_LINES else self._every
        wait = pace / 10 if progress.source else pace
        if progress.seconds - self._last >= wait:
            self._line(progress)

    def finished(self, result: Result) -> None:
        if self._pending is not None:
            self._line(self._pending)
        seconds = max(result.seconds, self._last)
        phase = "" if result.verdict is None else "as checked"
        last = Progress(seconds, result.nodes, self._open, result.objective, result.lower_bound, phase=phase)
        if self._lines and self._shown != (last.incumbent, last.bound):
            self._line(last)  # the log ends with what the result says
        self._write(result.sentence())
        if result.verification:
            self._write(result.account())

    def _line(self, progress: Progress) -> None:
        if self._lines == 0:
            self._write(header(self._quantity))
        text = row(progress, self._quantity)
        sign = letter(progress.source)
        if sign and sign not in self._explained:
            self._explained.add(sign)
            text += f"   {sign}: {progress.source}"
        elif progress.phase:
            text += f"   {progress.phase}"
        self._write(text)
        self._lines += 1
        self._last = progress.seconds
        self._shown = (progress.incumbent, progress.bound)
        self._pending = None

    def _write(self, text: str) -> None:
        stream = self._stream or sys.stderr
        stream.write(text + "\n")
        stream.flush()
