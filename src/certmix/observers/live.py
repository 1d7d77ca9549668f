"""One line on a terminal that keeps up with the run."""

from __future__ import annotations

import time
from typing import IO, TYPE_CHECKING, Any

from certmix.ledger import Progress
from certmix.observers.wording import banner, duration, share, value
from certmix.problem.quantity import NATS
from certmix.status import Tolerances

if TYPE_CHECKING:
    from rich.text import Text

    from certmix.ledger import Ledger
    from certmix.problem import Problem
    from certmix.result import Result


class LiveLine:
    """A live line on standard error; the clock moves even while an engine is busy.

    ``close`` (or leaving the ``with`` block) gives the terminal back, whatever happened.
    """

    def __init__(self, stream: IO[str] | None = None) -> None:
        from rich.console import Console

        self._console = Console(file=stream, stderr=stream is None, highlight=False)
        self._live: Any = None
        self._progress: Progress | None = None
        self._begin = time.perf_counter()
        self._quantity = NATS

    def __enter__(self) -> LiveLine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def started(self, problem: Problem, engine: str, ledger: Ledger) -> None:
        from rich.live import Live

        self._quantity = problem.quantity
        for line in banner(problem, engine):
            self._print(line)
        self._begin = time.perf_counter() - ledger.elapsed
        self._live = Live(
            console=self._console, get_renderable=self._line, refresh_per_second=4, transient=True
        )
        self._live.start()

    def message(self, text: str) -> None:
        self._print(text)

    def progressed(self, progress: Progress) -> None:
        self._progress = progress

    def finished(self, result: Result) -> None:
        self.close()
        self._print(result.sentence())
        if result.verification:
            self._print(result.account())

    def close(self) -> None:
        """Remove the line."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)

    def _line(self) -> Text:
        from rich.text import Text

        elapsed = duration(time.perf_counter() - self._begin)
        p = self._progress
        if p is None:
            return Text(f"{elapsed}  working", no_wrap=True, overflow="ellipsis")
        gap = Tolerances.gap_relative(p.incumbent, p.bound)
        incumbent, bound = (value(self._quantity.shown(x), 8) for x in (p.incumbent, p.bound))
        name = self._quantity.name if self._quantity.squares else "incumbent"
        # What matters most comes first: a narrow terminal cuts the end off.
        return Text(
            f"{elapsed}  gap {share(gap)}  {name} {incumbent}  bound {bound}  "
            f"nodes {p.nodes}  open {p.open_nodes}  {p.phase}",
            no_wrap=True,
            overflow="ellipsis",
        )
